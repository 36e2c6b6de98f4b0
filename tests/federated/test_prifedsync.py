"""PriFedSync: closed forms, laws over its settings, and what it refuses."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpacct as dp
from dpacct.federated import PriFedSync, Row

TABLE: dict[str, Any] = {
    "clients": 100,
    "client_rate": "0.5",
    "batch_size": 16,
    "records": 600,
    "local_steps": 38,
    "rounds": 194,
    "sigma": 1,
}


def plan(**changed: Any) -> PriFedSync:
    return PriFedSync(**(TABLE | changed))


def upper(federated: PriFedSync) -> float:
    return float(federated.strong(delta="1e-5"))


def rows(federated: PriFedSync, delta: object = "1e-5") -> dict[tuple[str, str], Row]:
    return {(row.name, row.notion): row for row in reversed(list(federated.rows(delta=delta)))}  # type: ignore[arg-type]


def test_whole_batches_and_no_coin_are_one_gaussian() -> None:
    """p = 1, B = n: K R shifts of 1/sigma are one of sqrt(K R)/sigma."""
    federated = plan(client_rate=1, batch_size=600, local_steps=3, rounds=12, sigma=6)
    mu = math.sqrt(36) / 6.0
    for epsilon in (0.1, 1.0, 4.0):
        cut = epsilon / mu + 0.5 * mu
        delta = 0.5 * math.erfc((cut - mu) / math.sqrt(2))
        delta -= math.exp(epsilon) * 0.5 * math.erfc(cut / math.sqrt(2))
        assert federated.tree().delta(epsilon=epsilon).value == pytest.approx(delta, rel=1e-11)
    assert federated.epsilon(delta=1e-5).side is dp.Side.TWO_SIDED


def test_no_coin_is_plain_composition() -> None:
    federated = plan(client_rate=1)
    step = dp.WithoutReplacement(Fraction(16, 600))(dp.Gaussian(sigma=1))
    assert federated.tree().equivalent(step * (38 * 194))
    assert federated.tree().equivalent(federated.exact())
    result = rows(federated)
    assert result["two-level", "weak"].answer.upper == result["exact", "weak"].answer.upper


def test_one_round_is_a_share_of_its_delta() -> None:
    """R = 1: p delta_f, and p^2 delta_f towards one other client (Lemma 3.8)."""
    federated = plan(rounds=1, batch_size=120, client_rate="0.3")
    local = federated.local().delta(epsilon=0.5)
    assert federated.tree().delta(epsilon=0.5).upper == pytest.approx(0.3 * float(local), rel=1e-8)
    spared = federated.until_last_sync(delta=0.09 * float(local))
    assert float(spared) == pytest.approx(0.5, rel=1e-7)
    # both coins, so the lower end towards one other client is below that
    weak, strong = federated.weak(delta=1e-5), federated.strong(delta=1e-5)
    assert weak.upper == strong.upper
    assert weak.lower <= float(federated.until_last_sync(delta=1e-5)) < strong.upper  # type: ignore[operator]
    # and it is the same plan as through its tree, where the engine sees a coin
    assert federated.tree().epsilon(delta=1e-5, method="exact").upper == pytest.approx(
        strong.upper, rel=1e-7
    )


def test_one_round_of_few_hits_is_asked_of_its_steps() -> None:
    """Where the coin's own contour is poor, p delta_f still is what it is; the noise for it, too."""
    federated = plan(rounds=1, local_steps=30, batch_size=6, client_rate="0.02", sigma=3)
    answer = federated.strong(delta="1e-5")
    inner = federated.local().epsilon(delta="5e-4")
    assert (answer.lower, answer.upper) == (inner.lower, inner.upper)
    assert answer.tree == federated.tree()
    sigma = float(federated.sigma_for(epsilon="0.2", delta="1e-5"))
    assert float(federated.with_sigma(sigma).strong(delta="1e-5")) <= 0.2
    assert float(federated.with_sigma(0.99 * sigma).strong(delta="1e-5")) > 0.2
    assert float(plan(rounds=1, client_rate="0.02").strong(delta="0.03")) == 0.0


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("client_rate", ("0.1", "0.3", "0.6", 1)),
        ("rounds", (20, 60, 194)),
        ("local_steps", (38, 60, 100)),
        ("batch_size", (16, 20, 40)),
        ("sigma", (4, 2, 1, "0.7")),
    ],
)
def test_more_of_it_costs_more(name: str, values: tuple[object, ...]) -> None:
    results = [upper(plan(**{name: value})) for value in values]
    assert results == sorted(results) and len(set(results)) == len(results)


@settings(max_examples=5)
@given(
    rate=st.sampled_from(["0.05", "0.2", "0.5", "0.9", "1"]),
    rounds=st.integers(10, 200),
    sigma=st.sampled_from(["0.6", "1", "2.5"]),
    clients=st.integers(2, 1000),
    delta=st.sampled_from(["1e-3", "1e-5", "1e-9"]),
)
def test_laws_of_every_row(rate: str, rounds: int, sigma: str, clients: int, delta: str) -> None:
    federated = plan(client_rate=rate, rounds=rounds, sigma=sigma, clients=clients)
    result = list(federated.rows(delta=delta))
    by_name = {(row.name, row.notion): row.answer for row in result if row.printed is None}
    # one release serves all helper models: strong costs what weak does
    two, full = by_name["two-level", "strong"], by_name["exact", "weak"]
    weak = by_name["two-level", "weak"]
    assert (weak.value, weak.upper) == (two.value, two.upper)
    assert weak.lower is not None and two.lower is not None and weak.lower <= two.lower
    assert by_name["exact", "weak"] == by_name["exact", "strong"]
    assert float(two) <= float(full) * (1 + 1e-9)
    assert two.lower <= float(two)
    for row in result:
        assert row.answer.unit is dp.Unit.RECORD
        assert row.answer.adjacency is dp.Adjacency.REPLACE_ONE
        assert row.answer.strength is not dp.Strength.REFUTED
        if row.printed is not None and not row.printed.holds:
            assert row.answer == by_name["two-level", row.notion]  # never the printed number
            assert row.printed.told
    limit = by_name["clt", "weak"]
    assert (limit.strength, limit.side) == (dp.Strength.ESTIMATE, dp.Side.NONE)
    # what is false as printed is said to be, whatever it happens to give here
    status = {row.printed.theorem: row.printed.status for row in result if row.printed}
    assert status["federated_fdp.theorem2_gdp"] == "refuted"
    assert status["federated_fdp.theorem1"] == ("published" if rate == "1" else "refuted")


def test_number_of_clients_changes_nothing_but_the_printed_strong_forms() -> None:
    few, many = rows(plan(clients=2)), rows(plan(clients=1000))
    assert few["two-level", "strong"].answer == many["two-level", "strong"].answer
    of_few, of_many = few["paper", "strong"].printed, many["paper", "strong"].printed
    assert of_few is not None and of_many is not None
    # here p^2 = 1/4 is above the variation of a round, so both are compositions of K R (m - 1) steps
    step = dp.WithoutReplacement(Fraction(16, 600))(dp.Gaussian(sigma=1))
    for printed, observers in ((of_few, 1), (of_many, 999)):
        run = step * (38 * 194 * observers)
        assert printed.value == pytest.approx(float(run.epsilon(delta="1e-5")), rel=1e-7)


def test_theorem_1_as_printed_where_the_coin_counts() -> None:
    """p = 0.1: g_p is flat in the middle. Whole batches of one step: a mixture that can be summed."""
    federated = plan(
        client_rate="0.1", batch_size=600, local_steps=1, rounds=30, sigma=4, clients=2
    )
    printed = rows(federated)["paper", "weak"].printed
    assert printed is not None and printed.status == "refuted"
    # losses of N(mu, 1) against N(0, 1) nearer to 0 than `edge` become 0, until p^2 is left
    mu, rounds = 0.25, 30
    low, high = 0.0, 10.0
    for _ in range(100):
        edge = 0.5 * (low + high)
        left = _tail(edge / mu - 0.5 * mu) - _tail(edge / mu + 0.5 * mu)
        low, high = (edge, high) if left > 0.01 else (low, edge)
    import numpy as np

    mesh = 2e-3
    loss = mesh * np.arange(-(2**15), 2**15)
    cuts = np.append(loss - 0.5 * mesh, loss[-1] + 0.5 * mesh)
    law = np.diff([1.0 - _tail((cut - 0.5 * mu * mu) / mu) for cut in cuts])
    law[np.abs(loss) < edge] = 0.0
    law[loss == 0.0] = 1.0 - law.sum()
    whole = np.fft.fftshift(np.fft.irfft(np.fft.rfft(np.fft.ifftshift(law)) ** rounds, loss.size))
    gain = loss - printed.value
    delta = float(-np.sum(whole[gain > 0] * np.expm1(-gain[gain > 0])))
    assert delta == pytest.approx(1e-5, rel=0.02)


def _tail(x: float) -> float:
    return 0.5 * math.erfc(x / math.sqrt(2.0))


def test_theorem_1_holds_without_a_coin_and_pays_for_each_observer() -> None:
    result = rows(plan(client_rate=1, rounds=10, clients=5))
    weak, strong = result["paper", "weak"], result["paper", "strong"]
    assert weak.printed is not None and weak.printed.holds
    assert strong.printed is not None and strong.printed.holds
    assert weak.answer.strength is dp.Strength.PUBLISHED
    assert float(weak.answer) == pytest.approx(weak.printed.value, rel=1e-6)
    assert float(strong.answer) == strong.printed.value
    assert float(strong.answer) > 1.5 * float(result["two-level", "strong"].answer)


def test_a_secret_coin_is_not_relied_upon() -> None:
    public, secret = plan(), plan(participation="secret")
    seen, hidden = public.strong(delta="1e-5"), secret.strong(delta="1e-5")
    assert seen.upper == hidden.upper and hidden.lower is None and hidden.side is dp.Side.UPPER
    assert any("secret" in str(assumption) for assumption in hidden.assumptions)
    assert plan(participation="secret", client_rate=1).strong(delta="1e-5").lower is not None


def test_the_last_sync_spares_a_little() -> None:
    federated = plan(rounds=3, client_rate="0.4", batch_size=60)
    two, spared = federated.strong(delta="1e-4"), federated.until_last_sync(delta="1e-4")
    assert 0.5 * float(two) < float(spared) < float(two)
    names = [row.name for row in federated.rows(delta="1e-4")]
    assert names.count("last-sync") == 1


def test_noise_for_a_target_meets_it_and_less_does_not() -> None:
    federated = plan()
    result = federated.sigma_for(epsilon=8, delta="1e-5")
    sigma = float(result)
    assert float(federated.with_sigma(sigma).strong(delta="1e-5")) <= 8.0
    assert float(federated.with_sigma(sigma * 0.999).strong(delta="1e-5")) > 8.0
    by = {row.name: float(row.answer) for row in federated.sigma_rows(epsilon=8, delta="1e-5")}
    assert by["two-level"] < by["exact"]
    assert federated.with_sigma(by["clt"]).mu_clt == pytest.approx(_mu(8.0), rel=1e-6)


def _mu(epsilon: float) -> float:
    """The mu whose Gaussian has this epsilon at 1e-5, by bisection on its closed form."""
    low, high = 1e-3, 50.0
    for _ in range(200):
        mu = 0.5 * (low + high)
        cut = epsilon / mu + 0.5 * mu
        delta = 0.5 * math.erfc((cut - mu) / math.sqrt(2))
        delta -= math.exp(epsilon) * 0.5 * math.erfc(cut / math.sqrt(2))
        low, high = (mu, high) if delta < 1e-5 else (low, mu)
    return high


def test_no_batch_is_larger_than_a_client() -> None:
    with pytest.raises(dp.InvalidArgument, match="batch_size") as refusal:
        plan(batch_size=601)
    assert refusal.value.argument == "batch_size"


def test_a_limit_that_overflows_is_left_out() -> None:
    federated = plan(sigma="0.02", rounds=2, local_steps=2, batch_size=600)
    assert math.isinf(federated.mu_clt)
    assert "clt" not in [row.name for row in federated.rows(delta="1e-5")]

"""The Harmonizer: each client's noise, last round and guarantee against trees of its own."""

import math
from fractions import Fraction
from typing import Any

import pytest

import dpacct as dp
from dpacct.federated import UDPFL, Client

BUDGET: dict[str, Any] = {"epsilon": 1, "delta": "1e-5"}


def alone(client: Client, rounds: int = 100, steps: int = 2) -> Any:
    (item,) = UDPFL(clients=[client], rounds=rounds, local_steps=steps).harmonized()
    return item


@pytest.mark.parametrize(
    "client",
    [
        Client(name="g", **BUDGET),
        Client(name="s", sample_rate="0.05", **BUDGET),
        Client(name="u", sample_rate="0.05", sampling="uniform", **BUDGET),
        Client(name="l", mechanism="laplace", **BUDGET),
        Client(name="c", mechanism="staircase", **BUDGET),
    ],
    ids=lambda client: client.name,
)
def test_noise_that_meets_a_budget(client: Client) -> None:
    result = alone(client)
    noise = float(result.noise)
    less = noise * (1.002 if client.mechanism == "staircase" else 0.998)  # eps0 is no noise
    run = client.run(200, noise)
    assert float(run.epsilon(delta="1e-5")) <= 1.0 + 1e-9
    assert float(client.run(200, less).epsilon(delta="1e-5")) > 1.0
    assert result.rounds == result.last_round == 100
    assert float(result.epsilon) == pytest.approx(1.0, rel=1e-4)
    # the paper's rule is a sum of Renyi divergences with the classical conversion: it asks for more
    assert result.paper_noise is not None
    more = (
        result.paper_noise < noise
        if client.mechanism == "staircase"
        else result.paper_noise > noise
    )
    assert more


def test_algorithm_3_corrected_is_the_gaussian_rule() -> None:
    """sigma = sqrt(T/2)/(sqrt(L + eps) - sqrt(L)), which is the optimum over real orders."""
    result = alone(Client(name="g", **BUDGET))
    log_inverse = math.log(1e5)
    sigma = math.sqrt(100) / (math.sqrt(log_inverse + 1) - math.sqrt(log_inverse))
    assert result.paper_noise == pytest.approx(sigma, rel=1e-12)
    again = dp.calibrate(
        lambda s: dp.Gaussian(sigma=s) * 200, epsilon=1, delta="1e-5", method="rdp-mironov"
    )
    assert float(again) == pytest.approx(sigma, rel=1e-4)


@pytest.mark.parametrize(
    "client",
    [
        Client(name="g", noise=60, **BUDGET),
        Client(name="l", mechanism="laplace", noise=60, **BUDGET),
        Client(name="c", mechanism="staircase", noise="0.02", **BUDGET),
        Client(name="s", noise=2, sample_rate="0.05", **BUDGET),
    ],
    ids=lambda client: client.name,
)
def test_a_client_stops_after_its_last_round(client: Client) -> None:
    result = alone(client, rounds=10**6)
    last = result.last_round
    assert result.rounds == last
    assert float(client.run(2 * last).epsilon(delta="1e-5")) <= 1.0
    assert float(client.run(2 * (last + 1)).epsilon(delta="1e-5")) > 1.0 - 1e-9
    assert result.paper_last_round is not None and result.paper_last_round <= last
    # two steps a round are what is told
    assert float(result.epsilon) == float(client.run(2 * last).epsilon(delta="1e-5"))


def test_a_client_that_can_afford_nothing_takes_no_part() -> None:
    result = alone(Client(name="a", noise=1, epsilon="0.1", delta="1e-5"))
    assert (result.last_round, result.rounds, result.epsilon) == (0, 0, None)


def test_penalties_of_section_3_3() -> None:
    """(eps_max - eps_k)/eps_max; none without a budget."""
    members = [
        Client(name="a", epsilon=4, delta="1e-5"),
        Client(name="b", epsilon=1, delta="1e-5"),
        Client(name="c", noise=9, delta="1e-5"),
    ]
    plan = UDPFL(clients=members, rounds=3)
    assert [item.penalty for item in plan.harmonized()] == [0.0, 0.75, None]


def test_the_number_of_rounds_that_is_missing() -> None:
    """UDP-FL: eps(delta, T) without T is the epsilon of one step."""
    plan = UDPFL(clients=[Client(name="a", noise=1, delta="0.1")], rounds=100)
    exact, wrong, right = plan.rows()
    assert wrong.printed is not None and wrong.printed.status == "refuted"
    single = dp.Gaussian(sigma=1).epsilon(delta="0.1", method="rdp-mironov")
    assert wrong.printed.value == pytest.approx(single.value, rel=1e-12)
    assert wrong.answer == exact.answer and wrong.printed.value < 0.1 * float(exact.answer)
    # T/(2 sigma^2) + sqrt(2 T L)/sigma, the optimum over real orders
    closed = 50.0 + math.sqrt(2 * 100 * math.log(10))
    assert right.answer.value == pytest.approx(closed, rel=1e-9)
    assert right.answer.value >= float(exact.answer)
    assert {row.who for row in (exact, wrong, right)} == {"a"}


def test_many_coordinates() -> None:
    """Laplace noise under l2 clipping costs sqrt(n) more; staircase noise is per number."""
    wide = Client(name="a", mechanism="laplace", noise=100, coordinates=25, delta="1e-5")
    narrow = Client(name="a", mechanism="laplace", noise=20, delta="1e-5")
    of_wide, of_narrow = (float(c.run(50).epsilon(delta="1e-5")) for c in (wide, narrow))
    assert of_wide == pytest.approx(of_narrow, rel=1e-9) and of_wide >= of_narrow * (1 - 1e-12)
    in_l1 = Client(name="a", mechanism="laplace", noise=20, coordinates=25, clip="l1", delta="1e-5")
    assert in_l1.step() == narrow.step()
    stairs = Client(name="a", mechanism="staircase", noise="0.1", coordinates=3, delta="1e-5")
    assert stairs.step() == dp.Staircase(eps0="0.1") * 3


def test_clients_do_not_touch_each_other() -> None:
    a, b = Client(name="a", noise=30, delta="1e-5"), Client(name="b", noise=3, delta="1e-6")
    both = {f.client.name: f.epsilon for f in UDPFL(clients=[a, b], rounds=10).harmonized()}
    assert both["a"] == alone(a, 10, 1).epsilon
    assert both["b"] == alone(b, 10, 1).epsilon


def test_a_client_needs_noise_or_a_budget() -> None:
    with pytest.raises(dp.InvalidArgument, match="noise or epsilon"):
        Client(name="a", delta="1e-5")
    with pytest.raises(dp.InvalidArgument, match="nu"):  # which Gaussian noise has not
        Client(name="a", noise=1, delta="1e-5", nu="0.5")
    with pytest.raises(dp.InvalidArgument, match="names that differ"):
        UDPFL(clients=[Client(name="a", noise=1, delta="1e-5")] * 2, rounds=1)
    with pytest.raises(dp.InvalidArgument, match="clients"):
        UDPFL(clients=[], rounds=1)


def test_a_coin_of_its_own_spends_less() -> None:
    """Gaussian rounds under a coin have a closed sum over how many took place."""
    from dpacct.papers.formulas.federated_fdp import theorem1_gaussian

    every, some = Client(name="g", **BUDGET), Client(name="g", client_rate="0.3", **BUDGET)
    result, full = alone(some), alone(every)
    assert float(result.noise) < 0.75 * float(full.noise)
    assert result.paper_noise == full.paper_noise  # the paper's rule gives no credit
    mu = math.sqrt(2.0) / float(result.noise)
    assert theorem1_gaussian(mu, 0.3, 100, 1.0) == pytest.approx(1e-5, rel=1e-4)
    last = alone(Client(name="g", noise=60, client_rate="0.3", **BUDGET), rounds=10**6).last_round
    mu = math.sqrt(2.0) / 60
    spent = [theorem1_gaussian(mu, 0.3, rounds, 1.0) for rounds in (last, last + 1)]
    assert spent[0] <= 1e-5 < spent[1]


@pytest.mark.parametrize("kind", ["sampled", "staircase"])
def test_sampled_records_under_a_coin(kind: str) -> None:
    """On a lattice: within the budget, never more noise than without a coin, and surely so."""
    arguments: dict[str, Any] = {"name": kind, "client_rate": "0.5", **BUDGET}
    if kind == "sampled":
        arguments["sample_rate"] = "0.1"
    else:
        arguments["mechanism"] = kind
    client = Client(**arguments)
    result = alone(client, rounds=20)
    full = client.without_coin().smallest_noise(20, 2)
    noise = float(result.noise)
    assert noise >= float(full) if kind == "staircase" else noise <= float(full)
    spent = result.epsilon
    assert spent.upper is not None and spent.upper <= 1.0
    # what a coin is, in a run of one round: delta(eps) = p delta of the steps
    noisy = client.with_noise(noise)
    inner = noisy.run(2).delta(epsilon="0.05")
    coin = noisy.plan(1, 2).delta(epsilon="0.05")
    assert coin.upper is not None and inner.lower is not None and inner.upper is not None
    assert coin.upper >= 0.5 * inner.lower * (1 - 1e-9)
    assert coin.upper <= 0.5 * inner.upper * (1 + 1e-2) + 1e-12


def test_laplace_noise_over_many_coordinates_is_rounded_down() -> None:
    """b / sqrt(coordinates), of a clip in l2: never above it, and some would be without the charge."""
    decided = 0
    for coordinates in range(2, 60):
        client = Client(
            name="l", mechanism="laplace", noise=3, delta="1e-5", coordinates=coordinates
        )
        step = client.step()
        assert isinstance(step, dp.Laplace)
        b, square = float(step.b or 0), Fraction(9, coordinates)
        assert Fraction(b) ** 2 <= square <= Fraction(b * (1 + 3e-15)) ** 2
        decided += Fraction(b / (1 - 1e-15)) ** 2 > square
    assert decided > 5

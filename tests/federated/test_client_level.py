"""Plans that protect a client: against the papers' numbers, other routes, and each other."""

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpacct as dp
from dpacct.federated import DPFed, DPFedAvg, DPFedLS, DPFedSAM, Row

CLIENT_LEVEL = (DPFed, DPFedLS, DPFedAvg, DPFedSAM)


def printed(rows: list[Row]) -> dict[str, Row]:
    return {row.printed.theorem: row for row in rows if row.printed}


def sam(**changed: Any) -> DPFedSAM:
    arguments: dict[str, Any] = {
        "clients": 500,
        "client_rate": "0.1",
        "rounds": 200,
        "noise_multiplier": "0.95",
    }
    return DPFedSAM(**(arguments | changed))


@pytest.mark.parametrize(
    ("z", "poisson", "uniform"),
    [
        (1, (3.7005283703, 5.066314905716, 5.07), ((19.826, 22.309), 8.658291013230, 8.66)),
        ("1.5", (1.8191640062, 2.564810150303, 2.56), ((6.981, 8.053), 5.225159499422, 5.23)),
    ],
)
def test_table_2_of_dp_fed_ls(z: Any, poisson: Any, uniform: Any) -> None:
    """DP-Fed-LS, Tables 2 and 3: the accountants behind the prints, and the truth of what was run."""
    arguments = {"clients": 2000, "client_rate": "0.05", "rounds": 200, "noise_multiplier": z}
    delta = 2000**-1.1
    true, accountant, shown = poisson
    rows = list(DPFed(**arguments).rows(delta=delta))
    assert rows[0].answer.value == pytest.approx(true, rel=1e-9)
    result = printed(rows)["mironov2019"].printed
    assert result is not None and result.value == pytest.approx(accountant, rel=1e-10)
    assert f"{result.value:.2f}" == str(shown) and result.holds
    ends, accountant, shown = uniform
    rows = list(DPFed(**arguments, sampling="uniform").rows(delta=delta))
    assert rows[0].answer.lower == pytest.approx(ends[0], abs=1e-3)
    assert rows[0].answer.upper == pytest.approx(ends[1], abs=1e-3)
    row = printed(rows)["wang2018.theorem9"]
    assert row.printed is not None and row.printed.value == pytest.approx(accountant, rel=1e-10)
    assert f"{row.printed.value:.2f}" == str(shown)
    # what is misapplied is no answer: the truth stands in its place, and is twice as much
    assert row.printed.status == "misapplied" and row.answer == rows[0].answer
    assert row.answer.lower is not None and row.answer.lower > row.printed.value


def test_theorem_1_of_dp_fed_ls_at_its_own_noise() -> None:
    """DP-Fed-LS, Theorem 1: at nu = 0.80803, G = 0.3 the theorem says 6, and [0.7512, 0.8190] is true."""
    plan = DPFed(
        clients=1000,
        client_rate="0.05",
        rounds=30,
        noise_multiplier=0.8080309940567968 / 0.3,
        clip="0.3",
        sampling="uniform",
    )
    rows = list(plan.rows(delta=1000**-1.1))
    assert rows[0].answer.lower == pytest.approx(0.7512107, rel=1e-6)
    assert rows[0].answer.upper == pytest.approx(0.8190432, rel=1e-6)
    row = printed(rows)["dp_fed_ls.theorem1"]
    assert row.printed is not None and row.printed.value == pytest.approx(6.0, rel=1e-6)
    assert row.answer.strength is dp.Strength.PUBLISHED and row.answer.side is dp.Side.UPPER


def test_smoothing_costs_nothing() -> None:
    arguments = {"clients": 1000, "client_rate": "0.05", "rounds": 30, "noise_multiplier": 2}
    plain = DPFed(**arguments)  # type: ignore[arg-type]
    for smoothing in (0, 1, "3.5"):
        smooth = DPFedLS(**arguments, smoothing=smoothing)  # type: ignore[arg-type]
        assert smooth.tree() == plain.tree()
        assert any("smoothing" in promise for promise in smooth.promises())


def test_dp_fedsam() -> None:
    """DP-FedSAM, Theorem 2: 0.728 and 8.513 are printed or used; [36.984, 43.165] is true."""
    rows = list(sam().rows(delta="0.002"))
    exact = rows[0].answer
    assert exact.lower == pytest.approx(36.984131762673, rel=1e-9)
    assert exact.upper == pytest.approx(43.164543579482, rel=1e-9)
    output = printed(rows)
    wrong = {
        "dp_fedsam.theorem2": 0.7280163,
        "dp_fedsam.theorem2_algorithm1": 8.513165508,
    }
    for theorem, value in wrong.items():
        row = output[theorem]
        assert row.printed is not None and row.printed.value == pytest.approx(value, rel=1e-6)
        assert row.printed.status == "refuted" and row.answer == exact
        assert value < exact.lower  # type: ignore[operator]
    right = output["dp_fedsam.theorem2_without_replacement"]
    assert right.name == "paper-corrected"
    assert right.answer.value == pytest.approx(48.808191372187, rel=1e-8)
    assert right.answer.value > exact.upper  # type: ignore[operator]


def test_the_witness_of_its_theorem_2() -> None:
    """DP-FedSAM, Theorem 2: at the printed 0.728 the delta of a run with coins is 0.486, not 0.002."""
    plan = sam(sampling="poisson")
    wrong = printed(list(plan.rows(delta="0.002")))["dp_fedsam.theorem2"].printed
    assert wrong is not None
    at = plan.tree().delta(epsilon=wrong.value)
    assert at.value == pytest.approx(0.48569, rel=1e-4)


def test_the_witness_of_dp_fedavgs_divisor() -> None:
    """AE-DPFL: an agent joins ten, and the noise shrinks by a tenth in 1000 coordinates."""
    from scipy.special import gammaincc

    plan = DPFedAvg(clients=10, client_rate=1, rounds=1, noise_multiplier=1)
    row = printed(list(plan.rows(delta="0.126936737507")))["ae_dpfl.algorithm3"]
    assert row.printed is not None and row.printed.value == pytest.approx(1.0, rel=1e-9)
    # N(0, 1/m^2) against N(0, 1/(m+1)^2), m = 10, told apart by their norms
    grow, dimension = 1.1, 1000
    cut = 2.0 * (1.0 + dimension * math.log(grow)) / (grow**2 - 1.0)
    delta = float(gammaincc(dimension / 2, cut / 2))
    delta -= math.e * float(gammaincc(dimension / 2, grow**2 * cut / 2))
    assert delta > 0.9


def test_dp_fedsam_with_coins() -> None:
    rows = list(sam(sampling="poisson").rows(delta="0.002"))
    assert rows[0].answer.value == pytest.approx(7.301241073466, rel=1e-9)
    right = printed(rows)["dp_fedsam.theorem2_corrected"]
    assert right.answer.value == pytest.approx(8.513165508, rel=1e-8)
    more = sam(sampling="poisson", rounds=300).epsilon(delta="0.002")
    assert more.value == pytest.approx(9.372458417246, rel=1e-9)


@pytest.mark.parametrize(("multiplier", "epsilon"), [("0.06", 209.08), ("0.75", 6.13)])
def test_dp_fedavg_of_all_agents(multiplier: str, epsilon: float) -> None:
    """AE-DPFL: one round of everyone, with the two readings of the paper's sigma."""
    plan = DPFedAvg(clients=100, client_rate=1, rounds=1, noise_multiplier=multiplier)
    rows = list(plan.rows(delta="1e-5"))
    assert rows[0].answer.value == pytest.approx(epsilon, abs=0.01)
    row = printed(rows)["ae_dpfl.algorithm3"]
    assert row.printed is not None and row.printed.status == "refuted"
    assert row.answer == rows[0].answer


def test_shares_of_noise_add_up() -> None:
    arguments = {"clients": 100, "client_rate": "0.5", "rounds": 10, "noise_multiplier": 4}
    server = DPFedAvg(**arguments)  # type: ignore[arg-type]
    shared = DPFedAvg(**arguments, noise_by="clients")  # type: ignore[arg-type]
    assert server.tree() == shared.tree()
    assert "single-messages" not in [row.name for row in server.rows(delta="1e-3")]
    row = next(row for row in shared.rows(delta="1e-3") if row.name == "single-messages")
    # a message has 1/50 of the variance; the coin is the client's, replace-one
    noise = dp.Gaussian(sigma=4 / math.sqrt(50) / 2)
    alone = (dp.Participation("0.5")(noise) * 10).epsilon(delta="1e-3")
    assert row.notion == "message" and float(row.answer) == pytest.approx(float(alone), rel=1e-9)
    # a share of the clients missing leaves sqrt(1 - share) of the noise
    fewer = DPFedAvg(**arguments, noise_by="clients", missing=18)  # type: ignore[arg-type]
    assert float(fewer.effective_multiplier) == pytest.approx(4 * math.sqrt(0.64), rel=1e-12)
    assert float(fewer.effective_multiplier) <= 4 * math.sqrt(0.64)
    same = DPFedAvg(**(arguments | {"noise_multiplier": "3.2"}))  # type: ignore[arg-type]
    assert float(fewer.epsilon(delta="1e-3")) == pytest.approx(
        float(same.epsilon(delta="1e-3")), rel=1e-9
    )


@settings(max_examples=6)
@given(
    kind=st.sampled_from(CLIENT_LEVEL),
    sampling=st.sampled_from(["poisson", "uniform"]),
    rate=st.sampled_from(["0.05", "0.2", "1"]),
    rounds=st.integers(1, 300),
    multiplier=st.floats(0.7, 8.0),
    delta=st.sampled_from(["1e-2", "1e-5"]),
)
def test_laws(
    kind: type[DPFed], sampling: Any, rate: str, rounds: int, multiplier: float, delta: str
) -> None:
    plan = kind(
        clients=1000,
        client_rate=rate,
        rounds=rounds,
        noise_multiplier=multiplier,
        sampling=sampling,
    )
    exact, *others = plan.rows(delta=delta)
    assert exact.answer.unit is dp.Unit.CLIENT
    uniform = sampling == "uniform"
    assert plan.adjacency is (dp.Adjacency.REPLACE_ONE if uniform else dp.Adjacency.ADD_REMOVE)
    assert exact.answer.adjacency is plan.adjacency
    assert plan.sensitivity.startswith("2C" if uniform else "C ")
    assert float(plan.sigma) == pytest.approx(multiplier / (2 if uniform else 1), rel=1e-12)
    assert plan.promises() and all(
        any(promise in str(assumption) for assumption in exact.answer.assumptions)
        for promise in plan.promises()
    )
    for row in others:
        if row.printed is not None and not row.printed.holds:
            assert row.answer == exact.answer
        elif row.printed is not None:  # what holds is an upper bound of the truth
            assert row.answer.side is dp.Side.UPPER
            assert float(row.answer) >= (exact.answer.lower or 0.0) * (1 - 1e-9)


@pytest.mark.parametrize("kind", CLIENT_LEVEL)
def test_noise_for_a_target(kind: type[DPFed]) -> None:
    plan = kind(clients=1000, client_rate="0.1", rounds=100, noise_multiplier=1)
    result = plan.sigma_for(epsilon=2, delta="1e-5")
    quiet = plan.with_sigma(float(result))
    assert float(quiet.epsilon(delta="1e-5")) <= 2.0
    assert float(plan.with_sigma(float(result) * 0.999).epsilon(delta="1e-5")) > 2.0
    assert float(quiet.sigma) == pytest.approx(float(result), rel=1e-12)


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (DPFedAvg, {"missing": 3}),  # the server adds the noise
        (DPFedSAM, {"missing": 50}),  # nobody is left
        (DPFedSAM, {"client_rate": "0.0011"}),  # half a client
    ],
)
def test_nonsense_is_refused(kind: type[DPFed], wrong: dict[str, Any]) -> None:
    arguments: dict[str, Any] = {
        "clients": 500,
        "client_rate": "0.1",
        "rounds": 10,
        "noise_multiplier": 1,
    }
    with pytest.raises(dp.InvalidArgument) as refusal:
        kind(**(arguments | wrong))
    assert refusal.value.argument in wrong


def test_what_missing_clients_leave_is_rounded_down() -> None:
    """sigma sqrt((m - missing)/m): never above it, and some of it would be without the charge."""
    decided = 0
    for missing in range(1, 50):
        left = float(sam(missing=missing).effective_multiplier)
        square = Fraction("0.95") ** 2 * Fraction(50 - missing, 50)
        assert Fraction(left) ** 2 <= square <= Fraction(left * (1 + 3e-15)) ** 2
        decided += Fraction(left / (1 - 1e-15)) ** 2 > square
    assert decided > 5

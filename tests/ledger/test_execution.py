"""What ran against what was accounted: correct runs pass, each kind of mistake is found."""

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

import dpacct as dp
from dpacct.ledger.execution import excess, steadiness
from tests.ledger.ledgers import BUDGET

N, RATE, STEPS = 5000, 0.02, 300
PLAN = dp.Poisson(RATE)(dp.Gaussian(noise_multiplier=1.1, clip=1)) * STEPS
STEP, COINS, SHARE, NOISE, DRAWS, WEIGHT = range(6)
WORDS = ["held", "violated", "unknown"]


def poisson_sizes(seed: int, rate: float = RATE) -> list[int]:
    return [int(b) for b in np.random.default_rng(seed).binomial(N, rate, STEPS)]


def statuses(**measured: object) -> list[str]:
    ran = dp.Execution(**{"steps": STEPS, "population": N, **measured})
    return [str(check.status) for check in ran.compare(PLAN)]


@pytest.mark.parametrize("seed", range(40))
def test_a_correct_run_is_held(seed: int) -> None:
    result = statuses(
        batch_sizes=poisson_sizes(seed), noise_multiplier=1.1, noise_draws=STEPS, weights=[1, 0.5]
    )
    assert result == ["held"] * 6


@pytest.mark.parametrize(
    ("measured", "check"),
    [
        ({"steps": STEPS + 1}, STEP),
        ({"batch_sizes": [100] * STEPS}, COINS),  # fixed batches
        ({"batch_sizes": [100] * (STEPS - 1) + [37]}, COINS),  # shuffled epochs, a short last one
        ({"batch_sizes": [99, 101] * (STEPS // 2)}, COINS),
        ({"sampling": "shuffle"}, COINS),
        ({"sampling": "uniform", "batch_sizes": poisson_sizes(1)}, COINS),
        ({"sampling": "poisson", "batch_sizes": [100] * STEPS}, COINS),  # it says so, and is not
        ({"batch_sizes": poisson_sizes(1, 2 * RATE)}, SHARE),  # the world size was forgotten
        ({"batch_sizes": poisson_sizes(1, 1.1 * RATE)}, SHARE),
        ({"noise_multiplier": 1.09}, NOISE),
        ({"noise_multiplier": 0.0}, NOISE),
        ({"noise_draws": 4 * STEPS}, DRAWS),  # micro-batches
        ({"weights": [1.0, 1.0, 3.0]}, WEIGHT),  # class weights after clipping
        ({"weights": [0.5, -1.5]}, WEIGHT),
    ],
    ids=str,
)
def test_a_mistake_is_violated(measured: dict[str, object], check: int) -> None:
    assert statuses(**measured)[check] == "violated"


def test_what_was_not_measured_is_unknown() -> None:
    assert statuses() == ["held", *["unknown"] * 5]
    assert statuses(sampling="poisson")[COINS] == "held"


def test_the_rate_bound_is_a_bound() -> None:
    """Chernoff's is never below the exact tail of the binomial law."""
    from scipy.special import bdtrc

    for count in range(1, 60):
        exact = bdtrc(count - 1, 100, 0.1)  # P[X >= count]
        assert excess(count / 100, 0.1, 100) >= exact * (1 - 1e-9)


@pytest.mark.parametrize(
    "bad",
    [
        {"steps": -1},
        {"steps": 1.5},
        {"steps": 1, "population": 10, "batch_sizes": [11]},
        {"steps": 1, "weights": [float("nan")]},
        {"steps": 1, "noise_multiplier": float("nan")},
        {"steps": 1, "batch_sizes": [True]},
        {"steps": 1, "sampling": "bernoulli"},
    ],
    ids=str,
)
def test_a_bad_measurement_is_refused(bad: dict[str, object]) -> None:
    with pytest.raises(dp.InvalidArgument):
        dp.Execution(**bad)


def test_the_ledger_keeps_what_was_observed(tmp_path: Path) -> None:
    with dp.Ledger(tmp_path / "a", budget=BUDGET, plan=PLAN * 2) as ledger:
        ledger.spend(PLAN)
        fine = dp.Execution(steps=STEPS, population=N, batch_sizes=poisson_sizes(3))
        ledger.observe(fine)
        wrong = dp.Execution(steps=STEPS, population=N, batch_sizes=[100] * STEPS)
        checks = ledger.observe(wrong)
    with dp.Ledger(tmp_path / "a") as ledger:
        results = {a.text: str(a.status) for a in ledger.guarantee().assumptions}
        assert results["each unit was sampled by its own coin"] == "violated"
        assert results["no more steps ran than were accounted"] == "held"
        ledger.observe(fine)  # what was violated once is not made good by a later part of the run
        assert {a.text: str(a.status) for a in ledger.checks()} == {
            a.text: str(a.status) for a in checks
        }


def test_a_ledger_that_goes_on_after_a_violation_warns_once(tmp_path: Path) -> None:
    with dp.Ledger(tmp_path / "a", budget=BUDGET, plan=PLAN * 4) as ledger:
        ledger.spend(PLAN)
        ledger.observe(dp.Execution(steps=STEPS, population=N, batch_sizes=[100] * STEPS))
        with pytest.warns(UserWarning, match="'each unit was sampled by its own coin' was found"):
            ledger.spend(PLAN)
        ledger.spend(PLAN)


def test_a_few_equal_sizes_are_within_chance() -> None:
    """Exactly: two coin-drawn batches of the same size are no sign of a loader that does not toss coins."""
    for population, rate in ((40, 0.1), (1000, 0.01), (10_000, 0.05)):
        law = binom.pmf(np.arange(population + 1), population, rate)
        equal = float(np.sum(law**2))
        size = round(population * rate)
        assert equal / 5 < steadiness([size, size], population, rate) < 5 * equal
    assert steadiness([128] * 100, 12_800, 0.01) < 1e-30

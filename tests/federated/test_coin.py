"""A round that takes place with some probability: its answers against counting the rounds that did.

If everyone sees the coins, k of R rounds took place with a binomial probability, and then the plan is k
rounds without a coin. So delta is a mean over k of other plans' deltas, which share no coin law.
"""

import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

import dpacct as dp


def _counted(step: dp.Node, rate: str, rounds: int, epsilon: float) -> tuple[float, float]:
    """Ends of the mean over the number of rounds that took place, by the engine without coins."""
    low, high = 0.0, 0.0
    for k in range(1, rounds + 1):
        weight = float(scipy.stats.binom.pmf(k, rounds, float(rate)))
        if weight < 1e-13:
            high += weight
            continue
        answer = (step * k).delta(epsilon=epsilon, method="exact")
        assert answer.lower is not None and answer.upper is not None
        low += weight * answer.lower
        high += weight * answer.upper
    return low, high


NOISE = dp.Gaussian(sigma=1)


@pytest.mark.parametrize(
    ("rate", "step", "rounds", "adjacency"),
    [
        ("0.25", dp.WithoutReplacement("0.03")(NOISE) * 38, 20, "replace-one"),
        ("0.5", dp.Poisson("0.03")(NOISE) * 38, 10, "add-remove"),
        ("0.02", dp.Poisson("0.1")(NOISE) * 40, 3, "add-remove"),
        ("0.3", dp.Gaussian(sigma=2) * 1, 20, "add-remove"),
        ("0.05", dp.Gaussian(sigma="0.6") * 1, 4, "add-remove"),
    ],
)
def test_rounds_are_counted(rate: str, step: dp.Node, rounds: int, adjacency: str) -> None:
    run = dp.Participation(rate)(step) * rounds
    for epsilon in (0.2, 1.0):
        answer = run.delta(epsilon=epsilon, method="exact", adjacency=adjacency)
        low, high = _counted(step, rate, rounds, epsilon)
        assert answer.lower is not None and answer.upper is not None
        assert answer.lower <= high * (1 + 1e-9) and answer.upper >= low * (1 - 1e-9)
        assert answer.upper <= high * (1 + 1e-3)


@settings(max_examples=12)
@given(
    rate=st.floats(0.01, 0.99),
    mu=st.floats(0.1, 2.0),
    rounds=st.integers(1, 30),
    place=st.floats(0.0, 3.0),
)
def test_gaussian_rounds_in_closed_form(rate: float, mu: float, rounds: int, place: float) -> None:
    """The closed sum of `federated_fdp.theorem1_gaussian`."""
    from dpacct.papers.formulas.federated_fdp import theorem1_gaussian

    epsilon = 0.01 + place * mu * (1.0 + mu)
    run = dp.Participation(rate)(dp.Gaussian(sigma=1.0 / mu)) * rounds
    truth = theorem1_gaussian(mu, rate, rounds, epsilon)
    answer = run.delta(epsilon=epsilon, method="exact")
    assert answer.upper is not None and answer.lower is not None
    assert answer.lower * (1 - 1e-8) <= truth <= answer.upper * (1 + 1e-8)


def test_a_coin_that_always_falls_is_no_coin() -> None:
    step = dp.WithoutReplacement("0.1")(dp.Gaussian(sigma=1)) * 20
    assert (dp.Participation(1)(step) * 5).equivalent(step * 5)

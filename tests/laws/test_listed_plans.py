"""Plans that once were answered wrongly, crashed or hung: against the truth, and within an answer's work."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dpacct as dp
from dpacct.pld.budget import WORK, metered
from tests.work import memory


def test_nothing_happens_to_a_record_that_is_hardly_ever_drawn() -> None:
    """delta(0) is at most 6 q: once epsilon was called the largest loss, 6.1e-7, converged."""
    plan = dp.Poisson("9.728e-10")(dp.DiscreteGaussian(scale="21.47")) * 6
    answer = plan.epsilon(delta="3.251e-4", method="exact")
    assert (answer.lower, answer.upper) == (0.0, 0.0)


def test_delta_of_epsilon_zero_gives_it_back() -> None:
    """tanh(1/2) is the total variation of a pure release of epsilon 1: once a crash."""
    answer = dp.PureDP(epsilon=1).epsilon(delta=math.tanh(0.5), method="exact")
    assert answer.lower == 0.0 and answer.upper is not None and answer.upper < 1e-14


def test_sums_of_99_different_answers() -> None:
    """Losses are multiples of a hundredth: all of them by one convolution of positive numbers."""
    steps = range(10, 109)
    plan: dp.Node = dp.RandomizedResponse(eps0="0.1")
    masses = np.ones(1)
    for k in steps:
        if k > 10:
            plan = plan + dp.RandomizedResponse(eps0=f"{k / 100:.2f}")
        most = 1.0 / (1.0 + math.exp(-k / 100))
        spread = np.zeros(masses.size + 2 * k)
        spread[: masses.size] += (1.0 - most) * masses
        spread[2 * k :] += most * masses
        masses = spread
    losses = (np.arange(masses.size) - sum(steps)) / 100.0
    epsilon = 42.5
    exact = float(-np.expm1(np.minimum(epsilon - losses, 0.0)) @ masses)
    answer = plan.delta(epsilon="42.5", method="exact")
    assert answer.lower is not None and answer.upper is not None
    assert answer.lower <= exact * (1.0 + 1e-12) and exact * (1.0 - 1e-12) <= answer.upper
    assert answer.upper <= exact * (1.0 + 1e-9)


@pytest.mark.parametrize("scale", ["1e-3", "1e-5"])
def test_hardly_any_noise(scale: str) -> None:
    """The number of samples that a record is in decides: once a search of minutes."""
    plan = dp.Poisson("0.3")(dp.Laplace(b=scale)) * 100
    with metered() as work:
        answer = plan.epsilon(delta="1e-9", method="exact")
    assert work.spent < WORK
    assert answer.lower is not None and answer.upper is not None
    # each hit loses 1/b + log 0.3 but for the tail of its noise, so the hits of the quantile decide
    hits, left = 100, 0.0
    while left + (last := math.comb(100, hits) * 0.3**hits * 0.7 ** (100 - hits)) < 1e-9:
        hits, left = hits - 1, left + last
    top = 1.0 / float(scale) + math.log(0.3)
    assert (hits - 1) * top < answer.lower <= answer.upper < (hits + 1) * top
    assert answer.upper - answer.lower <= 1e-3 * answer.upper


@pytest.mark.parametrize(
    ("plan", "epsilon"),
    [
        (dp.Poisson("3.902e-10")(dp.DiscreteGaussian(scale=14560, sensitivity=3)) * 111, "0.44"),
        (dp.WithoutReplacement("6.37e-10")(dp.Gaussian(sigma=4212)) * 36, "26.06"),
    ],
)
def test_a_delta_of_nothing_at_all_is_bounded(plan: dp.Node, epsilon: str) -> None:
    """e^-256000 and less: once worked out to twelve digits, in 7 s and 3.6 GB."""
    results: list[dp.Answer] = []
    most = memory(lambda: results.append(plan.delta(epsilon=epsilon, method="exact")))
    (answer,) = results
    assert answer.upper is not None and answer.upper < 1e-300
    assert answer.log_value is not None and answer.log_value < -20_000
    assert most < 50 << 20


def test_an_epsilon_at_a_kink_is_off_by_the_rounding_of_all_losses() -> None:
    """Eleven losses of .004236 decide; 1e7 steps round that by 4e-12: 1e-11 too much was called low."""
    plan = (
        dp.Participation("6.134e-12")(dp.RandomizedResponse(eps0="0.004236", k=202800000))
        * 10930000
    )
    answer = plan.epsilon(delta="8.278e-159", method="exact")
    assert answer.lower is not None and answer.upper is not None
    assert answer.lower < 11 * 0.004236 < answer.upper < 0.046596 * (1 + 1e-8)


def test_a_proof_of_more_bits_than_there_are_is_refused_before_it_ends_the_process() -> None:
    """Delta is e^-29000000000: flint wanted 530 TB for its numbers, and aborted."""
    plan = dp.WithoutReplacement("0.0001778")(dp.Gaussian(sigma="293.8")) * 306700000
    answer = plan.delta(epsilon="8.248e5")
    assert answer.upper is not None and answer.upper < 1e-300


def test_a_density_is_a_difference_of_large_logs_where_there_is_little_noise() -> None:
    """Nearly all of .997, of which 5e-13 was missing at the upper end."""
    plan = dp.Participation("0.997")(dp.Gaussian(sigma="0.008273"))
    answer = plan.delta(epsilon="0.2956", method="exact")
    assert answer.lower is not None and answer.upper is not None
    assert answer.lower <= 0.997 <= answer.upper <= 0.997 * (1 + 1e-10)


def test_ends_enclose_the_value_where_a_rule_rounds_either_way() -> None:
    plan = dp.Poisson("7.503e-12")(dp.Laplace(b=3420))
    for epsilon in ("1e-12", "1e-10", "1e-8", "1e-6", "1e-4"):
        assert plan.delta(epsilon=epsilon, method="exact").upper is not None

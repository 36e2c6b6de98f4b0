"""A round that takes place with some probability: the contour against counting the rounds that did.

If everyone sees the coins, k of R rounds took place with a binomial probability, and then the plan is k
rounds without a coin. So delta is a mean over k of other plans' deltas, which share no coin law.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpacct as dp
from dpacct.pld import contour
from dpacct.pld.coin import Round
from dpacct.pld.loss import LossDistribution, gaussian
from dpacct.pld.moments import prepare


def symmetric(sigma: float, rate: float) -> LossDistribution:
    return gaussian(1.0 / sigma).sampled(rate).mirrored()


def removal(sigma: float, rate: float) -> LossDistribution:
    return gaussian(1.0 / sigma).sampled(rate)


def _counted(
    law: LossDistribution, steps: int, rate: float, rounds: int, epsilon: float
) -> tuple[float, float]:
    """Ends of the mean over the number of rounds that took place, by the engine without coins."""
    from scipy.stats import binom

    low, high = 0.0, 0.0
    for k in range(1, rounds + 1):
        weight = float(binom.pmf(k, rounds, rate))
        if weight < 1e-13:
            high += weight
            continue
        log_delta = contour.log_delta([(law, float(steps * k))], epsilon)
        low += weight * math.exp(log_delta.value) * (1.0 - log_delta.error)
        high += weight * math.exp(log_delta.value) * (1.0 + log_delta.error)
    return low, high


@pytest.mark.parametrize(
    ("rate", "law", "steps", "rounds"),
    [
        (0.5, symmetric(1.0, 16 / 600), 38, 194),
        (0.25, symmetric(0.75, 16 / 600), 38, 20),
        (0.5, removal(1.0, 16 / 600), 38, 10),
        (0.02, symmetric(1.0, 0.1), 40, 3),
        (0.3, gaussian(0.5), 1, 20),
        (0.01, gaussian(1.0), 1, 20),
        (0.05, gaussian(1.7), 1, 4),
        (0.9, symmetric(3.0, 0.1), 40, 2),
    ],
)
def test_rounds_are_counted(rate: float, law: LossDistribution, steps: int, rounds: int) -> None:
    run = [(Round(((law, float(steps)),), rate), float(rounds))]
    epsilon = contour.epsilon(run, math.log(1e-5))
    assert epsilon.error < 5e-9 * epsilon.value
    for e in (0.0, 0.2 * epsilon.value, epsilon.value):
        log_delta = contour.log_delta(run, e)
        assert log_delta.error < 5e-9
        low, high = _counted(law, steps, rate, rounds, e)
        assert math.exp(log_delta.value) * (1.0 - log_delta.error) <= high * (1 + 1e-9)
        assert math.exp(log_delta.value) * (1.0 + log_delta.error) >= low * (1 - 1e-9)
        if e > 0.0:  # there the rounds without coins are sharp, too
            assert high - low < 2e-8 * high


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


def test_lattice_says_the_same() -> None:
    """Two ends of another engine around it."""
    run = dp.Participation("0.3")(dp.Gaussian(sigma=2) * 4) * 3
    by_contour, by_grid = run.delta(epsilon=0.5), run.delta(epsilon=0.5, method="bracket")
    assert by_contour.strength is dp.Strength.CONVERGED
    assert by_grid.lower is not None and by_grid.upper is not None
    assert by_grid.lower <= by_contour.value <= by_grid.upper


@pytest.mark.parametrize("c", [0.01, 1.0, 7.0])
def test_moments_are_those_of_a_mixture(c: float) -> None:
    inner = symmetric(1.0, 0.05)
    moments = prepare(Round(((inner, 30.0),), 0.2), c / 2.0, 2.0 * c)
    log_moment = 30.0 * prepare(inner, c, c).cumulants(c).log_moment
    result = moments.cumulants(c)
    assert result.log_moment == pytest.approx(math.log(0.8 + 0.2 * math.exp(log_moment)), rel=1e-12)
    # mean and variance are the derivatives
    h = 1e-4 * c
    at = [moments.cumulants(c + k * h).log_moment for k in (-1, 0, 1)]
    assert result.mean == pytest.approx((at[2] - at[0]) / (2 * h), rel=1e-6)
    assert result.variance == pytest.approx((at[2] - 2 * at[1] + at[0]) / h**2, rel=1e-3)
    assert moments.log_moments(np.array([c]))[0] == pytest.approx(result.log_moment, rel=1e-12)


def test_silence_has_a_mass() -> None:
    """Idle rounds, and rounds all of whose steps say nothing: (1-q)(1 - 2 Phi(-mu/2)) each."""
    law = Round(((symmetric(2.0, 0.1), 12.0),), 0.3)
    step = 0.9 * math.erf(0.25 / math.sqrt(2.0))
    assert law.losses.tolist() == [0.0]
    assert math.exp(law.log_p[0]) == pytest.approx(0.7 + 0.3 * step**12, rel=1e-12)
    loud = Round(((gaussian(1.0), 3.0),), 0.3)
    assert math.exp(loud.log_p[0]) == pytest.approx(0.7, rel=1e-12)


def test_a_displacement_of_the_gaussian_round() -> None:
    moments = prepare(Round(((gaussian(0.7), 3.0),), 0.4), 1.0, 4.0)
    c, z = 2.0, np.array([0.3j, 2.0j, 0.1 + 1.0j, 1e-6j])

    def moment(s: complex) -> complex:
        return 0.6 + 0.4 * complex(np.exp(1.5 * 0.49 * s * (s + 1)))

    mean = moments.cumulants(c).mean
    for point, value in zip(z.tolist(), np.exp(moments.log_ratio(c, z)).tolist(), strict=True):
        truth = moment(c + point) / moment(c) * np.exp(-point * mean)
        assert abs(value - truth) < 1e-13
    # second order: next to c the logarithm is the variance's, to its last digits
    tiny = moments.log_ratio(c, np.array([1e-6j]))[0]
    assert tiny.real == pytest.approx(-0.5e-12 * moments.cumulants(c).variance, rel=1e-6)


def test_a_coin_that_always_falls_is_no_coin() -> None:
    step = dp.WithoutReplacement("0.1")(dp.Gaussian(sigma=1)) * 20
    assert (dp.Participation(1)(step) * 5).equivalent(step * 5)

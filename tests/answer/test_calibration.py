"""Searches for noise where hits are so rare, or targets so far, that most trials have no sensible delta."""

import math
from typing import Any

import pytest

import dpacct as dp


def test_the_edge_of_a_search_is_no_boundary() -> None:
    """All steps that may be asked about are allowed; how many would be too many is not known."""
    calibrated = dp.calibrate(
        lambda n: dp.Poisson(1e-7)(dp.Gaussian(sigma=18)) * int(n),
        epsilon=18,
        delta=1e-150,
        integer=True,
        name="steps",
    )
    assert (calibrated.value, calibrated.lower, calibrated.upper) == (1e15, 1e15, None)
    assert calibrated.side is dp.Side.LOWER and calibrated.safe_end == "lower"
    noise = dp.calibrate(lambda s: dp.Gaussian(sigma=s), epsilon=9, delta=0.9, bounds=(5, 50))
    assert (noise.value, noise.lower, noise.upper) == (5, None, 5)


@pytest.mark.parametrize("build", [lambda s: s, lambda s: None, lambda s: dp.Gaussian])
def test_what_builds_no_plan_is_said(build: Any) -> None:
    """A forgotten mechanism is named, not an attribute that it lacks."""
    with pytest.raises(dp.InvalidArgument, match=r"build must make a plan, such as dp.Gaussian"):
        dp.calibrate(build, epsilon=1, delta=1e-5)
    with pytest.raises(dp.InvalidArgument, match=r"build must make a plan, such as dp.Gaussian"):
        dp.calibrate_risk(build, true_positive_rate=0.01, false_positive_rate=0.001)


def test_what_cannot_be_called_is_said() -> None:
    plan: Any = dp.Gaussian(sigma=1)
    with pytest.raises(dp.InvalidArgument, match="build must be a function"):
        dp.calibrate(plan, epsilon=1, delta=1e-5)


def test_noise_is_proved_where_its_ends_are_as_far_apart_as_theory() -> None:
    """Of fixed size no value is known to miss the target next to the safe one: each end has its proof."""

    def plan(sigma: Any) -> dp.Node:
        return dp.WithoutReplacement("0.05")(dp.Gaussian(sigma=sigma)) * 200

    answer = dp.calibrate(plan, epsilon=4, delta=1e-5, name="sigma", effort=5)
    assert (answer.strength, answer.side) == (dp.Strength.PROVED, dp.Side.TWO_SIDED)
    assert answer.upper == pytest.approx(1.17372303773919, rel=1e-12)  # as in 2a5d979
    assert answer.lower is not None and answer.lower < answer.upper
    assert float(plan(answer.upper).epsilon(1e-5)) <= 4
    least = plan(answer.lower).epsilon(1e-5, method="exact").lower
    assert least is not None and least > 4 * (1 - 1e-9)


@pytest.mark.parametrize("bounds", [None, (0.1, 1e6)])
def test_a_range_may_begin_outside_of_what_a_mechanism_is_defined_for(bounds: Any) -> None:
    """A discrete Gaussian needs a twentieth of its sensitivity: a trial at 1 was an InvalidArgument."""

    def plan(scale: float) -> dp.Node:
        return dp.Poisson("0.0004137")(dp.DiscreteGaussian(scale=scale, sensitivity=27)) * 7104

    about: Any = {"epsilon": "0.02716", "delta": "6.966e-9", "method": "exact", "bounds": bounds}
    scale = float(dp.calibrate(plan, **about))
    met, missed = (plan(x).delta(epsilon="0.02716", method="exact") for x in (scale, 0.99 * scale))
    assert met.upper is not None and met.upper <= 6.966e-9
    assert missed.lower is not None and missed.lower > 6.966e-9


def test_an_error_of_the_callers_own_function_is_not_ours() -> None:
    """It used to be reported as numbers outside of double precision."""
    with pytest.raises(ZeroDivisionError):
        dp.calibrate(lambda sigma: dp.Gaussian(sigma=sigma / 0), epsilon=1, delta=1e-5)
    with pytest.raises(ZeroDivisionError):
        dp.risk.calibrate_risk(
            lambda sigma: dp.Gaussian(sigma=sigma / 0),
            true_positive_rate=0.01,
            false_positive_rate=0.001,
        )


def test_noise_at_delta_0_is_a_sum_of_largest_losses() -> None:
    noise = dp.calibrate(lambda b: dp.Laplace(b=b) * 10, epsilon=1, delta=0, name="b")
    assert 10 <= float(noise) < 10 * (1 + 1e-9) and noise.upper == float(noise)
    assert float((dp.Laplace(b=float(noise)) * 10).epsilon(0)) <= 1
    sampled = dp.calibrate(
        lambda b: dp.Poisson("0.1")(dp.Laplace(b=b)) * 10, epsilon=1, delta=0, name="b"
    )
    # the largest loss of one step is log(1 + (e^(1/b) - 1) / 10)
    assert math.log1p(0.1 * math.expm1(1 / float(sampled))) * 10 == pytest.approx(1, rel=1e-9)
    steps = dp.calibrate(lambda n: dp.Laplace(b=7) * int(n), epsilon=1, delta=0, integer=True)
    assert steps.value == 7
    with pytest.raises(dp.Unreachable, match="meets epsilon 1 at delta 0"):
        dp.calibrate(lambda s: dp.Gaussian(sigma=s), epsilon=1, delta=0, name="sigma")

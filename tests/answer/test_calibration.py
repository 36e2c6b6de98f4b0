"""Searches for noise where hits are so rare, or targets so far, that most trials have no sensible delta."""

import math
from typing import Any

import pytest

import dpacct as dp
from dpacct.pld.stable import TooFine


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


def test_epsilon_far_above_what_one_unit_of_noise_loses() -> None:
    """Delta at the first trial is e^-1008, at the next e^-4033: the search still finds its way down."""

    def delta(sigma: float) -> float:
        return float((dp.Poisson(1e-3)(dp.Gaussian(sigma=sigma)) * 2).delta(epsilon=50))

    noise = dp.noise_multiplier(epsilon=50, delta=1e-5, sample_rate=1e-3, steps=2)
    assert 0.1 < noise < 0.2
    assert delta(noise) <= 1e-5 < delta(noise * (1 - 1e-4))


def test_a_search_through_bounds_ends_where_the_answer_is_within_them() -> None:
    """Brackets depend on where a contour starts: what was found by one must hold when asked anew."""

    def plan(sigma: float) -> dp.Node:
        return dp.Poisson(1.467e-6)(dp.Gaussian(sigma=sigma)) * 12_235_866

    calibrated = dp.calibrate(plan, epsilon=0.2043, delta=9.606e-10, name="sigma")
    again = plan(float(calibrated)).delta(epsilon=0.2043, method="exact")
    assert again.upper is not None and again.upper <= 9.606e-10 * (1 + 1e-12)


def test_an_estimate_of_the_wrong_slope_does_not_lead_a_search_away() -> None:
    """Three rare steps: the saddle-point estimate rises with sigma where delta falls (it said 1e15)."""

    def plan(sigma: float) -> dp.Node:
        return dp.Poisson(0.01)(dp.Gaussian(sigma=sigma)) * 3

    noise = float(dp.calibrate(plan, epsilon=0.5, delta=3.9810717e-5, method="exact"))
    met, missed = (plan(noise * x).delta(0.5, method="exact") for x in (1.0, 0.999))
    assert met.upper is not None and met.upper <= 3.9810717e-5
    assert missed.lower is not None and missed.lower > 3.9810717e-5


def test_trials_farther_out_than_a_plan_can_be_stated_do_not_end_a_search() -> None:
    """Noise too small for any rule lies beyond the search's range, as noise outside of the domain does."""

    def plan(sigma: float) -> dp.Node:
        return dp.Poisson("0.05")(dp.Gaussian(sigma=sigma)) * 2

    def stated(sigma: float) -> dp.Node:
        if sigma < 0.1:
            raise TooFine
        return plan(sigma)

    noise, short = (
        dp.calibrate(build, epsilon=50, delta="1e-4", method="exact") for build in (plan, stated)
    )
    assert float(noise) > 0.1
    assert float(short) == pytest.approx(float(noise), rel=1e-9)


def test_the_other_end_of_a_quick_search_surely_misses_the_target() -> None:
    """Of a fixed-size sample the dominating pair may not be realised: that it misses says nothing."""

    def plan(sigma: Any) -> dp.Node:
        return dp.WithoutReplacement("0.05")(dp.Gaussian(sigma=sigma)) * 200

    answer = dp.calibrate(plan, epsilon=4, delta=1e-5, method="exact")
    assert plan(answer.upper).delta(epsilon=4, method="exact").upper <= 1e-5
    if answer.lower is not None:
        assert plan(answer.lower).delta(epsilon=4, method="exact").lower > 1e-5


def test_a_rate_is_looked_for_among_rates() -> None:
    """Secant steps from the normal law's guess went to a rate of 1.009, which is none."""
    plan = dp.Gaussian(sigma="1.309")
    result = dp.calibrate(
        lambda rate: dp.WithoutReplacement(float(rate))(plan),
        name="rate",
        epsilon="5.07",
        delta="1.841e-11",
        adjacency="replace-one",
        method="exact",
        bounds=(1e-12, 1.0),
    )
    safe, other = result.lower, result.upper
    assert safe is not None and 0.0 < safe <= 1.0
    sampled = dp.WithoutReplacement(safe)(plan).delta(epsilon="5.07", adjacency="replace-one")
    assert sampled.upper is not None and sampled.upper <= 1.841e-11 * (1.0 + 1e-9)
    assert other is None or safe < other <= 1.0


@pytest.mark.parametrize("method", ["auto", "exact"])
def test_a_boundary_where_losses_end(method: str) -> None:
    """Just below it delta is above 1e-20, at it 0: ends a factor of two apart were called converged."""
    ceiling = 0.18344959459765708  # 5 log(1 + .01 (e^{1/b} - 1)) = 6

    def plan(b: Any) -> dp.Node:
        return dp.Poisson("0.01")(dp.Laplace(b=b)) * 5

    answer = dp.calibrate(plan, epsilon=6, delta="1e-20", method=method)
    assert answer.lower is not None
    assert answer.lower <= ceiling * (1 + 1e-9) and ceiling * (1 - 1e-9) <= answer.upper
    assert answer.upper < answer.lower * (1 + 1e-4)


@pytest.mark.parametrize(("rate", "steps"), [("5.716e-11", 3), ("1.626e-17", 10**6)])
def test_no_value_is_tried_that_nobody_typed(rate: str, steps: int) -> None:
    """A proof asked below the least scale, .002: InvalidArgument for .00199."""

    def plan(scale: Any) -> dp.Node:
        return dp.Poisson(rate)(dp.DiscreteLaplace(scale=scale)) * steps

    assert float(dp.calibrate(plan, epsilon="0.001132", delta="0.000651")) >= 0.002


def test_an_epsilon_is_not_0_where_delta_at_0_is_above_the_target_in_its_17th_digit() -> None:
    plan = dp.Poisson("0.9807")(dp.Staircase(eps0="0.1457", nu="0.2414"))
    answer = plan.epsilon("0.06890856913419399")  # delta(0) is .0689085691341939958
    assert answer.upper is not None and 1e-17 < answer.upper < 1e-12

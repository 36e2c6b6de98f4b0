"""There and back: epsilon and delta invert each other, calibration meets its target and no more."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import assume
from hypothesis import strategies as st

import dpacct as dp
from dpacct.answer import Answer
from tests.laws.catalogue import (
    EXACT,
    PAIRED,
    Combination,
    converged,
    deltas,
    ends,
    epsilons,
    law,
    over,
    powers,
)

HAIR = 1e-12
"""Relative rounding of what is handed over between the two questions."""


@over(EXACT)
@law(data=st.data(), delta=deltas)
def test_delta_of_epsilon_is_delta(cell: Combination, data: st.DataObject, delta: float) -> None:
    plan = data.draw(cell.plans(common=True))
    answer = plan.epsilon(delta)
    assume(math.isfinite(answer.value))
    lower, upper = ends(answer)
    # just outside the bracket the target is surely met, just inside its lower end surely missed
    assert ends(plan.delta(upper * (1 + HAIR)))[0] <= delta * (1 + HAIR)
    if lower > 0.0:
        assert ends(plan.delta(lower * (1 - HAIR)))[1] >= delta * (1 - HAIR)


@over(EXACT)
@law(data=st.data(), epsilon=epsilons)
def test_epsilon_of_delta_is_epsilon(
    cell: Combination, data: st.DataObject, epsilon: float
) -> None:
    plan = data.draw(cell.plans(common=True))
    answer = plan.delta(epsilon)
    lower, upper = ends(answer)
    assume(lower > 1e-300)
    assume(upper < 1.0 - 1e-9)
    # the profile may be flat at epsilon (nothing but the failure mass): there it has no inverse
    assume(ends(plan.delta(0.9 * epsilon))[0] > upper)
    assert ends(plan.epsilon(upper))[0] <= epsilon * (1 + HAIR)
    assert ends(plan.epsilon(lower))[1] >= epsilon * (1 - HAIR)


MOST = {"sigma": (0.02, 1e6), "b": (0.02, 1e6), "epsilon": (1e-9, 500.0)}
"""Bounds of a search, by the name of the parameter."""


def within(calibrated: Answer, met: Answer, missed: Answer, target: float) -> None:
    """The safe end meets the target; a value 1e-6 nearer to the edge does not."""
    assert met.upper is not None
    assert met.upper <= target * (1 + 1e-12), f"{calibrated} misses the target: {met}"
    assert missed.upper is not None
    assert missed.upper > target, f"{calibrated} is more than 1e-6 below the target: {missed}"


@over(tuple(cell for cell in PAIRED if str(cell.kind) in ("gaussian", "laplace", "pure-dp")))
@law(data=st.data(), epsilon=powers(-1, 1.2), delta=powers(-10, -2), share=0.04)
def test_calibrated_noise(
    cell: Combination, data: st.DataObject, epsilon: float, delta: float
) -> None:
    plan = data.draw(cell.plans(common=True))
    plan = plan.but(steps=min(plan.steps, 10**5) if cell.kind.settled else 1)
    ((name, way),) = cell.kind.parameters.items()
    calibrated = dp.calibrate(
        lambda x: plan.but(**{name: Fraction(x)}).node,
        epsilon=epsilon,
        delta=delta,
        adjacency=plan.adjacency,
        bounds=MOST[name],
        name=name,
    )
    assert calibrated.quantity == name
    safe = calibrated.upper if way > 0 else calibrated.lower
    assert safe is not None
    met = plan.but(**{name: safe}).delta(epsilon)
    if safe in MOST[name]:  # as little noise as allowed: nothing beyond to compare with
        assert ends(met)[1] <= delta * (1 + 1e-12)
        return
    missed = plan.but(**{name: safe * (1 - way * 1e-6)}).delta(epsilon)
    within(calibrated, met, missed, delta)
    assert plan.but(**{name: safe}).epsilon(delta).value <= epsilon * (1 + 1e-8)


@law(share=0.2, sigma=powers(-0.2, 1), steps=st.integers(1, 10**5), epsilon=powers(-1, 1))
def test_calibrated_rate(sigma: float, steps: int, epsilon: float) -> None:
    def plan(rate: float) -> dp.Node:
        return dp.Poisson(rate)(dp.Gaussian(sigma=sigma)) * steps

    try:
        calibrated = dp.calibrate(plan, epsilon=epsilon, delta=1e-5, bounds=(1e-6, 1), name="rate")
    except dp.Unreachable:
        assert ends(plan(1e-6).delta(epsilon=epsilon))[1] > 1e-5
        return
    safe = calibrated.value
    met = plan(safe).delta(epsilon=epsilon)
    assert ends(met)[1] <= 1e-5 * (1 + 1e-12)
    if safe < 1:
        missed = plan(min(1.0, safe * (1 + 1e-6))).delta(epsilon=epsilon)
        within(calibrated, met, missed, 1e-5)


@law(share=0.1, sigma=powers(-0.2, 1), rate=powers(-1, 0), epsilon=powers(-1, 1))
def test_calibrated_steps(sigma: float, rate: float, epsilon: float) -> None:
    step = dp.Poisson(rate)(dp.Gaussian(sigma=sigma))
    try:
        calibrated = dp.calibrate(
            lambda n: step * n, epsilon=epsilon, delta=1e-5, integer=True, name="steps"
        )
    except dp.Unreachable:
        assert ends(step.delta(epsilon=epsilon))[1] > 1e-5
        return
    most = int(calibrated)
    assert calibrated.safe_end == "lower"
    assert ends((step * most).delta(epsilon=epsilon))[1] <= 1e-5
    assert ends((step * (most + 1)).delta(epsilon=epsilon))[1] > 1e-5


@law(share=0.1, multiplier=powers(-0.2, 1), rate=powers(-2, 0), steps=st.integers(10, 10**4))
def test_noise_multiplier_finds_the_noise_it_came_from(
    multiplier: float, rate: float, steps: int
) -> None:
    plan = dp.Poisson(rate)(dp.Gaussian(noise_multiplier=multiplier, clip=2)) * steps
    spent = plan.epsilon(delta=1e-6)
    assume(converged(spent))
    assume(spent.value > 1e-3)
    noise = dp.noise_multiplier(
        epsilon=spent.value, delta=1e-6, sample_rate=rate, steps=steps, sampling="poisson"
    )
    assert noise == pytest.approx(multiplier, rel=1e-6)


def test_an_unreachable_target_is_an_error() -> None:
    with pytest.raises(dp.Unreachable, match="sigma"):
        dp.calibrate(
            lambda s: dp.Gaussian(sigma=s),
            epsilon=0.01,
            delta=1e-9,
            bounds=(0.1, 1),
            name="sigma",
        )
    with pytest.raises(dp.Unreachable):
        dp.calibrate(
            lambda n: dp.Gaussian(sigma=0.1) * n,
            epsilon=0.1,
            delta=1e-9,
            integer=True,
            name="steps",
        )


@pytest.mark.parametrize("name", ["rate", "sigma"])
def test_a_calibration_in_which_the_leading_direction_changes(name: str) -> None:
    """The search began in the direction whose delta is a third of the other's at its end."""

    def plan(x: float) -> dp.Node:
        rate, sigma = (x, 1.654) if name == "rate" else (0.0040634647352, x)
        return dp.Poisson(rate)(dp.Gaussian(sigma=sigma)) * 975

    bounds = (1e-6, 1.0) if name == "rate" else (0.1, 100.0)
    safe = dp.calibrate(
        plan, epsilon=0.2953, delta=1e-5, bounds=bounds, name=name, method="exact"
    ).value
    met = plan(safe).delta(epsilon=0.2953, method="exact").upper
    assert met is not None
    assert 1e-5 * (1 - 1e-6) <= met <= 1e-5 * (1 + 1e-12)

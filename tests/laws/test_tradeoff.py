"""The trade-off curve: convex, non-increasing, below 1 - alpha; it says what delta says."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri

import dpacct as dp
from tests.laws.catalogue import (
    DISTINCT,
    PAIRED,
    SEARCH,
    Combination,
    Drawn,
    ends,
    epsilons,
    law,
    over,
    powers,
)

ALPHAS = np.concatenate(([0.0, 1e-12, 1e-6], np.linspace(0.001, 0.999, 40), [1 - 1e-9, 1.0]))


def quick(plan: Drawn) -> Drawn:
    """A plan like it that has contours throughout: a curve asks for hundreds of deltas."""
    if not plan.kind.settled and not SEARCH:
        return plan.but(steps=1)
    if "sigma" in plan.values and plan.sampler and not SEARCH:
        return plan.but(sigma=max(plan.values["sigma"], Fraction(1)))
    return plan


@over(DISTINCT)
@law(data=st.data())
def test_shape(cell: Combination, data: st.DataObject) -> None:
    plan = data.draw(cell.plans(common=True))
    plan = quick(plan)
    curve = plan.node.tradeoff(ALPHAS, adjacency=plan.adjacency)
    assert isinstance(curve, np.ndarray)
    assert not np.isnan(curve).any()
    assert (curve >= 0.0).all()
    assert (curve <= 1.0 - ALPHAS).all()
    assert (np.diff(curve) <= 1e-12).all()
    # a finite maximum of lines is convex where it is refined alike; refinement moves it by little
    chords = np.interp(ALPHAS[1:-1], ALPHAS[[0, -1]], curve[[0, -1]])
    assert (curve[1:-1] <= chords + 1e-9).all()
    slopes = np.diff(curve) / np.diff(ALPHAS)
    rise = np.diff(ALPHAS)
    assert (np.diff(slopes) * np.minimum(rise[1:], rise[:-1]) >= -1e-5).all()


@over(PAIRED)
@law(data=st.data(), epsilon=epsilons)
def test_consistent_with_delta(cell: Combination, data: st.DataObject, epsilon: float) -> None:
    """1 - f(alpha) - e^eps alpha <= delta(eps) for the truth, nearly attained at some alpha."""
    plan = data.draw(cell.plans(common=True))
    plan = quick(plan)
    curve = plan.node.tradeoff(ALPHAS, adjacency=plan.adjacency)
    assert isinstance(curve, np.ndarray)
    delta = ends(plan.delta(epsilon))[1]
    with np.errstate(over="ignore"):
        line = 1.0 - delta - np.exp(epsilon) * ALPHAS
    assert (curve >= line - 1e-9).all() or epsilon > 50
    # symmetric: f is its own inverse, so the mirrored line supports it as well
    assert (curve >= np.exp(-epsilon) * (1.0 - delta - ALPHAS) - 1e-9).all()
    assert curve[0] <= 1.0


@law(share=0.4, mu=powers(-1.5, 0.9), alpha=st.floats(0.0, 1.0, allow_subnormal=False))
def test_gaussian_closed_form(mu: float, alpha: float) -> None:
    """G_mu(alpha) = Phi(Phi^-1(1 - alpha) - mu); a lower bound that is close."""
    truth = float(ndtr(-ndtri(alpha) - mu))  # 1 - alpha would round, and that times e^{mu z} shows
    curve = dp.Gaussian(sigma=1 / mu).tradeoff(alpha)
    assert isinstance(curve, float)
    assert curve <= truth + 1e-12
    assert curve == pytest.approx(truth, abs=1e-5)


@pytest.mark.parametrize("sigma", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("alpha", [1e-6, 1e-3, 0.05, 0.5])
def test_hits_of_few_false_alarms_are_sharp(sigma: float, alpha: float) -> None:
    """1 - f, which attacks are judged by, is as small as alpha: its error counts beside itself."""
    truth = float(ndtr(1.0 / sigma - ndtri(1.0 - alpha)))
    hits = 1.0 - dp.Gaussian(sigma=sigma).tradeoff(alpha)
    assert truth * (1.0 - 1e-9) <= hits <= truth * (1.0 + 1e-5)


@law(share=0.4, epsilon=powers(-2, 1), alpha=st.floats(0.0, 1.0, allow_subnormal=False))
def test_pure_dp_closed_form(epsilon: float, alpha: float) -> None:
    """max(0, 1 - e^eps alpha, e^-eps (1 - alpha)) (Wasserman, Zhou 2010)."""
    truth = max(0.0, 1 - math.exp(epsilon) * alpha, math.exp(-epsilon) * (1 - alpha))
    curve = dp.PureDP(epsilon=epsilon).tradeoff(alpha)
    assert curve <= truth + 1e-12
    assert curve == pytest.approx(truth, abs=1e-4)


def test_the_end_is_the_failure_mass() -> None:
    plan = dp.ApproxDP(epsilon="0.5", delta="0.01")
    assert plan.tradeoff(0) == pytest.approx(0.99, abs=1e-9)
    assert plan.tradeoff(1) == 0.0


def test_many_steps_of_little_noise_give_a_number() -> None:
    """At mu = 62 no epsilon that a float's exponential holds has delta below 1."""
    curve = (dp.Gaussian(sigma="118.73") * 54186178).tradeoff(ALPHAS)
    assert isinstance(curve, np.ndarray)
    assert curve[0] == 1.0
    assert (curve[1:] == 0.0).all()

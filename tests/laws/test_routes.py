"""Routes to the same number: bounds bound, closed forms agree, estimates are called estimates."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st

import dpacct as dp
from dpacct.vocabulary import Side, Strength
from tests.laws.catalogue import (
    DISTINCT,
    PAIRED,
    Combination,
    converged,
    deltas,
    ends,
    epsilons,
    law,
    not_more,
    over,
    powers,
    same,
)

orders = st.floats(1.0001, 500) | st.floats(1e-6, 1e-2).map(lambda s: 1 + s)


@over(DISTINCT)
@law(data=st.data(), delta=deltas, epsilon=epsilons)
def test_renyi_bounds_are_above_the_exact(
    cell: Combination, data: st.DataObject, delta: float, epsilon: float
) -> None:
    """Mironov's conversion >= that of Canonne, Kamath and Steinke >= exact."""
    plan = data.draw(cell.plans(common=True))
    for ask, x in ((plan.epsilon, delta), (plan.delta, epsilon)):
        exact, sharp, classic = ask(x), ask(x, "rdp"), ask(x, "rdp-mironov")
        assert sharp.side is Side.UPPER
        assert sharp.strength is Strength.BOUND
        assert ends(exact)[0] <= ends(sharp)[1]
        assert ends(sharp)[1] <= ends(classic)[1] * (1 + 1e-9) + 1e-300


@over(DISTINCT)
@law(data=st.data(), order=orders, delta=deltas)
def test_one_order_of_renyi_is_a_bound(
    cell: Combination, data: st.DataObject, order: float, delta: float
) -> None:
    """Any single order, converted by hand, is above the optimum over all of them."""
    plan = data.draw(cell.plans(common=True))
    rdp = plan.node.rdp(order, adjacency=plan.adjacency)
    assert isinstance(rdp, float)
    assert rdp >= 0.0
    if math.isinf(rdp):  # mass that escapes to infinite loss has no Renyi bound
        assert plan.epsilon(delta, "rdp").value == math.inf
        return
    by_hand = rdp + math.log1p(-1 / order) - (math.log(delta) + math.log(order)) / (order - 1)
    best = ends(plan.epsilon(delta, "rdp"))[1]
    assert best <= max(by_hand, 0.0) * (1 + 1e-6) + 1e-9


@over(DISTINCT)
@law(data=st.data(), some=st.lists(orders, min_size=2, max_size=6))
def test_renyi_grows_with_the_order_and_takes_arrays(
    cell: Combination, data: st.DataObject, some: list[float]
) -> None:
    plan = data.draw(cell.plans())
    curve = plan.node.rdp(np.sort(some), adjacency=plan.adjacency)
    assert isinstance(curve, np.ndarray)
    assert not np.isnan(curve).any()
    assert (curve[1:] >= curve[:-1] * (1 - 1e-9) - 1e-300).all()
    single = plan.node.rdp(max(some), adjacency=plan.adjacency)
    assert single == pytest.approx(curve[-1], rel=1e-12)


@law(share=1, sigma=powers(-1, 4), steps=st.integers(1, 10**9), order=orders)
def test_renyi_of_gaussians(sigma: float, steps: int, order: float) -> None:
    divergence = (dp.Gaussian(sigma=sigma) * steps).rdp(order)
    assert divergence == pytest.approx(steps * order / (2 * sigma**2), rel=1e-12)


@law(
    share=0.4,
    sigma=powers(-0.3, 1),
    rate=powers(-4, -0.02),
    order=st.integers(2, 40),
)
def test_renyi_of_sampled_gaussians_at_whole_orders(sigma: float, rate: float, order: int) -> None:
    """Mironov, Talwar, Zhang 2019, equation (6): a binomial sum (it is the worse direction)."""
    logs = [
        math.lgamma(order + 1) - math.lgamma(k + 1) - math.lgamma(order - k + 1)
        + k * math.log(rate) + (order - k) * math.log1p(-rate) + (k * k - k) / (2 * sigma**2)
        for k in range(order + 1)
    ]  # fmt: skip
    peak = max(logs)
    moment = peak + math.log(math.fsum(math.exp(x - peak) for x in logs))
    assume(moment > 1e-6)  # below, this sum has lost its digits to the leading 1
    divergence = dp.Poisson(rate)(dp.Gaussian(sigma=sigma)).rdp(order)
    assert divergence == pytest.approx(moment / (order - 1), rel=1e-8)


@law(share=1, sigma=powers(-0.7, 4), steps=st.integers(1, 10**6), delta=deltas, epsilon=epsilons)
def test_balle_wang_agrees_on_plain_gaussians(
    sigma: float, steps: int, delta: float, epsilon: float
) -> None:
    plan = dp.Gaussian(sigma=sigma) * steps
    try:
        closed = plan.epsilon(delta=delta, method="balle_wang.theorem8")
        same(closed, plan.epsilon(delta=delta))
        closed = plan.delta(epsilon=epsilon, method="balle_wang.theorem8")
        same(closed, plan.delta(epsilon=epsilon))
    except dp.Unsupported as refusal:
        assert "cancels" in refusal.message  # the closed form says where it loses its digits


@over(PAIRED)
@law(data=st.data(), delta=deltas)
def test_the_limit_is_an_estimate(cell: Combination, data: st.DataObject, delta: float) -> None:
    plan = data.draw(cell.plans())
    try:
        limit = plan.epsilon(delta, "clt")
    except dp.Unsupported:
        return
    assert limit.strength is Strength.ESTIMATE
    assert limit.side is Side.NONE
    assert limit.lower is None
    assert limit.upper is None


def test_the_limit_of_gaussians_is_exact() -> None:
    plan = dp.Gaussian(sigma=3) * 50
    limit, exact = plan.epsilon(delta=1e-6, method="clt"), plan.epsilon(delta=1e-6)
    assert converged(exact)
    assert limit.value == pytest.approx(exact.value, rel=1e-10)


@law(share=0.3, rho=powers(-2, 1), steps=st.integers(1, 1000), delta=deltas)
def test_zcdp_is_no_better_than_the_gaussian_it_allows(
    rho: float, steps: int, delta: float
) -> None:
    """A Gaussian of rho = 1/(2 sigma^2) is rho-zCDP, so the bound for all of them is above it."""
    bound = (dp.ZCDP(rho=rho) * steps).epsilon(delta=delta)
    gaussian = dp.Gaussian(sigma=(2 * rho) ** -0.5) * steps
    not_more(gaussian.epsilon(delta=delta), bound)
    assert bound.upper == pytest.approx(
        gaussian.epsilon(delta=delta, method="rdp").upper, rel=1e-6, abs=1e-12
    )

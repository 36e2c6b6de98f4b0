"""The exponential mechanism's pair against the two-point pairs it has to dominate."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

import dpacct as dp
from dpacct.curves.bounded_range import BoundedRangePair
from tests.mechanisms import oracle

ETAS = st.floats(0.05, 8)


def two_points(eta: mpf, t: mpf) -> oracle.Table:
    """Losses t and t - eta."""
    q = (mp.exp(-t) - mp.exp(-eta)) / (1 - mp.exp(-eta))
    return [mp.exp(t) * q, mp.exp(t - eta) * (1 - q)], [q, 1 - q]


@given(eta=ETAS, share=st.floats(-0.99, 0.99))
def test_the_profile_is_the_largest_over_all_two_point_pairs(eta: float, share: float) -> None:
    epsilon = mpf(share) * mpf(eta)
    best = (epsilon + mpf(eta)) / 2
    found = BoundedRangePair(eta).plain().upper[0].log_one_step(float(epsilon))
    assert found is not None
    value = math.exp(found[0])
    truth = oracle.delta(two_points(mpf(eta), best), 1, epsilon)
    assert abs(value - truth) <= 1e-9 * truth + 1e-14
    for k in range(1, 20):
        other = oracle.delta(two_points(mpf(eta), mpf(eta) * k / 20), 1, epsilon)
        assert other <= mpf(value) * (1 + mpf("1e-9")) + mpf("1e-14")


@given(eta=ETAS, order=st.floats(1.1, 30))
def test_moments_are_those_of_the_density(eta: float, order: float) -> None:
    """E_Q[e^{order l}] of the density e^{-l/2} / (4 sinh(eta/2)) on [-eta, eta], in closed form."""
    rate = mpf(order) - mpf("0.5")
    moment = mp.sinh(rate * mpf(eta)) / (2 * rate * mp.sinh(mpf(eta) / 2))
    truth = mp.log(moment) / (mpf(order) - 1)
    rdp = dp.ExponentialMechanism(eps0=eta).rdp(order)
    assert rdp == pytest.approx(float(truth), rel=1e-9)


@settings(max_examples=5)
@given(eta=st.floats(0.1, 3), places=st.lists(st.floats(0.05, 0.95), min_size=15, max_size=15))
def test_four_adaptive_steps_are_dominated(eta: float, places: list[float]) -> None:
    """Every step picks its t from the earlier outcomes: a binary tree of fifteen choices."""
    epsilon, total = eta, mpf(0)
    stack = [(0, mpf(1), mpf(1))]
    while stack:
        node, p, q = stack.pop()
        if node >= 15:
            total += max(mpf(0), p - mp.exp(mpf(epsilon)) * q)
            continue
        high, low = two_points(mpf(eta), mpf(eta) * mpf(places[node]))
        stack += [(2 * node + 1, p * high[0], q * low[0]), (2 * node + 2, p * high[1], q * low[1])]
    bound = (dp.ExponentialMechanism(eps0=eta) * 4).delta(epsilon=epsilon)
    assert total <= mpf(bound.upper) * (1 + mpf("1e-9"))


@pytest.mark.parametrize("steps", [1, 10, 300])
def test_the_bracket_holds_a_two_point_pair_and_pure_dp(steps: int) -> None:
    run = dp.ExponentialMechanism(eps0="0.5") * steps
    answer = run.epsilon(delta=1e-6)
    middle = (dp.PureDP(epsilon="0.25") * steps).epsilon(delta=1e-6)
    assert middle.value <= answer.lower * (1 + 1e-9) <= answer.upper * (1 + 1e-9)
    assert answer.upper <= (dp.PureDP(epsilon="0.5") * steps).epsilon(delta=1e-6).value * (1 + 1e-9)


@pytest.mark.parametrize("plan", [dp.Poisson("0.2"), dp.WithoutReplacement("0.2")])
def test_sampled_it_lies_between(plan: dp.Poisson) -> None:
    one = plan(dp.ExponentialMechanism(eps0=1)) * 10
    most = plan(dp.PureDP(epsilon=1)) * 10
    least = plan(dp.PureDP(epsilon="0.5")) * 10
    answer = one.epsilon(delta=1e-5)
    assert answer.upper <= most.epsilon(delta=1e-5).upper * (1 + 1e-9)
    assert answer.lower <= answer.value
    assert answer.value >= least.epsilon(delta=1e-5).lower


def test_the_two_bounds_cross() -> None:
    step = dp.ExponentialMechanism(eps0="0.5")
    for steps, by_pair in ((3, True), (400, False)):
        pair, zcdp = ((node * steps).epsilon(delta=1e-6) for node in (step, step.zcdp()))
        assert (pair.upper < zcdp.upper) is by_pair
        # neither lies below what two-point pairs realise
        assert min(pair.upper, zcdp.upper) >= pair.lower


@given(eta=ETAS, order=st.floats(1.1, 30), share=st.floats(0.02, 0.98))
def test_every_two_point_pair_is_so_concentrated(eta: float, order: float, share: float) -> None:
    table = two_points(mpf(eta), mpf(eta) * mpf(share))
    assert oracle.renyi(table, mpf(order)) <= mpf(order) * mpf(eta) ** 2 / 8 * (1 + mpf("1e-12"))

"""The exponential mechanism's pair against the two-point pairs it has to dominate."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf
from numpy.typing import NDArray

import dpacct as dp
from dpacct.mechanisms.laws.adaptive_range import LONGEST
from dpacct.mechanisms.laws.bounded_range import bounded_range_loss
from dpacct.pld import contour
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
    log_delta = contour.log_delta([(bounded_range_loss(eta), 1)], float(epsilon))
    assert log_delta.resolved
    value = math.exp(log_delta.value)
    truth = oracle.delta(two_points(mpf(eta), best), 1, epsilon)
    assert abs(value - truth) <= 1e-9 * truth + 1e-14
    for k in range(1, 20):
        other = oracle.delta(two_points(mpf(eta), mpf(eta) * k / 20), 1, epsilon)
        assert other <= mpf(value) * (1 + mpf("1e-9")) + mpf("1e-14")


@given(eta=ETAS, order=st.floats(1.1, 30))
def test_renyi_is_the_worst_step(eta: float, order: float) -> None:
    """The largest over t, by ternary search in fifty digits: the moment has one peak in t."""

    def renyi(t: mpf) -> mpf:
        return oracle.renyi(two_points(mpf(eta), t), mpf(order))

    low, high = mpf(0), mpf(eta)
    for _ in range(60):
        third = (high - low) / 3
        if renyi(low + third) < renyi(high - third):
            low += third
        else:
            high -= third
    rdp = dp.ExponentialMechanism(eps0=eta).rdp(order)
    assert rdp == pytest.approx(float(renyi((low + high) / 2)), rel=1e-10)
    assert rdp <= dp.ExponentialMechanism(eps0=eta).zcdp().rdp(order) * (1 + 1e-12)


def best_of(eta: float, value: Callable[[NDArray[Any]], NDArray[Any]], x: float) -> float:
    """max over t of P(t) value(x - t) + P(t - eta) value(x - t + eta), by a fine grid."""
    t = np.linspace(0, eta, 20_001)
    rise = (1 - np.exp(t - eta)) / (1 - math.exp(-eta))
    return float((rise * value(x - t) + (1 - rise) * value(x - t + eta)).max())


def one_step(eta: float) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """The best single step has t = (x + eta)/2: (1 - e^{(x - eta)/2})^2 / (1 - e^-eta)."""

    def value(x: NDArray[Any]) -> NDArray[Any]:
        inside = (1 - np.exp((np.clip(x, -eta, eta) - eta) / 2)) ** 2 / (1 - math.exp(-eta))
        return np.where(x < -eta, 1 - np.exp(np.minimum(x, 0)), inside)

    return value


@given(eta=st.floats(0.01, 12), share=st.just(0.0) | st.floats(1e-6, 0.98))
def test_two_steps_are_the_best_of_all_adaptive_choices(eta: float, share: float) -> None:
    x = 2 * eta * share
    truth = best_of(eta, one_step(eta), x)
    answer = (dp.ExponentialMechanism(eps0=eta) * 2).delta(epsilon=x)
    assert answer.lower <= truth * (1 + 1e-7)
    assert answer.upper >= truth * (1 - 1e-12)
    # as near as a shift of epsilon by half a hundredth of eta: where f ends, it falls without measure
    near, far = (best_of(eta, one_step(eta), x + shift * eta) for shift in (-0.005, 0.005))
    assert answer.upper <= near * (1 + 1e-4)
    assert answer.lower >= far * (1 - 1e-4)


@pytest.mark.parametrize("eta", [0.2, 1.5])
@pytest.mark.parametrize("x", [0.0, 0.7, 1.6])
def test_so_are_three(eta: float, x: float) -> None:
    """The second step's choice is searched at every point that the third asks about."""
    points = np.linspace(eta * (x - 1) - 1e-9, eta * (x + 1) + 1e-9, 401)
    two = np.array([best_of(eta, one_step(eta), point) for point in points])
    truth = best_of(eta, lambda at: np.interp(np.exp(at), np.exp(points), two), eta * x)
    answer = (dp.ExponentialMechanism(eps0=eta) * 3).delta(epsilon=eta * x)
    assert answer.lower <= truth * (1 + 1e-5)
    assert answer.upper >= truth * (1 - 1e-5)
    assert answer.upper - answer.lower <= 1e-4 * truth


def same_each_time(eta: mpf, steps: int, epsilon: mpf) -> mpf:
    """Non-adaptive: the best t = (epsilon + (l + 1) eta)/(steps + 1) (Dong, Durfee, Rogers, Theorem 2)."""
    best = mpf(0)
    for low in range(steps + 1):
        t = (epsilon + (low + 1) * eta) / (steps + 1)
        if not 0 < t < eta:
            continue
        (p, r), _ = two_points(eta, t)
        total = mp.fsum(
            mp.binomial(steps, i) * p ** (steps - i) * r**i * (1 - mp.exp(epsilon - loss))
            for i in range(steps + 1)
            if (loss := steps * t - i * eta) > epsilon
        )
        best = max(best, total)
    return best


@pytest.mark.parametrize(
    ("eta", "steps", "epsilon"), [("0.1", 30, "1.1"), ("1", 30, "15"), ("0.1", 120, "2.4")]
)
def test_choosing_anew_costs_little_more_than_one_choice(
    eta: str, steps: int, epsilon: str
) -> None:
    fixed = same_each_time(mpf(eta), steps, mpf(epsilon))
    answer = (dp.ExponentialMechanism(eps0=eta) * steps).delta(epsilon=epsilon)
    # no fixed choice gets more, and the best one gets nearly as much
    assert fixed <= answer.lower * (1 + 1e-9)
    assert answer.upper <= 1.15 * float(fixed)


@pytest.mark.parametrize("steps", [2, 7, 60, 255, 512, 513, 10_000, 10**7])
@pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-40])
def test_the_bracket_is_narrow(steps: int, delta: float) -> None:
    answer = (dp.ExponentialMechanism(eps0="0.1") * steps).epsilon(delta=delta)
    width = (answer.upper - answer.lower) / answer.value
    assert width <= (2e-3 if 7 < steps <= LONGEST else 4e-3)


@pytest.mark.parametrize("eps0", [20, 100])
def test_a_tiny_delta_has_an_answer(eps0: int) -> None:
    for steps in (1, 2, 1000):
        answer = (dp.ExponentialMechanism(eps0=eps0) * steps).epsilon(delta="1e-200")
        assert 0.9 * answer.upper <= answer.lower <= answer.value <= eps0 * steps * (1 + 1e-9)


def test_steps_among_others_are_dominated() -> None:
    """Between two steps a coin is tossed, and the second step's t depends on it."""
    eta, coin, epsilon = mpf("0.8"), mpf("0.5"), mpf("0.9")
    grown = mp.exp(epsilon)
    ups = mp.exp(coin) / (1 + mp.exp(coin))
    both = [(ups, 1 - ups), (1 - ups, ups)]
    places = [eta * k / 12 for k in range(1, 12)]

    def last(p: mpf, q: mpf) -> mpf:
        return max(
            mp.fsum(
                max(mpf(0), p * a - grown * q * b) for a, b in zip(*two_points(eta, t), strict=True)
            )
            for t in places
        )

    truth = max(
        mp.fsum(
            last(a * c, b * d) for a, b in zip(*two_points(eta, t), strict=True) for c, d in both
        )
        for t in places
    )
    plan = dp.ExponentialMechanism(eps0="0.8") * 2 + dp.PureDP(epsilon="0.5")
    answer = plan.delta(epsilon="0.9")
    assert truth <= answer.upper
    assert answer.lower <= truth * mpf("1.01")


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
    sampled = plan(dp.ExponentialMechanism(eps0=1)) * 10
    most = plan(dp.PureDP(epsilon=1)) * 10
    least = plan(dp.PureDP(epsilon="0.5")) * 10
    answer = sampled.epsilon(delta=1e-5)
    assert answer.upper <= most.epsilon(delta=1e-5).upper * (1 + 1e-9)
    assert answer.lower <= answer.value
    assert answer.value >= least.epsilon(delta=1e-5).lower


@pytest.mark.parametrize("steps", [3, 400, 30_000])
def test_zcdp_never_says_less(steps: int) -> None:
    step = dp.ExponentialMechanism(eps0="0.5")
    pair, renyi, zcdp = (
        (node * steps).epsilon(delta=1e-6, method=method)
        for node, method in ((step, "exact"), (step, "rdp"), (step.zcdp(), "rdp"))
    )
    assert (
        pair.upper <= renyi.upper * 1.0001
    )  # all losses but a few are the largest, at three steps
    assert renyi.upper <= zcdp.upper * (1 + 1e-12)


@given(eta=ETAS, order=st.floats(1.1, 30), share=st.floats(0.02, 0.98))
def test_every_two_point_pair_is_so_concentrated(eta: float, order: float, share: float) -> None:
    table = two_points(mpf(eta), mpf(eta) * mpf(share))
    assert oracle.renyi(table, mpf(order)) <= mpf(order) * mpf(eta) ** 2 / 8 * (1 + mpf("1e-12"))

"""Random piecewise-linear trade-off functions: every conversion against its definition."""

import math
from itertools import pairwise

import numpy as np
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import dpacct as dp

Corners = list[tuple[float, float]]
EPSILONS = np.array([0.0, 0.1, 0.5, 1.0, 2.0, 5.0])
ALPHAS = np.array([0.0, 0.01, 0.1, 0.3, 0.5, 0.77, 0.99, 1.0])
unit = st.floats(0.001, 1, allow_subnormal=False)


def hull(points: Corners) -> Corners:
    kept: Corners = []
    for x, y in sorted(points):
        while len(kept) > 1 and (kept[-1][1] - kept[-2][1]) * (x - kept[-2][0]) >= (
            y - kept[-2][1]
        ) * (kept[-1][0] - kept[-2][0]):
            kept.pop()
        kept.append((x, y))
    return kept


@st.composite
def polygons(draw: st.DrawFn) -> Corners:
    """Convex, falling from (0, f(0)) to (last, 0), with a few corners below the line between these."""
    top, last = (draw(st.just(1.0) | st.floats(0.3, 1)) for _ in "xy")
    inner = draw(st.lists(st.tuples(unit, unit), min_size=1, max_size=5))
    points = [(last * a, b * min(top * (1 - a), 1 - last * a)) for a, b in inner if a < 0.999]
    result = hull([(0.0, top), *points, (last, 0.0)])
    assume(max(b for a, b in result if a > 0) > 1e-6)
    assume(all(b0 - b1 > 1e-9 and a1 - a0 > 1e-9 for (a0, b0), (a1, b1) in pairwise(result)))
    return result


def value(corners: Corners, alpha: np.ndarray) -> np.ndarray:
    x, y = zip(*corners, strict=True)
    return np.interp(alpha, x, y)


def profile(corners: Corners, epsilons: np.ndarray) -> np.ndarray:
    """sup over the corners of 1 - f(a) - e^epsilon a."""
    return np.array([max(1 - b - math.exp(e) * a for a, b in corners) for e in epsilons])


def inverse(corners: Corners) -> Corners:
    """The other order of the two distributions."""
    swapped = [(b, a) for a, b in reversed(corners)]
    return [*swapped, (1.0, 0.0)] if swapped[-1][0] < 1.0 else swapped


def divergence(corners: Corners, order: float) -> float:
    """Renyi, from the masses of the pieces; inf where one distribution has mass alone."""
    if corners[0][1] < 1.0:
        return math.inf
    terms = [
        (b0 - b1) ** order * (a1 - a0) ** (1 - order) for (a0, b0), (a1, b1) in pairwise(corners)
    ]
    return math.log(math.fsum(terms)) / (order - 1)


@given(corners=polygons())
def test_values_and_profile(corners: Corners) -> None:
    f = dp.TradeOff.points(corners)
    assert np.allclose(f(ALPHAS), value(corners, ALPHAS), rtol=0, atol=1e-12)
    assert np.allclose(f.profile(EPSILONS), profile(corners, EPSILONS), rtol=0, atol=1e-12)


@settings(max_examples=15)
@given(corners=polygons())
def test_the_engine_takes_the_better_of_both_orders(corners: Corners) -> None:
    f = dp.TradeOff.points(corners)
    both = np.minimum(profile(corners, EPSILONS), profile(inverse(corners), EPSILONS))
    for epsilon, most in zip(EPSILONS.tolist(), both.tolist(), strict=True):
        assert f.delta(epsilon=epsilon).upper <= max(0.0, most) + 1e-12
    for order in (1.5, 4.0):
        most = min(divergence(corners, order), divergence(inverse(corners), order))
        assert f.node().rdp(order) <= most * (1 + 1e-9) + 1e-12


@settings(max_examples=12)
@given(corners=polygons())
@example(corners=[(0.0, 1.0), (0.25, 0.7470703125), (1.0, 0.0)])  # tight at epsilon = 0.0041 alone
def test_the_least_gaussian_below(corners: Corners) -> None:
    """With so little slack it holds everywhere, and with a hundredth less it fails somewhere."""
    slack, f = 1e-3, dp.TradeOff.points(corners)
    assume(corners[0][1] == 1.0)  # else f fails openly
    mu = f.gdp(slack=slack)
    # a small mu is tight at an epsilon as small: even steps alone would pass it over
    fine = np.concatenate((EPSILONS, np.linspace(0, 12, 1500), np.geomspace(1e-9, 12, 4000)))
    most = profile(corners, fine)
    assert (dp.TradeOff.gaussian(mu.upper).profile(fine) + slack >= most - 1e-12).all()
    if mu.upper <= 1e-9:  # as good as nothing is learnt
        return
    less = dp.TradeOff.gaussian(0.99 * mu.upper).profile(fine) + slack
    assert (less < most).any()

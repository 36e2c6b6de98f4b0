"""Many different finite laws composed on one lattice: a stack of few rows, which has no contour.

Each loss is split between its two neighbours on a lattice so that its P-mass and its Q-mass stay what they
are; that gives a pair which dominates (Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022), so delta can
only grow. Masses are tilted by e^{c loss} and multiplied by FFT; what lies above the window is bounded by
Chernoff and taken for infinite. Each law has a lattice of its own, through its likeliest loss; the spacing is
common, and the excess falls with its square: a lattice of half as many points tells how large it is.

Grids (brackets) bracket any composition; they are made for few laws that repeat. Of a stack every row is
another law, hence this: one FFT for a few rows, whose outcomes are listed first; of very few rows all are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from .interval import Interval
from .outcomes import Outcomes
from .roots import root
from .stable import Floats, quiet
from .stack import Stack

# points on which splitting losses costs about 1e-4 of epsilon, or much less; of few laws fewer
_FEW, _POINTS, _MORE_POINTS = 64, 1 << 14, 1 << 15
# outcomes of all rows together that are listed instead; and of some of them, where that saves transforms
_LISTED, _GATHERED = 1 << 13, 1 << 10
_CLOSE = 1e-9  # of what is read: what it is off by besides
_REACH = 9.0  # standard deviations of the tilted total to each side of its mean
_NEAREST = 1e-12
_UNIT = 2.0**-53
_CHUNK = 64

Places = np.ndarray[tuple[int, ...], np.dtype[np.int64]]


def least(composed: Outcomes, log_target: float) -> float:
    """The least epsilon >= 0 at which log delta is at most this, from above; inf where none is."""
    start, slope = composed.about(log_target, 0.0)
    read = partial(composed.log_delta, upper=True)
    return root(read, log_target, start, 0.0, slope, _NEAREST, up=True)


def epsilon(
    stack: Stack, log_target: float, tilt: float = 0.0, *, beyond: float = -math.inf
) -> Interval:
    """The least epsilon >= 0 at which log delta is at most the target; `tilt`: about the saddle, if known.

    There is a lower end only where it lies beyond `beyond`, and none at all where that is inf.
    """
    c = tilt or stack.tilt_for_epsilon(log_target)
    return _read(stack, c, lambda composed: least(composed, log_target), beyond)


def log_delta(stack: Stack, at: float, tilt: float = 0.0, *, beyond: float = -math.inf) -> Interval:
    """log delta at this epsilon, as `epsilon` has it."""
    c = tilt or stack.tilt_for_delta(at)
    return _read(stack, c, lambda composed: composed.log_delta(at, upper=True), beyond)


def _read(stack: Stack, c: float, above: Callable[[Outcomes], float], beyond: float) -> Interval:
    points, queries = _MORE_POINTS, float(stack.count.sum())
    if queries <= _FEW:
        points = _POINTS if 2.0 * queries <= _FEW else _MORE_POINTS
        sizes = (stack.masses > -np.inf).sum(axis=1)
        if float(stack.count @ np.log(sizes)) <= math.log(_LISTED):
            value = float(above(listed(stack)))
            return Interval(value, value - _CLOSE * (1.0 + abs(value)), value)
        stack = stack.together(_GATHERED)
    coarse = math.inf
    if beyond < math.inf:
        coarse = float(above(compose(stack, c, points // 2)))
        if coarse <= beyond:  # it is an upper end itself
            return Interval(coarse, -math.inf, coarse)
    fine = float(above(compose(stack, c, points)))
    if not (coarse < math.inf and math.isfinite(fine)):
        return Interval(fine, -math.inf, fine)
    excess = 2.0 * abs(fine - coarse) + _CLOSE * (1.0 + abs(fine))
    return Interval(fine, fine - excess, fine)


def listed(laws: Stack) -> Outcomes:
    """All outcomes of a composition of few."""
    whole = laws.together(_LISTED)
    order = np.argsort(whole.rows[0])
    losses, log_p = whole.rows[0][order], whole.masses[0][order]
    slack, unsure = 1e-13 + 8.0 * _UNIT * np.abs(log_p), 8.0 * _UNIT * (1.0 + np.abs(losses))
    return Outcomes(losses, log_p, slack, unsure, whole.infinite)


@quiet()
def compose(laws: Stack, c: float, points: int = _MORE_POINTS) -> Outcomes:
    """Upper ends of the composition's masses, sharp where losses tilted by c lie, on so many points.

    >>> one = Stack.of([(np.array([1.0, -1.0]), np.log([0.7, 0.3]), 0.0)], np.array([3]))
    >>> round(math.exp(compose(one, 1.0).log_delta(2.5, upper=True)), 9)
    0.134959984
    """
    heights = laws.masses + c * laws.rows
    peak = heights.max(axis=1, keepdims=True)
    weights = np.exp(heights - peak)
    total = weights.sum(axis=1, keepdims=True)
    weights /= total
    log_moment = float(laws.count @ (peak + np.log(total))[:, 0])
    means = (weights * laws.rows).sum(axis=1)
    variance = laws.count @ (weights * np.square(laws.rows - means[:, None])).sum(axis=1)
    least, most = laws.range
    real = laws.masses > -math.inf
    widest = np.where(real, laws.rows, -math.inf).max(axis=1)
    widest -= np.where(real, laws.rows, math.inf).min(axis=1)
    mean = float(laws.count @ means)
    reach = _REACH * math.sqrt(float(variance)) + 3.0 * float(widest.max())
    low, high = max(mean - reach, least), min(mean + reach, most)
    # each law's split may go a place beyond its ends
    spare = 4 + 2 * int(min(laws.count.sum(), points // 8))
    step = max((high - low) / (points - 2 * spare), 1e-13)
    anchor = np.take_along_axis(laws.rows, np.argmax(weights, axis=1)[:, None], axis=1)
    place = np.floor((laws.rows - anchor) / step)
    rest = np.clip(laws.rows - anchor - place * step, 0.0, step)
    share = np.expm1(-rest) / math.expm1(-step)
    # tilted: what moves down by `rest` loses e^{c rest}, what moves up gains
    down = weights * (1.0 - share) * np.exp(-c * rest)
    up = weights * share * np.exp(c * (step - rest))
    split = np.concatenate((down, up), axis=1)
    places = np.concatenate((place, place + 1.0), axis=1)
    offset = float(laws.count @ anchor[:, 0])
    first = math.floor((low - offset) / step) - spare
    losses = offset + step * (first + np.arange(points))
    masses, log_total = _convolved(places.astype(np.int64), split, laws.count, points)
    # l2 error of the masses: that of each transform (Higham 2002, Theorem 24.2), once per factor
    rounding = 12.0 * _UNIT * math.log2(points) * (2.0 + float(laws.count.sum()))
    shift = log_moment + log_total - c * losses
    log_p = np.log(np.maximum(np.roll(masses, -first % points), 0.0) + rounding) + shift
    beyond = log_moment + _log_above(places * step, split, laws.count, float(losses[-1]) - offset)
    missed = float(laws.count @ -np.log1p(-np.minimum(laws.endless, 0.999)))
    return Outcomes(
        losses,
        log_p,
        1e-13 + 8.0 * _UNIT * (abs(log_moment) + np.abs(c * losses)),
        np.zeros(points),
        math.exp(beyond - c * float(losses[-1])) - math.expm1(-missed),
    )


def _convolved(places: Places, split: Floats, count: Floats, points: int) -> tuple[Floats, float]:
    """Masses of the composition by place modulo the points, and the log of what they sum to."""
    transform = np.zeros(points // 2 + 1, dtype=np.complex128)
    log_total = 0.0
    for start in range(0, places.shape[0], _CHUNK):
        part = slice(start, start + _CHUNK)
        rows = np.arange(split[part].shape[0])[:, None] * points
        masses = np.bincount(
            (rows + places[part] % points).ravel(),
            weights=split[part].ravel(),
            minlength=rows.size * points,
        ).reshape(rows.size, points)
        sums = masses.sum(axis=1)
        log_total += float(count[part] @ np.log(sums))
        factors = np.fft.rfft(masses / sums[:, None], axis=1)
        many = count[part] > 1.0
        if many.any():
            factors[many] **= count[part][many][:, None]
        product = np.prod(factors, axis=0)
        if places.shape[0] <= _CHUNK:
            return np.fft.irfft(product, n=points), log_total
        transform += np.log(product)
    return np.fft.irfft(np.exp(transform), n=points), log_total


def _log_above(gaps: Floats, split: Floats, count: Floats, edge: float) -> float:
    """Chernoff's bound of the log of the mass whose gaps add up to more than an edge."""
    if float(count @ np.where(split > 0.0, gaps, -math.inf).max(axis=1)) <= edge:
        return -math.inf
    best, x, worse = math.inf, 0.05, 0
    while worse < 3 and x < 1e7:
        trial = float(count @ np.log((split * np.exp(x * gaps)).sum(axis=1))) - x * edge
        worse = 0 if trial < best else worse + 1
        best = min(best, trial)
        x *= 1.5
    return best

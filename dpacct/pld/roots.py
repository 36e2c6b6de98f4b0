"""The root of a falling function, from either side of it, and the minimum of one with a single valley."""

from __future__ import annotations

import math
from collections.abc import Callable

Reading = Callable[[float], tuple[float, float]]


def decreasing(read: Reading, target: float, low: float, high: float = math.inf) -> float:
    """x in [low, high] with read(x)[0] = target, read -> (value, slope or nan) falling; or `low`."""
    value, slope = read(low)
    if value <= target:
        return low
    step = max(abs(low), 1.0) * 0.5
    if not math.isfinite(high):
        high = low + step
        while read(high)[0] > target:
            low, step, high = high, 2.0 * step, high + 2.0 * step
    x = 0.5 * (low + high)
    last = math.inf
    for _ in range(200):
        value, slope = read(x)
        low, high = (x, high) if value > target else (low, x)
        move = (target - value) / slope if slope < 0.0 and math.isfinite(value) else math.nan
        new = x + move
        if not low < new < high or not abs(move) < 0.7 * last:
            new = 0.5 * (low + high)
        last = abs(new - x) if math.isfinite(move) else math.inf
        if abs(new - x) <= 1e-15 * abs(x) + 1e-300 or high - low <= 2e-16 * abs(high):
            return new
        x = new
    return x


def crossing(
    excess: Callable[[float], float], most: float, low: float = 0.0
) -> tuple[float, float]:
    """Two numbers in [low, most], a part in 1e12 apart, between which a falling function becomes 0 or less.

    It is nearly a line but where it is -inf, as at `most`: Dowell and Jarratt's false position (Illinois),
    with trials kept off both ends, and halves where it knows no slope.

    >>> [round(end, 11) for end in crossing(lambda x: 2.0 - x * x, 9.0)]
    [1.41421356237, 1.41421356237]
    """
    high, above, below = most, excess(low), -math.inf
    if above <= 0.0:
        return low, low
    moved = 0
    while high - low > 1e-12 * high:
        margin = 4e-13 * high
        share = above / (above - below) if below > -math.inf else 0.5
        trial = min(max(low + share * (high - low), low + margin), high - margin)
        if not low < trial < high:
            break
        value = excess(trial)
        if value > 0.0:
            low, above, below = trial, value, 0.5 * below if moved > 0 else below
            moved = 1
        else:
            high, below, above = trial, value, 0.5 * above if moved < 0 else above
            moved = -1
    return low, high


def first_miss(
    holds: Callable[[float], bool], start: float, factor: float = 2.0, most: float = 1e12
) -> tuple[float, float]:
    """(last that holds, first that does not) of start, factor start, ...; inf for one beyond `most`.

    `start` is taken to hold.
    """
    inside, outside = start, factor * start
    while holds(min(outside, most)):
        inside, outside = min(outside, most), factor * outside
        if inside == most:
            return most, math.inf
    return inside, min(outside, most)


def halved(
    holds: Callable[[float], bool], inside: float, outside: float, width: float = 0.0
) -> tuple[float, float]:
    """The two ends moved to where something ceases to hold, by halving; `width`: relative.

    >>> halved(lambda x: x * x < 2.0, 1.0, 2.0, 1e-3)
    (1.4140625, 1.4150390625)
    """
    while abs(outside - inside) > width * max(abs(inside), abs(outside)):
        middle = 0.5 * (inside + outside)
        if middle in (inside, outside):
            break
        inside, outside = (middle, outside) if holds(middle) else (inside, middle)
    return inside, outside


def minimum(function: Callable[[float], float], low: float, high: float) -> float:
    """The smallest value found on [low, high]; the function may be inf far from its valley.

    >>> round(minimum(lambda x: (x - 1.0) ** 2 + 3.0, -10.0, 10.0), 9)
    3.0
    """
    # the valley first: coarse steps from the middle outwards, following the descent
    step = 1.0
    x = 0.5 * (low + high)
    value = function(x)
    while True:
        if value == -math.inf:  # less there is not
            return value
        left, right = function(x - step), function(x + step)
        if left < value and left <= right and x - step > low:
            x, value = x - step, left
        elif right < value and x + step < high:
            x, value = x + step, right
        elif not math.isfinite(value) and x - step > low:
            x, value = x - step, left
        elif not math.isfinite(value):
            return math.inf
        else:
            break
    a, b = x - step, x + step
    ratio = 0.5 * (math.sqrt(5.0) - 1.0)
    x1, x2 = b - ratio * (b - a), a + ratio * (b - a)
    f1, f2 = function(x1), function(x2)
    best = min(value, f1, f2)
    # near the minimum the value is flat to second order: 1e-7 in x is 1e-14 in the value
    while b - a > 1e-7:
        if f1 < f2:
            b, x2, f2 = x2, x1, f1
            x1 = b - ratio * (b - a)
            f1 = function(x1)
        else:
            a, x1, f1 = x1, x2, f2
            x2 = a + ratio * (b - a)
            f2 = function(x2)
        best = min(best, f1, f2)
    return best

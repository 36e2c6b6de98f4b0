"""Roots of monotone functions: an epsilon, a calibrated parameter, a whole number of steps."""

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


def rising(
    read: Callable[[float], float],
    x: float,
    tolerance: float,
    slope: float = 0.0,
    near: float = 1.0,
) -> tuple[float, float, float]:
    """Positive x with read(x) = 0, read rising in log x and nearly linear there: secants, bracketed.

    Returns x, the slope and the distance it was taken over, for another reading of the same root to start
    from: a slope is wrong by about that distance, and what a step leaves is about their product. nan where it
    fails.
    """
    low, high, y = -math.inf, math.inf, math.log(x)
    last: tuple[float, float] | None = None
    for _ in range(80):
        f = read(math.exp(y))
        low, high = (y, high) if f < 0.0 else (low, y)
        if last is not None and abs(y - last[0]) > 1e-10:
            secant = (f - last[1]) / (y - last[0])
            if secant > 0.0 and math.isfinite(secant):
                slope, near = secant, abs(y - last[0])
        new = y + max(-2.0, min(2.0, -f / slope if slope else math.copysign(0.7, -f)))
        if not low <= new <= high:
            new = 0.5 * (low + high)
        step, last, y = abs(new - y), (y, f), new
        if step == 0.0 or (slope and step * near < tolerance):
            return math.exp(y), slope, near
    return math.nan, math.nan, math.nan


def whole(fits: Callable[[int], bool], start: int = 1, most: int = 10**12) -> int:
    """The most n with fits(n), fits(0) being true: by doubling and halving."""
    low, high = 0, max(1, start)
    while fits(high):
        low, high = high, 2 * high
        if low >= most:
            return most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low

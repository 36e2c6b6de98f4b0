"""Where a falling reading of log delta meets a target, from the safe side."""

from __future__ import annotations

import math
from collections.abc import Callable

# share of the way to the nearer end that is read beyond the secant's guess, so that both ends close in; ten
# times more each time that it was not enough
_BEYOND = 0.01


def root(
    read: Callable[[float], float],
    target: float,
    start: float,
    floor: float,
    slope: float,
    accuracy: float,
    *,
    up: bool,
) -> float:
    """An epsilon >= floor near the start, on the safe side of where a falling log delta meets the target.

    `up`: read there is at most the target (inf if none is found); else at least it (or the floor). What
    is read is only sharp near the start, and need not fall everywhere; so steps go no further than
    `slope`, about what it falls by, suggests. The end is within `accuracy` of there, relative to its way
    from the floor.
    """
    if up and read(floor) <= target:
        return floor
    x, low, high = start, -math.inf, math.inf
    f_low = f_high = math.nan
    beyond = _BEYOND
    last: tuple[float, float] | None = None
    before = math.inf  # how wide the bracket was three readings ago
    for trial in range(200):
        f = read(x) - target
        same = last is not None and (f > 0.0) == (last[1] > 0.0)
        if f > 0.0:
            low, f_low = x, f
        else:
            high, f_high = x, f
        if low == -math.inf and x <= floor:
            return high if up else floor
        if high - low < math.inf and high - low <= max(
            accuracy * (high - floor), 2e-16 * abs(high)
        ):
            break
        if same and last is not None:
            # the other side is further off than the slope, or the secant, has it
            slope *= 0.6
            chord = (last[1] - f) / (x - last[0])
            if 0.0 < chord < slope:
                slope = chord
            beyond = min(10.0 * beyond, 0.5)
        else:
            beyond = _BEYOND
        last = x, f
        x = max(_next(low, f_low, high, f_high, slope, beyond), floor)
        if trial % 3 == 2:
            if 0.25 * before < high - low < math.inf:
                x = 0.5 * (low + high)  # a step, or a kink: secants don't close in
            before = high - low
        if x in (low, high) and high - low < math.inf:
            x = 0.5 * (low + high)
        if x in (low, high):
            break  # no doubles between
    else:
        return high if up else max(low, floor)
    return high if up else low


def _next(
    low: float, f_low: float, high: float, f_high: float, slope: float, beyond: float
) -> float:
    """Where to read next: by this share beyond the secant's guess, from the end that is nearer to it."""
    if high == math.inf:
        return low + 1.1 * min(f_low, 40.0) / slope + 1e-15 * abs(low)
    if low == -math.inf:
        return high - 1.1 * min(-f_high, 40.0) / slope - 1e-15 * abs(high)
    wide = high - low
    if not (f_low < 1e6 and f_high > -1e6):
        return 0.5 * (low + high)
    share = f_low / (f_low - f_high)
    further = beyond * min(share, 1.0 - share) + 1e-9
    share += further if share < 0.5 else -further
    return low + min(max(share, 1e-3), 1.0 - 1e-3) * wide

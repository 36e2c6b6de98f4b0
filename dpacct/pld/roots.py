"""Roots of falling functions, enclosed by two numbers that close in; and the minimum of a valley.

Two loops do all of it. `_reached` walks from a start to where the sign differs, `_closed_in` narrows the two
ends. What comes back is no mere root: at one of the numbers the function is known to be above 0, at the
other not, and whoever asks takes the safe one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

Reading = tuple[float, float]
"""The value of a function and its slope, nan where that is not known."""
Function = Callable[[float], float]
Read = Callable[[float], Reading]

# trials at most: by halves alone 200 of them tell any two doubles apart
_MOST = 200
WIDTH = 2e-10
"""Relative width of the final bracket of a real parameter."""


class _Place(NamedTuple):
    """A place, and the function there."""

    u: float
    value: float
    slope: float = math.nan


class Ends(NamedTuple):
    """A number where a function is above 0, and one where it is not; None where there is none of the kind."""

    over: float | None
    under: float | None


def _same(u: float) -> float:
    return u


def _reached(
    read: Read,
    snap: Function,
    start: _Place,
    slope: float,
    longest: float,
    least: float = 0.0,
) -> tuple[_Place | None, _Place | None]:
    """The last place above 0 and the first that is not, on the way from `start` to where the sign differs.

    `slope` < 0: about that at the start, by which steps go. The first is no longer than `longest`. `snap`:
    the nearest place that may be asked for.
    """
    edge, last = start, 0.0
    for _ in range(_MOST):
        # a tenth beyond the root of a line through the edge
        size = min(abs(1.1 * edge.value / slope), longest)
        # from a place where it is 0 to all digits a line would go nowhere
        size = max(size, least, 1e-15 * abs(edge.u), 1e-9 * last)
        down = edge.value > 0.0
        u = snap(edge.u + size if down else edge.u - size)
        if u == edge.u:
            break
        place = _Place(u, *read(u))
        if (place.value > 0.0) != down:
            return (edge, place) if down else (place, edge)
        # the sign changes farther out than the slope, or a line through these two, has it
        chord = (place.value - edge.value) / (place.u - edge.u)
        slope = max(0.6 * slope, chord) if chord < 0.0 else 0.6 * slope
        longest, edge, last = 2.0 * longest, place, size
    return (edge, None) if edge.value > 0.0 else (None, edge)


def _closed_in(
    read: Read,
    snap: Function,
    over: _Place,
    under: _Place,
    accepted: Callable[[float, float], float],
    hair: float = 0.3,
    trusted: float = 0.0,
) -> tuple[_Place, _Place, float]:
    """Both ends moved until they are no farther apart than is `accepted`, and about where the root is.

    By secants through the last two trials (by Newton's step where the slope is known), a hair beyond their
    root, so that both ends close in; by halves where they do not. `trusted`: a step that is so short, beside
    its place, is taken for the error, and so no hair is added.
    """
    older, newer = (over, under) if abs(under.value) < abs(over.value) else (under, over)
    before = last = math.inf
    for trial in range(_MOST):
        wide, width = under.u - over.u, accepted(over.u, under.u)
        if wide <= width:
            break
        rise = newer.slope
        if math.isnan(rise) and newer.u != older.u:
            rise = (newer.value - older.value) / (newer.u - older.u)
        step = -newer.value / rise if -math.inf < rise < 0.0 else math.inf
        if trusted and abs(step) <= trusted * abs(newer.u) + 1e-300:
            return over, under, newer.u + step
        u, middle = newer.u + step, over.u + 0.5 * wide
        if not trusted:
            u += math.copysign(0.02 * abs(step) + hair * width, step)
        if trial % 3 == 2:
            if wide > 0.25 * before and not abs(step) <= 0.25 * last:
                u = middle  # a jump, or a kink: secants don't close in
            before, last = wide, abs(step)
        u = snap(u if over.u < u < under.u else middle)
        if u in (over.u, under.u):
            u = snap(middle)
        if u in (over.u, under.u):
            break  # no numbers between
        older, newer = newer, _Place(u, *read(u))
        over, under = (newer, under) if newer.value > 0.0 else (over, newer)
    return over, under, over.u + 0.5 * (under.u - over.u)


# -- what is asked -----------------------------------------------------------------------------------


def falls(
    function: Function,
    start: float,
    slope: float,
    accepted: Callable[[float, float], float],
    *,
    low: float = -math.inf,
    high: float = math.inf,
    longest: float = math.inf,
    least: float = 0.0,
    hair: float = 0.3,
) -> Ends:
    """Enclose the root of a falling function, from a start.

    `slope` < 0: about its slope there. `accepted`: of two places, how far apart they may stay; `hair`: the
    share of that by which trials lie beyond where the root is thought to be. The first step is no longer
    than `longest` and no shorter than `least`.

    >>> falls(lambda x: 2.0 - x * x, 1.0, -2.0, lambda a, b: 1e-9, low=0.0).under > 2.0**0.5
    True
    """
    read: Read = lambda x: (function(x), math.nan)  # noqa: E731
    snap: Function = lambda x: min(max(x, low), high)  # noqa: E731
    over, under = _reached(read, snap, _Place(start, *read(start)), slope, longest, least)
    if over is not None and under is not None:
        over, under, _ = _closed_in(read, snap, over, under, accepted, hair)
    return Ends(None if over is None else over.u, None if under is None else under.u)


def falls_in_log(
    excess: Function,
    start: float,
    slope: float,
    accepted: Callable[[], float],
    low: float,
    high: float,
    longest: float,
    least: float,
) -> tuple[float | None, float | None]:
    """(safe, unsafe) numbers around the root of a function that is steep in log x, either way."""
    sign = 1.0 if slope < 0.0 else -1.0

    def number(u: float) -> float:
        return min(max(math.exp(sign * u), low), high)

    ends = falls(
        lambda u: excess(number(u)),
        sign * math.log(start),
        -abs(slope),
        lambda a, b: accepted(),
        low=min(sign * math.log(low), sign * math.log(high)),
        high=max(sign * math.log(low), sign * math.log(high)),
        longest=longest,
        least=least,
    )
    unsafe, safe = (None if u is None else number(u) for u in ends)
    return safe, unsafe


def decreasing(
    read: Read, target: float, low: float, high: float = math.inf, last: float = 1e-15
) -> float:
    """x in [low, high] with read(x)[0] = target, read -> (value, slope or nan) falling; or `low`.

    `last`: how short a step, beside its place, is no longer checked.
    """

    def above(x: float) -> Reading:
        value, slope = read(x)
        return value - target, slope

    over = _Place(low, *above(low))
    if not over.value > 0.0:
        return low
    under: _Place | None = _Place(high, -math.inf)
    if high == math.inf:
        start, under = _reached(above, _same, over, -1e-300, 0.5 * max(abs(low), 1.0))
        over = start or over
    if under is None:
        return high
    return _closed_in(above, _same, over, under, lambda a, b: 2e-16 * abs(b), trusted=last)[2]


def crossing(excess: Function, most: float, low: float = 0.0) -> tuple[float, float]:
    """Two numbers in [low, most], a part in 1e12 apart, between which a falling function becomes 0 or less.

    It is nearly a line but where it is -inf, as at `most`.

    >>> [round(end, 11) for end in crossing(lambda x: 2.0 - x * x, 9.0)]
    [1.41421356237, 1.41421356237]
    """
    read: Read = lambda x: (excess(x), math.nan)  # noqa: E731
    over, under = _Place(low, *read(low)), _Place(most, -math.inf)
    if over.value <= 0.0:
        return low, low
    over, under, _ = _closed_in(read, _same, over, under, lambda a, b: 1e-12 * b)
    return over.u, under.u


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
        middle = inside + 0.5 * (outside - inside)
        if middle in (inside, outside):
            break
        inside, outside = (middle, outside) if holds(middle) else (inside, middle)
    return inside, outside


def minimum(function: Function, low: float, high: float) -> float:
    """The smallest value found on [low, high]; the function may be inf far from its valley.

    >>> round(minimum(lambda x: (x - 1.0) ** 2 + 3.0, -10.0, 10.0), 9)
    3.0
    """
    # the valley first: steps of 1 from the middle outwards, downhill, or to the left where all is infinite
    at, x = cache(function), 0.5 * (low + high)
    while at(x) > -math.inf:
        near = [y for y in (x - 1.0, x, x + 1.0) if low < y < high]
        if (best := min(near, key=at)) == x or at(best) == at(x) < math.inf:
            break
        x = best
    # golden section; the value is flat to second order: 1e-7 in x is 1e-14 in the value
    a, b, ratio = x - 1.0, x + 1.0, 0.5 * (math.sqrt(5.0) - 1.0)
    x1, x2 = b - ratio * (b - a), a + ratio * (b - a)
    best = at(x)
    while b - a > 1e-7 and -math.inf < best < math.inf:
        if at(x1) < at(x2):
            b, x2 = x2, x1
            x1 = b - ratio * (b - a)
        else:
            a, x1 = x1, x2
            x2 = a + ratio * (b - a)
        best = min(best, at(x1), at(x2))
    return best


# -- the boundary of a monotone condition on one number -----------------------------------------------
#
# `excess` is positive where the condition is missed, and nearly linear in the logarithm of the number.


def real(
    excess: Function,
    low: float,
    high: float,
    *,
    start: float = 1.0,
    accepted: Callable[[], float] = lambda: WIDTH,
) -> tuple[float | None, float | None]:
    """(safe, unsafe) ends of a bracket of the relative width `accepted` at the time, from `start`."""
    at = cache(excess)
    x = min(max(start, low), high)
    # which way is safe: look a little further
    other, jump = x * (2.0 if x * 2.0 <= high else 0.5), 1.0
    while at(other) == at(x):  # delta is 1 at both, or 0: look further, both ways
        below, above = max(low, x * math.exp(-jump)), min(high, x * math.exp(jump))
        other = below if at(below) != at(x) else above
        if at(other) == at(x) and below == low and above == high:
            return (None, None) if at(x) > 0.0 else (x, None)
        jump *= 2.0
    slope = (at(other) - at(x)) / math.log(other / x)
    nearest = min(x, other, key=lambda number: abs(at(number)))
    slope = slope if abs(slope) < math.inf else math.copysign(1.0, slope)
    first = math.log(4.0)
    safe, unsafe = falls_in_log(at, nearest, slope, accepted, low, high, first, 0.05)
    return safe, None if safe is None else unsafe


def whole(
    excess: Callable[[int], float],
    low: int,
    high: int,
    enough: Callable[[], bool] = lambda: False,
) -> tuple[float | None, float | None]:
    """(safe, unsafe) neighbouring whole numbers from 1 on; more is riskier."""

    def number(u: float) -> float:
        # exp and log take the largest number to a neighbour of it
        n = round(math.exp(-u))
        return float(high if n > high * (1.0 - 1e-13) else max(n, low))

    def in_log(u: float) -> Reading:
        return excess(int(number(u))), math.nan

    def snap(u: float) -> float:
        return -math.log(number(u))

    start = snap(-math.log(low))
    over, under = _reached(in_log, snap, _Place(start, *in_log(start)), -1.0, 2.2, math.log(2.0))
    if over is None or under is None:
        return (None, None) if under is None else (number(under.u), None)
    # their logarithms don't tell neighbours apart from 1e13 on
    over, under = (place._replace(u=-number(place.u)) for place in (over, under))
    over, under, _ = _closed_in(
        lambda u: (excess(int(-u)), math.nan),
        lambda u: float(round(u)),
        over,
        under,
        lambda a, b: math.inf if enough() else 1.0,
    )
    return -under.u, -over.u


def near_root(f: Read, x: float, slope: float) -> tuple[float, float, float] | None:
    """About a root, and slope and half the bend in log x there.

    By steps; None where they go far astray. `slope` is about that of f at x, for the first one. f tells with
    its value how short a step need not be checked; nor need one be where the last two together are as short.
    """
    (value, within), bend, last = f(x), 0.0, None
    for _ in range(12):
        # to the root of a parabola, nearly
        step = -value / slope if slope else math.nan
        move = step - bend * step * step / slope if slope else math.nan
        if not abs(move) < 3.0:
            return None
        following = x * math.exp(move)
        if abs(move) < within or (last is not None and abs(move * last[1]) < within * within):
            return following, slope + 2.0 * bend * move, bend
        before, (value, within), x = value, f(following), following
        chord = (value - before) / move
        if last is not None:
            bend = (chord - last[0]) / (move + last[1])
        slope, last = chord + bend * move, (chord, move)
    return None


def root(
    read: Function,
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
    `slope`, about what it falls by, suggests, and 44 nats at once. The end is within `accuracy` of there,
    relative to its way from the floor.
    """
    if up and read(floor) <= target:
        return floor
    ends = falls(
        lambda epsilon: read(epsilon) - target,
        max(start, floor),
        -slope,
        lambda a, b: max(accuracy * (b - floor), 2e-16 * abs(b)),
        low=floor,
        longest=44.0 / slope,
        hair=0.002,  # of what is accepted: the end that is returned lies hardly farther from the root
    )
    end = ends.under if up else ends.over
    return end if end is not None else (math.inf if up else floor)

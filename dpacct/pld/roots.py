"""Roots of falling functions, enclosed by two numbers that close in; and the minimum of a valley.

Two loops do all of it. `_reached` walks from a start to where the sign differs, `_closed_in` narrows the two
ends. A function falls along a `StraightAxis`, on which it is nearly a line. What comes back is no mere root:
at one of the numbers it is known to be above 0, at the other not, and whoever asks takes the safe one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

Reading = tuple[float, float]
"""The value of a function and its slope, nan where that is not known."""
Function = Callable[[float], float]

# trials at most: by halves alone 200 of them tell any two doubles apart
_MOST = 200
# how far beyond a secant's root the next trial lies, so that the other end closes in too: a share of the step
_BEYOND = 0.02
HAIR = 0.3
"""The overshoot of a trial beyond the expected root, as a share of the accepted width."""
# of so many trials the last one halves, unless steps or the distance of the ends have shrunk to this share
_OFTEN, _CLOSER = 3, 0.25
# how far beyond a line's root a walk steps, and what is left of a slope that did not reach
_AHEAD, _FLATTER = 1.1, 0.6
# the rounding of a number, relative
_ULP = 2e-16


class StraightAxis(NamedTuple):
    """The places of numbers on an axis along which a function falls, and is nearly a line."""

    place: Callable[[float], float]
    number: Callable[[float], float]


LINEAR = StraightAxis(float, float)
LOG = StraightAxis(math.log, math.exp)
LOG_DOWN = StraightAxis(lambda x: -math.log(x), lambda u: math.exp(-u))
"""The axis for a function that rises with the number."""
_DOWN = StraightAxis(lambda x: -x, lambda u: -u)
_WHOLE_LOG_DOWN = StraightAxis(LOG_DOWN.place, lambda u: float(round(math.exp(-u))))
_WHOLE_DOWN = StraightAxis(_DOWN.place, lambda u: float(round(-u)))


class _Place(NamedTuple):
    """A place on the axis, the number there, and what the function is."""

    u: float
    number: float
    value: float
    slope: float = math.nan


class Ends(NamedTuple):
    """A number where a function is above 0, and one where it is not; None where there is none of the kind."""

    over: float | None
    under: float | None


class _Asked:
    """A function on its axis, between two numbers."""

    def __init__(
        self, read: Callable[[float], Reading], axis: StraightAxis, low: float, high: float
    ) -> None:
        self.read, self.axis, self.low, self.high = read, axis, low, high

    def number(self, u: float) -> float:
        """Return the number of a place; beyond the ends, the ends themselves."""
        return min(max(self.axis.number(u), self.low), self.high)

    def at(self, number: float) -> _Place:
        """The function there."""
        return _Place(self.axis.place(number), number, *self.read(number))


def _reached(
    asked: _Asked, start: _Place, slope: float, longest: float, least: float = 0.0
) -> tuple[_Place | None, _Place | None]:
    """The last place above 0 and the first that is not, on the way from `start` to where the sign differs.

    `slope` < 0: about that at the start, by which steps go. The first is no longer than `longest`.
    """
    edge, last = start, 0.0
    for _ in range(_MOST):
        size = abs(_AHEAD * edge.value / slope)
        # from a place where it is 0 to all digits a line would go nowhere
        size = max(size if size < longest else longest, least, 1e-15 * abs(edge.u), 1e-9 * last)
        down = edge.value > 0.0
        number = asked.number(edge.u + size if down else edge.u - size)
        if number == edge.number:
            break
        place = asked.at(number)
        if (place.value > 0.0) != down:
            return (edge, place) if down else (place, edge)
        # the sign changes farther out than the slope, or a line through these two, has it
        chord = (place.value - edge.value) / (place.u - edge.u)
        slope = max(_FLATTER * slope, chord) if chord < 0.0 else _FLATTER * slope
        longest, edge, last = 2.0 * longest, place, size
    return (edge, None) if edge.value > 0.0 else (None, edge)


def _closed_in(
    asked: _Asked,
    over: _Place,
    under: _Place,
    accepted: Callable[[float, float], float],
    hair: float = HAIR,
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
            u += math.copysign(_BEYOND * abs(step) + hair * width, step)
        if trial % _OFTEN == _OFTEN - 1:
            if wide > _CLOSER * before and not abs(step) <= _CLOSER * last:
                u = middle  # a jump, or a kink: secants don't close in
            before, last = wide, abs(step)
        number = asked.number(u if over.u < u < under.u else middle)
        if number in (over.number, under.number):
            number = asked.number(middle)
        if number in (over.number, under.number):
            break  # no numbers between
        older, newer = newer, asked.at(number)
        over, under = (newer, under) if newer.value > 0.0 else (over, newer)
    return over, under, over.u + 0.5 * (under.u - over.u)


# -- what is asked -----------------------------------------------------------------------------------


def falls(
    function: Callable[[float], float],
    start: float,
    slope: float,
    accepted: Callable[[float, float], float],
    *,
    axis: StraightAxis = LINEAR,
    low: float = -math.inf,
    high: float = math.inf,
    longest: float = math.inf,
    least: float = 0.0,
    hair: float = HAIR,
) -> Ends:
    """Enclose the root of a function that falls along the axis, from a start.

    `slope` < 0: about its slope there, along the axis. `accepted`: of two places, how far apart they may
    stay; `hair`: the share of that by which trials lie beyond where the root is thought to be. The first
    step is no longer than `longest` and no shorter than `least`.

    >>> falls(lambda x: 2.0 - x * x, 1.0, -2.0, lambda a, b: 1e-9, low=0.0).under > 2.0**0.5
    True
    """
    asked = _Asked(lambda x: (function(x), math.nan), axis, low, high)
    over, under = _reached(asked, asked.at(start), slope, longest, least)
    if over is not None and under is not None:
        over, under, _ = _closed_in(asked, over, under, accepted, hair)
    return Ends(None if over is None else over.number, None if under is None else under.number)


def decreasing(
    read: Callable[[float], Reading],
    target: float,
    low: float,
    high: float = math.inf,
    last: float = 1e-15,
) -> float:
    """x in [low, high] with read(x)[0] = target, read -> (value, slope or nan) falling; or `low`.

    `last`: how short a step, beside its place, is no longer checked.
    """

    def above(x: float) -> Reading:
        value, slope = read(x)
        return value - target, slope

    asked = _Asked(above, LINEAR, low, high)
    over = asked.at(low)
    if not over.value > 0.0:
        return low
    if math.isfinite(high):
        under: _Place | None = _Place(high, high, -math.inf)
    else:
        start, under = _reached(asked, over, -1e-300, 0.5 * max(abs(low), 1.0))
        over = start or over
    if under is None:
        return high
    return _closed_in(asked, over, under, lambda a, b: _ULP * abs(b), trusted=last)[2]


def crossing(
    excess: Callable[[float], float], most: float, low: float = 0.0
) -> tuple[float, float]:
    """Two numbers in [low, most], a part in 1e12 apart, between which a falling function becomes 0 or less.

    It is nearly a line but where it is -inf, as at `most`.

    >>> [round(end, 11) for end in crossing(lambda x: 2.0 - x * x, 9.0)]
    [1.41421356237, 1.41421356237]
    """
    asked = _Asked(lambda x: (excess(x), math.nan), LINEAR, low, most)
    over = asked.at(low)
    if over.value <= 0.0:
        return low, low
    under = _Place(most, most, -math.inf)
    over, under, _ = _closed_in(asked, over, under, lambda a, b: 1e-12 * b)
    return over.number, under.number


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
    axis = LINEAR if inside < outside else _DOWN
    # values of which no secant is made
    asked = _Asked(
        lambda x: (math.inf if holds(x) else -math.inf, math.nan), axis, -math.inf, math.inf
    )
    over = _Place(axis.place(inside), inside, math.inf)
    under = _Place(axis.place(outside), outside, -math.inf)
    over, under, _ = _closed_in(asked, over, under, lambda a, b: width * max(abs(a), abs(b)))
    return over.number, under.number


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


# -- the boundary of a monotone condition on one number -----------------------------------------------
#
# `excess` is positive where the condition is missed, and nearly linear in the logarithm of the number.

WIDTH = 2e-10
"""Relative width of the final bracket of a real parameter."""
# where more than one number is seen to be as far from safe as another: how much farther out the next lies
_PLATEAU = 1.0
# steps of the walk, in logs: the shortest, and the first
_LEAST_STEP, _FIRST_STEP = 0.05, math.log(4.0)


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
    other, jump = x * (2.0 if x * 2.0 <= high else 0.5), _PLATEAU
    while at(other) == at(x):  # delta is 1 at both, or 0: look further, both ways
        below, above = max(low, x * math.exp(-jump)), min(high, x * math.exp(jump))
        other = below if at(below) != at(x) else above
        if at(other) == at(x) and below == low and above == high:
            return (None, None) if at(x) > 0.0 else (x, None)
        jump *= 2.0
    rising = (at(other) > at(x)) == (other > x)  # larger is riskier
    axis = LOG_DOWN if rising else LOG
    slope = -abs((at(other) - at(x)) / math.log(other / x))
    nearest = min(x, other, key=lambda number: abs(at(number)))
    ends = falls(
        at,
        nearest,
        slope if slope > -math.inf else -1.0,
        lambda a, b: accepted(),
        axis=axis,
        low=low,
        high=high,
        longest=_FIRST_STEP,
        least=_LEAST_STEP,
    )
    return ends.under, ends.over if ends.under is not None else None


def whole(
    excess: Callable[[int], float],
    low: int,
    high: int,
    enough: Callable[[], bool] = lambda: False,
) -> tuple[float | None, float | None]:
    """(safe, unsafe) neighbouring whole numbers from 1 on; more is riskier."""

    def asked(axis: StraightAxis) -> _Asked:
        return _Asked(lambda n: (excess(int(n)), math.nan), axis, low, high)

    far = asked(_WHOLE_LOG_DOWN)
    over, under = _reached(far, far.at(low), -1.0, math.log(9.0), math.log(2.0))
    if over is None or under is None:
        return (None, None) if under is None else (under.number, None)
    # their logarithms don't tell neighbours apart from 1e13 on
    over, under = (place._replace(u=-place.number) for place in (over, under))
    over, under, _ = _closed_in(
        asked(_WHOLE_DOWN), over, under, lambda a, b: math.inf if enough() else 1.0
    )
    return under.number, over.number


def near_root(
    f: Callable[[float], tuple[float, float]], x: float, slope: float
) -> tuple[float, float, float, float] | None:
    """About a root, slope and half the bend in log x there, and over which way these were seen.

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
            return following, slope + 2.0 * bend * move, bend, last[1] if last else math.inf
        before, (value, within), x = value, f(following), following
        chord = (value - before) / move
        if last is not None:
            bend = (chord - last[0]) / (move + last[1])
        slope, last = chord + bend * move, (chord, move)
    return None


# nats that a step to an end may go for at once
_FARTHEST = 44.0
# of what is accepted: the end that is returned lies hardly farther from the root
_HAIR = 0.002


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
    ends = falls(
        lambda epsilon: read(epsilon) - target,
        max(start, floor),
        -slope,
        lambda a, b: max(accuracy * (b - floor), 2e-16 * abs(b)),
        low=floor,
        longest=_FARTHEST / slope,
        hair=_HAIR,
    )
    end = ends.under if up else ends.over
    return end if end is not None else (math.inf if up else floor)

"""Answers from laws: log delta at an epsilon, epsilon at a log delta, a whole profile; each with its error.

What the contour cannot resolve in double precision (the loss has a gap that epsilon falls into, so that the
real tilt centres nothing there) is bracketed by closed-form bounds instead, and marked so.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from .bent import BentLine
from .bounds import (
    chernoff,
    largest_loss,
    log_one_minus,
    modest_bound,
    one_minus_chernoff,
    single_step,
    surely_zero,
)
from .choice import ANEW, Start, contour_for
from .contour import Line, Totals, log_peak
from .lattice import epsilon_near_top
from .law import TooFine
from .minimum import minimum
from .saddle import Laws, Saddle, first_guess, guess_for_epsilon, reach_for
from .stable import quiet

# log delta down to which tails are kept where delta is not known beforehand
LEAST_LOG_DELTA = -750.0
# relative width to which the largest loss alone tells epsilon
_NEAR_TOP = 1e-10
# a reading worse than this is not an answer
_USABLE = 1e-3


@dataclass(frozen=True)
class Solved:
    """A value with the ends it lies between; `resolved` is False where the ends are mere bounds."""

    value: float
    lower: float
    upper: float
    resolved: bool = True
    start: Start | None = None  # for a similar question


def _between(log_value: float, error: float) -> Solved:
    """A log probability with its relative error."""
    if log_value == -math.inf:
        return Solved(log_value, log_value, log_value)
    value = min(log_value, 0.0)
    least = math.log1p(-error) if error < 1.0 else -math.inf
    return Solved(value, value + least, min(0.0, value + math.log1p(error)))


def _one_step(laws: Laws, epsilon: float) -> tuple[float, float] | None:
    if len(laws) == 1 and laws[0][1] == 1:
        return laws[0][0].log_one_step(epsilon)
    return None


@quiet
def log_delta(laws: Laws, epsilon: float, start: Start = ANEW) -> Solved:
    """log of E[(1 - e^{epsilon - L})_+] for the sum L of independent losses, finite part only."""
    closed = _one_step(laws, epsilon)
    if closed is not None:
        return _between(closed[0], closed[1] + _input_rounding(laws, epsilon, closed[0]))
    if epsilon >= largest_loss(laws):
        return Solved(-math.inf, -math.inf, -math.inf)
    try:
        return _log_delta(laws, epsilon, start)
    except TooFine:
        # no contour: what holds without one, at tilts that can still be had
        upper = min(0.0, modest_bound(laws, epsilon))
        return Solved(upper, min(upper, single_step(laws, epsilon)), upper, resolved=False)


def _input_rounding(laws: Laws, epsilon: float, log_value: float) -> float:
    """What the rounding of epsilon and of a step's parameters to doubles does to one step's log delta.

    Near the largest loss a relative change moves delta by a million times as much.
    """
    further = _one_step(laws, epsilon * (1.0 + 1e-12))
    if further is None or not math.isfinite(further[0]) or not math.isfinite(log_value):
        return 0.0
    return 1.2e-3 * abs(further[0] - log_value)


@quiet
def log_delta_estimate(
    laws: Laws, epsilon: float, tilt: float | None = None
) -> tuple[float, float]:
    """Saddle-point estimate of log delta (a part in a hundred, not a bound), and the saddle."""
    closed = _one_step(laws, epsilon)
    if closed is not None:
        return closed[0], math.nan
    if epsilon >= largest_loss(laws):
        return -math.inf, math.nan
    c = tilt or guess_for_epsilon(laws, epsilon)
    total = Saddle(laws, c, reach_for(laws, LEAST_LOG_DELTA)).for_epsilon(epsilon, c, 1e-3)
    return min(0.0, total.log_delta_estimate(epsilon)), total.c


@quiet
def log_delta_bound(laws: Laws, epsilon: float) -> float:
    """Chernoff's bound of log delta at its saddle: as smooth in the laws as delta, and monotone."""
    if epsilon >= largest_loss(laws):
        return -math.inf
    c = guess_for_epsilon(laws, epsilon)
    try:
        total = Saddle(laws, c, reach_for(laws, LEAST_LOG_DELTA)).for_epsilon(epsilon, c, 1e-3)
    except TooFine:
        return min(0.0, modest_bound(laws, epsilon))
    return min(0.0, total.log_moment - total.c * epsilon + log_peak(total.c))


def _log_delta(laws: Laws, epsilon: float, start: Start) -> Solved:
    c = start.tilt or guess_for_epsilon(laws, epsilon)
    saddle = Saddle(laws, c, reach_for(laws, LEAST_LOG_DELTA))
    total = saddle.for_epsilon(epsilon, c)
    line = contour_for(laws, saddle.families, total, (epsilon,), start)
    if line is not None:
        reading = line.read(np.array([epsilon]))
        error = float(reading.relative_error[0])
        value = float(reading.log_delta[0])
        if error < _USABLE and value < math.log1p(error):
            again = Start(
                total.c, line.step if isinstance(line, BentLine) else None, start.tolerance
            )
            return replace(_between(value, error), start=again)
    upper = min(0.0, chernoff(laws, saddle, epsilon, total.c))
    lower = min(upper, single_step(laws, epsilon))
    if epsilon < total.mean:
        # 1 - delta = E[min(1, e^{eps - L})] <= M(c) e^{-c eps} for -1 <= c <= 0
        lower = max(lower, log_one_minus(one_minus_chernoff(laws, epsilon)))
    return Solved(upper, lower, upper, resolved=upper - lower < _USABLE)


@quiet
def epsilon(laws: Laws, log_target: float, floor: float = 0.0) -> Solved:
    """The epsilon >= floor at which log delta equals the target; floor where delta(floor) is below it."""
    largest = largest_loss(laws)
    if largest <= floor:
        return Solved(floor, floor, floor)
    low, high = epsilon_near_top(laws, log_target)
    if high - low <= _NEAR_TOP * low and low > floor:
        return Solved(low, low, high)
    if not any(law.has_density for law, _ in laws):
        return _epsilon_on_lattice(laws, log_target, floor, largest)
    if len(laws) == 1 and laws[0][1] == 1 and floor == 0.0:
        found = _epsilon_one_step(laws, log_target)
        if found is not None:
            return found
    if floor == 0.0 and surely_zero(laws, log_target):
        return Solved(0.0, 0.0, 0.0)
    try:
        return _epsilon(laws, log_target, floor)
    except TooFine:
        upper = min(largest, max(floor, modest_bound(laws, log_target, at_delta=True)))
        return Solved(upper, floor, upper, resolved=False)


def _epsilon(laws: Laws, log_target: float, floor: float) -> Solved:
    guess = first_guess(laws, log_target)
    saddle, c = Saddle(laws, guess, reach_for(laws, log_target)), guess
    solved, c = _epsilon_on_contours(laws, saddle, log_target, floor, c)
    if solved is None:
        # a tail that a moderate delta may do without can matter to the tilt: try with all of it
        solved, _ = _epsilon_on_contours(laws, Saddle(laws, guess), log_target, floor, guess)
    return solved or _epsilon_bracket(laws, saddle, log_target, c, floor)


def _epsilon_on_contours(
    laws: Laws, saddle: Saddle, log_target: float, floor: float, c: float
) -> tuple[Solved | None, float]:
    """Newton on lines through saddles that are corrected until the line is good at the answer."""
    aim = log_target
    for _ in range(5):
        total = saddle.for_log_delta(aim, c)
        c = total.c
        line = contour_for(laws, saddle.families, total, (total.saddle_epsilon,))
        if line is None:
            break
        solved = _newton(line, total, log_target, floor)
        if solved is not None:
            return solved, c
        reading = line.read(np.array([total.saddle_epsilon]))
        miss = float(reading.log_delta[0]) - log_target
        if not (math.isfinite(miss) and float(reading.relative_error[0]) < 0.1):
            break
        aim = min(aim - miss, -1e-6)
    return None, c


def _newton(line: Line, total: Totals, log_target: float, floor: float) -> Solved | None:
    """Newton on log delta along one line; None if it leaves the region the line is good for."""
    value = total.saddle_epsilon
    width = math.sqrt(total.curvature)
    previous = math.inf
    for _ in range(40):
        reading = line.read(np.array([value]))
        error = float(reading.relative_error[0])
        if not error < 0.3:
            return None
        slope = float(reading.slope[0])
        gap = log_target - float(reading.log_delta[0])
        step = gap / slope
        if abs(step) > 3.0 * width + 0.5 * abs(value):
            return None
        if abs(gap) <= max(1e-13, 0.02 * error) or (
            abs(step) >= 0.5 * previous and abs(gap) < 1e-9
        ):
            if error > _USABLE:
                return None
            value += step
            margin = (error + abs(gap)) / -slope + 1e-12 * abs(value)
            if value + margin <= floor:
                return Solved(floor, floor, floor)
            return Solved(max(floor, value), max(floor, value - margin), value + margin)
        previous = abs(step)
        value += step
    return None


def _epsilon_on_lattice(laws: Laws, log_target: float, floor: float, largest: float) -> Solved:
    """Root of a sum of kinked terms between floor and the largest loss, where it is 0."""

    def read(e: float) -> tuple[float, float]:
        solved = log_delta(laws, e)
        return solved.value, 0.5 * (
            solved.upper - solved.lower
        ) if solved.upper > -math.inf else 0.0

    if _one_step(laws, floor) is None:
        guess = first_guess(laws, log_target)
        try:
            saddle = Saddle(laws, guess)
            total = saddle.for_log_delta(log_target, guess)
            if contour_for(laws, saddle.families, total, (total.saddle_epsilon,)) is None:
                return _epsilon_bracket(laws, saddle, log_target, total.c, floor)  # too many points
        except TooFine:
            pass
    if read(floor)[0] <= log_target:
        return Solved(floor, floor, floor)
    # bisect on whole readings: each has its own lattice window
    found = bracketed_root(lambda e: max(read(e)[0], -1e300) - log_target, read, floor, largest)
    if found.upper - found.lower < math.inf:
        return found
    # a hair below the largest loss no reading is certain: what is certain a little further down
    gaps = ((largest - floor) * 0.5**k for k in range(45, 0, -1))
    sure = (e for e in (largest - gap for gap in gaps) if log_delta(laws, e).lower > log_target)
    return Solved(found.value, min(found.value, next(sure, floor)), largest)


def _epsilon_one_step(laws: Laws, log_target: float) -> Solved | None:
    law = laws[0][0]
    at_zero = law.log_one_step(0.0)
    if at_zero is None:
        return None
    if at_zero[0] <= log_target:
        return Solved(0.0, 0.0, 0.0)
    direct = law.epsilon_one_step(log_target)
    if direct is not None:
        return Solved(direct[0], max(0.0, direct[0] - direct[1]), direct[0] + direct[1])

    def gap(e: float) -> float:
        value = law.log_one_step(e)
        assert value is not None
        return max(value[0], -1e300) - log_target

    return bracketed_root(gap, lambda e: law.log_one_step(e))


def bracketed_root(
    gap: Callable[[float], float],
    read: Callable[[float], tuple[float, float] | None],
    start: float = 0.0,
    end: float | None = None,
) -> Solved:
    """Root of a decreasing function above `start`, by doubling steps, then secant and bisection."""
    low, f_low, step = start, gap(start), 1.0
    while start == 0.0 and end is None and step > 1e-200 and gap(1e-3 * step) < 0.0:
        step *= 1e-3  # losses may be tiny
    high = low + step if end is None else end
    f_high = gap(high)
    while f_high > 0.0:
        low, f_low = high, f_high
        step *= 2.0
        high += step
        f_high = gap(high)
    for trial in range(300):
        if high - low <= 2e-15 * abs(high) + 1e-300:
            break
        middle = 0.5 * (low + high)
        if trial % 3 < 2 and f_low < 1e6 and f_high > -1e6:
            secant = high - f_high * (high - low) / (f_high - f_low)
            narrow = 0.002 * (high - low)
            # alternate sides of the secant's guess, so that both ends close in
            secant += narrow if trial % 3 else -narrow
            middle = min(max(secant, low + narrow), high - narrow)
        value = gap(middle)
        if value > 0.0:
            low, f_low = middle, value
        else:
            high, f_high = middle, value
    found = read(high)
    assert found is not None
    shift = max(high * 1e-6, 1e-12)
    further = read(high + shift)
    slope = (found[0] - further[0]) / shift if further is not None else 1.0
    margin = (found[1] / slope if slope > 0.0 else 0.0) + 1e-14 * high + (high - low)
    return Solved(high, high - margin, high + margin)


def _epsilon_bracket(
    laws: Laws, saddle: Saddle, log_target: float, c: float, floor: float
) -> Solved:
    """Chernoff's epsilon, min over c of (log M(c) + log peak - log delta)/c, above; one step below."""

    def bound(log_c: float) -> float:
        total = saddle.at(math.exp(log_c))
        return (total.log_moment + log_peak(total.c) - log_target) / total.c

    upper = max(floor, minimum(bound, math.log(c) - 12.0, math.log(c) + 12.0))
    lower = floor
    for law, _ in laws:
        one = _epsilon_one_step([(law, 1.0)], log_target)
        if one is not None:
            lower = max(lower, one.lower)
    return Solved(upper, min(lower, upper), upper, resolved=upper == floor)

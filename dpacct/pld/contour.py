"""delta(eps) of a composition by contour integration, and epsilon(delta) by Newton on the same table.

    delta(eps) = (1/2 pi i) int M(s) e^{-s eps} / (s (s+1)) ds,  Re s = c > 0,  M = prod M_i^{T_i}

(Alghamdi et al., ICML 2023, Theorem 3.1.) The trapezoid rule on the vertical through the saddle converges
geometrically; where its step would be too fine, a contour that leaves the vertical takes its place. Atoms
above eps decay on neither and are taken out (`lines`). What no contour resolves is refused: error inf.
"""

from __future__ import annotations

import math
from bisect import bisect_right, insort
from collections.abc import Callable, Iterable
from contextlib import suppress

import numpy as np

from . import backwards, roots
from .conversions import gaussian_log_delta, gaussian_slope
from .interval import Interval
from .lines import FLOOR, ContourLine, confirmed, line_for, rough_line
from .loss import ULPS, gaussian, rounding
from .moments import Part, Summand, prepare
from .saddle import FEW, Saddle, Totals, guess, guess_for_epsilon
from .stable import Floats, TooFine, quiet

_FAN = np.geomspace(0.1, 3.0, 11)
_BACK = np.append(np.geomspace(1e-6, 0.1, 6), (0.3, 0.5, 0.7, 0.9, 1.0))
_LEAST = -745.0  # log of the smallest float
_TO_THE_TOP = 40.0  # e^-40 of the way to the largest loss is rounding
_NATS = 45.0  # a tail of e^-45 of delta may be put at infinity
_BESIDE_CUT = 32.0  # nats by which delta is above all that was cut off
_DENORMAL = 1e-319  # half of the smallest float for each of 20,000 nodes
_STEP = 1e-13  # what the profile of one step is off by
_CLOSED, _MOST_STEPS = 1e-11, 30  # what a closed form may be off by, and steps to its root
_USABLE = 1e-3  # a worse reading is no answer
_SHARED = 1e-10  # nor is a worse one on the line of another epsilon, unless its own is as bad
_ROUGH, _SADDLE_POINT = 1e-3, 0.1  # what a rough line and the saddle point may be off by
_NO_LINE = math.nan, math.nan, math.inf
_FAILED = (TooFine, ValueError, ZeroDivisionError, OverflowError)


_UNRESOLVED = Interval.about(math.nan, math.inf)


def merged(parts: Iterable[Part]) -> list[Part]:
    """Equal laws added up, and Gaussians fused into one."""
    parts = list(parts)
    if len(parts) == 1 and parts[0][0].gaussian is None:
        return parts
    counts: dict[Summand, float] = {}
    square = 0.0
    for law, count in parts:
        mu = law.gaussian
        if mu is not None:
            square += count * mu * mu
        else:
            counts[law] = counts.get(law, 0.0) + count
    normal: list[Part] = [(gaussian(math.sqrt(square)), 1.0)] if square else []
    return [*counts.items(), *normal]


def _single(parts: list[Part]) -> Summand | None:
    """The law, if the composition is one step without closed-form moments; else None."""
    law, count = parts[0]
    alone = len(parts) == 1 and count == 1 and law.stacked is None
    return law if alone and law.gaussian is None else None


# -- bounds and estimates ----------------------------------------------------------------------


@quiet()
def estimate(parts: Iterable[Part], eps: float, tilt: float = 0.0) -> Interval:
    """About log delta, and what it is off by: by a rough line, or the saddle point; nan without one."""
    laws = merged(parts)
    try:
        start = tilt or guess_for_epsilon(laws, eps)
        saddle = Saddle(laws, start, warm=tilt > 0.0, tolerance=backwards.TOLERANCE)
        c, curvature = saddle.near_epsilon(eps)
        line = rough_line(saddle, c, curvature, eps)
    except _FAILED:
        return _UNRESOLVED
    value, _, error = _NO_LINE if line is None else line.read(eps)
    if error < _ROUGH:
        return Interval.about(value, _ROUGH, c, saddle)
    return Interval.about(saddle.estimate(c, eps), _SADDLE_POINT, c, saddle)


@quiet()
def chernoff(parts: Iterable[Part], eps: float) -> float:
    """log delta is at most this: the least of log M(c) - c eps + log sup_y (1 - e^-y) e^-cy over some tilts.

    Up to what a coarse rule leaves, for which 1e-3 is granted; inf where there is no rule.
    """
    laws = merged(parts)
    try:
        saddle = Saddle(laws, guess_for_epsilon(laws, eps))
        total = saddle.rough(saddle.start * _FAN)
    except _FAILED:
        return math.inf
    # where the largest losses are far away, what they are rounded by is nothing beside the 1e-3
    near = not eps < 0.5 * sum(n * law.range[1] for law, n in laws) < math.inf
    past = eps - _slips(laws, eps) if near else eps
    best = float(np.fmin.reduce(total.bound(past)))
    if not best < 0.0:  # losses may be far from the normal ones of the first guess
        with suppress(*_FAILED):
            best = saddle.bound(past)
    return best + 1e-3


def surely_below(
    parts: list[Part], eps: float, log_delta: float, beside: Interval | None = None
) -> bool:
    """Return whether cheap bounds show that log delta is less at epsilon.

    `beside`: what other laws were answered there, or near; of the same ones with P and Q exchanged it says
    much.
    """
    if eps >= sum(n * law.range[1] for law, n in parts) and eps >= ceiling(parts):
        return True
    saddle = None if beside is None else beside.saddle
    if beside is None or saddle is None or not backwards.exchanged(saddle.parts, parts):
        return chernoff(parts, eps) < log_delta
    try:
        best, total = backwards.chernoff(saddle, beside.tilt, eps)
        if total is None:
            return chernoff(parts, eps) < log_delta
        if best < log_delta:
            return True
        tilt = backwards.tilt(total, eps)
        return tilt > 0.0 and backwards.about(parts, tilt, eps) < log_delta
    except _FAILED:
        return False


@quiet()
def basic(parts: Iterable[Part], eps: float) -> float:
    """log delta is at most this: the sum of each step's delta at an equal share of eps."""
    laws, total = list(parts), 0.0
    share = np.array([eps / sum(n for _, n in laws)])
    try:
        for law, n in laws:
            asked = share - _slip(law, share)
            total += n * float((law.profile(asked)[0] + _denormal(law, asked))[0])
    except TooFine:
        return math.inf
    return math.log(total) + 1e-12 if total > 0.0 else -math.inf


@quiet()
def bound(parts: Iterable[Part], eps: float) -> float:
    """Chernoff's bound of log delta at about its saddle: as smooth in the laws as delta, and monotone."""
    laws = merged(parts)
    try:
        return min(0.0, Saddle(laws, guess_for_epsilon(laws, eps)).bound(eps))
    except _FAILED:
        return min(0.0, chernoff(laws, eps))


@quiet()
def least(parts: Iterable[Part], eps: float) -> float:
    """log delta is at least this: that of any one step, as the others may be post-processed away.

    And 1 - delta = E[min(1, e^{eps - L})] <= M(c) e^{-c eps} for -1 <= c <= 0, far below the mean.
    """
    best, rest = -math.inf, _BACK * eps
    for law, n in parts:
        with suppress(TooFine):
            result = _one_step(law, eps)
            if result.error < 1.0:
                best = max(best, result.lower)
        try:
            rest = rest + n * prepare(law, -1.0, 0.0).log_moments(-_BACK)
        except TooFine:
            rest = np.full(rest.shape, math.inf)
    missing = float(np.fmin.reduce(rest)) + 1e-12
    return max(best, math.log1p(-math.exp(missing))) if missing < -1e-12 else best


@quiet()
def epsilon_bounds(parts: Iterable[Part], log_target: float) -> tuple[float, float]:
    """Ends of epsilon without a line: one step below, Chernoff's bound and the largest loss above."""
    laws = merged(parts)
    if basic(laws, 0.0) <= log_target:
        return 0.0, 0.0
    upper = ceiling(laws)
    with suppress(*_FAILED):
        saddle = Saddle(laws, guess(laws, log_target))
        least_bound = saddle.least_epsilon(log_target - 1e-3)
        upper = min(upper, max(0.0, least_bound + _slips(laws, least_bound)))
    lower = 0.0
    for law, _ in laws:
        with suppress(*_FAILED):
            result = _epsilon([(law, 1.0)], log_target, 0.0)
            lower = max(lower, result.value - result.error if result.resolved else 0.0)
    return min(lower, upper), upper


# -- log delta ---------------------------------------------------------------------------------


@quiet()
def log_delta(parts: Iterable[Part], eps: float, tilt: float = 0.0) -> Interval:
    """log of E[(1 - e^{eps - L})_+] of the sum of independent losses, infinite mass left out.

    Where rare large losses lead the tilt, those that are together below e^-45 of delta are put at infinity.

    >>> interval = log_delta([(gaussian(1.0), 1)], 1.0)
    >>> round(math.exp(interval.value), 12)
    0.126936737507
    """
    laws = merged(parts)
    law, mu = _single(laws), laws[0][0].gaussian
    if law is not None:
        return _one_step(law, eps)
    if mu is not None and len(laws) == 1:
        value, error = gaussian_log_delta(mu, eps)
        if error < _CLOSED:
            return Interval.of_log(value, error)
    if eps >= sum(n * law.range[1] for law, n in laws):
        if eps >= ceiling(laws):
            return Interval.about(-math.inf, 0.0)
        above = basic(laws, eps)
        return Interval(above, -math.inf, above)
    result, about = _log_delta(laws, eps, tilt)
    for _ in range(3):  # what is too rare to matter depends on delta, of which the cut tells more
        if result.resolved or math.isnan(about):
            break
        try:
            cut = _cut(laws, about)
        except TooFine:
            break
        again, below = _log_delta(cut, eps)
        # what was cut off is e^-_NATS of what was expected, which may be far above what is left
        little = again.value > about - _NATS + _BESIDE_CUT
        if again.resolved and little and not _felt(cut, again.tilt):
            result = again
        about = below if below < about - 1.0 else math.nan
    return result


def _one_step(law: Summand, eps: float) -> Interval:
    if law.inner is not None:
        result = log_delta(law.inner.parts, eps)
        return result.moved(math.log(law.inner.rate))
    value, below, above = (float(log[0]) for log in _read(law, np.array([eps])))
    return Interval(min(value, 0.0), below, min(above, 0.0))


@quiet()
def one_step(law: Summand, epsilons: Floats) -> tuple[Floats, Floats]:
    """log delta of one step at each of an array, and its relative error; 1 where delta may be 0."""
    if law.inner is not None:
        results = [_one_step(law, eps) for eps in epsilons.tolist()]
        pairs = np.array([(reading.value, reading.error) for reading in results]).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1]
    values, _, above = _read(law, epsilons)
    near = values > -math.inf
    errors = np.where(near, np.expm1(above - values), np.where(above > -math.inf, 1.0, 0.0))
    return np.where(near, values, above), errors


def _read(law: Summand, epsilons: Floats) -> tuple[Floats, Floats, Floats]:
    """log delta of one step, and its two ends."""
    slip = _slip(law, epsilons)
    asked = np.concatenate((epsilons, epsilons + slip, epsilons - slip))
    deltas = np.split(law.profile(asked)[0], 3)
    denormal = _denormal(law, epsilons - slip)
    value = np.log(deltas[0])
    below = np.log(np.maximum(np.minimum(*deltas[:2]) - denormal, 0.0))
    above = np.log(np.maximum(deltas[0], deltas[2]) + denormal)
    off = _STEP + 4e-16 * _heights(law, epsilons)
    return value, below - off, above + off


def _denormal(law: Summand, epsilons: Floats) -> Floats:
    """Bound the error of a sum of products below the normal floats; 0 from the largest loss on."""
    charge: Floats = np.where(epsilons < law.range[1], _DENORMAL, 0.0)
    return charge


def _heights(law: Summand, epsilons: Floats) -> Floats:
    """The size of the logs whose differences give densities, at epsilon and where the mass lies."""
    sizes = np.zeros(epsilons.shape)
    for branch in law.branches:
        for x in (branch.where(epsilons), np.full(epsilons.shape, branch.bulk)):
            loss, log_q = branch.plain(x)
            size = np.abs(log_q) + branch.square * x * x + np.abs(branch.linear * x) + np.abs(loss)
            sizes = np.fmax(sizes, np.where(np.isfinite(size), size, 0.0))
    return sizes


@quiet()
def _slip(law: Summand, epsilons: Floats) -> Floats:
    """The rounding error of epsilon and the losses near it, which moves delta next to the largest loss."""
    size = np.abs(epsilons)
    slip = rounding(epsilons, law.before)
    for branch in law.branches:
        before = branch.felt(branch.where(epsilons)) + (2.0 + len(branch.chain)) * size
        slip = np.fmax(slip, 2.0 * ULPS * np.where(before < math.inf, before, 0.0))
    return slip


def _slips(laws: list[Part], eps: float) -> float:
    """The rounding error of a sum of losses near the largest."""
    tops = [law.range[1] if math.isfinite(law.range[1]) else eps for law, _ in laws]
    slips = zip(laws, tops, strict=True)
    return 4.0 * ULPS * abs(eps) + sum(
        n * float(_slip(law, np.array([t]))[0]) for (law, n), t in slips
    )


def ceiling(parts: Iterable[Part]) -> float:
    """An upper bound of the sum of losses, rounding included."""
    laws = list(parts)
    top = sum(n * law.range[1] for law, n in laws)
    return top + _slips(laws, top) if math.isfinite(top) else top


def _log_delta(laws: list[Part], eps: float, tilt: float = 0.0) -> tuple[Interval, float]:
    """log delta from a line, and the saddle point's estimate."""
    value, about, _ = _with_line(laws, eps, tilt)
    return value, about


def _with_line(
    laws: list[Part], eps: float, tilt: float = 0.0
) -> tuple[Interval, float, ContourLine | None]:
    """log delta, the saddle point's estimate, and the line used."""
    about = math.nan
    try:
        c = tilt or guess_for_epsilon(laws, eps)
        saddle = Saddle(laws, c, warm=tilt > 0.0)
        total = saddle.for_epsilon(eps, c)
        about = min(0.0, float(total.log_delta(eps)))
        # below all floats Chernoff's bound at the saddle will do where a line would be long
        if about < _LEAST - 100.0 and saddle.plan.nodes > FEW:
            bound = float(total.bound(eps)) + 1e-3
            return Interval(math.nan, -math.inf, bound, False, total.c), math.nan, None
        line = line_for(saddle, total, eps)
        if line is not None and not (total.skewed and not confirmed(saddle, line, eps)):
            value, _, error = line.read(eps)
            if error < _USABLE:
                return Interval.of_log(min(value, 0.0), error, total.c, saddle), about, line
    except _FAILED:
        pass
    return _UNRESOLVED, about, None


class Readings:
    """log delta of a composition at many epsilons: each line is read near its saddle, and kept."""

    def __init__(self, parts: Iterable[Part]) -> None:
        self._laws = merged(parts)
        self._law = _single(self._laws)
        self._top = sum(n * law.range[1] for law, n in self._laws)
        self._lines: list[tuple[float, float, float, ContourLine]] = []
        """(epsilon, how far from there, the largest error of a reading, line), by rising epsilons."""

    @quiet()
    def __call__(self, epsilons: Floats) -> tuple[Floats, Floats]:
        """log delta at rising epsilons, and its errors: inf if not resolved, where the value is a bound."""
        if self._law is not None:
            return one_step(self._law, epsilons)
        values, errors = np.full(epsilons.shape, -math.inf), np.zeros(epsilons.shape)
        tilt = 0.0
        for k, eps in enumerate(epsilons[epsilons < self._top].tolist()):
            stored = self._read(eps)
            if stored is None:
                value, _, line = _with_line(self._laws, eps, tilt)
                tilt = 0.0 if line is None else line.total.c
                if line is not None:
                    self._keep(eps, value.error, line)
                stored = value.value if value.resolved else min(value.upper, 0.0), value.error
            values[k], errors[k] = stored
        return np.minimum(values, 0.0), errors

    def _read(self, eps: float) -> tuple[float, float] | None:
        """Read the line of one of the nearest epsilons; None where its error is too large."""
        place = bisect_right(self._lines, eps, key=lambda kept: kept[0])
        for at, reach, most, line in reversed(self._lines[max(place - 1, 0) : place + 1]):
            if abs(eps - at) <= reach:
                value, _, error = line.read(eps)
                if error < most:
                    return value, error
        return None

    def _keep(self, eps: float, error: float, line: ContourLine) -> None:
        t = line.total
        reach = 2.5 * math.sqrt(t.curvature) if line.closed is None else 5.0 / t.c
        insort(self._lines, (eps, reach, max(_SHARED, 8.0 * error), line), key=lambda kept: kept[0])


def _cut(laws: list[Part], log_delta: float) -> list[Part]:
    tail = log_delta - math.log(sum(n for _, n in laws)) - _NATS
    return [(law.truncated(tail), n) for law, n in laws]


def _felt(cut: list[Part], c: float) -> bool:
    """Return whether the tilted law is felt where it was cut: then rare jumps do matter."""
    try:
        return any(n * prepare(law, c, c).at_the_top(c) > FLOOR for law, n in cut)
    except TooFine:
        return True


# -- epsilon -----------------------------------------------------------------------------------


@quiet()
def epsilon(parts: Iterable[Part], log_target: float, floor: float = 0.0) -> Interval:
    """The epsilon >= floor at which log delta, infinite mass left out, is the target; floor if less there.

    >>> interval = epsilon([(gaussian(1.0), 1)], math.log(0.126936737507))
    >>> round(interval.value, 9)
    1.0
    """
    laws = merged(parts)
    result = _epsilon(laws, log_target, floor)
    if result.resolved:
        return result
    if basic(laws, floor) <= log_target:  # so little happens that it is met without any loss
        return Interval.about(floor, 0.0)
    try:
        cut = _cut(laws, log_target)
    except TooFine:
        return _by_readings(laws, log_target, floor, result.value)
    if any(a is not b for (a, _), (b, _) in zip(cut, laws, strict=True)):
        again = _epsilon(cut, log_target, floor)
        if again.resolved and not _felt(cut, again.tilt):
            return again
    return _by_readings(laws, log_target, floor, result.value)


def _off(error: float, slope: float) -> float:
    """Bound the error of an epsilon whose log delta, of this slope, is off by `error`; inf if unbounded.

    -delta'(eps) e^{-eps} = E_P[e^{-L}; L > eps] falls, so that to the left of it delta rises by at least
    -delta'(eps) (1 - e^{-h}) over a way h, which need be no longer than where that is e^error - 1 of delta.
    Near delta 1 the slope is next to nothing, and changes over the way: there the error over the slope
    is not a bound.
    """
    share = math.expm1(error) / -slope if slope < 0.0 and error < 1.0 else 1.0
    return -math.log1p(-share) if share < 1.0 else math.inf


def _by_readings(laws: list[Part], log_target: float, floor: float, at: float) -> Interval:
    """Secants through readings of delta from an epsilon that a line came to and did not confirm."""
    if not (math.isfinite(at) and at > floor):
        return Interval.about(at, math.inf)
    behind, before = at * (1.0 + 1e-6), log_delta(laws, at * (1.0 + 1e-6))
    for _ in range(6):
        reading = log_delta(laws, at)
        if not (reading.resolved and before.resolved) or at == behind:
            break
        slope, gap = (before.value - reading.value) / (behind - at), log_target - reading.value
        if not slope < 0.0:
            break
        if abs(gap) <= max(1e-13, 0.02 * reading.error):
            return Interval.about(
                at, _off(abs(gap) + reading.error, slope) + FLOOR * at, reading.tilt
            )
        behind, before, at = at, reading, max(floor, at + gap / slope)
    return Interval.about(at, math.inf)


def _epsilon(laws: list[Part], log_target: float, floor: float) -> Interval:
    near = _near_top(laws, log_target)
    if near is not None:
        return near if near.value > floor else Interval.about(floor, 0.0)
    law, mu = _single(laws), laws[0][0].gaussian
    if law is not None:
        return _one_step_epsilon(law, log_target, floor)
    if mu is not None and len(laws) == 1:
        result = _of_gaussian(mu, log_target, floor)
        if result is not None:
            return result
    try:
        return _on_lines(laws, log_target, floor)
    except _FAILED:
        return _UNRESOLVED


def _of_gaussian(mu: float, log_target: float, floor: float) -> Interval | None:
    """Return epsilon by the closed form; None where that cancels."""
    if not gaussian_log_delta(mu, floor)[0] > log_target:
        return None
    # here delta is less: it is at most e^{-z^2/2}, and its log is concave, so that Newton comes from above
    value = mu * (math.sqrt(-2.0 * log_target) + 0.5 * mu)
    for _ in range(_MOST_STEPS):
        log_value, error = gaussian_log_delta(mu, value)
        if not error < _CLOSED:
            return None
        slope, gap = gaussian_slope(mu, value), log_target - log_value
        if not slope < 0.0:
            return None
        value = max(floor, value + gap / slope)
        if abs(gap) <= 1e-9:
            break
    else:
        return None
    log_value, error = gaussian_log_delta(mu, value)
    off = _off(error + abs(log_target - log_value), slope) + 4e-16 * value
    return Interval.about(value, off) if off < _CLOSED * value else None


def _one_step_epsilon(law: Summand, log_target: float, floor: float) -> Interval:
    if law.inner is not None:
        return epsilon(law.inner.parts, log_target - math.log(law.inner.rate), floor)

    def read(eps: float) -> tuple[float, float]:
        value, fall = law.profile(np.array([eps]))
        if not value[0] > 0.0:
            return -math.inf, -1.0
        return math.log(value[0]), -float(fall[0]) / float(value[0])

    room = law.range[1] - floor
    if not room > 0.0:
        return Interval.about(floor, 0.0)
    if room < math.inf:  # log delta is nearly a line in u, eps = floor + room (1 - e^-u)

        def along(u: float) -> tuple[float, float]:
            value, slope = read(floor - room * math.expm1(-u))
            return value, slope * room * math.exp(-u)

        u = roots.decreasing(along, log_target, 0.0, _TO_THE_TOP, last=1e-13)
        value = floor - room * math.expm1(-u)
    else:
        value = roots.decreasing(read, log_target, floor)
    if value == floor:
        return Interval.about(floor, 0.0)
    _, slope = read(value)
    hair = 1e-12 * abs(value)
    error = _off(1e-13, slope) if slope < 0.0 else 0.0
    if error > hair:
        before, behind = read(value - hair)[0], read(value + hair)[0]
        if before > log_target + 1e-13 and behind < log_target - 1e-13:
            error = 0.0  # a kink, less steep on one side
    return Interval.about(value, error + hair)


def _near_top(laws: list[Part], log_target: float) -> Interval | None:
    """delta(eps) >= p (1 - e^{eps - x}), x the largest loss and p its mass: for tiny deltas all there is."""
    top = log_p = 0.0
    for law, n in laws:
        if not law.losses.size or law.losses.max() < law.range[1]:
            return None
        k = int(np.argmax(law.losses))
        top += n * float(law.losses[k])
        log_p += n * float(law.log_p[k])
    if not log_target < log_p - 1e-12:
        return None
    low = top + math.log1p(-math.exp(log_target - log_p))
    if top - low > 1e-10 * top:
        return None
    return Interval.about(0.5 * (low + top), 0.5 * (top - low) + _slips(laws, top))


def _on_lines(laws: list[Part], log_target: float, floor: float) -> Interval:
    """Newton on lines through saddles that are corrected until a line is good at the answer."""
    c = guess(laws, log_target)
    saddle, aim = Saddle(laws, c), log_target
    line: ContourLine | None = None
    total: Totals[float] | None = None
    for _ in range(5):
        total = saddle.for_log_delta(aim, c)
        c = total.c
        line = line_for(saddle, total, total.saddle_epsilon)
        if line is None:
            return _UNRESOLVED
        if line.closed is not None:  # good far and wide, but not smooth
            return _on_atoms(saddle, line, total.saddle_epsilon, log_target, floor)
        solved = _newton(saddle, line, log_target, floor)
        if solved is not None:
            return solved
        miss = line.read(total.saddle_epsilon)[0] - log_target
        if not math.isfinite(miss):
            break
        aim = min(aim - miss, -1e-6)
    if line is None or total is None:
        return _UNRESOLVED
    return _on_atoms(saddle, line, max(floor, total.saddle_epsilon), log_target, floor)


def _newton(saddle: Saddle, line: ContourLine, log_target: float, floor: float) -> Interval | None:
    """Newton along one line; None if it leaves the region that the line is good for."""
    total = line.total
    value, width, previous = total.saddle_epsilon, math.sqrt(total.curvature), math.inf
    for _ in range(30):
        log_value, slope, error = line.read(value)
        if not error < 0.3:
            return None
        gap = log_target - log_value
        move = gap / slope
        move *= 1.0 + 0.5 * move / (total.curvature * slope)  # the slope is about minus the saddle
        if abs(value + move - total.saddle_epsilon) > 2.5 * width:
            return None
        gap = abs(gap)
        if gap <= max(1e-13, 0.02 * error) or (abs(move) >= 0.5 * previous and gap < 1e-9):
            value += move
            if error > _USABLE or (total.skewed and not confirmed(saddle, line, value)):
                return Interval.about(value, math.inf)
            error = _off(error + gap, slope) + FLOOR * abs(value)
            return Interval.about(max(floor, value), error, total.c, saddle)
        previous, value = abs(move), value + move
    return None


def _longest(law: Summand) -> float:
    return max((abs(end) for end in law.range if math.isfinite(end)), default=0.0)


def _on_atoms(
    saddle: Saddle, line: ContourLine, at: float, log_target: float, floor: float
) -> Interval:
    """Root where point masses make kinks: Newton in a bracket, on new lines where the last is far away."""
    low, high = floor, sum(n * law.range[1] for law, n in saddle.parts)
    made: Callable[[float], ContourLine | None] = lambda eps: line_for(  # noqa: E731
        saddle, saddle.for_epsilon(eps, line.total.c), eps
    )
    value = min(max(at, low), high)
    if value != at:
        fresh = made(value)
        if fresh is None:
            return _UNRESOLVED
        line, at = fresh, value
    near = 3.0 / line.total.c  # a line is good for so far
    for _ in range(60):
        log_value, slope, error = line.read(value)
        usable = error < _USABLE
        new = value
        if usable:
            low, high = (value, high) if log_value > log_target else (low, value)
            move = (log_target - log_value) / slope if slope < 0.0 else math.nan
            new = value + move
            if abs(move) <= 1e-13 * abs(value) + 1e-300 or high - low <= 4e-16 * abs(high):
                if value == at or not line.z.size:
                    # delta is continuous: a bracket that closed elsewhere was misled by a reading
                    if not abs(move) <= 1e-9 * abs(value) + _off(error, slope):
                        break
                    error = _off(error, slope) + 4e-16 * abs(new) + abs(move)
                    if high - low <= 4e-16 * abs(high):  # at a kink, off by what all losses are
                        error += ULPS * sum(n * _longest(law) for law, n in saddle.parts)
                    return Interval.about(max(floor, new), error, line.total.c)
                new = value  # once more, on a line of its own
            elif not low < new < high:
                new = 0.5 * (low + high) if high < math.inf else 2.0 * low + 1e-3 / line.total.c
                if low == floor and high - floor < 1e-3 / line.total.c:
                    new = floor
            if new == floor and value == floor:
                return Interval.about(floor, 0.0)
        elif value == at:
            break
        if not usable or abs(new - at) > near or (new == value != at):
            fresh = made(new)
            if fresh is None:
                break
            line, at = fresh, new
            near = 3.0 / line.total.c
        value = new
    return _UNRESOLVED

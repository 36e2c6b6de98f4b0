"""delta(eps) of a composition by one contour integral, and epsilon(delta) by Newton on the same table.

    delta(eps) = (1/2 pi i) int M(s) e^{-s eps} / (s (s+1)) ds,  Re s = c > 0,  M = prod M_i^{T_i}

(Alghamdi et al., ICML 2023, Theorem 3.1.) The trapezoid rule on the vertical through the saddle converges
geometrically. Three errors are stated: aliases of the rule (`saddle.aliasing`), what lies beyond the last
frequency, and rounding. Where their sum is above 1e-9, or the integrand does not fall to nothing within
8,192 frequencies, the line refuses: the interval is not resolved, and `bracket` answers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import numpy as np

from . import roots
from .conversions import gaussian_log_delta, gaussian_slope
from .interval import Interval
from .loss import ULPS, gaussian, rounding
from .moments import Part, Summand
from .saddle import (
    MOST_NODES,
    TOLERANCE,
    Saddle,
    Totals,
    VerticalSum,
    aliasing,
    atomic_share,
    guess,
    guess_for_epsilon,
    reach,
)
from .stable import Complexes, Floats, TooFine, quiet

Reading = tuple[float, float, float]
"""log delta, its slope in epsilon, its relative error."""

ACCURATE = 1e-9
"""The relative error above which a line refuses."""
_FLOOR = 1e-13  # rounding of log delta, whatever the sum is
_FAN = np.geomspace(0.1, 3.0, 11)
_CLOSED = 1e-11  # relative error of the closed form of Gaussians
_NEGLIGIBLE = -26.0
_FAILED = (TooFine, ValueError, ZeroDivisionError, OverflowError)
_UNRESOLVED = Interval.about(math.nan, math.inf)


def merged(parts: Iterable[Part]) -> list[Part]:
    """Equal laws added up, and Gaussians fused into one, as squares of mu add."""
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
    alone = len(parts) == 1 and count == 1 and law.stacked is None and law.round is None
    return law if alone and law.gaussian is None else None


# -- bounds and estimates ----------------------------------------------------------------------


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
    # what log M by a coarse rule is granted, in a bound
    return best + 1e-3


def surely_below(parts: list[Part], eps: float, log_delta: float) -> bool:
    """Return whether a cheap bound shows that log delta is less at epsilon."""
    if eps >= sum(n * law.range[1] for law, n in parts) and eps >= ceiling(parts):
        return True
    return chernoff(parts, eps) < log_delta


@quiet()
def estimate(parts: Iterable[Part], eps: float, tilt: float = 0.0) -> tuple[float, float]:
    """The saddle-point estimate of log delta, and the saddle; nan where none is found."""
    laws = merged(parts)
    try:
        saddle = Saddle(laws, tilt or guess_for_epsilon(laws, eps), warm=tilt > 0.0)
        c, _ = saddle.near_epsilon(eps)
        return min(0.0, float(saddle.rough(np.array([c])).log_delta(eps)[0])), c
    except _FAILED:
        return math.nan, 0.0


# -- the line ----------------------------------------------------------------------------------


class ContourLine:
    """The integrand at equal steps of the vertical through c, good for every epsilon whose saddle is near.

    `error`: what lies beyond the last frequency, as a part of the sum.
    """

    def __init__(
        self, total: Totals[float], step: float, integrand: Complexes, error: float
    ) -> None:
        self.total, self.error = total, error
        self.z: Complexes = 1j * step * np.arange(integrand.size)
        # (1/2 pi) times both halves of the line, which are conjugate; the node at 0 counts once
        weighted = integrand * (step / math.pi)
        weighted[0] *= 0.5
        self.columns = np.empty((integrand.size, 2), complex)
        self.columns[:, 0] = weighted
        np.multiply(weighted, total.c + self.z, out=self.columns[:, 1])
        self.size = float(np.abs(weighted).sum())

    def read(self, eps: float) -> Reading:
        """log delta, its slope and its error at an epsilon; -inf and inf where the sum is not positive."""
        # d/d eps of M(s) e^{-s eps} is -s times it: the second column
        sums = (np.exp((self.total.mean - eps) * self.z) @ self.columns).real.tolist()
        value, moment = sums
        if not (value > 0.0 and moment > 0.0):
            return -math.inf, math.nan, math.inf
        return self._judged(eps, value, moment, math)

    def readings(self, eps: Floats) -> tuple[Floats, Floats]:
        """log delta and its error at many epsilons."""
        sums = (np.exp(np.multiply.outer(self.total.mean - eps, self.z)) @ self.columns).real
        value, _, error = self._judged(eps, sums[:, 0], sums[:, 1], np)
        return value, np.where(sums.min(axis=1) > 0.0, error, math.inf)

    def _judged(self, eps: Any, value: Any, moment: Any, f: Any) -> tuple[Any, Any, Any]:
        """log delta, slope and error from the two sums; `f`: math for one epsilon, numpy for many."""
        t, c = self.total, self.total.c
        # e^height = M(c) e^{-c eps}/(c (1+c)), by which the sum is scaled
        height = t.log_moment - c * eps - math.log(c * (1.0 + c))
        # aliases are below a part of the estimate over e^height, and the integral may be less
        gap, curvature = eps - t.saddle_epsilon, t.curvature
        peak = f.exp(-0.5 * gap * gap / curvature) / math.sqrt(2.0 * math.pi * curvature)
        error = (self.error + TOLERANCE * peak + 5e-15 * self.size) / value
        error += _FLOOR + 4e-16 * (abs(t.log_moment) + c * (abs(eps) + abs(t.mean)))
        return height + f.log(value), -moment / value, error


def vertical(saddle: Saddle, total: Totals[float], eps: float) -> ContourLine | None:
    """The line with the step of the aliasing bound; None if it takes too many nodes, or does not fall."""
    c, unit = total.c, math.sqrt(2.0 * math.pi * total.curvature)
    if _atoms_remain(saddle, c) or not _stacks_fall(saddle, total):
        return None
    if not abs(eps - saddle.plan.eps) <= 0.1 / c:  # the plan is for another epsilon
        about, step = aliasing(saddle, c, total.curvature, eps)
        saddle.plan = VerticalSum(eps, step, reach(saddle, about, step))
    _, step, count = saddle.plan
    for _ in range(5):
        if count > MOST_NODES:
            return None
        z = 1j * step * np.arange(count)
        logs = np.zeros(count, complex)
        for moments, n in saddle.moments:
            logs += n * moments.even(c, step, count)
        integrand = np.exp(logs)
        if (
            saddle.log_idle > -math.inf
        ):  # the atom at loss 0 of rounds: a constant under e^{-z mean}
            integrand -= math.exp(saddle.log_idle - total.log_moment) * np.exp(-total.mean * z)
        # 1/(s (s+1)) relative to its value at c
        integrand /= (1.0 + z / c) * (1.0 + z / (1.0 + c))
        # |M| falls, and 1/|s (s+1)| as t^-2: int_t^inf of both is at most t times the last value
        # the largest of the last sixteenth stands for |M| there
        last = float(np.abs(integrand[-max(1, count // 16) :]).max())
        tail = last * max(step * count, c) / math.pi
        if tail * unit >= TOLERANCE:
            count *= 2
            continue
        past = _recurrence(saddle, total, integrand, step)
        if past is None:
            return ContourLine(total, step, integrand, tail)
        count = math.ceil(past / step)
    return None


def _atoms_remain(saddle: Saddle, c: float) -> bool:
    """Return whether sums of atoms alone, whose part of |M| never falls, are a part of M(c) that matters."""
    if saddle.log_idle > -math.inf or not all(law.losses.size for law, _ in saddle.parts):
        return False
    shares = zip(saddle.parts, saddle.moments, strict=True)
    # log of the share of M(c) that sums of atoms alone may be
    return sum(n * atomic_share(law, moments, c) for (law, n), (moments, _) in shares) > -40.0


def _stacks_fall(saddle: Saddle, total: Totals[float]) -> bool:
    """Return whether many small laws have a negligible |M| at all frequencies far out, as if dense."""
    if not any(law.stacked is not None for law, _ in saddle.parts):
        return True
    c, t = total.c, 12.0 / math.sqrt(total.variance) * np.geomspace(1.0, 1e4, 96)
    log_size = np.zeros(t.size)
    for (law, n), (moments, _) in zip(saddle.parts, saddle.moments, strict=True):
        if law.stacked is None:
            log_size += n * moments.turned(c, t).real
    # every law makes |M| less: the widest ones alone often settle it
    for law, n in saddle.parts:
        for moments in law.stacked.portions(c) if law.stacked is not None else ():
            left = log_size >= _NEGLIGIBLE
            t, log_size = t[left], log_size[left]
            if t.size:
                log_size += n * moments.turned(c, t).real
    return not (log_size >= _NEGLIGIBLE).any()


def _recurrence(
    saddle: Saddle, total: Totals[float], integrand: Complexes, step: float
) -> float | None:
    """A frequency past the largest recurrence of |M| beyond the last one; None where there is none.

    Losses that stay near two values, a distance g apart, are in phase again at every multiple of 2 pi/g:
    |M| falls to nothing between, and a line that ends there has seen no more than the first valley. Three
    periods of each law's g are looked at, by coarse rules; beyond, 1/|s (s+1)| has fallen further.
    """
    in_a_period = 24
    c, beyond, parts = total.c, step * integrand.size, saddle.parts
    if len(parts) == 1 and not parts[0][0].losses.size:
        sizes = np.abs(integrand)
        periods = beyond * abs(total.third) / (2.0 * math.pi * total.variance)
        # a line that falls over more than a period shows every recurrence of one law
        if periods > 1.5 and bool(np.logical_and.reduce(sizes[1:] <= sizes[:-1] + 1e-18)):
            return None
    jumps = sorted((moments.jump(c) for moments, _ in saddle.moments), reverse=True)
    jumps = [jump for jump in jumps if jump > 0.0]
    while jumps:  # those within a factor of two of each other are looked at together
        widest = jumps[0]
        near = [jump for jump in jumps if jump >= 0.5 * widest]
        jumps = jumps[len(near) :]
        size = math.ceil(3 * in_a_period * widest / near[-1]) + 2
        t = beyond + 2.0 * math.pi / (widest * in_a_period) * np.arange(size)
        level: Floats = np.zeros(t.size)
        for moments, n in saddle.moments:
            level += n * moments.turned(c, t).real
        if saddle.log_idle > -math.inf:
            level = saddle.log_beside_idle(c, t)
        # a parabola through three places tops them where log |M| has its peak between two
        middle = level[1:-1]
        bend = np.minimum(level[:-2] - 2.0 * middle + level[2:], -1e-300)
        tops = (middle >= level[:-2]) & (middle >= level[2:])
        level[1:-1] += np.where(tops, -0.125 * np.square(level[2:] - level[:-2]) / bend, 0.0)
        level -= np.log(np.abs((1.0 + 1j * t / c) * (1.0 + 1j * t / (1.0 + c))))
        seen = np.flatnonzero(level > _NEGLIGIBLE)
        if seen.size:
            return 1.25 * float(t[seen[-1]])
    return None


def _confirmed(saddle: Saddle, line: ContourLine, eps: float) -> bool:
    """Return whether a line through another tilt agrees, where rare large losses lead at this one."""
    t = line.total
    atomless = not any(law.losses.size for law, _ in saddle.parts)
    if not t.third > (8.0 if atomless else 1.5) * t.variance**1.5:
        return True
    plan, total = saddle.plan, saddle.settled(0.93 * t.c)
    other, saddle.plan = vertical(saddle, total, eps), plan
    return other is not None and abs(other.read(eps)[0] - line.read(eps)[0]) < 1e-10


# -- log delta ---------------------------------------------------------------------------------


@quiet()
def log_delta(parts: Iterable[Part], eps: float, tilt: float = 0.0) -> Interval:
    """log of E[(1 - e^{eps - L})_+] of the sum of independent losses, infinite mass left out.

    >>> interval = log_delta([(gaussian(1.0), 1)], 1.0)
    >>> round(math.exp(interval.value), 12)
    0.126936737507
    """
    laws = merged(parts)
    law, mu = _single(laws), laws[0][0].gaussian
    if law is not None:
        value, below, above = (float(log[0]) for log in _read(law, np.array([eps])))
        return Interval(min(value, 0.0), below, min(above, 0.0))
    if mu is not None and len(laws) == 1:
        value, error = gaussian_log_delta(mu, eps)
        if error < _CLOSED:
            return Interval.of_log(value, error)
    if eps >= sum(n * law.range[1] for law, n in laws):
        return Interval.about(-math.inf, 0.0) if eps >= ceiling(laws) else _UNRESOLVED
    return _with_line(laws, eps, tilt)[0]


def _with_line(
    laws: list[Part], eps: float, tilt: float = 0.0
) -> tuple[Interval, ContourLine | None]:
    """log delta, and the line that it was read from."""
    try:
        c = tilt or guess_for_epsilon(laws, eps)
        saddle = Saddle(laws, c, warm=tilt > 0.0)
        total = saddle.for_epsilon(eps, c)
        line = vertical(saddle, total, eps)
        if line is not None and _confirmed(saddle, line, eps):
            value, _, error = line.read(eps)
            if error < ACCURATE:
                return Interval.of_log(min(value, 0.0), error, total.c), line
    except _FAILED:
        pass
    return _UNRESOLVED, None


@quiet()
def one_step(law: Summand, epsilons: Floats) -> tuple[Floats, Floats]:
    """log delta of one step at each of an array, and its relative error; 1 where delta may be 0."""
    values, _, above = _read(law, epsilons)
    near = values > -math.inf
    errors = np.where(near, np.expm1(above - values), np.where(above > -math.inf, 1.0, 0.0))
    return np.where(near, values, above), errors


def _read(law: Summand, epsilons: Floats) -> tuple[Floats, Floats, Floats]:
    """log delta of one step, and its two ends."""
    slip = _slip(law, epsilons)
    asked = np.concatenate((epsilons, epsilons + slip, epsilons - slip))
    deltas = np.split(law.profile(asked)[0], 3)
    # products below the normal doubles are off by some of the smallest; past the largest loss there are none
    # half of the smallest double for each of 20,000 nodes
    denormal = np.where(epsilons - slip < law.range[1], 1e-319, 0.0)
    value = np.log(deltas[0])
    below = np.log(np.maximum(np.minimum(*deltas[:2]) - denormal, 0.0))
    above = np.log(np.maximum(deltas[0], deltas[2]) + denormal)
    # relative error of the profile of one step
    off = 1e-13 + 4e-16 * _heights(law, epsilons)
    return value, below - off, above + off


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


class Readings:
    """log delta of a composition at many epsilons: each line serves those near its saddle, and is kept."""

    def __init__(self, parts: Iterable[Part]) -> None:
        self._laws = merged(parts)
        self._law = _single(self._laws)
        self._lines: list[tuple[float, float, ContourLine]] = []
        """(epsilon, the largest error of a reading, line)."""

    @quiet()
    def __call__(self, epsilons: Floats) -> tuple[Floats, Floats]:
        """log delta at rising epsilons, and its errors: inf where no line resolves it.

        A line is laid at the middle of each stretch that is still open; between two epsilons at which none
        resolves it, none is tried, as these are few steps' or next to the largest loss.
        """
        if self._law is not None:
            return one_step(self._law, epsilons)
        values, errors = np.full(epsilons.shape, -math.inf), np.zeros(epsilons.shape)
        below = int(np.searchsorted(epsilons, sum(n * law.range[1] for law, n in self._laws)))
        errors[:below] = math.inf
        for kept in self._lines:
            _fill(kept, epsilons, values, errors)
        stretches, failed = [(0, below)], (below, -1)
        while stretches:
            first, last = stretches.pop()
            left = first + np.flatnonzero(np.isinf(errors[first:last]))
            left = left[(left < failed[0]) | (left > failed[1])]
            if not left.size:
                continue
            middle = int(left[left.size // 2])
            value, line = _with_line(self._laws, float(epsilons[middle]))
            if line is None:
                failed = min(failed[0], middle), max(failed[1], middle)
            else:
                values[middle], errors[middle] = value.value, value.error
                self._lines.append((float(epsilons[middle]), 8.0 * value.error, line))
                _fill(self._lines[-1], epsilons, values, errors)
            stretches += [(middle + 1, last), (first, middle)]
        return np.minimum(values, 0.0), errors


def _fill(
    kept: tuple[float, float, ContourLine], epsilons: Floats, values: Floats, errors: Floats
) -> None:
    """Read a line at the epsilons near its saddle that are still open."""
    at, most, line = kept
    reach = 2.5 * math.sqrt(line.total.curvature)
    first, last = np.searchsorted(epsilons, (at - reach, at + reach))
    near = first + np.flatnonzero(np.isinf(errors[first:last]))
    for block in np.array_split(near, -(-near.size // 256)) if near.size else ():
        value, error = line.readings(epsilons[block])
        good = error < max(0.1 * ACCURATE, most)
        values[block[good]], errors[block[good]] = value[good], error[good]


# -- epsilon -----------------------------------------------------------------------------------


@quiet()
def epsilon(parts: Iterable[Part], log_target: float) -> Interval:
    """The epsilon >= 0 at which log delta, infinite mass left out, is the target; 0 if it is less there.

    >>> interval = epsilon([(gaussian(1.0), 1)], math.log(0.126936737507))
    >>> round(interval.value, 9)
    1.0
    """
    laws = merged(parts)
    law, mu = _single(laws), laws[0][0].gaussian
    try:
        if law is not None:
            return _one_step_epsilon(law, log_target)
        closed = gaussian_epsilon(mu, log_target) if mu is not None and len(laws) == 1 else None
        return closed or _on_lines(laws, log_target)
    except _FAILED:
        return _UNRESOLVED


def _off(error: float, slope: float) -> float:
    """Bound the error of an epsilon whose log delta, of this slope, is off by `error`; inf if unbounded.

    -delta'(eps) e^{-eps} = E_P[e^{-L}; L > eps] falls, so that to the left of it delta rises by at least
    -delta'(eps) (1 - e^{-h}) over a way h, which need be no longer than where that is e^error - 1 of delta.
    Near delta 1 the slope is next to nothing, and changes over the way: there the error over the slope
    is not a bound.
    """
    share = math.expm1(error) / -slope if slope < 0.0 and error < 1.0 else 1.0
    return -math.log1p(-share) if share < 1.0 else math.inf


def gaussian_epsilon(mu: float, log_target: float) -> Interval | None:
    """Return epsilon by the closed form; None where that cancels."""
    least, error = gaussian_log_delta(mu, 0.0)
    if not least > log_target:
        return Interval.about(0.0, 0.0) if error < _CLOSED else None

    def read(eps: float) -> tuple[float, float]:
        return gaussian_log_delta(mu, eps)[0], gaussian_slope(mu, eps)

    # log delta is concave and at most -z^2/2 at epsilon = mu z + mu^2/2, so that the root is below
    most = mu * (math.sqrt(-2.0 * log_target) + 0.5 * mu)
    value = roots.decreasing(read, log_target, 0.0, most, last=1e-12)
    (log_value, slope), error = read(value), gaussian_log_delta(mu, value)[1]
    off = _off(error + abs(log_target - log_value), slope) + 4e-16 * value
    return Interval.about(value, off) if off < _CLOSED * value else None


def _one_step_epsilon(law: Summand, log_target: float) -> Interval:
    """Invert the profile of one release; of bounded losses log delta is nearly a line in -log(top - eps)."""

    def read(eps: float) -> tuple[float, float]:
        value, fall = law.profile(np.array([eps]))
        if not value[0] > 0.0:
            return -math.inf, -1.0
        return math.log(value[0]), -float(fall[0]) / float(value[0])

    room = law.range[1]
    if not room > 0.0:
        return Interval.about(0.0, 0.0)
    if room < math.inf:  # eps = room (1 - e^-u)

        def along(u: float) -> tuple[float, float]:
            value, slope = read(-room * math.expm1(-u))
            return value, slope * room * math.exp(-u)

        # e^-40 of the way to the largest loss is rounding
        u = roots.decreasing(along, log_target, 0.0, 40.0, last=1e-13)
        value = -room * math.expm1(-u)
    else:
        value = roots.decreasing(read, log_target, 0.0)
    if value == 0.0:  # the target may be delta(0) itself, which is known up to rounding
        most, slope = read(0.0)
        over = most + 4e-15 - log_target
        return Interval.between(0.0, _off(over, slope) if over > 0.0 else 0.0)
    _, slope = read(value)
    hair = 1e-12 * abs(value)
    error = _off(1e-13, slope) if slope < 0.0 else 0.0
    if error > hair:
        before, behind = read(value - hair)[0], read(value + hair)[0]
        if before > log_target + 1e-13 and behind < log_target - 1e-13:
            error = 0.0  # a kink, less steep on one side
    return Interval.about(value, error + hair)


def _on_lines(laws: list[Part], log_target: float) -> Interval:
    """Newton on lines through saddles that are corrected until a line is good at the answer."""
    c = guess(laws, log_target)
    saddle, aim = Saddle(laws, c), log_target
    for _ in range(5):
        total = saddle.for_log_delta(aim, c)
        c = total.c
        line = vertical(saddle, total, total.saddle_epsilon)
        if line is None:
            break
        solved = _newton(saddle, line, log_target)
        if solved is not None:
            return solved
        miss = line.read(total.saddle_epsilon)[0] - log_target
        if not math.isfinite(miss):
            break
        aim = min(aim - miss, -1e-6)
    return _UNRESOLVED


def _newton(saddle: Saddle, line: ContourLine, log_target: float) -> Interval | None:
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
            if error > ACCURATE or not _confirmed(saddle, line, value):
                return _UNRESOLVED
            error = _off(error + gap, slope) + _FLOOR * abs(value)
            if value + error <= 0.0:
                return Interval.about(0.0, 0.0)
            return Interval.about(max(0.0, value), error, total.c)
        previous, value = abs(move), value + move
    return None

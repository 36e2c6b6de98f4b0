"""The vertical contour of a sum of losses below a level, with or without a largest one above a floor.

For a positive measure D of sums S, with D(s) its moment function, and every c > 0,

    E_D[(1 - e^{y - S})_+] = 1/(2 pi i) int_{Re s = c} D(s) e^{-s y} / (s (s+1)) ds

(Alghamdi et al. 2023, Theorem 3.1). Where the common losses of many steps reach y together, the line
through the saddle tells it. A law whose tilted density has a valley between its common losses and rarer
ones is telescoped, A_b^T = A_a^T + (A_b^T - A_a^T) + ..., a condition on the largest loss. Each bracket is
the moment function of a positive measure, with a saddle and a line of its own.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .budget import tabulated
from .moments import Tilted
from .rare_law import Array, Near
from .saddle import Totals
from .stable import Complexes, TooFine, log1p, log_peak

# relative error at which a line's step and end are chosen; and of each term of the sum
_TOLERANCE, _ROUNDING = 1e-12, 2e-15
# steps of a line at first, and at most
_FIRST, _MOST = 64, 8192
_SHIFTS = np.array([0.15, 0.3, 0.5, 0.7, 0.85, 1.0])


class Unresolved(ArithmeticError):
    """No line tells the sum: it cancels, or does not decay."""


@dataclass(frozen=True)
class Sum:
    """Independent losses: so many from each near law. In `reverse`, the sum of -L under Q.

    The law tilted by e^{cS} weighs a loss by r^{1+c}; in reverse, where S is -L under Q, by r^{-c}.
    """

    parts: tuple[tuple[Near, float], ...]
    reverse: bool = False

    def exponent(self, c: Array) -> Array:
        """The power of r that a loss is weighed by under this tilt."""
        return -c if self.reverse else 1.0 + c

    def log_moments(self, cs: Array) -> Array:
        """log of the moments of the sum at several tilts."""
        total = np.zeros(np.shape(cs))
        for near, count in self.parts:
            total += count * near.log_moments(self.exponent(cs))
        return total

    def finer(self, frequency: float, c: float, floor: float | None = None) -> Sum:
        """The same by rules good for this frequency, at and around this tilt."""
        tilts = [float(self.exponent(np.array(t))) for t in (0.1 * c, c, 2.4 * c)]
        parts = tuple((near.finer(frequency, tilts, floor), n) for near, n in self.parts)
        return Sum(parts, self.reverse)


def _tilted(total: Sum, c: float, floor: float | None) -> Totals[float]:
    """log D(c), mean and variance of the sum tilted by e^{cS}."""
    sign = -1.0 if total.reverse else 1.0
    log = mean = variance = 0.0
    none = some = lower_mean = lower_variance = step = spread = 0.0
    for near, count in total.parts:
        la, m, p, d = near.moments(float(total.exponent(np.array(c))))
        log, mean, variance = (
            log + count * la,
            mean + sign * count * m,
            variance + count * float(p @ (d * d)),
        )
        if floor is None:
            continue
        above = near.losses > floor
        share = min(float(p[above].sum()), 1.0 - 1e-12)
        if share <= 0.0:
            continue
        none += count * math.log1p(-share)
        some += count * share
        high = float(p[above] @ d[above]) / share
        low = -high * share / (1.0 - share)
        lower_mean += count * low
        lower_variance += count * (float(p[~above] @ (d[~above] - low) ** 2) / (1.0 - share))
        step += count * share * (high - low)
        spread += count * share * float(p[above] @ (d[above] - high) ** 2) / share
    if floor is None:
        return Totals(c, log, mean, variance)
    if not some > 0.0:
        return Totals(c, -math.inf, mean, variance)
    if some < 1e-3:  # one of them, and no more
        return Totals(c, log + math.log(some), mean + step / some, variance + spread / some)
    any_of = -math.expm1(none)
    shift = -math.exp(none) / any_of * lower_mean
    second = (
        variance + shift**2 - math.exp(none) * (lower_variance + (lower_mean - shift) ** 2)
    ) / any_of
    return Totals(c, log + math.log(any_of), mean + shift, max(second, 1e-300))


def started(total: Sum, c: float, floor: float | None) -> tuple[float, Sum]:
    """A tilt of at most c at which there is a rule, and that rule: far above the saddle there may be none."""
    for _ in range(12):
        try:
            return c, total.finer(c, c, floor)
        except TooFine:
            c *= 0.2
    raise TooFine


class Line:
    """The trapezoid rule on the line through the saddle at y, good for every y close by."""

    def __init__(
        self, total: Sum, y: float, guess: float, floor: float | None = None, most: int = _MOST
    ) -> None:
        self._floor = floor
        low, high = 0.0, math.inf
        c, total = started(total, guess, floor)
        for _ in range(80):
            now = _tilted(total, c, floor)
            if not math.isfinite(now.log_moment):
                raise Unresolved
            gap, curve = now.saddle_epsilon - y, now.curvature
            if abs(gap) < 0.05 * math.sqrt(curve):
                break
            low, high = (low, c) if gap > 0.0 else (c, high)
            new = c * math.exp(max(-2.0, min(2.0, -gap / (c * curve))))
            if not low < new < high:
                new = math.sqrt(low * high) if low > 0.0 and high < math.inf else 0.5 * high
            c = new
            if not 0.3 < c / total.parts[0][0].frequency < 2.0:
                total = total.finer(c, c, floor)
        else:
            raise Unresolved
        self.c, self.width = c, 1.0 / math.sqrt(curve)
        self.bound = now.log_moment - c * y + float(log_peak(np.array(c)))
        frequency = math.hypot(c, 8.0 * self.width)
        for _ in range(4):
            total = total.finer(frequency, c, floor)
            now = _tilted(total, c, floor)
            self._sum(total, now, y, most)
            needed = math.hypot(c, self._t[-1])
            if needed <= 1.2 * frequency:
                break
            frequency = 1.1 * needed
        else:
            raise Unresolved

    def _step(self, total: Sum, y: float, curve: float, estimate: float) -> float:
        """The largest step whose folded copies are below the tolerance.

        D(c') e^{-c' y} peak(c') bounds the expectation, and so each copy, at every c' > 0.
        """
        need = math.log(4.0 / _TOLERANCE)
        unit = math.sqrt(2.0 * need / curve)
        right = min(unit, 1.4 * self.c) * _SHIFTS
        left = min(unit, 0.97 * self.c) * _SHIFTS
        cs = np.concatenate((self.c + right, self.c - left))
        excess = np.maximum(need + total.log_moments(cs) + log_peak(cs) - cs * y - estimate, 1.0)
        steps = 2.0 * math.pi * np.concatenate((right, left)) / excess
        return min(float(steps[:6].max()), float(steps[6:].max()))

    def _sum(self, total: Sum, now: Totals[float], y: float, most: int) -> None:
        c, curve = self.c, now.curvature
        self._y, self._log = y, float(total.log_moments(np.array([c]))[0])
        estimate = now.height(y) - 0.5 * math.log(2.0 * math.pi * curve)
        # in units of e^{log M(c) - c y}, with M the moments without a floor
        self._expected = math.exp(estimate - self._log + c * y)
        self._reach = math.sqrt(2.0 * math.log(4.0 / _TOLERANCE) / curve)
        h = self._step(total, y, curve, estimate)
        tables = [_Table.of(near, n, c, total.reverse, self._floor) for near, n in total.parts]
        self._mean = sum(table.count * table.whole.weights[2] for table in tables)
        size = _FIRST
        while True:
            v = _log_integrand(tables, c, h, size, self._floor is not None)
            t = h * np.arange(v.size)
            if not np.isfinite(v.real).all():
                raise Unresolved
            # it falls at least as t^-2 from here on
            tail = math.exp(float(v[-8:].real.max())) * max(float(t[-1]), c) / math.pi
            if tail < _TOLERANCE * self._expected:
                break
            if 2 * size > most:
                raise Unresolved
            size *= 2 if size > _FIRST else 4
        last = (
            int(
                np.flatnonzero(
                    np.exp(v.real) * np.maximum(t, c) > 0.01 * _TOLERANCE * self._expected
                )[-1]
            )
            + 1
        )
        t, v = t[:last], v[:last]
        self._t, self._v, self._h, self._tail = t, v, h, tail

    def read(self, y: float) -> tuple[float, float, float]:
        """log of the expectation, log of -d/dy of it, and the relative error of both."""
        terms = np.exp(self._v + 1j * self._t * (self._mean - y))
        terms[0] *= 0.5
        scale = self._h / math.pi
        value = scale * float(terms.real.sum())
        moment = scale * float((terms * (self.c + 1j * self._t)).real.sum())
        if not (value > 0.0 and moment > 0.0):
            return -math.inf, -math.inf, math.inf
        alias = _TOLERANCE * self._expected * math.exp(min(self._reach * abs(y - self._y), 60.0))
        error = (alias + self._tail + _ROUNDING * scale * float(np.abs(terms.real).sum())) / value
        height = abs(self._log) + self.c * (abs(y) + abs(self._mean))
        base = self._log - self.c * y
        return base + math.log(value), base + math.log(moment), error + 4e-16 * height


@dataclass(frozen=True)
class _Table:
    """A near law tilted to c, and its part above a floor, which has this share of it."""

    count: float
    whole: Tilted
    above: Tilted | None
    share: float

    @classmethod
    def of(cls, near: Near, count: float, c: float, reverse: bool, floor: float | None) -> _Table:
        """Under P; in reverse, of minus the losses under Q."""
        log_w = near.log_w if reverse else near.log_w + near.losses
        losses = -near.losses if reverse else near.losses
        whole = Tilted(c, (losses, log_w))
        above = near.losses > (math.inf if floor is None else floor)
        if not above.any():
            return cls(count, whole, None, 0.0)
        tilted = c * losses + log_w
        weights = np.exp(tilted - tilted.max())
        share = float(weights[above].sum()) / float(weights.sum())
        return cls(count, whole, Tilted(c, (losses[above], log_w[above])), share)


def _log_integrand(
    tables: Sequence[_Table], c: float, step: float, size: int, floored: bool
) -> Complexes:
    """log of D(c + it)/M(c) e^{-it mean} / ((c + it)(c + 1 + it)) at so many steps."""
    t = step * np.arange(size)
    total = -np.log((c + 1j * t) * (c + 1.0 + 1j * t))
    without = np.zeros(size, dtype=complex)
    for table in tables:
        whole = table.whole.even(step, size)
        tabulated(size * table.whole.weights[0].size // 4)
        total += table.count * whole
        if table.above is not None and table.share > 0.0:
            apart = table.above.weights[2] - table.whole.weights[2]
            few = table.above.even(step, size) + 1j * t * apart - whole
            without += table.count * log1p(-table.share * np.exp(few))
    if floored:
        tiny = np.abs(without) < 1e-4
        near = np.where(tiny, without, 1.0)
        series = np.log(-near) + near / 2.0 + near * near / 24.0
        total += np.where(tiny, series, np.log(-np.expm1(np.where(tiny, 1.0, without))))
    return total


def valley(near: Near, exponent: float) -> float | None:
    """Where the density tilted by r^exponent is lowest between the common losses and a rise beyond them."""
    density = near.log_w - np.log(near.widths)
    inside = np.isfinite(density)
    density, losses = density[inside], near.losses[inside]
    first = int(np.argmax(density))
    tilted = (density + exponent * losses)[first:]
    low = np.minimum.accumulate(tilted)
    rises = np.flatnonzero((tilted > low + 1.0) & (low < tilted[0] - 3.0))
    if not rises.size:
        return None
    return float(losses[first + int(np.argmin(tilted[: int(rises[0]) + 1]))])


def largest_bound(total: Sum, y: float, floor: float) -> float:
    """log of a bound of the part with a largest loss above the floor: by pieces, each at its best tilt."""
    c = np.geomspace(0.1, 3000.0, 40) / y
    bounds = []
    log_a = total.log_moments(c) + log_peak(c) - c * y
    for near, count in total.parts:
        beyond = np.flatnonzero(near.losses > floor)
        if not beyond.size:
            continue
        w = near.log_w + np.multiply.outer(1.0 + c, near.losses)
        alone = near.log_moments(1.0 + c)
        size = max(beyond.size // 24, 1)
        for first in range(0, beyond.size, size):
            piece = w[:, beyond[first : first + size]]
            peak = piece.max(axis=1)
            share = peak + np.log(np.exp(piece - peak[:, None]).sum(axis=1)) - alone
            bounds.append(math.log(count) + float((log_a + share).min()))
    return float(np.logaddexp.reduce(bounds)) if bounds else -math.inf


def lines(total: Sum, y: float, guess: float, negligible: float) -> tuple[list[Line], float]:
    """Lines that together tell the expectation at y and close by, and log of a bound of what they leave out.

    Parts of the telescope bounded below the leading one by `negligible` nats are left out. Raises
    `Unresolved`.
    """
    try:
        line = Line(total, y, guess)
        if line.read(y)[2] < 1e-10:
            return [line], -math.inf
        tilt = line.c
    except Unresolved:
        tilt = guess
    if total.reverse:
        raise Unresolved
    for parts, exponent in itertools.product((1, 2, 4), (tilt, guess)):
        places = [valley(near, 1.0 + exponent) for near, _ in total.finer(exponent, exponent).parts]
        results = [place for place in places if place is not None]
        if not results:
            continue
        try:
            return _telescope(total, y, guess, min(results), parts, negligible)
        except Unresolved:
            continue
    raise Unresolved


def _telescope(
    total: Sum, y: float, guess: float, floor: float, parts: int, negligible: float
) -> tuple[list[Line], float]:
    law = total.parts[0][0].law
    top = total.parts[0][0].level
    places = np.linspace(
        float(law.place(np.array(floor))), float(law.place(np.array(top))), parts + 1
    )
    levels = [floor, *law.loss(places[1:-1]).tolist(), top]

    def below(level: float) -> Sum:
        cut = tuple((near.law.near(level, near.frequency, (), floor), n) for near, n in total.parts)
        return Sum(cut)

    chosen, least, left_out = [], -math.inf, -math.inf
    try:
        low = Line(below(floor), y, guess)
        chosen, least = [low], low.read(y)[0] - negligible
    except Unresolved:
        # all of them common: what they can do is bounded, and is told by the others if it is negligible
        c = np.geomspace(0.1, 3000.0, 60) / y
        rest = below(floor)
        left_out = float((rest.log_moments(c) + log_peak(c) - c * y).min())
    for under, over in itertools.pairwise(levels):
        piece = below(over)
        bound = largest_bound(piece, y, under)
        if bound > least:
            chosen.append(Line(piece, y, guess, under))
        else:
            left_out = float(np.logaddexp(left_out, bound))
    read = [line.read(y) for line in chosen]
    whole = np.logaddexp.reduce([log for log, _, _ in read]) if read else -math.inf
    if left_out > whole - negligible + 3.0 or any(
        not error * math.exp(log - whole) < 2e-10 for log, _, error in read
    ):
        raise Unresolved
    return chosen, left_out

"""The tilt of a question: cumulants at real tilts, the saddle, and what the vertical through it takes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, NamedTuple

import numpy as np

from .moments import Moments, Parts, Summand, prepare
from .stable import Floats, Number, TooFine, log_peak

_FAN, _WARM = np.geomspace(0.1, 3.0, 21), np.geomspace(0.7, 1.4, 9)
MOST_NODES = 8192
"""Frequencies of a line at most: where it would take more, the bracket is quicker."""
TOLERANCE = 1e-14
"""Relative error that aliases and the tail of a line may each have."""

_PROBE = 2.5 ** np.arange(1.5, 11.5)
_SHIFTS = np.array([0.0] + 2 * [0.05, 0.11, 0.23, 0.45, 0.8, 1.1])
_SIGNS = np.array([1.0] * 7 + [-1.0] * 6)


@dataclass(eq=False)
class Totals(Generic[Number]):
    """Cumulants of the sum of all losses at a real tilt c, or at many."""

    c: Number
    log_moment: Number
    mean: Number
    variance: Number
    third: float = 0.0

    @cached_property
    def curvature(self) -> Number:
        """Second derivative of log M(c) - c eps - log c - log(1 + c)."""
        # F(s) = log M(s) - s eps - log s - log(1+s): F'' = var + 1/s^2 + 1/(1+s)^2
        a, b = 1.0 / self.c, 1.0 / (1.0 + self.c)
        return self.variance + a * a + b * b

    @cached_property
    def saddle_epsilon(self) -> Number:
        """The epsilon of which c is the saddle."""
        # F'(c) = 0: the mean under the tilted law, less 1/c + 1/(1+c)
        eps: Number = self.mean - 1.0 / self.c - 1.0 / (1.0 + self.c)
        return eps

    @property
    def peak(self) -> Number:
        """log delta at the saddle's own epsilon, estimated."""
        c = self.c
        width = c * (1.0 + c) * (2.0 * math.pi * self.curvature) ** 0.5
        estimate: Number = self.log_moment - c * self.saddle_epsilon - np.log(width)
        return estimate

    def height(self, eps: float) -> Number:
        """log of M(c) e^{-c eps} / (c (1 + c))."""
        height: Number = self.log_moment - self.c * eps - np.log(self.c * (1.0 + self.c))
        return height

    def bound(self, eps: float) -> Number:
        """log delta is at most this: M(c) e^{-c eps} times the largest (1 - e^-y) e^-cy (Chernoff)."""
        bound: Number = self.log_moment - self.c * eps + log_peak(self.c)
        return bound

    def log_delta(self, eps: float) -> Number:
        """The saddle-point estimate."""
        gap, height = eps - self.saddle_epsilon, self.height(eps)
        estimate: Number = (
            height - 0.5 * np.log(2.0 * math.pi * self.curvature) - 0.5 * gap * gap / self.curvature
        )
        return estimate


class VerticalSum(NamedTuple):
    """The sum along the vertical for an epsilon: its step, and the number of nodes that matter."""

    eps: float
    step: float
    nodes: int


Gap = Callable[[Any], tuple[Any, Any]]  # of `Totals`: what is to be 0, and its slope in log c


class Saddle:
    """Searches a tilt: many are read at once by a coarse rule, then one by a rule exact to rounding."""

    def __init__(self, parts: Parts, c: float, warm: bool = False) -> None:
        """`warm`: c is where a similar question was answered."""
        self.parts, self.warm = parts, warm
        self.plan = VerticalSum(math.nan, math.nan, 0)
        if not warm:
            summed = [law for law, _ in parts if law.gaussian is None]
            c = min([c] + [40.0 / branch.steep for law in summed for branch in law.branches])
        if c == math.inf:
            raise TooFine
        while True:  # a guess may lie where the far tail of a loss has taken over
            try:
                self._prepare(c)
                break
            except TooFine:
                if not c >= 1e-12:
                    raise
                c *= 0.25
        self.start = c

    def _prepare(self, c: float) -> None:
        """Make ready the moments about a tilt, as far up as rules go."""
        for reach in (4.0, 1.6):
            try:
                self.moments = [(prepare(law, 0.25 * c, reach * c), n) for law, n in self.parts]
                self.middle, self.high = c, reach * c
                return
            except TooFine:
                if reach < 4.0:
                    raise

    @cached_property
    def log_idle(self) -> float:
        """log of the mass of the atom at loss 0, where there are but rounds of coins; else -inf."""
        if any(law.round is None for law, _ in self.parts):
            return -math.inf
        return sum(n * float(law.log_q[0]) for law, n in self.parts)

    def log_beside_idle(self, c: float, t: Floats) -> Floats:
        """About log |M(c + it) - A|/M(c), of rounds whose atom at loss 0 is A."""
        excess = np.asarray(sum(n * moments.beside_idle(c, t) for moments, n in self.moments))
        log_moment = sum(n * moments.cumulants(c).log_moment for moments, n in self.moments)
        grown = np.where(excess < 30.0, np.log(np.expm1(np.minimum(excess, 30.0)) + 1e-300), excess)
        return np.asarray(self.log_idle - log_moment + grown)

    def at(self, c: float, frequency: float = 0.0) -> Totals[float]:
        """The sums at one tilt, to rounding."""
        if c > self.high:
            self._prepare(c)
        log_moment = mean = variance = third = 0.0
        for moments, n in self.moments:
            of = moments.cumulants(c, frequency)
            log_moment += n * of.log_moment
            mean += n * of.mean
            variance += n * of.variance
            third += n * of.third
        return Totals(c, log_moment, mean, variance, third)

    def rough(self, cs: Floats) -> Totals[Floats]:
        """Return the totals at many tilts, good enough to search with."""
        (first, count), *others = self.moments
        log_moment, mean, variance = (count * part for part in first.rough(cs))
        for moments, n in others:
            parts = moments.rough(cs)
            log_moment, mean = log_moment + n * parts[0], mean + n * parts[1]
            variance = variance + n * parts[2]
        return Totals(cs, log_moment, mean, variance)

    # -- search ------------------------------------------------------------------------------

    def for_epsilon(self, eps: float, c: float) -> Totals[float]:
        """Cumulants, to rounding, at the saddle of an epsilon."""
        return self._solve(lambda t: (t.saddle_epsilon - eps, t.c * t.curvature), c, eps)

    def for_log_delta(self, log_delta: float, c: float) -> Totals[float]:
        """Cumulants, to rounding, at the saddle whose own epsilon has this log delta, by its estimate."""
        return self._solve(lambda t: (log_delta - t.peak, t.c**2 * t.curvature), c, None)

    def near_epsilon(self, eps: float) -> tuple[float, float]:
        """About the saddle of an epsilon, and the curvature there."""
        gap: Gap = lambda t: (t.saddle_epsilon - eps, t.c * t.curvature)  # noqa: E731
        return self._near(gap, self.start)[:2]

    def bound(self, eps: float) -> float:
        """Chernoff's bound of log delta at about the saddle, by the coarse rules."""
        if eps >= sum(n * law.range[1] for law, n in self.parts):
            return -math.inf
        return float(self.rough(np.array([self.near_epsilon(eps)[0]])).bound(eps)[0])

    def _solve(self, gap: Gap, c: float, eps: float | None) -> Totals[float]:
        guess, curvature, between = self._near(gap, min(c, self.start))
        for _ in range(6):
            total = self._settled(guess, curvature, eps, gap)
            if total is not None:
                return total
            # it bends there: once more, closer
            guess, curvature, between = self._search(gap, guess, np.geomspace(*between, 9))
        raise TooFine

    def _near(self, gap: Gap, c: float) -> tuple[float, float, tuple[float, float]]:
        """Return the tilt at which a similar question was answered, if that will do; else search."""
        if not self.warm:
            return self._search(gap, c, None)
        total = self.rough(np.array([c]))
        value, slope = (float(part[0]) for part in gap(total))
        curvature = float(total.curvature[0])
        if _is_near(5.0 * value, slope, c, curvature):
            return c, curvature, (0.7 * c, 1.4 * c)
        return self._search(gap, c, c * _WARM)

    def _search(
        self, gap: Gap, c: float, cs: Floats | None
    ) -> tuple[float, float, tuple[float, float]]:
        """Solve `gap` = 0, which rises with the tilt; return root, curvature, and the tilts beside it."""
        turns, rising = 0, True
        for _ in range(40):
            if turns > 3 or not 1e-140 < c < 1e140:
                break
            if cs is None:
                while c > 1.2 * self.middle:  # as far towards it as rules go
                    try:
                        self._prepare(c)
                    except TooFine:
                        if c < 1.3 * self.middle:
                            raise
                        c = math.sqrt(c * self.middle)
                cs = c * _FAN
                cs = cs[cs < 0.8 * self.high]
            total = self.rough(cs)
            value, slope = gap(total)
            if not (value[0] <= 0.0 <= value[-1]):
                up = not value[-1] >= 0.0
                turns += up != rising
                c, cs, rising = c * (3.0 if up else 0.05), None, up
                continue
            k = min(int((value <= 0.0).nonzero()[0][-1]), cs.size - 2)
            (c0, c1), (f0, f1) = cs[k : k + 2].tolist(), value[k : k + 2].tolist()
            wide, gain = math.log(c1 / c0), f1 - f0
            u = -f0 / gain
            first, last = slope[k : k + 2].tolist()
            a, b = gain / (wide * first) - 1.0, 1.0 - gain / (wide * last)
            # Hermite's cubic for log c as a function of the gap
            if abs(a) < 1.0 and abs(b) < 1.0:
                u = min(max(u + u * (1.0 - u) * (a * (1.0 - u) + b * u), 0.0), 1.0)
            curvature = float(total.curvature[k] ** (1.0 - u) * total.curvature[k + 1] ** u)
            return c0 * math.exp(wide * u), curvature, (c0, c1)
        raise TooFine  # as far as rules go there is no saddle, and no other tilt will do

    def settled(self, c: float) -> Totals[float]:
        """Cumulants to rounding, by a rule for the frequencies that the vertical through c will ask for."""
        total = self._settled(c, None, None, None)
        assert total is not None
        return total

    def _settled(
        self, c: float, curvature: float | None, eps: float | None, gap: Gap | None
    ) -> Totals[float] | None:
        """None if the saddle, by `gap`, is more than half a deviation away."""
        if curvature is None:
            curvature = float(self.rough(np.array([c])).curvature[0])
        about, step = aliasing(self, c, curvature, eps)
        if gap is not None:
            value, slope = gap(about)
            if not _is_near(value, slope, c, about.curvature):
                return None
        count = reach(self, about, step)
        if count > MOST_NODES:
            raise TooFine
        self.plan = VerticalSum(about.saddle_epsilon if eps is None else eps, step, count)
        # frequencies that a saddle's inner rule is made for at once
        return self.at(c, step * count if count <= 2048 else 0.0)


def _is_near(gap: float, slope: float, c: float, curvature: float) -> bool:
    """Return whether a root, by a gap at c and its slope in log c, is within half a deviation."""
    return abs(gap) * c * math.sqrt(curvature) < 0.5 * slope


# -- what the vertical takes -------------------------------------------------------------------


def aliasing(
    saddle: Saddle, c: float, curvature: float, eps: float | None = None
) -> tuple[Totals[float], float]:
    """About the cumulants at c, and the step of the vertical there with folded copies below the tolerance.

    With B(y) = M(y) e^{-y eps} y^y / (1+y)^{1+y}, a bound of delta for every y > 0, the step h leaves at most
    B(c+a)/(e^{2 pi a/h} - 1) from the right, and as much from the left (docs/theory/engine.md). Epsilon: that
    of which c is the saddle, unless stated. Beyond the rule's reach M would be too small: a stays within.
    """
    need = 1.4 - math.log(TOLERANCE)  # and what a sum of folded copies adds
    unit = math.sqrt(2.0 * need / curvature)
    right, left = min(unit, 1.4 * c, (saddle.high - c) / 1.1), min(unit, 0.97 * c) / 1.1
    shifts = _SHIFTS.copy()
    shifts[1:7] *= right
    shifts[7:] *= left
    cs = c + shifts * _SIGNS
    total = saddle.rough(cs)
    about = Totals(c, float(total.log_moment[0]), float(total.mean[0]), float(total.variance[0]))
    eps = about.saddle_epsilon if eps is None else eps
    log_delta = float(about.log_delta(eps))
    # B(c+a) e^{-2 pi a/h} <= e^{-need} delta: h is at most 2 pi a/(log B(c+a) + need - log delta)
    excess = total.bound(eps) + (need - log_delta)
    steps = 2.0 * math.pi * shifts / np.maximum(excess, 1.0)
    from_one = 2.0 * math.pi * c / max(need - log_delta, 1.0)  # from the left, where delta <= 1
    highest = [float(np.maximum.reduce(side)) for side in (steps[1:7], steps[7:])]
    return about, min(highest[0], max(highest[1], from_one))


def atomic_share(law: Summand, moments: Moments, c: float) -> float:
    """log of the share of one law's M(c) that its atoms are; 0 where there is nothing else."""
    tilted = law.log_q + (1.0 + c) * law.losses
    peak = float(tilted.max())
    atoms = peak + math.log(float(np.exp(tilted - peak).sum()))
    return min(0.0, atoms - moments.cumulants(c).log_moment)


def reach(saddle: Saddle, about: Totals[float], step: float) -> int:
    """Return the number of nodes at which the integrand matters, from its decay by the coarse rule.

    Atoms bring |M| back between these frequencies, up to their share of it: beside a law that has none
    they are granted that share throughout.
    """
    beside = any(not law.losses.size for law, _ in saddle.parts)
    c, t = about.c, step * _PROBE
    squares = (t / c) ** 2
    # |s (s+1)|^2 relative to its value at c; all beyond t is about t/c times what is there
    ratio = (1.0 + squares) * (1.0 + squares * (c / (1.0 + c)) ** 2) / np.maximum(squares, 1.0)
    level = -0.5 * np.log(ratio)
    decayed: Floats = np.zeros(t.size)
    for (law, _), (moments, n) in zip(saddle.parts, saddle.moments, strict=True):
        decay = moments.turned(c, t).real
        if beside and law.losses.size:
            decay = np.maximum(decay, atomic_share(law, moments, c))
        decayed += n * decay
    if saddle.log_idle > -math.inf:
        decayed = saddle.log_beside_idle(c, t)
    level += decayed
    fall = np.maximum(-level, 1e-9)
    left = 0.1 * math.pi * TOLERANCE / c
    wanted = 0.5 * math.log(2.0 * math.pi * about.curvature) - math.log(left)
    far = (fall > wanted).nonzero()[0]
    if not far.size:
        return 1 << 40
    k = max(int(far[0]), 1)
    # as a power of t in between
    a, b = math.log(float(fall[k - 1]) / wanted), math.log(float(fall[k]) / wanted)
    share = min(1.0, max(0.0, -a / (b - a)))
    return math.ceil(1.04 * float(_PROBE[k - 1] * (_PROBE[k] / _PROBE[k - 1]) ** share)) + 2


# -- first guesses ------------------------------------------------------------------------------


def guess(parts: Parts, log_delta: float) -> float:
    """A tilt to search from, for a log delta."""
    variance = max(sum(n * law.variance for law, n in parts), 1e-300)
    return (math.sqrt(max(-2.0 * log_delta, 0.0)) + 0.3) / math.sqrt(variance)


def guess_for_epsilon(parts: Parts, eps: float) -> float:
    """A tilt to search from, for an epsilon."""
    v = max(sum(n * law.variance for law, n in parts), 1e-300)
    excess = eps - 0.5 * v
    root = math.hypot(excess, 2.0 * math.sqrt(v))
    return 0.5 * (excess + root) / v if excess > 0.0 else 2.0 / (root - excess)

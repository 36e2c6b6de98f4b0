"""A coin shared by both neighbours: with some probability a composition runs, else nothing is released.

With M(s) the moments of what runs, those of the round are 1 - p + p M(s): known wherever the moments of the
steps are, so that rounds have a contour though their losses have no closed density.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from . import contour
from .derived import Derived
from .loss import Branch, LossDistribution
from .moments import Cumulants, Moments, Part, Parts, Summand, prepare
from .nested import Nested
from .pieces import Cut, Pieces, Source
from .stable import Complexes, Floats, TooFine, expm1_linear, log1p

# samples of the unit in a round, about, below which the contours of the steps themselves are poor
_FEW_HITS = 1.0
# relative error of the delta of what runs that is no answer, and the distance over which its slope is taken
_UNKNOWN, _NEAR = 1e-9, 1e-5


def thinned(source: Source, rate: float) -> Source:
    """A coin that both neighbours share, around one release or a composition."""
    if rate == 1.0:
        return source
    if isinstance(source, Cut):
        return replace(source, of=source.of.thinned(rate))
    return Thinned(source, rate)


def _level(rate: float, log_moment: Floats) -> Floats:
    """log of 1 - p + p e^{log_moment}."""
    near = np.log1p(rate * np.expm1(np.minimum(log_moment, 1.0)))
    far = np.logaddexp(math.log1p(-rate), math.log(rate) + log_moment)
    return np.asarray(np.where(log_moment < 1.0, near, far))


@dataclass(frozen=True)
class Thinned(Derived):
    """A source that runs with this probability, by a coin shared by both neighbours."""

    rate: float

    @cached_property
    def distribution(self) -> Round | None:
        """The loss distribution of the round, if contours of its inner plan are reliable; else None."""
        if not isinstance(self.base, Nested):
            return None
        laws = [(source.distribution, float(n)) for source, n in self.base.parts]
        parts = [(law, n) for law, n in laws if law is not None and _smooth(law, n)]
        return Round(tuple(parts), self.rate) if len(parts) == len(laws) else None

    @property
    def atoms(self) -> Floats:
        """The atoms of the inner plan, and an atom at 0 for rounds that do not run."""
        return np.unique(np.append(self.base.atoms, 0.0))

    @property
    def least(self) -> float:
        """The smaller of 0 and the inner plan's least loss."""
        return min(self.base.least, 0.0)

    @property
    def ceiling(self) -> float:
        """The larger of 0 and the inner plan's largest loss."""
        return max(self.base.ceiling, 0.0)

    def log_moments(self, tilts: Floats) -> Floats:
        """log of 1 - p + p M, if the inner moments M are known."""
        return _level(self.rate, self.base.log_moments(tilts))

    @property
    def infinite(self) -> float:
        """The inner mass at infinity times the coin's rate."""
        return self.rate * self.base.infinite

    @property
    def lost(self) -> float:
        """The inner lost mass times the coin's rate."""
        return self.rate * self.base.lost

    def span(self, log_mass: float) -> tuple[float, float]:
        """The inner span, extended to 0."""
        low, high = self.base.span(log_mass - math.log(self.rate))
        return min(low, 0.0), max(high, 0.0)

    def knots(self, count: int, log_mass: float) -> Floats:
        """The inner plan's, and 0."""
        return np.union1d(self.base.knots(count, log_mass), [0.0])

    def pieces(self, edges: Floats, *, upper: bool) -> Pieces:
        """The inner pieces, thinned by the coin."""
        return self.base.pieces(edges, upper=upper).thinned(self.rate)


def _smooth(law: Summand, count: float) -> bool:
    """Return whether the contour of a coin around this many steps is reliable."""
    if law.infinite or law.lost or law.losses.any() or law.inner is not None:
        return False
    return count * min((b.share for b in law.branches), default=1.0) >= _FEW_HITS


@dataclass(frozen=True)
class Round:
    """The loss of a round: with probability `rate` the sum of all `parts`, else 0."""

    parts: tuple[Part, ...]
    rate: float

    infinite = 0.0
    lost = 0.0
    gaussian = None
    stacked = None

    @property
    def inner(self) -> Round:
        """The round itself: it has an inner composition."""
        return self

    def prepare(self, low: float, high: float) -> RoundMoments:
        """M for real tilts in [low, high]."""
        return RoundMoments(self.parts, self.rate, low, high)

    @property
    def before(self) -> float:
        """The largest of the parts."""
        return max(law.before for law, _ in self.parts)

    @property
    def losses(self) -> Floats:
        """The atom at 0: rounds that do not run, and rounds whose steps all have loss 0."""
        return np.zeros(1)

    @cached_property
    def log_q(self) -> Floats:
        """Log of the Q-mass of the atom at 0."""
        silent = 0.0
        for law, count in self.parts:
            still = float(np.exp(law.log_q[law.losses == 0.0]).sum())
            silent += count * math.log(still) if still else -math.inf
        result: Floats = np.log(np.array([1.0 - self.rate + self.rate * math.exp(silent)]))
        return result

    @property
    def log_p(self) -> Floats:
        """Log P-mass of the atom at 0, which is its Q-mass: its loss is 0."""
        return self.log_q

    @cached_property
    def branches(self) -> tuple[Branch, ...]:
        """The branches of the steps, which bound the steepness of a round's losses."""
        return tuple(branch for law, _ in self.parts for branch in law.branches)

    @cached_property
    def range(self) -> tuple[float, float]:
        """Infimum and supremum of the loss."""
        low, high = (sum(n * law.range[side] for law, n in self.parts) for side in (0, 1))
        return min(low, 0.0), high

    @cached_property
    def variance(self) -> float:
        """About E[L^2], for the width of a grid."""
        run = sum(count * law.variance for law, count in self.parts)
        return self.rate * (run + 0.25 * run * run)

    def profile(self, eps: Floats, atoms: bool = True) -> tuple[Floats, Floats]:
        """Return the profile at eps >= 0, to which rounds without the unit add 0; raises `TooFine` below."""
        if float(eps.min(initial=0.0)) < 0.0:
            raise TooFine
        values = [[self._run(e + shift) for shift in (0.0, -_NEAR, _NEAR)] for e in eps.tolist()]
        centre, before, after = self.rate * np.array(values).reshape(-1, 3).T
        return centre, (before - after) / (2.0 * _NEAR)

    def _run(self, eps: float) -> float:
        """delta of the inner composition."""
        log_delta = contour.log_delta(self.parts, eps)
        if not log_delta.error < _UNKNOWN:
            raise TooFine
        return math.exp(log_delta.value)

    def truncated(self, log_tail: float) -> LossDistribution:
        """Raise `TooFine`: there is no closed form."""
        raise TooFine


class RoundMoments:
    """1 - p + p M(s), from what runs in a round: at each tilt a share w of the law is that, with mean m."""

    def __init__(self, parts: Parts, rate: float, low: float, high: float) -> None:
        self.rate = rate
        self.parts: list[tuple[Moments, float]] = [(prepare(law, low, high), n) for law, n in parts]

    def _share(self, log_moment: Floats) -> tuple[Floats, Floats]:
        """log of 1 - p + p e^{log_moment}, and the share of the second part."""
        level = _level(self.rate, log_moment)
        return level, np.exp(math.log(self.rate) + log_moment - level)

    def rough(self, cs: Floats) -> tuple[Floats, Floats, Floats]:
        """Sums over the parts of a round, mixed by the coin."""
        log_moment, mean, variance = np.zeros((3, cs.size))
        for moments, n in self.parts:
            of = moments.rough(cs)
            log_moment, mean = log_moment + n * of[0], mean + n * of[1]
            variance = variance + n * of[2]
        level, w = self._share(log_moment)
        return level, w * mean, w * variance + w * (1.0 - w) * mean * mean

    def log_moments(self, cs: Floats) -> Floats:
        """The parts' logs added up, and mixed by the coin."""
        logs = np.zeros(cs.shape)
        for moments, n in self.parts:
            logs += n * moments.log_moments(cs)
        return self._share(logs)[0]

    def _run(self, c: float, frequency: float = 0.0) -> tuple[Cumulants, float, float]:
        """Cumulants of what runs, log M of the round, and the share."""
        sums = np.zeros(4)
        for moments, n in self.parts:
            of = moments.cumulants(c, frequency)
            sums += n * np.array((of.log_moment, of.mean, of.variance, of.third))
        level, w = self._share(sums[:1])
        return Cumulants(*sums.tolist()), float(level[0]), float(w[0])

    def cumulants(self, c: float, frequency: float = 0.0) -> Cumulants:
        """Mix the cumulants of a held round with those of none, by the coin."""
        run, level, w = self._run(c, frequency)
        m, rest = run.mean, 1.0 - w
        third = w * (run.third + 3.0 * rest * m * run.variance + (rest * m) ** 3)
        third -= rest * (w * m) ** 3
        return Cumulants(level, w * m, w * run.variance + w * rest * m * m, third)

    def _mixed(self, c: float, z: Complexes, ratio: Complexes) -> Complexes:
        """log of (1 - w) e^{-zwm} + w e^{ratio + z (1-w) m}; the linear parts add up to w times the ratio."""
        run, _, w = self._run(c)
        idle, busy = -w * run.mean * z, ratio + (1.0 - w) * run.mean * z
        rest = (1.0 - w) * expm1_linear(idle) + w * (expm1_linear(busy) + ratio)
        # far up a contour both are small, and one less all but one has no digits left
        peak = np.maximum(idle.real, busy.real)
        far = peak + np.log((1.0 - w) * np.exp(idle - peak) + w * np.exp(busy - peak))
        return np.where(np.abs(1.0 + rest) < 0.1, far, log1p(rest))

    def jump(self, c: float) -> tuple[float, float]:
        """Return the third cumulant over the variance: a round that is held, beside one that is not."""
        of = self.cumulants(c)
        return abs(of.third) / of.variance if of.variance > 0.0 else 0.0, 0.0

    def turned(self, c: float, t: Floats) -> Complexes:
        """The parts' logs added up, and mixed by the coin."""
        ratio = np.zeros(t.shape, complex)
        for moments, n in self.parts:
            ratio += n * moments.turned(c, t)
        return self._mixed(c, 1j * t, ratio)

    def even(self, c: float, step: float, count: int) -> Complexes:
        """The parts' logs added up, and mixed by the coin."""
        ratio = np.zeros(count, complex)
        for moments, n in self.parts:
            ratio += n * moments.even(c, step, count)
        return self._mixed(c, 1j * step * np.arange(count), ratio)

    def upward(self, c: float, step: float, count: int) -> Complexes:
        """The parts' logs added up, and mixed by the coin."""
        ratio = np.zeros(count, complex)
        for moments, n in self.parts:
            ratio += n * moments.upward(c, step, count)
        return self._mixed(c, 1j * step * np.arange(count), ratio)

    def log_ratio(self, c: float, z: Complexes) -> Complexes:
        """The parts' logs added up, and mixed by the coin."""
        ratio = np.zeros(z.shape, complex)
        for moments, n in self.parts:
            ratio += n * moments.log_ratio(c, z)
        return self._mixed(c, z, ratio)

    def noise(self, c: float, z: Complexes) -> Floats:
        """The parts' added up."""
        total = np.zeros(z.shape)
        for moments, n in self.parts:
            total += n * moments.noise(c, z)
        return total

    def lean(self, c: float) -> float:
        """The least of the parts'."""
        # away from the rounds without a loss, which lie below every epsilon
        return max(0.0, min(moments.lean(c) for moments, _ in self.parts))

    def at_the_top(self, c: float) -> float:
        """The largest of the parts'."""
        return max(moments.at_the_top(c) for moments, _ in self.parts)

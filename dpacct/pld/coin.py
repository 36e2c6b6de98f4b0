"""A round that both neighbours see: with probability p a composition runs, else there is no loss.

    M(s) = 1 - p + p prod M_i(s)^{T_i}

So rounds have a contour though their losses have no density. What never decays is the atom at loss 0, of
rounds that do not run and of those in which every step has loss 0. It adds nothing to delta at epsilon >= 0,
and the line leaves it out (`contour.vertical`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .loss import Branch
from .moments import Cumulants, Moments, Part, Parts, Summand, prepare
from .pieces import Sources
from .stable import Complexes, Floats, TooFine, expm1_linear, log1p


def round_of(sources: Sources, rate: float) -> Round | None:
    """The law of a round that runs these; None where no contour is likely to carry it."""
    laws = [(source.distribution, float(n)) for source, n in sources]
    parts = [(law, n) for law, n in laws if law is not None and _smooth(law, n)]
    return Round(tuple(parts), rate) if len(parts) == len(laws) else None


def _smooth(law: Summand, count: float) -> bool:
    """Return whether a law has no atom but at 0, and hits a record in at least one step."""
    if law.infinite or law.lost or law.losses.any() or law.stacked or law.round is not None:
        return False
    return count * min((b.share for b in law.branches), default=1.0) >= 1.0


@dataclass(frozen=True)
class Round:
    """The loss of a round: with probability `rate` the sum of all `parts`, else 0."""

    parts: tuple[Part, ...]
    rate: float

    infinite = 0.0
    lost = 0.0
    before = 0.0
    gaussian = None
    stacked = None
    branches: tuple[Branch, ...] = ()

    @property
    def round(self) -> Round:
        """The round itself."""
        return self

    @property
    def losses(self) -> Floats:
        """The atom at 0."""
        return np.zeros(1)

    @cached_property
    def log_q(self) -> Floats:
        """Log of the mass of the atom at 0, under P and Q alike."""
        silent = 0.0
        for law, count in self.parts:
            still = float(np.exp(law.log_q[law.losses == 0.0]).sum())
            silent += count * math.log(still) if still else -math.inf
        return np.array([math.log(1.0 - self.rate + self.rate * math.exp(silent))])

    @property
    def log_p(self) -> Floats:
        """The same as `log_q`: a loss of 0."""
        return self.log_q

    @cached_property
    def range(self) -> tuple[float, float]:
        """Infimum and supremum of the loss."""
        low, high = (sum(n * law.range[side] for law, n in self.parts) for side in (0, 1))
        return min(low, 0.0), max(high, 0.0)

    @cached_property
    def variance(self) -> float:
        """About E[L^2], for a first idea of the tilt."""
        run = sum(count * law.variance for law, count in self.parts)
        return self.rate * (run + 0.25 * run * run)

    def profile(self, eps: Floats, atoms: bool = True) -> tuple[Floats, Floats]:
        """Raise `TooFine`: there is no closed form."""
        raise TooFine


class RoundMoments(Moments):
    """1 - p + p K(s), K of what runs: at each tilt a share w of the law is that."""

    def __init__(self, law: Round, low: float, high: float) -> None:
        self.rate, self.log_idle = law.rate, float(law.log_q[0])
        self.parts: Parts = law.parts
        self.moments = [(prepare(part, low, high), n) for part, n in law.parts]

    def _share(self, log_moment: Floats) -> tuple[Floats, Floats]:
        """log M, and the share w = p K/M."""
        # log(1 - p + p K) = log1p(p (K - 1)), which keeps the digits of a K near 1
        near = np.log1p(self.rate * np.expm1(np.minimum(log_moment, 1.0)))
        far = np.logaddexp(math.log1p(-self.rate), math.log(self.rate) + log_moment)
        level = np.where(log_moment < 1.0, near, far)
        return level, np.exp(math.log(self.rate) + log_moment - level)

    def rough(self, cs: Floats) -> tuple[Floats, Floats, Floats]:
        """Sums over the parts of a round, mixed by the coin."""
        log_moment, mean, variance = np.zeros((3, cs.size))
        for moments, n in self.moments:
            of = moments.rough(cs)
            log_moment, mean = log_moment + n * of[0], mean + n * of[1]
            variance = variance + n * of[2]
        level, w = self._share(log_moment)
        return level, w * mean, w * variance + w * (1.0 - w) * mean * mean

    def _run(self, c: float, frequency: float = 0.0) -> tuple[Cumulants, float, float]:
        """Cumulants of what runs, log M of the round, and the share."""
        sums = np.zeros(4)
        for moments, n in self.moments:
            sums += n * np.array(moments.cumulants(c, frequency))
        level, w = self._share(sums[:1])
        return Cumulants(*sums.tolist()), float(level[0]), float(w[0])

    def cumulants(self, c: float, frequency: float = 0.0) -> Cumulants:
        """Those of a mixture of what runs and of 0."""
        run, level, w = self._run(c, frequency)
        m, rest = run.mean, 1.0 - w
        # central moments of a mixture: w of the part about its own mean m, and 1 - w of 0
        third = w * (run.third + 3.0 * rest * m * run.variance + (rest * m) ** 3)
        third -= rest * (w * m) ** 3
        return Cumulants(level, w * m, w * run.variance + w * rest * m * m, third)

    def _mixed(self, c: float, z: Complexes, ratio: Complexes) -> Complexes:
        """log of (1 - w) e^{-zwm} + w e^{ratio + z (1-w) m}; the linear parts add up to w times the ratio."""
        run, _, w = self._run(c)
        idle, busy = -w * run.mean * z, ratio + (1.0 - w) * run.mean * z
        rest = (1.0 - w) * expm1_linear(idle) + w * (expm1_linear(busy) + ratio)
        # far up both are small, and one less all but one has no digits left
        peak = np.maximum(idle.real, busy.real)
        far = peak + np.log((1.0 - w) * np.exp(idle - peak) + w * np.exp(busy - peak))
        return np.where(np.abs(1.0 + rest) < 0.1, far, log1p(rest))

    def _ratio(self, c: float, t: Floats) -> Complexes:
        return np.asarray(sum(n * moments.turned(c, t) for moments, n in self.moments))

    def turned(self, c: float, t: Floats) -> Complexes:
        """The parts' logs added up, and mixed by the coin."""
        return self._mixed(c, 1j * t, self._ratio(c, t))

    def even(self, c: float, step: float, count: int) -> Complexes:
        """The parts' logs added up, and mixed by the coin."""
        ratio = np.asarray(sum(n * moments.even(c, step, count) for moments, n in self.moments))
        return self._mixed(c, 1j * step * np.arange(count), ratio)

    def beside_idle(self, c: float, t: Floats) -> Floats:
        """About log(1 + |m - a|/a), m the tilted characteristic function and a its atom at 0.

        |prod m_i^n_i - prod a_i^n_i| is at most prod a_i^n_i times expm1 of the sum of n_i times this.
        """
        run, level, w = self._run(c)
        idle = math.exp(self.log_idle - level)
        silent = idle - (1.0 - w)
        moving = w * np.exp(self._ratio(c, t) + 1j * t * run.mean) - max(silent, 0.0)
        return np.log1p(np.abs(moving) / idle)

    def jump(self, c: float) -> float:
        """Return the third cumulant over the variance: a round that runs, beside one that does not."""
        of = self.cumulants(c)
        return abs(of.third) / of.variance if of.variance > 0.0 else 0.0

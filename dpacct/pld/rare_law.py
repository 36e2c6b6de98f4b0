"""The laws that the expansion over rare large losses takes: losses below a level, and the tail above.

A release on a sample of rate q has L = log(1 - q + q e^l), with l that of the release itself. Above any y > 0

    E[(1 - e^{y-L})_+] = q delta(l_y),  e^y Q(L > y) = e^y Q(l > l_y),  l_y = log(1 + (e^y - 1)/q)

so of a release its profile and its tail are asked in closed form, and no more. Everything is stated under Q.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .budget import evaluated
from .loss import LOG_NORMAL, Branch, LossDistribution, gaussian, laplace
from .moments import Summand
from .stable import Floats, TooFine, unmixed_loss

Array = Floats

# functions that are computed for a tail at a place
_OF_A_TAIL = 8


# -- closed forms of one release, of outcomes without mass of their own ------------------------------


def _left(branch: Branch, loss: Array) -> Array:
    """log(1 - e^{(l - reach)/2}), of Laplace noise that moves by `reach` scales."""
    inside = np.clip(loss, branch.low, branch.high)
    result: Array = np.log(-np.expm1(branch.linear * (branch.high - inside)))
    return result


def _log_tail(branch: Branch, loss: Array) -> Array:
    """log Q(l > loss)."""
    from scipy.special import log_ndtr  # late: most plans need none of it

    evaluated(_OF_A_TAIL * loss.size)
    if branch.square:
        tail: Array = log_ndtr(-branch.plain_where(loss))
        return tail
    inside = np.clip(loss, branch.low, branch.high)
    return _left(branch, loss) + branch.base + branch.linear * inside - math.log(-branch.linear)


def _log_profile(branch: Branch, loss: Array) -> Array:
    """log of P(l' > loss) - e^loss Q(l' > loss), to full relative accuracy.

    Normal: phi(x) (m(x) - m(x + mu)) with Mills' ratio m, at x = place - mu; far below, as 1 minus little.
    Laplace: (1 - e^{(l - reach)/2})^2 / 2.
    """
    from scipy.special import erfcx, log_ndtr

    evaluated(2 * _OF_A_TAIL * loss.size)
    if not branch.square:
        return 2.0 * _left(branch, loss) + math.log(0.5)
    mu = branch.slope
    x = branch.plain_where(loss) - mu
    near = np.maximum(x, -20.0)
    fall = erfcx(near / math.sqrt(2.0)) - erfcx((near + mu) / math.sqrt(2.0))
    value: Array = -0.5 * near * near - LOG_NORMAL + np.log(math.sqrt(0.5 * math.pi) * fall)
    if float(np.min(x)) < -5.0:
        above = log_ndtr(-x)
        lost = branch.plain(x + mu)[0] + log_ndtr(-x - mu) - above
        value = np.where(x < -5.0, above + np.log1p(-np.exp(np.minimum(lost, -1e-300))), value)
    return value


@dataclass(frozen=True)
class SampledLaw:
    """A release on a sample of this rate, present against absent; or C_rate, its mirror image joined to it.

    Of C_rate (replace-one) losses above 0 are as they are, those below are their mirror image, the rest is 0.
    The release has one branch, along which its loss rises: that of `gaussian`, or that of `laplace`.
    `exchanged`: the law that was meant is absent against present.
    """

    release: LossDistribution
    rate: float
    mirrored: bool = False
    exchanged: bool = False

    @classmethod
    def of(cls, law: Summand) -> SampledLaw | None:
        """The law as one whose large losses can be counted; None where it is another one."""
        if not law.branches or law.inner is not None:
            return None
        branch, mirrored = law.branches[0], len(law.branches) > 1
        sampled, *turned = branch.chain or (None,)
        if sampled is None or not sampled.mixes or len(turned) > 1:
            return None
        # the largest loss of Laplace noise is an atom
        if not all(o.keeps_normal for o in turned) or not (branch.square or law.losses.any()):
            return None
        release = gaussian(branch.steep) if branch.square else laplace(branch.high)
        exchanged = bool(turned) and not mirrored
        return cls(release, sampled.share, mirrored, exchanged)

    @cached_property
    def law(self) -> LossDistribution:
        """The law on the sample, before any mirror."""
        return self.release.sampled(self.rate)

    @cached_property
    def branch(self) -> Branch:
        """The branch of that law."""
        return self.law.branches[0]

    def loss(self, x: Array) -> Array:
        """log(1 - q + q e^l) at x."""
        result: Array = self.branch.at(x)[0]
        return result

    def place(self, y: Array) -> Array:
        """x at which the loss is y, within the axis."""
        return self.branch.where(y)

    @cached_property
    def masses(self) -> tuple[tuple[float, float], ...]:
        """(loss, log of its Q-mass) of outcomes with mass of their own, by rising loss."""
        return tuple(sorted(zip(self.law.losses.tolist(), self.law.log_q.tolist(), strict=True)))

    def log_h(self, y: Array) -> Array:
        """log E[(1 - e^{y-L})_+], y > 0."""
        value = math.log(self.rate) + _log_profile(self.branch, unmixed_loss(self.rate, y))
        for loss, log_q in self.masses:
            part = log_q + loss + np.log(-np.expm1(np.minimum(y - loss, 0.0)))
            value = np.logaddexp(value, part)
        return value

    def log_d(self, y: Array) -> Array:
        """log of -d/dy of that, e^y Q(L > y)."""
        value = _log_tail(self.branch, unmixed_loss(self.rate, y))
        for loss, log_q in self.masses:
            value = np.logaddexp(value, np.where(y < loss, log_q, -np.inf))
        return y + value

    @property
    def largest(self) -> float:
        """Supremum of the losses."""
        return self.law.range[1]

    @property
    def least(self) -> float:
        """Infimum of the losses, or of those of the side that is not mirrored."""
        return -self.largest if self.mirrored else self.law.range[0]

    @cached_property
    def _whole(self) -> LossDistribution:
        return self.law.mirrored() if self.mirrored else self.law

    def near(self, level: float) -> LossDistribution:
        """Losses up to this level; those above are infinite, and lost."""
        at = np.array(level)
        missed = math.exp(float(self.log_d(at)))  # e^level times Q's
        p = math.exp(float(self.log_h(at))) + missed
        return self._whole.up_to(level, p, missed * math.exp(-level))

    def between(self, low: float, high: float) -> tuple[LossDistribution, float]:
        """The law of losses in (low, high], low > 0, if they are there; and the log of their P-mass."""
        ends = np.array((low, high))
        log_h, log_d = self.log_h(ends), self.log_d(ends)
        log_p = np.logaddexp(log_h, log_d)
        log_mass = float(log_p[0] + np.log(-np.expm1(log_p[1] - log_p[0])))
        # P less Q above an end: log_h and log_d have P - e^y Q and e^y Q
        apart = np.exp(log_h - log_mass) - np.exp(log_d - log_mass) * np.expm1(-ends)
        part = self.law.branches[0].below(high)
        part = None if part is None else part.above(low)
        if part is None:
            raise TooFine
        kept = (self.law.losses > low) & (self.law.losses <= high)
        losses, log_q = self.law.losses[kept], self.law.log_q[kept] - log_mass
        branches = (part.weighted(-log_mass),)
        return LossDistribution(losses, log_q, branches, 0.0, float(apart[0] - apart[1])), log_mass


Counted = Sequence[tuple[SampledLaw, float]]
"""Laws, and how often each runs."""


def near(laws: Counted, level: float) -> list[tuple[LossDistribution, float]]:
    """Their losses up to this level."""
    return [(law.near(level), n) for law, n in laws]


def log_of_any(laws: Counted, part: Callable[[SampledLaw, Array], Array], y: float) -> float:
    """log of the sum over all steps of e^part at y."""
    at = np.array(y)
    return float(np.logaddexp.reduce([math.log(n) + float(part(law, at)) for law, n in laws]))

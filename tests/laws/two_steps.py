"""Truth for one and two releases, to many digits, by formulas that share nothing with dpacct.

A base pair (P, Q), symmetric under exchange, is known by its profile D(e) = E_P[(1 - e^{e-l})_+]
at all real e, and by integrals E_Q[h(l)] over its loss l = log P/Q. A Poisson sample mixes P and Q,

    remove  P' = (1-q)Q + qP against Q:  loss log r,  r = 1 - q + q e^l
    add     Q against P':                loss -log r

whose profile is (P' - e^e Q)_+ integrated, and two releases A, B give E_B[D_A(e - L_B)].
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import mpmath as mp

Real: TypeAlias = Any  # an mpf: mpmath has no types
Function = Callable[[Real], Real]
DIGITS = 28
LEAST = 1e-15
"""Two releases are integrated to an absolute accuracy: below this, digits are missing."""


class Base(ABC):
    """A symmetric pair."""

    kinks: tuple[Real, ...] = ()

    @abstractmethod
    def profile(self, e: Real) -> Real:
        """D at any real e."""

    @abstractmethod
    def over_q(self, h: Function, kinks: list[Real]) -> Real:
        """E_Q[h(l)]; h has kinks at these l."""


def integral(h: Function, points: list[Real]) -> Real:
    edges = sorted(set(points))
    return mp.quad(h, edges) if len(edges) > 1 else mp.mpf(0)


@dataclass(frozen=True)
class Gaussian(Base):
    mu: Real

    def profile(self, e: Real) -> Real:
        mu = self.mu
        return mp.ncdf(mu / 2 - e / mu) - mp.exp(e) * mp.ncdf(-mu / 2 - e / mu)

    def over_q(self, h: Function, kinks: list[Real]) -> Real:
        mu = self.mu
        low, high = -mu * mu / 2 - 16 * mu, mu * mu / 2 + 16 * mu
        inside = [k for k in kinks if low < k < high]
        count = int(mp.ceil((high - low) / (4 * mu)))
        grid = [low + (high - low) * k / count for k in range(count + 1)]

        def weighted(x: Real) -> Real:
            return mp.npdf(x, -mu * mu / 2, mu) * h(x)

        return integral(weighted, [*grid, *inside])


@dataclass(frozen=True)
class Laplace(Base):
    lam: Real

    @property
    def kinks(self) -> tuple[Real, ...]:  # type: ignore[override]
        return (-self.lam, self.lam)

    def profile(self, e: Real) -> Real:
        if e >= self.lam:
            return mp.mpf(0)
        return -mp.expm1(e) if e <= -self.lam else -mp.expm1((e - self.lam) / 2)

    def over_q(self, h: Function, kinks: list[Real]) -> Real:
        lam = self.lam
        inside = [k for k in kinks if -lam < k < lam]
        dense = integral(lambda x: h(x) * mp.exp(-(lam + x) / 2) / 4, [-lam, *inside, lam])
        return h(lam) * mp.exp(-lam) / 2 + h(-lam) / 2 + dense


@dataclass(frozen=True)
class Pure(Base):
    epsilon: Real

    @property
    def kinks(self) -> tuple[Real, ...]:  # type: ignore[override]
        return (-self.epsilon, self.epsilon)

    def profile(self, e: Real) -> Real:
        high = 1 / (1 + mp.exp(-self.epsilon))
        outcomes = ((high, self.epsilon), (1 - high, -self.epsilon))
        return mp.fsum(mass * -mp.expm1(e - loss) for mass, loss in outcomes if loss > e)

    def over_q(self, h: Function, kinks: list[Real]) -> Real:
        high = 1 / (1 + mp.exp(-self.epsilon))
        return (1 - high) * h(self.epsilon) + high * h(-self.epsilon)


@dataclass(frozen=True)
class Step:
    """One release on a Poisson sample, in one direction."""

    base: Base
    rate: Real
    remove: bool

    def _loss(self, base_loss: Real) -> Real:
        log_r = mp.log1p(self.rate * mp.expm1(base_loss))
        return log_r if self.remove else -log_r

    def _base_loss(self, loss: Real) -> Real:
        """The base loss at which this one is `loss`."""
        scaled = mp.expm1(loss if self.remove else -loss) / self.rate
        return mp.log1p(scaled) if scaled > -1 else None

    @property
    def kinks(self) -> list[Real]:
        """Of the profile: from the base's, and where all mass is above."""
        edge = mp.log1p(-self.rate) if self.rate < 1 else -mp.inf
        ends = [] if edge == -mp.inf else [edge if self.remove else -edge]
        return [*ends, *(self._loss(k) for k in self.base.kinks)]

    def profile(self, e: Real) -> Real:
        q = self.rate
        if self.remove:  # ((1-q)Q + qP - e^e Q)_+ = q (P - e^{e'} Q)_+
            inner = self._base_loss(e)
            return -mp.expm1(e) if inner is None else q * self.base.profile(inner)
        weight = 1 - (1 - q) * mp.exp(e)  # (Q - e^e ((1-q)Q + qP))_+, mirrored
        if weight <= 0:
            return mp.mpf(0)
        return weight * self.base.profile(e + mp.log(q / weight))

    def over_p(self, g: Function, kinks: list[Real]) -> Real:
        """E[g(L)] under the first distribution."""
        at = [inner for k in kinks if (inner := self._base_loss(k)) is not None]

        def weighted(x: Real) -> Real:
            weight = 1 + self.rate * mp.expm1(x) if self.remove else 1
            return weight * g(self._loss(x))

        return self.base.over_q(weighted, at)


def _rest(step: Step, e: Real, loss: Real) -> Real:
    """What `step` adds to a loss already there."""
    return step.profile(e - loss)


def deltas(steps: list[tuple[Base, Real]], epsilon: str) -> tuple[Real, Real]:
    """delta(epsilon) of one or two releases (base, rate), remove and add."""
    with mp.workdps(DIGITS):
        e = mp.mpf(epsilon)
        results = []
        for remove in (True, False):
            first, *rest = (Step(base, rate, remove) for base, rate in steps)
            if not rest:
                results.append(first.profile(e))
                continue
            (second,) = rest
            kinks = [e - k for k in first.kinks]
            results.append(second.over_p(partial(_rest, first, e), kinks))
        return results[0], results[1]

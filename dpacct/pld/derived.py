"""Operators on sources: applied to the distribution if there is one, else to its pieces."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from . import stable
from .bracket.nested import Nested
from .coin import Round, round_of
from .pieces import Cut, Pieces, Source
from .stable import Floats


def sampled(source: Source, rate: float) -> Source:
    """(1-r) Q + r P against Q."""
    if rate == 1.0:
        return source
    return (
        Cut(source.of.sampled(rate), source.contour)
        if isinstance(source, Cut)
        else SampledSource(source, rate)
    )


def backwards(source: Source) -> Source:
    """Q against P; twice is nothing."""
    if isinstance(source, Backwards):
        return source.base
    return (
        Cut(source.of.reversed(), source.contour) if isinstance(source, Cut) else Backwards(source)
    )


def thinned(source: Source, rate: float) -> Source:
    """A coin that both neighbours share, around one release or a composition."""
    if rate == 1.0:
        return source
    if isinstance(source, Cut):
        return replace(source, of=source.of.thinned(rate))
    return Thinned(source, rate)


def mirrored(source: Source, rate: float) -> Source:
    """C_r of a source that is its own mirror image."""
    if rate == 1.0:
        return source
    if isinstance(source, Cut):
        return Cut(source.of.sampled(rate).mirrored(), source.contour)
    return Mirrored(SampledSource(source, rate))


# -- of laws that are only known in pieces ----------------------------------------------------


@dataclass(frozen=True)
class Derived(Source):
    """A source transformed by an operator."""

    base: Source

    @property
    def charged(self) -> bool:
        """Return whether every error of the base's masses is bounded."""
        return self.base.charged

    @property
    def bracketed(self) -> bool:
        """Return whether the base's pieces differ for the two sides."""
        return self.base.bracketed

    @property
    def pointed(self) -> bool:
        """Return whether all losses of the base are atoms, listed as they are."""
        return self.base.pointed


@dataclass(frozen=True)
class SampledSource(Derived):
    """A source on a sample of this rate, in (0, 1)."""

    rate: float

    @property
    def least(self) -> float:
        """log(1 - r), or more where the base has a least loss."""
        least = self.base.least
        if least == -math.inf:
            return math.log1p(-self.rate)
        return float(stable.mixed_loss(self.rate, np.array([least]))[0])

    @property
    def ceiling(self) -> float:
        """The base's largest loss, transformed by sampling."""
        return float(stable.mixed_loss(self.rate, np.array([self.base.ceiling]))[0])

    @property
    def infinite(self) -> float:
        """The base's mass at infinity, times the rate."""
        return self.rate * self.base.infinite

    def span(self, log_mass: float) -> tuple[float, float]:
        """The base's span; the sampled P contains (1-r) Q, so its lower end is Q's."""
        low, high = self.base.span(log_mass)
        ends = stable.mixed_loss(self.rate, np.array([min(-high, low), high]))
        return float(ends[0]), float(ends[1])

    def knots(self, count: int, log_mass: float) -> Floats:
        """The base's, through the sample."""
        return np.unique(stable.mixed_loss(self.rate, self.base.knots(count, log_mass)))

    def pieces(self, edges: Floats, *, upper: bool) -> Pieces:
        """The base's pieces, cut where the transformed losses meet the edges."""
        cut = stable.unmixed_loss(self.rate, edges)
        return self.base.pieces(cut, upper=upper).sampled(self.rate)

    def log_moments(self, tilts: Floats) -> Floats:
        """Moments from a grid, or Minkowski's bound in L^{1+s}(Q), which is close at large tilts.

        E_Q[(1 - r + r e^L)^{1+s}] <= (1 - r + r M(s)^{1/(1+s)})^{1+s}.
        """
        result = super().log_moments(tilts)
        with suppress(stable.TooFine), stable.quiet():
            order = 1.0 + tilts
            root = math.log(self.rate) + self.base.log_moments(tilts) / order
            result = np.fmin(result, order * np.logaddexp(math.log1p(-self.rate), root))
        return result

    def log_moments_beyond(self, tilts: Floats, loss: float, mass: float) -> Floats:
        """Bound by the base's moments at larger tilts: a loss above 0 is less than the base's it comes from.

        E_Q[e^{(1+s)L'}; L > u] <= E_Q[e^{(1+s)L}; L > u] = E_P[e^{sL}; L > u] <= M(t) e^{-(t-s)u}.
        """
        if math.isfinite(self.ceiling):
            return super().log_moments_beyond(tilts, loss, mass)
        edge = float(stable.unmixed_loss(self.rate, np.array([loss]))[0])
        bound = np.full(tilts.shape, math.inf)
        # tilts at which what lies beyond a grid is bounded
        for factor in (1.1, 1.5, 3.0):
            with suppress(stable.TooFine), stable.quiet():
                further = factor * tilts + 1.0
                bound = np.fmin(bound, self.base.log_moments(further) - (further - tilts) * edge)
        return bound


@dataclass(frozen=True)
class Backwards(Derived):
    """The pair (Q, P) of a source of (P, Q)."""

    @property
    def ceiling(self) -> float:
        """The negated least loss of the base."""
        return -self.base.least

    @property
    def infinite(self) -> float:
        """The base's lost mass."""
        return self.base.lost

    @property
    def lost(self) -> float:
        """The base's mass at infinity."""
        return self.base.infinite

    def span(self, log_mass: float) -> tuple[float, float]:
        """Q's ends are a little further down than P's; a cut tail is charged wherever it is."""
        low, high = self.base.span(log_mass)
        return -high, min(max(-low, high), -self.base.least)

    def knots(self, count: int, log_mass: float) -> Floats:
        """The base's, negated."""
        return np.asarray(-self.base.knots(count, log_mass)[::-1])

    def pieces(self, edges: Floats, *, upper: bool) -> Pieces:
        """The base's pieces, reversed."""
        return self.base.pieces(-edges[::-1], upper=upper).reversed()


@dataclass(frozen=True)
class Mirrored(Derived):
    """C_r of the trade-off function (Dong, Roth, Su 2022, Definition 4.1) of a `SampledSource`.

    The source before sampling must be its own mirror image.
    """

    @property
    def ceiling(self) -> float:
        """The largest loss of the base."""
        return self.base.ceiling

    @property
    def infinite(self) -> float:
        """The mass at infinity of the base."""
        return self.base.infinite

    @property
    def lost(self) -> float:
        """The lost mass: the mirror image of the mass at infinity."""
        return self.base.infinite

    def span(self, log_mass: float) -> tuple[float, float]:
        """The base's upper end, in both directions."""
        high = self.base.span(log_mass)[1]
        return -high, high

    def log_moments(self, tilts: Floats) -> Floats:
        """Return the log moments of a grid, or by the base's, which know losses near 0 better.

        M' - 1 <= 2 (M - 1) where no loss is infinite: with u = e^L, M - 1 is E_Q[u^{1+s} - 1 - (1+s)(u-1)],
        of which no value is negative; M' - 1 is that over u > 1, and E_Q[u^{-s} - 1 + s (u-1); u > 1],
        whose integrand has the smaller second derivative.
        """
        result = super().log_moments(tilts)
        if self.infinite == 0.0:
            with suppress(stable.TooFine), stable.quiet():
                base = self.base.log_moments(tilts)
                near = np.log1p(2.0 * np.expm1(np.minimum(base, 1.0)))
                result = np.fmin(result, np.where(base < 1.0, near, base + math.log(2.0)))
        return result

    def log_moments_beyond(self, tilts: Floats, loss: float, mass: float) -> Floats:
        """The base's moments beyond a loss; the mirror image lies below."""
        return self.base.log_moments_beyond(tilts, loss, mass)

    def knots(self, count: int, log_mass: float) -> Floats:
        """The base's above 0, their mirror images, and 0."""
        base = self.base.knots(count, log_mass)
        base = base[base > 0.0]
        return np.concatenate((-base[::-1], [0.0], base))

    def pieces(self, edges: Floats, *, upper: bool) -> Pieces:
        """The base cut at 0 and where it or its mirror image has an edge."""
        cut = edges
        if edges.size:
            cut = np.unique(np.concatenate(([0.0], edges[edges > 0.0], -edges[edges < 0.0])))
        return self.base.pieces(cut, upper=upper).mirrored(upper=upper)


@dataclass(frozen=True)
class Thinned(Derived):
    """A source that runs with this probability, by a coin shared by both neighbours, else has no loss."""

    rate: float

    @cached_property
    def distribution(self) -> Round | None:
        """The law of the round, if contours may carry its inner plan; else None."""
        return round_of(self.base.parts, self.rate) if isinstance(self.base, Nested) else None

    @property
    def least(self) -> float:
        """The smaller of 0 and the inner plan's least loss."""
        return min(self.base.least, 0.0)

    @property
    def ceiling(self) -> float:
        """The larger of 0 and the inner plan's largest loss."""
        return max(self.base.ceiling, 0.0)

    def log_moments(self, tilts: Floats) -> Floats:
        """log of 1 - p + p M, with the inner moments M."""
        inner = self.base.log_moments(tilts)
        # 1 - p + p M = 1 + p (M - 1), which keeps the digits of an M near 1
        near = np.log1p(self.rate * np.expm1(np.minimum(inner, 1.0)))
        far = np.logaddexp(math.log1p(-self.rate), math.log(self.rate) + inner)
        return np.asarray(np.where(inner < 1.0, near, far))

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

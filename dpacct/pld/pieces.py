"""A release cut into pieces: what a grid asks of a law, with a bound of every rounding.

A piece is a set of outcomes (or a share of one): its mass under P, the loss log P/Q of the whole of it, and
two numbers that enclose the losses in it. Knowing no more, the pessimistic grid splits the piece between the
nodes around it, and the optimistic one takes it for the single outcome that it would be if merged.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from . import stable
from .budget import evaluated
from .loss import ULPS, Branch, LossDistribution, rounding
from .stable import Floats, quiet

if TYPE_CHECKING:
    from .moments import Summand

Kept = npt.NDArray[np.bool_] | npt.NDArray[np.integer[Any]]

ROUNDING = 8e-15
"""The assumed error of the logs of masses and losses, unless a source knows better."""
# of a mass that is one minus a sum of others
_REST = 2e-15


@dataclass(frozen=True)
class Pieces:
    """A pair (P, Q) as pieces, and P-mass where Q has none (`infinite`), Q-mass where P has none (`lost`).

    `low` may be -inf and `high` +inf. `slack` bounds the absolute error of each log mass (so the relative
    error of each mass), `unsure` that of `loss`, and `slip` that of `low` and `high`.
    """

    log_p: Floats
    loss: Floats
    low: Floats
    high: Floats
    slack: float | Floats = ROUNDING
    unsure: float | Floats = ROUNDING
    slip: float | Floats = ROUNDING
    infinite: float = 0.0
    lost: float = 0.0

    @classmethod
    def points(
        cls, losses: Floats, log_p: Floats, slack: float = ROUNDING, slip: float = ROUNDING
    ) -> Pieces:
        """Atoms at these finite losses."""
        return cls(log_p, losses, losses, losses, slack, slip, slip)

    @property
    def log_q(self) -> Floats:
        """Log Q-masses, from the P-masses and the losses."""
        return np.asarray(self.log_p - self.loss)

    @property
    def end_slip(self) -> float:
        """The largest error of any `low` or `high`."""
        return float(np.max(self.slip, initial=0.0))

    @property
    def _columns(self) -> dict[str, float | Floats]:
        ends = {"log_p": self.log_p, "loss": self.loss, "low": self.low, "high": self.high}
        return {**ends, "slack": self.slack, "unsure": self.unsure, "slip": self.slip}

    def where(self, kept: Kept) -> Pieces:
        """Only some of the pieces."""
        columns = self._columns.items()
        some: dict[str, Any] = {
            name: value[kept] if isinstance(value, np.ndarray) else value for name, value in columns
        }
        return replace(self, **some)

    @staticmethod
    def join(*parts: Pieces) -> Pieces:
        """The pieces of all parts together."""
        joined: dict[str, Any] = {
            name: np.concatenate([np.broadcast_to(p._columns[name], p.log_p.shape) for p in parts])
            for name in parts[0]._columns
        }
        infinite, lost = sum(p.infinite for p in parts), sum(p.lost for p in parts)
        return replace(parts[0], **joined, infinite=infinite, lost=lost)

    # -- operators: what `LossDistribution` has, for laws that are only known in pieces ---------------

    def reversed(self) -> Pieces:
        """Q against P."""
        errors = self.slack, self.unsure, self.slip
        ends = -self.high, -self.low
        return Pieces(self.log_q, -self.loss, *ends, *errors, self.lost, self.infinite)

    def sampled(self, rate: float) -> Pieces:
        """(1-r) Q + r P against Q; an error of the loss counts r e^l / (1 - r + r e^l) of itself."""
        loss, low, high = (stable.mixed_loss(rate, at) for at in (self.loss, self.low, self.high))

        def share(before: Floats, after: Floats) -> Floats:
            with quiet():
                value = rate * np.exp(before - after)
            return np.where(np.isfinite(value), np.minimum(value, 1.0), 1.0)

        with quiet():
            ends = np.where(np.isfinite(high), share(self.high, high), share(self.low, low))
            size = np.abs(np.where(np.isfinite(high), high, np.where(np.isfinite(low), low, 0.0)))
        mixed = Pieces(
            self.log_q + loss,
            loss,
            low,
            high,
            self.slack + 4e-16,
            self.unsure * share(self.loss, loss) + ULPS * np.abs(loss),
            self.slip * ends + ULPS * size,
            rate * self.infinite,
        )
        if self.lost == 0.0:
            return mixed
        # outcomes that P misses are merely unlikely under the mixture
        absent = np.array([math.log1p(-rate)])
        return Pieces.join(mixed, Pieces.points(absent, absent + math.log(self.lost)))

    def mirrored(self, *, upper: bool) -> Pieces:
        """Losses above 0, their mirror images, the rest of the mass at 0; no piece straddles 0."""
        favoured = self.where(self.high > 0.0)
        if upper:
            favoured = _within_one(favoured)
        p, q = float(np.exp(favoured.log_p).sum()), float(np.exp(favoured.log_q).sum())
        rest = 1.0 - p - q - self.infinite + (_REST if upper else -_REST)
        back = replace(favoured.reversed(), infinite=0.0, lost=self.infinite)
        parts = [replace(favoured, lost=0.0), back]
        if rest > 0.0:
            none = np.zeros(1)
            parts.append(Pieces(np.log([rest]), none, none, none, 4e-16, 0.0, 0.0))
        return Pieces.join(*parts)

    def thinned(self, rate: float) -> Pieces:
        """A coin that both neighbours share: with probability r this loss, else none."""
        none = np.zeros(1)
        idle = Pieces(np.array([math.log1p(-rate)]), none, none, none, 4e-16, 0.0, 0.0)
        run = replace(
            self,
            log_p=self.log_p + math.log(rate),
            slack=self.slack + 4e-16,
            infinite=rate * self.infinite,
            lost=rate * self.lost,
        )
        return Pieces.join(run, idle)


def _within_one(favoured: Pieces) -> Pieces:
    """Losses above 0 of a pair that is its own mirror image: P- and Q-mass of at most one together.

    An upper law may have moved a mass from 0 to a little above it, and so into its own mirror image too.
    Then what lies below some l > 0 becomes a point at l: the chord of the profile from -l to l, which lies
    above it. It has a kink of (1 - p - q) / (1 + e^l) in Q at l, with p and q what is above.
    """
    p, q = np.exp(favoured.log_p), np.exp(favoured.log_q)
    if float(p.sum()) + float(q.sum()) + favoured.infinite <= 1.0 + 1e-13:
        return favoured
    order = np.argsort(favoured.low)
    pieces, both = favoured.where(order), (p + q)[order]
    above = np.append(np.cumsum(both[::-1])[::-1], 0.0) + favoured.infinite
    ends = np.maximum.accumulate(pieces.high)
    first = int(np.argmax(above <= 1.0))
    while first < both.size and float(ends[first - 1]) > float(pieces.low[first]) * (1.0 + 1e-12):
        first += 1
    at = float(ends[first - 1])
    if at == math.inf:
        return favoured
    share = max(1.0 - float(above[first]), 0.0) + 1e-15
    log_p = math.log(share) - float(np.logaddexp(0.0, -at))
    point = Pieces.points(np.array([at]), np.array([log_p]), 1e-15, favoured.end_slip)
    return Pieces.join(pieces.where(np.arange(first, both.size)), point)


def gathered(points: Pieces, edges: Floats) -> Pieces:
    """Points by rising losses, together where they lie between the same edges; one at an edge is above it."""
    starts = np.unique(np.searchsorted(points.low, edges))
    starts = np.unique(np.concatenate(([0], starts[starts < points.low.size])))
    ends = np.append(starts[1:], points.low.size) - 1
    counts = ends - starts + 1

    def summed(logs: Floats) -> tuple[Floats, Floats, Floats]:
        """Terms over the largest of their cell, their sum, and its log."""
        most = np.maximum.reduceat(logs, starts)
        terms = np.exp(logs - np.repeat(most, counts))
        total = np.add.reduceat(terms, starts)
        return terms, total, most + np.log(total)

    p, total, log_p = summed(points.log_p)
    gap = points.loss - np.repeat(points.low[starts], counts)
    share = np.add.reduceat(p * -np.expm1(-gap), starts) / total
    loss = points.low[starts] - np.log1p(-np.minimum(share, 0.5))
    width = points.high[ends] - points.low[starts]
    unsure = 2e-16 * counts * width
    # over many nats hardly any of P's mass has its share in Q's: the loss is log P - log Q by two sums
    wide = share >= 0.5
    if wide.any():
        log_q = summed(points.log_q)[2][wide]
        loss[wide] = log_p[wide] - log_q
        unsure[wide] = 4e-16 * (counts[wide] + np.abs(log_p[wide]) + np.abs(log_q))
    return Pieces(
        log_p,
        loss,
        points.low[starts],
        points.high[ends],
        # a unit of rounding for each term
        np.asarray(float(np.max(points.slack)) + 1.2e-16 * counts, float),
        float(np.max(points.unsure)) + unsure,
        points.end_slip,
        points.infinite,
        points.lost,
    )


class Source(ABC):
    """The law of a privacy loss, ready to be cut. Hashable and immutable: equal sources are one law.

    What is dense is cut at the losses `edges` (increasing), with a piece beyond the first and the last; atoms
    are points, or gathered between edges where they are many. A source that can only be bracketed (a
    composition used as one step) returns, for `upper`, pieces of a pair whose profile lies nowhere below the
    truth, and for not `upper`, nowhere above it, and says so by `bracketed`; all others ignore the flag.
    """

    @property
    def distribution(self) -> Summand | None:
        """The law for contours, by its moments; None where there are only pieces."""
        return None

    @property
    def summed(self) -> Summand | None:
        """The law of which moments are taken, worth a contour or not; None where there are only pieces."""
        return self.distribution

    @property
    def pointed(self) -> bool:
        """Return whether all losses are atoms, given as they are where no edges are."""
        return False

    @property
    def least(self) -> float:
        """A lower bound of every loss, under Q too; -inf where nothing is known."""
        return -math.inf

    @property
    def bracketed(self) -> bool:
        """Return whether the pieces differ for the two sides."""
        return False

    @property
    def charged(self) -> bool:
        """Return whether every error of the masses is bounded; not where they are integrated numerically."""
        return True

    @property
    def infinite(self) -> float:
        """P-mass that Q is known not to have."""
        return 0.0

    @property
    def lost(self) -> float:
        """Q-mass that P is known not to have."""
        return 0.0

    @property
    def stated_profile(self) -> Callable[[Floats], Floats] | None:
        """The profile of a law by itself where it is more than that of its losses: the best of strategies."""
        return None

    @abstractmethod
    def span(self, log_mass: float) -> tuple[float, float]:
        """Losses outside which P has less than e^log_mass at each end (roughly; a hint, finite)."""

    def knots(self, count: int, log_mass: float) -> Floats:
        """About so many losses between which a first cut resolves the law where P or Q has e^log_mass."""
        return np.linspace(*self.span(log_mass), count)

    @abstractmethod
    def pieces(self, edges: Floats, *, upper: bool) -> Pieces:
        """The law, cut at these losses where it is dense."""

    def log_moments(self, tilts: Floats) -> Floats:
        """log E_P[e^{sL}] of the finite losses at tilts s > 0; of pieces, those of an upper law on a grid.

        Raises `TooFine` where no rule reaches these tilts.
        """
        law = self.summed
        if law is None and self.pointed:
            points = self.pieces(np.empty(0), upper=True)
            if np.array_equal(points.low, points.high):
                terms = np.multiply.outer(tilts, points.loss) + points.log_p
                off = np.max(points.slack) + np.max(points.unsure) * tilts
                return np.asarray(np.logaddexp.reduce(terms, axis=1) + off)
        if law is None:
            from .bracket.laws import fine

            above = fine(self)
            beyond = self.log_moments_beyond(tilts, above.start, above.top[0] + above.dropped)
            return np.logaddexp(above.log_moments(tilts), beyond)
        from .moments import prepare

        moments = prepare(law, float(tilts.min()), float(tilts.max()))
        parts = np.array_split(tilts, -(-tilts.size // 128))
        return np.concatenate([moments.log_moments(part) for part in parts])

    def log_moments_beyond(self, tilts: Floats, loss: float, mass: float) -> Floats:
        """log E_P[e^{sL}; L > loss] at most, where P has so much mass there; inf where nothing is known."""
        # if a law's largest loss is unknown, a mass that rounds to 0 counts as 0
        if mass <= (0.0 if math.isfinite(self.ceiling) else 1e-300):
            return np.full(tilts.shape, -math.inf)
        return np.asarray(math.log(mass) + tilts * self.ceiling)

    @property
    def variance(self) -> float:
        """About that of the loss."""
        if self.summed is not None:
            return self.summed.variance
        from .bracket.laws import fine

        return fine(self).tilted(0.0).variance

    @property
    def ceiling(self) -> float:
        """An upper bound of the finite losses; inf where nothing is known."""
        return math.inf if self.summed is None else self.summed.range[1]


Sources = Sequence[tuple[Source, float]]
"""A composition: sources, and how often each runs."""


def ever(masses: Iterable[tuple[float, float]]) -> float:
    """The probability that something happens at least once, of (probability, how often it may)."""
    total = 0.0
    for mass, count in masses:
        if mass >= 1.0:
            return 1.0
        total += count * math.log1p(-mass)
    return -math.expm1(total)


# -- a loss distribution, cut ---------------------------------------------------------------------


@dataclass(frozen=True)
class Cut(Source):
    """A loss distribution as a source; `contour`: whether its moments are worth a contour."""

    of: LossDistribution
    contour: bool = True

    def __hash__(self) -> int:
        return hash(self.of)

    @property
    def distribution(self) -> LossDistribution | None:
        """The distribution, unless only grids are to see it."""
        return self.of if self.contour else None

    @property
    def summed(self) -> LossDistribution | None:
        """The distribution, of atoms in any case."""
        return self.of if self.pointed else self.distribution

    @cached_property
    def _points(self) -> Pieces:
        """Return the atoms by rising losses."""
        d = self.of
        order = np.argsort(d.losses, kind="stable")
        losses = d.losses[order]
        log_p = d.log_p[order]
        slack: Floats = np.asarray(
            ROUNDING + 2.5e-16 * (np.abs(losses) + np.abs(log_p - losses)), float
        )
        if d.branches:  # one may be what all else leaves of 1
            with quiet():
                slack = slack + np.minimum(_REST * np.exp(-log_p), 1.0)
        slip = rounding(losses, d.before)
        return Pieces(log_p, losses, losses, losses, slack, slip, slip)

    @property
    def pointed(self) -> bool:
        """Return whether there are atoms alone."""
        return not self.of.branches

    @property
    def infinite(self) -> float:
        """P-mass that Q does not have."""
        return self.of.infinite

    @property
    def lost(self) -> float:
        """Q-mass that P does not have."""
        return self.of.lost

    @cached_property
    def least(self) -> float:
        """The infimum of the losses."""
        return -math.inf if self.of.lost > 0.0 else self.of.range[0]

    @property
    def stated_profile(self) -> Callable[[Floats], Floats] | None:
        """The profile of the distribution where that stands for several strategies."""
        return self.of.stated_profile

    @cached_property
    def _seen(self) -> tuple[Floats, Floats]:
        """Losses, here and there, and the logs of the P-density of the axis or of atoms."""
        losses, log_p = [self._points.loss], [self._points.log_p]
        for branch in self.of.branches:
            with quiet():
                loss, log_q = branch.at(np.linspace(*branch.extent, 257))
            # each place stands for the stretch around it
            losses += [np.append(loss[1:], loss[-1]), np.append(loss[0], loss[:-1])]
            log_p += [log_q + loss] * 2
        return np.concatenate(losses), np.concatenate(log_p)

    def span(self, log_mass: float) -> tuple[float, float]:
        """Losses outside which P has hardly e^log_mass at each end."""
        losses, log_p = self._seen
        kept = losses[log_p > log_mass]
        if not kept.size:
            kept = losses[[int(np.argmax(log_p))]]
        low, high = float(kept.min()), float(kept.max())
        # a law that hardly tells may be a point to floats
        least = 1e-3 * max(abs(high), float(np.ptp(losses)))
        return min(low, high - least), high

    def knots(self, count: int, log_mass: float) -> Floats:
        """Losses of evenly spaced noise, and of the ends of every branch."""
        parts = [self._points.loss] if self._points.loss.size <= 2 * count else []
        for branch in self.of.branches:
            x = np.linspace(*branch.extent, 513)
            with quiet():
                loss, log_q = branch.at(x)
                seen = np.flatnonzero(np.maximum(log_q, log_q + loss) > log_mass)
            if seen.size:
                ends = max(int(seen[0]) - 1, 0), min(int(seen[-1]) + 1, x.size - 1)
                with quiet():
                    parts.append(branch.at(np.linspace(x[ends[0]], x[ends[1]], count))[0])
        if not parts:
            return np.linspace(*self.span(log_mass), count)
        joined = np.unique(np.concatenate(parts))
        return np.asarray(joined[np.isfinite(joined)])

    def pieces(self, edges: Floats, *, upper: bool) -> Pieces:
        """Cells of the branches, and the atoms."""
        points = self._points
        parts = [branch_pieces(branch, edges) for branch in self.of.branches]
        if points.loss.size or not parts:
            parts.append(points)
        parts[0] = replace(parts[0], infinite=self.of.infinite, lost=self.of.lost)
        return Pieces.join(*parts)


def branch_pieces(branch: Branch, edges: Floats) -> Pieces:
    """One piece between neighbouring edges, and one beyond each end of them."""
    evaluated(10 * edges.size)  # functions such as exp
    ends, x, log_p, loss = branch.cells(edges)
    each = ULPS * (1.0 + len(branch.chain))
    with quiet():
        plain, log_q = branch.plain(x)
        size = np.abs(log_q) + branch.square * x * x + np.abs(branch.linear * x) + np.abs(plain)
        before = branch.felt(x)
        slip = 2.0 * ULPS * before + 2.0 * each * np.abs(ends)
    if branch.square and x.size > 2:  # there is no more beyond, wherever that ends
        slip[[0, -1]] = slip[[1, -2]]
    kept = np.isfinite(log_p) & np.isfinite(loss)
    size, before, slip = (np.fmax(v[1:], v[:-1])[kept] for v in (size, before, slip))
    low, high, log_p, loss = ends[:-1][kept], ends[1:][kept], log_p[kept], loss[kept]
    # of a narrow cell the width decides how long the logarithm is that rounds
    slack = 4e-15 + 4e-16 * (len(branch.chain) + np.maximum(size, np.abs(log_p)))
    unsure = 8e-16 * before + each * np.abs(loss) + 2e-15 * (high - low)
    return Pieces(log_p, loss, low, high, slack, unsure, slip)

"""The privacy loss distribution of one release, in one direction: atoms and branches.

A pair (P, Q) is, for accounting, the law of L = log dP/dQ under P:

    infinite   P-mass where Q has none;  lost: Q-mass where P has none
    atoms      finitely many (loss, log Q-mass)
    branches   intervals of a noise axis on which loss and log Q-density are analytic and the loss monotone

All is stated under Q (log p = log q + loss), so that each operator of sampling touches one number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from . import stable
from .operators import Chain, Exchanged, Functions, Operator, Reversed, SampledLoss
from .scalar import log, pi
from .stable import Floats, TooFine, quiet

_GAUSS = np.polynomial.legendre.leggauss(24)
_CELL_GAUSS = np.polynomial.legendre.leggauss(8)
_SLIM_GAUSS = np.polynomial.legendre.leggauss(4)
ULPS = 6e-16
"""Relative rounding of a loss, for each operator."""


# -- branches ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Branch:
    """An interval of a noise axis, with log q = base + linear x - square x^2/2 and loss = slope x - offset.

    low, high: ends of the axis; an infinite end needs square 1, x in standard deviations of the noise.
    `curve`: coefficients of x^2, x^3, .. that log q has besides; square is 0 then, and the axis [-1, 1].
    `chain`: the operators applied since, in order. Loss and log q are natural logarithms; slope is not 0.
    """

    low: float
    high: float
    base: float
    linear: float
    square: float
    slope: float
    offset: float
    chain: Chain = ()
    curve: tuple[float, ...] = ()

    # -- at a place of the axis ------------------------------------------------------------

    def plain(self, x: Any) -> tuple[Any, Any]:
        """(loss, log q) before any operator."""
        log_q = x * (-0.5 * self.square) if self.square else 0.0
        for power in reversed(self.curve):
            log_q = (log_q + power) * x
        if self.linear:
            log_q = log_q + self.linear
        return x * self.slope - self.offset, log_q * x + self.base

    def plain_where(self, loss: Floats) -> Floats:
        """The x of a loss before any operator."""
        x: Floats = (loss + self.offset) / self.slope
        return x

    def at(self, x: Any, f: Functions = stable) -> tuple[Any, Any]:
        """(loss, log q) at real or complex x; `f`: the arithmetic of x, of floats unless stated."""
        loss, log_q = self.plain(x)
        for operator in self.chain:
            loss, log_q = operator.apply(loss, log_q, f)
        return loss, log_q

    def where(self, loss: Floats | float) -> Floats:
        """The x of each loss, clipped to [low, high]."""
        value: Floats = np.asarray(loss, float)
        for operator in reversed(self.chain):
            value = operator.undo(value)
        return np.clip(self.plain_where(value), self.low, self.high)

    def felt(self, x: Floats) -> Floats:
        """Loss and offset before any operator, times how much of an error of them comes through."""
        loss, _ = self.plain(x)
        size, share = np.abs(loss) + 2.0 * abs(self.offset), np.ones(loss.shape)
        for operator in self.chain:
            after, _ = operator.apply(loss, 0.0, stable)
            share *= operator.slope(loss)
            loss = after
        return np.asarray(size * np.where(np.isfinite(share), share, 1.0))

    def turning(self, x: Floats) -> Floats:
        """Bound of |d loss/dx| between neighbours, also `height` above the axis: `steep`, less where sampled.

        There a loss l before sampling has |Im l| <= `_MOST_IMAGINARY` = t, so that |r e^l/(1 - r + r e^l)|,
        which is what sampling leaves of the slope, is at most 1/cos t times the same on the axis. Operators
        without poles are as steep there as anywhere.
        """
        loss, _ = self.plain(x)
        share = np.ones(max(0, x.size - 1))
        for operator in self.chain:
            after, _ = operator.apply(loss, 0.0, stable)
            if operator.poles:
                moves = operator.slope(loss) / operator.steepest
                # of a loss before sampling, on a path off the axis
                share *= np.fmin(1.0, np.maximum(moves[1:], moves[:-1]) / math.cos(1.35))
            loss = after
        return np.asarray(self.steep * np.where(np.isnan(share), 1.0, share))

    # -- shape -------------------------------------------------------------------------------

    @cached_property
    def sign(self) -> float:
        """1 where the loss rises along the axis, -1 where it falls."""
        return math.prod((op.sign for op in self.chain), start=math.copysign(1.0, self.slope))

    @cached_property
    def steep(self) -> float:
        """Bound of |d loss/dx| before sampling: for |Im x| < pi/steep the logs stay analytic."""
        return math.prod((operator.steepest for operator in self.chain), start=abs(self.slope))

    @cached_property
    def share(self) -> float:
        """The least probability, of any operator, with which the release shows anything of the unit."""
        return min((operator.share for operator in self.chain), default=1.0)

    @cached_property
    def smooth(self) -> float:
        """|Im x| up to which |q| grows by e^2 at most (normal noise), or its size stays even (all else)."""
        if self.square:
            return 2.0 / math.sqrt(self.square)
        steepest = abs(self.linear) + sum((k + 2) * abs(c) for k, c in enumerate(self.curve))
        return min(2.0 if self.curve else 6.0, 8.0 / max(steepest, 1e-300))

    @cached_property
    def poles(self) -> Floats:
        """Places of the axis beside which, off it, the loss is infinite: 1 - r + r e^l = 0 at Im l = pi."""
        places = []
        for k, operator in enumerate(self.chain):
            if operator.poles:
                loss = np.array(operator.poles)
                for before in reversed(self.chain[:k]):
                    loss = before.undo(loss)
                places.append(self.plain_where(loss))
        joined = np.concatenate(places) if places else _none()
        return np.asarray(joined[np.isfinite(joined)])

    @property
    def _bends(self) -> Floats:
        """Places of the axis about which the loss passes from one straight line to another, and loss 0."""
        return self.plain_where(np.array([0.0, *(b for op in self.chain for b in op.bends)]))

    @cached_property
    def panel(self) -> float:
        """Width of a Gauss-Legendre panel of 24 points, to rounding."""
        return min(self.smooth, 3.0 / self.steep)

    @cached_property
    def whole(self) -> bool:
        """Return whether the axis is the whole line."""
        return -self.low == self.high == math.inf

    @cached_property
    def extent(self) -> tuple[float, float]:
        """The ends; of normal noise none further than where P and Q have less than a float can hold."""
        if not self.square:
            return self.low, self.high
        # deviations of normal noise beyond which there is less than a float can hold
        far, (first, last) = 38.7 / math.sqrt(self.square), self._centres
        low, high = first - far, last + far
        return max(self.low, min(low, self.high)), min(self.high, max(high, self.low))

    @cached_property
    def range(self) -> tuple[float, float]:
        """Infimum and supremum of the loss."""
        ends = []
        for x in (self.low, self.high):
            loss = self.slope * x - self.offset
            for operator in self.chain:
                loss = operator.limit(loss)
            ends.append(loss)
        return min(ends), max(ends)

    # -- operators ----------------------------------------------------------------------------

    def reversed(self) -> Branch:
        """Q against P; twice is nothing."""
        return self.through(Reversed())

    def sampled(self, rate: Any) -> Branch:
        """(1-r) Q + r P against Q; two in a row are one of the product of the rates."""
        return self.through(SampledLoss(rate))

    def through(self, operator: Operator) -> Branch:
        """The same noise through one operator more (`replace` takes twice the time)."""
        ends, shift = (self.low, self.high), (self.slope, self.offset)
        chain = operator.after(self.chain)
        return Branch(*ends, self.base, self.linear, self.square, *shift, chain, self.curve)

    def weighted(self, log_factor: float) -> Branch:
        """P- and Q-mass times a factor: every operator leaves it where it is."""
        return replace(self, base=self.base + log_factor)

    def above(self, loss: float) -> Branch | None:
        """The part with larger losses; None where there is none."""
        x = float(self.where(loss))
        low, high = (x, self.high) if self.sign > 0.0 else (self.low, x)
        return replace(self, low=low, high=high) if low < high else None

    # -- integrals over the part of larger losses --------------------------------------------

    @cached_property
    def _centres(self) -> tuple[float, float]:
        """The outermost centres of normal noise under Q and P, before any interval is cut out; rising."""
        centre, shift = self.linear / self.square, self.slope / self.square
        least = min((operator.shifts[0] for operator in self.chain), default=0.0)
        most = math.prod(operator.shifts[1] for operator in self.chain)
        ends = centre + least * shift, centre + most * shift
        return min(ends), max(ends)

    @cached_property
    def bulk(self) -> float:
        """The x furthest along rising losses at which P or Q has its mass, before any interval is cut out."""
        if not self.square:
            return self.high if self.sign > 0.0 else self.low
        return self._centres[1] if self.sign > 0.0 else self._centres[0]

    def _edges(self, x: Floats) -> Floats:
        """Panel edges, a row for each x, from there to where nothing is left, along rising losses."""
        unit, sign = self.panel, self.sign
        end = self.high if sign > 0.0 else self.low
        # beyond the bulk normal noise falls by t r + t^2/2 nats over t deviations
        passed = np.maximum((x - self.bulk) * sign, 0.0) if self.square else np.zeros(x.shape)
        ahead = np.maximum((self.bulk - x) * sign, 0.0)
        # e^-45 of a peak is below rounding
        span = ahead + (np.sqrt(passed * passed + 2.0 * 45.0) - passed if self.square else 0.0)
        span = np.minimum(span, np.abs(end - x)) if math.isfinite(end) else span
        longest = float(span.max()) if span.size else 0.0
        count = math.ceil(longest / unit)
        if count <= 4000:
            part = np.linspace(0.0, 1.0, max(2, count) + 1)
            if self.square:  # a steep fall beyond the bulk begins at x itself
                part = np.unique(np.concatenate((part, part[1] * 0.25 ** np.arange(1.0, 4.0))))
            even: Floats = x[:, None] + sign * span[:, None] * part
            return even
        if self.square:
            raise TooFine
        # noise that falls exponentially: what matters lies at an end, or where sampling begins to be felt
        places = [0.0, longest]
        places += ((self._bends - x[0]) * sign).tolist()
        steps = unit * np.concatenate((np.arange(1.0, 33.0), 33.0 * 1.3 ** np.arange(160.0)))
        near = [p + s * steps for p in places for s in (1.0, -1.0)]
        offsets = np.unique(np.concatenate((places, *near)))
        offsets = offsets[(offsets >= 0.0) & (offsets <= longest)]
        edges: Floats = x[:, None] + sign * np.minimum(offsets[None, :], span[:, None])
        return edges

    def profile(self, eps: Floats) -> tuple[Floats, Floats]:
        """P(L > eps) - e^eps Q(L > eps), and e^eps Q(L > eps), at an array; tails keep their digits."""
        value, slope = np.zeros(eps.shape), np.zeros(eps.shape)
        for first in range(0, eps.size, 256):
            part = slice(first, first + 256)
            value[part], slope[part] = self._profile(eps[part])
        return value, slope

    def _profile(self, eps: Floats) -> tuple[Floats, Floats]:
        low, high = self.extent
        edges = self._edges(np.clip(self.where(eps), low, high))
        width = np.diff(edges, axis=1)
        x = edges[:, :-1, None] + width[..., None] * (0.5 + 0.5 * _GAUSS[0])
        loss, log_q = self.at(x)
        gap = np.minimum(eps[:, None, None] - loss, 0.0)
        with quiet():
            p = 0.5 * np.abs(width)[..., None] * _GAUSS[1] * np.exp(log_q + loss)
        return (p * -np.expm1(gap)).sum(axis=(1, 2)), (p * np.exp(gap)).sum(axis=(1, 2))

    def mass(self) -> float:
        """The P-mass of the branch."""
        masses = self._normal_masses if self.square else None
        for operator in self.chain if masses else ():
            masses = None if masses is None else operator.masses(*masses)
        if masses is not None:
            return masses[0]
        low, high = self.extent
        edges = self._edges(np.array([low if self.sign > 0.0 else high]))[0]
        width = np.diff(edges)[:, None]
        loss, log_q = self.at(edges[:-1, None] + width * (0.5 + 0.5 * _GAUSS[0]))
        return float((0.5 * np.abs(width) * _GAUSS[1] * np.exp(log_q + loss)).sum())

    @property
    def _normal_masses(self) -> tuple[float, float]:
        """P- and Q-mass before any operator, of normal noise: log q + k loss is a square for k = 1 and 0."""
        root, masses = math.sqrt(0.5 * self.square), []
        for linear, offset in ((self.linear + self.slope, self.offset), (self.linear, 0.0)):
            centre = linear / self.square
            low, high = root * (self.low - centre), root * (self.high - centre)
            if high < 0.0:  # of two tails on one side the difference of the smaller ones
                low, high = -high, -low
            share = 0.5 * (math.erfc(low) - math.erfc(high)) * math.sqrt(math.pi) / root
            # the two squares are large, and nearly the same
            masses.append(share * math.exp(self.base + (0.5 * linear * centre - offset)))
        return masses[0], masses[1]

    def cells(self, edges: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """(ends, x, log_p, loss) of the cells that rising edges make, from one end of this to the other.

        Ends of cells on both axes; the log of the P-mass of each, and its loss as a whole. By Gauss and
        Legendre: where the logs of the integrands turn by 0.06 over half a cell four nodes leave less than
        1e-16 of it, and so do eight where that is 1; wider cells are cut up.
        """
        with quiet():
            far = np.array(self.extent)[:: int(self.sign)]
            low, high = self.at(far)[0].tolist()
            inside = edges[(edges > low) & (edges < high)]
            ends = np.concatenate(([low], inside, [high]))
            # an edge a rounding away from an end has its place beyond it, or at infinity
            x = np.concatenate((far[:1], np.clip(self.where(inside), *self.extent), far[1:]))
        reach = np.maximum(np.abs(x[1:]), np.abs(x[:-1]))
        # how much the logs of either density change per x at most
        turns = self.square * reach + abs(self.linear) + self.steep
        turn = np.abs(np.diff(x)) * np.maximum(0.5 * turns, 2.5 / self.panel)
        parts = np.maximum(np.ceil(turn), 1.0).astype(np.int64)
        log_p, loss = np.full(turn.shape, -math.inf), ends[:-1].copy()
        slim = turn <= 0.06
        # 4 million parts take about a second
        if parts.sum() > turn.size + (1 << 22):
            raise TooFine
        for some, rule in ((slim & (turn > 0.0), _SLIM_GAUSS), (~slim, _CELL_GAUSS)):
            at = np.flatnonzero(some)
            blocks = min(at.size, math.ceil(int(parts[at].sum()) / (1 << 14)))
            for block in np.array_split(at, blocks) if at.size else ():
                count = parts[block]
                width = np.repeat(np.diff(x)[block] / count, count)
                place = np.arange(width.size) - np.repeat(np.cumsum(count) - count, count)
                left = np.repeat(x[block], count) + width * place
                log_p[block], loss[block] = self._integrated(block, ends, left, width, count, rule)
        return ends, x, log_p, loss

    def _integrated(
        self,
        cells: npt.NDArray[np.intp],
        ends: Floats,
        left: Floats,
        width: Floats,
        count: npt.NDArray[np.int64],
        rule: tuple[Floats, Floats],
    ) -> tuple[Floats, Floats]:
        """Log P-mass and loss of these cells, of so many parts each, which begin at `left`."""
        start = np.cumsum(count) - count
        wide = bool((ends[cells + 1] > ends[cells] + 0.5).any())
        low = np.repeat(ends[cells], count)
        loss, log_q = self.at(left[:, None] + width[:, None] * (0.5 + 0.5 * rule[0]))
        with quiet():
            log_half = np.log(0.5 * np.abs(width))

            def summed(logs: Floats) -> tuple[Floats, Floats]:
                top = logs.max(axis=1) if wide else logs[:, 0].copy()
                weights = np.exp(logs - top[:, None]) * rule[1]
                return weights, top + log_half + np.log(weights.sum(axis=1))

            weights, log_p = summed(log_q + loss)
            excess = (weights * -np.expm1(-np.maximum(loss - low[:, None], 0.0))).sum(axis=1)
            share = excess / weights.sum(axis=1)
            log_masses = summed(log_q)[1] if wide else log_p
            if log_p.size > cells.size:
                total = np.logaddexp.reduceat(log_p, start)
                share = np.add.reduceat(share * np.exp(log_p - np.repeat(total, count)), start)
                log_p, log_masses = total, np.logaddexp.reduceat(log_masses, start)
            # the loss of the whole from sums of positive terms, whichever keeps its digits
            merged = np.where(
                share < 0.5, ends[cells] - np.log1p(-np.minimum(share, 0.5)), log_p - log_masses
            )
        return log_p, np.minimum(merged, ends[cells + 1])


def rounding(losses: Floats, before: float) -> Floats:
    """Bound the rounding error of atoms at these losses, which sampling made of losses up to `before`."""
    size = np.abs(losses)
    return np.asarray(4.0 * ULPS * size + ULPS * before * np.minimum(size, 1.0))


# -- the distribution ------------------------------------------------------------------------------


def _none() -> Floats:
    return np.empty(0)


@dataclass(frozen=True, eq=False)
class LossDistribution:
    """P against Q in one direction. Equal laws hash alike, so that a composition adds their counts.

    losses, log_q: finite atoms, by the logarithm of their Q-mass. branches: all else that is finite.
    infinite: P-mass where Q is 0; lost: Q-mass where P is 0. before: the largest loss of an atom before
    samples made it smaller; what it is rounded by is a share of that.

    >>> coin = LossDistribution.of_outcomes([1.0, -1.0], [0.731058578630005, 0.268941421369995])
    >>> [round(float(v), 6) for v in coin.sampled(0.5).losses]
    [0.620115, -0.379885]
    """

    losses: Floats = field(default_factory=_none)
    log_q: Floats = field(default_factory=_none)
    branches: tuple[Branch, ...] = ()
    infinite: float = 0.0
    lost: float = 0.0
    before: float = 0.0

    @staticmethod
    def of_outcomes(losses: Iterable[float], p: Iterable[float]) -> LossDistribution:
        """Finitely many outcomes, by loss and P-mass > 0."""
        listed = np.array(list(losses), float)
        return LossDistribution(listed, np.log(np.array(list(p), float)) - listed)

    @cached_property
    def _key(self) -> tuple[object, ...]:
        return (
            self.losses.tobytes(),
            self.log_q.tobytes(),
            self.branches,
            self.infinite,
            self.lost,
            self.before,
        )

    @cached_property
    def _hash(self) -> int:
        return hash(self._key)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, LossDistribution) and self._key == other._key

    # -- operators ---------------------------------------------------------------------------

    @cached_property
    def _reverse(self) -> LossDistribution:
        back = LossDistribution(
            -self.losses,
            self.log_q + self.losses,
            tuple(branch.reversed() for branch in self.branches),
            self.lost,
            self.infinite,
            self.before,
        )
        back.__dict__["_reverse"] = self  # reversing twice restores the law to all digits
        return back

    def reversed(self) -> LossDistribution:
        """Q against P: l -> -l, log q -> log q + l, infinite <-> lost."""
        return self._reverse

    def sampled(self, rate: Any) -> LossDistribution:
        """(1-r) Q + r P against Q: l -> log(1 - r + r e^l), log q stays; `rate` in (0, 1]."""
        if rate == 1:
            return self
        r, before = float(rate), self.before
        losses, log_q = self.losses, self.log_q
        if losses.size:
            before = max(before, float(np.abs(losses).max()))
            losses = stable.mixed_loss(r, losses)
        if self.lost > 0.0:  # outcomes that P misses are merely unlikely under the mixture
            losses = np.append(losses, math.log1p(-r))
            log_q = np.append(log_q, math.log(self.lost))
        branches = tuple(branch.sampled(rate) for branch in self.branches)
        return LossDistribution(losses, log_q, branches, r * self.infinite, before=before)

    def through(self, operator: Operator) -> LossDistribution:
        """The law after any operator; nothing may be infinite or lost."""
        losses, log_q = operator.apply(self.losses, self.log_q, stable)
        return LossDistribution(
            losses,
            log_q,
            tuple(branch.through(operator) for branch in self.branches),
            before=max(self.before, float(np.abs(self.losses).max(initial=0.0))),
        )

    def exchanged(self, operator: Exchanged) -> LossDistribution:
        """One record exchanged for another, of the pair (with a record, without).

        With turn -1 the operator acts everywhere. With turn 0 it acts where the loss is above its least,
        -level; there the other record has its least loss, and the rest is the mirror image.
        """
        if operator.turn:
            return self.through(operator)
        top = self.losses > (1.0 - 1e-9) * -float(operator.level)
        half = LossDistribution(self.losses[top], self.log_q[top], self.branches)
        return half.through(operator).mirrored()

    def mirrored(self) -> LossDistribution:
        """Losses above 0, their mirror images, the rest at 0: after `sampled`, C_r of Dong, Roth, Su 2022."""
        top = self.losses > 0.0
        losses, log_q = self.losses[top], self.log_q[top]
        parts = (branch.above(0.0) for branch in self.branches)
        branches = [branch for branch in parts if branch is not None]
        pairs = [(branch, branch.reversed()) for branch in branches]
        losses, log_q = np.concatenate((losses, -losses)), np.concatenate((log_q, log_q + losses))
        finite = float(np.exp(log_q + losses).sum())
        finite += sum(branch.mass() + other.mass() for branch, other in pairs)
        rest = 1.0 - self.infinite - finite
        if rest > 1e-15:  # less is rounding, and a loss of 0 adds nothing to any moment
            losses, log_q = np.append(losses, 0.0), np.append(log_q, math.log(rest))
        both = tuple(branch for pair in pairs for branch in pair)
        return LossDistribution(losses, log_q, both, self.infinite, self.infinite, self.before)

    def thinned(self, rate: float) -> LossDistribution:
        """A coin that both neighbours share: with probability r this loss, else none."""
        if rate == 1:
            return self
        r = float(rate)
        return LossDistribution(
            np.append(self.losses, 0.0),
            np.append(self.log_q + math.log(r), math.log1p(-r)),
            tuple(branch.weighted(math.log(r)) for branch in self.branches),
            r * self.infinite,
            r * self.lost,
            self.before,
        )

    # -- facts -------------------------------------------------------------------------------

    @property
    def stated_profile(self) -> Callable[[Floats], Floats] | None:
        """None: `profile` is that of these losses and nothing more."""
        return None

    @property
    def round(self) -> None:
        """None: a single release is no round of a coin."""
        return None

    @property
    def stacked(self) -> None:
        """None: a single release is no stack."""
        return None

    @cached_property
    def log_p(self) -> Floats:
        """Log P-masses of the atoms."""
        return self.log_q + self.losses

    @cached_property
    def range(self) -> tuple[float, float]:
        """Infimum and supremum of the finite losses."""
        ends = [branch.range for branch in self.branches]
        if self.losses.size:
            ends.append((float(self.losses.min()), float(self.losses.max())))
        return min(low for low, _ in ends), max(high for _, high in ends)

    @cached_property
    def gaussian(self) -> float | None:
        """mu, where the loss is normal with mean mu^2/2 and variance mu^2, and nothing else; else None."""
        if len(self.branches) != 1 or self.losses.size or self.infinite or self.lost:
            return None
        branch = self.branches[0]
        plain = all(operator.keeps_normal for operator in branch.chain)
        return abs(branch.slope) if branch.whole and plain and branch.square == 1.0 else None

    @cached_property
    def variance(self) -> float:
        """About E[L^2] (losses beyond 5 count as 5), for a first idea of the tilt; a Gaussian's variance."""
        if self.gaussian is not None:
            return self.gaussian**2
        total = 0.0
        if self.losses.size:
            total += float(np.exp(self.log_p) @ np.minimum(self.losses**2, 25.0))
        for branch in self.branches:
            low, high = max(branch.low, -_ROUGH), min(branch.high, _ROUGH)
            if low >= high:  # cut out beyond: about where P has its mass
                low = max(branch.low, branch.bulk - _ROUGH)
                high = min(branch.high, branch.bulk + _ROUGH)
            if low >= high:
                continue
            x = _ROUGH_GRID if high - low == 2.0 * _ROUGH else low + (high - low) * _ROUGH_PARTS
            loss, log_q = branch.at(x)
            square = np.minimum(loss * loss, 25.0)
            total += float(np.exp(log_q + loss) @ square) * (high - low) / (_ROUGH_PARTS.size - 1)
        return total

    # -- one step ----------------------------------------------------------------------------

    def profile(self, eps: Floats, atoms: bool = True) -> tuple[Floats, Floats]:
        """E_P[(1 - e^{eps - L})_+] of the finite losses, and E_Q[e^eps; L > eps], at each of an array.

        Their sum is P(L > eps); minus the second is the slope of the first. Infinite mass comes on top.

        >>> import math
        >>> pure = LossDistribution.of_outcomes([1.0, -1.0], [0.731058578630005, 0.268941421369995])
        >>> value, slope = pure.profile(np.array([0.5]))
        >>> round(float(value[0]), 10) == round(0.731058578630005 * (1 - math.exp(-0.5)), 10)
        True
        """
        value, slope = np.zeros(eps.shape), np.zeros(eps.shape)
        if atoms and self.losses.size:
            gap = np.subtract.outer(eps, self.losses)
            p = np.where(gap < 0.0, np.exp(self.log_p), 0.0)
            gap = np.minimum(gap, 0.0)
            value += (p * -np.expm1(gap)).sum(axis=-1)
            slope += (p * np.exp(gap)).sum(axis=-1)
        for branch in self.branches:
            more, steeper = branch.profile(eps)
            value, slope = value + more, slope + steeper
        return value, slope


_ROUGH = 10.0  # deviations, for first ideas
_ROUGH_PARTS = np.linspace(0.0, 1.0, 41)
_ROUGH_GRID = _ROUGH * (2.0 * _ROUGH_PARTS - 1.0)


# -- what several mechanisms state -------------------------------------------------------------------


def gaussian(mu: float) -> LossDistribution:
    """N(mu, 1) against N(0, 1)."""
    return LossDistribution(
        branches=(
            Branch(
                -math.inf, math.inf, -(0.5 * math.log(2.0 * math.pi)), 0.0, 1.0, mu, 0.5 * mu * mu
            ),
        )
    )


def normal(mu_squared: Any) -> LossDistribution:
    """Gaussian noise on the axis of the loss, N(-mu^2/2, mu^2) under Q; not for contours."""
    m = mu_squared
    base = -0.125 * m - 0.5 * log(2.0 * pi(m) * m)
    return LossDistribution(branches=(Branch(-math.inf, math.inf, base, -0.5, 1.0 / m, 1.0, 0.0),))


def between(low: Any, high: Any, base: Any, linear: float = -0.5) -> Branch:
    """Log Q-density base + linear l of the loss l itself on an interval."""
    return Branch(low, high, base, linear, 0.0, 1.0, 0.0)


def laplace(reach: Any) -> LossDistribution:
    """Laplace noise that moves by so many scales: Q has 1/2 at the least loss, P at the largest.

    Density e^{-(reach + l)/2}/4 between, under Q.
    """
    half = log(2.0 + 0.0 * reach)  # log 2, to as many digits as the reach has
    density = between(-reach, reach, -0.5 * reach - 2.0 * half)
    return LossDistribution(np.array([reach, -reach]), np.array([-reach - half, -half]), (density,))

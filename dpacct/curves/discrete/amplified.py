"""What sampling does to a law in pieces: each piece of the base becomes one of the amplified pair.

With base pair (P0, Q0), base loss l, rate q and r(l) = log(1 - q + q e^l):

    remove     ((1-q) Q0 + q P0, Q0)    loss r
    add        (Q0, (1-q) Q0 + q P0)    loss -r; the base is (P0, Q0) = (with, without) as for remove
    symmetric  C_q of the base's trade-off function (Dong, Roth, Su 2022, Definition 4.1): r and its mirror
               image where l > 0, no evidence elsewhere. The base must be its own mirror image.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpacct.curves.amplify import Direction
from dpacct.curves.gaussian_laws import log_ratio
from dpacct.engine.discrete.pieces import DiscreteSource, Pieces, bracketed, least_loss, pointed
from dpacct.engine.stable import Floats

# relative rounding of r(l)
_OWN = 5e-16


def _ratio(rate: float, loss: Floats) -> Floats:
    """r at finite and infinite losses."""
    with np.errstate(divide="ignore"):
        values = log_ratio(rate, np.where(np.isposinf(loss), 0.0, loss))
    return np.where(np.isposinf(loss), math.inf, values)


def _inverse(rate: float, loss: Floats) -> Floats:
    """l with r(l) = loss; -inf below log(1 - q)."""
    growth = np.expm1(np.minimum(loss, 600.0))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        scaled = growth / rate
        inside = np.where(scaled > -1.0, np.log1p(np.maximum(scaled, -1.0)), -math.inf)
        # 1 + scaled is scaled to rounding, which may be above all floats
        inside = np.where(scaled > 1e17, np.log(growth) - math.log(rate), inside)
    return np.where(loss > 600.0, loss - math.log(rate), inside)


def sampled(base: DiscreteSource, rate: float, direction: Direction) -> DiscreteSource:
    """The base on a sample, or the base itself where nothing is left out of it."""
    if direction is Direction.PLAIN or rate == 1.0:
        return base
    return Amplified(base, rate, direction)


@dataclass(frozen=True)
class Amplified:
    """A source on a sample of this rate, in (0, 1)."""

    base: DiscreteSource
    rate: float
    direction: Direction

    @property
    def atoms(self) -> Floats:
        if self.direction is Direction.SYMMETRIC:
            favoured = _ratio(self.rate, self.base.atoms[self.base.atoms > 0.0])
            return np.concatenate((-favoured[::-1], [0.0], favoured))
        ratios = _ratio(self.rate, self.base.atoms)
        return np.sort(-ratios) if self.direction is Direction.ADD else ratios

    @property
    def least(self) -> float:
        if self.direction is not Direction.REMOVE:
            return -math.inf
        base = least_loss(self.base)
        bottom = math.log1p(-self.rate)
        return bottom if base == -math.inf else float(_ratio(self.rate, np.array([base]))[0])

    @property
    def bracketed(self) -> bool:
        return bracketed(self.base)

    @property
    def only_atoms(self) -> bool:
        return self.base.only_atoms

    @property
    def pointed(self) -> bool:
        return pointed(self.base)

    def span(self, log_mass: float) -> tuple[float, float]:
        # P holds (1-q) Q0 + q P0: what is rare in it is rarer still in q P0
        low, high = self.base.span(log_mass)
        ends = _ratio(self.rate, np.array([min(-high, low), high]))
        if self.direction is Direction.SYMMETRIC:
            return -float(ends[1]), float(ends[1])
        if self.direction is Direction.ADD:
            return -float(ends[1]), -float(ends[0])
        return float(ends[0]), float(ends[1])

    def pieces(self, edges: Floats, *, upper: bool) -> Pieces:
        rate = self.rate
        if self.direction is Direction.SYMMETRIC:
            return self._symmetric(edges, upper)
        add = self.direction is Direction.ADD
        base = self.base.pieces(_inverse(rate, -edges[::-1] if add else edges), upper=upper)
        mixed = np.logaddexp(math.log1p(-rate) + base.log_q, math.log(rate) + base.log_p)
        low, high = _ratio(rate, base.low), _ratio(rate, base.high)
        loss, unsure, slip = self._losses(base, low, high)
        slack = base.slack + 4e-16
        if add:
            return Pieces(base.log_q, mixed, -high, -low, slack, slip, -loss, unsure)
        return Pieces(mixed, base.log_q, low, high, slack, slip, loss, unsure)

    def _losses(self, base: Pieces, low: Floats, high: Floats) -> tuple[Floats, Floats, Floats]:
        """The losses of whole pieces, what these are off by, and what ends are.

        An error of the base's loss counts dr/dl = q e^l / (1 - q + q e^l) of itself.
        """
        rate = self.rate
        whole, unsure = base.losses()
        loss = _ratio(rate, whole)

        def slope(at: Floats, image: Floats) -> Floats:
            with np.errstate(over="ignore", invalid="ignore"):
                found = np.exp(math.log(rate) + at - image)
            return np.where(np.isfinite(found), np.minimum(found, 1.0), 1.0)

        with np.errstate(invalid="ignore"):
            own = _OWN * np.where(np.isfinite(loss), np.abs(loss), 0.0)
            ends = np.where(np.isfinite(high), slope(base.high, high), slope(base.low, low))
            size = np.abs(np.where(np.isfinite(high), high, np.where(np.isfinite(low), low, 0.0)))
        slip = base.slips() * ends + _OWN * size
        return loss, np.asarray(unsure * slope(whole, loss) + own), np.asarray(slip)

    def _symmetric(self, edges: Floats, upper: bool) -> Pieces:
        rate = self.rate
        positive = np.unique(np.concatenate(([0.0], edges[edges > 0.0], -edges[edges < 0.0])))
        cut = _inverse(rate, positive) if edges.size else edges
        base = self.base.pieces(cut, upper=upper)
        base = base.where(base.high > 0.0)
        log_p, log_q = base.log_p, base.log_q
        mixed = np.logaddexp(math.log1p(-rate) + log_q, math.log(rate) + log_p)
        low, high = _ratio(rate, base.low), _ratio(rate, base.high)
        loss, unsure, slip = self._losses(base, low, high)
        favoured = Pieces(mixed, log_q, low, high, base.slack + 4e-16, slip, loss, unsure)
        if upper:
            favoured = _within_one(favoured)
        rest = 1.0 - float(np.exp(favoured.log_p).sum()) - float(np.exp(favoured.log_q).sum())
        # a sum of many terms: its rounding is charged
        margin = 1e-15
        rest = max(0.0, rest + (margin if upper else -margin))
        with np.errstate(divide="ignore"):
            log_rest = np.log(np.array([rest]))
        none = np.zeros(1) if rest > 0.0 else np.array([-math.inf])
        neutral = Pieces(log_rest, log_rest, none, none, 4e-16, 0.0, none, 0.0)
        return Pieces.join(favoured, mirrored(favoured), neutral)


def mirrored(pieces: Pieces) -> Pieces:
    """The same of the pair (Q, P)."""
    loss, unsure = pieces.losses()
    return Pieces(
        pieces.log_q,
        pieces.log_p,
        -pieces.high,
        -pieces.low,
        pieces.slack,
        pieces.slip,
        -loss,
        unsure,
    )


def _within_one(favoured: Pieces) -> Pieces:
    """Losses above 0 of a pair that is its own mirror image: P- and Q-mass of at most one together.

    An upper law may have moved a mass from 0 to a little above it, and so into its own mirror image too.
    Then what lies below some l > 0 becomes a point at l: the chord of the profile from -l to l, which lies
    above it. It has a kink of (1 - p - q) / (1 + e^l) in Q at l, with p and q what is above.
    """
    p, q = np.exp(favoured.log_p), np.exp(favoured.log_q)
    if float(p.sum()) + float(q.sum()) <= 1.0 + 1e-13:
        return favoured
    order = np.argsort(favoured.low)
    pieces, both = favoured.where(order), (p + q)[order]
    above = np.append(np.cumsum(both[::-1])[::-1], 0.0)
    ends = np.maximum.accumulate(pieces.high)
    first = int(np.argmax(above <= 1.0))
    while first < both.size and float(ends[first - 1]) > float(pieces.low[first]) * (1.0 + 1e-12):
        first += 1
    at = float(ends[first - 1])
    if at == math.inf:
        return favoured
    share = max(1.0 - float(above[first]), 0.0) + 1e-15
    log_q = math.log(share) - float(np.logaddexp(0.0, at))
    slip = float(np.max(favoured.slips()))
    where, mass = np.array([at]), np.array([log_q + at])
    point = Pieces(mass, np.array([log_q]), where, where, 1e-15, slip, where, slip)
    return Pieces.join(pieces.where(np.arange(first, both.size)), point)

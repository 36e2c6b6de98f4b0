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
from dpacct.engine.discrete.pieces import DiscreteSource, Pieces
from dpacct.engine.stable import Floats


def _ratio(rate: float, loss: Floats) -> Floats:
    """r at finite and infinite losses."""
    with np.errstate(divide="ignore"):
        values = log_ratio(rate, np.where(np.isposinf(loss), 0.0, loss))
    return np.where(np.isposinf(loss), math.inf, values)


def _inverse(rate: float, loss: Floats) -> Floats:
    """l with r(l) = loss; -inf below log(1 - q)."""
    bounded = np.minimum(loss, 600.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = np.expm1(bounded) / rate
        inside = np.where(scaled > -1.0, np.log1p(np.maximum(scaled, -1.0)), -math.inf)
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
    def only_atoms(self) -> bool:
        return self.base.only_atoms

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
        slack = base.slack + 4e-16
        if add:
            return Pieces(base.log_q, mixed, -high, -low, slack)
        return Pieces(mixed, base.log_q, low, high, slack)

    def _symmetric(self, edges: Floats, upper: bool) -> Pieces:
        rate = self.rate
        positive = np.unique(np.concatenate(([0.0], edges[edges > 0.0], -edges[edges < 0.0])))
        base = self.base.pieces(_inverse(rate, positive), upper=upper)
        kept = base.high > 0.0
        log_p, log_q = base.log_p[kept], base.log_q[kept]
        mixed = np.logaddexp(math.log1p(-rate) + log_q, math.log(rate) + log_p)
        low, high = _ratio(rate, base.low[kept]), _ratio(rate, base.high[kept])
        rest = 1.0 - float(np.exp(mixed).sum()) - float(np.exp(log_q).sum())
        # a sum of many terms: its rounding is charged
        margin = 1e-15
        rest = max(0.0, rest + (margin if upper else -margin))
        none = np.zeros(1)
        with np.errstate(divide="ignore"):
            log_rest = np.log(np.array([rest]))
        if rest == 0.0:
            none = np.array([-math.inf])
        return Pieces(
            np.concatenate((mixed, log_q, log_rest)),
            np.concatenate((log_q, mixed, log_rest)),
            np.concatenate((low, -high, none)),
            np.concatenate((high, -low, none)),
            base.slack + 4e-16,
        )

"""Compositions of few outcomes: all of them, how often each falls having a multinomial law."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dpacct.engine.discrete.pieces import (
    NO_LOSSES,
    DiscreteSource,
    Pieces,
    Sources,
    bracketed,
)
from dpacct.engine.discrete.whole import gathered
from dpacct.engine.stable import Floats

MOST_OUTCOMES = 1 << 15
"""Outcomes of a composition that are still listed one by one."""
# losses that nodes can be made to meet, and outcomes of one step
_FEW = 64


@dataclass(frozen=True)
class Listed:
    """The composition of sources (each with its count) of which `may_be_listed` is true."""

    parts: tuple[tuple[DiscreteSource, int], ...]

    bracketed = False
    pointed = True

    @cached_property
    def points(self) -> Pieces:
        """Every outcome; those of one loss together."""
        found: Pieces | None = None
        for source, count in self.parts:
            one = _power(source, count)
            found = one if found is None else _product(found, one)
        assert found is not None
        return _together(found)

    @property
    def only_atoms(self) -> bool:
        return self.points.low.size <= _FEW

    @property
    def atoms(self) -> Floats:
        return self.points.low if self.only_atoms else NO_LOSSES

    @property
    def least(self) -> float:
        return float(self.points.low[0])

    def span(self, log_mass: float) -> tuple[float, float]:
        points = self.points
        kept = points.low[points.log_p > log_mass]
        return (float(kept[0]), float(kept[-1])) if kept.size else (self.least, self.least)

    def pieces(self, edges: Floats, *, upper: bool) -> Pieces:
        points = self.points
        return points if self.only_atoms or not edges.size else gathered(points, edges)


def may_be_listed(sources: Sources) -> bool:
    """Whether the outcomes of all steps together are few, and all losses finite."""
    total = 1.0
    for source, count in sources:
        if not source.only_atoms or bracketed(source) or count != round(count):
            return False
        kinds = source.atoms.size
        if not 0 < kinds <= _FEW:
            return False
        ways = math.lgamma(count + kinds) - math.lgamma(count + 1.0) - math.lgamma(kinds)
        total *= math.exp(min(ways, 100.0))
        if total > MOST_OUTCOMES:
            return False
    return all(_finite(source) for source, _ in sources)


def _finite(source: DiscreteSource) -> bool:
    one = source.pieces(source.atoms, upper=True)
    return bool(np.isfinite(one.low).all() and np.isfinite(one.log_p).all())


def _together(points: Pieces) -> Pieces:
    """Outcomes in the order of losses, those that differ by rounding alone as one."""
    points = points.where(np.argsort(points.low))
    losses, unsure = points.losses()
    near = np.diff(losses) <= 4.0 * float(np.max(unsure))
    if not near.any():
        return points
    starts = np.flatnonzero(np.append(True, ~near))
    counts = np.diff(np.append(starts, losses.size))

    def summed(logs: Floats) -> Floats:
        most = np.maximum.reduceat(logs, starts)
        return np.asarray(
            most + np.log(np.add.reduceat(np.exp(logs - np.repeat(most, counts)), starts))
        )

    spread = np.maximum.reduceat(losses, starts) - losses[starts]
    middle = losses[starts] + 0.5 * spread
    slack = float(np.max(points.slack)) + 1.2e-16 * float(counts.max())
    rounding = float(np.max(unsure)) + spread
    return Pieces(
        summed(points.log_p),
        summed(points.log_q),
        middle,
        middle,
        slack,
        rounding,
        middle,
        rounding,
    )


def _power(source: DiscreteSource, count: int) -> Pieces:
    """The outcomes of so many steps."""
    one: Pieces = source.pieces(source.atoms, upper=True)
    if count == 1:
        return one
    often = _ways(one.low.size, count)
    from scipy.special import gammaln

    many = math.lgamma(count + 1.0) - gammaln(often + 1.0).sum(axis=1)
    slack = count * float(np.max(one.slack)) + 1e-15 * (math.lgamma(count + 1.0) + one.low.size)
    loss, unsure = one.losses()
    log_p, log_q, losses = (often @ values for values in (one.log_p, one.log_q, loss))
    size = often @ np.abs(loss)
    rounding = often @ np.broadcast_to(unsure, loss.shape) + 1e-15 * size
    slack += 1e-15 * float(np.abs(log_p).max() + np.abs(log_q).max())
    return Pieces(many + log_p, many + log_q, losses, losses, slack, rounding, losses, rounding)


def _product(one: Pieces, other: Pieces) -> Pieces:
    """The outcomes of both."""

    def outer(a: Floats, b: Floats) -> Floats:
        return np.add.outer(a, b).ravel()

    (first, unsure), (second, more) = one.losses(), other.losses()
    shapes = first.shape, second.shape
    rounding = outer(np.broadcast_to(unsure, shapes[0]), np.broadcast_to(more, shapes[1]))
    losses = outer(first, second)
    rounding = rounding + 2e-16 * np.abs(losses)
    log_p, log_q = outer(one.log_p, other.log_p), outer(one.log_q, other.log_q)
    slack = float(np.max(one.slack)) + float(np.max(other.slack))
    slack += 2e-16 * float(np.abs(log_p).max() + np.abs(log_q).max())
    return Pieces(log_p, log_q, losses, losses, slack, rounding, losses, rounding)


def _ways(kinds: int, count: int) -> npt.NDArray[np.float64]:
    """How often each kind falls in `count` draws: one row for each way."""
    rows = np.zeros((1, 0))
    left = np.array([count])
    for _ in range(kinds - 1):
        rows = np.repeat(rows, left + 1, axis=0)
        starts = np.repeat(np.cumsum(left + 1) - (left + 1), left + 1)
        drawn = np.arange(rows.shape[0]) - starts
        left = np.repeat(left, left + 1) - drawn
        rows = np.column_stack((rows, drawn))
    return np.column_stack((rows, left))

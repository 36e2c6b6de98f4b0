"""Steps that are one step together, exactly: Gaussians, and few outcomes each."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpacct.engine.discrete.pieces import DiscreteSource, Pieces, Sources, bracketed
from dpacct.engine.stable import Floats

from .normal import NormalSource

MOST_OUTCOMES = 1 << 15
"""Outcomes of a composition that are still listed one by one."""


@dataclass(frozen=True, eq=False)
class Listed:
    """All outcomes of a composition, as points."""

    points: Pieces

    only_atoms = True
    bracketed = False
    least = -math.inf

    @property
    def atoms(self) -> Floats:
        return np.unique(self.points.low[np.isfinite(self.points.low)])

    def span(self, log_mass: float) -> tuple[float, float]:
        atoms = self.atoms
        return (float(atoms[0]), float(atoms[-1])) if atoms.size else (0.0, 0.0)

    def pieces(self, edges: Floats, *, upper: bool) -> Pieces:
        return self.points


def merged(sources: Sources) -> Sources:
    """The same composition of fewer sources, where that is exact.

    Gaussians compose to one (the squares of mu add). Where all sources have few outcomes, those of all
    steps together are listed: how often each falls has a multinomial law.
    """
    normal = [(source, n) for source, n in sources if isinstance(source, NormalSource)]
    if len(normal) > 1 or (normal and normal[0][1] > 1.0):
        mu = math.sqrt(math.fsum(n * source.mu**2 for source, n in normal))
        rest = [(source, n) for source, n in sources if not isinstance(source, NormalSource)]
        return [(NormalSource(mu), 1.0), *rest]
    listed = _listed(sources)
    return sources if listed is None else [(listed, 1.0)]


def _listed(sources: Sources) -> Listed | None:
    total = 1.0
    for source, count in sources:
        if not source.only_atoms or bracketed(source) or count != round(count):
            return None
        kinds = source.atoms.size
        if not 0 < kinds < 64:
            return None
        total *= math.exp(
            math.lgamma(count + kinds) - math.lgamma(count + 1.0) - math.lgamma(kinds)
        )
        if total > MOST_OUTCOMES:
            return None
    found: Pieces | None = None
    for source, count in sources:
        one = _power(source, int(count))
        if one is None:
            return None
        found = one if found is None else _product(found, one)
    return None if found is None else Listed(found)


def _power(source: DiscreteSource, count: int) -> Pieces | None:
    """The outcomes of so many steps; None if some have no finite loss."""
    one: Pieces = source.pieces(source.atoms, upper=True)
    if not np.isfinite(one.low).all() or not np.isfinite(one.log_p).all():
        return None
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

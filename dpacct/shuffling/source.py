"""A shuffle as one step of a composition: its losses as a table that the lattice engine cuts up."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from dpacct.pld.pieces import Pieces, Source
from dpacct.pld.stable import Floats

from .binomial import HALF, LOG_CUT, reach
from .count import Count
from .hidden import loss, outcomes
from .leftover import leftover
from .letters import Letters, Mixture, mixture

_POINTS = 1 << 21
"""Outcomes that are looked at, about, at most."""
_NODES = 1 << 16
"""Losses of a table, at most."""
_ENTRIES = 4800
_FEWEST = 8
# log of the P-mass of the largest losses that compositions take as infinite
_LOG_RARE = -60.0
# losses that nodes can be made to meet
_FEW = 2048


@dataclass(frozen=True, eq=False)
class Table:
    """Losses in increasing order with their masses under P and Q; `rounding` bounds relative errors."""

    losses: Floats
    p: Floats
    q: Floats
    rounding: float

    @cached_property
    def log_p(self) -> Floats:
        """Logs of the P-masses."""
        with np.errstate(divide="ignore"):
            return np.log(self.p)


@dataclass(frozen=True)
class ShuffleSource(Source):
    """The pair of a shuffle's letters, or of a count, rounded to one side: `upper` tells at least as much.

    What its table leaves out is as good as infinite above, and counts for nothing below.
    """

    of: Letters | Count
    upper: bool

    # `infinite` stays 0: what the table leaves out is only as good as infinite

    @cached_property
    def _mixture(self) -> Mixture:
        assert isinstance(self.of, Letters)
        telling = 2.0 * self.of.share * self.of.clients + 1.0
        first, last = reach(math.ceil(telling), HALF)
        blocks = min(max(_POINTS // (last - first + 1), _FEWEST), _ENTRIES)
        return mixture(self.of, self.upper, blocks)

    @cached_property
    def table(self) -> Table:
        """Its outcomes, rounded to the source's side."""
        return _table(self)

    @cached_property
    def left(self) -> tuple[Floats, Floats]:
        """(losses, logs of P-masses) of what the table leaves out, rounded up; nothing where not `upper`."""
        if not self.upper:
            return np.empty(0), np.empty(0)
        assert isinstance(self.of, Letters)
        losses, logs = leftover(self.of)
        return np.minimum(losses, self.of.largest_loss), logs

    @cached_property
    def variance(self) -> float:
        """E[L^2], about."""
        return float(self.table.p @ np.square(self.table.losses))

    def log_moments(self, tilts: Floats) -> Floats:
        """Rounded up, with what the table leaves out: that is no infinite loss, as no loss exceeds eps0.

        So Renyi divergences are finite at every order: sums over the table, upper bounds if it is upper.
        """
        losses, logs = self.left
        losses = np.concatenate((self.table.losses, losses))
        level = np.concatenate((self.table.log_p, logs)) + np.multiply.outer(tilts, losses)
        top = level.max(axis=1)
        total = top + np.log(np.exp(level - top[:, None]).sum(axis=1))
        charge: Floats = self.table.rounding + 1e-15 * (4.0 + np.abs(tilts) * self.of.largest_loss)
        return np.asarray(total + charge)

    @property
    def atoms(self) -> Floats:
        """All losses, where these are few."""
        return np.asarray(self._near[0].losses if self.only_atoms else np.empty(0), float)

    @property
    def only_atoms(self) -> bool:
        """Whether losses are so few that nodes can meet each."""
        return self._near[0].losses.size <= _FEW

    def span(self, log_mass: float) -> tuple[float, float]:
        """Losses outside which the table has less than e^log_mass at each end."""
        table = self._near[0]
        bar = math.exp(max(log_mass, -700.0))
        low = int(np.searchsorted(np.cumsum(table.p), bar))
        high = table.p.size - 1 - int(np.searchsorted(np.cumsum(table.p[::-1]), bar))
        low, high = min(low, high), max(low, high)
        return float(table.losses[low]), float(table.losses[high])

    @cached_property
    def _near(self) -> tuple[Table, float]:
        """The table without its rarest large losses, and the log of all P-mass that is left out."""
        table = self.table
        rare = np.cumsum(table.p[::-1])[::-1] < math.exp(_LOG_RARE)
        logs = np.concatenate((self.left[1], table.log_p[rare]))
        kept = Table(table.losses[~rare], table.p[~rare], table.q[~rare], table.rounding)
        return kept, float(np.logaddexp.reduce(logs)) if logs.size else -math.inf

    def pieces(self, edges: Floats, *, upper: bool) -> Pieces:
        """All outcomes of a cell together: what is between two nodes is spread by its two masses alone."""
        table, log_left = self._near
        starts = np.searchsorted(table.losses, edges, side="left")
        starts = np.unique(np.concatenate(([0], starts[starts < table.losses.size])))
        ends = np.append(starts[1:], table.losses.size)
        p, q = np.add.reduceat(table.p, starts), np.add.reduceat(table.q, starts)
        slack = table.rounding + 1.2e-16 * float((ends - starts).max())
        low, high = table.losses[starts], table.losses[ends - 1]
        kept = (p > 0.0) & (q > 0.0)
        # moments, which need the losses of what is rare, take the whole table (law.py)
        left = math.exp(log_left + slack) if self.upper else 0.0
        log_p = np.log(p[kept])
        loss = log_p - np.log(q[kept])
        lowest, highest = np.asarray(low[kept], float), np.asarray(high[kept], float)
        return Pieces(log_p, loss, lowest, highest, slack, 2.0 * slack, slack, left)


@lru_cache(maxsize=8)  # each method of a comparison asks for the same one
def _table(source: ShuffleSource) -> Table:
    if isinstance(source.of, Count):
        losses, p, q = source.of.outcomes()
        return Table(losses, p, q, source.of.rounding)
    return tabulated(source._mixture, upper=source.upper)


def tabulated(mixture: Mixture, *, upper: bool) -> Table:
    """The outcomes of a mixture: as they are where they are few, else merged to the asked side.

    Upper: each is split between the two nodes around it so that both masses are kept (a chord of the
    profile); lower: all within a cell become one, which is post-processing.
    """
    parts = list(outcomes(mixture)) if mixture.messages.sum() <= 4 * _NODES else None
    rounding = mixture.rounding + 2e-12
    if parts is not None:
        losses, p, q = (np.concatenate(column) for column in zip(*parts, strict=True))
        order = np.argsort(losses, kind="stable")
        losses, p, q = losses[order], p[order], q[order]
        # equal losses of different entries differ in their last digits
        fresh = np.append(True, np.diff(losses) > 4e-15 * (1.0 + np.abs(losses[1:])))
        starts = np.flatnonzero(fresh)
        return Table(
            losses[starts], np.add.reduceat(p, starts), np.add.reduceat(q, starts), rounding
        )
    reached = _furthest(mixture)
    low, step = -reached * (1.0 + 1e-9), 2.0 * reached * (1.0 + 2e-9) / (_NODES - 1)
    sums = np.zeros((2, _NODES))
    for losses, p, q in outcomes(mixture):
        place = np.clip(np.floor((losses - low) / step), 0.0, _NODES - 2.0)
        cell = place.astype(np.int64)
        if upper:
            above = losses - (low + step * place)
            up = p * np.clip(np.expm1(-above) / math.expm1(-step), 0.0, 1.0)
            sums[0] += np.bincount(cell, weights=p - up, minlength=_NODES)
            sums[0] += np.bincount(cell + 1, weights=up, minlength=_NODES)
        else:
            sums[0] += np.bincount(cell, weights=p, minlength=_NODES)
            sums[1] += np.bincount(cell, weights=q, minlength=_NODES)
    kept = sums[0] > 0.0
    if upper:
        nodes = (low + step * np.arange(_NODES))[kept]
        p = sums[0][kept]
        # a node's place is right to rounding of the splitting, which is relative to the cell
        return Table(nodes, p, p * np.exp(-nodes), rounding + 1e-13)
    kept &= sums[1] > 0.0
    p, q = sums[0][kept], sums[1][kept]
    return Table(np.log(p / q), p, q, rounding + 1e-12)


def _furthest(mixture: Mixture) -> float:
    """The largest loss of any entry's outcomes."""
    wide = -LOG_CUT / 3.0 + np.sqrt(LOG_CUT * LOG_CUT / 9.0 - 0.5 * mixture.messages * LOG_CUT)
    ones = np.minimum(mixture.messages, np.ceil(0.5 * mixture.messages + wide) + 2.0)
    return float(loss(ones, mixture.messages - ones, mixture.falls, mixture.gaps).max())

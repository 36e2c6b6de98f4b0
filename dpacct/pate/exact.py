"""The cost itself, of the released labels: exact Renyi divergences, and epsilon by composing exact laws.

One unit's data either joins, leaves, or changes, in all queries at once; and the two data sets can be told
apart in either order. These are the sides of the question, and the cost is the largest of them.

For each side the worst neighbour of each query is taken by itself: an upper end, and reached where the unit
could have voted that way in every query. Epsilon from above composes, query by query, the law that dominates
all neighbours (`dominating`); from below, the one neighbour with the largest divergence.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dpacct.pate.argmax import NOBODY, Moves, laws
from dpacct.pate.divergence import renyi
from dpacct.pate.dominating import ROUNDING, hull
from dpacct.pate.histograms import Histograms
from dpacct.pate.level import Level
from dpacct.pate.noise import Noise
from dpacct.pate.screening import Screening
from dpacct.pate.spread import box_pair, boxes
from dpacct.pate.vote_lattice import FiniteLaws, compose, points_for
from dpacct.pld import conversions
from dpacct.pld.stable import Floats

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Places = NDArray[np.intp]

_ROWS = 400
MOST_COMPOSED = 3000
"""Up to so many kinds of query their laws are composed; beyond, exact Renyi divergences are added."""


@dataclass(frozen=True)
class Side:
    """One order of the two data sets, and what changes: P and Q of each neighbour, by query."""

    name: str  # "from": P is the votes, Q a neighbour; "to": the other way round
    row: Places
    log_p: Floats
    log_q: Floats


@dataclass(frozen=True)
class ExactCost:
    """Epsilon of the labels: ends, and the Renyi divergence of each kind of query at each order.

    `one_way` is the upper end for P the votes and Q a neighbour only. `lower` is None where the laws
    were not composed.
    """

    lower: float | None
    upper: float
    one_way: float
    orders: Floats
    renyi: Floats


@dataclass(frozen=True)
class Exact:
    """Exact laws of the labels at some kinds of queries and at their neighbours."""

    histograms: Histograms
    level: Level
    noise: Noise
    screening: Screening | None = None
    spread: bool = False  # agents may spread their votes: pairs that dominate whatever they do

    def sides(self) -> Iterator[tuple[Places, list[Side]]]:
        """All sides of some queries at a time, with the places of these queries."""
        size = self.histograms.counts.shape[0]
        for start in range(0, size, _ROWS):
            places = np.arange(start, min(start + _ROWS, size))
            yield (
                places,
                [
                    Side(side.name, side.row + start, side.log_p, side.log_q)
                    for side in self._sides(self.histograms.rows(places))
                ],
            )

    def _sides(self, part: Histograms) -> Iterator[Side]:
        if self.spread:
            yield from self._spread(part)
            return
        alike = part.residual is None
        found = laws(part.counts, self.level, self.noise, alike=alike)
        own, other = found.own, found.other
        if self.screening is not None:
            residual = part.residual if part.residual is not None else part.counts.astype(float)
            own = self.screening.joined(part.top, own)
            other = self.screening.joined(
                self.screening.neighbours(residual, found.moves, self.level), other
            )
        for chosen in _changes(found.moves, self.level):
            rows, theirs = found.moves.row[chosen], other[chosen]
            mine = own[rows]
            yield Side("from", rows, mine, theirs)
            yield Side("to", rows, theirs, mine)

    def _spread(self, part: Histograms) -> Iterator[Side]:
        """Agents that join, and that leave: the pair of the box that the law stays in, either way."""
        found = laws(part.counts, self.level, self.noise, alike=False, negative=True)
        rows, own = part.counts.shape[0], found.own
        joined, left = (
            found.other[chosen].reshape(rows, -1, part.counts.shape[1])
            for chosen in _changes(found.moves, self.level)
        )
        ends = list(boxes(own, joined, left))
        if self.screening is not None:
            step = self.level.step
            tops = (part.top, part.top + step), (part.top - step, part.top)
            for i, (top, (low, high)) in enumerate(zip(tops, tuple(ends), strict=True)):
                ends[i] = self.screening.between(top, low, high)
            own = self.screening.joined(part.top, own)
        for low, high in ends:
            pairs = [box_pair(*one) for one in zip(own, low, high, strict=True)]
            size = max(p.size for p, _ in pairs)
            p, q = (np.full((rows, size), -np.inf) for _ in range(2))
            for i, (ours, theirs) in enumerate(pairs):
                p[i, : ours.size], q[i, : theirs.size] = ours, theirs
            yield Side("from", np.arange(rows), q, p)
            yield Side("to", np.arange(rows), p, q)

    def renyi(self, orders: Floats) -> tuple[list[str], Floats]:
        """Names of the sides, and sides x queries x orders: the worst neighbour's divergence."""
        names: list[str] = []
        parts: list[Floats] = []
        for places, sides in self.sides():
            names = [side.name for side in sides]
            table = np.zeros((len(sides), places.size, orders.size))
            for place, side in enumerate(sides):
                found = renyi(side.log_p, side.log_q, orders)
                np.maximum.at(table[place], side.row - int(places[0]), found)
            parts.append(table)
        return names, np.concatenate(parts, axis=1)

    def cost(
        self, count: Floats, delta: float, orders: Floats, rest: Floats | None = None
    ) -> ExactCost:
        """Epsilon at delta of so many queries of each kind.

        `rest` bounds at each order the Renyi divergence of queries that are not among the kinds.
        """
        names, table = self.renyi(orders)
        shown, granted = table.max(axis=0), self
        if not self.level.proven:
            granted = replace(self, spread=True)
            names, table = granted.renyi(orders)
        log_delta = math.log(delta)
        totals = np.einsum("k,sko->so", count, table) + (0.0 if rest is None else rest)
        uppers = [converted(total, orders, log_delta) for total in totals]
        lower = None
        if rest is None and count.size <= MOST_COMPOSED:
            lower, uppers = self._composed(granted, count, log_delta, uppers)
        one_way = max(u for name, u in zip(names, uppers, strict=True) if name == "from")
        upper = max(uppers)
        return ExactCost(
            None if lower is None else min(lower, upper), upper, one_way, orders, shown
        )

    def _composed(
        self, granted: Exact, count: Floats, log_delta: float, uppers: list[float]
    ) -> tuple[float, list[float]]:
        """A lower end, and upper ends of each of the granted sides that are no larger than those given."""
        collected = granted._collected()
        found, tilts = list(uppers), []
        for place, parts in enumerate(collected):
            laws = FiniteLaws.of([hull(p, q) for p, q in _by_row(parts, count.size)], count)
            tilts.append(laws.best_tilt(log_delta))
            found[place] = min(
                found[place], compose(laws, tilts[-1], points_for(laws)).epsilon(log_delta)
            )
        # from below: the side that is largest from above, and in it one neighbour for each query
        place = int(np.argmax(found))
        order = 1.0 + tilts[place]
        collected = collected if granted is self else self._collected()
        worst = FiniteLaws.of(
            [_worst(p, q, order) for p, q in _by_row(collected[place], count.size)], count
        )
        fine, coarse = (
            compose(worst, tilts[place], points).epsilon(log_delta)
            for points in (points_for(worst), points_for(worst) // 2)
        )
        room = 2.0 * abs(fine - coarse) + 1e-9 * (1.0 + fine) if math.isfinite(fine) else math.inf
        return max(0.0, fine - room) if math.isfinite(room) else 0.0, found

    def _collected(self) -> list[list[Side]]:
        """Every side with the parts of all queries."""
        return [list(parts) for parts in zip(*(sides for _, sides in self.sides()), strict=True)]


def converted(log_moment_rate: Floats, orders: Floats, log_delta: float) -> float:
    """The least epsilon over the orders, of Renyi divergences at each; rounded up."""
    s = orders - 1.0
    finite = np.isfinite(log_moment_rate)
    values = [
        conversions.epsilon(rate * power, power, log_delta)
        for rate, power in zip(log_moment_rate[finite].tolist(), s[finite].tolist(), strict=True)
    ]
    return max(0.0, min(values, default=math.inf)) * (1.0 + 1e-13)


def _changes(moves: Moves, level: Level) -> Iterator[NDArray[np.bool_]]:
    """Neighbours of one sort each: a vote more, a vote fewer; or a vote moved."""
    if level.is_agent:
        yield moves.source == NOBODY
        yield moves.target == NOBODY
    else:
        yield np.ones(moves.row.shape, dtype=bool)


def _by_row(parts: list[Side], rows: int) -> Iterator[tuple[Floats, Floats]]:
    """The neighbours of each query in turn; a query that has none of the sort costs nothing."""
    row = np.concatenate([side.row for side in parts])
    log_p = np.concatenate([side.log_p for side in parts])
    log_q = np.concatenate([side.log_q for side in parts])
    place = np.argsort(row, kind="stable")
    ends = np.searchsorted(row[place], np.arange(rows + 1))
    nothing = np.zeros((1, 1))
    for index in range(rows):
        chosen = place[ends[index] : ends[index + 1]]
        yield (log_p[chosen], log_q[chosen]) if chosen.size else (nothing, nothing)


def _worst(log_p: Floats, log_q: Floats, order: float) -> tuple[Floats, Floats, float]:
    """The law of the one neighbour with the largest divergence at this order."""
    worst = int(np.argmax(renyi(log_p, log_q, np.array([order]))[:, 0]))
    losses, masses, infinite = hull(log_p[worst : worst + 1], log_q[worst : worst + 1])
    return losses, masses, infinite - ROUNDING

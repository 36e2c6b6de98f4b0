"""The cost itself, of the released labels: exact Renyi divergences, and epsilon by composing exact laws.

One unit's data either joins, leaves, or changes, in all queries at once; and the two data sets can be told
apart in either order. These are the sides of the question, and the cost is the largest of them.

For each side the worst neighbour of each query is taken by itself: an upper end, and reached where the unit
could have voted that way in every query. Epsilon from above composes, query by query, the law that dominates
all neighbours (`dominating`); from below, the one neighbour with the largest divergence.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dpacct.pate.argmax import NOBODY, Moves, laws
from dpacct.pate.composed import Neighbours, composed, divergences
from dpacct.pate.histograms import Histograms
from dpacct.pate.level import Level
from dpacct.pate.noise import Noise
from dpacct.pate.screening import Screening
from dpacct.pate.spread import box_pair, boxes
from dpacct.pld import conversions
from dpacct.pld.stable import Floats

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Places = NDArray[np.intp]
    Rest = Callable[[Floats], Floats]

_ORDERS = 22
_ROWS = 400
MOST_COMPOSED = 5000
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
    """Epsilon of the labels: ends, and the Renyi divergence of each kind of query at the order asked.

    `one_way` is the upper end for P the votes and Q a neighbour only. `lower` is None where the laws
    were not composed.
    """

    lower: float | None
    upper: float
    one_way: float
    renyi: Floats


@dataclass(frozen=True)
class Exact:
    """Exact laws of the labels at some kinds of queries and at their neighbours."""

    histograms: Histograms
    level: Level
    noise: Noise
    screening: Screening | None = None
    spread: bool = False  # agents may spread their votes: pairs that dominate whatever they do

    @property
    def reach(self) -> float:
        """The largest margin that is integrated, in shares; below 0 where none is."""
        return self.noise.reach(self.level.step)

    def sides(self) -> Iterator[tuple[Places, list[Side]]]:
        """All sides of some queries at a time, with the places of these queries."""
        size = self.histograms.counts.shape[0]
        for start in range(0, size, _ROWS):
            places = np.arange(start, min(start + _ROWS, size))
            split = self._spread if self.spread else self._split
            yield places, list(split(self.histograms.rows(places), start))

    def _split(self, part: Histograms, start: int) -> Iterator[Side]:
        alike = part.residual is None
        result = laws(part.counts, self.level, self.noise, alike=alike)
        own, other = result.own, result.other
        if self.screening is not None:
            residual = part.residual if part.residual is not None else part.counts.astype(float)
            own = self.screening.joined(part.top, own)
            other = self.screening.joined(
                self.screening.neighbours(residual, result.moves, self.level), other
            )
        for chosen in _changes(result.moves, self.level):
            rows, theirs = result.moves.row[chosen], other[chosen]
            yield Side("from", rows + start, own[rows], theirs)
            yield Side("to", rows + start, theirs, own[rows])

    def _spread(self, part: Histograms, start: int) -> Iterator[Side]:
        """Agents that join, and that leave: the pair of the box that the law stays in, either way."""
        result = laws(part.counts, self.level, self.noise, alike=False, negative=True)
        rows, own = part.counts.shape[0], result.own
        joined, left = (
            result.other[chosen].reshape(rows, -1, part.counts.shape[1])
            for chosen in _changes(result.moves, self.level)
        )
        ends = list(boxes(own, joined, left))
        if self.screening is not None:
            step = self.level.step
            tops = (part.top, part.top + step), (part.top - step, part.top)
            for i, (top, (low, high)) in enumerate(zip(tops, tuple(ends), strict=True)):
                ends[i] = self.screening.between(top, low, high)
            own = self.screening.joined(part.top, own)
        for low, high in ends:
            pairs = [box_pair(*box) for box in zip(own, low, high, strict=True)]
            size = max(p.size for p, _ in pairs)
            p, q = (np.full((rows, size), -np.inf) for _ in range(2))
            for i, (ours, theirs) in enumerate(pairs):
                p[i, : ours.size], q[i, : theirs.size] = ours, theirs
            yield Side("from", np.arange(rows) + start, q, p)
            yield Side("to", np.arange(rows) + start, p, q)

    def renyi(self, orders: Floats) -> tuple[list[str], Floats]:
        """Names of the sides, and sides x queries x orders: the worst neighbour's divergence."""
        names: list[str] = []
        parts: list[Floats] = []
        for places, sides in self.sides():
            names = [side.name for side in sides]
            table = np.zeros((len(sides), places.size, orders.size))
            for place, side in enumerate(sides):
                result = divergences(side.log_p, side.log_q, orders)
                np.maximum.at(table[place], side.row - int(places[0]), result)
            parts.append(table)
        return names, np.concatenate(parts, axis=1)

    def deltas(self, epsilon: float) -> Floats:
        """Delta of each query's label: the worst neighbour, either way."""
        worst = np.zeros(self.histograms.counts.shape[0])
        for _, sides in self.sides():
            for side in sides:
                # p - e^eps q without cancellation where they are close
                with np.errstate(invalid="ignore", over="ignore"):
                    excess = np.exp(side.log_p) * -np.expm1(epsilon + side.log_q - side.log_p)
                excess = np.where(side.log_p == -np.inf, 0.0, excess)
                np.maximum.at(worst, side.row, np.maximum(excess, 0.0).sum(axis=1))
        return worst

    def wrong(self) -> Floats:
        """How likely another class than the leader wins each query."""
        own = laws(self.histograms.counts, self.level, self.noise).own
        return np.asarray(np.exp(own[:, 1:]).sum(axis=1))

    def cost(
        self, count: Floats, delta: float, order: float, rest: Rest | None = None
    ) -> ExactCost:
        """Epsilon at delta of so many queries of each kind, and each kind's Renyi divergence at an order.

        `rest` bounds, at any orders, the Renyi divergence of queries that are not among the kinds.
        """
        log_delta = math.log(delta)
        granted = self if self.level.proven else replace(self, spread=True)
        if rest is None and count.size <= MOST_COMPOSED:
            sides = self.collected(count)
            uppers = sides if granted is self else granted.collected(count)
            lower, value = composed(sides, uppers, log_delta)
            shown = np.max([side.divergences(order) for side in sides], axis=0)
            lower = min(lower, max(value.values()))
            return ExactCost(lower, max(value.values()), value["from"], shown)
        orders = around(order)
        names, table = granted.renyi(orders)
        others = 0.0 if rest is None else rest(orders)
        totals = np.einsum("k,sko->so", count, table) + others
        ends = [converted(total, orders, log_delta) for total in totals]
        one_way = max(end for name, end in zip(names, ends, strict=True) if name == "from")
        if granted is not self:
            orders = np.array([order])
            table = self.renyi(orders)[1]
        at = int(np.argmin(np.abs(orders - order)))
        return ExactCost(None, max(ends), one_way, table[:, :, at].max(axis=0))

    def collected(self, count: Floats) -> list[Neighbours]:
        """Every side with the neighbours of all queries."""
        return [
            Neighbours.of(parts[0].name, [(p.log_p, p.log_q, p.row) for p in parts], count)
            for parts in zip(*(sides for _, sides in self.sides()), strict=True)
        ]


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


def around(order: float) -> Floats:
    """Orders to add exact divergences at: the truth's best order lies above that of a bound."""
    s = order - 1.0
    return np.unique(np.append(1.0 + np.geomspace(0.4 * s, 25.0 * s, _ORDERS), order))

"""The exact cost of released labels: Rényi divergences, and epsilon by composing exact laws.

One unit's data either joins, leaves, or changes, in all queries at once; and the two data sets can be told
apart in either order. These are the sides of the question, and the cost is the largest of them.

For each side the worst neighbour of each query is taken by itself: an upper end, and reached where the unit
could have voted that way in every query. Epsilon from above composes, query by query, the law that dominates
all neighbours; from below, the one neighbour with the largest divergence (`composed`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dpacct.pld.stable import Floats
from dpacct.voting.argmax import NOBODY, Moves, laws
from dpacct.voting.composed import Neighbours, composed, of_epsilon
from dpacct.voting.histograms import Histograms
from dpacct.voting.level import Level
from dpacct.voting.noise import Noise
from dpacct.voting.screening import Screening
from dpacct.voting.spread import box_pair, boxes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Places = NDArray[np.intp]
    Rest = Callable[[Floats], Floats]
    Law = tuple[str, Places, Floats, Floats]

_ORDERS = 22
_ROWS = 400
MOST_COMPOSED = 5000
"""Up to so many kinds of query their laws are composed; beyond, exact Renyi divergences are added."""


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

    def sides(self, count: Floats | None = None) -> list[Neighbours]:
        """Each order of the two data sets and sort of change, of so many queries of each kind.

        "from": P is the votes and Q a neighbour; "to" the other way round; by turns.
        """
        many = np.ones(self.histograms.counts.shape[0]) if count is None else count
        split = self._spread if self.spread else self._split
        return [Neighbours.of(*side, many) for side in split(self.histograms)]

    def _split(self, part: Histograms) -> Iterator[Law]:
        result = laws(part.counts, self.level, self.noise, alike=part.residual is None)
        at_votes, nearby = result.base, result.other
        if self.screening is not None:
            residual = part.residual if part.residual is not None else part.counts.astype(float)
            at_votes = self.screening.joined(part.top, at_votes)
            nearby = self.screening.joined(
                self.screening.neighbours(residual, result.moves, self.level), nearby
            )
        for chosen in _changes(result.moves, self.level):
            rows, theirs = result.moves.row[chosen], nearby[chosen]
            yield "from", rows, at_votes[rows], theirs
            yield "to", rows, theirs, at_votes[rows]

    def _spread(self, part: Histograms) -> Iterator[Law]:
        """Agents that join, and that leave: the pair of the box that the law stays in, either way."""
        result = laws(part.counts, self.level, self.noise, alike=False, negative=True)
        rows, at_votes = part.counts.shape[0], result.base
        joined, left = (
            result.other[chosen].reshape(rows, -1, part.counts.shape[1])
            for chosen in _changes(result.moves, self.level)
        )
        ends = list(boxes(at_votes, joined, left))
        if self.screening is not None:
            step = self.level.step
            tops = (part.top, part.top + step), (part.top - step, part.top)
            for i, (top, (low, high)) in enumerate(zip(tops, tuple(ends), strict=True)):
                ends[i] = self.screening.between(top, low, high)
            at_votes = self.screening.joined(part.top, at_votes)
        for low, high in ends:
            pairs = [box_pair(*box) for box in zip(at_votes, low, high, strict=True)]
            size = max(p.size for p, _ in pairs)
            p, q = (np.full((rows, size), -np.inf) for _ in range(2))
            for i, (ours, theirs) in enumerate(pairs):
                p[i, : ours.size], q[i, : theirs.size] = ours, theirs
            yield "from", np.arange(rows), q, p
            yield "to", np.arange(rows), p, q

    # -- each query by itself ------------------------------------------------------------------

    def _parts(self) -> Iterator[tuple[Places, Exact]]:
        """Some queries at a time."""
        size = self.histograms.counts.shape[0]
        for start in range(0, size, _ROWS):
            places = np.arange(start, min(start + _ROWS, size))
            yield places, replace(self, histograms=self.histograms.rows(places))

    def _each(self, ask: Callable[[Neighbours], Floats]) -> Floats:
        """The largest value over the sides, for each query."""
        return np.concatenate(
            [np.max([ask(side) for side in part.sides()], axis=0) for _, part in self._parts()]
        )

    def renyi(self, order: float) -> Floats:
        """The Renyi divergence of each query's label: the worst neighbour, either way."""
        return self._each(lambda side: side.divergences(order))

    def deltas(self, epsilon: float) -> Floats:
        """Delta of each query's label: the worst neighbour, either way."""
        return self._each(lambda side: side.deltas(epsilon))

    def wrong(self) -> Floats:
        """How likely another class than the leader wins each query."""
        log_p = laws(self.histograms.counts, self.level, self.noise).base
        return np.asarray(np.exp(log_p[:, 1:]).sum(axis=1))

    # -- all of them ----------------------------------------------------------------------------

    def both(self, count: Floats) -> tuple[list[Neighbours], list[Neighbours]]:
        """The sides of so many queries of each kind: what is realised, and what bounds all a unit does."""
        sides = self.sides(count)
        return sides, sides if self.level.proven else replace(self, spread=True).sides(count)

    def cost(
        self, count: Floats, log_delta: float, order: float, rest: Rest | None = None
    ) -> ExactCost:
        """Epsilon at log delta of so many queries of each kind, and each kind's divergence at an order.

        `rest` bounds, at any orders, the Renyi divergence of queries that are not among the kinds.
        """
        if rest is None and count.size <= MOST_COMPOSED:
            sides, granted = self.both(count)
            shown = np.max([side.divergences(order) for side in sides], axis=0)
            return ExactCost(*composed(sides, granted, of_epsilon(log_delta)), shown)
        orders = around(order)
        parts, totals = list[Floats](), np.zeros(1)
        for places, part in self._parts():
            sides, granted = part.both(count[places])
            parts.append(np.max([side.divergences(order) for side in sides], axis=0))
            totals = totals + np.array([side.log_moments(orders - 1.0) for side in granted])
        rates = totals / (orders - 1.0) + (0.0 if rest is None else rest(orders))
        ends = [float(converted(rate, orders, log_delta).min()) for rate in rates]
        return ExactCost(None, max(ends), max(ends[::2]), np.concatenate(parts))


def converted(divergences: Floats, orders: Floats, log_delta: float) -> Floats:
    """Epsilon by each Renyi divergence at its order (`conversions.epsilon`); rounded up."""
    s = orders - 1.0
    log_peak = -np.log1p(s) - s * np.log1p(1.0 / s)
    values = np.maximum(divergences + (log_peak - log_delta) / s, 0.0) * (1.0 + 1e-13)
    return np.asarray(np.where(np.isfinite(divergences), values, np.inf))


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

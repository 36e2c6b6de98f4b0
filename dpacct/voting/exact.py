"""The exact cost of released labels: Rényi divergences, and epsilon by composing exact laws.

One unit's data either joins, leaves, or changes, in all queries at once; and the two data sets can be told
apart in either order. These are the sides of the question, and the cost is the largest of them.

For each side the worst neighbour of each query is taken by itself: an upper end, and reached where the unit
could have voted that way in every query. From above each query stands for all of its neighbours: by the
largest Renyi divergence among them at one order, or by the pair whose hockey-stick divergences are the
largest of theirs at every epsilon. What a test can reach, (Q(S), P(S)), is a curve for each neighbour,
outcomes added by falling ratio p/q; the upper hull of all curves is the curve of a pair of laws
(Blackwell), whose composition bounds theirs (Zhu, Dong, Wang 2022). From below it is the one neighbour that
tells most at the saddle.

"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dpacct.pld import contour, conversions, rows
from dpacct.pld.interval import Interval
from dpacct.pld.stable import Floats
from dpacct.pld.stack import Stack
from dpacct.voting.argmax import NOBODY, CountNoise, Screening, laws
from dpacct.voting.votes import Histograms, Level

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Places = NDArray[np.intp]


# --- a side of the question, and its composition

ROUNDING = 4e-15
"""The joint error of a histogram's probabilities, granted to an infinite loss."""
_MOST_HULLS = 400  # kinds: beyond, the Renyi bound is the smaller one
_FEW = 64  # queries whose lattices are quick
_FEWEST = 32  # queries that never are as good as a density
_MOST_ROWS = 1000  # of a lattice: each needs a table of its own
_LARGEST = 600.0
_START = 3.0


@dataclass(frozen=True, eq=False)
class Neighbours:
    """One side: the losses of every neighbour of every query, in the order of the queries.

    `kinds` are the queries that have such a neighbour, `start` the first one of each, `count` how often that
    query comes. `endless`: some of P lies where Q is 0, so that the Renyi divergence is infinite.
    """

    name: str
    queries: int
    row: Places
    log_p: Floats
    log_q: Floats
    every: Stack
    endless: NDArray[np.bool_]
    kinds: Places
    start: Places
    count: Floats

    @classmethod
    def of(cls, name: str, row: Places, log_p: Floats, log_q: Floats, count: Floats) -> Neighbours:
        """Make it from each neighbour's query, its log P and log Q, and the multiplicity of each query."""
        order = np.argsort(row, kind="stable")
        row, log_p, log_q = row[order], log_p[order], log_q[order]
        every, endless = _losses(log_p, log_q)
        kinds, start = np.unique(row, return_index=True)
        return cls(name, count.size, row, log_p, log_q, every, endless, kinds, start, count[kinds])

    def _moments(self, c: float) -> tuple[Floats, Floats]:
        """log M of each neighbour at a tilt, and the largest of each query."""
        entry = self.every.log_moments(np.array([c]))[:, 0]
        each = np.where(self.endless, np.inf, entry)
        return each, np.maximum.reduceat(each, self.start) if each.size else each

    def divergences(self, order: float) -> Floats:
        """The largest Renyi divergence of each query; 0 where it has no neighbour of the sort."""
        values = np.zeros(self.queries)
        values[self.kinds] = self._moments(order - 1.0)[1] / (order - 1.0)
        return values

    def worst(self, c: float) -> tuple[Stack, float]:
        """Each query's neighbour with the largest log M at a tilt, and the sum of these log M."""
        each, most = self._moments(c)
        group = np.repeat(np.arange(self.start.size), np.diff(np.append(self.start, each.size)))
        hit = np.flatnonzero(each == most[group])
        chosen = self.every.chosen(hit[np.unique(group[hit], return_index=True)[1]])
        stack = Stack(chosen.rows, chosen.masses, chosen.endless, self.count)
        return stack, float(self.count @ most)

    def hulls(self) -> Stack:
        """The pair that dominates all neighbours of each query."""
        place = np.searchsorted(self.kinds, self.row)
        return Stack(*hulls(self.log_p, self.log_q, place, self.kinds.size), self.count)


def _losses(log_p: Floats, log_q: Floats) -> tuple[Stack, NDArray[np.bool_]]:
    """The laws as rows, and which of them have P-mass where Q has none.

    What the likeliest outcome has lost is what all others have gained: its own loss would be rounding.
    """
    lead = np.argmax(log_q, axis=1)[:, None]
    with np.errstate(invalid="ignore", divide="ignore", over="ignore", under="ignore"):
        losses = np.where(log_p == log_q, 0.0, log_p - log_q)
        moved = np.exp(log_p) - np.exp(log_q)
        np.put_along_axis(moved, lead, 0.0, axis=1)
        share = -moved.sum(axis=1, keepdims=True) / np.exp(np.take_along_axis(log_q, lead, axis=1))
        exact = np.where(
            share > -0.5,
            np.log1p(np.maximum(share, -0.5)),
            np.take_along_axis(losses, lead, axis=1),
        )
    np.put_along_axis(losses, lead, exact, axis=1)
    endless = (losses == np.inf) & (log_p > -np.inf)
    finite = np.where(np.isinf(losses), 0.0, losses)
    count = np.ones(log_p.shape[0])
    stack = Stack(finite, np.where(endless, -np.inf, log_p), np.zeros(count.size), count)
    return stack, endless.any(axis=1)


# -- epsilon or delta of a composition -----------------------------------------------------------


def _bound(log_moment: float, c: float, log_delta: float) -> float:
    """An upper end of epsilon by a log moment at its tilt; inf by an infinite one."""
    if not math.isfinite(log_moment):
        return math.inf
    return max(0.0, conversions.epsilon(log_moment, c, log_delta)) * (1.0 + 1e-13)


def composed(sides: Sequence[Neighbours], log_delta: float) -> tuple[float, float, float]:
    """(lower end, upper end, upper end by the sides "from" the votes)."""
    lower, uppers = 0.0, dict[str, float]()
    looked = [(*least_renyi(side, log_delta), side) for side in sides if side.kinds.size]
    slow = False  # lattices of many queries: only the side that leads is asked from below
    # the costliest first: a side that is known to cost less needs no second look
    for bound, c, side in sorted(looked, key=lambda asked: -asked[0]):
        tilts, least = [c] * (bound < math.inf), bound
        if bound > uppers.get(side.name, -math.inf):
            if not bound < math.inf or side.start.size <= _MOST_HULLS:
                stack = side.hulls()
                tilts.append(stack.tilt_for_epsilon(log_delta, c))
                least = min(bound, _solved(stack, log_delta, tilts[-1], math.inf).upper)
            uppers[side.name] = max(uppers.get(side.name, -math.inf), least)
        if least > (max(uppers.values()) * (1.0 - 1e-9) if slow else lower):
            lower, slow = _least(side, tilts, log_delta, lower)
    upper = max(uppers.values())
    return min(lower, upper), upper, uppers["from"]


def least_renyi(side: Neighbours, log_delta: float) -> tuple[float, float]:
    """(upper end by the worst neighbours' Renyi divergences, the tilt that gives it)."""
    readings: dict[float, float] = {}

    def bound(c: float) -> Stack:
        stack, log_moment = side.worst(c)
        readings[c] = _bound(log_moment, c, log_delta)
        return stack

    # the worst neighbours at a tilt, the best tilt for them, until both stay
    stack, c = side.worst(_START)[0], _START
    for _ in range(4):
        c = stack.tilt_for_epsilon(log_delta, c)
        expected = _bound(stack.log_moment(c), c, log_delta)
        stack = bound(c)
        if readings[c] <= expected + 1e-6 * abs(expected) or not math.isfinite(readings[c]):
            break
    else:  # the least lies between two choices, where the largest of both has a kink
        for step in (0.2, 0.1, 0.05, 0.025, 0.0125):
            c = min(readings, key=lambda x: readings[x])
            for trial in (c * math.exp(-step), c * math.exp(step)):
                bound(trial)
    c = min(readings, key=lambda x: readings[x])
    return readings[c], c


def _least(
    side: Neighbours, tilts: list[float], log_delta: float, least: float
) -> tuple[float, bool]:
    """A lower end: the cost of the neighbours with the largest log M at a tilt near the saddle.

    At least what is known; and whether it took lattices of many queries.
    """
    best, seen = least, set[bytes]()
    while tilts:
        c = tilts.pop()
        stack, _ = side.worst(c)
        key = stack.masses.tobytes()
        if key not in seen:
            seen.add(key)
            tilt = stack.tilt_for_epsilon(log_delta, c)
            answer = _solved(stack, log_delta, tilt, best)
            best = max(best, answer.lower)
            if answer.tilt > 0.0:  # at the contour's own tilt others may tell more
                tilts.append(answer.tilt)
            elif stack.count.sum() > _FEW:
                return best, True
    return best, False


def _solved(stack: Stack, log_delta: float, tilt: float, beyond: float) -> Interval:
    """Solve for one choice of laws by a contour; few queries on a lattice, from below if beyond a number."""
    queries = float(stack.count.sum())
    if queries > _FEWEST:
        target = math.exp(log_delta) - stack.infinite
        if not target > 0.0:
            return Interval(math.inf, 0.0, math.inf)
        answer = contour.epsilon([(stack, 1.0)], math.log(target))
        if answer.resolved:
            return answer
    if stack.count.size > _MOST_ROWS:
        return Interval(math.inf, -math.inf, math.inf)
    return rows.epsilon(stack, log_delta, tilt, beyond=beyond)


def hulls(log_p: Floats, log_q: Floats, row: Places, rows: int) -> tuple[Floats, Floats, Floats]:
    """(losses, log P-masses, mass at infinity) of the pair that dominates all neighbours of each row.

    Gift wrapping, a corner of every row at a step.

    >>> hull = hulls(*(np.log([x]) for x in ([0.75, 0.25], [0.25, 0.75])), np.array([0]), 1)
    >>> hull[0].round(6).tolist(), np.exp(hull[1]).round(6).tolist()
    ([[1.098612, -1.098612]], [[0.75, 0.25]])
    """
    with np.errstate(invalid="ignore"):
        ratio = np.where(log_p == log_q, 0.0, log_p - log_q)
    order = np.argsort(-ratio, axis=1, kind="stable")
    p = np.cumsum(np.exp(np.take_along_axis(log_p, order, axis=1)), axis=1)[:, :-1]
    q = np.cumsum(np.exp(np.take_along_axis(log_q, order, axis=1)), axis=1)[:, :-1]
    # all points of a row in one line, (1, 1) at its end
    place = np.argsort(row, kind="stable")
    size = np.bincount(row, minlength=rows)
    start, each = np.cumsum(size) - size, p.shape[1]
    x, y = (np.full((rows, size.max() * each + 1), np.nan) for _ in range(2))
    slot = (np.arange(row.size) - np.repeat(start, size))[:, None] * each + np.arange(each)
    lines = np.repeat(np.arange(rows), size)[:, None]
    x[lines, slot], y[lines, slot] = q[place], p[place]
    x[:, -1] = y[:, -1] = 1.0
    x0, y0 = np.zeros(rows), np.zeros(rows)
    losses: list[Floats] = []
    masses: list[Floats] = []
    infinite = np.full(rows, ROUNDING)
    live = np.arange(rows)
    while live.size:
        slope, rise = _slopes(x[live] - x0[live, None], y[live] - y0[live, None], y0[live])
        best = slope.max(axis=1)
        # of points on one line the last
        k = np.where(slope >= best[:, None] * (1.0 - 1e-15), rise, -1.0).argmax(axis=1)
        with np.errstate(divide="ignore"):
            loss, mass = np.log(best), rise[np.arange(live.size), k]
        endless = loss > _LARGEST
        infinite[live] += np.where(endless, mass, 0.0)
        for table, value in ((losses, loss), (masses, mass)):
            table.append(np.zeros(rows))
            table[-1][live] = np.where(endless, 0.0, value)
        x0[live], y0[live] = x[live, k], y[live, k]
        live = live[y0[live] < 1.0]
    with np.errstate(divide="ignore"):
        return np.stack(losses, axis=1), np.log(np.stack(masses, axis=1)), infinite


def _slopes(run: Floats, rise: Floats, height: Floats) -> tuple[Floats, Floats]:
    """Slopes to all points from a corner; those that differ from it by rounding alone have none."""
    clear = (rise > ROUNDING * height[:, None]) & (run >= 0.0)
    clear[:, -1] = True
    with np.errstate(over="ignore"):
        slope = np.where(clear, rise / np.maximum(run, 1e-320), -1.0)
    return np.where(np.isnan(slope), -1.0, slope), rise


# --- all sides of given votes

_ROWS = 400
MOST_COMPOSED = 5000
"""Up to so many kinds of query their laws are composed."""


@dataclass(frozen=True)
class ExactCost:
    """Epsilon of the labels: ends, and the Renyi divergence of each kind of query at the order asked.

    `one_way` is the upper end for P the votes and Q a neighbour only.
    """

    lower: float
    upper: float
    one_way: float
    renyi: Floats


@dataclass(frozen=True)
class ExactLabels:
    """Exact laws of the labels at some kinds of queries and at their neighbours."""

    histograms: Histograms
    level: Level
    noise: CountNoise
    screening: Screening | None = None

    @property
    def reach(self) -> float:
        """The largest margin that is integrated, in shares; below 0 where none is."""
        return self.noise.reach(self.level.step)

    def sides(self, count: Floats | None = None) -> list[Neighbours]:
        """Each order of the two data sets and sort of change, of so many queries of each kind.

        "from": P is the votes and Q a neighbour; "to" the other way round; by turns.
        """
        counts = self.histograms.counts
        many = np.ones(counts.shape[0]) if count is None else count
        result = laws(counts, self.level, self.noise)
        at_votes, nearby, moves = result.base, result.other, result.moves
        if self.screening is not None:
            top = self.screening.neighbours(counts, moves, self.level)
            nearby = self.screening.joined(top, nearby)
            at_votes = self.screening.joined(self.histograms.top, at_votes)
        sorts = [moves.source == NOBODY, moves.target == NOBODY]  # a vote more, a vote fewer
        sides = list[Neighbours]()
        for chosen in sorts if self.level.is_agent else [np.ones(moves.row.shape, dtype=bool)]:
            rows, theirs = moves.row[chosen], nearby[chosen]
            sides.append(Neighbours.of("from", rows, at_votes[rows], theirs, many))
            sides.append(Neighbours.of("to", rows, theirs, at_votes[rows], many))
        return sides

    def renyi(self, order: float) -> Floats:
        """The Renyi divergence of each query's label: the worst neighbour, either way."""
        size, values = self.histograms.counts.shape[0], list[Floats]()
        for start in range(0, size, _ROWS):  # some queries at a time
            places = np.arange(start, min(start + _ROWS, size))
            part = replace(self, histograms=self.histograms.rows(places))
            values.append(np.max([side.divergences(order) for side in part.sides()], axis=0))
        return np.concatenate(values)

    def wrong(self) -> Floats:
        """Return each query's probability that another class than the leader wins."""
        log_p = laws(self.histograms.counts, self.level, self.noise).base
        return np.asarray(np.exp(log_p[:, 1:]).sum(axis=1))

    def cost(self, count: Floats, log_delta: float, order: float) -> ExactCost:
        """Epsilon at log delta of so many queries of each kind, and each kind's divergence at an order."""
        sides = self.sides(count)
        shown = np.max([side.divergences(order) for side in sides], axis=0)
        return ExactCost(*composed(sides, log_delta), shown)

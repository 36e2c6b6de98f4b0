"""A voting run's laws composed: the cost of all its queries, from below and from above.

From above each query stands for all of its neighbours: by the largest Renyi divergence among them at one
order, or by the pair whose hockey-stick divergences are the largest of theirs at every epsilon. What a test
can reach, (Q(S), P(S)), is a curve for each neighbour, outcomes added by falling ratio p/q; the upper hull
of all curves is the curve of a pair of laws (Blackwell), whose composition bounds theirs (Zhu, Dong, Wang
2022). From below it is the one neighbour that tells most at the saddle.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpacct.pate.vote_lattice import compose, points_for
from dpacct.pld import brackets, contour, conversions
from dpacct.pld.stable import Floats, TooFine
from dpacct.pld.stack import Stack, Together

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Places = NDArray[np.intp]

ROUNDING = 4e-15
"""What the probabilities of a histogram may be off by, together: granted to an infinite loss."""
_MOST_HULLS = 400  # kinds: beyond, the Renyi bound is the smaller one
_FEW = 64  # queries whose lattices are quick
_FEWEST = 32  # queries that never are as good as a density
_BRACKETED = 150  # kinds whose grids are quick
_LARGEST = 600.0
_START = 3.0


@dataclass(frozen=True, eq=False)
class Neighbours:
    """One side: the losses of every neighbour of every query, and which query it belongs to.

    `order` sorts neighbours by query, `start` is the first of each query in that order, `count` how often
    that query comes. `endless`: some of P lies where Q is 0, so that the Renyi divergence is infinite.
    """

    name: str
    queries: int
    log_p: Floats
    log_q: Floats
    every: Stack
    endless: NDArray[np.bool_]
    row: Places
    order: Places
    start: Places
    count: Floats

    @classmethod
    def of(
        cls, name: str, parts: Sequence[tuple[Floats, Floats, Places]], count: Floats
    ) -> Neighbours:
        """From (log P, log Q, query) of some queries at a time, with outcomes filled up by none."""
        width = max(p.shape[1] for p, _, _ in parts)
        log_p = np.concatenate([_filled(p, width) for p, _, _ in parts])
        log_q = np.concatenate([_filled(q, width) for _, q, _ in parts])
        row = np.concatenate([part[2] for part in parts])
        order = np.argsort(row, kind="stable")
        start = np.flatnonzero(np.append(True, np.diff(row[order]) > 0))
        every, endless = _losses(log_p, log_q)
        kinds = count[row[order][start]]
        return cls(name, count.size, log_p, log_q, every, endless, row, order, start, kinds)

    def _moments(self, c: float) -> Floats:
        """log M of each neighbour, in order."""
        entry = self.every.log_moments(np.array([c]))[:, 0]
        return np.asarray(np.where(self.endless, np.inf, entry)[self.order])

    def log_moments(self, tilts: Floats) -> Floats:
        """log of the largest moment of each query's neighbours, added up, at each tilt."""
        return np.array([self.worst(c)[1] for c in tilts.tolist()])

    def divergences(self, order: float) -> Floats:
        """The largest Renyi divergence of each query; 0 where it has no neighbour of the sort."""
        most = np.maximum.reduceat(self._moments(order - 1.0), self.start)
        values = np.zeros(self.queries)
        values[self.row[self.order][self.start]] = most / (order - 1.0)
        return values

    def worst(self, c: float) -> tuple[Stack, float]:
        """The one neighbour of each query that tells most at a tilt, and the sum of the largest log M."""
        moments = self._moments(c)
        most = np.maximum.reduceat(moments, self.start)
        group = np.repeat(np.arange(self.start.size), np.diff(np.append(self.start, moments.size)))
        hit = np.flatnonzero(moments == most[group])
        first = np.unique(group[hit], return_index=True)[1]
        chosen = self.every.chosen(self.order[hit[first]])
        stack = Stack(chosen.rows, chosen.masses, chosen.endless, self.count)
        return stack, float(self.count @ most)

    def hulls(self) -> Stack:
        """The pair that dominates all neighbours of each query."""
        rows = np.full(self.queries, -1, dtype=np.intp)
        rows[self.row[self.order][self.start]] = np.arange(self.start.size)
        losses, log_p, endless = hulls(self.log_p, self.log_q, rows[self.row], self.start.size)
        return Stack(losses, log_p, endless, self.count)


def _filled(table: Floats, width: int) -> Floats:
    return np.pad(table, ((0, 0), (0, width - table.shape[1])), constant_values=-np.inf)


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


def divergences(log_p: Floats, log_q: Floats, orders: Floats) -> Floats:
    """D_a(P || Q) of each pair of rows (pairs x outcomes) at each order: pairs x orders.

    >>> rows = np.log([[0.99, 0.01]]), np.log([[0.01, 0.99]])
    >>> divergences(*rows, np.array([2.0])).round(9).tolist()
    [[4.585070545]]
    """
    stack, endless = _losses(log_p, log_q)
    value = stack.log_moments(orders - 1.0) / (orders - 1.0)
    return np.asarray(np.where(endless[:, None], np.inf, np.maximum(value, 0.0)))


def composed(
    sides: Sequence[Neighbours], granted: Sequence[Neighbours], log_delta: float
) -> tuple[float, dict[str, float]]:
    """A lower end of epsilon, by the sides; and for each name of a granted side the largest upper end."""
    lower, uppers = 0.0, dict.fromkeys((side.name for side in granted), 0.0)
    looked = [(*least_renyi(side, log_delta), side) for side in granted]
    slow = False  # lattices of many queries: only the side that leads is asked from below
    # the costliest first: a side that is known to cost less needs no second look
    for bound, c, side in sorted(looked, key=lambda asked: -asked[0]):
        tilts, least = [c] * (bound < math.inf), bound
        if bound > uppers[side.name]:
            if not bound < math.inf or side.start.size <= _MOST_HULLS:
                stack = side.hulls()
                tilts.append(stack.best_tilt(log_delta, c))
                least = min(bound, sum(_solved(stack, log_delta, tilts[-1])[:2]))
            uppers[side.name] = max(uppers[side.name], least)
        if side in sides and least > (max(uppers.values()) * (1.0 - 1e-9) if slow else lower):
            value, slow = _least(side, tilts, log_delta)
            lower = max(lower, value)
    for side in sides:
        if side not in granted:
            lower = max(lower, _least(side, [least_renyi(side, log_delta)[1]], log_delta)[0])
    return lower, uppers


def composed_delta(
    sides: Sequence[Neighbours], granted: Sequence[Neighbours], epsilon: float
) -> tuple[float, float]:
    """Ends of log delta at this epsilon."""
    upper = -math.inf
    for side in granted:
        stack, c = side.hulls(), _START
        for _ in range(2):  # the worst neighbours at a tilt, the best tilt for them
            c = _tilt(side.worst(c)[0], epsilon)
        looked = (c * np.geomspace(0.5, 2.0, 13)).tolist()
        by_moments = [conversions.log_delta(side.worst(c)[1], c, epsilon) for c in looked]
        ends = min(float(np.fmin.reduce(by_moments)) + 1e-12, 0.0), _above(stack, epsilon)
        upper = max(upper, min(ends))
    # from below it is enough to ask one choice of neighbours: that of the order which seems to tell most
    chosen = [side.worst(_tilt(side.worst(_START)[0], epsilon))[0] for side in sides]
    leading = max(chosen, key=lambda stack: _above(stack, epsilon))
    log_delta = contour.log_delta([(leading, 1.0)], epsilon)
    if log_delta.resolved:
        return min(log_delta.value - 2.0 * log_delta.error, upper), upper
    if leading.count.size > _BRACKETED:
        return -math.inf, upper
    with suppress(TooFine):
        return min(brackets.log_delta(Together(leading).apart, epsilon, 1e-2).lower, upper), upper
    return -math.inf, upper


def _above(stack: Stack, epsilon: float) -> float:
    """An upper end of a composition's log delta; of few queries on a lattice."""
    log_delta = contour.log_delta([(stack, 1.0)], epsilon)
    if log_delta.resolved:
        value = log_delta.value + 2.0 * log_delta.error
        return float(np.logaddexp(value, math.log(stack.infinite + 1e-320)))
    return compose(stack, _tilt(stack, epsilon), points_for(stack)).log_delta(epsilon)


def _tilt(stack: Stack, epsilon: float) -> float:
    """About where the moments bound delta(epsilon) best."""
    cs = np.geomspace(1e-2, 1e4, 25)
    for spread in (1.5, 1.1):
        bounds = [conversions.log_delta(stack.log_moment(c), c, epsilon) for c in cs.tolist()]
        best = float(cs[int(np.nanargmin(bounds))])
        cs = best * np.geomspace(1.0 / spread, spread, 9)
    return best


def least_renyi(side: Neighbours, log_delta: float) -> tuple[float, float]:
    """(epsilon by the worst neighbours' Renyi divergences, the tilt that gives it)."""
    known: dict[float, float] = {}

    def bound(c: float) -> tuple[float, Stack]:
        stack, log_moment = side.worst(c)
        known[c] = _converted(log_moment, c, log_delta)
        return known[c], stack

    # the worst neighbours at a tilt, the best tilt for them, until both stay
    stack, c = side.worst(_START)[0], _START
    for _ in range(4):
        c = stack.best_tilt(log_delta, c)
        expected = stack.renyi_epsilon(c, log_delta)
        value, stack = bound(c)
        if value <= expected * (1.0 + 1e-6) or not math.isfinite(value):
            break
    else:  # the least lies between two choices, where the largest of both has a kink
        for step in (0.2, 0.1, 0.05, 0.025, 0.0125):
            c = min(known, key=lambda x: known[x])
            for trial in (c * math.exp(-step), c * math.exp(step)):
                bound(trial)
    c = min(known, key=lambda x: known[x])
    return known[c], c


def _converted(log_moment: float, c: float, log_delta: float) -> float:
    if not math.isfinite(log_moment):
        return math.inf
    return max(0.0, conversions.epsilon(log_moment, c, log_delta)) * (1.0 + 1e-13)


def _least(side: Neighbours, tilts: list[float], log_delta: float) -> tuple[float, bool]:
    """From below: what one choice of neighbours costs, those that tell most at a tilt near the saddle.

    And whether it took lattices of many queries.
    """
    best, seen = 0.0, set[bytes]()
    while tilts:
        c = tilts.pop()
        stack, _ = side.worst(c)
        key = stack.masses.tobytes()
        if key not in seen:
            seen.add(key)
            tilt = stack.best_tilt(log_delta, c)
            value, error, tilt = _solved(stack, log_delta, tilt, upper=False)
            best = max(best, value - error)
            if tilt > 0.0:  # at the contour's own tilt others may tell more
                tilts.append(tilt)
            elif stack.count.sum() > _FEW:
                return best, True
    return best, False


def _solved(
    stack: Stack, log_delta: float, tilt: float, *, upper: bool = True
) -> tuple[float, float, float]:
    """(epsilon, its error, the contour's tilt) of a composition; of few queries on a lattice."""
    target = math.exp(log_delta) - stack.infinite
    if not target > 0.0:
        return (math.inf, 0.0, 0.0) if upper else (0.0, 0.0, 0.0)
    queries = float(stack.count.sum())
    if queries == 1.0 or queries > _FEWEST:
        parts = stack.parts() if queries == 1.0 else [(stack, 1.0)]
        answer = contour.epsilon(parts, math.log(target))
        if answer.resolved:
            return answer.value, answer.error, answer.tilt
    fine = compose(stack, tilt, points_for(stack)).epsilon(log_delta)
    if upper:
        return fine, 0.0, 0.0
    coarse = compose(stack, tilt, points_for(stack) // 2).epsilon(log_delta)
    if not math.isfinite(fine):
        return 0.0, 0.0, 0.0
    return fine, 2.0 * abs(fine - coarse) + 1e-9 * (1.0 + fine), 0.0


def hulls(log_p: Floats, log_q: Floats, row: Places, rows: int) -> tuple[Floats, Floats, Floats]:
    """(losses, log P-masses, mass at infinity) of the pair that dominates all neighbours of each row.

    Gift wrapping, a corner of every row at a step.

    >>> found = hulls(*(np.log([x]) for x in ([0.75, 0.25], [0.25, 0.75])), np.array([0]), 1)
    >>> found[0].round(6).tolist(), np.exp(found[1]).round(6).tolist()
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

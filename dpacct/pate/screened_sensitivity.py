"""Smooth sensitivity of a run with a threshold: the cost depends on q and on the largest count.

As in `sensitivity`, the cost is a table of steps, here of log q by whole counts: it never falls with q, and
a neighbour's largest count is at most one more or less. Counts ten deviations above the threshold and beyond
are charged the most that a query can cost.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpacct.engine.stable import Floats
from dpacct.pate.histograms import Histograms
from dpacct.pate.screening import Screening
from dpacct.pate.sensitivity import NEGLIGIBLE, Steps, reach

_BEYOND = 10.0
MOST_ROWS = 4000
"""Thresholds that need a larger table have no release."""


@dataclass(frozen=True)
class ScreenedSteps:
    """The cost of one query of both steps, by its largest count (row) and log q (column)."""

    steps: Steps
    screening: Screening

    @property
    def rows(self) -> int:
        """How many counts are told apart."""
        ends = float(self.screening.threshold) + _BEYOND * float(self.screening.sigma)
        return max(3, math.ceil(ends) + 1)

    def row(self, top: Floats) -> np.ndarray[tuple[int, ...], np.dtype[np.intp]]:
        """The row of each largest count."""
        return np.minimum(top, self.rows - 1).astype(np.intp)

    @cached_property
    def cost(self) -> Floats:
        """Of each row and column; no column is below the one before it."""
        steps, orders = self.steps, np.array([self.steps.order])
        answer = steps.cost[:, None]
        whatever = steps.noise.data_independent(orders, steps.level)
        plain = float((whatever + self.screening.data_independent(orders, steps.level))[0])
        table = np.full((self.rows, answer.size), plain)
        for top in range(self.rows - 1):
            tops = np.full(answer.size, float(top))
            both = self.screening.with_answer(tops, answer, orders, steps.level)
            table[top] = np.minimum(both[:, 0], plain)
        return np.asarray(np.maximum.accumulate(table, axis=1))

    @cached_property
    def local(self) -> Floats:
        """Of each: the most by which a neighbour's cost differs."""
        up, down = self.steps.reached
        found = np.zeros(self.cost.shape)
        for move in (-1, 0, 1):
            other = np.clip(np.arange(self.rows) + move, 0, self.rows - 1)
            more, less = self.cost[other][:, up], self.cost[other][:, down]
            found = np.maximum(found, np.maximum(more - self.cost, self.cost - less))
        return np.asarray(found)


def smooth_sensitivity(
    known: ScreenedSteps, histograms: Histograms, count: Floats, beta: float
) -> float:
    """The largest e^{-beta t} times the local sensitivity of the sum of costs t neighbours away."""
    margins = histograms.margins.astype(np.float64)
    row, table = known.row(histograms.top), known.local
    most = float(table.max())
    ceiling = float(count.sum()) * most
    best, full, distance = 0.0, 0.0, 0
    active = np.arange(count.size)
    while math.exp(-beta * distance) * ceiling > max(best, NEGLIGIBLE * ceiling):
        low, high = (known.steps.at(end) for end in reach(known.steps, margins[active], distance))
        each = _largest(table, row[active], low, high)
        best = max(best, math.exp(-beta * distance) * (full + float(count[active] @ each)))
        done = each >= most
        full += most * float(count[active[done]].sum())
        active = active[~done]
        if not active.size:
            return best
        # counts one farther away, for the next distance
        wider = table.copy()
        wider[1:] = np.maximum(wider[1:], table[:-1])
        wider[:-1] = np.maximum(wider[:-1], table[1:])
        table, distance = wider, distance + 1
    return max(best, math.exp(-beta * distance) * ceiling)


def _largest(
    table: Floats,
    row: np.ndarray[tuple[int, ...], np.dtype[np.intp]],
    first: np.ndarray[tuple[int, ...], np.dtype[np.intp]],
    last: np.ndarray[tuple[int, ...], np.dtype[np.intp]],
) -> Floats:
    """The largest entry of each row between two columns, both included."""
    level = np.log2(last - first + 1.0).astype(int)
    found, width = np.empty(first.shape), table
    for each in range(int(level.max()) + 1):
        chosen = level == each
        if chosen.any():
            found[chosen] = np.maximum(
                width[row[chosen], first[chosen]], width[row[chosen], last[chosen] - 2**each + 1]
            )
        if width.shape[1] > 2**each:
            width = np.maximum(width[:, : -(2**each)], width[:, 2**each :])
    return found

"""Smooth sensitivity of a run with a threshold: the cost depends on q and on the largest of n - b.

As in `sensitivity`, the cost is a table of steps, here of log q by cells of the largest n - b: each has the
most that the bound is anywhere in it, and never falls with q. A neighbour's largest n - b is at most one step
away. Counts far above the threshold are charged the most that a query can cost; far below it, what the last
cell's edge costs, beyond which less and less is left.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpacct.pate.histograms import Histograms
from dpacct.pate.published import log_sum
from dpacct.pate.screening import Screening
from dpacct.pate.sensitivity import Places, Steps, reach, smoothed
from dpacct.pld.stable import Floats

_BEYOND = 10.0  # deviations of the threshold's noise
MOST_ROWS = 4000
"""Cells of whole counts; more counts than so share cells."""
_REAL_ROWS = 1000  # where a baseline makes n - b any number
_PARTS = 6  # of such a cell, each bounded by its ends


@dataclass(frozen=True)
class ScreenedSteps:
    """The cost of one query of both steps, by the largest of n - b (row) and log q (column).

    `whole`: there is no baseline, so the largest count is a whole number of shares. Row 0 is what lies below
    `first`, the last row what lies above all cells.
    """

    steps: Steps
    screening: Screening
    whole: bool = True

    @cached_property
    def first(self) -> float:
        """Where the first cell begins."""
        sigma, step = float(self.screening.sigma), self.steps.level.step
        # so far out that the bound falls with the count (docs/theory/voting.md)
        below = float(self.screening.threshold) - max(
            _BEYOND * sigma, self.steps.order * step * 1.01
        )
        return float(max(0, math.floor(below))) if self.whole else below

    @property
    def _span(self) -> float:
        return float(self.screening.threshold) + _BEYOND * float(self.screening.sigma) - self.first

    @property
    def width(self) -> float:
        """Of a cell, in shares."""
        if self.whole:
            return float(max(1, math.ceil(self._span / MOST_ROWS)))
        return self._span / _REAL_ROWS

    @property
    def rows(self) -> int:
        """How many cells there are, with what is below and above them."""
        return max(1, math.ceil(self._span / self.width)) + 2

    @property
    def least(self) -> int:
        """The lowest row there is: no whole count is below 0."""
        return 1 if self.whole and self.first == 0.0 else 0

    def row(self, top: Floats) -> Places:
        """The row of each largest count."""
        cell = np.floor((top - self.first) / self.width) + 1.0
        return np.asarray(np.clip(cell, self.least, self.rows - 1), dtype=np.intp)

    @cached_property
    def cost(self) -> Floats:
        """Of each row and column; no column is below the one before it."""
        steps, orders = self.steps, np.array([self.steps.order])
        answer = steps.cost[:, None]
        whatever = steps.noise.data_independent(orders, steps.level)
        plain = float((whatever + self.screening.data_independent(orders, steps.level))[0])
        table = np.full((self.rows, answer.size), plain)
        parts = min(int(self.width), _PARTS) if self.whole else _PARTS
        for i in range(1, self.rows - 1):
            ends = self.first + self.width * (i - 1 + np.linspace(0.0, 1.0, parts + 1))
            worst = np.zeros(answer.size)
            for low, high in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
                if self.whole:
                    low, high = math.ceil(low), math.ceil(high) - 1
                tops = np.full(answer.size, float(low))
                both = self.screening.with_answer(tops, answer, orders, steps.level, high - low)
                worst = np.maximum(worst, both[:, 0])
            table[i] = np.minimum(worst, plain)
        table[0] = np.minimum(self._below(answer[:, 0]), plain)
        return np.asarray(np.maximum.accumulate(table, axis=1))

    def _below(self, answer: Floats) -> Floats:
        """Of counts below the first cell: the chance of an answer counts as at its edge."""
        order, step = self.steps.order, float(self.steps.level.step)
        tops = np.array([self.first - step, self.first, self.first + step])
        no, yes = self.screening.log_passes(tops)
        passes = max(
            order * yes[1] - (order - 1.0) * yes[0], order * yes[2] - (order - 1.0) * yes[1]
        )
        silent = np.full(answer.shape, -(order - 1.0) * no[2])
        result = log_sum(silent, passes + (order - 1.0) * answer)
        return np.asarray(np.maximum(result, 0.0) * (1.0 + 1e-12) + 2e-15) / (order - 1.0)

    @cached_property
    def local(self) -> Floats:
        """Of each: the most by which a neighbour's cost differs."""
        up, down = self.steps.reached
        away = math.ceil(self.steps.level.step / self.width)
        result = np.zeros(self.cost.shape)
        for move in range(-away, away + 1):
            other = np.clip(np.arange(self.rows) + move, self.least, self.rows - 1)
            more, less = self.cost[other][:, up], self.cost[other][:, down]
            result = np.maximum(result, np.maximum(more - self.cost, self.cost - less))
        return result


def smooth_sensitivity(
    known: ScreenedSteps, histograms: Histograms, count: Floats, beta: float
) -> float:
    """The largest e^{-beta t} times the local sensitivity of the sum of costs t neighbours away."""
    margins = histograms.margins.astype(np.float64)
    top, table = histograms.top, known.local[known.least :]
    windows = _Windows(table)

    def local(active: Places, distance: int) -> Floats:
        low, high = (known.steps.at(end) for end in reach(known.steps, margins[active], distance))
        far = float(distance * known.steps.level.step)
        first, last = (known.row(top[active] + far * way) - known.least for way in (-1.0, 1.0))
        return windows.largest(first, last, low, high)

    return smoothed(local, count, beta, float(table.max()))[0]


class _Windows:
    """The largest entry between two rows and two columns, for runs of rows that grow from call to call."""

    def __init__(self, table: Floats) -> None:
        # largest of so many rows from each on, and of one row fewer
        self._run, self._before, self._length = table, table, 1
        self._head = np.maximum.accumulate(table, axis=0)
        self._tail = np.maximum.accumulate(table[::-1], axis=0)[::-1]

    def largest(self, first: Places, last: Places, low: Places, high: Places) -> Floats:
        """For each: rows first to last, columns low to high, all included."""
        final, result = self._tail.shape[0] - 1, np.empty(first.shape)
        head, tail = first == 0, (first > 0) & (last == final)
        cases = [(head, self._head, last), (tail, self._tail, first)]
        lengths = np.where(head | tail, 0, last - first + 1)
        for length in np.unique(lengths[lengths > 0]).tolist():
            cases.append((lengths == length, self._of(length), first))
        for chosen, table, row in cases:
            if chosen.any():
                result[chosen] = _between(table, row[chosen], low[chosen], high[chosen])
        return result

    def _of(self, length: int) -> Floats:
        while self._length < length:
            self._before, self._length = self._run, self._length + 1
            self._run = np.concatenate((np.maximum(self._run[:-1], self._run[1:]), self._run[-1:]))
        return self._run if length == self._length else self._before


def _between(table: Floats, row: Places, first: Places, last: Places) -> Floats:
    """The largest entry of each row between two columns, both included."""
    rows, row = np.unique(row, return_inverse=True)
    level = np.log2(last - first + 1.0).astype(int)
    result, width = np.empty(first.shape), table[rows]
    for each in range(int(level.max()) + 1):
        chosen = level == each
        if chosen.any():
            result[chosen] = np.maximum(
                width[row[chosen], first[chosen]], width[row[chosen], last[chosen] - 2**each + 1]
            )
        if width.shape[1] > 2**each:
            width = np.maximum(width[:, : -(2**each)], width[:, 2**each :])
    return result

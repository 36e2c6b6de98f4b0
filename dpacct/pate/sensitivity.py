"""How much a data-dependent cost can change from one data set to the next: its smooth sensitivity.

Papernot et al. 2018, Appendix B, bound the local sensitivity at a distance under two conditions on the cost
as a function of q (their C5 and C6), which must be checked for each noise and order. Here no condition is
needed: the cost is made a step function of log q that never falls, so what a neighbour can change is read off
from the steps that its q can lie in (docs/theory/voting.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpacct.pate.histograms import Histograms
from dpacct.pate.level import Level
from dpacct.pate.noise import Noise
from dpacct.pld.stable import Floats

_LOWEST = -2000.0
_NEGLIGIBLE = 1e-9  # of the largest sensitivity: what lies farther is not followed, but added
_MANY = 200_000
_BEND = 64.0  # below e^-64 steps grow in proportion to log q


Places = np.ndarray[tuple[int, ...], np.dtype[np.intp]]


@dataclass(frozen=True)
class Steps:
    """The cost of one query at one order, as a step function of log q.

    q bounds the chance of any other label, at the votes and at every neighbour.
    """

    noise: Noise
    level: Level
    order: float
    classes: int
    fineness: float = 0.01

    @cached_property
    def edges(self) -> Floats:
        """Upper edges of the steps, increasing to 0; the first step reaches down to q = 0."""
        fine = np.arange(0.0, _BEND, self.fineness)
        growth = 1.0 + 8.0 * self.fineness / _BEND
        count = math.ceil(math.log(-_LOWEST / _BEND) / math.log(growth))
        return np.asarray(-np.concatenate((fine, _BEND * growth ** np.arange(count)))[::-1])

    @cached_property
    def cost(self) -> Floats:
        """Of each step: the best bound at its upper edge, or the next lower step's if that is more."""
        orders = np.array([self.order])
        tables = self.noise.tables(self.edges, orders, self.level).values()
        return np.asarray(np.maximum.accumulate(np.minimum.reduce(list(tables))[:, 0]))

    def at(self, log_q: Floats) -> Places:
        """The step that each log q lies in."""
        return np.minimum(np.searchsorted(self.edges, log_q), self.edges.size - 1)

    def _moved(self, log_q: Floats, shares: float) -> Floats:
        """The largest q of a data set whose margins are all that much smaller than one of this q.

        q is a sum of C - 1 tails; the tail at a smaller margin is concave in the tail (log-concave
        densities), so the sum is largest where all are equal.
        """
        others = math.log(self.classes - 1)
        half = math.log(0.5)
        margin = self.noise.margin_of(np.minimum(log_q - others, half))
        result = np.minimum(self.noise.log_tail(margin - shares) + others, 0.0)
        # beyond an even chance each: anything above, and for what lies below this is low enough
        return np.asarray(np.where((log_q - others >= half) & (shares > 0.0), 0.0, result))

    def alike(self, log_q: Floats) -> Floats:
        """One margin for each q, which C - 1 classes would all have (at the votes, not at a neighbour)."""
        others = math.log(self.classes - 1)
        near = self.noise.margin_of(np.minimum(log_q - others, math.log(0.5)))
        return (near + self.level.margin)[:, None]

    @cached_property
    def reached(self) -> tuple[Places, Places]:
        """Of each step: the highest and the lowest step that a neighbour can lie in."""
        margin = float(self.level.margin)
        up = self.at(self._moved(self.edges, margin))
        lower = np.append(-math.inf, self.edges[:-1])
        fallen = self._moved(np.maximum(lower, _LOWEST), -margin)
        down = np.where(lower < _LOWEST, 0, self.at(np.nextafter(fallen, -math.inf)))
        return up, np.asarray(down)

    @cached_property
    def local(self) -> Floats:
        """Of each step: the most by which the cost of a neighbour differs."""
        up, down = self.reached
        return np.asarray(np.maximum(self.cost[up] - self.cost, self.cost - self.cost[down]))

    @cached_property
    def _largest(self) -> list[Floats]:
        """Running maxima of `local` over windows of 1, 2, 4, ... steps."""
        results = [self.local]
        while 2 ** len(results) <= self.local.size:
            width = 2 ** (len(results) - 1)
            results.append(np.maximum(results[-1][:-width], results[-1][width:]))
        return results

    def largest(self, low: Floats, high: Floats) -> Floats:
        """The largest local sensitivity at any q between two log q's."""
        first, last = self.at(low), self.at(high)
        level = np.log2(last - first + 1.0).astype(int)
        result = np.empty(first.shape)
        for each in np.unique(level).tolist():
            rows = level == each
            table = self._largest[each]
            result[rows] = np.maximum(table[first[rows]], table[last[rows] - 2**each + 1])
        return result


def smooth_sensitivity(
    steps: Steps, histograms: Histograms, count: Floats, beta: float
) -> tuple[float, int]:
    """The largest e^{-beta t} times the local sensitivity of the sum of costs t neighbours away; and that t.

    Of very many queries only q is followed, as if all margins were equal: that reaches a little farther.
    """
    margins: Floats = histograms.margins.astype(np.float64)
    # by what is public: which way is taken must not depend on the votes
    if float(count.sum()) * margins.shape[1] > _MANY:
        near = steps.noise.log_mismatch(margins - steps.level.margin)
        margins = steps.alike(near)

    def local(active: Places, distance: int) -> Floats:
        return steps.largest(*reach(steps, margins[active], distance))

    return smoothed(local, count, beta, float(steps.local.max()))


def smoothed(
    local: Callable[[Places, int], Floats], count: Floats, beta: float, most: float
) -> tuple[float, int]:
    """The largest e^{-beta t} of so many queries' local sensitivities t neighbours away, and that t.

    `local(queries, t)` never falls with t, and no query's is above `most`. The search ends where nothing
    farther can matter by more than a billionth, which is added.
    """
    ceiling = float(count.sum()) * most
    best, where, distance = 0.0, 0, 0
    full, active = 0.0, np.arange(count.size)
    while math.exp(-beta * distance) * ceiling > max(best, _NEGLIGIBLE * ceiling):
        each = local(active, distance)
        total = math.exp(-beta * distance) * (full + float(count[active] @ each))
        if total > best:
            best, where = total, distance
        # what reaches the largest of all stays there
        done = each >= most
        full += most * float(count[active[done]].sum())
        active = active[~done]
        if not active.size:
            return best, where
        distance += 1
    return max(best, math.exp(-beta * distance) * ceiling), where


def local_sensitivities(steps: Steps, margins: Floats, distances: int) -> Floats:
    """The local sensitivity of the cost of queries (rows of margins) at distances 0, 1, ...: at most."""
    return np.array([steps.largest(*reach(steps, margins, t)) for t in range(distances)])


def reach(steps: Steps, margins: Floats, distance: int) -> tuple[Floats, Floats]:
    """The least and largest log q (at the worst neighbour) that many neighbours away."""
    level, noise = steps.level, steps.noise
    taken = float(distance * level.step)
    near = margins - level.margin
    if level.is_agent or margins.shape[1] < steps.classes - 1:
        moved = float(distance * level.margin)
        low, high = near + moved, near - moved
    else:
        # the leader loses one a step, all of them to the class behind it: the sum of convex tails is
        # largest so; or it wins one a step from whoever is nearest, as water fills the margins
        high = near - taken
        high[:, 0] -= taken
        low = np.maximum(near + taken, _filled(near, taken) + taken)
    # one margin may stand for those of all other classes
    more = math.log((steps.classes - 1) / margins.shape[1])
    lowest, highest = (np.minimum(noise.log_mismatch(ends) + more, 0.0) for ends in (low, high))
    crossed = high.min(axis=1) <= 0.0
    return lowest, np.where(crossed, 0.0, highest)


def _filled(margins: Floats, amount: float) -> Floats:
    """The level to which the smallest margins (each row increasing) rise when so much is shared out."""
    count = np.arange(1, margins.shape[1] + 1)
    sums = np.cumsum(margins, axis=1)
    needed = count * margins - sums  # to fill up to this margin
    full = (needed <= amount).sum(axis=1)
    rows = np.arange(margins.shape[0])
    return np.asarray(((amount + sums[rows, full - 1]) / full)[:, None])

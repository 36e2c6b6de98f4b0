"""Rényi bounds of each query's cost by published theorems, fast for millions of queries.

Every bound depends on the votes through one number, an upper bound of the chance that another class than the
leader wins (and, with screening, the largest count). It grows with that number; so where there are very many
different ones they are rounded up to a fine grid, and each grid point is computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from dpacct.citations import Citation, statement
from dpacct.pld.stable import Floats
from dpacct.voting.histograms import Histograms, alike
from dpacct.voting.level import Level
from dpacct.voting.noise import Noise
from dpacct.voting.screening import Screening

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_KINDS = 20_000
"""Up to so many different queries nothing is rounded."""
_CELLS = 2_000_000
ONE_WAY = "papernot2018.theorem6", "papernot2017.theorem3"
"""Theorems stated with q at the data itself, for the divergence from the data to its neighbours."""


@dataclass(frozen=True)
class Bounds:
    """Renyi bounds of all queries of a voting run."""

    histograms: Histograms
    level: Level
    noise: Noise
    screening: Screening | None = None

    @cached_property
    def log_q(self) -> Floats:
        """Log of the chance of another label than the leader's, at most, for each query."""
        return self.noise.log_mismatch(self.histograms.margins.astype(np.float64))

    @cached_property
    def log_q_near(self) -> Floats:
        """The same at the worst neighbour: with every margin reduced by its largest change."""
        return self.noise.log_mismatch(
            (self.histograms.margins - self.level.margin).astype(np.float64)
        )

    @cached_property
    def _near(self) -> Kinds:
        top = None if self.screening is None else self.histograms.top
        return Kinds.of(self.log_q_near, top)

    @cached_property
    def _leading(self) -> Kinds:
        return Kinds.of(self.log_q, None)

    def plain(self, orders: Floats) -> Floats:
        """One query's cost for any votes, at each order."""
        result = self.noise.data_independent(orders, self.level)
        if self.screening is not None:
            result = result + self.screening.data_independent(orders, self.level)
        return np.asarray(result)

    def table(self, kinds: Kinds, orders: Floats, theorem: str | None = None) -> Floats:
        """Bounds of each kind of query (row) at each order, by one theorem or the best of all."""
        tables = self.noise.tables(kinds.log_q, orders, self.level)
        chosen = list(tables.values()) if theorem is None else [tables[theorem]]
        answer: Floats = np.minimum.reduce(chosen)
        if self.screening is None or kinds.top is None:
            return answer
        both = self.screening.with_answer(kinds.top, answer, orders, self.level)
        return np.asarray(np.minimum(both, self.plain(orders)[None, :]))

    def total(self, orders: Floats, theorem: str | None = None, *, one_way: bool = False) -> Floats:
        """The sum over all queries, at each order; `one_way`: from the votes to their neighbours only."""
        return self._sum(self._leading if one_way else self._near, orders, theorem)

    def among(self, chosen: NDArray[np.bool_]) -> Callable[[Floats], Floats]:
        """The sum over some of the queries, at any orders."""
        top = None if self.screening is None else self.histograms.top[chosen]
        return partial(self._sum, Kinds.of(self.log_q_near[chosen], top))

    def _sum(self, kinds: Kinds, orders: Floats, theorem: str | None = None) -> Floats:
        values = np.zeros(orders.size)
        for part in kinds.parts(max(1, _CELLS // orders.size)):
            values += part.count @ self.table(part, orders, theorem)
        return values

    def each(self, order: float) -> Floats:
        """Every query's bound at one order, either way."""
        orders = np.array([order])
        values = [self.table(part, orders)[:, 0] for part in self._near.parts(_CELLS)]
        return np.concatenate(values)[self._near.which]

    @property
    def theorems(self) -> tuple[Citation, ...]:
        """The theorems that are used, by their ids."""
        return tuple(
            map(statement, self.noise.tables(np.array([-1.0]), np.array([2.0]), self.level))
        )


@dataclass(frozen=True)
class Kinds:
    """Different queries: log q (and the largest count), how many of each, and the kind of each query."""

    log_q: Floats
    top: Floats | None
    count: Floats
    which: NDArray[np.intp]

    @classmethod
    def of(cls, log_q: Floats, top: Floats | None) -> Kinds:
        """Queries of one kind together; log q rounded up where there are too many kinds."""
        made = cls._grouped(log_q, top)
        for fineness in (1e-3, 1e-2):
            if made.count.size <= MOST_KINDS * (1 if top is None else 5):
                break
            made = cls._grouped(_rounded_up(log_q, fineness), top)
        return made

    @classmethod
    def _grouped(cls, log_q: Floats, top: Floats | None) -> Kinds:
        columns = (log_q,) if top is None else (log_q, top)
        first, which, count = alike(np.stack(columns, axis=1).view(np.int64))
        tops = None if top is None else top[first]
        return cls(log_q[first], tops, count.astype(np.float64), which)

    def parts(self, size: int) -> Iterator[Kinds]:
        """Some kinds at a time."""
        for start in range(0, self.count.size, size):
            part = slice(start, start + size)
            top = None if self.top is None else self.top[part]
            yield Kinds(self.log_q[part], top, self.count[part], self.which)


def _rounded_up(log_q: Floats, fineness: float) -> Floats:
    """log q on a grid, from above: absolute below e^-64, and in proportion beyond.

    >>> _rounded_up(np.array([-1.00049, -100.3]), 1e-3).round(9).tolist()
    [-1.0, -100.288]
    """
    step = fineness * np.exp2(np.maximum(0.0, np.ceil(np.log2(np.maximum(-log_q, 64.0)) - 6.0)))
    step = np.where(step > fineness, 16.0 * step, step)
    return np.asarray(np.ceil(log_q / step) * step)

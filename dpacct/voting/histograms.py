"""Votes prepared: sorted within each query, with equal queries grouped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpacct.pld.stable import Floats

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]
    Places = NDArray[np.intp]


@dataclass(frozen=True)
class Histograms:
    """Counts of each query in shares, the largest first, and with them n - b where there is a baseline."""

    counts: Counts
    residual: Floats | None = None

    @classmethod
    def of(cls, counts: Counts, baseline: Floats | None = None, shares: int = 1) -> Histograms:
        """From votes (in shares) and a baseline (in votes)."""
        if baseline is None:
            return cls(np.ascontiguousarray(np.sort(counts, axis=1)[:, ::-1]))
        order = np.argsort(-counts, axis=1, kind="stable")
        residual = counts - shares * baseline
        return cls(
            np.take_along_axis(counts, order, axis=1), np.take_along_axis(residual, order, axis=1)
        )

    @property
    def margins(self) -> Counts:
        """The leader's count less each other's."""
        return np.asarray(self.counts[:, :1] - self.counts[:, 1:])

    @property
    def top(self) -> Floats:
        """The largest of n - b."""
        if self.residual is None:
            return self.counts[:, 0].astype(np.float64)
        return np.asarray(self.residual.max(axis=1))

    def rows(self, places: Places) -> Histograms:
        """Some of them."""
        residual = None if self.residual is None else self.residual[places]
        return Histograms(self.counts[places], residual)

    def alike(self) -> tuple[Places, Places, Places]:
        """(first, which, count): a query of each kind, the kind of each query, and how many there are.

        >>> Histograms.of(np.array([[3, 1], [2, 2], [1, 3]])).alike()[2].tolist()
        [2, 1]
        """
        table = self.counts
        if self.residual is not None:
            table = np.concatenate((table, self.residual.view(np.int64)), axis=1)
        return alike(table)


def alike(table: Counts) -> tuple[Places, Places, Places]:
    """Rows that are equal: the first of each kind, the kind of each row, and how many there are.

    Kinds are in the order of their first rows.
    """
    # one number for each row; should two kinds share it (hardly ever), compare the rows themselves
    factors: Counts = np.random.default_rng(2018).integers(1, 2**62, size=(table.shape[1],))
    with np.errstate(over="ignore"):
        key = table @ (2 * factors + 1)
    first, which, count = np.unique(
        key, return_index=True, return_inverse=True, return_counts=True
    )[1:]
    which = which.reshape(-1)
    if not np.array_equal(table, table[first[which]]):
        first, which, count = np.unique(
            table, axis=0, return_index=True, return_inverse=True, return_counts=True
        )[1:]
        which = which.reshape(-1)
    place = np.argsort(first, kind="stable")
    rank = np.empty(place.size, dtype=np.intp)
    rank[place] = np.arange(place.size)
    return first[place], rank[which], count[place]

"""Nodes on a lattice: neighbours may be many steps apart where a law is thin."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpacct.engine.stable import Floats

from .lattice_law import LatticeLaw, Places

_HALVINGS = 40


@dataclass(frozen=True, eq=False)
class Grid:
    """Nodes offset + step k at increasing whole k."""

    offset: float
    step: float
    places: Places

    @classmethod
    def uniform(cls, offset: float, step: float, first: int, stride: int, count: int) -> Grid:
        """Nodes offset + step (first + stride i), i = 0 .. count - 1."""
        return cls(offset, step, first + stride * np.arange(count, dtype=np.int64))

    @property
    def count(self) -> int:
        return int(self.places.size)

    @cached_property
    def nodes(self) -> Floats:
        return np.asarray(self.offset + self.step * self.places)

    @cached_property
    def spacings(self) -> Floats:
        """Distances of neighbours."""
        return np.asarray(self.step * np.diff(self.places))

    def position(self, losses: Floats) -> Floats:
        """Where losses lie, in steps; infinite losses stay so."""
        return np.asarray((losses - self.offset) / self.step)

    def law(
        self,
        masses: Floats,
        infinite: float,
        shift: float,
        decided: tuple[float, float] = (0.0, 0.0),
        between: Floats | None = None,
    ) -> LatticeLaw:
        offset = self.offset + shift
        return LatticeLaw(offset, self.step, self.places, masses, infinite, decided, between)


def graded(first: int, last: int, ends: Floats, strides: Floats, most: int) -> Places:
    """Nodes from first to last, dyadic, neighbours no further apart than the strides of their stretch.

    Stretch i ends at ends[i] (in steps; increasing, the last one beyond `last`). Blocks [j 2^k, (j+1) 2^k)
    are halved while a stretch that they meet asks for less than 2^k; none once there are `most` of them
    (all grids are right: fewer nodes make wider brackets).
    """
    level = 0
    while (1 << level) < last - first and level < _HALVINGS:
        level += 1
    blocks = np.arange(first >> level, (last >> level) + 1, dtype=np.int64) << level
    kept: list[Places] = []
    count = 0
    while level > 0 and blocks.size and count + 2 * blocks.size <= most:
        size = 1 << level
        start = np.searchsorted(ends, blocks, side="right")
        stop = np.searchsorted(ends, blocks + size, side="left") + 1
        start = np.minimum(start, strides.size - 1)
        stop = np.minimum(np.maximum(stop, start + 1), strides.size)
        least = _range_minima(strides, start, stop)
        split = least < size
        kept.append(blocks[~split])
        count += kept[-1].size
        halves = blocks[split]
        half = size >> 1
        blocks = np.concatenate((halves, halves + half))
        blocks = blocks[(blocks + half > first) & (blocks <= last)]
        level -= 1
    kept.append(blocks)
    nodes = np.sort(np.clip(np.concatenate([*kept, [first, last]]), first, last))
    fresh: Places = nodes[np.append(True, np.diff(nodes) > 0)]
    return fresh


def _range_minima(values: Floats, start: Places, stop: Places) -> Floats:
    """The least of values[start:stop] for each pair."""
    padded = np.append(values, np.inf)
    pairs = np.stack((start, stop), axis=1).ravel()
    return np.asarray(np.minimum.reduceat(padded, pairs)[::2])

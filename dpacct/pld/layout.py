"""Layout of the laws of a composition on a lattice: ranges of losses, and nodes as dense as is wanted."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from .grid import Grid, Group, Places, graded
from .pieces import Source, Sources, atom_masses
from .stable import Floats, TooFine

# places between losses that floats tell apart
_MOST_PLACES = 2.0**50


def least_rest(sources: Sources) -> float:
    """The least loss of all steps but one, whichever; -inf where none is known."""
    leasts = [source.least for source, _ in sources]
    if min(leasts) == -math.inf:
        return -math.inf
    return sum(n * least for (_, n), least in zip(sources, leasts, strict=True)) - max(leasts)


@dataclass
class Layout:
    """The layout of one source: its range of losses, a loss that a node must meet, and the density.

    Between ends[i-1] and ends[i] nodes are at most wanted[i] apart. `tilt`: where it is dense is judged at
    this tilt, given with the log of the moment there.
    """

    source: Source
    count: float
    low: float
    high: float
    cells: int
    anchor: float = 0.0
    tilt: tuple[float, float] = (0.0, 0.0)
    ends: Floats = field(default_factory=lambda: np.array([math.inf]))
    wanted: Floats = field(default_factory=lambda: np.array([math.inf]))

    @cached_property
    def _atoms(self) -> tuple[Floats, Floats]:
        """The losses of atoms, and the logs of their masses."""
        return self.source.atoms, atom_masses(self.source)

    @property
    def weighed(self) -> Group:
        """The atoms, and the weight of each in the composition."""
        atoms, logs = self._atoms
        c, log_moment = self.tilt
        return atoms, self.count * np.exp(np.minimum(logs + c * atoms - log_moment, 0.0))

    @property
    def _offset(self) -> float:
        atoms, weights = self.weighed
        return float(atoms[int(np.argmax(weights))]) if atoms.size else self.anchor

    @property
    def finest(self) -> float:
        """The least spacing of nodes whose places floats tell apart."""
        ends = self.low - self._offset, self.high - self._offset, self._offset
        return max(abs(end) for end in ends) / _MOST_PLACES

    def _range(self, spacing: float) -> tuple[int, int]:
        if not self.finest <= spacing < math.inf:  # also where the spacing is no number
            raise TooFine("losses that are too near each other for floats")
        # outwards: what lies a rounding beyond the first node would be lost to the lower law
        first = math.floor((self.low - self._offset) / spacing - 1e-9)
        last = math.ceil((self.high - self._offset) / spacing + 1e-9)
        return first, max(last, first + 1)

    def even(self, step: float) -> Grid:
        """Nodes at every step; fewer, and wider apart, where these would be too many."""
        stride = 1
        first, last = self._range(step)
        while last - first > self.cells:
            stride *= 2
            first, last = self._range(step * stride)
        return Grid.uniform(self._offset, step, first * stride, stride, last - first + 1)

    def grid(self, step: float) -> Grid:
        """Nodes on a lattice of this step, as dense as is wanted, and beside all atoms."""
        first, last = self._range(step)
        strides = np.maximum(self.wanted / step * (1.0 + 1e-9), 1.0)
        ends = (self.ends - self._offset) / step
        atoms = self.source.atoms
        near: Floats = np.empty(0)
        if atoms.size:
            exact = (atoms - self._offset) / step
            near = np.concatenate((np.floor(exact), np.ceil(exact), np.round(exact)))
            if self.source.only_atoms:
                near = np.concatenate((near - 1.0, near, near + 1.0))
            near = near[(near >= first) & (near <= last)]
        if self.source.only_atoms:
            ends_too = np.unique(np.concatenate((near, [first, last])))
            return Grid(self._offset, step, ends_too.astype(np.int64))
        places = graded(first, last, ends, strides, self.cells)
        if near.size:
            places = _with_places(places, near)
        return Grid(self._offset, step, places)


def _with_places(places: Places, more: Floats) -> Places:
    """Increasing places, and a few more between them."""
    extra = np.unique(more.astype(np.int64))
    at = np.searchsorted(places, extra)
    fresh = places[np.minimum(at, places.size - 1)] != extra
    return np.insert(places, at[fresh], extra[fresh])

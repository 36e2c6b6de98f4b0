"""How much memory and work one question may take: arrays and loops of a grid are bounded by these.

A plan that would need more gets the bracket that was reached, and `Interval.resolved` says so; where there is
none, one sentence. Work is counted in cells and places, so the same question always gets the same answer.
`metered` counts all that is done within a block, tables of contours too, for whoever has to decide by it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

WORK = 5.0
"""Seconds of CPU, as estimated, that any answer may cost but one that was asked for as a proof."""
MEMORY = 2 << 30
"""Bytes that an answer may hold."""

# of these, what arrays of a grid may hold at the worst place: as much again is left to what surrounds them
_ARRAYS = MEMORY // 2
# bytes while a law is cut and rounded, per cell; while a window is transformed, per place and law
_CELL, _PLACE, _LAW = 800, 120, 40
# seconds: a cell that is cut and rounded both ways; a place of a window, and its transform for a law
_CUT_SECONDS, _PLACE_SECONDS, _LAW_SECONDS = 1e-6, 1e-7, 5e-8
# seconds: a law that is prepared for its moments; an entry of a table of frequencies and nodes
_PREPARED_SECONDS, _ENTRY_SECONDS = 3e-4, 2.5e-8
MOST_SPARSE = 1 << 33
"""Places of a window of which only few frequencies are asked for: they are never laid out."""
MOST_TERMS = 1 << 24
"""Products of frequencies and nodes that are summed one by one."""


def most_cells(laws: int) -> int:
    """Cells of one of so many laws, at most."""
    return max(1 << 11, _ARRAYS // (_CELL * max(laws, 1)))


def most_places(laws: int) -> int:
    """Places of a window that is laid out whole, at most, for so many distinct laws."""
    return max(1 << 14, _ARRAYS // (_PLACE + _LAW * laws))


@dataclass
class Work:
    """What a question has cost so far, and the dearest piece of it; in seconds, estimated."""

    spent: float = 0.0
    dearest: float = 0.0

    def cut(self, cells: int) -> None:
        """So many cells were cut, and rounded both ways."""
        self._spend(_CUT_SECONDS * cells)

    def transformed(self, laws: int, places: int) -> None:
        """A window of so many places was transformed for so many laws."""
        self._spend((_PLACE_SECONDS + _LAW_SECONDS * laws) * places)

    def _spend(self, seconds: float) -> None:
        self.spent += seconds
        self.dearest = max(self.dearest, seconds)
        _charge(seconds)

    @property
    def again(self) -> bool:
        """Whether as much as the dearest piece may be done twice more, as a finer grid asks.

        What else the question has cost, another direction and its contours, is counted too.
        """
        return max(self.spent, spent()) + 2.0 * self.dearest <= WORK


class Overspent(Exception):
    """The work of a block is more than was allowed. No refusal of a method: nobody on the way catches it."""


@dataclass
class Meter:
    """What was done within a block, in seconds as estimated; no more than `most`."""

    most: float = math.inf
    spent: float = 0.0


_METER: ContextVar[Meter | None] = ContextVar("metered_work", default=None)


@contextmanager
def metered(most: float = math.inf) -> Iterator[Meter]:
    """Counts the work of the block: on every machine, and under any load, the same.

    Within the block `Overspent` is raised where it is more than `most`.
    """
    meter = Meter(most)
    token = _METER.set(meter)
    try:
        yield meter
    finally:
        _METER.reset(token)
        _charge(meter.spent)  # a block around this one did it too


def spent() -> float:
    """What the innermost metered block has cost so far; 0 outside of any."""
    meter = _METER.get()
    return 0.0 if meter is None else meter.spent


def prepared() -> None:
    """A law was prepared for its moments."""
    _charge(_PREPARED_SECONDS)


def tabulated(entries: int) -> None:
    """A table of so many entries was made, a frequency and a node each."""
    _charge(_ENTRY_SECONDS * entries)


def _charge(seconds: float) -> None:
    meter = _METER.get()
    if meter is not None:
        meter.spent += seconds
        if meter.spent > meter.most:
            raise Overspent

"""A grid: every combination of its axes' values, numbered, the last axis fastest."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from math import prod

from dpacct.errors import InvalidArgument
from dpacct.sweep.axis import Axis

MOST_ROWS = 10_000_000


@dataclass(frozen=True)
class Grid:
    """What a sweep computes.

    Attributes:
        command: the command that answers, such as "eps".
        fixed: parameters that stay, each with its values as they would be typed.
        axes: parameters that vary; at least one.
        outputs: what to keep of each answer.
    """

    command: str
    fixed: tuple[tuple[str, tuple[str, ...]], ...]
    axes: tuple[Axis, ...]
    outputs: tuple[str, ...]

    def __post_init__(self) -> None:
        """Refuse a grid without axes, with one twice, or beyond all use."""
        if not self.axes:
            raise InvalidArgument("a sweep must have an axis", argument="axes")
        if self.size > MOST_ROWS:
            told = f"a sweep must have at most {MOST_ROWS} rows, got {self.size}"
            raise InvalidArgument(told, argument="axes")

    @property
    def size(self) -> int:
        """The number of rows."""
        return prod(len(axis.values) for axis in self.axes)

    def point(self, row: int) -> tuple[str, ...]:
        """The axes' values in a row.

        >>> grid = Grid("eps", (), (Axis("a", ("1", "2")), Axis("b", ("x", "y", "z"))), ())
        >>> grid.size, grid.point(0), grid.point(1), grid.point(5)
        (6, ('1', 'x'), ('1', 'y'), ('2', 'z'))
        """
        found = []
        for axis in reversed(self.axes):
            row, place = divmod(row, len(axis.values))
            found.append(axis.values[place])
        return tuple(reversed(found))

    def fingerprint(self, version: str) -> str:
        """What tells this grid, answered by this version, from every other."""
        told = [
            version,
            self.command,
            self.fixed,
            [(axis.name, axis.values) for axis in self.axes],
            self.outputs,
        ]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()

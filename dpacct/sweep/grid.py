"""A grid: every combination of its sides' values, numbered, the last side fastest."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
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
        tied: names of axes that vary together, as one side.
    """

    command: str
    fixed: tuple[tuple[str, tuple[str, ...]], ...]
    axes: tuple[Axis, ...]
    outputs: tuple[str, ...]
    tied: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        """Refuse a grid without axes, with a point twice, or beyond all use."""
        if not self.axes:
            raise InvalidArgument("a sweep must have an axis", argument="axes")
        names = {axis.name for axis in self.axes}
        for name, count in Counter(name for group in self.tied for name in group).items():
            if name not in names or count > 1:
                told = f"tied must name axes, each once, got {name[:40]!r}"
                raise InvalidArgument(told, argument="tied")
        for side in self.sides:
            _check(side)
        if self.size > MOST_ROWS:
            told = f"a sweep must have at most {MOST_ROWS} rows, got {self.size}"
            raise InvalidArgument(told, argument="axes")

    @property
    def size(self) -> int:
        """The number of rows."""
        return prod(len(side[0].values) for side in self.sides)

    @cached_property
    def sides(self) -> tuple[tuple[Axis, ...], ...]:
        """The axes, those that are tied together at the place of the first of them."""
        by_name = {axis.name: axis for axis in self.axes}
        partners = {name: group for group in self.tied for name in group}
        groups = dict.fromkeys(partners.get(axis.name, (axis.name,)) for axis in self.axes)
        return tuple(tuple(by_name[name] for name in group) for group in groups)

    def point(self, row: int) -> tuple[str, ...]:
        """The axes' values in a row.

        >>> grid = Grid("eps", (), (Axis("a", ("1", "2")), Axis("b", ("x", "y", "z"))), ())
        >>> grid.size, grid.point(0), grid.point(1), grid.point(5)
        (6, ('1', 'x'), ('1', 'y'), ('2', 'z'))
        >>> tied = Grid("eps", (), (Axis("a", ("1", "2")), Axis("b", ("x", "y"))), (), (("a", "b"),))
        >>> tied.size, tied.point(0), tied.point(1)
        (2, ('1', 'x'), ('2', 'y'))
        """
        found: dict[str, str] = {}
        for side in reversed(self.sides):
            row, place = divmod(row, len(side[0].values))
            found |= {axis.name: axis.values[place] for axis in side}
        return tuple(found[axis.name] for axis in self.axes)

    def fingerprint(self, version: str, *files: bytes) -> str:
        """What tells this grid, answered by this version from these files, from every other."""
        told = [
            version,
            self.command,
            self.fixed,
            [(axis.name, axis.values) for axis in self.axes],
            self.outputs,
            self.tied,
            [hashlib.sha256(file).hexdigest() for file in files],
        ]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def _check(side: tuple[Axis, ...]) -> None:
    """Refuse tied axes of different lengths, and a value (or a combination of tied ones) twice."""
    name = " and ".join(axis.name for axis in side)
    sizes = [len(axis.values) for axis in side]
    if len(set(sizes)) > 1:
        told = f"axes that are tied must have as many values as each other: {name} have"
        told += f" {' and '.join(map(str, sizes))}"
        raise InvalidArgument(told, argument=side[0].name)
    counts = Counter(zip(*(axis.values for axis in side), strict=True))
    twice = next((", ".join(values) for values, count in counts.items() if count > 1), None)
    if twice is not None:
        told = f"axis {name} must have each value once, got {twice[:40]!r} twice"
        raise InvalidArgument(told, argument=side[0].name)

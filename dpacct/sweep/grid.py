"""A sweep: axes, the grid of all their combinations, a row for each point, and the table they make."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, exp, floor, log, prod
from typing import Any

from dpacct.declare.domain import Integer, Real, Word
from dpacct.declare.number import exact, fits, text
from dpacct.declare.record import Parameter, Record
from dpacct.errors import InvalidArgument

MOST_POINTS = 1_000_000
MOST_ROWS = 10_000_000
_ANY = Real(as_float=False)


@dataclass(frozen=True)
class SweepAxis:
    """A parameter, and its values as they would be typed.

    Attributes:
        name: of the parameter, such as "sigma".
        values: at least one.
        log: whether they are spread over a logarithmic scale.
    """

    name: str
    values: tuple[str, ...]
    log: bool = False

    def __post_init__(self) -> None:
        """Refuse an axis without values, or beyond all use."""
        if not self.values:
            raise InvalidArgument(f"axis {self.name} must have a value", argument=self.name)
        if len(self.values) > MOST_POINTS:
            message = (
                f"axis {self.name} must have at most {MOST_POINTS} values, got {len(self.values)}"
            )
            raise InvalidArgument(message, argument=self.name)

    def numbers(self) -> tuple[float, ...] | None:
        """The values as floats; None where one of them is a word."""
        results = [exact(value) for value in self.values]
        return (
            None
            if None in results
            else tuple(float(value) for value in results if value is not None)
        )


class Spread(Record):
    """Evenly spread numbers, both ends included.

    Linear steps are exact fractions; those of a logarithmic scale have twelve digits.

    >>> Spread(**{"from": "0.1", "to": "1/2", "points": 3}).axis("rate", whole=False).values
    ('0.1', '0.3', '0.5')
    """

    start: Parameter[Fraction] = Parameter(_ANY, "its first value", alias="from")
    stop: Parameter[Fraction] = Parameter(_ANY, "its last value", alias="to")
    points: Parameter[int] = Parameter(Integer(2, MOST_POINTS), "how many")
    scale: Parameter[str] = Parameter(Word("linear", "log"), "of the values", default="linear")

    def axis(self, name: str, *, whole: bool) -> SweepAxis:
        """The axis of that name; whole values are rounded, and each is kept once.

        Raises `InvalidArgument` where there is none.
        """
        start, stop, points = self.start, self.stop, self.points
        if start == stop:
            message = f"axis {name}: from and to must differ, got {text(start)} twice"
            raise InvalidArgument(message, argument=name)
        if self.scale == "log":
            least = min(start, stop)
            if least <= 0:
                message = (
                    f"axis {name}: both ends of a log scale must be above 0, got {text(least)}"
                )
                raise InvalidArgument(message, argument=name)
            inner = [_between(start, stop, i / (points - 1)) for i in range(1, points - 1)]
        else:
            inner = [start + (stop - start) * i / (points - 1) for i in range(1, points - 1)]
        if whole:
            # The ends stay as typed, so that the command refuses a fraction itself.
            low, high = ceil(min(start, stop)), floor(max(start, stop))
            inner = [Fraction(round(number)) for number in inner if low <= round(number) <= high]
        values = dict.fromkeys(text(number) for number in (start, *inner, stop))
        return SweepAxis(name, tuple(values), self.scale == "log")


def _between(start: Fraction, stop: Fraction, share: float) -> Fraction:
    """The point that divides the ratio of the ends, to twelve digits."""
    if not (fits(start) and fits(stop)):
        raise InvalidArgument("an axis must lie in the range of floats")
    low, high = float(start), float(stop)
    return Fraction(f"{exp(log(low) + (log(high) - log(low)) * share):.12g}")


@dataclass(frozen=True)
class SweepGrid:
    """The parameters of a sweep, and the outputs that it keeps.

    Attributes:
        command: the command that answers, such as "eps".
        fixed: parameters that stay, each with its values as they would be typed.
        axes: parameters that vary; at least one.
        outputs: what to keep of each answer.
        tied: names of axes that vary together, as one side.
    """

    command: str
    fixed: tuple[tuple[str, tuple[str, ...]], ...]
    axes: tuple[SweepAxis, ...]
    outputs: tuple[str, ...]
    tied: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        """Refuse a grid without axes, with a point twice, or beyond all use."""
        if not self.axes:
            raise InvalidArgument("a sweep must have an axis", argument="axes")
        names = {axis.name for axis in self.axes}
        for name, count in Counter(name for group in self.tied for name in group).items():
            if name not in names or count > 1:
                message = f"tied must name axes, each once, got {name[:40]!r}"
                raise InvalidArgument(message, argument="tied")
        for side in self.sides:
            _check(side)
        if self.size > MOST_ROWS:
            message = f"a sweep must have at most {MOST_ROWS} rows, got {self.size}"
            raise InvalidArgument(message, argument="axes")

    @property
    def size(self) -> int:
        """The number of rows."""
        return prod(len(side[0].values) for side in self.sides)

    @cached_property
    def sides(self) -> tuple[tuple[SweepAxis, ...], ...]:
        """The axes, those that are tied together at the place of the first of them."""
        by_name = {axis.name: axis for axis in self.axes}
        partners = {name: group for group in self.tied for name in group}
        groups = dict.fromkeys(partners.get(axis.name, (axis.name,)) for axis in self.axes)
        return tuple(tuple(by_name[name] for name in group) for group in groups)

    def point(self, row: int) -> tuple[str, ...]:
        """The axes' values in a row.

        >>> grid = SweepGrid("eps", (), (SweepAxis("a", ("1", "2")), SweepAxis("b", ("x", "y", "z"))), ())
        >>> grid.size, grid.point(0), grid.point(1), grid.point(5)
        (6, ('1', 'x'), ('1', 'y'), ('2', 'z'))
        >>> tied = SweepGrid("eps", (), grid.axes[:1] + (SweepAxis("b", ("x", "y")),), (), (("a", "b"),))
        >>> tied.size, tied.point(0), tied.point(1)
        (2, ('1', 'x'), ('2', 'y'))
        """
        results: dict[str, str] = {}
        for side in reversed(self.sides):
            row, place = divmod(row, len(side[0].values))
            results |= {axis.name: axis.values[place] for axis in side}
        return tuple(results[axis.name] for axis in self.axes)

    def fingerprint(self, version: str, *files: bytes) -> str:
        """A hash of the grid, its files and the version of dpacct."""
        content = [
            version,
            self.command,
            self.fixed,
            [(axis.name, axis.values) for axis in self.axes],
            self.outputs,
            self.tied,
            [hashlib.sha256(file).hexdigest() for file in files],
        ]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def _check(side: tuple[SweepAxis, ...]) -> None:
    """Refuse tied axes of different lengths, and a value (or a combination of tied ones) twice."""
    name = " and ".join(axis.name for axis in side)
    sizes = [len(axis.values) for axis in side]
    if len(set(sizes)) > 1:
        message = f"axes that are tied must have as many values as each other: {name} have"
        message += f" {' and '.join(map(str, sizes))}"
        raise InvalidArgument(message, argument=side[0].name)
    counts = Counter(zip(*(axis.values for axis in side), strict=True))
    twice = next((", ".join(values) for values, count in counts.items() if count > 1), None)
    if twice is not None:
        message = f"axis {name} must have each value once, got {twice[:40]!r} twice"
        raise InvalidArgument(message, argument=side[0].name)


# --- rows


Cell = float | int | str | bool | None
"""A value of an answer; None where it has none."""


@dataclass(frozen=True)
class SweepRow:
    """The outputs in their order, or the sentence and exit code of a failure.

    >>> SweepRow.from_list(SweepRow(error="no such luck.", code=4).to_list()).code
    4
    """

    cells: tuple[Cell, ...] = ()
    error: str = ""
    code: int = 0

    def to_list(self) -> list[object]:
        """Return JSON values."""
        return [self.code, self.error] if self.code else [0, list(self.cells)]

    @classmethod
    def from_list(cls, fields: list[object]) -> SweepRow:
        """The row that `to_list` wrote; raises `ValueError` for anything else."""
        if len(fields) != 2 or not isinstance(fields[0], int):
            raise ValueError("not a row")
        code, rest = fields[0], fields[1]
        if code and isinstance(rest, str):
            return cls(error=rest, code=int(code))
        if code == 0 and isinstance(rest, list):
            return cls(cells=tuple(rest))
        raise ValueError("not a row")


@dataclass(frozen=True)
class SweepTable:
    """The rows of a grid, in its order.

    Attributes:
        grid: what was asked.
        columns: the names of the outputs.
        rows: one for each point.
        method: how the numbers were computed, where nobody chose; "" where somebody did.
    """

    grid: SweepGrid
    columns: tuple[str, ...]
    rows: Sequence[SweepRow]
    method: str = ""

    @property
    def failed(self) -> int:
        """The number of rows without an answer."""
        return sum(1 for row in self.rows if row.code)

    def column(self, name: str) -> list[Cell]:
        """One output of every row; None where it has none."""
        place = self.columns.index(name)
        return [row.cells[place] if row.cells else None for row in self.rows]

    @property
    def _names(self) -> list[str]:
        return [*(axis.name for axis in self.grid.axes), *self.columns, "exit", "error"]

    def _rows(self) -> Iterator[list[Cell]]:
        none = (None,) * len(self.columns)
        for number, row in enumerate(self.rows):
            cells = none if row.code else row.cells
            yield [*self.grid.point(number), *cells, row.code, row.error or None]

    def to_csv(self) -> str:
        """A header and a line for each row; numbers read back to the same floats."""
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows([self._names, *self._rows()])
        return out.getvalue()

    def to_dict(self) -> dict[str, Any]:
        """The JSON object, without schema and command."""
        return {
            "of": self.grid.command,
            "fixed": {name: list(values) for name, values in self.grid.fixed},
            "axes": [{"name": axis.name, "values": list(axis.values)} for axis in self.grid.axes],
            "tied": [list(names) for names in self.grid.tied],
            "default_method": self.method or None,
            "columns": self._names,
            "rows": list(self._rows()),
            "failed": self.failed,
        }

"""All rows of a sweep as CSV and JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dpacct.sweep.grid import Grid
from dpacct.sweep.row import Cell, Row


@dataclass(frozen=True)
class Table:
    """The rows of a grid, in its order.

    Attributes:
        grid: what was asked.
        columns: the names of the outputs.
        rows: one for each point.
        method: how the numbers were computed, where nobody chose; "" where somebody did.
    """

    grid: Grid
    columns: tuple[str, ...]
    rows: Sequence[Row]
    method: str = ""

    @property
    def failed(self) -> int:
        """How many rows have no answer."""
        return sum(1 for row in self.rows if row.code)

    def column(self, name: str) -> list[Cell]:
        """One output of every row; None where it has none."""
        place = self.columns.index(name)
        return [row.cells[place] if row.cells else None for row in self.rows]

    def to_csv(self) -> str:
        """A header and a line for each row; numbers read back to the same floats."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        axes = [axis.name for axis in self.grid.axes]
        writer.writerow([*axes, *self.columns, "exit", "error"])
        empty = ("",) * len(self.columns)
        for number, row in enumerate(self.rows):
            cells = tuple(map(_written, row.cells)) if not row.code else empty
            writer.writerow([*self.grid.point(number), *cells, row.code, row.error])
        return out.getvalue()

    def to_dict(self) -> dict[str, Any]:
        """The JSON object, without schema and command."""
        return {
            "of": self.grid.command,
            "fixed": {name: list(values) for name, values in self.grid.fixed},
            "axes": [{"name": axis.name, "values": list(axis.values)} for axis in self.grid.axes],
            "tied": [list(names) for names in self.grid.tied],
            "default_method": self.method or None,
            "columns": [axis.name for axis in self.grid.axes] + [*self.columns, "exit", "error"],
            "rows": [
                [
                    *self.grid.point(number),
                    *(row.cells or (None,) * len(self.columns)),
                    row.code,
                    row.error or None,
                ]
                for number, row in enumerate(self.rows)
            ],
            "failed": self.failed,
        }


def _written(cell: Cell) -> str:
    if cell is None:
        return ""
    return repr(cell) if isinstance(cell, float) else str(cell)

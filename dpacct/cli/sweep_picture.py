"""From the table of a sweep to the grid that is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpacct.declare.domain import did_you_mean
from dpacct.declare.record import Usage
from dpacct.sweep.grid import Grid, Table
from dpacct.vocabulary import Strength

if TYPE_CHECKING:
    from dpacct.report.plots.grid import GridData, Side
    from dpacct.sweep.grid import Axis


def check_picture(
    grid: Grid, columns: tuple[str, ...], quantity: str | None, kind: str | None
) -> None:
    """Refuse a picture that cannot be, before the work.

    Raises:
        InvalidArgument: too many axes, panels or lines, or no such output.
    """
    from dpacct.report.plots.grid import MOST_PANELS, arranged
    from dpacct.report.plots.style import LOOKS

    sides = _sides(grid)
    sizes = [len(sides[place].values) for place in arranged(sides)]
    if not sides:
        raise Usage("a picture needs an axis with two values or more", argument="--output")
    if len(sides) > 3 or (len(sides) == 3 and sizes[2] > MOST_PANELS):
        listed = ", ".join(f"{side.name} {len(side.values)}" for side in sides)
        raise Usage(
            f"a picture shows two axes, and a third one of at most {MOST_PANELS} values;"
            f" this sweep has {listed}: write .csv or .json",
            argument="--output",
        )
    if kind == "curves" and len(sides) > 1 and sizes[1] > len(LOOKS):
        message = f"--picture curves shows at most {len(LOOKS)} lines; this sweep has {sizes[1]}"
        raise Usage(message, argument="--picture")
    if quantity is not None and quantity not in columns:
        message = f"--show must name an output of the sweep, got {quantity[:40]!r}"
        raise Usage(message + did_you_mean(quantity, columns), argument="--show")


def _sides(grid: Grid) -> tuple[Side, ...]:
    """What varies: an axis, or several that are tied."""
    return tuple(_side(axes) for axes in grid.sides if len(axes[0].values) > 1)


def _side(axes: tuple[Axis, ...]) -> Side:
    """Tied axes go by the numbers of the first, or in their order where it has none or one twice."""
    from dpacct.report.plots.grid import Side

    first, *others = axes
    numbers = first.numbers()
    if numbers is not None and len(set(numbers)) < len(numbers):
        numbers = None
    partners = tuple((axis.name, axis.values) for axis in others)
    return Side(first.name, first.values, numbers, first.log, partners)


def grid_data(table: Table, quantity: str | None) -> GridData:
    """The numbers of one output over the axes that vary.

    Raises:
        InvalidArgument: the output is no number.
    """
    import numpy as np

    from dpacct.report.plots.grid import GridData

    name = quantity or table.columns[0]
    cells = table.column(name)
    if any(isinstance(cell, str) for cell in cells):
        raise Usage(
            f"{name} is a word, which a picture cannot show; choose with --show", argument="--show"
        )
    numbers = np.array([np.nan if cell is None else float(cell) for cell in cells])
    sides = _sides(table.grid)
    values = numbers.reshape([len(side.values) for side in sides])
    fixed = [f"{key} {', '.join(fixed_values)}" for key, fixed_values in table.grid.fixed]
    fixed += [f"{axis.name} {axis.values[0]}" for axis in table.grid.axes if len(axis.values) == 1]
    strengths = None
    if "strength" in table.columns:
        words = [w or Strength.CONVERGED for w in table.column("strength")]
        strengths = np.array([Strength.parse(str(w)) for w in words], dtype=object)
        strengths = strengths.reshape(values.shape)
    return GridData(
        name,
        sides,
        values,
        strengths,
        (f"dpacct {table.grid.command}: {'; '.join(fixed)}" if fixed else "",),
    )

"""A grid of numbers: curves where one axis has few values, a heat map where both have many."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dpacct.declare.number import down, exact, listed, near, up
from dpacct.errors import InvalidArgument
from dpacct.report.plots.chart import Axis, Chart, Line
from dpacct.report.plots.draw import figure, plain, show
from dpacct.report.plots.kinds import span_of
from dpacct.report.plots.style import (
    FAINT,
    LOOKS,
    ON_DARK,
    ON_LIGHT,
    PAGE,
    SIZE,
    method_name,
    style,
)
from dpacct.vocabulary import Strength

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from dpacct.sweep.grid import SweepAxis as Swept
    from dpacct.sweep.grid import SweepGrid, SweepTable

_TICKS = 9  # names across one heat map that has the page to itself
_ROWS = 12  # names beside a heat map
_CELL = 0.36  # inches that a number in a cell needs
MOST_PANELS = 6
MOST_LINES = 6
"""Grids of at most this many lines are drawn as curves by default."""


class GridSide:
    """One side of the grid: an axis of the sweep, or several that are tied and told together.

    Tied axes go by the numbers of the first, or in their order where it has none or one twice.
    """

    def __init__(self, first: Swept, *partners: Swept) -> None:
        self.name, self.values, self.log, self.partners = (
            first.name,
            first.values,
            first.log,
            partners,
        )
        numbers = first.numbers()
        self.numbers = None if numbers and len({*numbers}) < len(numbers) else numbers

    @property
    def label(self) -> str:
        """The label of the axis."""
        if not self.partners:
            return self.name
        others = ", ".join(axis.name for axis in self.partners)
        return f"{self.name} (with {others})" if self.numbers else f"{self.name}, {others}"

    def sentence(self, place: int) -> str:
        """One value with its name, as a title says it, and those that go with it."""
        first = f"{self.name} {self._value(place)}"
        others = (f"{axis.name} {_typed(axis.values[place])}" for axis in self.partners)
        return ", ".join([first, *others])

    def short(self, place: int) -> str:
        """One value in few digits; with its partners where it does not tell the place alone."""
        digits = self._value(place)
        if self.numbers is not None:
            return digits
        return ", ".join([digits, *(_typed(axis.values[place]) for axis in self.partners)])

    def _value(self, place: int) -> str:
        if self.numbers is None:
            return method_name(self.values[place])
        return near(self.numbers[place], 4)


def sides_of(grid: SweepGrid) -> tuple[GridSide, ...]:
    """The sides of the grid with more than one value."""
    return tuple(GridSide(*axes) for axes in grid.sides if len(axes[0].values) > 1)


def _typed(value: str) -> str:
    """A typed value in few digits, if it is a number."""
    number = exact(value)
    return value if number is None else near(float(number), 4)


@dataclass(frozen=True)
class GridData:
    """The values of a grid to draw, with its axes.

    Attributes:
        quantity: what the numbers are, such as "epsilon".
        sides: one to three axes, in the order of the values' dimensions.
        values: the numbers; nan where there is none.
        strengths: of each number, in the same shape; None where nothing is known of them.
        facts: lines under the title.
    """

    quantity: str
    sides: tuple[GridSide, ...]
    values: NDArray[Any]
    strengths: NDArray[Any] | None = None
    facts: tuple[str, ...] = ()

    @classmethod
    def of(cls, table: SweepTable, quantity: str) -> Self:
        """One output of a sweep over the axes that vary; raises `InvalidArgument` if it is no number."""
        cells = table.column(quantity)
        if any(isinstance(cell, str) for cell in cells):
            message = f"{quantity} is a word, which a picture cannot show; choose with --show"
            raise InvalidArgument(message, argument="show")
        sides, grid = sides_of(table.grid), table.grid
        numbers = np.array([np.nan if cell is None else float(cell) for cell in cells])
        values = numbers.reshape([len(side.values) for side in sides])
        fixed = [f"{key} {', '.join(typed)}" for key, typed in grid.fixed]
        fixed += [f"{axis.name} {axis.values[0]}" for axis in grid.axes if len(axis.values) == 1]
        strengths = None
        if "strength" in table.columns:
            words = [str(word or "converged") for word in table.column("strength")]
            strengths = np.array(words, dtype=object).reshape(values.shape)
        facts = (f"dpacct {grid.command}: {'; '.join(fixed)}" if fixed else "",)
        return cls(quantity, sides, values, strengths, facts)

    def strength(self, place: tuple[Any, ...]) -> Strength:
        """The strength of one number."""
        # An array made of words holds plain texts, whatever they were.
        return Strength.parse(self.grades[place])

    @property
    def grades(self) -> NDArray[Any]:
        """The strength of each number; that of the accountant where the grid has none."""
        if self.strengths is None:
            return np.full(self.values.shape, Strength.CONVERGED, dtype=object)
        return self.strengths

    @property
    def title(self) -> str:
        """The methods' differences, or where the numbers are smallest and largest."""
        finite = np.isfinite(self.values)
        if not finite.any():
            return f"No point of this grid has a {self.quantity}"
        missing = int(self.values.size - finite.sum())
        none = f"; {missing} of {self.values.size} points have none" if missing else ""
        title = (self._methods() or self._ends()) + none
        return title[0].upper() + title[1:]

    def _methods(self) -> str:
        """Say how far each compared method is from the first."""
        place = next((i for i, side in enumerate(self.sides) if side.name == "method"), None)
        if place is None:
            return ""
        numbers = np.moveaxis(self.values, place, 0).reshape(len(self.sides[place].values), -1)
        grades = np.moveaxis(self.grades, place, 0).reshape(numbers.shape)
        first, *others = (
            Line(name, method_name(name), row, tuple(map(Strength.parse, grade)), name)
            for name, row, grade in zip(self.sides[place].values, numbers, grades, strict=True)
        )
        distances = [words for line in others if (words := span_of(line, first))]
        return f"Against the {first.label} {self.quantity} {listed(distances)}" if distances else ""

    def _ends(self) -> str:
        low, high = (
            tuple(int(i) for i in np.unravel_index(int(find(self.values)), self.values.shape))
            for find in (np.nanargmin, np.nanargmax)
        )
        least, most = (self._number(place) for place in (low, high))
        if least == most:
            return f"{self.quantity} is {least} everywhere"
        return f"{self.quantity} goes from {least} ({self._at(low)}) to {most} ({self._at(high)})"

    def _number(self, place: tuple[Any, ...]) -> str:
        weak = self.strength(place) <= Strength.ESTIMATE
        return f"{'about ' if weak else ''}{self.rounded(place)}"

    def rounded(self, place: tuple[Any, ...], digits: int = 4) -> str:
        """One number in few digits, on its safe side: up, but down for what is a lower end."""
        value = float(self.values[place])
        if self.strength(place) <= Strength.ESTIMATE:
            return near(value, digits)
        below = self.quantity == "steps" or self.quantity.endswith("lower")
        return down(value, digits) if below else up(value, digits)

    def _at(self, place: tuple[int, ...]) -> str:
        return ", ".join(s.sentence(i) for s, i in zip(self.sides, place, strict=True))


@style()
def draw_grid(data: GridData, *, heat: bool | None = None) -> Figure:
    """The picture of a grid; a third axis becomes panels.

    Args:
        data: up to three axes; the third one, the one with the fewest values, has six at most.
        heat: whether two axes become a heat map; default: where each has more than six values.
    """
    order = arranged(data.sides)
    panel = data.sides[order[2]] if len(order) > 2 else None
    sides = [data.sides[place] for place in order[:2]]

    def by_panel(array: NDArray[Any]) -> NDArray[Any]:
        """The panels first, then what goes across, then lines or the vertical axis."""
        turned = np.transpose(array.reshape(data.values.shape), (*order[2:], *order[:2]))
        return turned if panel is not None else turned[np.newaxis]

    values, grades = by_panel(data.values), by_panel(data.grades)
    if len(sides) < 2:
        heat = False
    elif heat is None:
        heat = len(sides[1].values) > MOST_LINES
    count = len(values)
    columns = min(count, 2 if count in (2, 4) else 3)
    rows = math.ceil(count / columns)
    drawn, made = figure(
        data.title,
        data.facts,
        height=3.6 if count == 1 else 2.6 * rows + (0.3 if not heat else 0),
        rows=rows,
        columns=columns,
        squeeze=False,
        sharex=not heat,
        sharey=not heat,
    )
    shade, log = _shade(values), _log_values(values)
    words = None
    if heat and 0.75 * PAGE / columns > _CELL * len(sides[0].values) and len(sides[1].values) <= 12:
        words = by_panel(np.array([data.rounded(at, 3) for at in np.ndindex(data.values.shape)]))
    for index, axes in enumerate(made.flat):
        if index >= count:
            axes.set_visible(False)
            continue
        if panel is not None:
            axes.set_title(panel.sentence(index), loc="left", color=FAINT)
        if heat:
            cell_texts = None if words is None else words[index]
            mesh = _heat(axes, sides, values[index], shade, cell_texts, ticks=_TICKS // columns)
        else:
            curves = _curves(sides, values[index], grades[index], data.quantity, log=log)
            show(axes, curves, markers=min(len(curves.points), 12))
            if sides[0].numbers is None:
                names = [sides[0].short(i) for i in range(len(curves.points))]
                axes.set_xticks(curves.points, names)
        axes.set_xlabel(sides[0].label if index + columns >= count else "")
        vertical = sides[1].label if heat else data.quantity
        axes.set_ylabel(vertical if index % columns == 0 else "")
    if heat:
        _key(drawn.colorbar(mesh, ax=list(made.flat), label=data.quantity, aspect=30, pad=0.02))
        return drawn
    if len(sides) > 1 and count == 1:
        made.flat[0].legend()
    elif len(sides) > 1:
        drawn.legend(*made.flat[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return drawn


def must_fit(grid: SweepGrid, *, curves: bool) -> None:
    """Refuse a picture of a grid that cannot be; raises `InvalidArgument`."""
    sides = sides_of(grid)
    sizes = [len(sides[place].values) for place in arranged(sides)]
    if not sides:
        raise InvalidArgument("a picture needs an axis with two values or more", argument="output")
    if len(sides) > 3 or (len(sides) == 3 and sizes[2] > MOST_PANELS):
        listed = ", ".join(f"{side.name} {len(side.values)}" for side in sides)
        message = f"a picture shows two axes, and a third one of at most {MOST_PANELS} values;"
        message += f" this sweep has {listed}: write .csv or .json"
        raise InvalidArgument(message, argument="output")
    if curves and len(sides) > 1 and sizes[1] > len(LOOKS):
        message = f"--picture curves shows at most {len(LOOKS)} lines; this sweep has {sizes[1]}"
        raise InvalidArgument(message, argument="picture")


def arranged(sides: Sequence[GridSide]) -> list[int]:
    """The places of the sides: what goes across first, then lines (or upwards), then the panels.

    Numbers go across before words, and many values before few; panels are the side with the fewest
    values, but methods are compared within a panel.
    """
    order = list(range(len(sides)))
    panels = []
    if len(sides) > 2:
        panels = [min(order, key=lambda i: (sides[i].name == "method", len(sides[i].values)))]
        order.remove(panels[0])
    order.sort(key=lambda i: (sides[i].numbers is None, -len(sides[i].values)))
    return order + panels


def _log_values(values: NDArray[Any]) -> bool:

    finite = values[np.isfinite(values)]
    return bool(finite.size and finite.min() > 0 and finite.max() / finite.min() > 30)


def _curves(
    sides: list[GridSide], values: NDArray[Any], grades: NDArray[Any], quantity: str, *, log: bool
) -> Chart:
    """One panel: a line for each value of the second side."""
    across = sides[0]
    x = np.array(across.numbers or range(len(across.values)), dtype=float)
    columns, strengths = (a[:, None] if a.ndim == 1 else a for a in (values, grades))
    lines = []
    for index, (column, words) in enumerate(zip(columns.T, strengths.T, strict=True)):
        label, method = quantity, ""
        if len(sides) > 1:
            side, method = sides[1], sides[1].values[index]
            label = side.short(index) if side.name == "method" else side.sentence(index)
            label += "" if np.isfinite(column).any() else " (none)"
        lines.append(Line(label, label, column, tuple(map(Strength.parse, words)), method))
    numbers = across.numbers is not None and bool(x.min() > 0)
    spread = numbers and (across.log or bool(x.max() / x.min() > 30))
    axes = Axis(across.name, across.label, log=spread), Axis(quantity, quantity, log=log)
    return Chart("", *axes, x, tuple(lines), "")


def _shade(values: NDArray[Any]) -> Any:
    from matplotlib.colors import LogNorm, Normalize

    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    if low == high:
        low, high = low - 0.5, high + 0.5
    return LogNorm(low, high) if _log_values(values) else Normalize(low, high)


def _key(bar: Any) -> None:
    """Plain numbers beside the colours."""
    bar.outline.set_linewidth(0.5)
    if bar.vmin > 1e-3 and bar.vmax < 1e6:
        from matplotlib.ticker import FuncFormatter, NullFormatter

        bar.ax.yaxis.set_major_formatter(FuncFormatter(plain))
        if bar.vmax / bar.vmin > 30:
            bar.ax.yaxis.set_minor_formatter(NullFormatter())


def _heat(
    axes: Axes,
    sides: Sequence[GridSide],
    values: NDArray[Any],
    shade: Any,
    words: NDArray[Any] | None = None,
    ticks: int = 8,
) -> Any:
    """Cells in the colours of `shade`; a cell without a number is white with a cross.

    Args:
        axes: where to draw.
        sides: the horizontal and the vertical axis.
        values: the numbers, the horizontal axis first.
        shade: a matplotlib norm.
        words: what each cell carries, in the same order; None for lines of equal value instead.
        ticks: how many values of the horizontal axis have room for their names.
    """
    from matplotlib import colormaps

    shown = values.T  # rows are the vertical axis
    colours = colormaps["cividis"].reversed()  # even in grey, and the same to the colour-blind
    mesh = axes.pcolormesh(
        np.ma.masked_invalid(shown),
        cmap=colours,
        norm=shade,
        edgecolors="face",  # else a viewer shows seams between the cells
        linewidth=0.4,
    )
    axes.grid(False)
    for row, column in zip(*np.nonzero(~np.isfinite(shown)), strict=True):
        _write(axes, row, column, "×", FAINT)
    if words is not None:
        for (row, column), value in np.ndenumerate(shown):
            if np.isfinite(value):
                colour = ON_DARK if float(shade(value)) > 0.5 else ON_LIGHT
                _write(axes, row, column, words[column, row], colour)
    elif np.isfinite(shown).all():
        _lines(axes, shown, shade)
    for side, set_ticks, most in (
        (sides[0], axes.set_xticks, ticks),
        (sides[1], axes.set_yticks, _ROWS),
    ):
        count = len(side.values)
        places = range(0, count, -(-count // most))
        set_ticks([p + 0.5 for p in places], [side.short(p) for p in places])
    return mesh


def _write(axes: Axes, row: int, column: int, text: str, colour: str) -> None:
    axes.text(
        column + 0.5, row + 0.5, text, ha="center", va="center", size=SIZE - 2.5, color=colour
    )


def _lines(axes: Axes, shown: NDArray[Any], shade: Any) -> None:
    """Lines of equal value at 1, 2 and 5 times a power of ten, through the cells' middles.

    Powers of ten alone, or every so many of them, where these would be more than nine.
    """
    from matplotlib.colors import LogNorm

    powers = range(-323, 309)
    steps = [m * 10.0**e for e in powers for m in (1, 2, 5)]
    levels = [level for level in steps if shade.vmin < level < shade.vmax]
    if len(levels) > 9:
        levels = [10.0**e for e in powers if shade.vmin < 10.0**e < shade.vmax]
        levels = levels[:: -(-len(levels) // 9)]
    if not levels or min(shown.shape) < 3:
        return
    colours = [ON_DARK if shade(level) > 0.5 else ON_LIGHT for level in levels]
    across, upward = (np.arange(n) + 0.5 for n in reversed(shown.shape))
    heights, marks = shown, np.array(levels)
    if isinstance(shade, LogNorm):  # between two cells the lines go as the colours do
        heights, marks = np.log(shown), np.log(levels)
    labels = dict(zip(marks.tolist(), map(near, levels), strict=True))
    drawn = axes.contour(across, upward, heights, marks, colors=colours, linewidths=0.8)
    axes.clabel(drawn, fmt=labels, fontsize=SIZE - 2.5)

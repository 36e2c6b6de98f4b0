"""A chart as text, in braille dots."""

from __future__ import annotations

import math
import textwrap
from itertools import pairwise
from typing import TYPE_CHECKING

from dpacct.report.plots.style import labelled
from dpacct.vocabulary import Strength

if TYPE_CHECKING:
    from dpacct.report.plots.chart import Chart, Scale

    Cell = tuple[int, int]

_MARKS = "●■▲◆▼✚✖"
# Bits of the dots of a braille cell (Unicode 2800), by column and row.
_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
_DASH = 6  # dots drawn, then as many left out, along an estimate


class _Canvas:
    """Cells of 2 x 4 dots each, by row from above and column."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self.cells: dict[Cell, str] = {}
        self.right, self.top = 2 * width - 1, 4 * height - 1

    def at(self, across: float, upward: float) -> Cell:
        """The dot (column, row from above) nearest to a place.

        The last digits of a number must not decide where two are equally near.
        """
        x = math.floor(self.right * across + 0.50001)
        return x, self.top - math.floor(self.top * upward + 0.50001)

    def dot(self, x: int, y: int) -> None:
        """Set one dot."""
        cell = (y // 4, x // 2)
        bits = ord(self.cells.get(cell, chr(0x2800))) | _DOTS[x % 2][y % 4]
        self.cells[cell] = chr(bits)

    def stroke(self, spots: list[Cell], *, dashed: bool) -> None:
        """Dots from spot to spot, without holes."""
        count = 0
        for (x0, y0), (x1, y1) in pairwise(spots):
            steps = max(abs(x1 - x0), abs(y1 - y0), 1)
            for i in range(steps):
                if not dashed or count % (2 * _DASH) < _DASH:
                    self.dot(round(x0 + (x1 - x0) * i / steps), round(y0 + (y1 - y0) * i / steps))
                count += 1
        if spots:
            self.dot(*spots[-1])

    def rows(self) -> list[str]:
        """The lines of text."""
        columns = range(self.width)
        return ["".join(self.cells.get((r, c), " ") for c in columns) for r in range(self.height)]


def text_plot(chart: Chart, *, width: int = 80, height: int = 16) -> str:
    """The chart in lines of at most `width` characters (at least 40), title and legend included.

    `height` is that of the plot itself, in lines.
    """
    width = max(40, width)
    across, upward = chart.scales()
    ticks = {
        round(upward.place(value) * (height - 1)): upward.label(value) for value in upward.ticks(5)
    }
    room = max(map(len, ticks.values()), default=0)
    canvas = _Canvas(width - room - 2, height)
    letters: dict[Cell, str] = {}
    for level in chart.levels:
        if level.y in upward:
            _, y = canvas.at(0.0, upward.place(level.y))
            for x in range(0, canvas.right + 1, 4):
                canvas.dot(x, y)
    for index, line in enumerate(chart.lines):
        spots = [canvas.at(*spot) for spot in chart.spots(line.values)]
        canvas.stroke(spots, dashed=line.strength <= Strength.ESTIMATE)
        # Markers, each line's a little later, tell the lines apart without colour.
        every = max(1, len(spots) // 6)
        if len(chart.lines) > 1:
            for x, y in spots[(index * every) // len(chart.lines) :: every]:
                letters[y // 4, x // 2] = _MARKS[index % len(_MARKS)]
    canvas.cells |= letters
    lines = [*textwrap.wrap(chart.title, width), ""]
    lines += textwrap.wrap(chart.y.label, width)
    for row, cells in enumerate(canvas.rows()):
        tick = ticks.get(height - 1 - row, "")
        lines.append(f"{tick.rjust(room)} {'┤' if tick else '│'}{cells}")
    lines.append(" " * (room + 1) + "└" + "─" * canvas.width)
    lines.append(" " * (room + 2) + _below(across, canvas.width))
    lines += [row.center(width) for row in textwrap.wrap(chart.x.label, width)]
    if len(chart.lines) > 1:
        legend = "   ".join(
            f"{_MARKS[i % len(_MARKS)]} {labelled(line.label, line.strength)}"
            for i, line in enumerate(chart.lines)
        )
        lines += textwrap.wrap(legend, width, break_long_words=False)
    lines += [row for part in chart.subtitle for row in textwrap.wrap(part, width)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _below(scale: Scale, width: int) -> str:
    """The labels under the horizontal axis, where there is room for them."""
    row = ""
    for value in scale.ticks():
        label = scale.label(value)
        start = round(scale.place(value) * (width - 1)) - len(label) // 2
        start = min(max(start, 0), width - len(label))
        if not row or start > len(row) + 1:
            row = row.ljust(start) + label
    return row

"""A chart as text: braille dots where the terminal has them, plain characters where not."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from dpacct.report.plots.style import labelled
from dpacct.report.rounding import near
from dpacct.vocabulary import Strength

if TYPE_CHECKING:
    from dpacct.report.plots.chart import Axis, Chart

_MARKS = "●■▲◆▼✚✖"
_PLAIN_MARKS = "*o+x#@%"
# Bits of the dots of a braille cell (Unicode 2800), by column and row.
_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
_DASH = 6  # dots drawn, then as many left out, along an estimate


@dataclass
class _Canvas:
    """Cells of 2 x 4 dots each; row 0 is at the top."""

    width: int
    height: int
    dots: dict[tuple[int, int], int] = field(default_factory=dict)
    letters: dict[tuple[int, int], str] = field(default_factory=dict)

    def dot(self, x: int, y: int) -> None:
        """Set one dot; y counts upwards."""
        row = 4 * self.height - 1 - y
        cell = (row // 4, x // 2)
        self.dots[cell] = self.dots.get(cell, 0) | _DOTS[x % 2][row % 4]

    def letter(self, x: int, y: int, mark: str) -> None:
        """Put a marker over the dot's cell."""
        self.letters[((4 * self.height - 1 - y) // 4, x // 2)] = mark

    def rows(self) -> list[str]:
        """The lines of text."""

        def cell(row: int, column: int) -> str:
            at = (row, column)
            if at in self.letters:
                return self.letters[at]
            return chr(0x2800 + self.dots[at]) if at in self.dots else " "

        return ["".join(cell(r, c) for c in range(self.width)) for r in range(self.height)]


def text_plot(chart: Chart, *, width: int = 80, height: int = 16, braille: bool = True) -> str:
    """The chart in lines of at most `width` characters, title and legend included.

    Args:
        chart: what to show.
        width: of the terminal, in characters; at least 40.
        height: of the plot itself, in lines.
        braille: whether the terminal has Unicode; plain characters otherwise.
    """
    width = max(40, width)
    marks = _MARKS if braille else _PLAIN_MARKS
    low, high = _span(chart)
    ticks = [_label(chart.y, _back(chart.y, low + (high - low) * i / 4)) for i in range(5)]
    room = max(map(len, ticks))
    canvas = _Canvas(width - room - 2, height)
    first, last = _place(chart.x, chart.points[0]), _place(chart.x, chart.points[-1])
    across, upward = 2 * canvas.width - 1, 4 * height - 1

    def column(x: float) -> int:
        return _nearest(across * (_place(chart.x, x) - first) / ((last - first) or 1.0))

    for level in chart.levels:
        if _drawable(chart.y, level.y) and low <= _place(chart.y, level.y) <= high:
            row = _nearest(upward * (_place(chart.y, level.y) - low) / (high - low))
            for x in range(0, across + 1, 4 if braille else 6):
                canvas.dot(x, row) if braille else canvas.letter(x, row, ".")
    for index, line in enumerate(chart.lines):
        spots = [
            (column(x), _nearest(upward * (_place(chart.y, y) - low) / (high - low)))
            for x, y in zip(chart.points.tolist(), line.values.tolist(), strict=True)
            if _drawable(chart.y, y) and low <= _place(chart.y, y) <= high
        ]
        if braille:
            _stroke(canvas, spots, dashed=line.strength <= Strength.ESTIMATE)
        # Markers, each line's a little later, tell the lines apart without colour.
        every = max(1, len(spots) // (6 if braille else 40))
        start = (index * every) // max(1, len(chart.lines))
        if len(chart.lines) > 1 or not braille:
            for spot in spots[start::every]:
                canvas.letter(*spot, marks[index % len(marks)])
    say = str if braille else _plain
    lines = [*textwrap.wrap(say(chart.title), width), ""]
    lines += textwrap.wrap(say(chart.y.label), width)
    upright, corner, flat = ("┤", "└", "─") if braille else ("|", "+", "-")
    for row, cells in enumerate(canvas.rows()):
        from_below = height - 1 - row
        tick = next(
            (t for i, t in enumerate(ticks) if round(i * (height - 1) / 4) == from_below), ""
        )
        lines.append(f"{tick.rjust(room)} {upright if tick else '│' if braille else '|'}{cells}")
    lines.append(" " * (room + 1) + corner + flat * canvas.width)
    lines.append(" " * (room + 2) + _below(chart.x, first, last, canvas.width))
    lines += [row.center(width) for row in textwrap.wrap(say(chart.x.label), width)]
    if len(chart.lines) > 1:
        legend = "   ".join(
            f"{marks[i % len(marks)]} {labelled(line.label, line.strength)}"
            for i, line in enumerate(chart.lines)
        )
        lines += textwrap.wrap(say(legend), width, break_long_words=False)
    lines += [row for part in chart.subtitle for row in textwrap.wrap(say(part), width)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _stroke(canvas: _Canvas, spots: list[tuple[int, int]], *, dashed: bool) -> None:
    """Dots from spot to spot, without holes."""
    count = 0
    for (x0, y0), (x1, y1) in pairwise(spots):
        steps = max(abs(x1 - x0), abs(y1 - y0), 1)
        for i in range(steps):
            if not dashed or count % (2 * _DASH) < _DASH:
                canvas.dot(round(x0 + (x1 - x0) * i / steps), round(y0 + (y1 - y0) * i / steps))
            count += 1
    if spots:
        canvas.dot(*spots[-1])


def _nearest(place: float) -> int:
    """The nearest dot; the last digits of a number must not decide where two are equally near."""
    return math.floor(place + 0.50001)


def _drawable(axis: Axis, value: float) -> bool:
    return math.isfinite(value) and (value > 0 or not axis.log)


def _place(axis: Axis, value: float) -> float:
    return math.log10(value) if axis.log else float(value)


def _back(axis: Axis, place: float) -> float:
    return 10.0**place if axis.log else place


def _label(axis: Axis, value: float) -> str:
    if not axis.log and abs(value) < 1e-12:
        return "0"
    if axis.log and not 1e-3 <= value < 1e6:
        return f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e")
    return near(value, 3)


def _span(chart: Chart) -> tuple[float, float]:
    """Where the vertical axis begins and ends, in its own scale."""
    values = [v for line in chart.lines for v in line.values.tolist() if _drawable(chart.y, v)]
    if chart.square:
        return 0.0, 1.0
    top = max(values, default=1.0)
    if chart.top is not None:
        top = min(top, chart.top)
    low, high = _place(chart.y, min(values, default=0.1)), _place(chart.y, top)
    slack = max(0.5, abs(low) * 1e-6)
    return (low, high) if low < high else (low - slack, low + slack)


def _below(axis: Axis, first: float, last: float, width: int) -> str:
    """The labels under the horizontal axis: its ends and its middle."""
    left, right = _label(axis, _back(axis, first)), _label(axis, _back(axis, last))
    middle = _label(axis, _back(axis, (first + last) / 2))
    gap = width - len(left) - len(right)
    return left + middle.center(gap) + right if gap > len(middle) + 2 else left


def _plain(text: str) -> str:
    """Without any character beyond ASCII."""
    for greek, latin in (("ε", "eps"), ("δ", "delta"), ("σ", "sigma"), ("α", "alpha"), ("é", "e")):
        text = text.replace(greek, latin)
    return text.replace("β", "beta").encode("ascii", "replace").decode("ascii")

"""An empty figure whose title states a finding and stands flush left above the axes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from dpacct.report.plots.style import FAINT, INK, PAGE, SIZE, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_POINT = 1 / 72  # inches
_LEADING = 1.3  # height of a line of text in units of its size
_MARGIN = 0.08  # inches on every side
_TITLE, _SUBTITLE = SIZE + 1.5, SIZE - 1.5


def figure(
    title: str,
    subtitle: str | Sequence[str] = "",
    *,
    width: float = PAGE,
    height: float = 3.6,
    rows: int = 1,
    columns: int = 1,
    **grid: Any,
) -> tuple[Figure, Any]:
    """A figure in the house's style, and its axes as `Figure.subplots` gives them.

    Args:
        title: what the picture shows, as a sentence with its numbers.
        subtitle: the plan and whatever else makes the title precise; each item starts a line.
        width: in inches; text keeps its size, so choose the width it is printed in.
        height: of the axes with their labels, in inches; the title's lines come on top.
        rows: of axes.
        columns: of axes.
        grid: passed to `Figure.subplots`, such as sharex=True.

    >>> drawn, axes = figure("At delta 1e-5 epsilon is 1.515", "sigma 1.1, 1000 steps")
    >>> _ = axes.plot([1, 2], [1, 4])
    >>> float(drawn.get_figwidth())
    6.3
    """
    from matplotlib.figure import Figure

    with style():
        room = (width - 2 * _MARGIN) / _POINT
        paragraphs = [subtitle] if isinstance(subtitle, str) else list(subtitle)
        lines = [(line, _TITLE, "bold", INK) for line in wrapped(title, _TITLE, room, bold=True)]
        lines += [
            (line, _SUBTITLE, "normal", FAINT)
            for part in paragraphs
            if part
            for line in wrapped(part, _SUBTITLE, room)
        ]
        head = sum(size for _, size, _, _ in lines) * _LEADING * _POINT + 2 * _MARGIN
        total = height + head
        made = Figure(figsize=(width, total), layout="constrained")
        down = _MARGIN
        for line, size, weight, colour in lines:
            spot = (_MARGIN / width, 1 - down / total)
            made.text(*spot, line, size=size, weight=weight, color=colour, va="top", ha="left")
            down += size * _LEADING * _POINT
        engine = made.get_layout_engine()
        if engine is not None:
            below = _MARGIN / 2 / total
            engine.set(rect=(0, below, 1, 1 - head / total - below), w_pad=_MARGIN, h_pad=0.03)  # type: ignore[call-arg]
        return made, made.subplots(rows, columns, **grid)


def wrapped(text: str, size: float, room: float, *, bold: bool = False) -> list[str]:
    """`text` in lines of at most `room` points, measured in the font that will be drawn."""
    lines: list[str] = []
    unbroken = "\N{NO-BREAK SPACE}%"  # a number keeps its sign
    for word in text.replace(" %", unbroken).split(" "):
        if lines and _width(f"{lines[-1]} {word}", size, bold) <= room:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return [line.replace(unbroken, " %") for line in lines]


@cache
def _width(text: str, size: float, bold: bool) -> float:
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    weight = "bold" if bold else "normal"
    font = FontProperties(family="DejaVu Sans", weight=weight, size=size)
    # TextPath has no advance for outer blanks, and reads a dollar as mathematics.
    return float(TextPath((0, 0), text.replace("$", "S"), prop=font).get_extents().width)

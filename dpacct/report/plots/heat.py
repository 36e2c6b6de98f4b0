"""A heat map: cells with their numbers where they are few, and lines of equal value where many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dpacct.report.plots.side import Side
from dpacct.report.plots.style import FAINT, INK, SIZE
from dpacct.report.plots.words import near

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

_TICKS = 8


def draw_heat(
    axes: Axes,
    sides: Sequence[Side],
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
    import numpy as np
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
                colour = "white" if float(shade(value)) > 0.5 else INK
                _write(axes, row, column, words[column, row], colour)
    elif np.isfinite(shown).all():
        _lines(axes, shown, shade)
    for side, set_ticks, most in (
        (sides[0], axes.set_xticks, ticks),
        (sides[1], axes.set_yticks, _TICKS),
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
    import numpy as np
    from matplotlib.colors import LogNorm

    powers = range(-323, 309)
    steps = [m * 10.0**e for e in powers for m in (1, 2, 5)]
    levels = [level for level in steps if shade.vmin < level < shade.vmax]
    if len(levels) > 9:
        levels = [10.0**e for e in powers if shade.vmin < 10.0**e < shade.vmax]
        levels = levels[:: -(-len(levels) // 9)]
    if not levels or min(shown.shape) < 3:
        return
    colours = ["white" if shade(level) > 0.5 else INK for level in levels]
    across, upward = (np.arange(n) + 0.5 for n in reversed(shown.shape))
    heights, marks = shown, np.array(levels)
    if isinstance(shade, LogNorm):  # between two cells the lines go as the colours do
        heights, marks = np.log(shown), np.log(levels)
    labels = dict(zip(marks.tolist(), map(near, levels), strict=True))
    drawn = axes.contour(across, upward, heights, marks, colors=colours, linewidths=0.8)
    axes.clabel(drawn, fmt=labels, fontsize=SIZE - 2.5)

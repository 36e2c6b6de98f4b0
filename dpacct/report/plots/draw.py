"""Draw a chart with matplotlib: a title that states a finding, above the axes, in `dpacct.mplstyle`."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from dpacct.report.plots.style import ALARM, FAINT, INK, PAGE, SIZE, look_of, plot_line, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dpacct.report.plots.chart import Chart, Mark

_INCH = 72.0  # points
_LEADING = 1.3  # height of a line of text in units of its size
_MARGIN = 0.08  # inches on every side
_TITLE, _SUBTITLE = SIZE + 1.5, SIZE - 1.5
_BOLD, _PLAIN = 0.63, 0.57  # mean widths of DejaVu Sans' letters in units of its size


@style()
def draw(chart: Chart) -> Figure:
    """The figure of a chart.

    >>> import dpacct as dp
    >>> chart = dp.plots.Chart.simple("round", "loss", [1, 2, 3], [0.9, 0.5, 0.4], title="It falls")
    >>> dp.plots.to_bytes(draw(chart), ".pdf")[:4]
    b'%PDF'
    """
    width, height = (4.6, 4.4) if chart.square else (PAGE, 3.6)
    made, axes = figure(chart.title, chart.subtitle, width=width, height=height)
    for stretch in chart.stretches:
        axes.axvspan(stretch.start, stretch.end, color=ALARM, lw=0, zorder=0.4, label=stretch.label)
    for band in chart.bands:
        axes.fill_between(
            chart.points, band.low, band.high, color=band.colour, alpha=0.16, lw=0, label=band.label
        )
    several = len(chart.lines) > 1
    for index, line in enumerate(chart.lines):
        plot_line(
            axes,
            chart.points,
            line.values,
            label=line.label,
            look=look_of(line.method, index),
            strength=line.strength,
            markers=6 if several else 0,
        )
    _scales(axes, chart)
    for level in chart.levels:
        axes.axhline(level.y, color=FAINT, linewidth=0.9, zorder=1)
        place: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "ha": "right", "va": "top"}
        offset = {"xytext": (-2, -3), "textcoords": "offset points"}
        axes.annotate(level.text, (1, level.y), size=SIZE - 1, color=FAINT, **place, **offset)
    axes.set_xlabel("\n".join(wrap(chart.x.label, _letters(0.8 * width, SIZE, _PLAIN))))
    axes.set_ylabel("\n".join(wrap(chart.y.label, _letters(0.8 * height, SIZE, _PLAIN))))
    for mark in chart.marks:
        _mark(axes, mark)
    if several or chart.bands:
        axes.legend(loc="best")
    return made


def _scales(axes: Axes, chart: Chart) -> None:
    if chart.square:
        axes.set(aspect="equal", xlim=(0, 1), ylim=(0, 1))
        return
    if chart.x.log:
        axes.set_xscale("log")
    if chart.y.log:
        axes.set_yscale("log")
    axes.margins(x=0.02)
    if chart.top is not None and axes.get_ylim()[1] > chart.top:
        axes.set_ylim(top=chart.top)


def _mark(axes: Axes, mark: Mark) -> None:
    """A ring on the point, and its words on the side where there is room, or away from it."""
    x, y = mark.x, mark.y
    axes.plot([x], [y], "o", ms=7, mfc="none", mec=INK, mew=1.2, zorder=5)
    across, upwards = axes.transAxes.inverted().transform(axes.transData.transform((x, y)))
    dx, dy = mark.away or (9 if across < 0.6 else -9, 9 if upwards < 0.75 else -9)
    arrow = {"arrowstyle": "-", "color": FAINT, "lw": 0.7, "shrinkB": 4, "shrinkA": 0}
    axes.annotate(
        mark.text,
        (x, y),
        xytext=(dx, dy),
        textcoords="offset points",
        ha="left" if dx > 0 else "right",
        va="baseline" if mark.away else "bottom" if dy > 0 else "top",
        arrowprops=arrow if mark.away else None,
        size=SIZE - 1,
        zorder=6,
        bbox={"boxstyle": "round,pad=0.15", "fc": "white", "ec": "none", "alpha": 0.85},
    )


def _letters(inches: float, size: float, share: float) -> int:
    """The number of letters in a line of so many inches."""
    return int(inches * _INCH / (share * size))


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

    `title` says what the picture shows as a sentence with its numbers, each item of `subtitle` in a line
    what makes it precise. `width` and `height` are in inches, of the page and of the axes with their
    labels; text keeps its size. `grid` is passed to `Figure.subplots`, such as sharex=True.

    >>> drawn, axes = figure("At delta 1e-5 epsilon is 1.515", "sigma 1.1, 1000 steps")
    >>> _ = axes.plot([1, 2], [1, 4])
    >>> float(drawn.get_figwidth())
    6.3
    """
    with style():
        from matplotlib.figure import Figure
        from matplotlib.layout_engine import ConstrainedLayoutEngine

        parts = [subtitle] if isinstance(subtitle, str) else list(subtitle)
        heading = _wrapped(title, _letters(width, _TITLE, _BOLD))
        below = [
            line for part in parts for line in _wrapped(part, _letters(width, _SUBTITLE, _PLAIN))
        ]
        head = (len(heading) * _TITLE + len(below) * _SUBTITLE) * _LEADING / _INCH + 2 * _MARGIN
        total = height + head
        edge = _MARGIN / 2 / total
        rect = (0, edge, 1, 1 - head / total - edge)
        layout = ConstrainedLayoutEngine(rect=rect, w_pad=_MARGIN, h_pad=0.03)
        made = Figure(figsize=(width, total), layout=layout)
        place: dict[str, Any] = {"va": "top", "ha": "left", "linespacing": _LEADING}
        x, y = _MARGIN / width, 1 - _MARGIN / total
        made.text(x, y, "\n".join(heading), size=_TITLE, weight="bold", **place)
        y -= len(heading) * _TITLE * _LEADING / _INCH / total
        made.text(x, y, "\n".join(below), size=_SUBTITLE, color=FAINT, **place)
        return made, made.subplots(rows, columns, **grid)


def _wrapped(text: str, letters: int) -> list[str]:
    """Lines in which numbers keep their per cent signs, and dollars are no mathematics."""
    lines = wrap(text.replace(" %", "\N{NO-BREAK SPACE}%"), letters)
    return [line.replace("\N{NO-BREAK SPACE}%", " %").replace("$", r"\$") for line in lines]

"""Draw a chart as a matplotlib figure, whose title states a finding and stands above the axes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from dpacct.report.plots.style import ALARM, FAINT, INK, PAGE, SIZE, look_of, plot_line, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dpacct.report.plots.chart import Chart, Mark

_NARROW = 4.5  # inches
_SQUARE = 4.6  # inches, of a figure whose axes have one scale
_POINT = 1 / 72  # inches
_LEADING = 1.3  # height of a line of text in units of its size
_MARGIN = 0.08  # inches on every side
_TITLE, _SUBTITLE = SIZE + 1.5, SIZE - 1.5
_PLAIN = (1e-3, 1e6)  # within these the labels of a logarithmic axis are written out


@style()
def draw(chart: Chart) -> Figure:
    """The figure of a chart.

    >>> import dpacct as dp
    >>> chart = dp.plots.Chart.simple("round", "loss", [1, 2, 3], [0.9, 0.5, 0.4], title="It falls")
    >>> dp.plots.to_bytes(draw(chart), ".pdf")[:4]
    b'%PDF'
    """
    usual = _SQUARE if chart.square else PAGE
    wide = chart.width or usual
    height = max(wide * (0.95 if chart.square else 0.57), 2.6)
    labels = wrapped(chart.x.label, SIZE, 0.72 * 72 * wide)
    height += (len(labels) - 1) * SIZE * 1.3 / 72
    narrow = wide < _NARROW
    entries = len(chart.lines) + len(chart.bands)
    height += entries * (SIZE + 2) * 1.3 / 72 if narrow and entries > 1 else 0.0
    made, axes = figure(chart.title, chart.subtitle, width=wide, height=height)
    show(axes, chart, markers=6 if len(chart.lines) > 1 else 0)
    axes.set_xlabel("\n".join(labels))
    axes.set_ylabel("\n".join(wrapped(chart.y.label, SIZE, 0.6 * 72 * height)))
    for mark in chart.marks:
        _mark(axes, mark, wide / usual)
    if entries > 1 and narrow:  # beside the lines there is no room
        made.legend(loc="outside lower center")
    elif entries > 1:
        axes.legend(loc="best")
    return made


def show(axes: Axes, chart: Chart, *, markers: int) -> None:
    """The lines of a chart with about so many markers each, what is shaded, and its scales."""
    for stretch in chart.stretches:
        axes.axvspan(stretch.start, stretch.end, color=ALARM, linewidth=0, label=stretch.label)
    for band in chart.bands:
        axes.fill_between(
            chart.points,
            band.low,
            band.high,
            color=band.colour,
            alpha=0.16,
            linewidth=0,
            label=band.label,
        )
    for index, line in enumerate(chart.lines):
        plot_line(
            axes,
            chart.points,
            line.values,
            label=line.label,
            look=look_of(line.method, index),
            strength=line.grades,
            markers=markers,
        )
    _scales(axes, chart)
    for level in chart.levels:
        axes.axhline(level.y, color=FAINT, linewidth=0.9, zorder=1)
        axes.annotate(
            level.text,
            (1, level.y),
            xycoords=("axes fraction", "data"),
            xytext=(-2, -3),
            textcoords="offset points",
            ha="right",
            va="top",
            size=SIZE - 1,
            color=FAINT,
        )


def _scales(axes: Axes, chart: Chart) -> None:
    if chart.square:
        axes.set_aspect("equal")
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1)
        return
    if chart.x.log:
        log_axis(axes.xaxis)
    if chart.y.log:
        log_axis(axes.yaxis)
    if chart.y.signed:
        signed_axis(axes)
    axes.margins(x=0.02)
    if chart.top is not None and axes.get_ylim()[1] > chart.top:
        axes.set_ylim(top=chart.top)


def _mark(axes: Axes, mark: Mark, scale: float) -> None:
    """A ring on the point, and its words on the side where there is room."""
    x, y = mark.x, mark.y
    axes.plot([x], [y], "o", ms=7, mfc="none", mec=INK, mew=1.2, zorder=5)
    across, upwards = axes.transAxes.inverted().transform(axes.transData.transform((x, y)))
    right, above = across < 0.6, upwards < 0.75
    words: dict[str, Any] = {
        "size": SIZE - 1,
        "color": INK,
        "zorder": 6,
        "bbox": {"boxstyle": "round,pad=0.15", "fc": "white", "ec": "none", "alpha": 0.85},
    }
    place: dict[str, Any] = {
        "xytext": (9 if right else -9, 9 if above else -9),
        "ha": "left" if right else "right",
        "va": "bottom" if above else "top",
    }
    if mark.away is not None:
        place = {
            "xytext": (scale * mark.away[0], scale * mark.away[1]),
            "ha": "left" if mark.away[0] > 0 else "right",
            "arrowprops": {
                "arrowstyle": "-",
                "color": FAINT,
                "lw": 0.7,
                "shrinkB": 4,
                "shrinkA": 0,
            },
        }
    axes.annotate(mark.text, (x, y), textcoords="offset points", **place, **words)


# --- the page


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
    with style():
        from matplotlib.figure import Figure

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


# --- logarithmic axes with numbers that a reader knows: 0.1, 1, 10 where there is no need for powers


def log_axis(axis: Any) -> None:
    """Make an axis (`axes.xaxis` or `axes.yaxis`) logarithmic; call it once the data are drawn."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    def sparse(value: float, _: object) -> str:  # between few decades: at 2 and 5
        return plain(value) if f"{value:e}"[0] in "25" else ""

    set_scale = axis.axes.set_xscale if axis.axis_name == "x" else axis.axes.set_yscale
    set_scale("log")
    low, high = axis.get_view_interval()
    if low >= _PLAIN[0] and high <= _PLAIN[1]:
        axis.set_major_formatter(FuncFormatter(plain))
        axis.set_minor_formatter(FuncFormatter(sparse) if high / low < 100 else NullFormatter())


def plain(value: float, _: Any = None) -> str:
    """10000 as 10,000; never a power.

    >>> plain(10000.0), plain(0.5)
    ('10,000', '0.5')
    """
    return f"{value:,.12g}"


def signed_axis(axes: Any) -> None:
    """A vertical axis that is linear from -10 to 10 and logarithmic beyond, its ticks at powers of ten."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    axes.set_yscale("symlog", linthresh=10, linscale=0.6)
    low, high = (1.6 * end for end in axes.dataLim.intervaly)
    low, high = min(low, -5.0), max(high, 5.0)
    axes.set_ylim(low, high)
    powers = [10.0**e for e in range(1, 16, 2 if high > 1e5 else 1)]
    ticks = [-power for power in powers] + [0.0, *powers]
    axes.yaxis.set_major_locator(FixedLocator([tick for tick in ticks if low <= tick <= high]))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(plain))

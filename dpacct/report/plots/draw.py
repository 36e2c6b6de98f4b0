"""From a chart to a matplotlib figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpacct.report.plots.page import figure, wrapped
from dpacct.report.plots.scales import log_axis, signed_axis
from dpacct.report.plots.style import FAINT, INK, PAGE, SIZE, look_of, plot_line, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dpacct.report.plots.chart import Chart, Mark

_NARROW = 4.5  # inches
_SQUARE = 4.6  # inches, of a figure whose axes have one scale


@style()
def draw(chart: Chart, *, width: float | None = None) -> Figure:
    """The figure of a chart, `width` inches wide (default: as wide as the text of a page)."""
    usual = _SQUARE if chart.square else PAGE
    wide = width or usual
    height = max(wide * (0.95 if chart.square else 0.57), 2.6)
    labels = wrapped(chart.x.label, SIZE, 0.72 * 72 * wide)
    height += (len(labels) - 1) * SIZE * 1.3 / 72
    narrow = wide < _NARROW
    entries = len(chart.lines) + len(chart.bands)
    height += entries * (SIZE + 2) * 1.3 / 72 if narrow and entries > 1 else 0.0
    made, axes = figure(chart.title, chart.subtitle, width=wide, height=height)
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
            markers=6 if len(chart.lines) > 1 else 0,
        )
    axes.set_xlabel("\n".join(labels))
    axes.set_ylabel("\n".join(wrapped(chart.y.label, SIZE, 0.6 * 72 * height)))
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
    for mark in chart.marks:
        _mark(axes, mark, wide / usual)
    if entries > 1 and narrow:  # beside the lines there is no room
        made.legend(loc="outside lower center")
    elif entries > 1:
        axes.legend(loc="best")
    return made


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
    if mark.away is not None:
        side = "left" if mark.away[0] > 0 else "right"
        arrow = {"arrowstyle": "-", "color": FAINT, "lw": 0.7, "shrinkB": 4, "shrinkA": 0}
        axes.annotate(
            mark.text,
            (x, y),
            (scale * mark.away[0], scale * mark.away[1]),
            textcoords="offset points",
            ha=side,
            arrowprops=arrow,
            **words,
        )
        return
    axes.annotate(
        mark.text,
        (x, y),
        xytext=(9 if right else -9, 9 if above else -9),
        textcoords="offset points",
        ha="left" if right else "right",
        va="bottom" if above else "top",
        **words,
    )

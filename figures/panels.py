"""Shared parts of figures with panels side by side: a legend below, plain numbers, a shade."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dpacct.report.plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

BROKEN = style.ALARM
"""Behind what a promise must not reach."""


def finish(made: Figure, panels: dict[Axes, str], vertical: str, columns: int) -> None:
    """A heading for each panel, one label for the vertical axis, and one legend below all."""
    for panel, heading in panels.items():
        panel.set_title(heading, fontsize=style.SIZE, loc="left")
    first = next(iter(panels))
    first.set_ylabel(vertical)
    legend_below(made, first, columns)


def legend_below(made: Figure, axes: Axes, columns: int) -> None:
    """The names of the lines in these axes, under all panels."""
    lines = axes.get_legend_handles_labels()
    made.legend(*lines, loc="outside lower center", ncols=columns, columnspacing=1.3)


def log_ticks(axis: Axis, ticks: Sequence[float], names: Sequence[str] = ()) -> None:
    """A logarithmic axis with plain numbers, or names, at these places and nowhere else."""
    set_scale = axis.axes.set_xscale if axis.axis_name == "x" else axis.axes.set_yscale
    set_scale("log")
    axis.set_ticks(list(ticks), labels=list(names) or [f"{tick:g}" for tick in ticks])
    axis.set_ticks([], minor=True)

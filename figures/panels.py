"""What the figures with panels side by side share: a legend below, plain numbers, a shade."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dpacct.report.plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

BROKEN = "#F6E3D8"
"""Behind what a promise must not reach."""


def finish(made: Figure, panels: dict[Axes, str], vertical: str, columns: int) -> None:
    """A heading for each panel, one label for the vertical axis, and one legend below all."""
    for panel, heading in panels.items():
        panel.set_title(heading, fontsize=style.SIZE, loc="left")
    first = next(iter(panels))
    first.set_ylabel(vertical)
    lines = first.get_legend_handles_labels()
    made.legend(*lines, loc="outside lower center", ncols=columns, columnspacing=1.3)


def number_axis(axis: Axis, ticks: Sequence[float]) -> None:
    """Plain numbers at these places of a logarithmic axis."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

    axis.set_major_locator(FixedLocator(list(ticks)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())

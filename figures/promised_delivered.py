"""The privacy that a run really has, when its noise was chosen by DP-Fed's theorems.

The noise is that of noise_by_method's table; what it delivers is answered by the exact engine. For uniform
samples the answer is an interval: its lower end holds for data sets that exist, the upper end for all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from dpacct.declare import number as words
from dpacct.report.plots import style
from dpacct.report.plots.draw import figure
from figures.noise_by_method import (
    DELTA,
    LINES,
    LOOKS,
    NAMES,
    ROUTES,
    SETTINGS,
    lines,
    plan,
    points,
)
from figures.noise_by_method import RECORD as NOISE
from figures.panels import BROKEN, finish, log_ticks
from figures.record import Record, Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = 10.0  # the promise that the title speaks of


@cache
def noises() -> dict[tuple[float | str, ...], float]:
    """The noise of each point, as its table has it: a row takes what was asked for, not what would be."""
    return {(r["sampling"], r["route"], r["promised"]): float(r["noise"]) for r in NOISE.table()}


def row(point: Row) -> Row:
    """Epsilon at the noise of one point."""
    sampling = point["sampling"]
    asked = noises()[tuple(point.values())]
    if math.isnan(asked):
        return {**point, "lower": math.nan, "upper": math.nan}
    answer = plan(str(sampling), asked).epsilon(delta=DELTA, method="exact")
    return {**point, "lower": answer.lower, "upper": answer.upper}


def at(rows: Sequence[Row], route: str, column: str, promised: float) -> float:
    """A column of a Theorem 1 line where the promise is this, on a line through its logarithms."""
    import numpy as np

    x, y = lines(rows, "uniform", route, column)
    return float(np.exp(np.interp(math.log(promised), np.log(x), np.log(y))))


def draw(rows: Sequence[Row]) -> tuple[Figure, str]:
    """Two panels, a theorem each; on the diagonal the promise is kept and no noise is wasted."""
    broken = words.down(at(rows, "no conditions", "lower", SHOWN), 2)
    wasted = words.up(at(rows, "theorem", "upper", SHOWN), 2)
    title = (
        f"Noise for epsilon {SHOWN:g}: by DP-Fed's formula alone the actual epsilon exceeds {broken}; "
        f"with its conditions met it stays below {wasted}"
    )
    made, axes = figure(
        title,
        "DP-Fed on MNIST: 5 % of 1000 clients, 30 rounds, delta = 1000^-1.1. Formula alone: side "
        "conditions ignored. Uniform samples are answered by an interval (shaded)",
        height=3.3,
        columns=2,
        sharey=True,
    )
    with style.style():
        for ax, sampling in zip(axes, SETTINGS, strict=True):
            ends = (0.93, 21.5)
            ax.fill_between(ends, ends, 100, color=BROKEN, linewidth=0, zorder=0)
            ax.plot(ends, ends, color=style.INK, linewidth=0.8, zorder=1)
            for route in ROUTES:
                x, low = lines(rows, sampling, route, "lower")
                _, high = lines(rows, sampling, route, "upper")
                ax.fill_between(x, low, high, color=LOOKS[route].colour, alpha=0.3, linewidth=0)
                style.plot_line(
                    ax, x, high, label=NAMES[route], look=LOOKS[route], strength=LINES[route]
                )
            log_ticks(ax.xaxis, (1, 2, 5, 10, 20))
            log_ticks(ax.yaxis, (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50))
            ax.set_xlim(*ends)
            ax.set_ylim(0.08, 100)
            ax.set_xlabel("claimed epsilon")
            ax.text(1.15, 60, "actual exceeds claimed", color=style.WARNING, va="center")
            ax.text(1.15, 0.11, "more noise than needed", color=style.FAINT, va="center")
        headings = list(SETTINGS.values())
        finish(made, dict(zip(axes, headings, strict=True)), "actual epsilon", columns=4)
    return made, title


RECORD = Record("promised_delivered", points, row, draw)

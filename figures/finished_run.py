"""Epsilon of one DP-SGD run as it goes on, by the methods that training libraries report.

Noise multiplier 1.1 at sampling rate 0.01 and delta 1e-5, from 100 to 10,000 steps: the exact answer,
the bound by Renyi DP (the default of several libraries), and the estimate by the central limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import dpacct as dp
from dpacct.declare import number as words
from dpacct.report.plots import style
from dpacct.report.plots.draw import figure
from figures.panels import BROKEN, legend_below, log_ticks
from figures.record import Record, Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STEPS = (100, 160, 250, 400, 630, 1000, 1600, 2500, 4000, 6300, 10_000)
FINISHED = 1000
METHODS = {
    "rdp": "Rényi DP",
    "exact": "dpacct, exact",
    "clt": "central limit",
}
STRENGTHS = {"rdp": "bound", "exact": "converged", "clt": "estimate"}


def points() -> list[Row]:
    """Each length of the run, by each method."""
    return [{"method": method, "steps": float(steps)} for method in METHODS for steps in STEPS]


def row(point: Row) -> Row:
    """The epsilon of one point."""
    run = dp.Poisson("0.01")(dp.Gaussian(sigma="1.1")) * int(point["steps"])
    return {**point, "epsilon": run.epsilon(delta="1e-5", method=str(point["method"])).value}


def draw(rows: Sequence[Row]) -> tuple[Figure, str]:
    """One panel, a line for each method; what lies below the exact line claims too much."""
    lines = {
        method: {float(r["steps"]): float(r["epsilon"]) for r in rows if r["method"] == method}
        for method in METHODS
    }
    exact, bound = lines["exact"][FINISHED], lines["rdp"][FINISHED]
    title = (
        f"{FINISHED:,} training steps cost epsilon {words.up(exact, 4)}, "
        f"not the {words.near(bound, 4)} of Rényi DP"
    )
    made, ax = figure(
        title,
        "DP-SGD with noise multiplier 1.1, Poisson sampling at rate 0.01, delta 1e-5. "
        "Below the exact line a method claims more privacy than there is",
        height=3.1,
    )
    with style.style():
        ax.fill_between(
            list(lines["exact"]), list(lines["exact"].values()), 0.1, color=BROKEN, linewidth=0
        )
        for method, name in METHODS.items():
            style.plot_line(
                ax,
                list(lines[method]),
                list(lines[method].values()),
                label=name,
                look=style.look_of(method),
                strength=STRENGTHS[method],
            )
        log_ticks(ax.xaxis, (100, 300, 1000, 3000, 10_000))
        log_ticks(ax.yaxis, (0.5, 1, 2, 5))
        ax.set_xlim(90, 11_200)
        ax.set_ylim(0.3, 8)
        ax.set_xlabel("steps of the run")
        ax.set_ylabel("epsilon at delta 1e-5")
        ax.text(1700, 0.45, "claims too much privacy", color=style.WARNING)
        legend_below(made, ax, columns=3)
    return made, title


RECORD = Record("finished_run", points, row, draw)

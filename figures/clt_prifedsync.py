"""The Gaussian limit of Federated f-DP (Theorem 2 of Zheng et al. 2021) beside the exact answer.

Left: all rows of Tables 1 to 3. Right: what the limit says at smaller rates, from a few steps on.
Uniform samples, replace-one, delta = 1e-5; exact: the upper end in the tables, since it is what a
limit should be near to, and the lower end on the right, since it shows what data sets suffer.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

import dpacct as dp
from dpacct.declare import number as words
from dpacct.papers.formulas.federated_fdp import theorem2_clt
from dpacct.papers.tables import cells
from dpacct.report.plots import style
from dpacct.report.plots.draw import figure
from dpacct.report.plots.kinds import percent
from figures.panels import BROKEN, log_ticks
from figures.record import Record, Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DELTA = "1e-5"
SWEEPS = ((1, 100, "0.6"), (1, 100, "1"), (1, 1000, "0.6"))  # batch, records, sigma
STEPS = [int(k) for k in np.unique(np.geomspace(10, 30_000, 15).round())]


def points() -> list[Row]:
    """The printed mu_max, then three settings by the number of steps."""
    printed = [
        {
            "where": f"{cell.table} {cell.cell.split(',')[0]}",
            "batch": int(cell.inputs["batch"]),
            "records": int(cell.inputs["records"]),
            "sigma": float(cell.inputs["sigma"]),
            "steps": int(cell.inputs["local_steps"]) * int(cell.inputs["rounds"]),
        }
        for cell in cells("federated_fdp")
        if cell.formula is theorem2_clt
    ]
    swept = [
        {"where": "sweep", "batch": b, "records": n, "sigma": float(s), "steps": steps}
        for b, n, s in SWEEPS
        for steps in STEPS
    ]
    return [*printed, *swept]


def row(point: Row) -> Row:
    """Epsilon of the limit and of the composed steps."""
    batch, records, steps = (int(point[name]) for name in ("batch", "records", "steps"))
    sigma = str(point["sigma"])
    mu = theorem2_clt(batch, records, float(sigma), 1, steps)
    step = dp.WithoutReplacement(Fraction(batch, records))(dp.Gaussian(sigma=sigma))
    answer = (step * steps).epsilon(delta=DELTA, method="exact")
    limit = dp.Gaussian(sigma=1 / mu).epsilon(delta=DELTA)
    return {**point, "mu": mu, "limit": limit.value, "lower": answer.lower, "upper": answer.upper}


def draw(rows: Sequence[Row]) -> tuple[Figure, str]:
    """Two panels: the tables, and where the limit is on the unsafe side."""
    printed = [r for r in rows if r["where"] != "sweep"]
    over = [r["limit"] / r["upper"] for r in printed]
    swept = [r for r in rows if r["where"] == "sweep"]
    under = min(swept, key=lambda r: r["limit"] / r["lower"])
    title = (
        f"The central limit overstates epsilon in all {sum(o > 1 for o in over)} printed rows, by "
        f"{percent(min(over) - 1)} to a factor of {words.near(max(over), 2)}; at small rates it "
        f"claims {words.near(under['limit'], 2)} where the actual epsilon is {words.down(under['lower'], 2)}"
    )
    made, (left, right) = figure(
        title,
        "Federated f-DP (PriFedSync), Theorem 2, delta 1e-5: epsilon of the Gaussian limit over that of "
        "the composed steps",
        height=3.4,
        columns=2,
        width_ratios=[1, 1],
    )
    sigmas = sorted({r["sigma"] for r in printed}, reverse=True)
    with style.style():
        for ax in (left, right):
            ax.axhline(1, color=style.INK, linewidth=0.8)
        log_ticks(left.yaxis, (1, 1.1, 1.5, 2, 3))
        left.set_ylim(0.97, 3.3)
        for sigma, look in zip(sigmas, style.LOOKS, strict=False):
            at = [r for r in printed if r["sigma"] == sigma]
            left.plot(
                [r["upper"] for r in at],
                [r["limit"] / r["upper"] for r in at],
                linestyle="",
                color=look.colour,
                marker=look.marker,
                label=f"noise {sigma:g}",
            )
        log_ticks(left.xaxis, (10, 20, 50, 100, 200))
        left.set_xlabel("true epsilon")
        left.set_ylabel("epsilon of the limit / true epsilon")
        left.legend(loc="upper left")
        left.set_title("the 21 rows of Tables 1 to 3", fontsize=style.SIZE, loc="left")
        for (batch, records, sigma), look in zip(SWEEPS, style.LOOKS, strict=False):
            at = [r for r in swept if (r["records"], f"{r['sigma']:g}") == (records, sigma)]
            ratio = [r["limit"] / r["lower"] for r in at]
            right.plot(
                STEPS,
                ratio,
                linestyle=style.LINES[dp.Strength.ESTIMATE],
                color=look.colour,
                marker=look.marker,
                markerfacecolor="white",
                markevery=2,
                label=f"rate {batch / records:g}, noise {sigma}",
            )
        right.axhspan(1e-3, 1, color=BROKEN, linewidth=0, zorder=0)
        right.text(9, 0.068, "claims too\nmuch privacy", color=style.WARNING)
        right.legend(loc="lower right", fontsize=style.SIZE - 2)
        right.set_xscale("log")
        right.minorticks_off()
        log_ticks(right.yaxis, (0.1, 0.2, 0.5, 1, 1.5))
        right.set_ylim(0.06, 2)
        right.set_xlabel("steps")
        right.set_ylabel("epsilon of the limit / true epsilon")
        right.set_title("smaller sampling rates", fontsize=style.SIZE, loc="left")
    return made, title


RECORD = Record("clt_prifedsync", points, row, draw)

"""Accuracy and time beside other accountants, from the benchmark's own results.

Epsilon of Poisson-sampled Gaussian runs, a point for each accountant and setting of one run of
tests/benchmarks. The gap is to the benchmark's truths, which share no code with dpacct or a peer.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import cache
from statistics import median
from typing import TYPE_CHECKING, Any

from dpacct.declare import number as words
from dpacct.report.plots import style
from dpacct.report.plots.draw import figure
from dpacct.report.plots.kinds import percent
from figures.panels import legend_below, log_ticks
from figures.record import FOLDER, Record, Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BENCHMARKS = FOLDER.parent / "tests" / "benchmarks"
NAMES = {
    "dpacct": "dpacct, fast",
    "dpacct@auto": "dpacct, proved",
    "dpa_pld": "dp-accounting, PLD",
    "dpa_rdp": "dp-accounting, RDP",
    "prv": "prv-accountant",
    "opacus_prv": "Opacus, PRV",
    "opacus_gdp": "Opacus, GDP",
    "autodp_rdp": "autodp, RDP",
}
LOOKS = (style.LOOKS[0], style.Look(style.BLUE, "*"), *style.LOOKS[1:])
WORKLOADS = ("W1", "W2", "W7")
FLOOR = 1e-15  # smaller gaps are drawn here
NOISE = 2e-12  # the ends that are proven to lie below the truths lie within this of them


@cache
def measured() -> dict[tuple[str, str], dict[str, Any]]:
    """Return the answers of one run of the benchmark, by accountant and case."""
    results = json.loads((BENCHMARKS / "results.json").read_text(encoding="utf-8"))
    return {
        (row["peer"], row["case"]): row
        for row in results["rows"]
        if row["peer"] in NAMES
        and row["case"].partition(" ")[0] in WORKLOADS
        and row["status"] == "ok"
        and "earlier" not in row
    }


@cache
def truths() -> dict[str, float]:
    """Epsilon by case."""
    stored = json.loads((BENCHMARKS / "truths.json").read_text(encoding="utf-8"))
    return {case: float(values[0]) for case, values in stored["values"].items()}


def points() -> list[Row]:
    """Each accountant in each setting that it answered."""
    return [{"accountant": peer, "case": case} for peer, case in measured()]


def row(point: Row) -> Row:
    """Seconds of processor time, and the answer over the truth, minus one."""
    peer, case = str(point["accountant"]), str(point["case"])
    entry = measured()[peer, case]
    gap = float(entry["values"][0]) / truths()[case] - 1
    return {**point, "seconds": entry["seconds"], "gap": gap}


def draw(rows: Sequence[Row]) -> tuple[Figure, str]:
    """Accuracy over time; the good corner is at the bottom left."""

    def of(peer: str) -> list[Row]:
        return [r for r in rows if r["accountant"] == peer and math.isfinite(float(r["gap"]))]

    def middle(peer: str, column: str) -> float:
        return median(abs(float(r[column])) for r in of(peer))

    ours = middle("dpacct", "seconds")
    nearest = min((p for p in NAMES if not p.startswith("dpacct")), key=lambda p: middle(p, "gap"))
    digits = -math.ceil(math.log10(max(abs(float(r["gap"])) for r in of("dpacct"))))
    title = (
        f"dpacct answers to {digits} digits in {words.near(1000 * ours, 2)} ms, with a proof in "
        f"{words.near(1000 * middle('dpacct@auto', 'seconds'), 2)} ms; "
        f"the most accurate peer, {NAMES[nearest]}, to {percent(middle(nearest, 'gap'))} in "
        f"{words.near(1000 * middle(nearest, 'seconds'), 2)} ms"
    )
    made, ax = figure(
        title,
        "Epsilon of Poisson-sampled Gaussian runs: workloads W1, W2, W7 of the benchmark, a point for each "
        "setting; medians in the title. Hollow: the answer is below the truth",
        height=3.7,
    )
    with style.style():
        for (peer, name), look in zip(NAMES.items(), LOOKS, strict=True):
            for below in (False, True):
                results = [r for r in of(peer) if (float(r["gap"]) < -NOISE) == below]
                ax.plot(
                    [r["seconds"] for r in results],
                    [max(abs(float(r["gap"])), FLOOR) for r in results],
                    linestyle="",
                    marker=look.marker,
                    color=look.colour,
                    markerfacecolor="white" if below else look.colour,
                    markeredgewidth=1.0,
                )
            ax.plot([], [], linestyle="", marker=look.marker, color=look.colour, label=name)
        waits = ("1 ms", "10 ms", "0.1 s", "1 s", "10 s")
        log_ticks(ax.xaxis, (1e-3, 1e-2, 0.1, 1, 10), waits)
        errors = (1e-15, 1e-12, 1e-9, 1e-6, 1e-3, 1)
        log_ticks(ax.yaxis, errors, ("1e-15 or less", *(f"{x:g}" for x in errors[1:])))
        ax.set_xlabel("processor time of one answer")
        ax.set_ylabel("relative error of epsilon")
        ax.set_ylim(3e-16, 20)
        legend_below(made, ax, columns=4)
    return made, title


RECORD = Record("peers", points, row, draw)

"""Every method that protects whole clients, at equal true epsilon: accuracy against epsilon.

From results that `dpacct-train replicate methods_claims` keeps in training/experiments/results.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any

from dpacct.report.plots import style
from dpacct.report.plots.draw import figure
from figures.panels import legend_below
from figures.record import FOLDER, Record, Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RESULTS = FOLDER.parent / "training" / "experiments" / "results" / "methods_claims.json"
SWEPT = "privacy.epsilon"
LINES = ("-", (0, (4, 2)))


@cache
def accuracies() -> dict[tuple[str, float], list[float]]:
    """Return the accuracies of each method and epsilon, one for each seed."""
    trials: list[dict[str, Any]] = json.loads(RESULTS.read_text(encoding="utf-8"))
    grouped: dict[tuple[str, float], list[float]] = {}
    for trial in trials:
        place = trial["variant"], float(trial["at"][SWEPT])
        grouped.setdefault(place, []).append(trial["measures"]["accuracy"])
    return grouped


def points() -> list[Row]:
    """Each method at each epsilon."""
    return [{"method": method, "epsilon": epsilon} for method, epsilon in accuracies()]


def row(point: Row) -> Row:
    """Test accuracy in percent: mean and standard deviation over seeds."""
    values = accuracies()[str(point["method"]), float(point["epsilon"])]
    return {**point, "accuracy": mean(values), "spread": stdev(values), "seeds": len(values)}


def draw(rows: Sequence[Row]) -> tuple[Figure, str]:
    """A line for each method, with its spread over seeds."""
    epsilons = sorted({float(r["epsilon"]) for r in rows})
    best = {
        e: max((r for r in rows if r["epsilon"] == e), key=lambda r: float(r["accuracy"]))
        for e in epsilons
    }
    least, most = best[epsilons[0]], best[epsilons[-1]]
    title = (
        f"The most accurate at a true epsilon of {epsilons[0]:g} is {least['method']} "
        f"({least['accuracy']:.1f} %), at {epsilons[-1]:g} {most['method']} ({most['accuracy']:.1f} %)"
    )
    made, axes = figure(
        title,
        "Test accuracy, mean and standard deviation over seeds; MNIST, logistic regression, whole clients "
        "protected, Poisson samples, the least noise for each epsilon. Each panel has its own scale",
        height=3.6,
        columns=len(epsilons),
        sharey=True,
    )
    methods = sorted(
        {str(r["method"]) for r in rows},
        key=lambda name: mean(float(r["accuracy"]) for r in rows if r["method"] == name),
    )
    with style.style():
        for ax, epsilon in zip(axes, epsilons, strict=True):
            for place, method in enumerate(methods):
                (at,) = (r for r in rows if (r["method"], r["epsilon"]) == (method, epsilon))
                best_here = at is best[epsilon]
                ax.errorbar(
                    at["accuracy"],
                    place,
                    xerr=at["spread"],
                    color=style.VERMILION if best_here else style.BLUE,
                    marker="s" if best_here else "o",
                    capsize=2,
                    label="most accurate" if best_here else "_",
                )
            ax.set_title(f"true epsilon {epsilon:g}", fontsize=style.SIZE, loc="left")
            ax.set_xlabel("test accuracy, %")
        legend_below(made, axes[0], columns=1)
        axes[0].set_yticks(range(len(methods)), methods)
    return made, title


RECORD = Record("methods_epsilon", points, row, draw)

"""Accuracy of the papers' systems, round by round, from stored results.

`dpacct-train replicate` keeps them in training/experiments/results.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from statistics import mean
from typing import TYPE_CHECKING, Any

from dpacct.report.plots import style
from dpacct.report.plots.draw import figure
from figures.record import FOLDER, Record, Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RESULTS = FOLDER.parent / "training" / "experiments" / "results"
STUDIES = {
    "dp_fed_ls_claims": "DP-Fed-LS, claimed epsilon 6",
    "prifedsync_claims": "PriFedSync, global model",
    "udp_fl_claims": "UDP-FL, claimed epsilon 2",
    "dp_fedsam_tables": "DP-FedSAM, true epsilon 4",
}
SHOWN = {
    "dp_fedsam_tables": {
        "DP-FedAvg",
        "DP-FedSAM",
        "DP-FedSAM-top_k",
        "Fed-SMP-top_k",
        "Fed-SMP-rand_k",
        "DP-FedAvg-blur",
    }
}
"""The variants shown of a study with too many for a panel: those at the epsilon of the paper's Table 1."""


@cache
def curves() -> dict[tuple[str, str, int], list[float]]:
    """Return the accuracies of each study, variant and round, one for each seed."""
    grouped: dict[tuple[str, str, int], list[float]] = {}
    for study in STUDIES:
        path = RESULTS / f"{study}.json"
        trials: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
        names = SHOWN.get(study, {trial["variant"] for trial in trials})
        for trial in (trial for trial in trials if trial["variant"] in names):
            for round, accuracy in trial["curve"]:
                grouped.setdefault((study, trial["variant"], round), []).append(accuracy)
    return grouped


def points() -> list[Row]:
    """Each round that was looked at."""
    return [{"study": study, "variant": v, "round": round} for study, v, round in curves()]


def row(point: Row) -> Row:
    """Mean accuracy on the validation data, in percent."""
    values = curves()[str(point["study"]), str(point["variant"]), int(point["round"])]
    return {**point, "accuracy": mean(values)}


def draw(rows: Sequence[Row]) -> tuple[Figure, str]:
    """A panel for each paper."""

    def last(variant: str) -> float:
        return float([r["accuracy"] for r in rows if r["variant"] == variant][-1])

    honest, gaussian = last("staircase, each number clipped"), last("Gaussian")
    title = (
        f"UDP-FL with staircase noise as printed reaches {last('staircase, printed'):.0f} %, with the clip "
        f"that its guarantee needs {honest:.0f} %; with Gaussian noise {gaussian:.0f} %"
    )
    made, axes = figure(
        title,
        "Accuracy on validation data by round, mean over seeds; MNIST. p: share of clients in a round. Each "
        "panel has its own scale",
        height=7.6,
        rows=2,
        columns=2,
    )
    with style.style():
        for ax, (study, heading) in zip(axes.flat, STUDIES.items(), strict=True):
            mine = [r for r in rows if r["study"] == study]
            variants = list(dict.fromkeys(str(r["variant"]) for r in mine))
            for variant, look in zip(variants, style.LOOKS, strict=False):
                line = [r for r in mine if r["variant"] == variant]
                ax.plot(
                    [r["round"] for r in line],
                    [r["accuracy"] for r in line],
                    color=look.colour,
                    marker=look.marker,
                    markersize=4,
                    label=variant,
                )
            ax.set_title(heading, fontsize=style.SIZE, loc="left")
            ax.set_xlabel("round")
            ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), fontsize=style.SIZE - 2)
        for ax in axes[:, 0]:
            ax.set_ylabel("accuracy, %")
            ax.yaxis.get_major_locator().set_params(integer=True)
    return made, title


RECORD = Record("learning_curves", points, row, draw)

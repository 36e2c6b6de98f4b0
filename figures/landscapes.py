"""The loss around the last models of DP-FedAvg and DP-FedSAM, from stored results.

`dpacct-train replicate dp_fedsam_tables` keeps them in training/experiments/results.
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

RESULTS = FOLDER.parent / "training" / "experiments" / "results" / "dp_fedsam_tables.json"


@cache
def losses() -> dict[tuple[str, float], list[float]]:
    """Return the losses of each variant and distance, one for each seed."""
    grouped: dict[tuple[str, float], list[float]] = {}
    trials: list[dict[str, Any]] = json.loads(RESULTS.read_text(encoding="utf-8"))
    for trial in trials:
        for distance, loss in trial.get("landscape", ()):
            grouped.setdefault((trial["variant"], distance), []).append(loss)
    return grouped


def points() -> list[Row]:
    """Each distance that was looked at."""
    return [{"variant": variant, "distance": distance} for variant, distance in losses()]


def row(point: Row) -> Row:
    """Mean, least and largest loss over seeds."""
    seen = losses()[str(point["variant"]), float(point["distance"])]
    return {**point, "loss": mean(seen), "least": min(seen), "largest": max(seen)}


def draw(rows: Sequence[Row]) -> tuple[Figure, str]:
    """A line for each method, with the range of its seeds."""
    variants = list(dict.fromkeys(str(r["variant"]) for r in rows))

    def rise(variant: str) -> float:
        loss = {float(r["distance"]): float(r["loss"]) for r in rows if r["variant"] == variant}
        return (loss[1.0] + loss[-1.0]) / 2 - loss[0.0]

    steps = " and ".join(f"{rise(variant):.2f} around {variant}" for variant in variants)
    title = f"A step of length 1 in the sharpest direction raises the loss by {steps}"
    subtitle = (
        "Loss on test samples along that direction, mean and range over seeds; MNIST, epsilon 4"
    )
    made, axes = figure(title, subtitle, height=4.6)
    with style.style():
        for variant, look in zip(variants, style.LOOKS, strict=False):
            line = [r for r in rows if r["variant"] == variant]
            x = [float(r["distance"]) for r in line]
            low, high = ([float(r[end]) for r in line] for end in ("least", "largest"))
            axes.fill_between(x, low, high, color=look.colour, alpha=0.15, linewidth=0)
            axes.plot(x, [float(r["loss"]) for r in line], color=look.colour, label=variant)
        axes.set_xlabel(
            "distance from the last model (Euclidean norm of the change of its weights)"
        )
        axes.set_ylabel("cross-entropy on test samples (nats)")
        axes.legend()
    return made, title


RECORD = Record("landscapes", points, row, draw)

"""Pictures of a run: accuracy and epsilon over the rounds."""

from __future__ import annotations

from pathlib import Path

from dpacct_training.durable import keep
from dpacct_training.extras import required
from dpacct_training.folder import Row


def curve(rows: list[Row], title: str, path: Path) -> None:
    """Accuracy over rounds, and epsilon so far on a second axis where there is one."""
    required("matplotlib").use("Agg")
    figure_kind = required("matplotlib.figure").Figure
    figure = figure_kind(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.add_subplot()
    rounds = [row["round"] for row in rows]
    axes.plot(rounds, [100 * row["accuracy"] for row in rows], color="tab:blue")
    axes.set(xlabel="round", ylabel="accuracy / %", title=title)
    axes.grid(alpha=0.3)
    known = [row for row in rows if "epsilon" in row]
    if known:
        other = axes.twinx()
        other.step([r["round"] for r in known], [r["epsilon"] for r in known], color="tab:red")
        other.set_ylabel("epsilon so far (upper bound)", color="tab:red")
        other.set_ylim(bottom=0)
    keep(path, lambda draft: figure.savefig(draft, format="png", dpi=120))

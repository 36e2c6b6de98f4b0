"""Pictures of a run: accuracy and epsilon over the rounds."""

from __future__ import annotations

import dpacct as dp
from dpacct_training.folder import Row


def accuracy(rows: list[Row]) -> dp.plot.Chart:
    """Accuracy in percent over the rounds.

    >>> chart = accuracy([{"round": 1, "accuracy": 0.5}, {"round": 2, "accuracy": 0.75}])
    >>> chart.to_csv().split()[-2:]
    ['1.0,50.0', '2.0,75.0']
    """
    rounds = [float(row["round"]) for row in rows]
    shares = [100 * row["accuracy"] for row in rows]
    return dp.plot.Chart.simple("round", "accuracy / %", rounds, shares, title="Accuracy by round")


def epsilon(rows: list[Row]) -> dp.plot.Chart | None:
    """Epsilon so far over the rounds, a staircase: a bound for one round holds until the next."""
    priced = [row for row in rows if "epsilon" in row]
    if not priced:
        return None
    x: list[float] = []
    y: list[float] = []
    for before, row in zip([None, *priced], priced, strict=False):
        if before is not None:
            x.append(row["round"])
            y.append(before["epsilon"])
        x.append(row["round"])
        y.append(row["epsilon"])
    caption = "Epsilon so far by round, an upper bound"
    return dp.plot.Chart.simple("round", "epsilon so far, at most", x, y, title=caption)


def curves(rows: list[Row]) -> tuple[tuple[str, str], ...]:
    """(picture, caption) of each, for a report."""
    if not rows:
        return ()
    pictures = [
        (
            accuracy(rows).to_svg(),
            "Accuracy by round, on the validation data (test data where none).",
        )
    ]
    spent = epsilon(rows)
    if spent is not None:
        pictures.append((spent.to_svg(), "Epsilon of the rounds so far, an upper bound."))
    return tuple(pictures)

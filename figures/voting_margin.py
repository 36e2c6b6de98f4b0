"""The cost of one answer by vote over its margin: the truth, and the data-dependent bounds.

Noisy argmax of two classes, Gaussian noise on each count, agents as units; Renyi divergence of order 8.
The truth is the larger of both orders of the two data sets, at the worst agent that joins or leaves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dpacct.declare import number as words
from dpacct.errors import DpacctError
from dpacct.papers.registry import get
from dpacct.report.plots import style
from dpacct.report.plots.draw import figure
from dpacct.voting.aggregator import GNMax
from dpacct.voting.published import gaussian_votes, log_mismatch
from dpacct.voting.votes import Votes
from figures.panels import finish
from figures.record import Record, Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ORDER = 8
PANELS = {1: 20, 10: 200}  # noise: votes
ROUTES = {
    "exact": ("exact", style.LOOKS[0], "converged"),
    "corrected": ("Theorem 14, corrected", style.LOOKS[2], "bound"),
    "papernot": ("Papernot 2018, from the votes only", style.LOOKS[1], "bound"),
    "printed": ("Theorem 14, as printed", style.LOOKS[6], "refuted"),
    "independent": ("for any votes", style.LOOKS[4], "bound"),
}


def points() -> list[Row]:
    """Each route at each margin, for little and for usual noise."""
    return [
        {"sigma": sigma, "votes": votes, "route": route, "margin": margin}
        for sigma, votes in PANELS.items()
        for route in ROUTES
        for margin in range(0, min(votes, 110) + 1, 1 if votes < 50 else 5)
        if (votes - margin) % 2 == 0
    ]


def row(point: Row) -> Row:
    """The Renyi divergence of one answer, or what a theorem says of it; nan where it says nothing."""
    sigma, votes, margin = (int(point[name]) for name in ("sigma", "votes", "margin"))
    first, second = (votes + margin) // 2, (votes - margin) // 2
    return {**point, "divergence": divergence(str(point["route"]), sigma, first, second)}


def divergence(route: str, sigma: int, first: int, second: int) -> float:
    """One number of the table."""
    if route == "exact":
        gnmax = GNMax(sigma=sigma, level="agent")
        return float(gnmax.renyi(Votes([[first, second]]), order=ORDER)[0])
    if route == "independent":
        return get("ae_dpfl.theorem11_agent").evaluate(
            {"alpha": ORDER, "queries": 1, "sigma": sigma}
        )
    if route == "papernot":
        return float(gaussian_votes(log_mismatch([first - second], sigma), ORDER, sigma, 1.0))
    names = {"votes": [first, second], "sigma": sigma, "alpha": ORDER}
    try:
        if route == "printed":
            return get("ae_dpfl.theorem14").evaluate(names, as_printed=True)
        return two_classes(first, second, sigma)
    except DpacctError:
        return math.nan


def two_classes(first: int, second: int, sigma: int) -> float:
    """Theorem 14, corrected, for two classes: the third is too far behind to matter."""
    from dpacct.voting.published import voting_rdp

    return float(voting_rdp(log_mismatch([first - second - 1], sigma), ORDER, sigma, 1.0))


def line(rows: Sequence[Row], sigma: int, route: str) -> tuple[np.ndarray, np.ndarray]:
    """One line by margin."""
    results = [r for r in rows if (r["sigma"], r["route"]) == (sigma, route)]
    return np.array([r["margin"] for r in results]), np.array([r["divergence"] for r in results])


def draw(rows: Sequence[Row]) -> tuple[Figure, str]:
    """A panel for each noise."""
    margin, truth = line(rows, 1, "exact")
    _, printed = line(rows, 1, "printed")
    with np.errstate(invalid="ignore"):
        broken = margin[truth > printed]
    x, exact = line(rows, 10, "exact")
    _, corrected = line(rows, 10, "corrected")
    _, always = line(rows, 10, "independent")
    helps = x[int(np.argmax(corrected < always))]
    at = int(np.argmax(x == helps))
    title = (
        f"Theorem 14, corrected, is {words.near(corrected[at] / exact[at], 2)}x looser than exact "
        f"at noise 10 and a margin of {helps:g}; as printed it is false at {broken.size} of "
        f"{margin.size} margins at noise 1"
    )
    made, axes = figure(
        title,
        f"Rényi divergence of order {ORDER} of one answer by noisy vote between two classes; an agent joins "
        "or leaves. The bounds coincide at small margins",
        height=3.5,
        columns=2,
        sharey=True,
    )
    with style.style():
        top = max(3 * line(rows, sigma, "independent")[1][0] for sigma in PANELS)
        low = min(3e-4 * line(rows, sigma, "independent")[1][0] for sigma in PANELS)
        for ax, sigma in zip(axes, PANELS, strict=True):
            bottom = 1e-9 * low  # a line ends at the frame, not at its last point above it
            for route, (label, look, strength) in ROUTES.items():
                at_margin, values = line(rows, sigma, route)
                shown = np.where((values > 30 * top) | (values < bottom), np.nan, values)
                style.plot_line(
                    ax, at_margin, shown, label=label, look=look, strength=strength, markers=6
                )
            ax.set_yscale("log")
            ax.set_ylim(low, top)
            ax.set_xlim(-0.02 * at_margin[-1], 1.02 * at_margin[-1])
            ax.set_xlabel("votes of the winner less those of the other")
        headings = [f"noise {sigma}, {votes} votes" for sigma, votes in PANELS.items()]
        vertical = "Rényi divergence of one answer"
        finish(made, dict(zip(axes, headings, strict=True)), vertical, columns=3)
    return made, title


RECORD = Record("voting_margin", points, row, draw)

"""Epsilon after shuffling n messages of eps0-private clients: every bound, where it is valid.

One round, delta 1e-6, any eps0-DP randomiser. The truth lies between what shuffled randomised response
leaks and the counted bound of Feldman, McMillan and Talwar 2022. Lemma 2 of UDP-FL is drawn as it is
printed, without the condition on n that its source has.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dpacct.declare import number as words
from dpacct.papers.formulas.udp_fl import lemma2
from dpacct.pld.conversions import epsilon as from_renyi
from dpacct.report.plots import style
from dpacct.report.plots.draw import figure
from dpacct.report.plots.kinds import percent
from dpacct.shuffling.bounds import lower_bounds, upper_bounds
from dpacct.shuffling.shuffle import Shuffle
from figures.panels import BROKEN, finish
from figures.record import Record, Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DELTA = 1e-6
LEVELS = (0.4, 2.0)
CLIENTS = [int(n) for n in np.unique(np.geomspace(100, 10**6, 17).round())]
NAMES = {
    "feldman2022.clones": "Feldman 2022, computed",
    "feldman2022.closed": "Feldman 2022",
    "feldman2020.theorem3_1": "Feldman 2020",
    "balle2019.bennett": "Balle 2019",
    "erlingsson2019.closed": "Erlingsson 2019",
    "udp_fl.lemma2": "UDP-FL, Lemma 2",
}
LOOKS = dict(zip(NAMES, (*style.LOOKS[:5], style.LOOKS[6]), strict=True))
PRINTED = "udp_fl.lemma2"
TRUTH = "truth, at least"


def points() -> list[Row]:
    """Each bound and the truth, by eps0 and by the number of clients."""
    return [
        {"eps0": eps0, "bound": bound, "clients": n}
        for eps0 in LEVELS
        for bound in (*NAMES, TRUTH)
        for n in CLIENTS
    ]


def row(point: Row) -> Row:
    """Epsilon at delta; nan where the bound says nothing below eps0."""
    eps0, name, n = float(point["eps0"]), str(point["bound"]), int(point["clients"])
    if name == PRINTED:
        return {**point, "epsilon": printed(eps0, n)}
    shuffle = Shuffle(eps0=eps0, clients=n)
    if name == TRUTH:
        return {**point, "epsilon": max(b.epsilon(math.log(DELTA)) for b in lower_bounds(shuffle))}
    results = [b.epsilon(math.log(DELTA)) for b in upper_bounds(shuffle) if b.name == name]
    return {**point, "epsilon": results[0] if results and results[0] < eps0 else math.nan}


def printed(eps0: float, clients: int) -> float:
    """Lemma 2 as printed at the best order up to 256, turned into epsilon."""
    tried = (
        from_renyi((a - 1.0) * lemma2(a, eps0, clients), a - 1.0, math.log(DELTA))
        for a in range(2, 257)
    )
    return max(min(tried), 0.0)


def line(rows: Sequence[Row], eps0: float, bound: str) -> list[float]:
    """One line's values, by the number of clients."""
    return [float(r["epsilon"]) for r in rows if (r["eps0"], r["bound"]) == (eps0, bound)]


def draw(rows: Sequence[Row]) -> tuple[Figure, str]:
    """A panel for each eps0."""
    claim, truth = (np.array(line(rows, LEVELS[1], name)) for name in (PRINTED, TRUTH))
    counted = np.array(line(rows, LEVELS[1], "feldman2022.clones"))
    worst = int(np.argmax(truth / np.where(claim > 0, claim, np.inf)))
    excess = np.nanmax(counted / truth) - 1
    title = (
        f"The computed bound is within {percent(excess)} of the truth; Lemma 2 of UDP-FL claims "
        f"{words.near(claim[worst], 2)} where at least {words.down(truth[worst], 2)} leaks"
    )
    made, axes = figure(
        title,
        "Shuffled messages of clients with an eps0-DP randomiser, delta 1e-6. Lines begin where their "
        "theorems' conditions hold; Girgis 2021 is above eps0 throughout",
        height=3.7,
        columns=2,
    )
    with style.style():
        for ax, eps0 in zip(axes, LEVELS, strict=True):
            low = line(rows, eps0, TRUTH)
            ax.fill_between(CLIENTS, 1e-4, low, color=BROKEN, linewidth=0, zorder=0)
            ax.axhline(eps0, color=style.INK, linewidth=0.8)
            ax.text(CLIENTS[-1], eps0 * 1.06, "not shuffled", ha="right", va="bottom", fontsize=8)
            for name, label in NAMES.items():
                values = line(rows, eps0, name)
                style.plot_line(
                    ax,
                    CLIENTS,
                    values,
                    label=label,
                    look=LOOKS[name],
                    strength="refuted" if name == PRINTED else "bound",
                    markers=9,
                )
            ax.text(130, 1.35e-3 * eps0 / 0.4, "below the truth", color=style.WARNING)
            ax.set_xscale("log")
            ax.set_yscale("log")
            ax.set_ylim(1e-3 * eps0 / 0.4, 1.6 * eps0)
            ax.set_xlabel("clients")
        headings = [f"eps0 = {eps0:g}" for eps0 in LEVELS]
        finish(made, dict(zip(axes, headings, strict=True)), "epsilon after shuffling", columns=3)
    return made, title


RECORD = Record("shuffle_bounds", points, row, draw)

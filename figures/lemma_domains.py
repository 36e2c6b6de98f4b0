"""The domains of DP-Fed's Lemmas 2 and 3, their looseness inside, and their error outside.

The truth is the Renyi divergence of the dominating pair: C_tau of Dong, Roth and Su for uniform
samples, the larger of both directions for Poisson samples; one round, sensitivity 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

import dpacct as dp
from dpacct.declare import number as words
from dpacct.papers.registry import get
from dpacct.report.plots import style
from dpacct.report.plots.draw import figure
from figures.panels import log_ticks
from figures.record import Record, Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RATE = 0.05
LEMMAS = {"lemma2": ("dp_fed_ls.lemma2", 0.67), "lemma3": ("dp_fed_ls.lemma3", 0.53)}
VARIANCES = np.geomspace(0.25, 16.0, 37)
ORDERS = 1.0 + np.geomspace(0.05, 15.0, 31)
ON_LIGHT, ON_DARK = "#212121", "#FEFEFE"  # on the cells, which stay as they are on a dark page
LEVELS = [1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 16, 256]
COLOURS = ["#CFE3F1", "#9CC7E3", "#64A8D2", "#2E86BF", "#F8DCC6", "#EFB68E", "#E08A52", "#C75A14"]


def points() -> list[Row]:
    """A grid of variances and orders for each lemma."""
    return [
        {"lemma": lemma, "nu2": float(nu2), "alpha": float(alpha)}
        for lemma in LEMMAS
        for nu2 in VARIANCES
        for alpha in ORDERS
    ]


def row(point: Row) -> Row:
    """The lemma's bound, whether its hypotheses hold, and the truth."""
    lemma, nu2, alpha = str(point["lemma"]), float(point["nu2"]), float(point["alpha"])
    entry = get(LEMMAS[lemma][0])
    assert entry.formula is not None
    sample = dp.WithoutReplacement if lemma == "lemma2" else dp.Poisson
    truth = sample(RATE)(dp.Gaussian(sigma=float(np.sqrt(nu2)))).rdp(alpha)
    speaks = nu2 >= LEMMAS[lemma][1] and alpha <= largest_order(nu2)
    bound = entry.formula(RATE, nu2, alpha)
    return {**point, "inside": int(speaks), "bound": bound, "truth": float(truth)}


def largest_order(nu2: float) -> float:
    """Eq. (7)."""
    return get("dp_fed_ls.eq7").evaluate(dict(tau=RATE, nu2=nu2))


def draw(rows: Sequence[Row]) -> tuple[Figure, str]:
    """A map of truth over bound for each lemma, and the border of its domain."""
    worst = {
        lemma: max(r["truth"] / r["bound"] for r in rows if r["lemma"] == lemma and r["inside"])
        for lemma in LEMMAS
    }
    beyond = max(r["truth"] / r["bound"] for r in rows)
    title = (
        f"Inside their domains Lemmas 2 and 3 are loose by factors of {words.down(1 / worst['lemma2'], 2)} "
        f"and {words.down(1 / worst['lemma3'], 2)} or more; outside, the true value is up to "
        f"{words.near(beyond, 1)} times theirs"
    )
    made, axes = figure(
        title,
        "Gaussian noise on a 5 % sample, sensitivity 1, one round. "
        "Colour: true Rényi divergence over the lemma's value",
        height=3.3,
        columns=2,
        sharey=True,
    )
    from matplotlib.patheffects import withStroke

    with style.style():
        for ax, (lemma, (_, least)) in zip(axes, LEMMAS.items(), strict=True):
            grid = [r["truth"] / r["bound"] for r in rows if r["lemma"] == lemma]
            ratio = np.reshape(grid, (len(VARIANCES), len(ORDERS))).T
            filled = ax.contourf(
                VARIANCES, ORDERS - 1, np.clip(ratio, LEVELS[0], LEVELS[-1]), LEVELS, colors=COLOURS
            )
            x = np.geomspace(least, VARIANCES[-1], 200)
            y = np.array([largest_order(v) for v in x]) - 1
            ax.plot([least, *x], [ORDERS[0] - 1, *y], color=ON_LIGHT, linewidth=1.6)
            for at, value in (
                ((x[90], 0.45 * y[90]), "holds"),
                ((6.0, 5.0), "outside"),
            ):
                words_on = ax.text(*at, value, ha="center", color=ON_LIGHT)
                words_on.set_path_effects([withStroke(linewidth=2.5, foreground=ON_DARK)])
            ax.set_xlabel("variance of the noise / sensitivity²")
            named = "Lemma 2: uniform sample" if lemma == "lemma2" else "Lemma 3: Poisson sample"
            ax.set_title(named, fontsize=style.SIZE, loc="left")
            shares = ("1/4", "1/2", "1", "2", "4", "8", "16")
            log_ticks(ax.xaxis, (0.25, 0.5, 1, 2, 4, 8, 16), shares)
            log_ticks(ax.yaxis, (0.1, 1, 10), ("1.1", "2", "11"))
            ax.grid(False)
        axes[0].set_ylabel("Rényi order alpha")
        bar = made.colorbar(filled, ax=axes, shrink=0.95, pad=0.02, ticks=LEVELS)
        bar.ax.set_yticklabels([f"1/{1 / v:g}" if v < 1 else f"{v:g}" for v in LEVELS])
        bar.ax.axhline(1, color=ON_LIGHT, linewidth=1.2)
    return made, title


RECORD = Record("lemma_domains", points, row, draw)

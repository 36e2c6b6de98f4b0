"""Noise that DP-Fed's theorems ask for, and what is needed, for the same promise.

MNIST of Liang et al. 2020: 50 of 1000 clients a round, 30 rounds, delta = 1000^-1.1. Theorem 1 is for
uniform samples without replacement, Theorem 2 for Poisson samples. "No conditions" is what the
formulas print when their side conditions on lambda, alpha and nu are not looked at.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

import dpacct as dp
from dpacct.declare import number as words
from dpacct.errors import OutsideDomain
from dpacct.papers.registry import get
from dpacct.report.plots import style
from dpacct.report.plots.draw import figure
from figures.panels import finish, log_ticks
from figures.record import Record, Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DELTA, RATE, ROUNDS = 1000**-1.1, Fraction("0.05"), 30
FORMULAS = {"uniform": ("dp_fed_ls.theorem1", 14.0), "poisson": ("dp_fed_ls.theorem2", 8.0)}
LEAST = [  # the smallest promises for which the theorems say anything
    get(f"{name}_least_epsilon").evaluate(dict(delta=DELTA, tau=RATE, steps=ROUNDS)) * (1 + 1e-9)
    for name, _ in FORMULAS.values()
]
PROMISES = sorted([*np.geomspace(1.0, 20.0, 27).tolist(), *LEAST])
ROUTES = ("theorem", "no conditions", "rdp", "exact")
LOOKS = {
    "theorem": style.LOOKS[3],
    "no conditions": style.LOOKS[6],
    "rdp": style.look_of("rdp"),
    "exact": style.look_of("exact"),
}
LINES = {"theorem": "published", "no conditions": "refuted", "rdp": "bound", "exact": "converged"}
SETTINGS = {
    "uniform": "Theorem 1: uniform samples",
    "poisson": "Theorem 2: Poisson samples",
}
NAMES = {
    "theorem": "the theorem",
    "no conditions": "its formula alone",
    "rdp": "Rényi DP",
    "exact": "exact",
}


def points() -> list[Row]:
    """Each promise, by each route, under each sampling."""
    return [
        {"sampling": sampling, "route": route, "promised": float(eps)}
        for sampling in FORMULAS
        for route in ROUTES
        for eps in PROMISES
    ]


def plan(sampling: str, noise: float) -> dp.Node:
    """DP-Fed's run at this noise multiplier: standard deviation of the noise on the sum over the clip."""
    sample = dp.WithoutReplacement if sampling == "uniform" else dp.Poisson
    return sample(RATE)(dp.Gaussian(noise_multiplier=noise, clip=1)) * ROUNDS


def formula_alone(constant: float, epsilon: float) -> float:
    """min over lambda of Eq. (3) or (4), at clip 1, with every side condition ignored."""
    # With L = log(1/delta), (L/(1 - x) + eps)/x is least where eps (1 - x)^2 + L (1 - 2 x) = 0.
    loss = -math.log(DELTA)
    x = (epsilon + loss - math.sqrt(loss * (epsilon + loss))) / epsilon
    least = (loss / (1 - x) + epsilon) / x
    return float(RATE) / epsilon * math.sqrt(constant * ROUNDS * least)


def noise(sampling: str, route: str, epsilon: float) -> float:
    """The noise multiplier that this route asks for; nan where it has none to offer."""
    theorem, constant = FORMULAS[sampling]
    if route == "theorem":
        asked = dict(epsilon=epsilon, delta=DELTA, tau=RATE, clip=1, steps=ROUNDS)
        try:
            return get(theorem).evaluate(asked)
        except OutsideDomain:
            return math.nan
    if route == "no conditions":
        return formula_alone(constant, epsilon)
    made = dp.calibrate(lambda s: plan(sampling, s), epsilon=epsilon, delta=DELTA, method=route)
    return float(made)


def row(point: Row) -> Row:
    """The noise of one point."""
    sampling, route, promised = point.values()
    return {**point, "noise": noise(str(sampling), str(route), float(promised))}


def lines(rows: Sequence[Row], sampling: str, route: str, column: str) -> tuple[list, list]:
    """The promises and a column along one line."""
    results = [r for r in rows if r["sampling"] == sampling and r["route"] == route]
    return [r["promised"] for r in results], [r[column] for r in results]


def draw(rows: Sequence[Row]) -> tuple[Figure, str]:
    """Two panels, a theorem each."""
    asked = dict(zip(*lines(rows, "uniform", "theorem", "noise"), strict=True))
    needed = dict(zip(*lines(rows, "uniform", "exact", "noise"), strict=True))
    factors = {e: asked[e] / needed[e] for e in asked if asked[e] == asked[e]}
    first = min(factors)
    title = (
        f"Where DP-Fed's Theorem 1 applies (epsilon {words.near(first, 2)} and above), it asks for "
        f"{words.near(min(factors.values()), 2)} to {words.near(max(factors.values()), 2)} times "
        "the noise needed"
    )
    made, axes = figure(
        title,
        "DP-Fed on MNIST: 5 % of 1000 clients, 30 rounds, delta = 1000^-1.1. Noise multiplier: "
        "standard deviation on the sum over the clip. Formula alone: side conditions ignored",
        height=3.2,
        columns=2,
        sharey=True,
    )
    with style.style():
        for ax, sampling in zip(axes, FORMULAS, strict=True):
            for route in ROUTES:
                x, y = lines(rows, sampling, route, "noise")
                style.plot_line(
                    ax,
                    x,
                    y,
                    label=NAMES[route],
                    look=LOOKS[route],
                    strength=LINES[route],
                )
            log_ticks(ax.xaxis, (1, 2, 5, 10, 20))
            log_ticks(ax.yaxis, (0.3, 0.5, 1, 2, 5))
            ax.set_xlabel("claimed epsilon")
        headings = [SETTINGS[sampling] for sampling in FORMULAS]
        finish(made, dict(zip(axes, headings, strict=True)), "noise multiplier", columns=4)
    return made, title


RECORD = Record("noise_by_method", points, row, draw)

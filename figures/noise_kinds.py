"""Gaussian, Laplace and staircase noise on one number (UDP-FL, Section 4.2): which needs least?

Left: the Renyi divergence of each at the same mean absolute noise, one sensitivity. Right: the mean
absolute noise that each needs for a Renyi level at order 8, over that of the Gaussian; the staircase
with the nu that the paper calls optimal (it minimises the noise at a pure epsilon) and with the best.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

import dpacct as dp
from dpacct.declare import number as words
from dpacct.papers.registry import get
from dpacct.report.plots import style
from dpacct.report.plots.draw import figure
from figures.panels import legend_below, log_ticks
from figures.record import Record, Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ORDER = 8
KINDS = {
    "gaussian": "Gaussian",
    "laplace": "Laplace",
    "staircase": "staircase, nu as printed",
    "best staircase": "staircase, best nu",
}
LOOKS = dict(zip(KINDS, style.LOOKS, strict=False))
ORDERS = 1.0 + np.geomspace(0.05, 60.0, 25)
LEVELS = np.geomspace(0.01, 4.0, 28)


def points() -> list[Row]:
    """Orders at one noise, then levels at one order."""
    shown = ("gaussian", "laplace", "staircase")
    at_noise = [{"panel": "order", "kind": kind, "at": float(a)} for kind in shown for a in ORDERS]
    at_order = [{"panel": "level", "kind": kind, "at": float(g)} for kind in KINDS for g in LEVELS]
    return [*at_noise, *at_order]


def row(point: Row) -> Row:
    """The divergence at mean absolute noise 1, or the noise for a level, in sensitivities."""
    kind, at = str(point["kind"]), float(point["at"])
    if point["panel"] == "order":
        made = {
            "gaussian": lambda: dp.Gaussian(sigma=math.sqrt(math.pi / 2)),
            "laplace": lambda: dp.Laplace(b=1),
            "staircase": lambda: dp.Staircase(eps0=2 * math.asinh(0.5)),
        }[kind]()
        return {**point, "value": float(made.rdp(at))}
    return {**point, "value": noise(kind, at)}


def noise(kind: str, level: float) -> float:
    """The least mean absolute noise whose divergence of order 8 is at most `level`."""
    if kind == "gaussian":
        return math.sqrt(ORDER / (2 * level)) * math.sqrt(2 / math.pi)
    if kind == "laplace":
        return solved(lambda b: float(dp.Laplace(b=b).rdp(ORDER)), level, 1e-2, 1e4)
    if kind == "staircase":
        return amplitude(solved(lambda s: stairs(1 / s, None), level, 1e-2, 1e4), None)
    from scipy.optimize import minimize_scalar

    def spent(nu: float) -> float:
        return amplitude(solved(lambda s: stairs(1 / s, nu), level, 1e-2, 1e4), nu)

    tried = np.linspace(0.02, 0.98, 25)
    start = int(np.argmin([spent(float(nu)) for nu in tried]))
    ends = tried[max(start - 1, 0)], tried[min(start + 1, len(tried) - 1)]
    result = minimize_scalar(spent, bounds=ends, method="bounded", options={"xatol": 1e-9})
    return float(result.fun)


def stairs(eps0: float, nu: float | None) -> float:
    """Divergence of order 8 of a staircase."""
    return float(dp.Staircase(eps0=eps0, nu=nu).rdp(ORDER))


def amplitude(inverse: float, nu: float | None) -> float:
    """E|noise| of the staircase of eps0 = 1/inverse."""
    eps0 = 1 / inverse
    if nu is None:
        return get("geng2014.least_amplitude").evaluate({"lam": eps0})
    return get("geng2014.amplitude").evaluate({"lam": eps0, "nu": nu})


def solved(rdp: Callable[[float], float], level: float, low: float, high: float) -> float:
    """The scale at which a divergence that falls with it meets the level."""
    from scipy.optimize import brentq

    result = brentq(
        lambda t: math.log(rdp(math.exp(t)) / level), math.log(low), math.log(high), xtol=1e-12
    )
    return math.exp(float(result))


def column(rows: Sequence[Row], panel: str, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """One line."""
    results = [(r["at"], r["value"]) for r in rows if (r["panel"], r["kind"]) == (panel, kind)]
    x, y = zip(*results, strict=True)
    return np.array(x), np.array(y)


def draw(rows: Sequence[Row]) -> tuple[Figure, str]:
    """Two panels: divergence by order, noise by level."""
    x, gaussian = column(rows, "level", "gaussian")
    ratio = {kind: column(rows, "level", kind)[1] / gaussian for kind in KINDS}
    printed = ratio["staircase"]
    crossing = float(np.exp(np.interp(0.0, -np.log(printed), np.log(x))))
    title = (
        f"At order {ORDER} staircase noise beats Gaussian noise only above a Rényi divergence of "
        f"{words.near(crossing, 2)}; at {words.near(x[0], 1)} it needs "
        f"{words.near(printed[0], 2)} times as much"
    )
    made, (left, right) = figure(
        title,
        "Noise on one number, sensitivity 1. Left: mean absolute noise 1 (best nu: right only). "
        f"Right: mean absolute noise for a bound at order {ORDER}, over the Gaussian's; the staircase lines "
        "nearly coincide",
        height=3.4,
        columns=2,
    )
    with style.style():
        for kind in ("gaussian", "laplace", "staircase"):
            style.plot_line(left, *column(rows, "order", kind), label=KINDS[kind], look=LOOKS[kind])
        for kind in KINDS:
            style.plot_line(
                right,
                x,
                ratio[kind],
                label=KINDS[kind],
                look=LOOKS[kind],
                markers=0 if kind == "gaussian" else 6,
            )
        log_ticks(left.xaxis, (1, 2, 4, 8, 16, 32, 60))
        log_ticks(left.yaxis, (0.3, 1, 3, 10))
        left.set_xlabel("Rényi order alpha")
        left.set_ylabel("Rényi divergence")
        log_ticks(right.xaxis, (0.01, 0.1, 1, 4))
        log_ticks(right.yaxis, (0.1, 0.2, 0.5, 1))
        right.set_xlabel(f"Rényi divergence of order {ORDER}, at most")
        right.set_ylabel("noise needed / the Gaussian's")
        legend_below(made, right, columns=4)
    return made, title


RECORD = Record("noise_kinds", points, row, draw)

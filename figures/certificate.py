"""A proof of epsilon, drawn: a finite sum, and a bound for everything that it leaves out.

The upper end of README's run, as its certificate has it. Left: the terms of the sum along the line of
integration. Right: what the certificate charges for rounding, for the copies of the trapezoid rule
(equation 2 of docs/theory/certificate.md) and for the terms beyond the last one (equation 3).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

import dpacct as dp
from dpacct.declare import number as words
from dpacct.plan import certified
from dpacct.report.plots import style
from dpacct.report.plots.draw import figure
from figures.panels import BROKEN, log_ticks
from figures.record import FOLDER, Record, Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RATE, SIGMA, STEPS, DELTA = 0.01, 1.1, 1000, 1e-5
ERRORS = {
    "rounding": "rounding of the sum",
    "aliasing above": "aliases above",
    "aliasing below": "aliases below",
    "tail": "terms left out",
}
BALL = re.compile(r"\[(\S+) \+/- (\S+)\]")


PROOF = FOLDER / "certificate.json"


def prove() -> None:
    """Write the certificate. Its contour is found by a search in floats, so it is kept."""
    run = dp.Poisson("0.01")(dp.Gaussian(sigma="1.1")) * STEPS
    certificate = certified.epsilon(run, delta="1e-5").certificate
    PROOF.write_text(json.dumps(certificate, indent=1) + "\n", encoding="utf-8")
    claim.cache_clear()


@cache
def claim() -> dict[str, Any]:
    """The certificate's claim that delta is at most 1e-5 at the upper end of epsilon."""
    document = json.loads(PROOF.read_text(encoding="utf-8"))
    results = (c for c in document["claims"] if c["relation"] == "at most" and "sum" in c["terms"])
    return max(results, key=lambda c: ball(c["terms"]["sum"])[0])


def ball(text: str) -> tuple[float, float]:
    """Middle and radius."""
    match = BALL.fullmatch(text)
    return (float(match[1]), float(match[2])) if match else (float(text), 0.0)


def points() -> list[Row]:
    """The nodes of the line, then the errors, then the sum and the room below delta."""
    line = claim()["evidence"]["contour"]
    nodes = [{"part": "node", "name": f"term {k}"} for k in range(int(line["count"]) + 1)]
    return [
        *nodes,
        *({"part": "error", "name": n} for n in ERRORS),
        {"part": "sum", "name": "room"},
    ]


def row(point: Row) -> Row:
    """The size of each, over delta; for a node also where it is."""
    name, terms = str(point["name"]), claim()["terms"]
    if point["part"] == "node":
        line = claim()["evidence"]["contour"]
        at = int(name.split()[1]) * line["step"]
        return {**point, "at": at, "size": abs(term(line["c"], line["step"], at))}
    if point["part"] == "sum":
        return {**point, "at": math.nan, "size": (DELTA - ball(terms["sum"])[0]) / DELTA}
    middle, radius = ball(terms["sum" if name == "rounding" else name])
    size = radius if name == "rounding" else middle + radius
    return {**point, "at": math.nan, "size": size / DELTA}


def term(c: float, step: float, t: float) -> complex:
    """h/pi F(c + it) over delta, equation (1); half of it at t = 0."""
    s, mu = complex(c, t), 1 / SIGMA
    x = np.arange(-10.0, 25.0, 0.005)
    loss = np.log1p(RATE * np.expm1(mu * x - mu * mu / 2))
    density = 0.005 * np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    log_moment = STEPS * np.log(np.sum(density * np.exp((s + 1) * loss)))
    whole = np.exp(log_moment - s * float(claim()["epsilon"])) / (s * (s + 1))
    return complex(whole) * step / math.pi / DELTA / (2 if t == 0 else 1)


def draw(rows: Sequence[Row]) -> tuple[Figure, str]:
    """Two panels: the sum, and the bounds of what is not in it."""
    errors = {str(r["name"]): float(r["size"]) for r in rows if r["part"] == "error"}
    nodes = [(float(r["at"]), float(r["size"])) for r in rows if r["part"] == "node"]
    room = next(float(r["size"]) for r in rows if r["part"] == "sum")
    title = (
        f"{len(nodes)} terms prove epsilon to twelve digits: everything left out is at most "
        f"{words.up(sum(errors.values()), 2)} of delta, below the margin of {words.down(room, 2)}"
    )
    made, (left, right) = figure(
        title,
        "Certificate of Poisson(0.01)(Gaussian(sigma=1.1)) * 1000 at delta 1e-5, for its upper end; all "
        "sizes over delta",
        height=3.0,
        columns=2,
        width_ratios=[1.25, 1],
    )
    with style.style():
        x, y = zip(*nodes, strict=True)
        left.vlines(x, 1e-16, y, color=style.SKY, linewidth=0.9)
        left.plot(x, y, linestyle="", marker="o", markersize=2.2, color=style.BLUE)
        left.set_yscale("log")
        left.set_ylim(1e-16, 10)
        left.set_xlim(-0.5, 1.12 * x[-1])
        left.set_xlabel("place on the line of integration: imaginary part of s")
        left.set_ylabel("size of a term / delta")
        left.axvspan(x[-1], 2 * x[-1], color=BROKEN, linewidth=0, zorder=0)
        left.text(
            1.11 * x[-1], 1, "left out", ha="right", rotation=90, color=style.WARNING, va="top"
        )
        left.set_title("the sum", fontsize=style.SIZE, loc="left")
        shown = {ERRORS[name]: size for name, size in errors.items()} | {"margin below delta": room}
        floor = 1e-18
        for k, size in enumerate(reversed(shown.values())):
            colour = style.GREEN if k == 0 else style.VERMILION
            if size > floor:
                right.plot(size, k, marker="o", markersize=7, color=colour)
            value = words.near(size, 2) + ("" if size > floor else ", far left of this axis")
            right.text(3 * max(size, floor), k, value, va="center")
        right.set_yticks(range(len(shown)), list(reversed(shown)))
        log_ticks(right.xaxis, (1e-18, 1e-15, 1e-12, 1e-9))
        right.set_xlim(floor, 1e-8)
        right.grid(visible=False, axis="y")
        right.set_xlabel("share of delta")
        right.set_title("bounds of what is left out", fontsize=style.SIZE, loc="left")
    return made, title


RECORD = Record("certificate", points, row, draw, prove)

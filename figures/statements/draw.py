"""The picture of a sweep: what is claimed, what is true, and where the one stands against the other."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dpacct.report.plots import style, words
from dpacct.theorems.entry import Entry
from dpacct.theorems.grade import Status
from dpacct.theorems.registry import get
from dpacct.verify.comparison import Comparison
from dpacct.verify.truth import truths
from figures.record import Row
from figures.statements.canvas import (
    ALARM,
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Canvas,
    runs,
    scale,
)


def draw(rows: Sequence[Row]) -> str:
    """The SVG of one statement's rows of the table."""
    entry = get(str(rows[0]["id"]))
    argument = str(rows[0]["argument"])
    x = [float(r["x"]) for r in rows]
    claimed = [float(r["claimed"]) for r in rows]
    lower = [float(r["lower"]) for r in rows]
    upper = [float(r["upper"]) for r in rows]
    open_ended = not all(map(math.isfinite, upper))
    ends = lower if open_ended else upper
    shown = [*claimed, *lower, *ends]
    spread = min(x) > 0 and max(x) / min(x) > 20
    across = scale(x, LEFT, WIDTH - RIGHT, spread)
    positive = min(shown) > 0 and max(shown) / min(shown) > 30
    made = Canvas(across, scale(shown, HEIGHT - BOTTOM, TOP, positive))
    against = [r["violated"] == 1 for r in rows]
    halfway = (lambda a, b: math.sqrt(a * b)) if spread else (lambda a, b: (a + b) / 2)
    for begin, end in runs(against, x, halfway):
        made.band(begin, end)
    made.frame(argument)
    if not open_ended and any(b > a * (1 + 1e-6) for a, b in zip(lower, upper, strict=True)):
        made.between(x, lower, upper, style.BLUE)
    made.line(x, lower, style.BLUE, "")
    made.line(x, claimed, style.VERMILION, "6 4")
    at = spoken_of(rows, entry)
    if entry.witness is not None:
        made.pointer(float(at["x"]))
    made.dot(float(at["x"]), float(at["claimed"]), style.VERMILION)
    made.dot(float(at["x"]), float(at["lower"]), style.BLUE)
    delivered = truths()[entry.id].claimed
    claim = "corrected" if entry.status is Status.CORRECTED else "as printed"
    truth = "delivered" if delivered else "truth"
    names = [
        (f"{truth}, at least" if open_ended else truth, style.BLUE, ""),
        ("promised" if delivered else claim, style.VERMILION, "6 4"),
    ]
    made.legend([*names, *([("claim violated", ALARM, "area")] if any(against) else [])])
    where = f"{'At' if entry.witness else 'Tightest at'} {argument} = {words.near(float(at['x']))}"
    values = (names[1][0], at["claimed"]), (names[0][0], at["lower"])
    told = ", ".join(f"{name} {words.near(float(value))}" for name, value in values)
    return made.svg(f"{where}: {told}")


def spoken_of(rows: Sequence[Row], entry: Entry) -> Row:
    """The counter-example, or else where the claim is nearest to the truth."""

    def apart(row: Row) -> float:
        told = (float(row[name]) for name in ("claimed", "lower", "upper"))
        return abs(Comparison(*told).excess(entry.side))

    if entry.witness is not None:
        return min(rows, key=lambda r: abs(float(r["x"]) - float(r["at"])))
    return min((r for r in rows if float(r["lower"]) > 0), key=apart, default=rows[0])

"""The picture of a sweep: what is claimed, what is true, and where the one stands against the other."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dpacct.papers.oracle import Comparison
from dpacct.papers.page import Statement
from dpacct.papers.registry import get
from dpacct.report import rounding as words
from dpacct.report.plots import style
from dpacct.vocabulary import Side, Strength
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
from figures.statements.sweep import must_judge, stored

STROKE = 2.2
DASHES = {
    word: "" if dashes == "-" else " ".join(f"{STROKE * part:.1f}" for part in dashes[1])
    for word, dashes in style.LINES.items()
}
"""The same dashes for the same grade as in every other picture."""


def draw(rows: Sequence[Row]) -> str:
    """The SVG of one statement's rows of the table."""
    statement = get(str(rows[0]["id"]))
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
    name = argument.partition("[")[0]
    meaning = next(a.meaning for a in statement.arguments if a.name == name)
    others = [
        f"{n} = {words.near(v)}" for n, v in (stored(statement) or {}).items() if n != argument
    ]
    quantity = statement.quantity
    if must_judge(statement).claimed:  # a recipe: what its value promises beside what it delivers
        quantity = (
            f"what is promised, and what is delivered by: {quantity[:1].lower()}{quantity[1:]}"
        )
    made.frame(f"{argument}, {meaning}", quantity, ", ".join(others))
    if not open_ended and any(b > a * (1 + 1e-6) for a, b in zip(lower, upper, strict=True)):
        made.between(x, lower, upper, style.BLUE)
    made.line(x, lower, style.BLUE, "")
    dashes = DASHES[strength_of(statement)]
    made.line(x, claimed, style.VERMILION, dashes)
    at = spoken_of(rows, statement)
    if statement.witness is not None:
        made.pointer(float(at["x"]))
    made.dot(float(at["x"]), float(at["claimed"]), style.VERMILION)
    made.dot(float(at["x"]), nearest_end(at, statement)[0], style.BLUE)
    delivered = must_judge(statement).claimed
    claim = "corrected" if statement.evidence == "corrected" else "as printed"
    truth = "delivered" if delivered else "truth"
    names = [
        (f"{truth}, at least" if open_ended else truth, style.BLUE, ""),
        (
            style.labelled("promised" if delivered else claim, strength_of(statement)),
            style.VERMILION,
            dashes,
        ),
    ]
    made.legend([*names, *([("claim violated", ALARM, "area")] if any(against) else [])])
    return made.svg(finding(at, statement, delivered=bool(delivered)))


def strength_of(statement: Statement) -> Strength:
    """How sure the claim's line is, for its dashes."""
    if statement.evidence == "refuted":
        return Strength.REFUTED
    if statement.evidence == "asymptotic":
        return Strength.ESTIMATE
    ours = ("derived", "proved", "corrected")
    return Strength.BOUND if statement.evidence in ours else Strength.PUBLISHED


def nearest_end(row: Row, statement: Statement) -> tuple[float, str]:
    """The end of the truth that the claim is held against, and what is said before it."""
    lower, upper = float(row["lower"]), float(row["upper"])
    if upper <= lower * (1 + 1e-6):
        return lower, ""
    if statement.side is Side.LOWER and math.isfinite(upper):
        return upper, "at most "
    return lower, "at least "


def finding(row: Row, statement: Statement, *, delivered: bool) -> str:
    """What the picture shows at the point that is spoken of, as a sentence."""
    end, how = nearest_end(row, statement)
    digits = 4
    while (
        digits < 9
        and row["violated"]
        and words.near(float(row["claimed"]), digits) == words.near(end, digits)
    ):
        digits += 1
    x = words.near(float(row["x"]))
    claimed, true = (words.near(value, digits) for value in (float(row["claimed"]), end))
    text = f"promises {claimed} and delivers {how}{true}"
    if not delivered:
        text = f"says {claimed} where {how}{true} is true"
    return f"{'At' if statement.witness else 'Closest at'} {row['argument']} = {x} it {text}"


def spoken_of(rows: Sequence[Row], statement: Statement) -> Row:
    """The counter-example, or else where the claim is nearest to the truth."""

    def apart(row: Row) -> float:
        results = (float(row[name]) for name in ("claimed", "lower", "upper"))
        return abs(Comparison(*results).excess(statement.side))

    if statement.witness is not None:
        return min(rows, key=lambda r: abs(float(r["x"]) - float(r["at"])))
    return min((r for r in rows if float(r["lower"]) > 0), key=apart, default=rows[0])

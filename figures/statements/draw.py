"""The picture of a sweep: claim and truth over one argument, with violations shaded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from dpacct.declare import number as words
from dpacct.papers.oracles.oracle import Comparison
from dpacct.papers.page import Statement
from dpacct.papers.registry import get
from dpacct.report.plots.chart import Axis, Band, Chart, Line, Mark, Stretch
from dpacct.report.plots.style import BLUE
from dpacct.vocabulary import Side, Strength
from figures.record import Row
from figures.statements.sweep import must_judge, stored

if TYPE_CHECKING:
    from dpacct.report.plots.chart import Column

ENDS = ("claimed", "lower", "upper")
DECADES = 12.0
"""The decades below the largest value that a logarithmic axis shows."""


def draw(rows: Sequence[Row]) -> str:
    """The SVG of one statement's rows of the table."""
    return chart(rows).to_svg(standalone=True)


def chart(rows: Sequence[Row]) -> Chart:
    """The claim beside the truth; where the truth violates it is shaded."""
    statement = get(str(rows[0]["id"]))
    argument = str(rows[0]["argument"])
    columns = {name: np.array([float(r[name]) for r in rows]) for name in ("x", *ENDS)}
    open_ended = not np.isfinite(columns["upper"]).all()
    shown = [name for name in ENDS if name != "upper" or not open_ended]
    least, most = (find([columns[name] for name in shown]) for find in (np.min, np.max))
    positive, floor = bool(least > 0), most * 10.0**-DECADES
    if positive:
        columns |= {n: np.maximum(columns[n], floor) for n in shown}
    x, claimed, lower, upper = columns.values()
    spread = bool(x.min() > 0 and x.max() / x.min() > 20)
    name = argument.partition("[")[0]
    meaning = next(a.meaning for a in statement.arguments if a.name == name)
    named = argument in meaning.replace(",", " ").split()  # then the label need not repeat it
    others = [
        f"{n} = {words.near(v)}" for n, v in (stored(statement) or {}).items() if n != argument
    ]
    quantity, claim, truth = statement.quantity, "as printed", "truth"
    kind = ", a probability"
    if "probability" in quantity.removesuffix(kind).lower():
        quantity = quantity.removesuffix(kind)
    if statement.evidence == "corrected":
        claim = "corrected"
    delivered = bool(must_judge(statement).claimed)
    if delivered:  # a recipe: the guarantee that its value claims beside the actual one
        quantity = (
            f"Delta, claimed and actual; the statement gives {quantity[:1].lower()}{quantity[1:]}"
        )
        claim, truth = "claimed", "actual"
    facts = [f"fixed: {', '.join(others)}"] if others else []
    log = positive and bool(most > 30 * least)
    if together(claimed, lower, log=log):
        facts.append("the two lines coincide")
    if positive and least < floor:
        facts.append(f"values below {words.near(float(floor), 2)} are drawn at the lower edge")
    differ = bool((upper > lower * (1 + 1e-6)).any())
    wide = differ and not open_ended and not together(lower, upper, log=log)
    at = marked(rows, statement)
    return Chart(
        "",
        Axis("x", plain(meaning if named else f"{argument}: {meaning}"), log=spread),
        Axis("y", plain(quantity), log=log),
        x,
        (
            Line("truth", f"{truth}, at least" if open_ended else truth, lower),
            Line("claimed", claim, claimed, strength_of(statement)),
        ),
        finding(at, statement, delivered=delivered),
        facts=tuple(facts),
        marks=tuple(
            Mark(float(at["x"]), y, "")
            for y in (float(at["claimed"]), nearest_end(at, statement)[0])
        ),
        bands=(Band(lower, upper, "interval of the truth", BLUE),) if wide else (),
        stretches=stretches(x, [r["violated"] == 1 for r in rows], log=spread),
    )


def plain(text: str) -> str:
    """The words of a page without its marks for code, and Rényi with his accent."""
    return text.replace("`", "").replace("Renyi", "Rényi")


def together(first: Column, second: Column, *, log: bool) -> bool:
    """Return whether two lines look like one: nowhere a hundredth of the picture's height apart."""
    lines = np.log(np.stack((first, second))) if log else np.stack((first, second))
    return bool(np.abs(lines[0] - lines[1]).max() <= 0.01 * (lines.max() - lines.min()))


def stretches(x: Column, violated: Sequence[bool], *, log: bool) -> tuple[Stretch, ...]:
    """Return where the claim is violated, to half-way to the neighbours at which it is not."""
    places = np.log(x) if log else x
    halfway = (places[1:] + places[:-1]) / 2
    ends = [x[0], *(np.exp(halfway) if log else halfway), x[-1]]
    shaded: list[Stretch] = []
    for (start, end), wrong in zip(pairwise(ends), violated, strict=True):
        if wrong and shaded and shaded[-1].end == start:
            shaded[-1] = replace(shaded[-1], end=end)
        elif wrong:
            shaded.append(Stretch(float(start), float(end), "claim violated"))
    return tuple(shaded)


def strength_of(statement: Statement) -> Strength:
    """Return the grade of the claim's line, for its dashes."""
    if statement.evidence == "refuted":
        return Strength.REFUTED
    if statement.evidence == "asymptotic":
        return Strength.ESTIMATE
    ours = ("derived", "proved", "corrected")
    return Strength.BOUND if statement.evidence in ours else Strength.PUBLISHED


def nearest_end(row: Row, statement: Statement) -> tuple[float, str]:
    """The end of the truth that the claim is compared with, and the words before it."""
    lower, upper = float(row["lower"]), float(row["upper"])
    if upper <= lower * (1 + 1e-6):
        return lower, ""
    if statement.side is Side.LOWER and math.isfinite(upper):
        return upper, "at most "
    return lower, "at least "


def finding(row: Row, statement: Statement, *, delivered: bool) -> str:
    """Say in a sentence what the picture shows at its marked point."""
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
    place = (
        f"At {row['argument']} = {x}"
        if statement.witness
        else f"Closest at {row['argument']} = {x}:"
    )
    kind = "actual" if delivered else "true"
    return f"{place} it claims {claimed}; the {kind} value is {how}{true}"


def marked(rows: Sequence[Row], statement: Statement) -> Row:
    """The marked point: the counter-example, or else where the claim is nearest to the truth."""

    def apart(row: Row) -> float:
        results = (float(row[name]) for name in ("claimed", "lower", "upper"))
        return abs(Comparison(*results).excess(statement.side))

    if statement.witness is not None:
        return min(rows, key=lambda r: abs(float(r["x"]) - float(r["at"])))
    return min((r for r in rows if float(r["lower"]) > 0), key=apart, default=rows[0])

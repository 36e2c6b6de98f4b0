"""The picture of a sweep: what a refuted statement prints beside the truth, with violations shaded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from dpacct.declare import number as words
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
SPOKEN = {
    "alpha": "order {}",
    "order": "order {}",
    "rounds": "{} rounds",
    "steps": "{} steps",
    "n": "{} coordinates",
    "d": "{} coordinates",
}
"""A place in words; others are `name = value`."""


def chart(rows: Sequence[Row]) -> Chart:
    """The printed value beside the truth; where the truth violates it is shaded."""
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
    meaning = next(a.meaning for a in statement.arguments if a.name == argument.partition("[")[0])
    named = argument in meaning.replace(",", " ").split()  # then the label need not repeat it
    others = [
        f"{n} = {words.near(v)}" for n, v in (stored(statement) or {}).items() if n != argument
    ]
    kind = ", a probability"
    quantity = statement.quantity
    if "probability" in quantity.removesuffix(kind).lower():
        quantity = quantity.removesuffix(kind)
    if must_judge(statement).claimed:  # a recipe: the delta that it claims beside the actual one
        quantity = "Delta, claimed and actual"
    facts = [f"fixed: {', '.join(others)}"] if others else []
    if positive and least < floor:
        facts.append(f"values below {words.near(float(floor), 2)} are drawn at the lower edge")
    log = positive and bool(most > 30 * least)
    wide = not open_ended and not together(lower, upper, log=log)
    violated = [row["violated"] == 1 for row in rows]
    if all(violated):
        facts.append("violated at all of these values")
    at = min(rows, key=lambda row: abs(float(row["x"]) - float(row["at"])))
    end, _ = nearest_end(at, statement)
    return Chart(
        "",
        Axis("x", plain(meaning if named else f"{argument}: {meaning}"), log=spread),
        Axis("y", plain(quantity), log=log),
        x,
        (
            Line("truth", "truth, at least" if open_ended else "truth", lower),
            Line("claimed", "as printed", claimed, Strength.REFUTED),
        ),
        finding(at, statement),
        facts=tuple(facts),
        marks=tuple(Mark(float(at["x"]), y, "") for y in (float(at["claimed"]), end)),
        bands=(Band(lower, upper, "interval of the truth", BLUE),) if wide else (),
        stretches=() if all(violated) else stretches(x, violated, log=spread),
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
            label = "" if shaded else "violated"
            shaded.append(Stretch(float(start), float(end), label))
    return tuple(shaded)


def nearest_end(row: Row, statement: Statement) -> tuple[float, str]:
    """The end of the truth that the claim is compared with, and the words before it."""
    lower, upper = float(row["lower"]), float(row["upper"])
    if upper <= lower * (1 + 1e-6):
        return lower, ""
    if statement.side is Side.LOWER and math.isfinite(upper):
        return upper, "at most "
    return lower, "at least "


def finding(row: Row, statement: Statement) -> str:
    """Say in a sentence what the picture shows at the counter-example."""
    claimed, (end, how) = float(row["claimed"]), nearest_end(row, statement)
    digits = 3
    while digits < 9 and words.near(claimed, digits) == words.near(end, digits):
        digits += 1
    place = SPOKEN.get(str(row["argument"]), f"{row['argument']} = {{}}")
    printed, true = words.near(claimed, digits), f"{how}{words.near(end, digits)}"
    where = place.format(words.near(float(row["x"]), 3))
    if must_judge(statement).claimed:
        return f"Claimed delta {printed}, true delta {true} at {where}"
    return f"Printed {printed}, true {true} at {where}"

"""A federated plan's rows in words and in JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from dpacct.answer.shown import grade, is_tight, relation
from dpacct.cli.screens import aligned
from dpacct.declare.rounding import Direction, rounded

if TYPE_CHECKING:
    from dpacct.answer import Answer
    from dpacct.federated import Row

_DIGITS = 8


def cell(answer: Answer) -> str:
    """`<= 14.523766 (>= 11.261744)`: the safe end first."""
    if answer.value == 0.0:
        return f"{relation(answer)} 0"
    if not math.isfinite(float(answer)):
        return "none is finite"
    safe: Direction = "up" if answer.safe_end == "upper" else "down"
    away: Direction = "down" if safe == "up" else "up"
    mode = "nearest" if answer.is_estimate else safe
    bound = f"{relation(answer)} {rounded(float(answer), mode, _DIGITS)}"
    other = answer.lower if safe == "up" else answer.upper
    if other is None or is_tight(answer) or answer.is_estimate:
        return bound
    sign = ">=" if safe == "up" else "<="
    return f"{bound} ({sign} {rounded(other, away, _DIGITS)})"


def tables(rows: Sequence[Row], quantity: str) -> list[str]:
    """The routes that are answers, and below them what the papers print."""
    lines = aligned(*answer_rows(rows, quantity))
    head, printed = printed_rows(rows)
    if printed:
        lines += ["", "what the paper's formulas give:", *aligned(head, printed)]
    return lines


Cells = tuple[str, ...]


def answer_rows(
    rows: Sequence[Row], quantity: str, *, estimate: str = ""
) -> tuple[Cells, list[Cells]]:
    """Head and cells of the routes that are answers; `estimate` is put before what is none.

    Rows that differ in the notion alone are one.
    """
    head = ("route", "from whom", quantity, "grade", "what it is")
    answers = [row for row in rows if row.printed is None]
    cells: list[Cells] = []
    for _, group in groupby(answers, key=lambda row: (row.name, row.who, row.about, row.answer)):
        first, *others = group
        seen = " and ".join(dict.fromkeys(row.notion for row in (first, *others)))
        about = f"{estimate}{first.about}" if first.answer.is_estimate else first.about
        cells.append(
            (first.name, _whose(first, seen), cell(first.answer), grade(first.answer), about)
        )
    return head, cells


def printed_rows(rows: Sequence[Row], *, refuted: str = "") -> tuple[Cells, list[Cells]]:
    """Head and cells of what the papers print; `refuted` is put before what does not hold."""
    head = ("statement", "from whom", "printed", "status", "true", "why")
    cells: list[Cells] = [
        (
            printed.theorem,
            _whose(row, row.notion),
            rounded(printed.value, "nearest", _DIGITS),
            printed.status if printed.holds else f"{refuted}{printed.status}",
            "as printed" if printed.holds else cell(row.answer),
            printed.told,
        )
        for row in rows
        if (printed := row.printed) is not None
    ]
    return head, cells


def _whose(row: Row, notion: str) -> str:
    return f"{row.who}: {notion}" if row.who else notion


def row_json(row: Row, quantity: str) -> dict[str, Any]:
    """One route; its answer stands under the quantity's name."""
    body: dict[str, Any] = {"name": row.name, "notion": row.notion}
    if row.who:
        body["client"] = row.who
    body[quantity] = replace(row.answer, alternatives=()).to_dict()
    if row.about:
        body["about"] = row.about
    if row.printed is not None:
        printed = row.printed
        body["printed"] = {
            "theorem": printed.theorem,
            "value": number(printed.value),
            "status": printed.status,
            "is_answer": printed.holds,
            "told": printed.told,
        }
    return body


def number(value: float) -> float | None:
    """A number that JSON can hold, or null."""
    return value if math.isfinite(value) else None

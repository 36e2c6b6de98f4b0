"""A federated plan's rows in words and in JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpacct.cli.text import aligned, grade, is_tight, relation, rounded
from dpacct.report.rounding import Direction

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
    """Head and cells of the routes that are answers; `estimate` is put before what is none."""
    head = ("route", "from whom", quantity, "grade", "what it is")
    groups = _grouped([row for row in rows if row.printed is None])
    return head, [_line(group, estimate) for group in groups]


def printed_rows(rows: Sequence[Row], *, refuted: str = "") -> tuple[Cells, list[Cells]]:
    """Head and cells of what the papers print; `refuted` is put before what does not hold."""
    head = ("statement", "from whom", "printed", "status", "true", "why")
    return head, [_printed(row, refuted) for row in rows if row.printed is not None]


def _grouped(rows: Sequence[Row]) -> list[list[Row]]:
    """Rows that differ in the notion alone, together."""
    groups: list[list[Row]] = []
    for row in rows:
        last = groups[-1][-1] if groups else None
        same = last is not None and (last.name, last.who, last.about) == (
            row.name,
            row.who,
            row.about,
        )
        if same and last is not None and last.answer == row.answer:
            groups[-1].append(row)
        else:
            groups.append([row])
    return groups


def _line(group: Sequence[Row], estimate: str) -> Cells:
    first = group[0]
    seen = " and ".join(dict.fromkeys(row.notion for row in group))
    about = f"{estimate}{first.about}" if first.answer.is_estimate else first.about
    return first.name, _whose(first, seen), cell(first.answer), grade(first.answer), about


def _printed(row: Row, refuted: str) -> Cells:
    printed = row.printed
    assert printed is not None
    number = rounded(printed.value, "nearest", _DIGITS)
    true = "as printed" if printed.holds else cell(row.answer)
    status = printed.status if printed.holds else f"{refuted}{printed.status}"
    return printed.theorem, _whose(row, row.notion), number, status, true, printed.told


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
        value = printed.value if math.isfinite(printed.value) else None
        body["printed"] = {
            "theorem": printed.theorem,
            "value": value,
            "status": printed.status,
            "is_answer": printed.holds,
            "told": printed.told,
        }
    return body


def number(value: float) -> float | None:
    """A number that JSON can hold, or null."""
    return value if math.isfinite(value) else None

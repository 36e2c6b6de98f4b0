"""A federated plan's rows in words and in JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpacct.cli.rounding import rounded
from dpacct.cli.table import aligned
from dpacct.cli.text import grade, is_estimate, is_tight, plan_line, relation

if TYPE_CHECKING:
    from dpacct.answer import Answer
    from dpacct.federated import Row
    from dpacct.tree import Node

_DIGITS = 8


def cell(answer: Answer) -> str:
    """`<= 14.523766 (>= 11.261744)`: the safe end first."""
    if answer.value == 0.0:
        return f"{relation(answer)} 0"
    if not math.isfinite(float(answer)):
        return "none is finite"
    mode = "nearest" if is_estimate(answer) else "up" if answer.safe_end == "upper" else "down"
    told = f"{relation(answer)} {rounded(float(answer), mode, _DIGITS)}"  # type: ignore[arg-type]
    other, way = (answer.lower, "down") if answer.safe_end == "upper" else (answer.upper, "up")
    if other is None or is_tight(answer) or is_estimate(answer):
        return told
    sign = ">=" if answer.safe_end == "upper" else "<="
    return f"{told} ({sign} {rounded(other, way, _DIGITS)})"  # type: ignore[arg-type]


def tables(rows: Sequence[Row], quantity: str) -> list[str]:
    """The routes that are answers, and below them what the papers print."""
    answers = [row for row in rows if row.printed is None]
    lines = aligned(
        ("route", "from whom", quantity, "grade", "what it is"),
        [_line(group) for group in _grouped(answers)],
    )
    printed = [row for row in rows if row.printed is not None]
    if printed:
        lines += ["", "what the paper's formulas give:"]
        lines += aligned(
            ("statement", "from whom", "printed", "status", "true", "why"),
            [_printed(row) for row in printed],
        )
    return lines


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


def _line(group: Sequence[Row]) -> tuple[str, ...]:
    first = group[0]
    seen = " and ".join(dict.fromkeys(row.notion for row in group))
    return first.name, _whose(first, seen), cell(first.answer), grade(first.answer), first.about


def _printed(row: Row) -> tuple[str, ...]:
    printed = row.printed
    assert printed is not None
    number = rounded(printed.value, "nearest", _DIGITS)
    true = "as printed" if printed.holds else cell(row.answer)
    return printed.theorem, _whose(row, row.notion), number, printed.status, true, printed.told


def _whose(row: Row, notion: str) -> str:
    return f"{row.who}: {notion}" if row.who else notion


def told(plan: Any, tree: Node, promises: Sequence[str]) -> list[str]:
    """What stands below the tables: unit, sensitivity, plan and promises."""
    lines = [
        f"  protects one {plan.unit}; adjacency {plan.adjacency}; sensitivity {plan.sensitivity}",
        f"  plan: {plan_line(tree)}",
    ]
    return [*lines, *(f"  assumes: {promise}" for promise in promises)]


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

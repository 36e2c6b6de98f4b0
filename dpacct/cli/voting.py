"""A voting run's cost in words and as JSON."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpacct.cli.failure import SCHEMA
from dpacct.cli.rounding import rounded, short
from dpacct.cli.table import aligned
from dpacct.cli.text import grade, relation, safe_number

if TYPE_CHECKING:
    from dpacct.answer import Answer
    from dpacct.pate.aggregator import Aggregator
    from dpacct.pate.release import Sanitized
    from dpacct.pate.votes import Votes
    from dpacct.pate.voting_cost import VotingCost

SECRET = (
    "the data-dependent and exact epsilons, and what single queries cost, are computed from the votes"
    " and are private themselves; --sanitize prints one that may be published"
)
_ONE_WAY = "from these votes to neighbours"
_BOTH = "both ways"


def _about(aggregator: Aggregator, votes: Votes, delta: Fraction) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "command": "pate",
        "queries": votes.queries,
        "classes": votes.classes,
        "mechanism": str(aggregator),
        "level": aggregator.level,
        "neighbours": aggregator.neighbours,
        "delta": float(delta),
    }


def _answer(answer: Answer) -> dict[str, Any]:
    """An answer's JSON without the fields that are stated once for all."""
    body = replace(answer, alternatives=(), tree=None).to_dict()
    return {key: value for key, value in body.items() if key not in ("schema", "plan")}


def as_json(cost: VotingCost, top: int) -> dict[str, Any]:
    """The JSON object, with every method and the costliest queries."""
    body = _about(cost.aggregator, cost.votes, cost.delta)
    body |= {
        "data_independent": _answer(cost.data_independent),
        "data_dependent": _answer(cost.data_dependent),
        "exact": None if cost.exact is None else _answer(cost.exact),
        "private": cost.private,
        "answered": cost.answered,
        "order": cost.order,
        "methods": [
            {"name": line.name, "one_way": line.one_way, "epsilon": _answer(line.answer)}
            for line in cost.lines
        ],
        "costliest": cost.per_query.rows(cost.costliest(top).tolist()),
    }
    notes = [SECRET] + ([cost.why] if cost.exact is None or cost.why else [])
    return body | {"notes": notes}


def lines_of(cost: VotingCost, top: int) -> list[str]:
    """The answers, every method, the costliest queries."""
    votes = cost.votes
    lines = [
        f"{votes.queries} queries, {votes.classes} classes: {cost.aggregator}",
        f"epsilon at delta {short(cost.delta)}",
    ]
    rows = [
        ("whatever the votes are", *_cells(cost.data_independent), "both ways, adaptive queries"),
        ("for these votes, bound", *_cells(cost.data_dependent), _BOTH),
    ]
    if cost.exact is not None:
        rows.append(("for these votes, exact", *_cells(cost.exact), _BOTH))
    rows += [
        (f"  {line.name}", *_cells(line.answer), _ONE_WAY if line.one_way else _BOTH)
        for line in cost.lines
    ]
    lines += aligned(("cost", "epsilon", "grade", "holds"), rows)
    if cost.exact is not None and cost.exact.lower is not None and cost.exact.upper is not None:
        low, high = rounded(cost.exact.lower, "down", 6), rounded(cost.exact.upper, "up", 6)
        lines.append(f"  the exact epsilon lies between {low} and {high}")
    if cost.aggregator.screening is not None:
        lines.append(f"  expected answers: {cost.answered:.6g} of {votes.queries}")
    if top:
        lines += ["", *_costliest(cost, top)]
    lines += [f"  {assumption.text}" for assumption in cost.data_dependent.assumptions]
    if cost.why:
        lines.append(f"  exact: {cost.why}")
    return [*lines, f"  PRIVATE: {SECRET}"]


def _cells(answer: Answer) -> tuple[str, str]:
    return f"{relation(answer)} {safe_number(answer)}", grade(answer)


def _costliest(cost: VotingCost, top: int) -> list[str]:
    rows = [
        (
            str(row["query"]),
            str(row["label"]),
            f"{row['votes']:.6g}",
            f"{row['margin']:.6g}",
            f"{row['wrong_at_most']:.3g}",
            f"{row['cost']:.6g}",
            f"{100.0 * float(row['share'] or 0.0):.3g} %",
            "" if row["exact"] is None else f"{row['exact']:.6g}",
        )
        for row in cost.per_query.rows(cost.costliest(top).tolist())
    ]
    header = ("query", "label", "votes", "margin", "wrong at most", "cost", "share", "exact")
    return [
        f"costliest queries, by Renyi divergence of order {cost.order:.4g}",
        *aligned(header, rows),
    ]


def sanitized_json(
    aggregator: Aggregator, votes: Votes, delta: Fraction, sanitized: Sanitized, whatever: Answer
) -> dict[str, Any]:
    """The JSON object, with nothing in it that is private."""
    body = _about(aggregator, votes, delta)
    return body | {
        "data_independent": _answer(whatever),
        "data_dependent": _answer(sanitized.answer),
        "exact": None,
        "private": sanitized.seeded,
        "release": {
            "order": sanitized.order,
            "beta": sanitized.beta,
            "sigma": sanitized.noise,
            "confidence": sanitized.confidence,
            "cost": sanitized.publication,
        },
    }


def sanitized_lines(
    aggregator: Aggregator, votes: Votes, delta: Fraction, sanitized: Sanitized, whatever: Answer
) -> list[str]:
    """What may be published, and how it was made."""
    lines = [
        f"{votes.queries} queries, {votes.classes} classes: {aggregator}",
        f"epsilon at delta {short(delta)}",
    ]
    lines += aligned(
        ("cost", "epsilon", "grade"),
        [
            ("whatever the votes are", *_cells(whatever)),
            ("for these votes, sanitized", *_cells(sanitized.answer)),
        ],
    )
    lines += [
        f"  the release: order {sanitized.order:.6g}, beta {sanitized.beta:.6g}, noise {sanitized.noise:.6g}"
        f" smooth sensitivities; its own Renyi cost {sanitized.publication:.6g} is included",
    ]
    lines += [f"  {assumption.text}" for assumption in sanitized.answer.assumptions]
    if float(sanitized.answer) >= float(whatever):
        lines.append("  nothing is gained by it here: publish the data-independent epsilon")
    return lines

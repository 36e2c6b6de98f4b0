"""What `dpacct verify` does without a certificate: the registry, statement by statement."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from dpacct.cli.exit_status import ExitStatus
from dpacct.cli.output import note, write_json

if TYPE_CHECKING:
    from dpacct.papers.verify import Report


def verify(
    names: tuple[str, ...], draws: int | None, seed: int, *, as_json: bool, quiet: bool
) -> None:
    """Examine the statements of these ids or papers (all, where none is named) and print each.

    Raises `Exit` with the code of a counter-example where something contradicts the registry, else with
    that of nothing judged where an oracle could judge no point, or nothing at all was checked.
    """
    from dpacct.papers.registry import select
    from dpacct.papers.verify import examine

    started = time.monotonic()
    reports: list[Report] = []
    chosen = select(names)
    for index, statement in enumerate(chosen, 1):
        report = examine(statement, draws=draws, seed=seed)
        reports.append(report)
        if not as_json and (report.surprising or not quiet):
            click.echo(_line(report))
            for problem in report.problems:
                click.echo(f"  {problem}")
        elif as_json and not quiet:
            note(f"{index}/{len(chosen)} {statement.id}")
    surprising = [r.statement.id for r in reports if r.surprising]
    unjudged = [r.statement.id for r in reports if r.unjudged]
    seconds = time.monotonic() - started
    if as_json:
        write_json(
            {
                "schema": 1,
                "command": "verify",
                "seed": seed,
                "entries": [_json(report) for report in reports],
                "surprises": len(surprising),
                "not_judged": unjudged,
                "seconds": seconds,
            }
        )
    else:
        click.echo(f"{_summed(len(chosen), surprising, unjudged)} ({seconds:.0f} s)")
    if surprising:
        raise click.exceptions.Exit(int(ExitStatus.COUNTER_EXAMPLE))
    if unjudged or not any(report.checked for report in reports):
        raise click.exceptions.Exit(int(ExitStatus.NOT_JUDGED))


def _summed(count: int, surprising: Sequence[str], unjudged: Sequence[str]) -> str:
    """The last line, in English."""
    text = f"{count} statement{'s' if count != 1 else ''}"
    if surprising:
        text += f", {len(surprising)} not as the registry says: {', '.join(surprising)}"
    elif count:
        text += ", as the registry says" if count == 1 else ", all as the registry says"
    if unjudged:
        text += f"; NOT JUDGED: {', '.join(unjudged)}"
    return text


def _line(report: Report) -> str:
    statement = report.statement
    head = f"{statement.id}: {statement.verdict}, {statement.evidence}"
    if report.witness is not None:
        return f"{head}; VIOLATED at {_witness(report)}"
    if report.result is None:
        return f"{head}; {'no oracle' if statement.evaluable else 'nothing to search'}"
    if report.unjudged:
        return f"{head}; NOT JUDGED: the oracle can tell nothing at any point that was drawn"
    points = report.result.judged
    return f"{head}; no counter-example in {points} point{'s' if points != 1 else ''}"


def _witness(report: Report) -> str:
    from dpacct.papers.verify import shown

    assert report.witness is not None
    compared = report.witness.comparison
    true = f"[{compared.lower:.10g}, {compared.upper:.10g}]"
    if compared.lower == compared.upper:
        true = f"{compared.lower:.10g}"
    return f"{shown(report.witness.point)}: claimed {compared.claimed:.10g}, true {true}"


def _json(report: Report) -> dict[str, Any]:
    statement, result = report.statement, report.result
    body: dict[str, Any] = {
        "id": statement.id,
        "verdict": statement.verdict,
        "status": statement.evidence,
        "points": None if result is None else result.judged,
        "witness": None,
        "problems": list(report.problems),
        "expected": not report.surprising,
    }
    if report.witness is not None:
        compared = report.witness.comparison
        body["witness"] = {
            "inputs": {name: str(value) for name, value in report.witness.point.items()},
            "claimed": _number(compared.claimed),
            "lower": _number(compared.lower),
            "upper": _number(compared.upper),
        }
    return body


def _number(value: float) -> float | str:
    return value if abs(value) < float("inf") else str(value)

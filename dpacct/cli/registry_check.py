"""What `dpacct verify` does without a certificate: the registry, entry by entry."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from dpacct.cli.exit_status import ExitStatus
from dpacct.cli.output import note, write_json

if TYPE_CHECKING:
    from dpacct.verify.examine import Report


def verify(
    names: tuple[str, ...], draws: int | None, seed: int, *, as_json: bool, quiet: bool
) -> None:
    """Examine the entries of these ids or papers (all, where none is named) and print each.

    Raises `Exit` with the code of a counter-example where something stands against the registry.
    """
    from dpacct.theorems.registry import select
    from dpacct.verify.evidence import missing
    from dpacct.verify.examine import examine

    started = time.monotonic()
    reports, surprises = [], 0
    chosen = select(names)
    for index, entry in enumerate(chosen, 1):
        report = examine(entry, draws=draws, seed=seed)
        lacks = missing(entry)
        bad = report.surprising or bool(lacks)
        surprises += bad
        reports.append(_json(report, lacks))
        if not as_json and (bad or not quiet):
            click.echo(_line(report))
            for problem in (*report.problems, *lacks):
                click.echo(f"  {problem}")
        elif as_json and not quiet:
            note(f"{index}/{len(chosen)} {entry.id}")
    seconds = time.monotonic() - started
    if as_json:
        write_json(
            {
                "schema": 1,
                "command": "verify",
                "seed": seed,
                "entries": reports,
                "surprises": surprises,
                "seconds": seconds,
            }
        )
    else:
        count = "1 statement" if len(chosen) == 1 else f"{len(chosen)} statements"
        told = f"{count}, {surprises} of which the registry says something else"
        click.echo(f"{told} ({seconds:.0f} s)")
    if surprises:
        raise click.exceptions.Exit(int(ExitStatus.COUNTER_EXAMPLE))


def _line(report: Report) -> str:
    entry = report.entry
    head = f"{entry.id}: {entry.verdict}, {entry.status}"
    if report.witness is not None:
        return f"{head}; VIOLATED at {_witness(report)}"
    if report.result is None:
        return f"{head}; nothing to search" if entry.formula is None else f"{head}; no truth"
    return f"{head}; no counter-example in {report.result.judged} points"


def _witness(report: Report) -> str:
    from dpacct.verify.examine import shown

    assert report.witness is not None
    told = report.witness.comparison
    true = f"[{told.lower:.10g}, {told.upper:.10g}]"
    if told.lower == told.upper:
        true = f"{told.lower:.10g}"
    return f"{shown(report.witness.point)}: claimed {told.claimed:.10g}, true {true}"


def _json(report: Report, lacks: list[str]) -> dict[str, Any]:
    entry, result = report.entry, report.result
    body: dict[str, Any] = {
        "id": entry.id,
        "verdict": str(entry.verdict),
        "status": str(entry.status),
        "points": None if result is None else result.judged,
        "witness": None,
        "problems": [*report.problems, *lacks],
        "expected": not (report.surprising or lacks),
    }
    if report.witness is not None:
        told = report.witness.comparison
        body["witness"] = {
            "inputs": {name: str(value) for name, value in report.witness.point.items()},
            "claimed": _number(told.claimed),
            "lower": _number(told.lower),
            "upper": _number(told.upper),
        }
    return body


def _number(value: float) -> float | str:
    return value if abs(value) < float("inf") else str(value)

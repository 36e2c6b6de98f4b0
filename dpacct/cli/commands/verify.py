"""Search for counter-examples, or prove a certificate again."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

import click

from dpacct.cli.command import QUIET, CommandLine, argument, command, group, option, switch
from dpacct.cli.output import ExitStatus, Result, note
from dpacct.cli.progress import span
from dpacct.declare.domain import SEED, STEPS
from dpacct.declare.number import down, up
from dpacct.declare.record import Usage
from dpacct.errors import InvalidArgument
from dpacct.papers.page import shown

if TYPE_CHECKING:
    from dpacct.papers.verify import VerifyReport


@command(
    "verify",
    group(
        "Target",
        argument("[ID | PAPER | FILE] ...", "names", many=True),
        option("--certificate FILE", "a certificate that eps, delta, noise or steps wrote"),
        switch(
            "--independent",
            "check by two nested integrals, which share neither search nor rules with the proof",
        ),
    ),
    group(
        "Search",
        option("--draws N", "points to try for each statement; each has its own default"),
        option("--seed S", "the same seed tries the same points", default="0"),
    ),
    group("Output", QUIET),
    examples=(
        "verify dp_fed_ls.lemma2 --draws 100",
        "verify canonne2020 --draws 50 --json",
        "verify out.json",
        "verify --certificate out.json --json",
        "verify --certificate out.json --independent",
    ),
)
def main(line: CommandLine) -> Result:
    """Search the statements of the papers for counter-examples, or prove a certificate again.

    Each statement is compared with a truth that shares no formula with it, over its whole domain and
    the boundary; what violates it is shrunk to a small witness. A refuted statement is judged by its
    stored counter-example, and searched anew with --draws. Exits with 5 if something contradicts what
    the registry says of it.

    Of a FILE (or --certificate), every claim of a certificate is proven again from the plan that it states.
    The check reads the plan's text and evaluates each bound with more precision than was claimed;
    it shares no code with the search that found the contour. --independent evaluates two nested integrals
    instead, which an auditor can read in an afternoon, on every claim that one line carries. Exits with 8
    if a claim does not hold.
    """
    names, certificate = line.many("names"), line.get("certificate")
    independent = line.has("independent")
    if certificate is None and len(names) == 1 and os.path.isfile(names[0]):
        return _checked(line, names[0], independent)
    if certificate is None:
        if independent:
            raise Usage("--independent needs --certificate", argument="--independent")
        return _searched(line, names)
    if names:
        raise Usage("--certificate stands alone; leave the names out", argument="--certificate")
    return _checked(line, certificate, independent)


def _checked(line: CommandLine, certificate: str, independent: bool) -> Result:
    """Every claim of a certificate, proved again."""
    from dpacct.plan.certified import Certificate
    from dpacct.proof.check import about, check

    try:
        parsed = Certificate.read(certificate).contents
    except InvalidArgument as error:
        raise Usage(f"--{error.message}", argument="--certificate") from error
    statements = check(parsed, independent=independent, tell=_points(line))
    holds = all(fine for _, fine in statements)
    body = {
        "certificate": certificate,
        **{key: parsed[key] for key in ("quantity", "lower", "upper")},
        "about": about(parsed),
        "holds": holds,
        "claims": [{"claim": claim, "holds": fine} for claim, fine in statements],
    }

    def lines() -> Iterator[str]:
        first, *others = about(parsed)
        yield f"{first}: {'proven' if holds else 'not proven'}"
        yield from (f"  {each}" for each in others)
        yield from (f"  {'holds' if fine else 'FAILS'}: {claim}" for claim, fine in statements)

    def quiet() -> Iterator[str]:
        return (each for each in lines() if not each.startswith("  "))

    wrong = f"error: {certificate[:80]!r} proves nothing: a claim does not hold."
    status = 0 if holds else ExitStatus.WITHHELD
    notes = [] if holds or line.json else [wrong]
    return Result(lambda: body, lines, quiet, notes=notes, status=status)


def _points(line: CommandLine) -> Callable[[int], None]:
    """A listener to the points of the outer integral; from the most that there are follows a time."""
    started, points = time.monotonic(), count(1)

    def tell(most: int) -> None:
        done = next(points)
        longest = span((time.monotonic() - started) / done * most)
        line.tell(f"{done:,} points of the outer integral, at most {most:,} ({longest})")

    return tell


def _searched(line: CommandLine, names: tuple[str, ...]) -> Result:
    """Every statement of these ids or papers (all, where none is named), examined.

    The code is that of a counter-example where something contradicts the registry, else that of
    nothing judged where an oracle could judge no point, or nothing at all was checked.
    """
    from dpacct.papers.registry import select
    from dpacct.papers.verify import examine

    started, quiet = time.monotonic(), line.has("quiet")
    draws, seed = line.read("draws", STEPS), line.read("seed", SEED) or 0
    reports: list[VerifyReport] = []
    chosen = select(names)
    for index, statement in enumerate(chosen, 1):
        report = examine(statement, draws=draws, seed=seed)
        reports.append(report)
        line.tell(f"{index} of {len(chosen)} statements, {statement.id}")
        if line.json and not quiet:
            note(f"{index}/{len(chosen)} {statement.id}")
        elif not line.json and (report.surprising or not quiet):
            click.echo("\n  ".join([_line(report), *report.problems]))
    surprising = [r.statement.id for r in reports if r.surprising]
    unjudged = [r.statement.id for r in reports if r.unjudged]
    seconds = time.monotonic() - started

    def lines() -> list[str]:
        return [f"{_summed(len(chosen), surprising, unjudged)} ({seconds:.0f} s)"]

    body = {
        "seed": seed,
        "entries": [_json(report) for report in reports],
        "surprises": len(surprising),
        "not_judged": unjudged,
        "seconds": seconds,
    }
    status = ExitStatus.OK
    if surprising:
        status = ExitStatus.COUNTER_EXAMPLE
    elif unjudged or not any(report.checked for report in reports):
        status = ExitStatus.NOT_JUDGED
    return Result(lambda: body, lines, lines, status=status)


def _summed(count: int, surprising: Sequence[str], unjudged: Sequence[str]) -> str:
    """The last line, which sums up the results."""
    text = f"{count} statement{'s' if count != 1 else ''}"
    if surprising:
        text += f", {len(surprising)} not as the registry says: {', '.join(surprising)}"
    elif count:
        text += ", as the registry says" if count == 1 else ", all as the registry says"
    if unjudged:
        text += f"; NOT JUDGED: {', '.join(unjudged)}"
    return text


def _line(report: VerifyReport) -> str:
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


def _witness(report: VerifyReport) -> str:
    assert report.witness is not None
    compared = report.witness.comparison
    true = f"[{down(compared.lower, 10)}, {up(compared.upper, 10)}]"
    if compared.lower == compared.upper:
        true = f"{compared.lower:.10g}"
    return f"{shown(report.witness.point)}: claimed {compared.claimed:.10g}, true {true}"


def _json(report: VerifyReport) -> dict[str, Any]:
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

"""Search for counter-examples, or prove a certificate again."""

from __future__ import annotations

import math
import os
import time
from itertools import count
from typing import TYPE_CHECKING, Any

import click

from dpacct.cli.command import QUIET, CommandLine, argument, command, group, option, switch
from dpacct.cli.output import ExitStatus, Result
from dpacct.declare.domain import STEPS, Integer
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
            "--independent", "check by two nested integrals, which share nothing with the proof"
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
    names, certificate = line.get("names"), line.get("certificate")
    if certificate is not None and names:
        raise Usage("--certificate stands alone; leave the names out", argument="--certificate")
    if certificate is None and len(names) == 1 and _is_file(names[0]):
        certificate = names[0]
    if certificate is not None:
        return _checked(line, certificate)
    if line.get("independent"):
        raise Usage("--independent needs --certificate", argument="--independent")
    return _searched(line, names)


def _is_file(name: str) -> bool:
    """Return whether a name is that of a file, also of one that is missing."""
    return os.path.isfile(name) or os.sep in name or name.lower().endswith(".json")


def _checked(line: CommandLine, certificate: str) -> Result:
    """Every claim of a certificate, proved again."""
    from dpacct.plan.certified import Certificate
    from dpacct.proof.check import about, check

    try:
        parsed = Certificate.read(certificate).contents
    except InvalidArgument as error:
        raise Usage(f"--{error.message}", argument="--certificate") from error
    points, independent = count(1), bool(line.get("independent"))

    def tell(most: int) -> None:
        line.tell(f"{next(points):,} points of the outer integral, at most {most:,}")

    claims = check(parsed, independent=independent, tell=tell)
    holds = all(fine for _, fine in claims)
    first, *others = about(parsed)
    head = f"{first}: {'proven' if holds else 'not proven'}"
    body = {
        "certificate": certificate,
        **{key: parsed[key] for key in ("quantity", "lower", "upper")},
        "about": [first, *others],
        "holds": holds,
        "claims": [{"claim": claim, "holds": fine} for claim, fine in claims],
    }
    said = [*others, *(f"{'holds' if fine else 'FAILS'}: {claim}" for claim, fine in claims)]
    wrong = f"error: {certificate[:80]!r} proves nothing: a claim does not hold."
    return Result(
        lambda: body,
        lambda: [head, *(f"  {each}" for each in said)],
        lambda: [head],
        notes=[] if holds or line.json else [wrong],
        status=0 if holds else ExitStatus.WITHHELD,
    )


def _searched(line: CommandLine, names: tuple[str, ...]) -> Result:
    """Every statement of these ids or papers (all, where none is named), examined.

    The code is that of a counter-example where something contradicts the registry, else that of
    nothing judged where an oracle could judge no point, or nothing at all was checked.
    """
    from dpacct.papers.registry import select
    from dpacct.papers.verify import examine

    started, reports, chosen = time.monotonic(), list["VerifyReport"](), select(names)
    draws, seed = line.read("draws", STEPS), line.read("seed", Integer(0, 10**18)) or 0
    for index, statement in enumerate(chosen, 1):
        line.tell(f"{index} of {len(chosen)} statements, {statement.id}")
        report = examine(statement, draws=draws, seed=seed)
        reports.append(report)
        if not line.json and (report.surprising or not line.get("quiet")):
            line.clear()
            click.echo("\n  ".join([_line(report), *report.problems]))
    surprising = [r.statement.id for r in reports if r.surprising]
    unjudged = [r.statement.id for r in reports if r.unjudged]
    seconds, many = time.monotonic() - started, len(chosen)
    said = f"{many} statement{'s' if many != 1 else ''},{' all' if many > 1 else ''} as the registry says"
    status = ExitStatus.OK
    if surprising:
        said = said.partition(",")[0]
        said += f", {len(surprising)} not as the registry says: {', '.join(surprising)}"
        status = ExitStatus.COUNTER_EXAMPLE
    elif unjudged or not any(report.checked for report in reports):
        status = ExitStatus.NOT_JUDGED
    said += f"; NOT JUDGED: {', '.join(unjudged)}" if unjudged else ""
    body = {
        "seed": seed,
        "entries": [_json(report) for report in reports],
        "surprises": len(surprising),
        "not_judged": unjudged,
        "seconds": seconds,
    }
    lines = [f"{said} ({seconds:.0f} s)"]
    return Result(lambda: body, lambda: lines, lambda: lines, status=status)


def _line(report: VerifyReport) -> str:
    statement, witness = report.statement, report.witness
    said = "no oracle" if statement.evaluable else "nothing to search"
    if witness is not None:
        found = witness.comparison
        true = f"[{down(found.lower, 10)}, {up(found.upper, 10)}]"
        true = f"{found.lower:.10g}" if found.lower == found.upper else true
        said = f"VIOLATED at {shown(witness.point)}: claimed {found.claimed:.10g}, true {true}"
    elif report.unjudged:
        said = "NOT JUDGED: the oracle can tell nothing at any point that was drawn"
    elif report.judged is not None:
        said = f"no counter-example in {report.judged} points"
    return f"{statement.id}: {statement.verdict}, {statement.evidence}; {said}"


def _json(report: VerifyReport) -> dict[str, Any]:
    witness: dict[str, Any] | None = None
    if report.witness is not None:
        found = report.witness.comparison
        ends = {"claimed": found.claimed, "lower": found.lower, "upper": found.upper}
        finite = {key: each if math.isfinite(each) else str(each) for key, each in ends.items()}
        witness = {"inputs": {k: str(v) for k, v in report.witness.point.items()}, **finite}
    return {
        "id": report.statement.id,
        "verdict": report.statement.verdict,
        "status": report.statement.evidence,
        "points": report.judged,
        "witness": witness,
        "problems": list(report.problems),
        "expected": not report.surprising,
    }

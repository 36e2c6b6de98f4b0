"""The privacy statement of a plan, for a paper."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from dpacct.cli.command import (
    METHOD,
    PURE_DELTA,
    QUIET,
    CommandLine,
    argument,
    command,
    group,
    option,
    plan,
)
from dpacct.cli.federated_plan import read_stated
from dpacct.cli.output import Result, as_text, must_be_finite, write_file
from dpacct.cli.plan_file import MEANING, PlanFile, file_name
from dpacct.declare import domain
from dpacct.declare.domain import Word, one_of
from dpacct.declare.record import Exclusive, Usage
from dpacct.errors import AssumptionViolated, InvalidArgument
from dpacct.plan.node import resolve_adjacency

if TYPE_CHECKING:
    from dpacct import Node
    from dpacct.report.report import Report
    from dpacct.vocabulary import Assumption

SUFFIXES = {".txt": "text", ".md": "markdown", ".html": "html", ".tex": "latex"}
SUFFIXES |= {".json": "json", ".bib": "bibtex"}


class MissingKey(Usage):
    """A key that a report requires is missing from the file."""

    kind = "missing-key"


# A key that is missing, and what to write into the plan.
_MISSING = {
    "unit": 'unit = "client"` (or record, user, device, silo',
    "adjacency": 'adjacency = "add-remove"` (or replace-one, zero-out',
    "delta": "delta = 1e-6` (well below 1 / the number of units",
}


@command(
    "report",
    plan(),
    group("", argument("[PLAN]")),
    group("Target", PURE_DELTA),
    group(
        "Evidence",
        option("--ledger FILE", "a ledger of the run, whose checks become evidence"),
        option("--certificate FILE", "prove epsilon, and write the proof for dpacct verify"),
    ),
    group(
        "Output",
        option("--output -o FILE", f"write to a file, by its suffix: {' '.join(SUFFIXES)}"),
        option(
            "--format NAME", f"{', '.join(SUFFIXES.values())}; default: by the suffix, else text"
        ),
        METHOD,
        QUIET,
    ),
    examples=(
        "report plan.toml --unit client --adjacency add-remove",
        "report plan.toml --unit client --adjacency add-remove -o report.html",
        "report plan.toml --unit client --adjacency add-remove -o report.tex --certificate proof.json",
        "report plan.toml --unit record --adjacency add-remove --format json",
        "report --noise-multiplier 2 --delta 1e-6 --unit user --adjacency add-remove --quiet",
    ),
)
def main(line: CommandLine) -> Result:
    """State what a plan guarantees, how well that is known, and under which assumptions.

    PLAN is a file: a plan of steps, one of dpacct federated, or the JSON of an answer; without it the
    options state the plan. It must say its unit, adjacency and delta (an algorithm of dpacct federated
    has its own): a number without them says nothing. A file's [assumptions] and [report] tables are
    described in docs/report.md. The guarantee is always an upper bound;
    --method adds another number beside it. A violated assumption stands above everything, and the
    exit code is 6. --quiet prints the sentence alone.
    """
    from dpacct.cli import screens

    output, path, quiet = line.get("output"), line.get("path"), bool(line.get("quiet"))
    chosen, file = _format(line), _file(line)
    report = _report(line, file, whole=not quiet)
    must_be_finite(report.answer)
    if (certificate := line.get("certificate")) is not None:
        proof = as_text(report.answer.certificate, indent=1) + "\n"
        write_file(proof.encode(), certificate, "--certificate")
    written = "\n".join((*report.warnings, report.statement)) + "\n"
    if not quiet:
        written = getattr(report, f"to_{chosen}")()
    if output is not None:
        write_file(written.encode(), output)
    notes = [] if path else screens.two_readings(line.stated(), resolve_adjacency(file.node))
    notes = [f"note: {each}." for each in notes]
    if wrong := len(report.violated):
        said = "an assumption is" if wrong == 1 else f"{wrong} assumptions are"
        notes.append(f"error: {said} violated: the guarantee does not hold.")
    lines = [] if output is not None else written.removesuffix("\n").split("\n")
    return Result(
        lambda: report.to_dict() if output is None else None,
        lambda: lines,
        lambda: lines,
        notes=notes,
        status=AssumptionViolated.exit_code if report.violated else 0,
    )


def _file(line: CommandLine) -> PlanFile:
    """The stated plan, from the file or the options."""
    path, stated = line.get("path"), [name for name in line.typed if name not in MEANING]
    if path is not None and stated:
        said = line.option(stated[0])
        raise Exclusive(f"PLAN and {said} are two plans: give one of them", argument=said)
    if path is not None:
        return read_stated(path)
    if not stated:
        raise Usage("give a plan: PLAN, or its options such as --sigma", argument="PLAN")
    return PlanFile(line.stated().plan())


def _format(line: CommandLine) -> str:
    """The one format that the options ask for."""
    form, output = line.read("format", Word(*SUFFIXES.values())), line.get("output")
    if line.json and form not in (None, "json"):
        message = f"--json and --format {form} are two formats; give one"
        raise Exclusive(message, argument="--json")
    if form is not None or line.json or output is None:
        return form or ("json" if line.json else "text")
    suffix = Path(output).suffix.lower()
    if suffix not in SUFFIXES:
        message = (
            f"--output must end in {one_of(SUFFIXES)}, or --format be given, got {output[-40:]!r}"
        )
        raise InvalidArgument(message, argument="--output")
    return SUFFIXES[suffix]


def _report(line: CommandLine, file: PlanFile, *, whole: bool) -> Report:
    from dpacct.answer.ask import Epsilon, ask
    from dpacct.report.report import Report

    path, ledger, facts, under = line.get("path"), line.get("ledger"), file.node.facts, line.under()
    if file.account is not None:  # an algorithm has its own unit and adjacency
        for name, fixed in (("adjacency", facts.declared), ("unit", facts.unit)):
            if under.get(name, str(fixed)) != str(fixed):
                message = f"--{name} must be {fixed} for this algorithm, got {under[name]}"
                raise InvalidArgument(message, argument=f"--{name}")
    node = file.node.under(**under)
    facts, typed = node.facts, line.read("delta", domain.PURE_DELTA)
    delta = file.delta if typed is None else typed
    for key, value in (("unit", facts.unit), ("adjacency", facts.declared), ("delta", delta)):
        if value is None:
            fixed_by = f"; its sampling needs {facts.fixed}" if facts.fixed else ""
            wanted = f"{_MISSING[key]}{fixed_by if key == 'adjacency' else ''})"
            place = "the plan" if path is None else file_name(path)
            message = f"{place} has no {key}, without which its numbers say nothing: add the line"
            raise MissingKey(f"{message} `{wanted}, or give --{key}", argument=key)
    assert delta is not None
    if typed is None and file.epsilon is not None:
        message = "a report states the epsilon at one delta: take `epsilon` out of the plan"
        raise Exclusive(message, argument="epsilon")
    words = {**line.typed, **line.pick(("delta", "ledger", "certificate", "method"))}
    said = [] if path is None else [path]
    for name, text in words.items():
        said += [line.option(name), text] if (name, text) != ("method", "auto") else []
    guarantee = None if file.account is None else file.account(delta)
    if line.get("certificate") is not None:
        guarantee = ask(Epsilon(delta), node, digits=domain.DIGITS)
    return Report.of(
        node,
        delta=delta,
        guarantee=guarantee,
        method=line.get("method"),
        assumptions=file.assumptions,
        checks=() if ledger is None else ledger_checks(ledger, node),
        about=file.about,
        command=shlex.join(["dpacct", "report", *said]),
        whole=whole,
    )


def ledger_checks(path: str, plan: Node) -> tuple[Assumption, ...]:
    """The ledger's checks, and whether it counted no more than the plan."""
    from dpacct import Ledger
    from dpacct.ledger.execution import beyond
    from dpacct.vocabulary import Assumption, AssumptionStatus

    with Ledger(path, read_only=True) as ledger:
        budget, ran, checks = ledger.budget, ledger.plan, ledger.checks()
    for name, wanted, got in (
        ("unit", plan.unit, budget.unit),
        ("adjacency", plan.facts.declared, budget.adjacency),
    ):
        if wanted is not got:
            message = f"--ledger must be of the plan's {name}, {wanted}, got a ledger of {got}"
            raise InvalidArgument(message, argument="--ledger")
    counted = sum(n for _, n in ran.releases()) if ran else 0
    planned = dict(plan.releases())
    found, status = beyond(ran, plan), AssumptionStatus.HELD
    finding = f"{counted} of {sum(planned.values())} planned releases were counted"
    if found is not None:
        leaf, often = found
        status = AssumptionStatus.VIOLATED
        finding = f"{leaf} was counted {often} times, {planned.get(leaf, 0)} are planned"
    claim = "the ledger counts no more than the plan"
    return (*checks, Assumption(claim, f"checked: {finding}", status, "steps"))

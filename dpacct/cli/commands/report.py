"""The privacy statement of a plan, for a paper."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpacct.cli.asking import METHOD
from dpacct.cli.command import (
    QUIET,
    CommandLine,
    OptionGroup,
    argument,
    command,
    group,
    option,
    plan,
    switch,
)
from dpacct.cli.federated_plan import MissingKey, read_stated
from dpacct.cli.output import Result, as_text, must_be_finite, write_file
from dpacct.cli.plan_file import PlanFile, file_name
from dpacct.declare.domain import PURE_DELTA, Word, one_of
from dpacct.declare.number import text
from dpacct.declare.record import Exclusive, Usage
from dpacct.declare.words import Meaning
from dpacct.errors import AssumptionViolated, InvalidArgument
from dpacct.plan.node import resolve_adjacency

if TYPE_CHECKING:
    from dpacct import Node
    from dpacct.report.report import Report
    from dpacct.vocabulary import Assumption

FORMATS = ("text", "markdown", "html", "latex", "json", "bibtex")
SUFFIXES = {
    ".txt": "text",
    ".md": "markdown",
    ".html": "html",
    ".htm": "html",
    ".tex": "latex",
    ".json": "json",
    ".bib": "bibtex",
}
# A key that is missing, and what to write into the plan.
_MISSING = {
    "unit": 'unit = "client"` (or record, user, device, silo',
    "adjacency": 'adjacency = "add-remove"` (or replace-one, zero-out',
    "delta": "delta = 1e-6` (well below 1 / the number of units",
}


@command(
    "report",
    plan(),
    OptionGroup("", (argument("path", "[PLAN]", required=False),)),
    group(
        "Target",
        option(
            "--delta D",
            "delta of the guarantee, below 1; 0 for pure differential privacy",
            PURE_DELTA,
        ),
    ),
    group(
        "Evidence",
        option(
            "--ledger FILE", "a ledger of the run: its checks become evidence, held or violated"
        ),
        option(
            "--certificate FILE", "prove epsilon, and write the proof; dpacct verify FILE checks it"
        ),
    ),
    group(
        "What is protected",
        option(
            "--client NAME",
            "of a udp-fl plan, whose clients have a guarantee each: the client to report on",
        ),
    ),
    group(
        "Output",
        option(
            "--output -o FILE",
            f"write to a file; the suffix chooses the format ({' '.join(SUFFIXES)})",
        ),
        option(
            "--format form NAME",
            f"{', '.join(FORMATS)}; default: by the file's suffix, else text",
            Word(*FORMATS),
        ),
        METHOD,
        switch("-q --quiet", QUIET),
    ),
    examples=(
        "report plan.toml --unit client --adjacency add-remove",
        "report plan.toml --unit client --adjacency add-remove -o report.html",
        "report plan.toml --unit client --adjacency add-remove -o report.tex --certificate proof.json",
        "report plan.toml --unit record --adjacency add-remove --format json",
        "report --noise-multiplier 2 --delta 1e-6 --unit user --adjacency add-remove --quiet",
    ),
)
def main(
    line: CommandLine,
    path: str | None,
    *,
    delta: Fraction | None,
    ledger: str | None,
    certificate: str | None,
    client: str | None,
    output: str | None,
    form: str | None,
    method: str,
    quiet: bool,
) -> Result:
    """State what a plan guarantees, how well that is known, and under which assumptions.

    PLAN is a file: a plan of steps, one of dpacct federated, or the JSON of an answer; without it the
    options state the plan. It must say its unit, adjacency and delta (an algorithm of dpacct federated
    has its own): a number without them says nothing. A file's [assumptions] and [report] tables are
    described in docs/report.md. The guarantee is always an upper bound;
    --method adds another number beside it. A violated assumption stands above everything, and the
    exit code is 6. --quiet prints the sentence alone.
    """
    chosen = _format(output, form, line.json)
    file = _file(line, path, client)
    asked = {"delta": delta, "client": client, "ledger": ledger, "certificate": certificate}
    asked |= {} if method == "auto" else {"method": method}
    report = _report(line, path, file, asked, method=method, whole=not quiet)
    must_be_finite(report.answer)
    if certificate is not None:
        proof = as_text(report.answer.certificate, indent=1) + "\n"
        write_file(proof.encode(), certificate, "--certificate")
    if quiet:
        written = "\n".join((*report.warnings, report.statement)) + "\n"
    else:
        writers = {
            "text": report.to_text,
            "markdown": report.to_markdown,
            "html": report.to_html,
            "latex": report.to_latex,
            "json": report.to_json,
            "bibtex": report.to_bibtex,
        }
        written = writers[chosen]()
    if output is not None:
        write_file(written.encode(), output)
    notes = [] if path else line.stated().two_readings(resolve_adjacency(file.node))
    notes = [f"note: {each}." for each in notes]
    if report.violated:
        wrong = len(report.violated)
        said = "an assumption is" if wrong == 1 else f"{wrong} assumptions are"
        notes.append(f"error: {said} violated: the guarantee does not hold.")

    def lines() -> list[str]:
        return [] if output is not None else written.removesuffix("\n").split("\n")

    status = AssumptionViolated.exit_code if report.violated else 0
    body = lambda: report.to_dict() if output is None else None  # noqa: E731
    return Result(body, lines, lines, notes=notes, status=status)


def _file(line: CommandLine, path: str | None, client: str | None) -> PlanFile:
    """The stated plan, from the file or the options."""
    stated = [name for name in line.typed if name not in Meaning.parameters]
    if path is None:
        if not stated:
            raise Usage("give a plan: PLAN, or its options such as --sigma", argument="PLAN")
        return PlanFile(line.stated().plan())
    if stated:
        message = f"PLAN and {line.option(stated[0])} are two plans: give one of them"
        raise Exclusive(message, argument=line.option(stated[0]))
    return read_stated(path, client)


def _format(output: str | None, form: str | None, as_json: bool) -> str:
    """The one format that the options ask for."""
    if as_json:
        if form not in (None, "json"):
            message = f"--json and --format {form} are two formats; give one"
            raise Exclusive(message, argument="--json")
        return "json"
    if form is not None:
        return form
    if output is None:
        return "text"
    suffix = Path(output).suffix.lower()
    if suffix not in SUFFIXES:
        listed = one_of(list(SUFFIXES))
        message = f"--output must end in {listed}, or --format be given, got {output[-40:]!r}"
        raise InvalidArgument(message, argument="--output")
    return SUFFIXES[suffix]


def _report(
    line: CommandLine,
    path: str | None,
    file: PlanFile,
    asked: Mapping[str, Any],
    *,
    method: str,
    whole: bool,
) -> Report:
    from dpacct.answer.ask import Epsilon, ask
    from dpacct.declare.words import DIGITS
    from dpacct.report.report import Report

    node, facts = file.node, file.node.facts
    meaning = Meaning.read(
        {k: v for k, v in line.typed.items() if k in Meaning.parameters}, line.option
    )
    if file.account is not None:  # an algorithm has its own unit and adjacency
        for name, fixed in (("adjacency", facts.declared), ("unit", facts.unit)):
            said = meaning.settings.get(name)
            if said not in (None, str(fixed)):
                message = f"--{name} must be {fixed} for this algorithm, got {said}"
                raise InvalidArgument(message, argument=f"--{name}")
    node = node.under(meaning.adjacency, unit=meaning.unit or "")
    facts = node.facts
    delta = file.delta if asked["delta"] is None else asked["delta"]
    for key, value in (("unit", facts.unit), ("adjacency", facts.declared), ("delta", delta)):
        if value is None:
            fixed_by = f"; its sampling needs {facts.fixed}" if facts.fixed else ""
            wanted = f"{_MISSING[key]}{fixed_by if key == 'adjacency' else ''})"
            place = "the plan" if path is None else file_name(path)
            message = f"{place} has no {key}, without which its numbers say nothing: add the line"
            raise MissingKey(f"{message} `{wanted}, or give --{key}", argument=key)
    assert delta is not None
    if asked["delta"] is None and file.epsilon is not None:
        message = "a report states the epsilon at one delta: take `epsilon` out of the plan"
        raise Exclusive(message, argument="epsilon")
    words = [] if path is None else [path]
    for name, value in {**line.typed, **asked}.items():
        if value is not None:
            words += [line.option(name), value if isinstance(value, str) else text(value)]
    guarantee, sections = (None, ()) if file.account is None else file.account(delta)
    if asked["certificate"] is not None:
        guarantee = ask(Epsilon(delta), node, digits=DIGITS)
    return Report.of(
        node,
        delta=delta,
        guarantee=guarantee,
        sections=sections[:1],
        method=method,
        assumptions=file.assumptions,
        checks=() if asked["ledger"] is None else ledger_checks(asked["ledger"], node),
        about=file.about,
        appendix=sections[1:],
        command=shlex.join(["dpacct", "report", *words]),
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
    found = beyond(ran, plan)
    status = AssumptionStatus.HELD
    finding = f"{counted} of {sum(planned.values())} planned releases were counted"
    if found is not None:
        leaf, often = found
        status = AssumptionStatus.VIOLATED
        finding = f"{leaf} was counted {often} times, {planned.get(leaf, 0)} are planned"
    claim = "the ledger counts no more than the plan"
    return (*checks, Assumption(claim, f"checked: {finding}", status, "steps"))

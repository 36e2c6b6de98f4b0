"""The privacy statement of a plan, for paper and registry."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from dpacct.cli.command import METHOD, QUIET, Command, File
from dpacct.cli.federated_plan import MissingKey, read_stated
from dpacct.cli.output import Result, must_be_finite, write_file
from dpacct.cli.words import PlanFile, file_name
from dpacct.declare.domain import PURE_DELTA, Text, Word, one_of
from dpacct.declare.number import text
from dpacct.declare.record import Exclusive, Maybe, Parameter, Usage
from dpacct.declare.words import Meaning
from dpacct.errors import AssumptionViolated, InvalidArgument
from dpacct.plan.node import resolve_adjacency

if TYPE_CHECKING:
    from dpacct import Node
    from dpacct.report.report import Report
    from dpacct.vocabulary import Assumption

FORMATS = ("text", "markdown", "html", "json", "bibtex")
SUFFIXES = {
    ".txt": "text",
    ".md": "markdown",
    ".html": "html",
    ".htm": "html",
    ".json": "json",
    ".bib": "bibtex",
}
# A key that is missing, and what to write into the plan.
_MISSING = {
    "unit": 'unit = "client"` (or record, user, device, silo',
    "adjacency": 'adjacency = "add-remove"` (or replace-one, zero-out',
    "delta": "delta = 1e-6` (well below 1 / the number of units",
}


class StatedReport(Command):
    """State what a plan guarantees, how well that is known, and under which assumptions.

    PLAN is a file: a plan of steps, one of dpacct federated, or the JSON of an answer; without it the
    options state the plan. It must say its unit, adjacency and delta (an algorithm of dpacct federated
    has its own): a number without them says nothing. A file's [assumptions] and [report] tables are
    described in docs/report.md. The guarantee is always an upper bound;
    --method adds another number beside it. A violated assumption stands above everything, and the
    exit code is 6. --quiet prints the sentence alone.
    """

    heading = "Output"
    headings: ClassVar[Mapping[str, str]] = {
        "delta": "Target",
        "ledger": "Evidence",
        "client": "What is protected",
    }
    plan = True
    plan_file: Parameter[str | None] = Maybe(
        File(), "the file", "[PLAN]", kw_only=False, alias="plan"
    )
    delta: Parameter[Fraction | None] = Maybe(
        PURE_DELTA, "delta of the guarantee, below 1; 0 for pure differential privacy", "D"
    )
    client: Parameter[str | None] = Maybe(
        Text(),
        "of a udp-fl plan, whose clients have a guarantee each: the client to report on",
        "NAME",
    )
    ledger: Parameter[str | None] = Maybe(
        File(), "a ledger of the run: its checks become evidence, held or violated", "FILE"
    )
    output: Parameter[str | None] = Maybe(
        File(), f"write to a file; the suffix chooses the format ({' '.join(SUFFIXES)})", "FILE"
    )
    form: Parameter[str | None] = Maybe(
        Word(*FORMATS),
        f"{', '.join(FORMATS)}; default: by the file's suffix, else text",
        "NAME",
        alias="format",
    )
    method: Parameter[str] = METHOD
    quiet: Parameter[bool] = QUIET
    examples = (
        "report plan.toml --unit client --adjacency add-remove",
        "report plan.toml --unit client --adjacency add-remove -o report.html",
        "report plan.toml --unit record --adjacency add-remove --format json",
        "report --noise-multiplier 2 --delta 1e-6 --unit user --adjacency add-remove --quiet",
    )

    def answer(self) -> Result:
        """Write the report, to a file if one is named."""
        chosen = _format(self.output, self.form, self.as_json)
        file = self._file()
        report = _report(self, file)
        must_be_finite(report.answer)
        if self.quiet:
            written = "\n".join((*report.warnings, report.statement)) + "\n"
        else:
            written = str(getattr(report, f"to_{chosen}")())
        if self.output is not None:
            write_file(written.encode(), self.output)
        notes = [] if self.plan_file else self.stated().two_readings(resolve_adjacency(file.node))
        notes = [f"note: {line}." for line in notes]
        if report.violated:
            wrong = len(report.violated)
            said = "an assumption is" if wrong == 1 else f"{wrong} assumptions are"
            notes.append(f"error: {said} violated: the guarantee does not hold.")

        def lines() -> list[str]:
            if self.output is not None:
                return []
            return written.removesuffix("\n").split("\n")

        status = AssumptionViolated.exit_code if report.violated else 0
        return Result(
            lambda: report.to_dict() if self.output is None else None,
            lines,
            lines,
            notes=notes,
            status=status,
        )

    def _file(self) -> PlanFile:
        """The stated plan, from the file or the options."""
        stated = [name for name in self.typed if name not in Meaning.parameters]
        if self.plan_file is None:
            if not stated:
                raise Usage("give a plan: PLAN, or its options such as --sigma", argument="PLAN")
            return PlanFile(self.stated().plan())
        if stated:
            message = f"PLAN and {self.option(stated[0])} are two plans: give one of them"
            raise Exclusive(message, argument=self.option(stated[0]))
        return read_stated(self.plan_file, self.client)


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


def _report(wish: StatedReport, file: PlanFile) -> Report:
    from dpacct.report.report import Report

    node, facts = file.node, file.node.facts
    asked = {name: wish.typed.get(name) for name in Meaning.parameters}
    if file.account is not None:  # an algorithm has its own unit and adjacency
        for name, fixed in (("adjacency", facts.declared), ("unit", facts.unit)):
            if asked[name] not in (None, str(fixed)):
                message = f"--{name} must be {fixed} for this algorithm, got {asked[name]}"
                raise InvalidArgument(message, argument=f"--{name}")
    node = node.under(asked["adjacency"], unit=asked["unit"] or "")
    facts = node.facts
    delta = file.delta if wish.delta is None else wish.delta
    for key, value in (("unit", facts.unit), ("adjacency", facts.declared), ("delta", delta)):
        if value is None:
            fixed_by = f"; its sampling needs {facts.fixed}" if facts.fixed else ""
            line = f"{_MISSING[key]}{fixed_by if key == 'adjacency' else ''})"
            name = "the plan" if wish.plan_file is None else file_name(wish.plan_file)
            message = f"{name} has no {key}, without which its numbers say nothing: add the line"
            raise MissingKey(f"{message} `{line}, or give --{key}", argument=key)
    assert delta is not None
    if wish.delta is None and file.epsilon is not None:
        message = "a report states the epsilon at one delta: take `epsilon` out of the plan"
        raise Exclusive(message, argument="epsilon")
    options = {**wish.typed, "delta": wish.delta, "client": wish.client, "ledger": wish.ledger}
    options |= {} if wish.method == "auto" else {"method": wish.method}
    words = [] if wish.plan_file is None else [wish.plan_file]
    for name, value in options.items():
        if value is not None:
            words += [wish.option(name), value if isinstance(value, str) else text(value)]
    guarantee, sections = (None, ()) if file.account is None else file.account(delta)
    return Report.of(
        node,
        delta=delta,
        guarantee=guarantee,
        sections=sections[:1],
        method=wish.method,
        assumptions=file.assumptions,
        checks=() if wish.ledger is None else ledger_checks(wish.ledger, node),
        about=file.about,
        appendix=sections[1:],
        command=shlex.join(["dpacct", "report", *words]),
        whole=not wish.quiet,
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
    return (*checks, Assumption(claim, f"checked: {finding}", status))

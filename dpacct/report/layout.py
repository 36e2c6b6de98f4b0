"""A report as a document: which section says what, in the order in which a reader needs it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dpacct.answer.answer import interval, is_bound, safe
from dpacct.declare.number import up
from dpacct.plan.words import branches
from dpacct.report import contents
from dpacct.report.document import NO_GUARANTEE, ReportDocument, ReportSection
from dpacct.report.report import uncovered
from dpacct.report.sources import works

if TYPE_CHECKING:
    from dpacct.answer import Answer
    from dpacct.report.report import Report

DIGITS, SHORT = 10, 4
_POINTS = 61


def document(report: Report) -> ReportDocument:
    """Everything in its section."""
    sections = [
        *report.sections,
        _numbers(report),
        _pictures(report),
        _mechanism(report),
        _assumptions(report),
        ReportSection(title="What is not covered", items=uncovered(report.answer, report.about)),
        _sources(report),
        _reproduce(report),
        *report.appendix,
    ]
    name = report.about.name
    return ReportDocument(
        title=f"Privacy report: {name}" if name else "Privacy report",
        lead=report.statement,
        warnings=report.warnings,
        facts=_facts(report),
        sections=tuple(section for section in sections if section is not None),
    )


def _facts(report: Report) -> tuple[tuple[str, str], ...]:
    answer = report.answer
    wrong = len(report.violated)
    return (
        ("epsilon, if it held" if wrong else "epsilon, at most", up(float(answer), SHORT)),
        ("delta", up(report.delta, SHORT)),
        ("one unit", str(answer.unit)),
        ("adjacency", str(answer.adjacency)),
        ("epsilon is", f"{answer.strength}, {answer.side}"),
        (
            "the guarantee",
            "does not hold" if wrong else f"if {len(report.assumptions)} assumptions hold",
        ),
    )


def _numbers(report: Report) -> ReportSection:
    answer = report.answer
    holds = "the guarantee" if not report.violated else "if it held"
    rows = [_row("epsilon", answer, holds)]
    rows += [("delta", up(report.delta, DIGITS), "chosen", "", "")]
    rows += [_row(name, risk, "attack success", SHORT) for name, risk in report.risks]
    for other in report.others:
        role = "another bound" if is_bound(other) else f"{NO_GUARANTEE}: {_why(other)}"
        rows.append(_row("epsilon", other, role))
    paragraphs = [
        f"Adjacency {answer.adjacency}, unit {answer.unit}."
        + (f" One {answer.unit} is {report.about.unit}." if report.about.unit else ""),
    ]
    if not report.risks:
        paragraphs.append(
            "Attack success is left out: whole curves of this plan take long, or are not known."
            " The commands dpacct risk and dpacct curve compute them."
        )
    return ReportSection(
        title="Numbers",
        paragraphs=tuple(paragraphs),
        head=("quantity", "number", "what it is", "grade (method)", "interval"),
        rows=tuple(rows),
    )


def _row(name: str, answer: Answer, role: str, digits: int = DIGITS) -> tuple[str, ...]:
    sign = "≤" if is_bound(answer) else "~"
    return (
        name,
        f"{sign} {safe(answer, digits)}",
        role,
        f"{answer.side}, {answer.strength} ({answer.method})",
        interval(answer),
    )


def _why(answer: Answer) -> str:
    """Why a number is not a guarantee."""
    if str(answer.strength) == "published":
        return "as a paper prints it, not verified"
    if str(answer.strength) == "estimate" or str(answer.side) == "none":
        return "an estimate, which may lie below the truth"
    return "no upper end is known"


def _pictures(report: Report) -> ReportSection | None:
    """The privacy profile and the attacker's best, where the plan's curve is quickly computed."""
    if not report.risks:
        return None
    import numpy as np

    from dpacct.report.plots import kinds

    epsilon = float(report.answer)
    epsilons = np.linspace(0.0, max(1.5 * epsilon, 0.1), _POINTS)
    profile = kinds.profile(report.plan, epsilons=epsilons, delta=report.delta)
    attack = kinds.tradeoff(report.plan, alphas=np.linspace(0.0, 1.0, _POINTS))
    guarantee = f"ε = {up(epsilon, 4)} at δ = {up(report.delta, 3)}"
    where = f"The one stated is marked: {guarantee}."
    if report.delta == 0:  # which has no place on a logarithmic axis
        profile = replace(profile, marks=())
        where = f"The line ends before the one stated, {guarantee}."
    every = "every (epsilon, delta) on the line is a guarantee of the same plan"
    reach = "whatever the attacker knows, its error rates lie on the line or above it"
    return ReportSection(
        title="Pictures",
        pictures=(
            (profile.to_svg(), f"The privacy profile: {every}. {where}"),
            (attack.to_svg(), f"What any membership attack can achieve: {reach}."),
        ),
    )


def _mechanism(report: Report) -> ReportSection:
    return ReportSection(
        title="Mechanism",
        paragraphs=("What is accounted, from the outside in; equal releases are merged.",),
        tree=branches(report.plan),
    )


def _assumptions(report: Report) -> ReportSection:
    rows = tuple(
        (row.text, str(row.status), row.evidence, row.effect, row.key) for row in report.assumptions
    )
    statuses = [row[1] for row in rows]
    counted = [
        f"{statuses.count(word)} {word}"
        for word in ("violated", "held", "declared", "unknown")
        if word in statuses
    ]
    return ReportSection(
        title="Assumptions",
        paragraphs=(
            f"The guarantee rests on {len(rows)} assumptions: {', '.join(counted)}. Held means"
            " checked, declared is the word of whoever wrote the plan, unknown: nobody has said.",
        ),
        head=("assumption", "status", "evidence", "if it is false", "name"),
        rows=rows,
        marks=("status",),
    )


def _sources(report: Report) -> ReportSection:
    rows = tuple((cited.citation, cited.use, cited.status) for cited in report.sources)
    return ReportSection(
        title="Theorems and works used",
        head=("source", "used for", "status in dpacct's registry"),
        rows=rows,
        items=tuple(work.line() for work in works(report.sources)),
    )


def _reproduce(report: Report) -> ReportSection:
    versions = contents.versions(report.answer)
    listed = ", ".join(f"{name} {version}" for name, version in versions.items())
    lines = [f"versions: {listed}"]
    mark = contents.fingerprint(report.plan)
    if mark:
        lines.append(f"plan's SHA-256: {mark}")
    if report.command:
        lines.append(f"$ {report.command}")
    return ReportSection(title="How to reproduce this", code="\n".join(lines))

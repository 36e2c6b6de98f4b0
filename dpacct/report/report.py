"""Report: a guarantee with all that a reader has to know of it, in every form."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

from dpacct.answer.answer import interval, is_bound, protected, safe
from dpacct.declare.domain import PURE_DELTA
from dpacct.declare.number import Number, text, up
from dpacct.errors import InvalidArgument
from dpacct.plan.words import branches, phrase
from dpacct.report import contents
from dpacct.report.about import About
from dpacct.report.assumptions import AssumptionRow, read_declared, rows
from dpacct.report.contents import fingerprint, versions
from dpacct.report.document import ReportDocument, ReportSection
from dpacct.report.sources import CitedSource, merged, works
from dpacct.vocabulary import Assumption, AssumptionStatus, Strength

if TYPE_CHECKING:
    from dpacct.answer import Answer
    from dpacct.plan.node import Node

SCHEMA = 1
"""Version of the JSON form."""
_DECLARE = {
    "adjacency": "add-remove, replace-one or zero-out",
    "unit": "record, user, client, device or silo",
}
_DIGITS = 4  # of epsilon and delta in the sentence, rounded up
_GRADES = {
    Strength.PROVED: "proved with interval arithmetic",
    Strength.BRACKETED: "enclosed in floating point, every rounding charged",
    Strength.CONVERGED: "computed by two agreeing methods",
    Strength.BOUND: "an upper bound from a verified theorem",
}


@dataclass(frozen=True, kw_only=True, repr=False)
class Report:
    """A plan's guarantee: its grade, its assumptions, and what it does not cover.

    `answer` is the guarantee: an upper end that a theorem supports. What bounds nothing, or stands as
    a paper prints it, is among `others` and never the guarantee.

    >>> import dpacct as dp
    >>> plan = (dp.Poisson("0.01")(dp.Gaussian(sigma="1.1")) * 1000).under("add-remove", unit="user")
    >>> report = dp.Report.of(plan, delta="1e-5")
    >>> report.statement[:77]
    'Releasing all outputs of the plan is (1.516, 1e-5)-differentially private, us'
    >>> report.violated
    ()
    """

    answer: Answer
    delta: Fraction
    others: tuple[Answer, ...] = ()
    risks: tuple[tuple[str, Answer], ...] = ()
    assumptions: tuple[AssumptionRow, ...] = ()
    sources: tuple[CitedSource, ...] = ()
    about: About = field(default_factory=About)
    command: str = ""
    sections: tuple[ReportSection, ...] = ()
    appendix: tuple[ReportSection, ...] = ()

    @classmethod
    def of(
        cls,
        plan: Node,
        *,
        delta: Number,
        method: str = "auto",
        assumptions: Mapping[str, Any] | None = None,
        checks: Iterable[Assumption] = (),
        about: About | Mapping[str, Any] | None = None,
        command: str = "",
        sections: Iterable[ReportSection] = (),
        appendix: Iterable[ReportSection] = (),
        guarantee: Answer | None = None,
        whole: bool = True,
    ) -> Self:
        """The report of a plan at a delta in [0, 1); 0 is pure differential privacy.

        The plan must declare its adjacency and unit (`plan.under`). `assumptions` and `about` are the
        tables of a plan file (docs/report.md), `checks` what a ledger or a run found, `method` one more
        way to compute epsilon; `sections` stand before the numbers, the `appendix` behind all;
        `guarantee` is the plan's epsilon at that delta, where somebody knows it better. `whole=False`
        leaves out what the statement and its warnings do not need: attack success, and what it would
        cost if an assumption were false.
        Raises `InvalidArgument` where adjacency or unit is missing, `NotCertified` where no method
        bounds epsilon, `Unreachable` where none is finite, and `Unsupported`.

        >>> import dpacct as dp
        >>> dp.Report.of(dp.Laplace(b=1), delta=1e-5)  # doctest: +IGNORE_EXCEPTION_DETAIL
        Traceback (most recent call last):
        dpacct.errors.InvalidArgument: plan must declare its unit ...
        """
        for name, value in (("unit", plan.facts.unit), ("adjacency", plan.facts.declared)):
            if value is None:
                message = f"plan must declare its {name}, which no report leaves to a default:"
                message += f" plan.under(...) with {name} {_DECLARE[name]}"
                raise InvalidArgument(message, argument=name)
        exact = PURE_DELTA.check("delta", delta)
        declared = read_declared(assumptions or {})
        answer, others = contents.answers(plan, exact, method, guarantee)
        seen = tuple(checks)
        risks: tuple[tuple[str, Answer], ...] = ()
        effects: dict[str, str] = {}
        heard = [each.status for each in (*seen, *answer.assumptions)]
        heard += [each.status for each in declared.values()]
        if whole or AssumptionStatus.VIOLATED in heard:
            risks = contents.risks(answer)
            effects = contents.effects(answer, exact, quick=bool(risks))
        return cls(
            answer=answer,
            delta=exact,
            others=others,
            risks=risks,
            assumptions=rows(
                plan, answer.assumptions, declared=declared, checks=seen, effects=effects
            ),
            sources=merged(contents.sources(answer, others, risks)),
            about=about if isinstance(about, About) else About.of_table(about or {}),
            command=command,
            sections=tuple(sections),
            appendix=tuple(appendix),
        )

    @property
    def plan(self) -> Node:
        """The plan that was accounted."""
        if self.answer.tree is None:
            message = (
                "answer must name the plan that it is about (its tree), got one without a plan"
            )
            raise InvalidArgument(message, argument="answer")
        return self.answer.tree

    @property
    def statement(self) -> str:
        """The guarantee in one sentence, numbers rounded up."""
        return statement(self.answer, self.delta, self.about, holds=not self.violated)

    @property
    def violated(self) -> tuple[AssumptionRow, ...]:
        """The assumptions that are known to be false: where there are any, nothing is guaranteed."""
        return tuple(row for row in self.assumptions if row.status is AssumptionStatus.VIOLATED)

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings to print above the statement."""
        wrong = self.violated
        if not wrong:
            return ()
        how = "one of its assumptions is"
        if len(wrong) > 1:
            how = f"{len(wrong)} of its assumptions are"
        caveat = f"The guarantee below does not hold: {how} violated."
        caveat += " It is what would hold if they were true."
        violations = (f"Violated: {row.text} ({row.evidence}); so {row.effect}." for row in wrong)
        return (caveat, *violations)

    def __repr__(self) -> str:
        return f"<Report: {' '.join((*self.warnings, self.statement))}>"

    def _repr_html_(self) -> str:
        """Show the statement in a notebook, below the violations."""
        from html import escape

        said = [f"<b>{escape(warning)}</b>" for warning in self.warnings]
        return "".join(f"<p>{line}</p>" for line in (*said, escape(self.statement)))

    def document(self) -> ReportDocument:
        """The report as sections, for text, Markdown, HTML and LaTeX."""
        return self._document(pictures=True)

    def _document(self, *, pictures: bool) -> ReportDocument:
        drawn = [_pictures(self)] if pictures and self.risks else []
        name, wrong, answer = self.about.name, self.violated, self.answer
        accounted = "What is accounted, from the outside in; equal releases are merged."
        missing = uncovered(answer, self.about)
        holds = f"if {len(self.assumptions)} assumptions hold"
        return ReportDocument(
            title=f"Privacy report: {name}" if name else "Privacy report",
            lead=self.statement,
            warnings=self.warnings,
            facts=(
                (f"epsilon, {'if it held' if wrong else 'at most'}", up(float(answer), SHORT)),
                ("delta", up(self.delta, SHORT)),
                ("one unit", str(answer.unit)),
                ("adjacency", str(answer.adjacency)),
                ("epsilon is", f"{answer.strength}, {answer.side}"),
                ("the guarantee", "does not hold" if wrong else holds),
            ),
            sections=(
                *self.sections,
                _numbers(self),
                *drawn,
                ReportSection(title="Mechanism", paragraphs=(accounted,), tree=branches(self.plan)),
                _assumptions(self),
                ReportSection(title="What is not covered", items=missing),
                _sources(self),
                _reproduce(self),
                *self.appendix,
            ),
            cites=tuple(work.key for work in works(self.sources[: len(answer.basis)])),
            works=tuple((work.key, work.line()) for work in works(self.sources)),
        )

    def to_text(self) -> str:
        """Plain text of 100 columns."""
        return self._document(pictures=False).to_text()

    def to_markdown(self) -> str:
        """Markdown, tables as GitHub knows them."""
        return self._document(pictures=False).to_markdown()

    def to_latex(self) -> str:
        """A LaTeX document that cites, for a paper."""
        return self._document(pictures=False).to_latex()

    def to_html(self) -> str:
        """One HTML page that needs nothing else: no network, no script."""
        return self.document().to_html()

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON values, schema 1."""
        return {
            "schema": SCHEMA,
            "command": "report",
            "guarantee_holds": not self.violated,
            "statement": self.statement,
            "warnings": list(self.warnings),
            "epsilon": _answer(self.answer),
            "delta": text(self.delta),
            "not_guarantees": [_answer(other) for other in self.others if not is_bound(other)],
            "other_bounds": [_answer(other) for other in self.others if is_bound(other)],
            "attack": [{"of": name, **_answer(risk)} for name, risk in self.risks],
            "plan": self.plan.to_dict() if fingerprint(self.plan) else None,
            "adjacency": str(self.answer.adjacency),
            "unit": str(self.answer.unit),
            "assumptions": [row.to_dict() for row in self.assumptions],
            "not_covered": list(uncovered(self.answer, self.about)),
            "sources": [
                {**cited.to_dict(), "bibtex_keys": [work.key for work in cited.works]}
                for cited in self.sources
            ],
            "reproduce": {
                "command": self.command,
                "versions": versions(self.answer),
                "plan_sha256": fingerprint(self.plan),
            },
        }

    def to_json(self) -> str:
        """The report as JSON text."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False, ensure_ascii=False) + "\n"

    def to_bibtex(self) -> str:
        """The works that the report cites."""
        from dpacct.bibliography import bibtex

        return bibtex(works(self.sources)) + "\n"


def _answer(answer: Answer) -> dict[str, Any]:
    """An answer without its plan and assumptions, which the report states once."""
    fields = replace(answer, tree=None, alternatives=()).to_dict()
    return {
        key: value
        for key, value in fields.items()
        if key not in ("plan", "assumptions", "alternatives", "schema", "seconds")
    }


# --- sentences


def statement(answer: Answer, delta: Fraction, about: About, *, holds: bool = True) -> str:
    """The guarantee in one sentence: for whom, under which adjacency, for which plan, and its grade.

    Where it does not hold, because an assumption is violated, the sentence says so of itself.
    """
    output = about.output or "all outputs of the plan"
    opening = f"Releasing {output} is"
    if not holds:
        opening = f"If no assumption were violated, releasing {output} would be"
    epsilon = up(float(answer), _DIGITS)
    private = f"{epsilon}-differentially private (pure: delta 0)"
    if delta:
        private = f"({epsilon}, {up(delta, _DIGITS)})-differentially private"
    unit = str(answer.unit)
    neighbours = protected(answer)
    whose = f", one {unit} being {about.unit}" if about.unit else ""
    viewer = f" against {about.viewer}" if about.viewer else ""
    assert answer.tree is not None
    return (
        f"{opening} {private}{viewer}, "
        f"{unit}-level under {answer.adjacency} adjacency ({neighbours}{whose}), for "
        f"{phrase(answer.tree)}; the epsilon is {_GRADES[answer.strength]} (dpacct {version()})."
    )


def version() -> str:
    """The version of dpacct."""
    from importlib import metadata

    return metadata.version("dpacct")


_STATED = {
    "Tuning": "Runs that chose hyperparameters on the same data compose with this one, also those that"
    " were thrown away.",
    "Preprocessing": "Whatever was computed from the data before the plan is not counted.",
    "Released in the clear": "Metrics, sample sizes and other statistics of the data have no guarantee.",
}
"""Warnings where the plan has no words of its own."""
_NEVER = (
    "Other releases: whatever else was or will be released about the same data composes with this plan.",
    "Inference: what is true of the population can be learnt, also about someone who took no part.",
    "Side channels: running times, memory, network traffic and failures are not part of the output.",
)


def uncovered(answer: Answer, about: About) -> tuple[str, ...]:
    """List what the guarantee does not cover, one sentence each; the plan's own words come first."""
    said = (about.tuning, about.preprocessing, about.unprotected)
    stated = zip(_STATED.items(), said, strict=True)
    return (
        *(f"{name}: {text or f'not stated. {warning}'}" for (name, warning), text in stated),
        f"Groups: several {answer.unit}s together are protected less; k of them may see up to k times"
        " the epsilon, and a larger delta.",
        *_NEVER,
    )


# --- which section says what, in the order in which a reader needs it

DIGITS, SHORT = 10, 4
_POINTS = 61


def _numbers(report: Report) -> ReportSection:
    answer = report.answer
    holds = "the guarantee" if not report.violated else "if it held"
    rows = [_row("epsilon", answer, holds)]
    rows += [("delta", up(report.delta, DIGITS), "chosen", "", "")]
    rows += [_row(name, risk, "attack success", SHORT) for name, risk in report.risks]
    first = len(rows)
    for other in report.others:
        why = "no upper end is known"
        if other.strength is Strength.PUBLISHED:
            why = "as a paper prints it, not verified"
        elif other.is_estimate:
            why = "an estimate, which may lie below the truth"
        role = "another bound" if is_bound(other) else f"not a guarantee: {why}"
        rows.append(_row("epsilon", other, role))
    unit = f" One {answer.unit} is {report.about.unit}." if report.about.unit else ""
    paragraphs = [f"Adjacency {answer.adjacency}, unit {answer.unit}.{unit}"]
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
        asides=tuple(i for i, o in enumerate(report.others, first) if not is_bound(o)),
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


def _pictures(report: Report) -> ReportSection:
    """The privacy profile and the attacker's best, of a plan whose curve is quickly computed."""
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
            (profile, f"The privacy profile: {every}. {where}"),
            (attack, f"What any membership attack can achieve: {reach}."),
        ),
    )


def _assumptions(report: Report) -> ReportSection:
    rows = tuple((a.text, str(a.status), a.evidence, a.effect, a.key) for a in report.assumptions)
    counts = Counter(row[1] for row in rows)
    words = ("violated", "held", "declared", "unknown")
    counted = ", ".join(f"{counts[word]} {word}" for word in words if counts[word])
    meaning = (
        f"The guarantee rests on {len(rows)} assumptions: {counted}. Held means checked, declared is"
        " the word of whoever wrote the plan, unknown: nobody has said."
    )
    head = ("assumption", "status", "evidence", "if it is false", "name")
    return ReportSection(
        title="Assumptions", paragraphs=(meaning,), head=head, rows=rows, marks=("status",)
    )


def _sources(report: Report) -> ReportSection:
    rows = tuple((cited.citation, cited.use, cited.status) for cited in report.sources)
    return ReportSection(
        title="Theorems and works used",
        head=("source", "used for", "status in dpacct's registry"),
        rows=rows,
        items=tuple(work.line() for work in works(report.sources)),
        cites=tuple(tuple(work.key for work in cited.works) for cited in report.sources),
    )


def _reproduce(report: Report) -> ReportSection:
    used, mark = versions(report.answer), fingerprint(report.plan)
    lines = ["versions: " + ", ".join(f"{name} {version}" for name, version in used.items())]
    lines += [f"plan's SHA-256: {mark}"] if mark else []
    lines += [f"$ {report.command}"] if report.command else []
    return ReportSection(title="How to reproduce this", code="\n".join(lines))

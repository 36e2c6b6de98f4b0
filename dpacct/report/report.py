"""Report: a guarantee with all that a reader has to know of it, in every form."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

from dpacct.answer.answer import is_bound, protected
from dpacct.declare.domain import PURE_DELTA
from dpacct.declare.number import Number, text, up
from dpacct.errors import InvalidArgument
from dpacct.plan.words import phrase
from dpacct.report.about import About
from dpacct.report.assumptions import Row, read_declared
from dpacct.report.document import ReportSection
from dpacct.vocabulary import Assumption, AssumptionStatus, Strength

if TYPE_CHECKING:
    from dpacct.answer import Answer
    from dpacct.plan.node import Node
    from dpacct.report.document import ReportDocument
    from dpacct.report.sources import Source

SCHEMA = 1
"""Version of the JSON form."""
_DECLARE = {
    "adjacency": "add-remove, replace-one or zero-out",
    "unit": "record, user, client, device or silo",
}
_DIGITS = 4  # of epsilon and delta in the sentence, rounded up
_GRADES = {
    Strength.PROVED: "proved with interval arithmetic",
    Strength.CONVERGED: "computed by two agreeing methods",
    Strength.BOUND: "an upper bound from a verified theorem",
}


@dataclass(frozen=True, kw_only=True, repr=False)
class Report:
    """What a plan guarantees, how well that is known, on what it rests and what it does not cover.

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
    assumptions: tuple[Row, ...] = ()
    sources: tuple[Source, ...] = ()
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
        from dpacct.report import contents
        from dpacct.report.assumptions import rows
        from dpacct.report.sources import merged

        must_declare(plan)
        exact = PURE_DELTA.check("delta", delta)
        declared = read_declared(assumptions or {})
        answer, others = contents.answers(plan, exact, method, guarantee)
        seen = tuple(checks)
        risks: tuple[tuple[str, Answer], ...] = ()
        assumption_rows = rows(plan, answer.assumptions, declared=declared, checks=seen)
        if whole or any(row.status is AssumptionStatus.VIOLATED for row in assumption_rows):
            risks = contents.risks(answer)
            effects = contents.effects(answer, exact, quick=bool(risks))
            assumption_rows = rows(
                plan, answer.assumptions, declared=declared, checks=seen, effects=effects
            )
        return cls(
            answer=answer,
            delta=exact,
            others=others,
            risks=risks,
            assumptions=assumption_rows,
            sources=merged(contents.sources(answer, others, risks)),
            about=about if isinstance(about, About) else About.of_table(about or {}),
            command=command,
            sections=tuple(sections),
            appendix=tuple(appendix),
        )

    @property
    def plan(self) -> Node:
        """What was accounted."""
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
    def violated(self) -> tuple[Row, ...]:
        """The assumptions that are known to be false: where there are any, nothing is guaranteed."""
        return tuple(row for row in self.assumptions if row.status is AssumptionStatus.VIOLATED)

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings to print above the statement."""
        wrong = self.violated
        if not wrong:
            return ()
        violations = [f"{row.text} ({row.evidence}); so {row.effect}." for row in wrong]
        return (caveat(len(wrong)), *(f"Violated: {violation}" for violation in violations))

    def __repr__(self) -> str:
        return f"<Report: {' '.join((*self.warnings, self.statement))}>"

    def _repr_html_(self) -> str:
        """For a notebook: the sentence, below what is violated."""
        from html import escape

        said = [f"<b>{escape(warning)}</b>" for warning in self.warnings]
        return "".join(f"<p>{line}</p>" for line in (*said, escape(self.statement)))

    def document(self) -> ReportDocument:
        """The report as sections, for text, Markdown and HTML."""
        from dpacct.report.layout import document

        return document(self)

    def to_text(self) -> str:
        """Plain text of 100 columns."""
        return self.document().to_text()

    def to_markdown(self) -> str:
        """Markdown, tables as GitHub knows them."""
        return self.document().to_markdown()

    def to_html(self) -> str:
        """One HTML page that needs nothing else: no network, no script."""
        return self.document().to_html()

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON values, schema 1."""
        from dpacct.report.contents import fingerprint, versions

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
                {
                    "id": cited.citation.id,
                    "citation": cited.citation,
                    "use": cited.use,
                    "theorems": list(cited.theorems),
                    "status": cited.status,
                    "bibtex_keys": [work.key for work in cited.works],
                }
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

    def to_yaml(self) -> str:
        """A draft card for the registry of differential privacy deployments, as YAML."""
        from dpacct.report.card import card, dump

        return dump(*card(self))

    def to_bibtex(self) -> str:
        """The works that the report cites."""
        from dpacct.bibliography import bibtex
        from dpacct.report.sources import works

        return bibtex(works(self.sources)) + "\n"


def must_declare(plan: Node) -> None:
    """Raise `InvalidArgument` unless the plan declares its adjacency and unit."""
    facts = plan.facts
    for name, value in (("unit", facts.unit), ("adjacency", facts.declared)):
        if value is None:
            message = f"plan must declare its {name}, which no report leaves to a default:"
            message += f" plan.under(...) with {name} {_DECLARE[name]}"
            raise InvalidArgument(message, argument=name)


def _answer(answer: Answer) -> dict[str, Any]:
    """An answer without its plan and assumptions, which the report states once."""
    data = replace(answer, tree=None, alternatives=()).to_dict()
    return {
        key: value
        for key, value in data.items()
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


def caveat(violated: int) -> str:
    """The warning above a statement some of whose assumptions are violated."""
    how = "one of its assumptions is" if violated == 1 else f"{violated} of its assumptions are"
    return f"The guarantee below does not hold: {how} violated. It is what would hold if they were true."


def version() -> str:
    """The version of dpacct."""
    from importlib import metadata

    return metadata.version("dpacct")


def uncovered(answer: Answer, about: About) -> tuple[str, ...]:
    """What the guarantee does not cover, one sentence each; the plan's own words come first."""
    stated = (
        (
            *("Tuning", about.tuning),
            "Runs that chose hyperparameters on the same data compose with this one, also those that"
            " were thrown away.",
        ),
        (
            *("Preprocessing", about.preprocessing),
            "Whatever was computed from the data before the plan is not counted.",
        ),
        (
            *("Released in the clear", about.unprotected),
            "Metrics, sample sizes and other statistics of the data have no guarantee.",
        ),
    )
    return (
        *(f"{name}: {text or f'not stated. {warning}'}" for name, text, warning in stated),
        f"Groups: several {answer.unit}s together are protected less; k of them may see up to k times"
        " the epsilon, and a larger delta.",
        "Other releases: whatever else was or will be released about the same data composes with"
        " this plan.",
        "Inference: what is true of the population can be learnt, also about someone who took no"
        " part.",
        "Side channels: running times, memory, network traffic and failures are not part of the"
        " output.",
    )

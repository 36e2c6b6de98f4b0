"""Check a plan against limits, its report and its ledger."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from dpacct.cli.command import QUIET, Command, File
from dpacct.cli.commands.report import ledger_checks
from dpacct.cli.federated_plan import read_stated
from dpacct.cli.output import ExitStatus, Result, must_be_finite, within
from dpacct.cli.words import contents, file_name
from dpacct.declare.domain import EPSILON, PURE_DELTA, Text
from dpacct.declare.number import exact, short, text
from dpacct.declare.record import Maybe, Parameter, Usage
from dpacct.declare.words import Meaning
from dpacct.vocabulary import AssumptionStatus

if TYPE_CHECKING:
    from dpacct.answer import Answer
    from dpacct.cli.words import PlanFile
    from dpacct.plan.node import Node

_SLACK = Fraction(1, 10**9)
"""Relative excess of epsilon over a reported one that is allowed: both are rounded ends of one number."""


@dataclass(frozen=True)
class CheckResult:
    """The result of one check; `violates` marks an assumption known to be false, `unknown` an unseen one."""

    name: str
    holds: bool
    text: str
    violates: bool = False
    unknown: bool = False

    @property
    def verdict(self) -> str:
        """The word in front of the text."""
        return "unknown" if self.unknown else "holds" if self.holds else "FAILS"


class Check(Command):
    """Fail if a plan exceeds its limits, or differs from its report or its ledger.

    PLAN is a file as `dpacct report` reads it. Exits with 0 if everything holds, with 6 if an assumption
    is violated (by the plan's own word, or by what a ledger found), else with 11 if anything fails: for a
    pre-commit hook or a build.
    """

    heading = "Limits"
    headings: ClassVar[dict[str, str]] = {
        **dict.fromkeys(("ledger", "against"), "Drift"),
        "client": "What is protected",
    }
    plan_file: Parameter[str] = Parameter(File(), "the file", "PLAN", kw_only=False, alias="plan")
    max_epsilon: Parameter[Fraction | None] = Maybe(
        EPSILON, "the largest epsilon that is allowed", "E", flag="max_eps"
    )
    max_delta: Parameter[Fraction | None] = Maybe(
        PURE_DELTA, "the largest delta; also where epsilon is asked, if the plan says no delta", "D"
    )
    delta: Parameter[Fraction | None] = Maybe(
        PURE_DELTA, "delta of the guarantee, in place of the plan's", "D"
    )
    ledger: Parameter[str | None] = Maybe(
        File(),
        "of the run: it must count no more than the plan, and have found nothing wrong",
        "FILE",
    )
    against: Parameter[str | None] = Maybe(
        File(),
        "the JSON of a report or an answer: its plan and its guarantee must be this plan's",
        "FILE",
    )
    adjacency: Parameter[str | None] = Meaning.adjacency
    unit: Parameter[str | None] = Meaning.unit
    client: Parameter[str | None] = Maybe(
        Text(), "of a udp-fl plan, whose clients have a guarantee each: whose", "NAME"
    )
    quiet: Parameter[bool] = QUIET.but(means="print what fails, and nothing else")
    examples = (
        "check plan.toml --max-eps 8 --max-delta 1e-5",
        "check plan.toml --max-eps 8 --unit client --adjacency add-remove --json",
    )

    def answer(self) -> Result:
        """Run every check that the options ask for."""
        if all(
            self.values[name] is None for name in ("max_epsilon", "max_delta", "ledger", "against")
        ):
            message = "give what to check: --max-eps, --max-delta, --ledger or --against"
            raise Usage(message, argument="--max-eps")
        file = read_stated(self.plan_file, self.client)
        node = file.node.under(self.adjacency, unit=self.unit or "")
        delta = next((d for d in (self.delta, file.delta, self.max_delta) if d is not None), None)
        if delta is None:
            name = file_name(self.plan_file)
            message = (
                f"{name} has no delta, without which it has no epsilon: give --delta or --max-delta"
            )
            raise Usage(message, argument="--delta")
        answer = _guarantee(file, node, delta)
        findings = [*self._limits(answer, delta)]
        for name, declared in file.assumptions.items():
            if declared.status is AssumptionStatus.VIOLATED:
                words = declared.evidence or "the plan says so"
                said = f"{name} is violated: {words}"
                findings.append(CheckResult("assumptions", False, said, violates=True))
        if self.ledger is not None:
            findings += [
                CheckResult(
                    "ledger",
                    each.status is not AssumptionStatus.VIOLATED,
                    f"{each.text}: {each.source}",
                    violates=each.status is AssumptionStatus.VIOLATED,
                    unknown=each.status is AssumptionStatus.UNKNOWN,
                )
                for each in ledger_checks(self.ledger, node)
            ]
        if self.against is not None:
            findings += _drift(self.against, node, answer, delta)
        failed = [each for each in findings if not each.holds]
        status = ExitStatus.OK
        if failed:
            violated = any(each.violates for each in failed)
            status = ExitStatus.ASSUMPTION_VIOLATED if violated else ExitStatus.CHECK_FAILED
        body = {
            "holds": not failed,
            "delta": text(delta),
            "epsilon": within(answer),
            "checks": [
                {"name": c.name, "holds": c.holds, "unknown": c.unknown, "text": c.text}
                for c in findings
            ],
        }
        return Result(
            lambda: body,
            lambda: [f"{each.verdict}  {each.text}" for each in findings],
            lambda: [each.text for each in failed],
            status=status,
        )

    def _limits(self, answer: Answer, delta: Fraction) -> Iterator[CheckResult]:
        from dpacct.answer.answer import KNOWN, leading

        most, allowed = self.max_epsilon, self.max_delta
        if most is not None:
            holds = Fraction(repr(float(answer))) <= most
            said = f"epsilon {leading(answer, 6)} at delta {short(delta, 'up')} ({KNOWN[answer.strength]})"
            yield CheckResult("max-eps", holds, f"{said} is {_against(holds)} {short(most)}")
        if allowed is not None:
            holds = delta <= allowed
            yield CheckResult(
                "max-delta", holds, f"delta {short(delta)} is {_against(holds)} {short(allowed)}"
            )


def _against(holds: bool) -> str:
    return "within" if holds else "above"


def _guarantee(file: PlanFile, node: Node, delta: Fraction) -> Answer:
    """The epsilon that a report of the plan states."""
    from dpacct.report.contents import must_bound

    answer = node.epsilon(delta) if file.account is None else file.account(delta)[0]
    return must_bound(must_be_finite(answer))


def _drift(path: str, node: Node, answer: Answer, delta: Fraction) -> Iterator[CheckResult]:
    """Check that a report or an answer is about this plan and states no smaller epsilon."""
    from dpacct import from_dict
    from dpacct.answer.answer import leading

    name, written = file_name(path), contents(path)
    try:
        body = json.loads(written)
        stated = body["epsilon"] if body["command"] == "report" else body
        plan, upper = from_dict(body["plan"]), exact(stated["upper"])
        of = {"adjacency": body["adjacency"], "unit": body["unit"]}
        asked = exact(body["delta"])
        if upper is None or asked is None or stated["quantity"] != "epsilon":
            raise ValueError(name)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        message = f"--against must be the JSON of dpacct report or dpacct eps, which {name} is not"
        raise Usage(message, argument="--against") from error
    if body.get("guarantee_holds") is False:
        yield CheckResult(
            "against", False, f"{name} reports an assumption as violated", violates=True
        )
    ours: dict[str, Any] = {"adjacency": answer.adjacency, "unit": answer.unit}
    same = plan.under(**of) == node.under(**ours)
    yield CheckResult("plan", same, f"the plan is {'' if same else 'not '}the one of {name}")
    for word, value in (*ours.items(), ("delta", delta)):
        theirs = asked if word == "delta" else of[word]
        if theirs != value:
            said = f"{word} is {short(value)}, and {short(theirs)} in {name}"
            yield CheckResult(word, False, said)
    holds = Fraction(repr(float(answer))) <= upper * (1 + _SLACK)
    said = f"epsilon {leading(answer, 6)} is {_against(holds)} the {short(upper)} of {name}"
    yield CheckResult("against", holds, said)

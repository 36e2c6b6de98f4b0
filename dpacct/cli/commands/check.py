"""Check a plan against limits, its report and its ledger."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpacct.cli.command import CommandLine, argument, command, group, option, switch
from dpacct.cli.commands.compose import PROTECTED
from dpacct.cli.commands.report import ledger_checks
from dpacct.cli.federated_plan import read_stated
from dpacct.cli.output import ExitStatus, Result, must_be_finite, within
from dpacct.cli.plan_file import contents, file_name
from dpacct.declare.domain import EPSILON, PURE_DELTA
from dpacct.declare.number import exact, short, text
from dpacct.declare.record import Usage
from dpacct.declare.words import Meaning
from dpacct.vocabulary import AssumptionStatus

if TYPE_CHECKING:
    from dpacct.answer import Answer
    from dpacct.cli.plan_file import PlanFile
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


@command(
    "check",
    group(
        "Limits",
        argument("path", "PLAN"),
        option("--max-eps --max-epsilon most E", "the largest epsilon that is allowed", EPSILON),
        option(
            "--max-delta allowed D",
            "the largest delta; also where epsilon is asked, if the plan says no delta",
            PURE_DELTA,
        ),
        option("--delta D", "delta of the guarantee, in place of the plan's", PURE_DELTA),
    ),
    group(
        "Drift",
        option(
            "--ledger FILE",
            "of the run: it must count no more than the plan, and have found nothing wrong",
        ),
        option(
            "--against FILE",
            "the JSON of a report or an answer: its plan and its guarantee must be this plan's",
        ),
    ),
    PROTECTED,
    group(
        "What is protected",
        option("--client NAME", "of a udp-fl plan, whose clients have a guarantee each: whose"),
    ),
    group("Output", switch("-q --quiet", "print what fails, and nothing else")),
    examples=(
        "check plan.toml --max-eps 8 --max-delta 1e-5",
        "check plan.toml --max-eps 8 --unit client --adjacency add-remove --json",
    ),
)
def main(
    line: CommandLine,
    path: str,
    *,
    most: Fraction | None,
    allowed: Fraction | None,
    delta: Fraction | None,
    ledger: str | None,
    against: str | None,
    client: str | None,
    quiet: bool,
) -> Result:
    """Fail if a plan exceeds its limits, or differs from its report or its ledger.

    PLAN is a file as `dpacct report` reads it. Exits with 0 if everything holds, with 6 if an assumption
    is violated (by the plan's own word, or by what a ledger found), else with 11 if anything fails: for a
    pre-commit hook or a build.
    """
    if all(each is None for each in (most, allowed, ledger, against)):
        message = "give what to check: --max-eps, --max-delta, --ledger or --against"
        raise Usage(message, argument="--max-eps")
    file, meaning = read_stated(path, client), Meaning.read(line.typed, line.option)
    node = file.node.under(meaning.adjacency, unit=meaning.unit or "")
    at = next((d for d in (delta, file.delta, allowed) if d is not None), None)
    if at is None:
        message = (
            f"{file_name(path)} has no delta, without which it has no epsilon: give --delta or"
        )
        raise Usage(f"{message} --max-delta", argument="--delta")
    answer = _guarantee(file, node, at)
    findings = [*_limits(answer, at, most, allowed)]
    for name, stated in file.assumptions.items():
        if stated.status is AssumptionStatus.VIOLATED:
            said = f"{name} is violated: {stated.evidence or 'the plan says so'}"
            findings.append(CheckResult("assumptions", False, said, violates=True))
    for each in () if ledger is None else ledger_checks(ledger, node):
        wrong = each.status is AssumptionStatus.VIOLATED
        unknown = each.status is AssumptionStatus.UNKNOWN
        said = f"{each.text}: {each.source}"
        findings.append(CheckResult("ledger", not wrong, said, violates=wrong, unknown=unknown))
    if against is not None:
        findings += _drift(against, node, answer, at)
    failed = [each for each in findings if not each.holds]
    status = ExitStatus.OK
    if failed:
        violated = any(each.violates for each in failed)
        status = ExitStatus.ASSUMPTION_VIOLATED if violated else ExitStatus.CHECK_FAILED
    body = {
        "holds": not failed,
        "delta": text(at),
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


def _limits(
    answer: Answer, delta: Fraction, most: Fraction | None, allowed: Fraction | None
) -> Iterator[CheckResult]:
    from dpacct.answer.answer import KNOWN, leading

    if most is not None:
        holds = Fraction(repr(float(answer))) <= most
        said = (
            f"epsilon {leading(answer, 6)} at delta {short(delta, 'up')} ({KNOWN[answer.strength]})"
        )
        yield CheckResult("max-eps", holds, f"{said} is {_against(holds)} {short(most)}")
    if allowed is not None:
        holds = delta <= allowed
        said = f"delta {short(delta)} is {_against(holds)} {short(allowed)}"
        yield CheckResult("max-delta", holds, said)


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

"""Check a plan against limits, its report and its ledger."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from dpacct.answer.answer import KNOWN, leading
from dpacct.cli.command import PROTECTED, CommandLine, argument, command, group, option, switch
from dpacct.cli.commands.report import ledger_checks
from dpacct.cli.federated_plan import read_stated
from dpacct.cli.output import ExitStatus, Result, must_be_finite, within
from dpacct.cli.plan_file import contents, file_name
from dpacct.declare.domain import EPSILON, PURE_DELTA
from dpacct.declare.number import number, short, text
from dpacct.declare.record import Usage
from dpacct.vocabulary import AssumptionStatus

if TYPE_CHECKING:
    from dpacct.answer import Answer
    from dpacct.plan.node import Node

_SLACK = Fraction(1, 10**9)
"""Relative excess of epsilon over a reported one that is allowed: both are rounded ends of one number."""


class CheckResult(NamedTuple):
    """The result of one check; `violates` marks an assumption known to be false, `unknown` an unseen one."""

    name: str
    holds: bool
    text: str
    violates: bool = False
    unknown: bool = False


@command(
    "check",
    group(
        "Limits",
        argument("PLAN"),
        option("--max-eps --max-epsilon most E", "the largest epsilon that is allowed"),
        option("--max-delta allowed D", "the largest delta, and the one asked for want of another"),
        option("--delta D", "delta of the guarantee, in place of the plan's"),
    ),
    group(
        "Drift",
        option("--ledger FILE", "of the run: it must count no more, and have found nothing wrong"),
        option(
            "--against FILE", "the JSON of a report or an answer, which must be about this plan"
        ),
    ),
    PROTECTED,
    group("Output", switch("-q --quiet", "print what fails, and nothing else")),
    examples=(
        "check plan.toml --max-eps 8 --max-delta 1e-5",
        "check plan.toml --max-eps 8 --unit client --adjacency add-remove --json",
    ),
)
def main(line: CommandLine) -> Result:
    """Fail if a plan exceeds its limits, or differs from its report or its ledger.

    PLAN is a file as `dpacct report` reads it. Exits with 0 if everything holds, with 6 if an assumption
    is violated (by the plan's own word, or by what a ledger found), else with 11 if anything fails: for a
    pre-commit hook or a build.
    """
    from dpacct.report.contents import must_bound

    if not line.pick(("most", "allowed", "ledger", "against")):
        message = "give what to check: --max-eps, --max-delta, --ledger or --against"
        raise Usage(message, argument="--max-eps")
    most, allowed = line.read("most", EPSILON), line.read("allowed", PURE_DELTA)
    file, typed = read_stated(line.get("path")), line.read("delta", PURE_DELTA)
    node = file.node.under(**line.under())
    delta = next((d for d in (typed, file.delta, allowed) if d is not None), None)
    if delta is None:
        message = (
            f"{file_name(line.get('path'))} has no delta, without which it has no epsilon: give"
        )
        raise Usage(f"{message} --delta or --max-delta", argument="--delta")
    answer = must_bound(must_be_finite(file.guarantee(node, delta)))
    checks = list[CheckResult]()
    if most is not None:
        said = (
            f"epsilon {leading(answer, 6)} at delta {short(delta, 'up')} ({KNOWN[answer.strength]})"
        )
        checks.append(_within("max-eps", said, number(float(answer)), most))
    if allowed is not None:
        checks.append(_within("max-delta", f"delta {short(delta)}", delta, allowed))
    for name, stated in file.assumptions.items():
        if stated.status is AssumptionStatus.VIOLATED:
            said = f"{name} is violated: {stated.evidence or 'the plan says so'}"
            checks.append(CheckResult("assumptions", False, said, violates=True))
    ledger, against = line.get("ledger"), line.get("against")
    for each in () if ledger is None else ledger_checks(ledger, node):
        wrong, unknown = (
            each.status is status
            for status in (AssumptionStatus.VIOLATED, AssumptionStatus.UNKNOWN)
        )
        said = f"{each.text}: {each.source}"
        checks.append(CheckResult("ledger", not wrong, said, wrong, unknown))
    checks += [] if against is None else _drift(against, node, answer, delta)
    failed = [each for each in checks if not each.holds]
    status = ExitStatus.CHECK_FAILED if failed else ExitStatus.OK
    if any(each.violates for each in failed):
        status = ExitStatus.ASSUMPTION_VIOLATED
    body = {
        "holds": not failed,
        "delta": text(delta),
        "epsilon": within(answer),
        "checks": [
            {"name": e.name, "holds": e.holds, "unknown": e.unknown, "text": e.text} for e in checks
        ],
    }

    def lines() -> Iterator[str]:
        for each in checks:
            yield f"{'unknown' if each.unknown else 'holds' if each.holds else 'FAILS'}  {each.text}"

    return Result(lambda: body, lines, lambda: [each.text for each in failed], status=status)


def _within(name: str, said: str, value: Fraction, most: Fraction) -> CheckResult:
    holds = value <= most
    return CheckResult(name, holds, f"{said} is {'within' if holds else 'above'} {short(most)}")


def _drift(path: str, node: Node, answer: Answer, delta: Fraction) -> Iterator[CheckResult]:
    """Check that a report or an answer is about this plan and states no smaller epsilon."""
    from dpacct import from_dict

    name, written = file_name(path), contents(path)
    try:
        body = json.loads(written)
        stated = body["epsilon"] if body["command"] == "report" else body
        plan = from_dict(body["plan"]).under(body["adjacency"], unit=body["unit"])
        theirs = {
            "adjacency": body["adjacency"],
            "unit": body["unit"],
            "delta": number(body["delta"]),
        }
        upper = number({"epsilon": stated["upper"]}[stated["quantity"]])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        message = f"--against must be the JSON of dpacct report or dpacct eps, which {name} is not"
        raise Usage(message, argument="--against") from error
    if body.get("guarantee_holds") is False:
        yield CheckResult("against", False, f"{name} reports an assumption as violated", True)
    ours = {"adjacency": str(answer.adjacency), "unit": str(answer.unit), "delta": delta}
    same = plan == node.under(answer.adjacency, unit=answer.unit)
    yield CheckResult("plan", same, f"the plan is {'' if same else 'not '}the one of {name}")
    for word, value in ours.items():
        if theirs[word] != value:
            said = f"{word} is {short(value)}, and {short(theirs[word])} in {name}"
            yield CheckResult(word, False, said)
    holds = number(float(answer)) <= upper * (1 + _SLACK)
    said = f"epsilon {leading(answer, 6)} is {'within' if holds else 'above'} the {short(upper)}"
    yield CheckResult("against", holds, f"{said} of {name}")

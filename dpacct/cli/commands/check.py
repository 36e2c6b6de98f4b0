"""Check a plan against limits, its report and its ledger."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

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
        option(
            "--max-delta allowed D", "the largest delta, where epsilon is asked for want of another"
        ),
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
    if not line.pick(("most", "allowed", "ledger", "against")):
        message = "give what to check: --max-eps, --max-delta, --ledger or --against"
        raise Usage(message, argument="--max-eps")
    path, most, allowed = (
        line.get("path") or "",
        line.read("most", EPSILON),
        line.read("allowed", PURE_DELTA),
    )
    file, meaning, delta = read_stated(path), line.meaning(), line.read("delta", PURE_DELTA)
    node = file.node.under(meaning.adjacency, unit=meaning.unit or "")
    at = next((d for d in (delta, file.delta, allowed) if d is not None), None)
    if at is None:
        message = (
            f"{file_name(path)} has no delta, without which it has no epsilon: give --delta or"
        )
        raise Usage(f"{message} --max-delta", argument="--delta")
    from dpacct.report.contents import must_bound

    answer = must_bound(must_be_finite(file.guarantee(node, at)))
    checks = [*_limits(answer, at, most, allowed)]
    for name, stated in file.assumptions.items():
        if stated.status is AssumptionStatus.VIOLATED:
            said = f"{name} is violated: {stated.evidence or 'the plan says so'}"
            checks.append(CheckResult("assumptions", False, said, violates=True))
    ledger, against = line.get("ledger"), line.get("against")
    for each in () if ledger is None else ledger_checks(ledger, node):
        wrong = each.status is AssumptionStatus.VIOLATED
        unknown = each.status is AssumptionStatus.UNKNOWN
        said = f"{each.text}: {each.source}"
        checks.append(CheckResult("ledger", not wrong, said, violates=wrong, unknown=unknown))
    if against is not None:
        checks += _drift(against, node, answer, at)
    failed = [each for each in checks if not each.holds]
    status = ExitStatus.CHECK_FAILED if failed else ExitStatus.OK
    if any(each.violates for each in failed):
        status = ExitStatus.ASSUMPTION_VIOLATED
    keys = ("name", "holds", "unknown", "text")
    body = {
        "holds": not failed,
        "delta": text(at),
        "epsilon": within(answer),
        "checks": [{key: each._asdict()[key] for key in keys} for each in checks],
    }

    def lines() -> Iterator[str]:
        for each in checks:
            yield f"{'unknown' if each.unknown else 'holds' if each.holds else 'FAILS'}  {each.text}"

    return Result(lambda: body, lines, lambda: [each.text for each in failed], status=status)


def _limits(
    answer: Answer, delta: Fraction, most: Fraction | None, allowed: Fraction | None
) -> Iterator[CheckResult]:
    from dpacct.answer.answer import KNOWN, leading

    at = f"epsilon {leading(answer, 6)} at delta {short(delta, 'up')} ({KNOWN[answer.strength]})"
    if most is not None:
        yield _within("max-eps", at, number(float(answer)), most)
    if allowed is not None:
        yield _within("max-delta", f"delta {short(delta)}", delta, allowed)


def _within(name: str, said: str, value: Fraction, most: Fraction) -> CheckResult:
    holds = value <= most
    return CheckResult(name, holds, f"{said} is {'within' if holds else 'above'} {short(most)}")


def _drift(path: str, node: Node, answer: Answer, delta: Fraction) -> Iterator[CheckResult]:
    """Check that a report or an answer is about this plan and states no smaller epsilon."""
    from dpacct import from_dict
    from dpacct.answer.answer import leading

    name, written = file_name(path), contents(path)
    try:
        body = json.loads(written)
        stated = body["epsilon"] if body["command"] == "report" else body
        theirs = {
            "adjacency": body["adjacency"],
            "unit": body["unit"],
            "delta": number(body["delta"]),
        }
        plan = from_dict(body["plan"]).under(body["adjacency"], unit=body["unit"])
        upper = number({"epsilon": stated["upper"]}[stated["quantity"]])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        message = f"--against must be the JSON of dpacct report or dpacct eps, which {name} is not"
        raise Usage(message, argument="--against") from error
    if body.get("guarantee_holds") is False:
        said = f"{name} reports an assumption as violated"
        yield CheckResult("against", False, said, violates=True)
    ours: dict[str, Any] = {
        "adjacency": str(answer.adjacency),
        "unit": str(answer.unit),
        "delta": delta,
    }
    same = plan == node.under(ours["adjacency"], unit=ours["unit"])
    yield CheckResult("plan", same, f"the plan is {'' if same else 'not '}the one of {name}")
    for word, value in ours.items():
        if theirs[word] != value:
            said = f"{word} is {short(value)}, and {short(theirs[word])} in {name}"
            yield CheckResult(word, False, said)
    said = f"epsilon {leading(answer, 6)}"
    found = _within("against", said, number(float(answer)), upper * (1 + _SLACK))
    beyond = f"{said} is {'within' if found.holds else 'above'} the {short(upper)} of {name}"
    yield found._replace(text=beyond)

"""The command `ledger`: charges, what is left, and whether the files are intact."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dpacct.cli.command import Command
from dpacct.cli.output import Result
from dpacct.declare.domain import Text, one_of
from dpacct.declare.number import down, shown, up
from dpacct.declare.record import Maybe, Parameter, Several, Usage
from dpacct.errors import AssumptionViolated, LedgerDamaged

if TYPE_CHECKING:
    from dpacct.ledger.ledger import Ledger

ACTIONS = ("show", "check", "report")


class LedgerFile(Command):
    """Read a ledger written by dpacct.Ledger; nothing is changed.

    `show` lists what was spent and what is left, `check` verifies every byte and prints the mark of
    the last line, `report` states the guarantee with its assumptions (exit code 6 if one was found
    violated). A file that is not as written is refused, with the place.
    """

    heading = "Check"
    actions: Parameter[tuple[str, ...]] = Several(
        Text(),
        "what to do, and the file",
        "show|check|report FILE",
        default=(),
        kw_only=False,
        alias="words",
    )
    mark: Parameter[str | None] = Maybe(
        Text(), "a mark noted earlier: refuse a file that was put back to before it", "HASH"
    )
    examples = (
        "ledger show run.ledger",
        "ledger check run.ledger",
        "ledger report run.ledger --json",
    )

    def answer(self) -> Result:
        """Read the file."""
        if len(self.actions) != 2 or self.actions[0] not in ACTIONS:
            got = shown(" ".join(self.actions))
            message = f"ledger takes an action ({one_of(ACTIONS)}) and a file, got {got}"
            raise Usage(message, argument="WORDS")
        if self.mark is not None and self.actions[0] != "check":
            raise Usage("--mark is for ledger check only", argument="--mark")
        from dpacct.ledger.ledger import Ledger

        action, path = self.actions
        with Ledger(path, read_only=True) as ledger:
            if self.mark is not None and not ledger.has_mark(self.mark):
                raise LedgerDamaged(
                    f"--mark must be the mark of one of the ledger's lines, got {shown(self.mark)}, so the"
                    " file was put back to an earlier state or is another one",
                    argument="--mark",
                )
            body, lines = _ACTIONS[action](ledger)
        status = AssumptionViolated.exit_code if body.get("violated") else 0
        return Result(lambda: {"action": action, **body}, lambda: lines, status=status)


def _facts(ledger: Ledger) -> dict[str, Any]:
    """The lines that all actions print."""
    return {
        "path": str(ledger.path),
        "id": ledger.header["id"],
        "made": ledger.header["made"],
        "by": ledger.header["by"],
        "budget": ledger.budget.to_dict(),
        "rule": ledger.rule,
        "lines": ledger.lines,
        "mark": ledger.mark,
        "recovered": list(ledger.recovered),
        "dropped": list(ledger.dropped),
    }


def _show(ledger: Ledger) -> tuple[dict[str, Any], list[str]]:
    from dpacct.ledger.accounts import measure

    limited = ledger.budget.delta is not None
    spent, share = (ledger.spent() if limited else None), 1.0 - ledger.remaining.share
    left = ledger.remaining.epsilon
    names = [name for name in ledger.accounts if name != "run"]
    ends = list(ledger.outcomes.values())
    unknown = len(ledger.intents) - len(ends)
    outcomes = {
        "released": ends.count("released"),
        "failed": ends.count("failed"),
        "unknown": unknown,
    }
    body = {
        **_facts(ledger),
        "intents": len(ledger.intents),
        "outcomes": outcomes,
        "plan": None if ledger.plan is None else ledger.plan.to_dict(),
        "spent": None if spent is None else spent.to_dict(),
        "share": share,
        "remaining_epsilon": left if math.isfinite(left) else None,
        "accounts": {name: _account(ledger, name) for name in names},
    }
    lines = [
        f"budget   {ledger.budget}",
        f"rule     {ledger.rule}",
        f"counted  {len(ledger.intents)} intents, each before its noise was drawn{_ends(outcomes)}",
        f"plan     {ledger.plan or 'nothing'}",
    ]
    if spent is not None:
        lines += [
            f"spent    {spent}",
            "         read as a plan fixed in advance; "
            f"{100 * share:.4g} % of {measure(ledger.rule)} is used",
            f"left     {_left(ledger)}",
        ]
    for name in names:
        account = ledger.account(name)
        lines.append(f"{shown(name)}: {account.plan or 'nothing'}, of {account.budget}")
    if ledger.recovered:
        numbers = ", ".join(map(str, ledger.recovered))
        lines.append(f"note     a crash had cut short line {numbers}: counted all the same")
    if ledger.dropped:
        numbers = ", ".join(map(str, ledger.dropped))
        meaning = "before anything was released for it: not counted"
        lines.append(f"note     a crash had cut short line {numbers} {meaning}")
    return body, lines


def _ends(outcomes: Mapping[str, int]) -> str:
    """Count how the recorded releases ended, where that was noted (by `release`, not by `spend`)."""
    noted = [f"{count} {end}" for end, count in outcomes.items() if count and end != "unknown"]
    if not noted:
        return ""
    unknown = outcomes["unknown"]
    return f" ({', '.join(noted)}{f', {unknown} without a noted end' if unknown else ''})"


def _left(ledger: Ledger) -> str:
    """Return what can still be released, as one number in words."""
    remaining = ledger.remaining
    epsilon = f"epsilon {down(remaining.epsilon, 6)}"
    if ledger.rule != "planned":
        return epsilon
    if not remaining.share:
        return f"nothing of the declared plan, which has ended ({epsilon} of the budget is unused)"
    return f"{down(100 * remaining.share, 4)} % of the declared plan ({epsilon} of the budget)"


def _account(ledger: Ledger, name: str) -> dict[str, Any]:
    account = ledger.account(name)
    spent = None if account.budget.delta is None else account.spent.to_dict()
    plan = None if account.plan is None else account.plan.to_dict()
    budget = account.budget.to_dict()
    return {"budget": budget, "rule": account.rule, "plan": plan, "spent": spent}


def _check(ledger: Ledger) -> tuple[dict[str, Any], list[str]]:
    said = f"whole: {ledger.lines} lines, {len(ledger.intents)} intents"
    return {**_facts(ledger), "whole": True}, [said, f"mark: {ledger.mark}"]


def _report(ledger: Ledger) -> tuple[dict[str, Any], list[str]]:
    answer = ledger.guarantee()
    violated = [a.text for a in answer.assumptions if str(a.status) == "violated"]
    budget, planned, spent = ledger.budget, ledger.planned, ledger.spent()
    lines = [
        f"All that this ledger counts is ({up(float(answer), 10)}, {up(budget.stated_delta, 10)})"
        f"-differentially private, {budget.adjacency}, per {budget.unit}.",
        f"  rule: {ledger.rule}; {'; '.join(answer.basis)}",
        *([] if planned is None else [f"  planned: {planned}"]),
        f"  counted: {ledger.plan or 'nothing'}",
        f"  spent: {spent}, read as a plan fixed in advance",
        *(f"  assumes: {assumption}" for assumption in answer.assumptions),
    ]
    if violated:
        lines.append(f"  NOT SO: {len(violated)} of its assumptions were found violated.")
    body = {
        **_facts(ledger),
        "guarantee": answer.to_dict(),
        "planned": None if planned is None else planned.to_dict(),
        "counted": None if ledger.plan is None else ledger.plan.to_dict(),
        "spent": spent.to_dict(),
        "violated": violated,
    }
    return body, lines


_ACTIONS = {"show": _show, "check": _check, "report": _report}

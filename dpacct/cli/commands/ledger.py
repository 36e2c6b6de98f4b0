"""Keep a privacy budget in a file: make it, spend from it, show what is left, check it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

from dpacct.cli.command import (
    DELTA,
    EPSILON,
    PROTECTED,
    CommandLine,
    argument,
    command,
    group,
    option,
)
from dpacct.cli.output import Result
from dpacct.cli.plan_file import read_plan
from dpacct.cli.plan_text import plan_from_text
from dpacct.declare.domain import one_of
from dpacct.declare.number import shown, up
from dpacct.declare.record import Usage
from dpacct.errors import AssumptionViolated, LedgerDamaged

if TYPE_CHECKING:
    from dpacct.ledger.ledger import Ledger

Page = tuple[dict[str, Any], list[str]]

_OWN = {"init": ("epsilon", "delta", "plan", "adjacency", "unit"), "spend": ("label",)}
_OWN |= {"show": (), "log": (), "check": ("head",), "report": ()}
"""The actions, each with the options that are its own."""


@command(
    "ledger",
    group(
        "Ledger",
        argument("init|spend|show|log|check|report FILE [STEP ...]", "words", many=True),
        EPSILON,
        DELTA,
        option(
            "--plan FILE", "of a new ledger: what its releases are drawn from, fixed in advance"
        ),
        option("--label L", "for spend: what the release is, for the log"),
        option("--head HASH", "for check: a head noted earlier, which the file must still hold"),
    ),
    PROTECTED,
    examples=(
        "ledger init year.ledger --eps 2 --delta 1e-6",
        "ledger spend year.ledger 'Laplace(b=100)' --label 'week 7'",
        "ledger show year.ledger",
        "ledger check year.ledger",
    ),
)
def main(line: CommandLine) -> Result:
    """Keep a privacy budget in a file: make it, spend from it, show what is left, check it.

    `init` makes FILE with a budget (--eps, --delta) and perhaps a plan; `spend` counts each STEP, a plan file
    or a plan as it is printed, such as 'Laplace(b=100)', before you release it, and exits with 4 if it does
    not fit. `show` says what was spent and what is left, `log` lists every release, `check` verifies all
    entries and prints the head of their chain, `report` states the guarantee with its assumptions (exit code
    6 if one was found violated). A file that is not as it was written is refused with exit code 9.
    """
    from dpacct.ledger.ledger import Ledger

    action, path, *steps = (*line.get("words"), "", "")[: max(2, len(line.get("words")))]
    if action not in _OWN or not path:
        message = f"ledger takes an action ({one_of(_OWN)}) and a file,"
        raise Usage(f"{message} got {shown(' '.join(line.get('words')))}", argument="WORDS")
    for own, names in _OWN.items():
        for name in line.pick(names) if own != action else ():
            flag = line.option(name)
            raise Usage(f"{flag} is for ledger {own} only", argument=flag)
    if bool(steps) != (action == "spend"):
        message = f"ledger {action} FILE takes {'a STEP' if action == 'spend' else 'nothing more'}"
        raise Usage(f"{message}, got {shown(' '.join(steps) or 'none')}", argument="STEP")
    how: dict[str, Any] = {"read_only": action not in ("init", "spend")}
    if action == "init":
        line.needs("epsilon", "delta")
        how |= {"budget": (line.get("epsilon"), line.get("delta")), **line.under()}
        how["plan"] = read_plan(plan).node if (plan := line.get("plan")) is not None else None
    spent = [plan_from_text(step) if "(" in step else read_plan(step).node for step in steps]
    with Ledger(path, **how) as ledger:
        if spent:
            whole = reduce(add, spent)
            number = ledger.spend(whole, label=line.get("label") or "").number
            body: dict[str, Any] = {"number": number, "counted": whole.to_dict()}
            lines = [f"counted  {whole}, as entry {number}: release it now", *_left(ledger)]
        elif action == "check":
            lines = _check(ledger, line.get("head"))
            body = {"whole": True}
        else:
            body, lines = {"init": _init, "show": _show, "log": _log, "report": _report}[action](
                ledger
            )
        facts = {
            "action": action,
            "path": str(ledger.path),
            "id": ledger.header["id"],
            "made": ledger.header["at"],
            "by": ledger.header["by"],
            "budget": ledger.budget.to_dict(),
            "rule": ledger.rule,
            "entries": len(ledger),
            "head": ledger.head,
        }
    status = AssumptionViolated.exit_code if body.get("violated") else 0
    return Result(lambda: facts | body, lambda: lines, status=status)


def _init(ledger: Ledger) -> Page:
    return {}, [*_heading(ledger), f"head     {ledger.head}"]


def _heading(ledger: Ledger) -> list[str]:
    from dpacct.ledger.rules import MEANING

    return [f"budget   {ledger.budget}", f"rule     {MEANING[ledger.rule]}"]


def _left(ledger: Ledger) -> list[str]:
    """The room for what was counted last, else for the first release of the declared plan."""
    plan = ledger.plan or ledger.planned
    if plan is None:
        return []
    return [f"left     {ledger.room(plan.releases()[-1 if ledger.plan else 0][0])}"]


def _show(ledger: Ledger) -> Page:
    accounts = {name: ledger.account(name) for name in ledger.accounts if name != "run"}
    spent = None if ledger.budget.delta is None else ledger.spent()
    ends, count, left = [*ledger.outcomes.values()], len(ledger.intents), _left(ledger)
    outcomes = {end: ends.count(end) for end in ("released", "failed")}
    outcomes["unknown"] = count - len(ends)
    body = {
        "intents": count,
        "outcomes": outcomes,
        "plan": ledger.plan and ledger.plan.to_dict(),
        "spent": spent and spent.to_dict(),
        "share": 1.0 - ledger.remaining.share,
        "left": left[0].removeprefix("left     ") if left else None,
        "accounts": {
            name: {
                "budget": account.budget.to_dict(),
                "rule": account.rule,
                "plan": account.plan and account.plan.to_dict(),
                "spent": None if account.budget.delta is None else account.spent.to_dict(),
            }
            for name, account in accounts.items()
        },
    }
    # `release` notes how it ended, `spend` does not
    words = {"released": "released", "failed": "failed", "unknown": "without a noted end"}
    noted = ", ".join(f"{outcomes[end]} {word}" for end, word in words.items() if outcomes[end])
    lines = [
        *_heading(ledger),
        f"counted  {_releases(count)}, each before its noise was drawn{f' ({noted})' if ends else ''}",
        f"plan     {ledger.plan or 'nothing'}",
        *([] if spent is None else [f"spent    {spent}, if all of it had been planned beforehand"]),
        *left,
        *(f"{shown(n)}: {a.plan or 'nothing'}, of {a.budget}" for n, a in accounts.items()),
        f"head     {ledger.head}",
    ]
    return body, lines


def _releases(count: int) -> str:
    return "1 release" if count == 1 else f"{count:,} releases"


def _log(ledger: Ledger) -> Page:
    outcomes, charges = ledger.outcomes, ledger.charged_at()
    rows = [
        {
            "number": entry["n"],
            "at": entry["at"],
            "label": entry["label"],
            "outcome": outcomes.get(entry["n"], "unknown"),
            "charges": {name: str(plan) for name, plan in charges[entry["n"]].items()},
        }
        for entry in ledger.intents
    ]
    return {"releases": rows}, [_row(row) for row in rows] or ["nothing counted"]


def _row(row: Mapping[str, Any]) -> str:
    by_plan: dict[str, list[str]] = {}
    for name, plan in row["charges"].items():
        by_plan.setdefault(plan, []).append(name)
    whose = [p if n == ["run"] else f"{shown(', '.join(n))}: {p}" for p, n in by_plan.items()]
    label = f"  {shown(row['label'])}" if row["label"] else ""
    outcome = "" if row["outcome"] == "unknown" else f"  {row['outcome']}"
    return f"{row['number']:>6}  {row['at']}  {'; '.join(whose)}{label}{outcome}"


def _check(ledger: Ledger, head: str | None) -> list[str]:
    if head is not None and not ledger.has(head):
        raise LedgerDamaged(
            f"--head must be the hash of one of the ledger's entries, got {shown(head, 70)}, so the file"
            " was put back to an earlier state, lost its last entries, or is another one",
            argument="--head",
        )
    said = f"whole    {len(ledger)} entries, {_releases(len(ledger.intents))}"
    return [said, f"head     {ledger.head}"]


def _report(ledger: Ledger) -> Page:
    answer = ledger.guarantee()
    violated = [a.text for a in answer.assumptions if str(a.status) == "violated"]
    budget, planned, spent = ledger.budget, ledger.planned, ledger.spent()
    lines = [
        f"All that this ledger counts is ({up(float(answer), 10)}, {up(budget.stated_delta, 10)})"
        f"-differentially private, {budget.adjacency}, per {budget.unit}.",
        f"  rule: {ledger.rule}; {'; '.join(answer.basis)}",
        *([] if planned is None else [f"  planned: {planned}"]),
        f"  counted: {ledger.plan or 'nothing'}",
        f"  spent: {spent}, if all of it had been planned beforehand",
        f"  head: {ledger.head}",
        *(f"  assumes: {assumption}" for assumption in answer.assumptions),
    ]
    if violated:
        lines.append(f"  NOT SO: {len(violated)} of its assumptions were found violated.")
    body = {
        "guarantee": answer.to_dict(),
        "planned": planned and planned.to_dict(),
        "counted": ledger.plan and ledger.plan.to_dict(),
        "spent": spent.to_dict(),
        "violated": violated,
    }
    return body, lines

"""Keep a privacy budget in a file: make it, spend from it, show what is left, check it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpacct.cli.command import EPSILON as EPS
from dpacct.cli.command import CommandLine, argument, command, group, option
from dpacct.cli.commands.compose import PROTECTED
from dpacct.cli.output import Result
from dpacct.cli.plan_file import read_plan
from dpacct.cli.plan_text import plan_from_text
from dpacct.declare.domain import DELTA, EPSILON, Text, one_of
from dpacct.declare.number import shown, up
from dpacct.declare.record import Usage
from dpacct.declare.words import Meaning
from dpacct.errors import AssumptionViolated, LedgerDamaged

if TYPE_CHECKING:
    from dpacct.ledger.ledger import Ledger

Body = dict[str, Any]
Page = tuple[Body, list[str]]


@dataclass(frozen=True)
class LedgerWish:
    """The options of an action."""

    steps: tuple[str, ...]
    epsilon: Fraction | None
    delta: Fraction | None
    plan: str | None
    label: str | None
    head: str | None
    adjacency: str | None
    unit: str | None


@command(
    "ledger",
    group(
        "Ledger",
        argument("words", "init|spend|show|log|check|report FILE [STEP ...]", Text(), many=True),
        option(EPS, "the budget of a new ledger", EPSILON),
        option("--delta D", "the budget of a new ledger", DELTA),
        option(
            "--plan FILE",
            "of a new ledger: the plan that its releases are drawn from, fixed in advance",
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
def main(line: CommandLine, words: tuple[str, ...], **options: Any) -> Result:
    """Keep a privacy budget in a file: make it, spend from it, show what is left, check it.

    `init` makes FILE with a budget (--eps, --delta) and perhaps a plan; `spend` counts each STEP, a plan file
    or a plan as it is printed, such as 'Laplace(b=100)', before you release it, and exits with 4 if it does
    not fit. `show` says what was spent and what is left, `log` lists every release, `check` verifies all
    entries and prints the head of their chain, `report` states the guarantee with its assumptions (exit code
    6 if one was found violated). A file that is not as it was written is refused with exit code 9.
    """
    if len(words) < 2 or words[0] not in _ACTIONS:
        got = shown(" ".join(words))
        message = f"ledger takes an action ({one_of(tuple(_ACTIONS))}) and a file, got {got}"
        raise Usage(message, argument="WORDS")
    action, path, *steps = words
    meaning = Meaning.read(line.typed, line.option)
    wish = LedgerWish(tuple(steps), **options, adjacency=meaning.adjacency, unit=meaning.unit)
    for name, (flag, of) in _OPTIONS.items():
        if vars(wish)[name] is not None and action != of:
            raise Usage(f"{flag} is for ledger {of} only", argument=flag)
    if bool(steps) != (action == "spend"):
        message = f"ledger {action} FILE takes {'a STEP' if action == 'spend' else 'nothing more'}"
        raise Usage(f"{message}, got {shown(' '.join(steps) or 'none')}", argument="STEP")
    body, lines = _ACTIONS[action](wish, path)
    status = AssumptionViolated.exit_code if body.get("violated") else 0
    return Result(lambda: {"action": action, **body}, lambda: lines, status=status)


_OPTIONS = {
    "epsilon": ("--eps", "init"),
    "delta": ("--delta", "init"),
    "plan": ("--plan", "init"),
    "adjacency": ("--adjacency", "init"),
    "unit": ("--unit", "init"),
    "label": ("--label", "spend"),
    "head": ("--head", "check"),
}
"""The option's name on the command line, and the action that takes it."""


def _init(wish: LedgerWish, path: str) -> Page:
    from dpacct.ledger.ledger import Ledger

    for flag, value in (("--eps", wish.epsilon), ("--delta", wish.delta)):
        if value is None:
            raise Usage(f"ledger init needs {flag}, of the budget", argument=flag)
    plan = None if wish.plan is None else read_plan(wish.plan).node
    with Ledger(
        path, budget=(wish.epsilon, wish.delta), plan=plan, adjacency=wish.adjacency, unit=wish.unit
    ) as ledger:
        return _facts(ledger), [*_heading(ledger), f"head     {ledger.head}"]


def _spend(wish: LedgerWish, path: str) -> Page:
    from dpacct.ledger.ledger import Ledger

    plans = [
        read_plan(step).node if "(" not in step else plan_from_text(step) for step in wish.steps
    ]
    whole = plans[0]
    for plan in plans[1:]:
        whole = whole + plan
    with Ledger(path) as ledger:
        receipt = ledger.spend(whole, label=wish.label or "")
        body = {**_facts(ledger), "number": receipt.number, "counted": whole.to_dict()}
        lines = [f"counted  {whole}, as entry {receipt.number}: release it now", *_left(ledger)]
        return body, lines


def _reading(page: Callable[[Ledger, LedgerWish], Page]) -> Callable[[LedgerWish, str], Page]:
    """An action that only reads."""

    def read(wish: LedgerWish, path: str) -> Page:
        from dpacct.ledger.ledger import Ledger

        with Ledger(path, read_only=True) as ledger:
            return page(ledger, wish)

    return read


def _facts(ledger: Ledger) -> Body:
    """The facts that all actions tell programs."""
    header = ledger.header
    return {
        "path": str(ledger.path),
        "id": header["id"],
        "made": header["at"],
        "by": header["by"],
        "budget": ledger.budget.to_dict(),
        "rule": ledger.rule,
        "entries": len(ledger),
        "head": ledger.head,
    }


def _heading(ledger: Ledger) -> list[str]:
    from dpacct.ledger.rules import Adaptive, Planned, Unlimited

    meaning = {kind.name: kind.meaning for kind in (Adaptive, Planned, Unlimited)}
    return [f"budget   {ledger.budget}", f"rule     {meaning[ledger.rule]}"]


def _last(ledger: Ledger) -> Any:
    """The kind of release that was counted last, else the first of the declared plan; None without both."""
    plan = ledger.plan or ledger.planned
    return None if plan is None else plan.releases()[-1 if ledger.plan else 0][0]


def _left(ledger: Ledger) -> list[str]:
    step = _last(ledger)
    return [] if step is None else [f"left     {ledger.room(step)}"]


def _show(ledger: Ledger, _: LedgerWish) -> Page:
    limited = ledger.budget.delta is not None
    spent = ledger.spent() if limited else None
    names = [name for name in ledger.accounts if name != "run"]
    intents, ends = ledger.intents, list(ledger.outcomes.values())
    outcomes = {
        "released": ends.count("released"),
        "failed": ends.count("failed"),
        "unknown": len(intents) - len(ends),
    }
    left = _left(ledger)
    body = {
        **_facts(ledger),
        "intents": len(intents),
        "outcomes": outcomes,
        "plan": None if ledger.plan is None else ledger.plan.to_dict(),
        "spent": None if spent is None else spent.to_dict(),
        "share": 1.0 - ledger.remaining.share,
        "left": left[0].removeprefix("left     ") if left else None,
        "accounts": {name: _account(ledger, name) for name in names},
    }
    lines = [
        *_heading(ledger),
        f"counted  {_releases(len(intents))}, each before its noise was drawn{_ends(outcomes)}",
        f"plan     {ledger.plan or 'nothing'}",
    ]
    if spent is not None:
        lines.append(f"spent    {spent}, if all of it had been planned beforehand")
    lines += left
    for name in names:
        account = ledger.account(name)
        lines.append(f"{shown(name)}: {account.plan or 'nothing'}, of {account.budget}")
    return body, [*lines, f"head     {ledger.head}"]


def _releases(count: int) -> str:
    return "1 release" if count == 1 else f"{count:,} releases"


def _ends(outcomes: Mapping[str, int]) -> str:
    """Count how the recorded releases ended, where that was noted (by `release`, not by `spend`)."""
    noted = [f"{count} {end}" for end, count in outcomes.items() if count and end != "unknown"]
    if not noted:
        return ""
    unknown = outcomes["unknown"]
    return f" ({', '.join(noted)}{f', {unknown} without a noted end' if unknown else ''})"


def _account(ledger: Ledger, name: str) -> Body:
    account = ledger.account(name)
    spent = None if account.budget.delta is None else account.spent.to_dict()
    plan = None if account.plan is None else account.plan.to_dict()
    budget = account.budget.to_dict()
    return {"budget": budget, "rule": account.rule, "plan": plan, "spent": spent}


def _log(ledger: Ledger, _: LedgerWish) -> Page:
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
    return {**_facts(ledger), "releases": rows}, [_row(row) for row in rows] or ["nothing counted"]


def _row(row: Mapping[str, Any]) -> str:
    by_plan: dict[str, list[str]] = {}
    for name, plan in row["charges"].items():
        by_plan.setdefault(plan, []).append(name)
    whose = "; ".join(
        plan if names == ["run"] else f"{shown(', '.join(names))}: {plan}"
        for plan, names in by_plan.items()
    )
    label = f"  {shown(row['label'])}" if row["label"] else ""
    outcome = "" if row["outcome"] == "unknown" else f"  {row['outcome']}"
    return f"{row['number']:>6}  {row['at']}  {whose}{label}{outcome}"


def _check(ledger: Ledger, wish: LedgerWish) -> Page:
    if wish.head is not None and not ledger.has(wish.head):
        raise LedgerDamaged(
            f"--head must be the hash of one of the ledger's entries, got {shown(wish.head, 70)}, so the file"
            " was put back to an earlier state, lost its last entries, or is another one",
            argument="--head",
        )
    said = f"whole    {len(ledger)} entries, {_releases(len(ledger.intents))}"
    return {**_facts(ledger), "whole": True}, [said, f"head     {ledger.head}"]


def _report(ledger: Ledger, _: LedgerWish) -> Page:
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
        **_facts(ledger),
        "guarantee": answer.to_dict(),
        "planned": None if planned is None else planned.to_dict(),
        "counted": None if ledger.plan is None else ledger.plan.to_dict(),
        "spent": spent.to_dict(),
        "violated": violated,
    }
    return body, lines


_ACTIONS: dict[str, Callable[[LedgerWish, str], Page]] = {
    "init": _init,
    "spend": _spend,
    "show": _reading(_show),
    "log": _reading(_log),
    "check": _reading(_check),
    "report": _reading(_report),
}

"""Accounts: whom a ledger protects, what each was charged, and what still fits its budget."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from dpacct.answer import Answer
from dpacct.declare.number import down, near
from dpacct.display import Displayed, Facts
from dpacct.errors import InvalidArgument
from dpacct.ledger.budget import Budget
from dpacct.ledger.rules import BudgetRule, Charges, decided, epsilon
from dpacct.plan.node import Node
from dpacct.vocabulary import Assumption

RUN = "run"
"""The account of a ledger without names."""
_READING = Assumption(
    "the plan recorded so far is read as if it had been fixed in advance; "
    "what holds whatever was chosen on the way is the budget",
    source="ledger",
    id="fixed-plan",
)


@dataclass(frozen=True, eq=False)
class State:
    """The shared state of accounts with one rule and equal charges, so that each question is decided once."""

    rule: BudgetRule
    charges: Charges

    @functools.cached_property
    def _fits(self) -> dict[Node, bool]:
        return {}

    def fits(self, node: Node) -> bool:
        """Return whether one more release fits."""
        if node not in self._fits:
            self._fits[node] = self.rule.fits(self.charges, node)
        return self._fits[node]


def measure(rule: BudgetRule) -> str:
    """The measure in which a rule expresses shares."""
    return "the declared plan" if rule.whole is not None else "the budget"


def facts_of(state: State) -> dict[str, object]:
    """Budget, rule and use of an account, for whoever looks at it."""
    facts: dict[str, object] = {"budget": state.rule.budget, "rule": state.rule.name}
    if state.rule.name != "none":
        used = near(100 * state.rule.share(state.charges), 3)
        facts["used"] = f"{used} % of {measure(state.rule)}"
    return facts


class Remaining(Displayed):
    """The room that is left in the budget, computed afresh at each question."""

    def __init__(self, state: Callable[[], State]) -> None:
        self._state = state

    def facts_shown(self) -> Facts:
        """The unused share, rounded down."""
        return {"share": f"{down(100 * self.share, 3)} % of {measure(self._state().rule)}"}

    @property
    def share(self) -> float:
        """Share of the budget that is unused, from 0 to 1, by the rule's own measure."""
        state = self._state()
        return max(0.0, 1.0 - state.rule.share(state.charges))

    def steps(self, plan: Node) -> int:
        """The number of times that `plan` can still be released."""
        state = self._state()
        return state.rule.steps(state.charges, state.rule.budget.check(plan))


class LedgerQuestions(Displayed):
    """Questions that a ledger and its accounts answer alike, from the entries of all processes."""

    _state: Callable[[], State]

    @property
    def budget(self) -> Budget:
        """The budget."""
        return self._state().rule.budget

    @property
    def rule(self) -> str:
        """The name of the rule that decides: "adaptive", "planned" or "none"."""
        return self._state().rule.name

    @property
    def plan(self) -> Node | None:
        """The composition of everything counted; None if nothing was."""
        return self._state().charges.plan

    @property
    def planned(self) -> Node | None:
        """The plan declared when the account was opened; None where none was."""
        return self._state().rule.whole

    @property
    def remaining(self) -> Remaining:
        """The room that is left in the budget, as a share and as numbers of steps."""
        return Remaining(self._state)

    def would_exceed(self, plan: Node) -> bool:
        """Return whether releasing `plan` now would exceed the budget; records nothing.

        Raises as the plan's own questions do.
        """
        state = self._state()
        return not state.fits(state.rule.budget.check(plan))

    def room(self, plan: Node) -> str:
        """Say in one sentence how many releases of `plan` still fit, why, and what would let more fit.

        Raises as the plan's own questions do.
        """
        state = self._state()
        return state.rule.room(state.charges, state.rule.budget.check(plan))

    def guarantee(self) -> Answer:
        """The guarantee whenever the releases stop: the budget or, with a declared plan, its cost.

        Raises `Unsupported` for an account that has neither.
        """
        state = self._state()
        return state.rule.guarantee(state.charges)


class Account(LedgerQuestions):
    """One account of a ledger; each question reads what other processes have appended."""

    def __init__(self, name: str, state: Callable[[], State]) -> None:
        if not isinstance(name, str) or not name:
            raise InvalidArgument(f"name must be a text, got {name!r:.60}", argument="name")
        self.name = name
        self._state = state

    def heading_shown(self) -> str:
        """The name."""
        return f"Account {self.name!r}"

    def facts_shown(self) -> Facts:
        """Show the budget, and how much of it is used."""
        return facts_of(self._state())

    @property
    def spent(self) -> Answer:
        """Epsilon of what was counted, at the budget's delta, read as a plan fixed in advance."""
        return spent(self._state())


def spent(state: State) -> Answer:
    """Epsilon of what was counted, at the budget's delta, read as a plan fixed in advance."""
    plan, budget = state.charges.plan, state.rule.budget
    answer = epsilon(plan, budget)
    if plan is None:
        return answer
    limit = budget.epsilon
    if limit is not None and (answer.upper or 0.0) > limit and decided(plan, budget).met:
        # The upper end of epsilon may lie above a budget that delta's upper end meets; both ends hold.
        answer = replace(answer, value=_above(limit), upper=_above(limit))
    return replace(answer, assumptions=(*answer.assumptions, _READING))


def _above(number: Fraction) -> float:
    """The smallest float that is at least `number`."""
    value = float(number)
    return value if value >= number else math.nextafter(value, math.inf)

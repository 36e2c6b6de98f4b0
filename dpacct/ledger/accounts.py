"""Accounts: whom a ledger protects, what each was charged, and what is left of its budget."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakValueDictionary

from dpacct.answer import Answer
from dpacct.declare.number import down, near
from dpacct.declare.record import Displayed, Facts
from dpacct.errors import InvalidArgument
from dpacct.ledger.rules import NOTHING, Budget, BudgetRule, Build, Charges, epsilon, read, reading
from dpacct.plan.node import Node, from_dict
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


class Book:
    """The state of every account, as the lines of a ledger say; and the plans by their names in the file."""

    def __init__(self) -> None:
        self._states: dict[str, State] = {}
        self._equal: WeakValueDictionary[tuple[object, ...], State] = WeakValueDictionary()
        self._plans: dict[str, Node] = {}
        self._names: dict[Node, str] = {}
        self._rules: dict[str, BudgetRule] = {}
        self._start: State | None = None

    def start(self, fields: dict[str, Any]) -> None:
        """Set the ledger's rule: that of the account `run`, and of each account never opened by name."""
        self._start = self._state(self._rule(fields), NOTHING)
        self._states[RUN] = self._start

    def open(self, fields: dict[str, Any]) -> None:
        """Open accounts, each with its own rule."""
        state = self._state(self._rule(fields), NOTHING)
        for name in fields["names"]:
            if name in self._states:
                raise KeyError(name)
            self._states[name] = state

    def charge(self, plan: Node, names: Iterable[str]) -> None:
        """Count a release for all of these; equal accounts stay equal."""
        after: dict[State, State] = {}
        for name in names:
            state = self.state(name)
            if state not in after:
                state.rule.budget.check(plan)
                after[state] = self._state(state.rule, state.charges.after(plan))
            self._states[name] = after[state]

    def _rule(self, fields: dict[str, Any]) -> BudgetRule:
        key = repr([fields.get(name) for name in ("budget", "rule", "plan", "expecting")])
        if key not in self._rules:
            self._rules[key] = read(fields)
        return self._rules[key]

    def _state(self, rule: BudgetRule, charges: Charges) -> State:
        return self._equal.setdefault((rule, charges.key), State(rule, charges))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all accounts, in order of appearance."""
        return tuple(self._states)

    def __contains__(self, name: str) -> bool:
        return name in self._states

    def state(self, name: str) -> State:
        """An account's; nothing was charged to one that never came up."""
        state = self._states.get(name, self._start)
        if state is None:
            raise RuntimeError("the ledger's first line, which states its rule, was not read")
        return state

    def define(self, plans: Mapping[str, Any]) -> None:
        """Names that a line gives to plans, as it writes them."""
        for name, fields in plans.items():
            plan = from_dict(fields)
            self._plans[name], self._names[plan] = plan, name

    def plan(self, written: Any) -> Node:
        """A plan by its name, or as version 1 wrote it."""
        return self._plans[written] if isinstance(written, str) else from_dict(written)

    def written(self, plans: Iterable[Node]) -> tuple[dict[Node, str], dict[str, Any]]:
        """(each plan's name, what defines the names that are new)."""
        fresh: dict[str, Node] = {}
        for plan in plans:
            if plan not in self._names:
                fresh[f"p{len(self._plans) + len(fresh)}"] = plan
        defined = {plan: name for name, plan in fresh.items()}
        names = {plan: self._names.get(plan) or defined[plan] for plan in plans}
        return names, {name: plan.to_dict() for name, plan in fresh.items()}


def measure(rule: str) -> str:
    """The measure in which a rule expresses shares."""
    return "the declared plan" if rule == "planned" else "the budget"


def facts_of(state: State) -> dict[str, object]:
    """Budget, rule and use of an account, for whoever looks at it."""
    facts: dict[str, object] = {"budget": state.rule.budget, "rule": state.rule.name}
    if state.rule.name != "none":
        used = near(100 * state.rule.share(state.charges), 3)
        facts["used"] = f"{used} % of {measure(state.rule.name)}"
    return facts


class Remaining(Displayed):
    """The budget that is left, computed afresh at each question."""

    def __init__(self, state: Callable[[], State]) -> None:
        self._state = state

    def facts_shown(self) -> Facts:
        """Epsilon and share, rounded down."""
        share = f"{down(100 * self.share, 3)} % of {measure(self._state().rule.name)}"
        return {"epsilon": down(self.epsilon, 4), "share": share}

    @property
    def epsilon(self) -> float:
        """The budget's epsilon less the safe end of what was spent; at least 0.

        Epsilons do not add: two releases of this much may cost less or, under a filter, not fit.
        `steps` answers the question that is usually meant.
        """
        state = self._state()
        budget = state.rule.budget
        if budget.epsilon is None:
            return float("inf")
        return max(0.0, float(budget.epsilon) - float(epsilon(state.charges.plan, budget)))

    @property
    def share(self) -> float:
        """Share of the budget that is unused, from 0 to 1, by the rule's own measure."""
        state = self._state()
        return max(0.0, 1.0 - state.rule.share(state.charges))

    def steps(self, plan: Node) -> int:
        """The number of times that `plan` can still be released."""
        state = self._state()
        return state.rule.steps(state.charges, state.rule.budget.check(plan))

    def noise(self, build: Build, *, steps: int = 1) -> Answer:
        """The least noise with which `build(noise)` could still be released `steps` times.

        `build` makes a plan from the noise, such as `lambda s: Poisson(0.01)(Gaussian(sigma=s))`.
        Raises `Unreachable` if no noise is enough, `Unsupported` where the plan was declared.
        """
        state = self._state()
        return state.rule.noise(state.charges, build, steps)


class LedgerQuestions(Displayed):
    """Questions that a ledger and its accounts answer alike, from the lines of all processes."""

    _state: Callable[[], State]

    def would_exceed(self, plan: Node) -> bool:
        """Return whether releasing `plan` now would exceed the budget; records nothing.

        Raises as the plan's own questions do.
        """
        state = self._state()
        return not state.fits(state.rule.budget.check(plan))

    def reading(self) -> Answer:
        """The odometer's reading: a bound on the loss so far, valid at all times simultaneously.

        Unlike `spent`, it holds also where releases, and the moment of asking, were chosen after
        looking at outputs; with probability 1 - the budget's delta.
        """
        state = self._state()
        return reading(state.rule.budget, state.charges)

    def guarantee(self) -> Answer:
        """The guarantee whenever the releases stop: the budget or, with a declared plan, its cost."""
        state = self._state()
        return state.rule.guarantee(state.charges)

    @property
    def remaining(self) -> Remaining:
        """The budget that is left, as epsilon, share, steps and noise."""
        return Remaining(self._state)


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
    def budget(self) -> Budget:
        """The budget."""
        return self._state().rule.budget

    @property
    def rule(self) -> str:
        """The name of the rule that decides: "adaptive", "planned", "fixed" or "none"."""
        return self._state().rule.name

    @property
    def plan(self) -> Node | None:
        """The composition of everything counted; None if nothing was."""
        return self._state().charges.plan

    @property
    def spent(self) -> Answer:
        """Epsilon of what was counted, at the budget's delta, read as a plan fixed in advance."""
        return spent(self._state())


def spent(state: State) -> Answer:
    """Epsilon of what was counted, at the budget's delta, read as a plan fixed in advance."""
    answer = epsilon(state.charges.plan, state.rule.budget)
    if state.charges.plan is None:
        return answer
    return replace(answer, assumptions=(*answer.assumptions, _READING))

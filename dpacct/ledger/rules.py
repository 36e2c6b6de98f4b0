"""The rule by which an account decides whether one more release fits its budget.

With a plan declared at the start (`Planned`) only the order of its releases and the moment of stopping may
depend on outputs; with a privacy filter (`Adaptive`) everything may. Without a budget nothing is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar, NamedTuple

from dpacct.answer import Answer
from dpacct.citations import DECLARED_PLAN, FILTER_RULE, Citation
from dpacct.declare.number import shown
from dpacct.errors import (
    BudgetExceeded,
    DpacctError,
    InvalidArgument,
    LedgerDamaged,
    NotCertified,
    Unsupported,
)
from dpacct.ledger.budget import Budget
from dpacct.ledger.decision import Decision, cost, decide, excess
from dpacct.plan.adaptive import Cost, Filter
from dpacct.plan.combine import Compose, Repeat, composed
from dpacct.plan.node import Leaf, Node, from_dict
from dpacct.vocabulary import Adjacency, Side, Strength, Unit

MOST = 10**15
"""The largest number of releases that is counted."""
_ADDITIONS = 1000


class Charges:
    """The releases so far, as a value: equal steps merged, with all their leaves.

    `tallies` holds what a rule worked out of them; `before` those of the charges before `last` was added.
    """

    def __init__(
        self, steps: Mapping[Node, int] | None = None, leaves: Mapping[Leaf, int] | None = None
    ) -> None:
        self.steps, self.leaves = steps or {}, leaves or {}
        self.tallies: dict[BudgetRule, tuple[Cost, int]] = {}
        self.before: dict[BudgetRule, tuple[Cost, int]] = {}
        self.last: Node | None = None

    def after(self, node: Node) -> Charges:
        """The charges with one more release."""
        steps, leaves = dict(self.steps), dict(self.leaves)
        for part in node.parts if isinstance(node, Compose) else (node,):
            base, times = (part.node, part.steps) if isinstance(part, Repeat) else (part, 1)
            steps[base] = steps.get(base, 0) + times
        for leaf, count in node.releases():
            leaves[leaf] = leaves.get(leaf, 0) + count
        charges = Charges(steps, leaves)
        charges.before, charges.last = self.tallies, node
        return charges

    @cached_property
    def key(self) -> frozenset[tuple[Node, int]]:
        """Equal for equal charges, in whichever order they came."""
        return frozenset(self.steps.items())

    @cached_property
    def plan(self) -> Node | None:
        """The composition of all charges; None without any."""
        parts = [base * times for base, times in self.steps.items()]
        return composed(*parts) if parts else None


NOTHING = Charges()


@lru_cache(maxsize=1024)
def _epsilon(plan: Node, delta: Fraction, adjacency: Adjacency, unit: Unit) -> Answer:
    return cost(plan.under(unit=unit), delta=delta, adjacency=adjacency)


def epsilon(plan: Node | None, budget: Budget) -> Answer:
    """The epsilon of a plan at the budget's delta: exact, or by Renyi divergences if only those are known."""
    delta = budget.stated_delta
    if plan is not None:
        return _epsilon(plan, delta, budget.adjacency, budget.unit)
    return Answer(
        quantity="epsilon",
        value=0.0,
        lower=0.0,
        upper=0.0,
        side=Side.TWO_SIDED,
        strength=Strength.PROVED,
        method="exact",
        adjacency=budget.adjacency,
        unit=budget.unit,
    )


@lru_cache(maxsize=1024)
def decided(plan: Node, budget: Budget) -> Decision:
    """Return whether a plan fixed in advance is within the budget; equal plans are priced once."""
    assert budget.epsilon is not None
    return decide(
        plan.under(unit=budget.unit),
        epsilon=budget.epsilon,
        delta=budget.stated_delta,
        adjacency=budget.adjacency,
    )


def fit_if_planned(budget: Budget, charges: Charges, node: Node) -> int:
    """The number of further releases of `node` that fit the budget if all are fixed in advance."""
    from dpacct.answer.calibration import calibrate

    made = charges.plan

    def plan(count: float) -> Node:
        return node * int(count) if made is None else made + node * int(count)

    if not decided(plan(1), budget).met:
        return 0
    assert budget.epsilon is not None
    most = calibrate(
        plan,
        epsilon=budget.epsilon,
        delta=budget.stated_delta,
        method=epsilon(node, budget).method,
        adjacency=budget.adjacency,
        integer=True,
        name="steps",
    )
    return int(most)


class BudgetRule:
    """Decides about charges; it keeps none itself, so that equal accounts are decided once.

    This one is for an account without a budget: it refuses nothing, and guarantees nothing.
    """

    name: ClassVar[str] = "none"
    meaning: ClassVar[str] = "no budget: releases are counted, and none is refused"
    """The rule in words: which releases may depend on earlier results."""
    why: ClassVar[Citation]
    whole: Node | None = None  # the plan that was declared at the start

    def __init__(self, budget: Budget) -> None:
        self.budget = budget

    def holds(self, charges: Charges) -> bool:
        """Return whether what was charged is within the budget."""
        return True

    def fits(self, charges: Charges, node: Node) -> bool:
        """Return whether `node` can be released within the budget, after all that was charged."""
        return self.holds(charges.after(node))

    def share(self, charges: Charges) -> float:
        """The used share of the budget, from 0 to 1, in the rule's own measure."""
        return 0.0

    def steps(self, charges: Charges, node: Node) -> int:
        """The number of times that `node` can still be released."""
        return MOST

    def room(self, charges: Charges, node: Node) -> str:
        """Return the sentence that says how many releases of `node` still fit, why, and what fits more."""
        return "this ledger has no budget, and counts any number of releases"

    def refusal(self, charges: Charges, node: Node) -> str:
        """Return the sentence that says why `node` does not fit."""
        return f"{shown(node)} does not fit: {self.room(charges, node)}"

    def guarantee(self, charges: Charges) -> Answer:
        """The guarantee whenever the releases stop: the budget, or the cost of a declared plan.

        Raises `NotCertified` where more was counted than the budget allows, `Unsupported` without a budget.
        """
        if not self.holds(charges):
            message = f"the ledger counts more than its budget, {self.budget}: nothing is guaranteed by it"
            raise NotCertified(message, argument="budget")
        value = self._limit()
        assumed = () if charges.plan is None else charges.plan.assumptions(self.budget.adjacency)
        return Answer(
            quantity="epsilon",
            value=value,
            upper=value,
            side=Side.UPPER,
            strength=Strength.BOUND,
            method=self.name,
            basis=(self.why,),
            assumptions=assumed,
            adjacency=self.budget.adjacency,
            unit=self.budget.unit,
            tree=charges.plan,
        )

    def _limit(self) -> float:
        """The epsilon that is guaranteed."""
        if self.budget.epsilon is not None:
            return float(self.budget.epsilon)
        message = "a ledger made without a budget or a plan guarantees nothing for releases that may depend"
        raise Unsupported(f"{message} on earlier results: see what it has spent", argument="budget")

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values, for the entry that opens an account."""
        return {"rule": self.name}


class Planned(BudgetRule):
    """Releases are drawn from a plan declared at the start, in any order, stopped at any time.

    Each is a randomised function of its own draw from its leaf's dominating pair, so all of them
    together are one of the draws of the whole plan, whatever is chosen on the way: decision 0008.
    """

    name = "planned"
    meaning = "a plan declared in advance; its order, and when to stop, may depend on results"
    why = DECLARED_PLAN
    whole: Node

    def __init__(self, budget: Budget, plan: Node) -> None:
        super().__init__(budget)
        self.whole = plan
        self._planned = dict(plan.releases())

    def check(self) -> None:
        """Refuse a plan that costs more than the budget; asked when an account is opened."""
        if self.budget.epsilon is None:
            return
        decision = decided(self.whole, self.budget)
        if not decision.met:
            cost = excess(decision.cost, self.budget.epsilon)
            message = f"the declared plan costs epsilon {cost}, more than {self.budget}"
            raise BudgetExceeded(message, argument="plan")

    def holds(self, charges: Charges) -> bool:
        """Return whether the releases so far are part of the declared plan."""
        return all(n <= self._planned.get(leaf, 0) for leaf, n in charges.leaves.items())

    def share(self, charges: Charges) -> float:
        """The part of all planned releases that was made; 1 where others were."""
        if not self.holds(charges):
            return 1.0
        return sum(charges.leaves.values()) / sum(self._planned.values())

    def steps(self, charges: Charges, node: Node) -> int:
        """The number of releases of this kind left in the plan."""
        if not self.holds(charges):
            return 0
        left = {leaf: n - charges.leaves.get(leaf, 0) for leaf, n in self._planned.items()}
        return min(left.get(leaf, 0) // count for leaf, count in node.releases())

    def room(self, charges: Charges, node: Node) -> str:
        """Name the part of the declared plan that is left, or used up."""
        total = sum(self._planned.values())
        if self.share(charges) >= 1.0:
            return f"the plan has ended, all {total} of its releases were made"
        for leaf, count in node.releases():
            planned, made = self._planned.get(leaf, 0), charges.leaves.get(leaf, 0)
            if not planned:
                if len(self._planned) > 1:
                    return f"{shown(leaf)} is no part of the declared plan, {shown(self.whole)}"
                have = shown(next(iter(self._planned)), 120)
                return f"the declared plan has releases of {have}, got {shown(leaf, 120)}"
            if made + count > planned:
                return f"{made} of the {planned} declared releases of {shown(leaf)} were made"
        left = self.steps(charges, node)
        return f"the declared plan has room for {left:,} more {_releases(left)} of {shown(node)}"

    def _limit(self) -> float:
        """The cost of the whole plan, which bounds that of any part of it."""
        cost = float(epsilon(self.whole, self.budget))
        return cost if self.budget.epsilon is None else min(cost, super()._limit())

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values, with the whole plan."""
        return {"rule": self.name, "plan": self.whole.to_dict()}


class Adaptive(BudgetRule):
    """Anything may depend on earlier outputs: a privacy filter decides."""

    name = "adaptive"
    meaning = "a privacy filter: every release may depend on earlier results"
    why = FILTER_RULE

    def __init__(self, budget: Budget) -> None:
        super().__init__(budget)
        assert budget.epsilon is not None
        self._filter = Filter(
            epsilon=budget.epsilon,
            delta=budget.stated_delta,
            adjacency=budget.adjacency,
            unit=budget.unit,
        )

    def _tally(self, charges: Charges) -> Cost:
        """The cost of all charges, from that of those before the last one where it is known.

        Each addition rounds by at most 1.1e-16; every 1,000 of them the sum is made afresh, so that they
        stay within a tenth of the filter's own SLACK.
        """
        if self not in charges.tallies:
            earlier, additions = charges.before.get(self, (None, _ADDITIONS))
            if charges.last is None or earlier is None or additions >= _ADDITIONS:
                tally = self._filter.tally(charges.steps), 0
            else:
                tally = self._filter.tally({charges.last: 1}, earlier), additions + 1
            charges.tallies[self] = tally
        return charges.tallies[self][0]

    def holds(self, charges: Charges) -> bool:
        """Return whether the filter has room at some order."""
        return self._filter.share(self._tally(charges)) <= 1.0

    def fits(self, charges: Charges, node: Node) -> bool:
        """Return whether the filter admits `node` after all that was charged."""
        return self._filter.share(self._filter.tally({node: 1}, self._tally(charges))) <= 1.0

    def share(self, charges: Charges) -> float:
        """The share that the filter has used at its best order."""
        return min(1.0, self._filter.share(self._tally(charges)))

    def steps(self, charges: Charges, node: Node) -> int:
        """The number of further releases that the filter admits."""
        return self._filter.at_most(node, charges.steps)

    def room(self, charges: Charges, node: Node) -> str:
        """Say how many fit, and how many would if the plan were fixed first."""
        few = self.steps(charges, node)
        number = f"room for {few:,} more {_releases(few)} of" if few else "no room for"
        sentence = (
            f"this ledger has {number} {shown(node)},"
            " because later releases may depend on earlier results"
        )
        try:
            many = fit_if_planned(self.budget, charges, node)
        except DpacctError:  # a kind of release whose cost in advance is not known either
            return sentence
        if many <= few:
            return sentence
        if charges.steps:
            return f"{sentence}; {many:,} would fit had the plan been declared first (plan=)"
        return f"{sentence}; declare the plan first (plan=) and {many:,} fit"


def _releases(count: int) -> str:
    return "release" if count == 1 else "releases"


class Terms(NamedTuple):
    """The terms under which an account is opened."""

    budget: Any = None
    plan: Node | None = None
    adjacency: Adjacency | str | None = None
    unit: Unit | str | None = None

    def rule(self) -> BudgetRule:
        """The rule that a new account is to follow; raises `BudgetExceeded` for a plan that costs more."""
        plan, adjacency, unit = self.plan, self.adjacency, self.unit
        if plan is not None:
            plan = Node.checked(plan)
            adjacency = adjacency or plan.facts.declared or plan.fixed_adjacency
            unit = unit or plan.facts.unit
        budget = Budget.of(self.budget, adjacency, unit)
        if plan is not None:
            rule = Planned(budget, budget.check(plan))
            rule.check()
            return rule
        return BudgetRule(budget) if budget.epsilon is None else Adaptive(budget)

    def agrees(self, rule: BudgetRule, *, asked: bool = True) -> None:
        """Refuse to open what exists as something else; without `asked` the budget is the one it has."""
        kept = rule.budget
        budget = Budget.of(
            self.budget if asked else (kept.epsilon, kept.delta),
            self.adjacency or kept.adjacency,
            self.unit or kept.unit,
        )
        if budget != kept:
            message = f"budget must be the ledger's own, {kept}, got {budget}"
            raise InvalidArgument(message, argument="budget")
        old, new = rule.whole, self.plan
        if new is not None and (old is None or not old.equivalent(new)):
            was = (
                "as the ledger was made, without any"
                if old is None
                else f"the ledger's, {shown(old, 120)}"
            )
            message = f"plan must be {was}, got {shown(Node.checked(new), 120)}"
            advice = "another run wants another file, and both of them are spent"
            raise InvalidArgument(f"{message} ({advice})", argument="plan")


def read(fields: dict[str, Any]) -> BudgetRule:
    """The rule and the budget that an entry names."""
    budget, name = Budget.from_dict(fields["budget"]), fields.get("rule")
    if name == Planned.name:
        return Planned(budget, from_dict(fields["plan"]))
    kind = BudgetRule if budget.epsilon is None else Adaptive
    if name == kind.name:
        return kind(budget)
    message = "rule must be adaptive, planned or none as its budget allows"
    raise LedgerDamaged(f"{message}, got {shown(name)}")


MEANING = {kind.name: kind.meaning for kind in (Planned, Adaptive, BudgetRule)}
"""The rules in words."""

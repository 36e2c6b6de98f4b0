"""The rule by which a ledger decides whether one more release fits the budget, after what was charged.

Rules differ in what may depend on outputs seen before: anything (`Adaptive`), only the order and the stopping
time within a plan declared at the start (`Planned`), nothing (`Fixed`). Without a budget nothing is refused.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from dpacct.answer import Answer
from dpacct.citations import DECLARED_PLAN, FILTER_RULE, FIXED_IN_ADVANCE, ODOMETER_RULE, Citation
from dpacct.declare.domain import DELTA, EPSILON, STEPS
from dpacct.declare.number import near, shown, text
from dpacct.errors import (
    BudgetExceeded,
    InvalidArgument,
    LedgerDamaged,
    NotCertified,
    Unreachable,
    Unsupported,
)
from dpacct.plan.combine import Compose, Repeat, composed
from dpacct.plan.decision import Decision, cost, decide, excess
from dpacct.plan.node import Leaf, Node, from_dict, resolve_adjacency
from dpacct.pld.roots import first_miss, halved
from dpacct.vocabulary import Adjacency, Assumption, Side, Strength, Unit

if TYPE_CHECKING:
    from dpacct.plan.adaptive import Filter


@dataclass(frozen=True)
class Budget:
    """Exact numbers, as they were typed; without `epsilon` nothing is limited."""

    epsilon: Fraction | None
    delta: Fraction | None
    adjacency: Adjacency = Adjacency.ADD_REMOVE
    unit: Unit = Unit.RECORD

    @classmethod
    def of(
        cls,
        stated: object,
        adjacency: Adjacency | str | None = None,
        unit: Unit | str | None = None,
    ) -> Budget:
        """A budget from (epsilon, delta), a mapping with these keys, (None, delta), or None.

        >>> print(Budget.of((8, "1e-5")))
        epsilon 8 at delta 1e-5 per record, add-remove
        >>> print(Budget.of((1, Fraction(1e-7))))  # all digits of a float would not help
        epsilon 1 at delta 1e-7 per record, add-remove
        >>> print(Budget.of((None, "1e-5")))
        any epsilon at delta 1e-5 per record, add-remove
        """
        if isinstance(stated, dict) and set(stated) == {"epsilon", "delta"}:
            stated = (stated["epsilon"], stated["delta"])
        if stated is None:
            stated = (None, None)
        if not isinstance(stated, tuple | list) or len(stated) != 2:
            message = f"budget must be a pair (epsilon, delta), got {shown(stated)}"
            raise InvalidArgument(message, argument="budget")
        epsilon, delta = stated
        return cls(
            None if epsilon is None else EPSILON.check("epsilon", epsilon),
            None if delta is None and epsilon is None else DELTA.check("delta", delta),
            Adjacency.ADD_REMOVE if adjacency is None else Adjacency.parse(adjacency),
            Unit.RECORD if unit is None else Unit.parse(unit),
        )

    def __str__(self) -> str:
        epsilon = "any epsilon" if self.epsilon is None else f"epsilon {_short(self.epsilon)}"
        delta = "" if self.delta is None else f" at delta {_short(self.delta)}"
        return f"{epsilon}{delta} per {self.unit}, {self.adjacency}"

    def check(self, plan: object) -> Node:
        """The plan itself, if it can be charged to this budget; else `InvalidArgument`."""
        plan = Node.checked(plan)
        resolve_adjacency(plan, self.adjacency)
        if plan.facts.unit not in (None, self.unit):
            message = f"unit of the plan must be {self.unit}, which the budget is for"
            raise InvalidArgument(f"{message}, got {plan.facts.unit}", argument="unit")
        return plan

    @property
    def stated_delta(self) -> Fraction:
        """Delta; raises `InvalidArgument` for a ledger that was made without one."""
        if self.delta is None:
            message = "delta must be given when the ledger is made, as budget=(None, delta), to state epsilon"
            raise InvalidArgument(f"{message}, got budget=None", argument="budget")
        return self.delta

    def to_dict(self) -> dict[str, str | None]:
        """Return exact JSON values."""
        return {
            "epsilon": None if self.epsilon is None else text(self.epsilon),
            "delta": None if self.delta is None else text(self.delta),
            "adjacency": str(self.adjacency),
            "unit": str(self.unit),
        }

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Budget:
        """Read what `to_dict` wrote."""
        pair = (fields["epsilon"], fields["delta"])
        return cls.of(pair, fields["adjacency"], fields["unit"])


def _short(number: Fraction) -> str:
    return near(number, 12)


# --- what was charged, and how a rule decides

Build = Callable[[float], Node]
_WIDTH = 1e-9  # relative, of the noise that `noise` returns


class Charges:
    """The charges so far, as a value: equal steps merged, with all their leaves.

    `streak`: how often in a row `last` was charged.
    """

    def __init__(
        self,
        steps: Mapping[Node, int] | None = None,
        leaves: Mapping[Leaf, int] | None = None,
        last: Node | None = None,
        streak: int = 0,
    ) -> None:
        self.steps, self.leaves, self.last, self.streak = steps or {}, leaves or {}, last, streak

    def after(self, node: Node) -> Charges:
        """The charges with one more release."""
        steps, leaves = dict(self.steps), dict(self.leaves)
        for part in node.parts if isinstance(node, Compose) else (node,):
            base, times = (part.node, part.steps) if isinstance(part, Repeat) else (part, 1)
            steps[base] = steps.get(base, 0) + times
        for leaf, count in node.releases():
            leaves[leaf] = leaves.get(leaf, 0) + count
        return Charges(steps, leaves, node, self.streak + 1 if node == self.last else 1)

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
    """The epsilon of a plan at the budget's delta: exact, or by Rényi divergences if only those are known."""
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


class BudgetRule(ABC):
    """Decides about charges; it keeps none of its own, so that equal accounts are decided once."""

    name: ClassVar[str]
    why: ClassVar[Citation]
    assumption: ClassVar[Assumption | None] = None
    limited: ClassVar[bool | None] = True  # whether the budget states an epsilon; None: either
    whole: Node | None = None  # the plan that was declared at the start
    expecting: Node | None = None  # the plan that a filter is tuned for

    def __init__(self, budget: Budget) -> None:
        self.budget = budget

    @classmethod
    def read(cls, budget: Budget, fields: dict[str, Any]) -> BudgetRule:
        """Read what `to_dict` wrote."""
        return cls(budget)

    @abstractmethod
    def holds(self, charges: Charges) -> bool:
        """Return whether what was charged is within the budget."""

    def fits(self, charges: Charges, node: Node) -> bool:
        """Return whether `node` can be released within the budget, after all that was charged."""
        return self.holds(charges.after(node))

    @abstractmethod
    def share(self, charges: Charges) -> float:
        """The used share of the budget, from 0 to 1, in the rule's own measure."""

    @abstractmethod
    def steps(self, charges: Charges, node: Node) -> int:
        """The number of times that `node` can still be released."""

    def refusal(self, charges: Charges, node: Node) -> str:
        """Return the sentence that says why `node` does not fit."""
        return f"{shown(node)} does not fit into what is left of {self.budget}"

    def stops_early(self, charges: Charges, node: Node) -> str:
        """A sentence for a loop over `node` that this rule ends far below what a plan allows, or nothing."""
        return ""

    def noise(self, charges: Charges, build: Build, steps: int) -> Answer:
        """The least noise with which `build(noise)` fits another `steps` times."""
        count = STEPS.check("steps", steps)

        def lacking(scale: float) -> bool:
            return not self.fits(charges, self.budget.check(build(scale)) * count)

        low, high = first_miss(lacking, 1.0, 4.0)
        if high == math.inf:
            raise Unreachable(f"no noise up to 1e12 lets {count} more releases fit the budget")
        if low == 1.0 and not lacking(1.0):
            loud, quiet = first_miss(lambda inverse: not lacking(1.0 / inverse), 1.0, 4.0)
            if quiet == math.inf:
                raise Unreachable("any noise fits the budget: the plan does not depend on it")
            low, high = 1.0 / quiet, 1.0 / loud
        high = halved(lacking, low, high, _WIDTH)[1]
        return self._stated("noise", high, (self.why,))

    def guarantee(self, charges: Charges) -> Answer:
        """The guarantee whenever the releases stop: the budget, or the cost of a declared plan.

        Raises `NotCertified` where more was counted than the budget allows.
        """
        if not self.holds(charges):
            message = f"the ledger counts more than its budget, {self.budget}: nothing is guaranteed by it"
            raise NotCertified(message, argument="budget")
        taken = () if charges.plan is None else charges.plan.assumptions(self.budget.adjacency)
        assumed = () if self.assumption is None else (self.assumption,)
        return self._stated(
            "epsilon",
            self._limit(charges),
            (self.why,),
            assumptions=(*taken, *assumed),
            tree=charges.plan,
        )

    def _limit(self, charges: Charges) -> float:
        """The epsilon that is guaranteed."""
        assert self.budget.epsilon is not None
        return float(self.budget.epsilon)

    def _stated(
        self, quantity: str, value: float, basis: tuple[Citation, ...], **more: Any
    ) -> Answer:
        return Answer(
            quantity=quantity,
            value=value,
            upper=value,
            side=Side.UPPER,
            strength=Strength.BOUND,
            method=self.name,
            basis=basis,
            adjacency=self.budget.adjacency,
            unit=self.budget.unit,
            **more,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values, for the line that opens an account."""
        return {"rule": self.name}


# --- the rules

_LOOP = 3  # equal releases in a row that look like a loop
_FAR = 0.75  # of what a plan allows: a run that ends below is worth a warning
_MOST = 10**15


class Planned(BudgetRule):
    """Releases are drawn from a plan declared at the start, in any order, stopped at any time.

    Each is a randomised function of its own draw from its leaf's dominating pair, so all of them
    together are one of the draws of the whole plan, whatever is chosen on the way: decision 0008.
    """

    name = "planned"
    why = DECLARED_PLAN
    limited = None
    whole: Node

    def __init__(self, budget: Budget, plan: Node) -> None:
        super().__init__(budget)
        self.whole = plan
        self._planned = dict(plan.releases())

    @classmethod
    def read(cls, budget: Budget, fields: dict[str, Any]) -> BudgetRule:
        """Read the rule and its whole plan."""
        return cls(budget, from_dict(fields["plan"]))

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

    def refusal(self, charges: Charges, node: Node) -> str:
        """Name the part of the declared plan that is used up."""
        reason = f"{shown(node)} does not fit into what is left of the declared plan"
        if self.share(charges) >= 1.0:
            total = sum(self._planned.values())
            return f"{reason}: the plan has ended, all {total} of its releases were made"
        for leaf, count in node.releases():
            planned, made = self._planned.get(leaf, 0), charges.leaves.get(leaf, 0)
            if not planned:
                return f"{reason}, {shown(self.whole)}: {shown(leaf)} is no part of it"
            if made + count > planned:
                return f"{reason}: {made} of its {planned} releases of {shown(leaf)} were made"
        return reason

    def _limit(self, charges: Charges) -> float:
        """The cost of the whole plan, which bounds that of any part of it."""
        cost = float(epsilon(self.whole, self.budget))
        return cost if self.budget.epsilon is None else min(cost, super()._limit(charges))

    def noise(self, charges: Charges, build: Build, steps: int) -> Answer:
        """Raises `Unsupported`: the noise was declared with the plan."""
        message = (
            "the noise of a planned ledger was declared with its plan, and cannot be asked for"
        )
        raise Unsupported(message, argument="plan")

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values, with the whole plan."""
        return {"rule": self.name, "plan": self.whole.to_dict()}


class Fixed(BudgetRule):
    """Nothing depends on earlier outputs, as the user declares: exact composition decides."""

    name = "fixed"
    why = FIXED_IN_ADVANCE
    assumption = Assumption(
        "no release, nor its parameters, was chosen after looking at earlier outputs",
        source="adaptive=False",
        id="fixed-plan",
    )

    def __init__(self, budget: Budget) -> None:
        super().__init__(budget)
        self._most: dict[tuple[Node, frozenset[tuple[Node, int]]], int] = {}

    def holds(self, charges: Charges) -> bool:
        """Return whether all releases together cost no more than the budget."""
        return charges.plan is None or self._within(charges.plan)

    def _within(self, plan: Node) -> bool:
        budget = self.budget
        assert budget.epsilon is not None
        # Renyi is a bound and always quick; where it is enough, the exact number need not be known.
        delta = budget.stated_delta
        bound = plan.epsilon(delta=delta, method="rdp", adjacency=budget.adjacency)
        return float(bound) <= budget.epsilon or decided(plan, budget).met

    def fits(self, charges: Charges, node: Node) -> bool:
        """Asked of a block of equal steps at a time once these come in a row."""
        if node != charges.last or charges.streak < _LOOP:
            return super().fits(charges, node)
        # A loop releases the same step again and again: how often it may is computed only once.
        after = charges.after(node)
        base = next(base for base, n in after.steps.items() if n != charges.steps.get(base, 0))
        made = charges.steps.get(base, 0)
        rest = frozenset((other, n) for other, n in charges.steps.items() if other != base)
        if len(after.key ^ charges.key) != 2:  # a step of several kinds
            return super().fits(charges, node)
        if (node, rest) not in self._most:
            self._most[node, rest] = made + self.steps(charges, node) * (after.steps[base] - made)
        return after.steps[base] <= self._most[node, rest]

    def share(self, charges: Charges) -> float:
        """Epsilon so far over the budget's."""
        assert self.budget.epsilon is not None
        spent, whole = float(epsilon(charges.plan, self.budget)), float(self.budget.epsilon)
        return min(1.0, spent / whole) if whole else float(spent > 0)

    def steps(self, charges: Charges, node: Node) -> int:
        """The number of steps that still fit, by calibration."""
        from dpacct.answer.calibration import calibrate

        spent = charges.plan

        def plan(count: float) -> Node:
            return node * int(count) if spent is None else spent + node * int(count)

        if not self._within(plan(1)):
            return 0
        assert self.budget.epsilon is not None
        largest = calibrate(
            plan,
            epsilon=self.budget.epsilon,
            delta=self.budget.stated_delta,
            method=epsilon(node, self.budget).method,
            adjacency=self.budget.adjacency,
            integer=True,
            name="steps",
        )
        most = int(largest)
        # Renyi's two conversions may differ
        return most if most == 1 or self._within(plan(most)) else most - 1


class Adaptive(BudgetRule):
    """Anything may depend on earlier outputs: a privacy filter decides."""

    name = "adaptive"
    why = FILTER_RULE

    def __init__(self, budget: Budget, expecting: Node | None = None) -> None:
        super().__init__(budget)
        self.expecting = expecting
        self._filter = self._fresh()

    @classmethod
    def read(cls, budget: Budget, fields: dict[str, Any]) -> BudgetRule:
        """Read the rule and the plan that is expected."""
        return cls(budget, from_dict(fields["expecting"]) if "expecting" in fields else None)

    def _fresh(self) -> Filter:
        from dpacct.plan.adaptive import Filter

        assert self.budget.epsilon is not None
        return Filter(
            epsilon=self.budget.epsilon,
            delta=self.budget.stated_delta,
            adjacency=self.budget.adjacency,
            unit=self.budget.unit,
            expecting=self.expecting,
        )

    def holds(self, charges: Charges) -> bool:
        """Return whether the filter has room at some order."""
        return self._filter.share(charges.steps) <= 1.0

    def share(self, charges: Charges) -> float:
        """The share that the filter has used at its best order."""
        return min(1.0, self._filter.share(charges.steps))

    def steps(self, charges: Charges, node: Node) -> int:
        """The number of further releases that the filter admits."""
        return self._filter.at_most(node, charges.steps)

    def stops_early(self, charges: Charges, node: Node) -> str:
        """Return a warning if the run will end far earlier than expected; else ""."""
        made = charges.streak if node == charges.last else 0
        adaptive_steps, planned = self.steps(charges, node), Fixed(self.budget).steps(charges, node)
        if made + adaptive_steps >= _FAR * (made + planned):
            return ""
        ending = f"this ledger ends the run after {made + adaptive_steps} releases of {shown(node)}"
        return (
            f"{ending}, as it lets all of them be chosen by what was seen before; one that is made with"
            f" plan= holds {made + planned} within the same budget"
        )

    def refusal(self, charges: Charges, node: Node) -> str:
        """The refusal, with the steps that a plan declared beforehand would allow, if more."""
        reason, more = super().refusal(charges, node), ""
        if not charges.streak or (node == charges.last and charges.streak >= _LOOP):
            more = self.stops_early(charges, node)
        return f"{reason}; {more}" if more else reason

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values, with the plan that is expected."""
        more = {} if self.expecting is None else {"expecting": self.expecting.to_dict()}
        return {"rule": self.name, **more}


class Unlimited(BudgetRule):
    """Nothing is refused: what was spent is stated by an odometer, whatever was chosen on the way."""

    name = "none"
    why = ODOMETER_RULE
    limited = False

    def holds(self, charges: Charges) -> bool:
        """Always: there is no budget."""
        return True

    def share(self, charges: Charges) -> float:
        """0, as there is no budget."""
        return 0.0

    def steps(self, charges: Charges, node: Node) -> int:
        """The largest countable number: there is no budget."""
        return _MOST

    def _limit(self, charges: Charges) -> float:
        return float(reading(self.budget, charges))

    def noise(self, charges: Charges, build: Build, steps: int) -> Answer:
        """Raises `Unsupported`: any noise fits."""
        message = "the noise of a ledger without a budget is not limited, and cannot be asked for"
        raise Unsupported(message, argument="budget")


def reading(budget: Budget, charges: Charges) -> Answer:
    """The odometer's reading after these charges."""
    from dpacct.plan.adaptive import Odometer

    odometer = Odometer(delta=budget.stated_delta, adjacency=budget.adjacency, unit=budget.unit)
    if charges.plan is not None:
        odometer.spend(charges.plan)
    return odometer.spent()


class Terms(NamedTuple):
    """The terms under which an account is opened."""

    budget: Any = None
    plan: Node | None = None
    adaptive: bool | None = None
    expecting: Node | None = None
    adjacency: Adjacency | str | None = None
    unit: Unit | str | None = None

    def rule(self) -> BudgetRule:
        """The rule that a new account is to follow; raises `BudgetExceeded` for a plan that costs more."""
        plan, expecting, adjacency, unit = self.plan, self.expecting, self.adjacency, self.unit
        if plan is not None:
            adjacency = adjacency or plan.facts.declared or plan.fixed_adjacency
            unit = unit or plan.facts.unit
        budget = Budget.of(self.budget, adjacency, unit)
        several: Sequence[object] = (plan, self.adaptive, expecting)
        if sum(x is not None for x in several) > 1 and not (expecting and self.adaptive):
            message = "a ledger takes one of plan, adaptive=False and expecting, got several"
            raise InvalidArgument(message, argument="plan")
        if plan is not None:
            rule = Planned(budget, budget.check(plan))
            rule.check()
            return rule
        if budget.epsilon is None:
            if expecting is not None or self.adaptive is not None:
                message = "budget must be given with adaptive or expecting, got None"
                raise InvalidArgument(message, argument="budget")
            return Unlimited(budget)
        if self.adaptive is False:
            return Fixed(budget)
        return Adaptive(budget, None if expecting is None else budget.check(expecting))

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
        plans = ("plan", rule.whole, self.plan), ("expecting", rule.expecting, self.expecting)
        for name, old, new in plans:
            if new is not None and (old is None or not old.equivalent(new)):
                message = f"{name} must be the one the ledger was made with, {shown(old)}"
                raise InvalidArgument(f"{message}, got {shown(new)}", argument=name)
        if self.adaptive is not None and self.adaptive is not (rule.name == Adaptive.name):
            message = f"adaptive must be as the ledger was made ({rule.name}), got {self.adaptive}"
            raise InvalidArgument(message, argument="adaptive")


def read(fields: dict[str, Any]) -> BudgetRule:
    """The rule and the budget that a line names."""
    budget, name = Budget.from_dict(fields["budget"]), fields.get("rule")
    for kind in (Planned, Adaptive, Fixed, Unlimited):
        if kind.name == name and kind.limited in (None, budget.epsilon is not None):
            return kind.read(budget, fields)
    message = "rule must be adaptive, fixed, planned or none as its budget allows"
    raise LedgerDamaged(f"{message}, got {shown(name)}")

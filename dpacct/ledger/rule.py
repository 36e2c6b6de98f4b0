"""What was charged, and the rule by which a ledger decides whether one more release fits its budget."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar

from dpacct.answer import Answer
from dpacct.citations import Citation
from dpacct.declare.domain import STEPS
from dpacct.declare.number import shown
from dpacct.errors import NotCertified, Unreachable
from dpacct.ledger.budget import Budget
from dpacct.plan.combine import Compose, Repeat, composed
from dpacct.plan.decision import Decision, cost, decide
from dpacct.plan.node import Leaf, Node
from dpacct.pld.roots import first_miss, halved
from dpacct.vocabulary import Adjacency, Assumption, Side, Strength, Unit

Build = Callable[[float], Node]
_WIDTH = 1e-9  # relative, of the noise that `noise` returns


class Charges:
    """What was charged so far, a value: equal steps together, and the leaves of all of them.

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
        """With one more release."""
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
        """All of it composed; None where nothing was charged."""
        parts = [base * times for base, times in self.steps.items()]
        return composed(*parts) if parts else None


NOTHING = Charges()


@lru_cache(maxsize=1024)
def _epsilon(plan: Node, delta: Fraction, adjacency: Adjacency, unit: Unit) -> Answer:
    return cost(plan.under(unit=unit), delta=delta, adjacency=adjacency)


def epsilon(plan: Node | None, budget: Budget) -> Answer:
    """What a plan costs at the budget's delta: the exact engine, or Renyi where nothing else is."""
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
    """Whether a plan fixed in advance is within the budget; equal plans are priced once."""
    assert budget.epsilon is not None
    return decide(
        plan.under(unit=budget.unit),
        epsilon=budget.epsilon,
        delta=budget.stated_delta,
        adjacency=budget.adjacency,
    )


class Rule(ABC):
    """Decides about charges; it keeps none of its own, so that equal accounts are decided once."""

    name: ClassVar[str]
    why: ClassVar[Citation]
    assumption: ClassVar[Assumption | None] = None

    def __init__(self, budget: Budget) -> None:
        self.budget = budget

    @abstractmethod
    def holds(self, charges: Charges) -> bool:
        """Whether what was charged is within the budget."""

    def fits(self, charges: Charges, node: Node) -> bool:
        """Whether `node` can be released within the budget, after all that was charged."""
        return self.holds(charges.after(node))

    @abstractmethod
    def share(self, charges: Charges) -> float:
        """How much of the budget is used, from 0 to 1, by the rule's own measure."""

    @abstractmethod
    def steps(self, charges: Charges, node: Node) -> int:
        """How often `node` could still be released."""

    def refusal(self, charges: Charges, node: Node) -> str:
        """Why `node` does not fit, as a sentence."""
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
        """What holds whenever the releases stop: the budget, or what a declared plan costs.

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
        """As JSON values, for the line that opens an account."""
        return {"rule": self.name}

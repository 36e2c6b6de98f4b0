"""A rule by which a ledger decides whether one more release fits its budget."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

from dpacct.answer import Answer
from dpacct.compose.decision import Decision, cost, decide
from dpacct.declare.domain import STEPS
from dpacct.errors import NotCertified, Unreachable
from dpacct.ledger.budget import Budget
from dpacct.tree import Compose, Node, Repeat, composed
from dpacct.vocabulary import Assumption, Side, Strength

Build = Callable[[float], Node]
_WIDTH = 1e-9  # relative, of the noise that `noise` returns


def epsilon(plan: Node | None, budget: Budget) -> Answer:
    """What a plan costs at the budget's delta: the exact engine, or Renyi where nothing else is."""
    if plan is None:
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
    return cost(plan.under(unit=budget.unit), delta=budget.delta, adjacency=budget.adjacency)


def decided(plan: Node, budget: Budget) -> Decision:
    """Whether a plan fixed in advance is within the budget."""
    return decide(
        plan.under(unit=budget.unit),
        epsilon=budget.epsilon,
        delta=budget.delta,
        adjacency=budget.adjacency,
    )


class Rule(ABC):
    """What was recorded, composed in `plan`, and whether more fits."""

    name: ClassVar[str]
    why: ClassVar[str]
    assumption: ClassVar[Assumption | None] = None

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self._counts: dict[Node, int] = {}
        self._plan: Node | None = None
        self.over = False  # more was counted than this version of dpacct would have let pass

    @abstractmethod
    def fits(self, node: Node) -> bool:
        """Whether `node` can be released within the budget, after all that was recorded."""

    def record(self, node: Node) -> None:
        """Count `node`, whether it fits or not."""
        for part in node.parts if isinstance(node, Compose) else (node,):
            base, times = (part.node, part.steps) if isinstance(part, Repeat) else (part, 1)
            self._counts[base] = self._counts.get(base, 0) + times
        self._plan = None

    @property
    def plan(self) -> Node | None:
        """What was counted, equal steps together; None where nothing was."""
        if self._plan is None and self._counts:
            self._plan = composed(*(base * times for base, times in self._counts.items()))
        return self._plan

    @abstractmethod
    def share(self) -> float:
        """How much of the budget is used, from 0 to 1, by the rule's own measure."""

    @abstractmethod
    def steps(self, node: Node) -> int:
        """How often `node` could still be released."""

    def noise(self, build: Build, steps: int) -> Answer:
        """The least noise with which `build(noise)` fits another `steps` times."""
        count = STEPS.check("steps", steps)

        def fits(scale: float) -> bool:
            return self.fits(self.budget.check(build(scale)) * count)

        low, high = _bracket(fits, count)
        while high / low > 1 + _WIDTH:
            middle = math.sqrt(low * high)
            low, high = (low, middle) if fits(middle) else (middle, high)
        return Answer(
            quantity="noise",
            value=high,
            upper=high,
            side=Side.UPPER,
            strength=Strength.BOUND,
            method=self.name,
            basis=(self.why,),
            adjacency=self.budget.adjacency,
            unit=self.budget.unit,
        )

    def guarantee(self) -> Answer:
        """The budget itself, as a statement: what holds whenever the releases stop.

        Raises `NotCertified` where more was counted than the budget allows.
        """
        budget, plan = self.budget, self.plan
        if not self._holds():
            told = f"the ledger counts more than its budget, {budget}: nothing is guaranteed by it"
            raise NotCertified(told, argument="budget")
        taken = () if plan is None else plan.assumptions(budget.adjacency)
        own = () if self.assumption is None else (self.assumption,)
        return Answer(
            quantity="epsilon",
            value=float(budget.epsilon),
            upper=float(budget.epsilon),
            side=Side.UPPER,
            strength=Strength.BOUND,
            method=self.name,
            basis=(self.why,),
            assumptions=(*taken, *own),
            adjacency=budget.adjacency,
            unit=budget.unit,
            tree=plan,
        )

    def _holds(self) -> bool:
        """Whether what was counted is within the budget."""
        return not self.over

    def to_dict(self) -> dict[str, Any]:
        """As JSON values, for the first line of a ledger."""
        return {"rule": self.name}


def _bracket(fits: Callable[[float], bool], steps: int) -> tuple[float, float]:
    """(too little, enough) noise."""
    high = 1.0
    while not fits(high):
        high *= 4
        if high > 1e12:
            raise Unreachable(f"no noise up to 1e12 lets {steps} more releases fit the budget")
    low = high / 4
    while fits(low):
        low, high = low / 4, low
        if low < 1e-12:
            raise Unreachable("any noise fits the budget: the plan does not depend on it")
    return low, high

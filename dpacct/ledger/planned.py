"""Planned: what is released was declared at the start; its order and its end were not."""

from __future__ import annotations

from typing import Any

from dpacct.answer import Answer
from dpacct.compose.decision import excess
from dpacct.errors import BudgetExceeded, Unsupported
from dpacct.ledger.budget import Budget
from dpacct.ledger.rule import Build, Rule, decided
from dpacct.tree import Leaf, Node


class Planned(Rule):
    """Releases are drawn from a plan declared at the start, in any order, stopped at any time.

    Each is a randomised function of its own draw from its leaf's dominating pair, so all of them
    together are one of the draws of the whole plan, whatever is chosen on the way: decision 0008.
    """

    name = "planned"
    why = "the releases are part of a plan declared before the first of them (decision 0008)"

    def __init__(self, budget: Budget, plan: Node) -> None:
        super().__init__(budget)
        self.whole = plan
        self._left: dict[Leaf, int] = dict(plan.releases())

    def check(self) -> None:
        """Refuse a plan that costs more than the budget; asked when a ledger is made."""
        decision = decided(self.whole, self.budget)
        if not decision.met:
            cost = excess(decision.cost, self.budget.epsilon)
            told = f"the declared plan costs epsilon {cost}, more than {self.budget}"
            raise BudgetExceeded(told, argument="plan")

    def fits(self, node: Node) -> bool:
        if self.over:
            return False
        return all(self._left.get(leaf, 0) >= count for leaf, count in node.releases())

    def record(self, node: Node) -> None:
        super().record(node)
        for leaf, count in node.releases():
            self._left[leaf] = self._left.get(leaf, 0) - count
            self.over |= self._left[leaf] < 0

    def share(self) -> float:
        if self.over:
            return 1.0
        return 1.0 - sum(self._left.values()) / sum(n for _, n in self.whole.releases())

    def steps(self, node: Node) -> int:
        if self.over:
            return 0
        return min(max(0, self._left.get(leaf, 0)) // count for leaf, count in node.releases())

    def noise(self, build: Build, steps: int) -> Answer:
        """Raises `Unsupported`: the noise was declared with the plan."""
        told = "the noise of a planned ledger was declared with its plan, and cannot be asked for"
        raise Unsupported(told, argument="plan")

    def to_dict(self) -> dict[str, Any]:
        return {"rule": self.name, "plan": self.whole.to_dict()}

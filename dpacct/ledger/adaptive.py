"""Adaptive: anything may depend on earlier outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpacct.errors import Unreachable
from dpacct.ledger.budget import Budget
from dpacct.ledger.rule import Rule
from dpacct.tree import Node

if TYPE_CHECKING:
    from dpacct.compose.filter import Filter


class Adaptive(Rule):
    """Anything may depend on earlier outputs: a privacy filter decides."""

    name = "adaptive"
    why = "privacy filter over Renyi orders fixed in advance: docs/theory/adaptive.md"

    def __init__(self, budget: Budget, expecting: Node | None = None) -> None:
        super().__init__(budget)
        self.expecting = expecting
        self._filter = self._fresh()

    def _fresh(self) -> Filter:
        from dpacct.compose.filter import Filter

        budget = self.budget
        return Filter(
            epsilon=budget.epsilon,
            delta=budget.delta,
            adjacency=budget.adjacency,
            unit=budget.unit,
            expecting=self.expecting,
        )

    def fits(self, node: Node) -> bool:
        return not self.over and not self._filter.would_exceed(node)

    def record(self, node: Node) -> None:
        super().record(node)
        try:
            self._filter.spend(node)
        except Unreachable:  # counted all the same: then nothing more fits
            self.over = True

    def share(self) -> float:
        return 1.0 if self.over else self._filter.spent()

    def steps(self, node: Node) -> int:
        return 0 if self.over else self._filter.at_most(node)

    def to_dict(self) -> dict[str, Any]:
        more = {} if self.expecting is None else {"expecting": self.expecting.to_dict()}
        return {"rule": self.name, **more}

"""Budget: the epsilon and delta that a ledger must not exceed, for whom, under which adjacency."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpacct.declare.domain import DELTA, EPSILON
from dpacct.declare.number import shown, text
from dpacct.errors import InvalidArgument
from dpacct.tree import Node, resolve_adjacency
from dpacct.vocabulary import Adjacency, Unit


@dataclass(frozen=True)
class Budget:
    """Exact numbers, as they were typed."""

    epsilon: Fraction
    delta: Fraction
    adjacency: Adjacency = Adjacency.ADD_REMOVE
    unit: Unit = Unit.RECORD

    @classmethod
    def of(
        cls, given: object, adjacency: Adjacency | str | None = None, unit: Unit | str | None = None
    ) -> Budget:
        """From a pair (epsilon, delta) or a mapping with these two keys.

        >>> print(Budget.of((8, "1e-5")))
        epsilon 8 at delta 0.00001 per record, add-remove
        >>> print(Budget.of((1, Fraction(1e-7))))  # a float's digits to the end tell nobody more
        epsilon 1 at delta 1e-07 per record, add-remove
        """
        if isinstance(given, dict) and set(given) == {"epsilon", "delta"}:
            given = (given["epsilon"], given["delta"])
        if not isinstance(given, tuple | list) or len(given) != 2:
            told = f"budget must be a pair (epsilon, delta), got {shown(given)}"
            raise InvalidArgument(told, argument="budget")
        return cls(
            EPSILON.check("epsilon", given[0]),
            DELTA.check("delta", given[1]),
            Adjacency.ADD_REMOVE if adjacency is None else Adjacency.parse(adjacency),
            Unit.RECORD if unit is None else Unit.parse(unit),
        )

    def __str__(self) -> str:
        epsilon, delta = (
            exact if len(exact := text(number)) <= 17 else f"{float(number):.12g}"
            for number in (self.epsilon, self.delta)
        )
        numbers = f"epsilon {epsilon} at delta {delta}"
        return f"{numbers} per {self.unit}, {self.adjacency}"

    def check(self, plan: object) -> Node:
        """The plan itself, if it can be charged to this budget; else `InvalidArgument`."""
        if not isinstance(plan, Node):
            told = f"plan must be a plan such as Gaussian(sigma=1), got {shown(plan)}"
            raise InvalidArgument(told, argument="plan")
        resolve_adjacency(plan, self.adjacency)
        if plan.facts.unit not in (None, self.unit):
            told = f"unit of the plan must be {self.unit}, which the budget is for"
            raise InvalidArgument(f"{told}, got {plan.facts.unit}", argument="unit")
        return plan

    def to_dict(self) -> dict[str, str]:
        """As JSON values, exact."""
        return {
            "epsilon": text(self.epsilon),
            "delta": text(self.delta),
            "adjacency": str(self.adjacency),
            "unit": str(self.unit),
        }

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Budget:
        """What `to_dict` wrote."""
        pair = (fields["epsilon"], fields["delta"])
        return cls.of(pair, fields["adjacency"], fields["unit"])

"""Budget: the (epsilon, delta) that an account keeps, for which neighbours and which unit."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpacct.declare.domain import DELTA, EPSILON
from dpacct.declare.number import near, shown, text
from dpacct.errors import InvalidArgument
from dpacct.plan.node import Node, resolve_adjacency
from dpacct.vocabulary import Adjacency, Unit


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

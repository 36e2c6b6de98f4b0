"""What a ledger is opened with: the first line of a new one, or what an old one must be."""

from __future__ import annotations

import os
import uuid
from datetime import UTC, datetime
from importlib import metadata
from typing import Any, NamedTuple

from dpacct.declare.number import shown
from dpacct.errors import InvalidArgument
from dpacct.ledger import rules
from dpacct.ledger.budget import Budget
from dpacct.ledger.rule import Rule
from dpacct.tree import Node
from dpacct.vocabulary import Adjacency, Unit

VERSION = 1
"""Version of the file's form."""


def now() -> str:
    """The time, for whoever reads the file."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class Wish(NamedTuple):
    """What a ledger was opened with."""

    budget: Any
    plan: Node | None
    adaptive: bool | None
    expecting: Node | None
    adjacency: Adjacency | str | None
    unit: Unit | str | None

    def first_line(self, path: str | os.PathLike[str]) -> dict[str, Any]:
        """The first line of a new ledger made with these."""
        plan, adjacency, unit = self.plan, self.adjacency, self.unit
        if self.budget is None:
            told = f"budget must be given for the new ledger {shown(str(path))}, got None"
            raise InvalidArgument(told, argument="budget")
        if plan is not None:
            adjacency = adjacency or plan.facts.declared or plan.fixed_adjacency
            unit = unit or plan.facts.unit
        budget = Budget.of(self.budget, adjacency, unit)
        rule = rules.made(budget, plan=plan, adaptive=self.adaptive, expecting=self.expecting)
        return {
            "ledger": "dpacct",
            "version": VERSION,
            "id": uuid.uuid4().hex,
            "made": now(),
            "by": f"dpacct {metadata.version('dpacct')}",
            "budget": budget.to_dict(),
            **rule.to_dict(),
        }

    def agrees(self, rule: Rule) -> None:
        """Refuse to reopen a ledger as another one."""
        kept = rule.budget
        asked = Budget.of(
            (kept.epsilon, kept.delta) if self.budget is None else self.budget,
            self.adjacency or kept.adjacency,
            self.unit or kept.unit,
        )
        if asked != kept:
            told = f"budget must be the ledger's own, {kept}, got {asked}"
            raise InvalidArgument(told, argument="budget")
        rules.wanted(rule, plan=self.plan, adaptive=self.adaptive, expecting=self.expecting)

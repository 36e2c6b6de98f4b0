"""The three rules: which one a new ledger follows, and which one a file names.

They differ in what may have been chosen after looking at earlier outputs: anything (`Adaptive`), only
the order and the stopping time within a plan declared at the start (`Planned`), nothing (`Fixed`).
"""

from __future__ import annotations

from typing import Any

from dpacct.declare.number import shown
from dpacct.errors import InvalidArgument, LedgerDamaged
from dpacct.ledger.adaptive import Adaptive
from dpacct.ledger.budget import Budget
from dpacct.ledger.fixed import Fixed
from dpacct.ledger.planned import Planned
from dpacct.ledger.rule import Rule
from dpacct.tree import Node, from_dict


def made(
    budget: Budget, *, plan: Node | None, adaptive: bool | None, expecting: Node | None
) -> Rule:
    """The rule that a new ledger is to follow."""
    if sum(x is not None for x in (plan, adaptive, expecting)) > 1 and not (expecting and adaptive):
        told = "a ledger takes one of plan, adaptive=False and expecting, got several"
        raise InvalidArgument(told, argument="plan")
    if plan is None:
        if adaptive is False:
            return Fixed(budget)
        return Adaptive(budget, None if expecting is None else budget.check(expecting))
    rule = Planned(budget, budget.check(plan))
    rule.check()
    return rule


def read(budget: Budget, fields: dict[str, Any]) -> Rule:
    """The rule that a ledger's first line names."""
    name = fields.get("rule")
    if name == Planned.name:
        return Planned(budget, from_dict(fields["plan"]))
    if name == Adaptive.name:
        return Adaptive(budget, from_dict(fields["expecting"]) if "expecting" in fields else None)
    if name == Fixed.name:
        return Fixed(budget)
    raise LedgerDamaged(f"rule must be adaptive, fixed or planned, got {shown(name)}")


def wanted(rule: Rule, *, plan: Node | None, adaptive: bool | None, expecting: Node | None) -> None:
    """Refuse to reopen a ledger with another rule than it was made with."""
    kept = {"plan": getattr(rule, "whole", None), "expecting": getattr(rule, "expecting", None)}
    for name, given in (("plan", plan), ("expecting", expecting)):
        old = kept[name]
        if given is not None and (old is None or not old.equivalent(given)):
            told = f"{name} must be the one the ledger was made with, {shown(old)}"
            raise InvalidArgument(f"{told}, got {shown(given)}", argument=name)
    if adaptive is not None and adaptive is not isinstance(rule, Adaptive):
        told = f"adaptive must be as the ledger was made ({rule.name}), got {adaptive}"
        raise InvalidArgument(told, argument="adaptive")

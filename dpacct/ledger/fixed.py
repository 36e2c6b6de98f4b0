"""Fixed: nothing depends on earlier outputs, as the user declares."""

from __future__ import annotations

from dpacct.answer.calibration import calibrate
from dpacct.ledger.budget import Budget
from dpacct.ledger.rule import Rule, decided, epsilon
from dpacct.tree import Node
from dpacct.vocabulary import Assumption

_LOOP = 3  # equal releases in a row that look like a loop


class Fixed(Rule):
    """Nothing depends on earlier outputs, as the user declares: exact composition decides."""

    name = "fixed"
    why = "composition of releases whose parameters were fixed in advance"
    assumption = Assumption(
        "no release, nor its parameters, was chosen after looking at earlier outputs",
        source="adaptive=False",
    )

    def __init__(self, budget: Budget) -> None:
        super().__init__(budget)
        self._last: Node | None = None
        self._streak = 0
        self._room: int | None = None  # how often `_last` still fits, where that is known

    def fits(self, node: Node) -> bool:
        if node != self._last or self._streak < _LOOP:
            return self._within(node if self.plan is None else self.plan + node)
        # A loop releases the same step again and again: how often it may is computed only once.
        if self._room is None:
            self._room = self.steps(node)
        return self._room > 0

    def record(self, node: Node) -> None:
        super().record(node)
        if node == self._last:
            self._streak += 1
            self._room = None if self._room is None else self._room - 1
        else:
            self._last, self._streak, self._room = node, 1, None

    def _within(self, plan: Node) -> bool:
        budget = self.budget
        # Renyi is a bound and always quick; where it is enough, the exact number need not be known.
        bound = plan.epsilon(delta=budget.delta, method="rdp", adjacency=budget.adjacency)
        if float(bound) <= budget.epsilon:
            return True
        return decided(plan, budget).met

    def _holds(self) -> bool:
        return self.plan is None or self._within(self.plan)

    def share(self) -> float:
        spent, whole = float(epsilon(self.plan, self.budget)), float(self.budget.epsilon)
        return min(1.0, spent / whole) if whole else float(spent > 0)

    def steps(self, node: Node) -> int:
        budget, spent = self.budget, self.plan

        def fits(count: int) -> bool:
            return self._within(node * count if spent is None else spent + node * count)

        if not fits(1):
            return 0
        found = calibrate(
            lambda n: node * int(n) if spent is None else spent + node * int(n),
            epsilon=budget.epsilon,
            delta=budget.delta,
            method=epsilon(node, budget).method,
            adjacency=budget.adjacency,
            integer=True,
            name="steps",
        )
        most = int(found)
        return most if most == 1 or fits(most) else most - 1  # Renyi's two conversions may differ

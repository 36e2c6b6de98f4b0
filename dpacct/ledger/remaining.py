"""What is left of a budget, in the four ways it can be asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dpacct.answer import Answer
from dpacct.ledger.rule import Build, Rule, epsilon
from dpacct.tree import Node


@dataclass(frozen=True)
class Remaining:
    """Asked afresh each time: another process may have spent meanwhile."""

    _rule: Rule
    _refresh: Callable[[], object]

    @property
    def epsilon(self) -> float:
        """The budget's epsilon less the safe end of `Ledger.spent`; at least 0.

        Epsilons do not add: two releases of this much may cost less or, under a filter, not fit.
        `steps` answers the question that is usually meant.
        """
        self._refresh()
        budget = self._rule.budget
        return max(0.0, float(budget.epsilon) - float(epsilon(self._rule.plan, budget)))

    @property
    def share(self) -> float:
        """Share of the budget that is unused, from 0 to 1, by the rule's own measure."""
        self._refresh()
        return max(0.0, 1.0 - self._rule.share())

    def steps(self, plan: Node) -> int:
        """How often `plan` could still be released."""
        self._refresh()
        return self._rule.steps(self._rule.budget.check(plan))

    def noise(self, build: Build, *, steps: int = 1) -> Answer:
        """The least noise with which `build(noise)` could still be released `steps` times.

        `build` makes a plan from the noise, such as `lambda s: Poisson(0.01)(Gaussian(sigma=s))`.
        Raises `Unreachable` if no noise is enough, `Unsupported` where the plan was declared.
        """
        self._refresh()
        return self._rule.noise(build, steps)

"""Parallel composition: plans that run on disjoint parts of the data."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from dpacct.answer import Answer
from dpacct.declare.number import Number, shown
from dpacct.errors import InvalidArgument, Unsupported
from dpacct.tree import Node, resolve_adjacency
from dpacct.vocabulary import Adjacency, Assumption, Strength

_BASIS = (
    "McSherry. Privacy Integrated Queries. SIGMOD 2009: on disjoint data the worst part counts, "
    "since a unit is in one part only"
)
_DISJOINT = Assumption(
    "each unit's data is in one part only, and which part does not depend on other units"
)


class Parallel:
    """Plans on disjoint parts of the data: one unit is in one part, so the worst part is the cost.

    Under add-remove and zero-out. Under replace-one a unit may leave one part for another, and
    both parts change: that is refused (compose the two worst parts under add-remove instead). Raises
    `InvalidArgument`, `Unsupported`.

    >>> import dpacct as dp
    >>> parts = Parallel(dp.Gaussian(sigma=2), dp.Gaussian(sigma=1), dp.Laplace(b=4))
    >>> parts.epsilon(delta=1e-5).value == dp.Gaussian(sigma=1).epsilon(delta=1e-5).value
    True
    """

    def __init__(self, *plans: Node, adjacency: Adjacency | str | None = None) -> None:
        for plan in plans:
            given: object = plan
            if not isinstance(given, Node):
                told = f"the parts must be plans such as Gaussian(sigma=1), got {shown(given)}"
                raise InvalidArgument(told, argument="plan")
        if not plans:
            raise InvalidArgument("the parts must be one or more plans, got none", argument="plan")
        self.plans = plans
        words = {resolve_adjacency(plan, adjacency) for plan in plans}
        if len(words) > 1:
            told = f"adjacency must be the same in all parts, got {', '.join(sorted(words))}"
            raise InvalidArgument(told, argument="adjacency")
        self.adjacency = words.pop()
        if self.adjacency is Adjacency.REPLACE_ONE:
            told = "parallel composition holds under add-remove and zero-out, got replace-one: "
            raise Unsupported(
                f"{told}a unit may move from one part to another", argument="adjacency"
            )

    def epsilon(self, *, delta: Number) -> Answer:
        """Epsilon at this delta: the worst part's."""
        return self._worst([p.epsilon(delta=delta, adjacency=self.adjacency) for p in self.plans])

    def delta(self, *, epsilon: Number) -> Answer:
        """Delta at this epsilon: the worst part's."""
        return self._worst([p.delta(epsilon=epsilon, adjacency=self.adjacency) for p in self.plans])

    def _worst(self, answers: list[Answer]) -> Answer:
        worst = max(answers, key=lambda answer: answer.value)

        def end(name: Literal["lower", "upper"]) -> float | None:
            found = [getattr(answer, name) for answer in answers]
            known = [value for value in found if value is not None]
            if name == "upper":
                return max(known) if len(known) == len(found) else None
            return max(known, default=None)

        side = worst.side
        for answer in answers:
            side = side.meet(answer.side)
        return replace(
            worst,
            lower=end("lower"),
            upper=end("upper"),
            side=side,
            strength=Strength.weakest(answer.strength for answer in answers),
            basis=(_BASIS, *dict.fromkeys(line for answer in answers for line in answer.basis)),
            assumptions=(
                _DISJOINT,
                *dict.fromkeys(line for answer in answers for line in answer.assumptions),
            ),
            seconds=sum(answer.seconds for answer in answers),
            extra={"parts": len(answers)},
        )

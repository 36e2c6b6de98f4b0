"""Parallel composition: plans that run on disjoint parts of the data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from dpacct.answer import Answer
from dpacct.citations import PARALLEL, Citation
from dpacct.errors import InvalidArgument, Unsupported
from dpacct.plan.composition import Composition
from dpacct.plan.curve import log_profile
from dpacct.plan.group import Profiled
from dpacct.plan.node import Facts, Fields, Leaf, Node, know, nested, read, resolve_adjacency, take
from dpacct.pld.pair import PairMoments
from dpacct.vocabulary import Adjacency, Assumption, Strength

if TYPE_CHECKING:
    from dpacct.pld.stable import Floats

_DISJOINT = Assumption(
    "each unit's data is in one part only, and which part does not depend on other units"
)


@dataclass(frozen=True, repr=False, init=False)
class Parallel(Profiled, kind="parallel"):
    """Plans on disjoint parts of the data: one unit is in one part, so the worst part is the cost.

    Under add-remove and zero-out. Under replace-one a unit may leave one part for another, and
    both parts change: that is refused (compose the two worst parts under add-remove instead). It is a
    plan like any other; composed, it counts as what is worst at each epsilon. Raises `InvalidArgument`,
    `Unsupported`.

    >>> import dpacct as dp
    >>> parts = Parallel(dp.Gaussian(sigma=2), dp.Gaussian(sigma=1), dp.Laplace(b=4))
    >>> parts.epsilon(delta=1e-5).value == dp.Gaussian(sigma=1).epsilon(delta=1e-5).value
    True
    """

    parts: tuple[Node, ...]

    basis = PARALLEL

    def __init__(self, *plans: Node, adjacency: Adjacency | str | None = None) -> None:
        for plan in plans:
            Node.checked(plan, "each part must be")
        if not plans:
            raise InvalidArgument("the parts must be one or more plans, got none", argument="plan")
        parts = tuple(plan if adjacency is None else plan.under(adjacency) for plan in plans)
        words = {resolve_adjacency(plan) for plan in parts}
        if len(words) > 1:
            message = f"adjacency must be the same in all parts, got {', '.join(sorted(words))}"
            raise InvalidArgument(message, argument="adjacency")
        object.__setattr__(self, "parts", parts)
        know(self, reduce(Facts.join, (part.facts for part in parts)).above())
        self._checked(words.pop())

    @property
    def plans(self) -> tuple[Node, ...]:
        """The plans of the disjoint parts."""
        return self.parts

    @property
    def adjacency(self) -> Adjacency:
        """The adjacency that all parts share."""
        return resolve_adjacency(self)

    def _checked(self, adjacency: Adjacency) -> Adjacency:
        if adjacency is Adjacency.REPLACE_ONE:
            message = "parallel composition holds under add-remove and zero-out, got replace-one: "
            raise Unsupported(
                f"{message}a unit may move from one part to another", argument="adjacency"
            )
        return adjacency

    def gather(self) -> Mapping[Leaf, int]:
        """Itself; the releases of a lone part."""
        return {self: 1} if len(self.parts) > 1 else dict(self.parts[0].gathered)

    def log_above(self, epsilons: Floats, adjacency: Adjacency) -> Floats:
        """The largest of the parts', at each epsilon."""
        word = self._checked(adjacency)
        every = [log_profile(Composition(part, word), epsilons) for part in self.parts]
        return np.asarray(np.max(every, axis=0))

    def direct_profile(self, epsilons: Floats, adjacency: Adjacency) -> Floats:
        """The largest of the parts' profiles is a profile itself."""
        return self.log_above(epsilons, adjacency)

    def moments(self, adjacency: Adjacency) -> tuple[PairMoments, ...]:
        """The largest of the parts', at each order."""
        plans = [Composition(part, self._checked(adjacency)) for part in self.parts]

        def log_moments(tilts: Floats) -> Floats:
            return np.asarray(tilts * np.max([p.renyi_at(tilts + 1.0) for p in plans], axis=0))

        return (PairMoments(log_moments),)

    def sharper(
        self, quantity: str, at: Fraction, method: str, adjacency: Adjacency | None
    ) -> Answer | None:
        """The worst part's answer, by the same method."""
        word = self._checked(resolve_adjacency(self, adjacency))
        about: dict[str, Any] = {"method": method, "adjacency": word}
        answers = [
            part.epsilon(at, **about) if quantity == "epsilon" else part.delta(at, **about)
            for part in self.parts
        ]
        worst = max(answers, key=lambda answer: answer.value)
        lowers = [answer.lower for answer in answers if answer.lower is not None]
        uppers = [answer.upper for answer in answers if answer.upper is not None]
        return replace(
            worst,
            lower=max(lowers, default=None),
            upper=max(uppers) if len(uppers) == len(answers) else None,
            side=reduce(lambda side, answer: side.meet(answer.side), answers, worst.side),
            strength=Strength.weakest(answer.strength for answer in answers),
            basis=(self.basis, *dict.fromkeys(line for each in answers for line in each.basis)),
            assumptions=self.assumptions(word),
            unit=self.unit,
            tree=self,
            seconds=sum(answer.seconds for answer in answers),
            extra={"parts": len(answers)},
            certificate=None,
        )

    def assumptions(self, adjacency: Adjacency) -> tuple[Assumption, ...]:
        """The parts', and that they are disjoint."""
        every = [line for part in self.parts for line in part.assumptions(adjacency)]
        return (_DISJOINT, *dict.fromkeys(every))

    def citations(self) -> tuple[Citation, ...]:
        """The parts', and the theorem's."""
        every = [line for part in self.parts for line in part.citations()]
        return (*dict.fromkeys(every), self.basis)

    def __repr__(self) -> str:
        return f"Parallel({', '.join(map(repr, self.parts))})"

    @property
    def inside(self) -> tuple[Node, ...]:
        """The plans of its blocks."""
        return self.parts

    def fields(self) -> Fields:
        """The JSON fields: the parts."""
        return {"parts": [nested(part) for part in self.parts]}

    @classmethod
    def from_fields(cls, fields: Fields) -> Node:
        """Read the parts."""
        parts = take(fields, "parts")
        if not isinstance(parts, list):
            raise InvalidArgument("parts of a parallel node must be a list", argument="plan")
        return cls(*map(read, parts))

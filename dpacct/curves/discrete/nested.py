"""A composition as the base of a sample: its directions as sources, and what a coin around it does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dpacct.curves.amplify import Direction
from dpacct.curves.pairs import FIXED_SIZE, POISSON, Pairs
from dpacct.engine.discrete.pieces import DiscreteSource
from dpacct.engine.law import Law
from dpacct.errors import Unsupported
from dpacct.vocabulary import Adjacency

from .amplified import Amplified
from .composed import Composed, Reversed, Thinned
from .law import SourceLaw
from .listed import Listed, may_be_listed
from .tables import Table

_COMPOSED = "the plan on the sample composed as one pair, bounded from both sides"
_THINNED = "joint convexity: one coin for both neighbours, in the open or not"


def composed(sides: Sequence[tuple[tuple[Law, ...], int]]) -> tuple[DiscreteSource, ...]:
    """One source per direction of the composition of (laws per direction, count)."""
    found: list[DiscreteSource] = []
    for k in range(max(len(laws) for laws, _ in sides)):
        merged: dict[Law, int] = {}
        for laws, count in sides:
            law = laws[min(k, len(laws) - 1)]
            merged[law] = merged.get(law, 0) + count
        kept = sum(n * math.log1p(-law.infinite_mass) for law, n in merged.items())
        lost = sum(n * math.log1p(-law.lost_mass) for law, n in merged.items())
        parts = tuple((law.source(), n) for law, n in merged.items())
        if kept == 0.0 == lost and parts == ((parts[0][0], 1),):
            found.append(parts[0][0])
        elif kept == 0.0 == lost and may_be_listed(parts):
            found.append(Listed(parts))
        else:
            found.append(Composed(parts, kept, kept - lost))
    return tuple(found)


@dataclass(frozen=True)
class NestedPair:
    """A plan that runs on one sample.

    `upper` has the plan's directions, (with the unit, without it) and back; one alone is its own mirror
    image. `lower` has those that data sets realise, where these differ.
    """

    upper: tuple[DiscreteSource, ...]
    lower: tuple[DiscreteSource, ...] | None
    basis: tuple[str, ...]

    @classmethod
    def of(cls, pairs: Sequence[tuple[Pairs, int]]) -> NestedPair:
        """The composition of steps with these pairs."""
        basis = tuple(dict.fromkeys(line for pair, _ in pairs for line in pair.basis))
        lower = None
        if any(pair.lower is not None for pair, _ in pairs):
            lower = composed([(pair.lower or pair.upper, n) for pair, n in pairs])
        return cls(composed([(pair.upper, n) for pair, n in pairs]), lower, (*basis, _COMPOSED))

    def plain(self) -> Pairs:
        """The plan itself, as one step."""
        return self._pairs(self.upper, self.lower)

    def poisson(self, rate: float, adjacency: Adjacency) -> Pairs:
        """The coin is the unit's own: without it the plan runs as if the unit were not there."""
        if adjacency is Adjacency.REPLACE_ONE:
            # what a unit that is left out looks like is not known here: nothing is claimed below
            nothing = (Table.of_losses([0.0], [0.0]),)
            return self._pairs(self._mirrored(rate), nothing, FIXED_SIZE)
        lower = None if self.lower is None else _poisson(self.lower, rate)
        return self._pairs(_poisson(self.upper, rate), lower, POISSON)

    def without_replacement(self, rate: float, adjacency: Adjacency) -> Pairs:
        """A sample of fixed size, under replace-one."""
        lower = _poisson(self.lower or self.upper, rate)
        return self._pairs(self._mirrored(rate), lower, FIXED_SIZE)

    def participation(self, rate: float, adjacency: Adjacency) -> Pairs:
        """The coin is the same for both neighbours; below, it is seen."""
        thinned = tuple(Thinned(source, rate) for source in self.upper)
        lower = None
        if self.lower is not None:
            lower = tuple(Thinned(source, rate) for source in self.lower)
        return self._pairs(thinned, lower, _THINNED)

    def _mirrored(self, rate: float) -> tuple[DiscreteSource, ...]:
        if len(self.upper) > 1:
            told = "a sample under replace-one needs a plan whose pair is its own mirror image"
            raise Unsupported(f"{told}, and this one's is not", argument="plan")
        return (Amplified(self.upper[0], rate, Direction.SYMMETRIC),)

    def _pairs(
        self,
        upper: tuple[DiscreteSource, ...],
        lower: tuple[DiscreteSource, ...] | None,
        *basis: str,
    ) -> Pairs:
        above = tuple(SourceLaw(source) for source in upper)
        below = None if lower is None else tuple(SourceLaw(source) for source in lower)
        return Pairs(above, (*self.basis, *basis), below, math.inf)


def _poisson(ways: tuple[DiscreteSource, ...], rate: float) -> tuple[DiscreteSource, ...]:
    """Remove and add of a coin around a plan: from the plan's own remove and add directions."""
    # (without, with) read the other way round is (with, without); a composition that is its own mirror image
    # too, as it keeps its digits at the end that is read
    back = Reversed(ways[-1])
    return (
        Amplified(ways[0], rate, Direction.REMOVE),
        Amplified(back, rate, Direction.ADD),
    )

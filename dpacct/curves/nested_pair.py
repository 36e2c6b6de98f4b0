"""A composition as the base of a sample: its directions as sources, and what a coin around it does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dpacct.curves.pairs import FIXED_SIZE, POISSON, Pairs
from dpacct.engine.law import Law
from dpacct.errors import Unsupported
from dpacct.pld.derived import backwards, mirrored, sampled, thinned
from dpacct.pld.loss import LossDistribution
from dpacct.pld.nested import nested
from dpacct.pld.pieces import Cut, Source
from dpacct.vocabulary import Adjacency

from .source_law import SourceLaw

_COMPOSED = "the plan on the sample composed as one pair, bounded from both sides"
_THINNED = "joint convexity: one coin for both neighbours, in the open or not"


def composed(sides: Sequence[tuple[tuple[Law, ...], int]]) -> tuple[Source, ...]:
    """One source per direction of the composition of (laws per direction, count)."""
    found: list[Source] = []
    for k in range(max(len(laws) for laws, _ in sides)):
        merged: dict[Law, int] = {}
        for laws, count in sides:
            law = laws[min(k, len(laws) - 1)]
            merged[law] = merged.get(law, 0) + count
        found.append(nested([(law.source(), n) for law, n in merged.items()]))
    return tuple(found)


@dataclass(frozen=True)
class NestedPair:
    """A plan that runs on one sample.

    `upper` has the plan's directions, (with the unit, without it) and back; one alone is its own mirror
    image. `lower` has those that data sets realise, where these differ.
    """

    upper: tuple[Source, ...]
    lower: tuple[Source, ...] | None
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
            nothing = (Cut(LossDistribution.of_outcomes([0.0], [1.0])),)
            return self._pairs(self._mirrored(rate), nothing, FIXED_SIZE)
        lower = None if self.lower is None else _poisson(self.lower, rate)
        return self._pairs(_poisson(self.upper, rate), lower, POISSON)

    def without_replacement(self, rate: float, adjacency: Adjacency) -> Pairs:
        """A sample of fixed size, under replace-one."""
        lower = _poisson(self.lower or self.upper, rate)
        return self._pairs(self._mirrored(rate), lower, FIXED_SIZE)

    def participation(self, rate: float, adjacency: Adjacency) -> Pairs:
        """The coin is the same for both neighbours; below, it is seen."""
        upper = tuple(thinned(source, rate) for source in self.upper)
        lower = None
        if self.lower is not None:
            lower = tuple(thinned(source, rate) for source in self.lower)
        return self._pairs(upper, lower, _THINNED)

    def _mirrored(self, rate: float) -> tuple[Source, ...]:
        if len(self.upper) > 1:
            told = "a sample under replace-one needs a plan whose pair is its own mirror image"
            raise Unsupported(f"{told}, and this one's is not", argument="plan")
        return (mirrored(self.upper[0], rate),)

    def _pairs(
        self,
        upper: tuple[Source, ...],
        lower: tuple[Source, ...] | None,
        *basis: str,
    ) -> Pairs:
        above = tuple(SourceLaw(source) for source in upper)
        below = None if lower is None else tuple(SourceLaw(source) for source in lower)
        return Pairs(above, (*self.basis, *basis), below, math.inf)


def _poisson(ways: tuple[Source, ...], rate: float) -> tuple[Source, ...]:
    """Remove and add of a coin around a plan: from the plan's own remove and add directions."""
    # (without, with) read the other way round is (with, without); a composition that is its own mirror image
    # too, as it keeps its digits at the end that is read
    back = backwards(ways[-1])
    return sampled(ways[0], rate), backwards(sampled(back, rate))

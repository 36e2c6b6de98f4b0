"""Voted: the labels that given votes led to, as one release of a plan.

Its cost is the data-dependent one, so it is as private as the votes; what `GNMax.plan` says of the same
queries is public. Above, each query counts as the pair that dominates all its neighbours; below, as one of
them.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dpacct.answer import Answer
from dpacct.citations import LABELS, SPREAD, Citation
from dpacct.declare.number import ln, shown, text
from dpacct.errors import InvalidArgument, Unsupported
from dpacct.plan.node import Fields, Leaf, know, nested, read, resolve_adjacency, take
from dpacct.pld.pair import PairMoments, Pairs, StatedPairs
from dpacct.pld.stack import Together
from dpacct.vocabulary import Adjacency, Assumption, Side, Strength
from dpacct.voting.cost import FIXED, PRIVATE, protected
from dpacct.voting.exact import (
    MOST_COMPOSED,
    Neighbours,
    composed,
    least_renyi,
    of_epsilon,
    of_log_delta,
)
from dpacct.voting.votes import Votes

if TYPE_CHECKING:
    from dpacct.voting.aggregator import Aggregator

_LOG_DELTA = math.log(1e-6)
"""The log delta whose saddle chooses the neighbours that a composition counts from below."""


_FEW_QUERIES = 12  # whose proof is not much dearer than what is computed


@dataclass(frozen=True, repr=False)
class Voted(Leaf, kind="voted"):
    """The labels of queries whose votes are given: `GNMax(...).on(votes)` makes it.

    It composes, calibrates and is saved like any plan; what it answers is private, as the votes are. It runs
    on no sample, of which other votes would have come. Of more than 5000 different queries, or margins that
    are too wide to integrate, `GNMax.cost` has bounds. Raises `Unsupported` then, and `InvalidArgument`.
    """

    aggregator: Aggregator
    votes: Votes
    baseline: tuple[tuple[float, ...], ...] | None = None

    loose = True

    def __post_init__(self) -> None:
        """Check the declared unit, and that the laws are within reach."""
        know(self, self.aggregator.facts.above(total=self.votes.queries))

    @property
    def proved_first(self) -> bool:
        """Prefer a proof for few queries, whose outcomes can be listed."""
        return self.votes.queries <= _FEW_QUERIES

    @property
    def private(self) -> bool:
        """True: what it answers reveals something of the votes."""
        return True

    # -- the laws ----------------------------------------------------------------------------

    @cached_property
    def _sides(self) -> tuple[list[Neighbours], list[Neighbours]]:
        """Each order of the two data sets: what is realised, and what dominates whatever a unit does."""
        baseline = None if self.baseline is None else np.array(self.baseline)
        exact, _, count = self.aggregator.kinds(self.votes, baseline)
        widest = int(exact.histograms.margins.max())
        if count.size > MOST_COMPOSED or widest > exact.reach:
            message = (
                f"votes in a plan must be at most {MOST_COMPOSED} different queries, with margins up to"
                f" {exact.reach:g}, got {count.size} different queries and a margin of {widest} shares"
            )
            raise Unsupported(f"{message} of a vote", argument="votes")
        return exact.both(count)

    def _ways(self, sides: list[Neighbours]) -> list[Neighbours]:
        """Order the laws as a plan does: with the unit against without it, and back."""
        # a voter that joins is in the neighbour: there the votes are the data without it
        joined = self.aggregator.neighbouring.is_agent
        return [sides[1], sides[0], *sides[2:]] if joined else sides

    @cached_property
    def _pairs(self) -> Pairs:
        sides, granted = map(self._ways, self._sides)
        upper = tuple(Together(side.hulls()) for side in granted)
        tilts = [least_renyi(side, of_epsilon(_LOG_DELTA))[1] for side in sides]
        lower = tuple(Together(s.worst(c)[0]) for s, c in zip(sides, tilts, strict=True))
        return Pairs(upper, self._basis, lower, math.inf)

    @property
    def _basis(self) -> tuple[Citation, ...]:
        return (LABELS,) if self.aggregator.neighbouring.proven else (LABELS, SPREAD)

    def pairs(self, adjacency: Adjacency) -> Pairs:
        """The pairs of all queries together."""
        return self._pairs

    def stated_parts(self, adjacency: Adjacency) -> list[tuple[StatedPairs, int]]:
        """Each kind of query; raises `Unsupported` with a baseline, or where a vote may be spread."""
        from dpacct.voting.proved import directions

        aggregator = self.aggregator
        if self.baseline is not None or not aggregator.neighbouring.proven:
            what = "a baseline" if self.baseline is not None else "votes that an agent may spread"
            message = f"method 'certified' has no proof for {what}"
            raise Unsupported(message, argument="method")
        exact, _, count = aggregator.kinds(self.votes, None)
        sides = self._ways(self._sides[0])
        tilts = [least_renyi(side, of_epsilon(_LOG_DELTA))[1] for side in sides]
        return [
            (directions(aggregator, tuple(row), tilts), int(many))
            for row, many in zip(exact.histograms.counts.tolist(), count, strict=True)
        ]

    def moments(self, adjacency: Adjacency) -> tuple[PairMoments, ...]:
        """The largest divergence of each query's neighbours, added up."""
        return tuple(PairMoments(side.log_moments) for side in self._ways(self._sides[1]))

    # -- questions ---------------------------------------------------------------------------

    def sharper(
        self, quantity: str, at: Fraction, method: str, adjacency: Adjacency | None
    ) -> Answer | None:
        """Answer by the costliest order of the data sets and the best tilt of the question.

        >>> import dpacct as dp
        >>> plan = dp.LNMax(b=10).on([[60, 5, 5], [20, 30, 20]])
        >>> f"{float(plan.delta(plan.epsilon(1e-5).upper)):.3e}"
        '1.000e-05'
        """
        if method not in ("auto", "exact"):
            return None
        started, word = time.perf_counter(), resolve_adjacency(self, adjacency)
        question = of_epsilon(ln(at)) if quantity == "epsilon" else of_log_delta(float(at))
        lower, upper, _ = composed(*self._sides, question)
        if quantity == "delta":
            lower, upper = math.exp(lower), min(1.0, math.exp(upper) * (1.0 + 1e-12))
        return Answer(
            quantity=quantity,
            value=upper,
            lower=lower,
            upper=upper,
            side=Side.TWO_SIDED,
            strength=Strength.BOUND,
            method="exact",
            basis=self._basis,
            assumptions=self.assumptions(word),
            adjacency=word,
            unit=self.unit,
            tree=self,
            seconds=time.perf_counter() - started,
            notes=(PRIVATE,),
        )

    def in_sample(self, sampler: Any) -> Leaf:
        """A sample of other voters or records would have had other votes: raises `Unsupported`."""
        message = (
            f"{self!r} cannot run on a sample: its votes are fixed, and a sample would have others"
        )
        raise Unsupported(message, argument="plan")

    def assumptions(self, adjacency: Adjacency) -> tuple[Assumption, ...]:
        """State whose votes may change, and that no query depended on another's label."""
        return (protected(self.aggregator), FIXED)

    def citations(self) -> tuple[Citation, ...]:
        """The sources of the aggregator."""
        return self.aggregator.citations()

    # -- saved -------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return f"{self.aggregator!r}.on({self.votes!r})"

    def fields(self) -> Fields:
        """The aggregator, and the votes as they are: whoever reads the plan reads them."""
        results: Fields = {"of": nested(self.aggregator), "votes": self.votes.counts.tolist()}
        if self.baseline is not None:
            results["baseline"] = [[text(Fraction(x)) for x in row] for row in self.baseline]
        return results

    @classmethod
    def from_fields(cls, fields: Fields) -> Voted:
        """A node from its JSON fields."""
        from dpacct.voting.aggregator import THRESHOLD, Aggregator

        aggregator, rows = read(take(fields, "of")), take(fields, "votes")
        baseline = fields.pop("baseline", None)
        if not isinstance(aggregator, Aggregator):
            message = f"a voted node must be of gnmax or lnmax, got {shown(aggregator)}"
            raise InvalidArgument(message, argument="plan")
        if baseline is not None:
            baseline = [[float(THRESHOLD.check("baseline", x)) for x in row] for row in baseline]
        return aggregator.on(rows, baseline=baseline)

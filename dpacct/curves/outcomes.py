"""Symmetric pairs on finitely many outcomes that a named mechanism realises."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dpacct.engine.law import Law
from dpacct.vocabulary import Adjacency

from .atomic import AtomicPair
from .pairs import FIXED_SIZE, POISSON, Pairs


@dataclass(frozen=True)
class OutcomePair:
    """The outcomes, the theorem that makes them the worst pair, and what is realised nearer by.

    `near` is the pair of two units of which one is absent, at half the distance of two that are
    exchanged: under Poisson sampling and replace-one it gives the lower end. None: the outcomes
    themselves are realised by a unit that looks as if it were absent. `below` is a pair that the
    mechanism surely dominates, where the outcomes are only a bound of it.
    """

    outcomes: AtomicPair
    basis: str
    near: AtomicPair | None = None
    below: AtomicPair | None = None

    def plain(self) -> Pairs:
        lower = None if self.below is None else self.below.plain().upper
        return replace(self.outcomes.plain(), basis=(self.basis,), lower=lower)

    def _sampled_below(self, rate: float) -> tuple[Law, ...] | None:
        found = self.near or self.below
        return None if found is None else found.poisson(rate, Adjacency.ADD_REMOVE).upper

    def poisson(self, rate: float, adjacency: Adjacency) -> Pairs:
        pairs = self.outcomes.poisson(rate, adjacency)
        if adjacency is Adjacency.REPLACE_ONE:
            lower = self._sampled_below(rate) or pairs.lower
            return replace(pairs, basis=(self.basis, FIXED_SIZE), lower=lower)
        lower = None if self.below is None else self._sampled_below(rate)
        return replace(pairs, basis=(self.basis, POISSON), lower=lower)

    def without_replacement(self, rate: float, adjacency: Adjacency) -> Pairs:
        pairs = self.outcomes.without_replacement(rate, adjacency)
        lower = pairs.lower if self.below is None else self._sampled_below(rate)
        return replace(pairs, basis=(self.basis, FIXED_SIZE), lower=lower)

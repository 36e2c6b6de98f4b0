"""Symmetric pairs on finitely many outcomes that a named mechanism realises."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dpacct.vocabulary import Adjacency

from .atomic import AtomicPair
from .pairs import FIXED_SIZE, POISSON, Pairs


@dataclass(frozen=True)
class OutcomePair:
    """The outcomes, the theorem that makes them the worst pair, and what is realised nearer by.

    `near` is the pair of two units of which one is absent, at half the distance of two that are
    exchanged: under Poisson sampling and replace-one it gives the lower end. None: the outcomes
    themselves are realised by a unit that looks as if it were absent.
    """

    outcomes: AtomicPair
    basis: str
    near: AtomicPair | None = None

    def plain(self) -> Pairs:
        return replace(self.outcomes.plain(), basis=(self.basis,))

    def poisson(self, rate: float, adjacency: Adjacency) -> Pairs:
        pairs = self.outcomes.poisson(rate, adjacency)
        if adjacency is not Adjacency.REPLACE_ONE:
            return replace(pairs, basis=(self.basis, POISSON))
        pairs = replace(pairs, basis=(self.basis, FIXED_SIZE))
        if self.near is None:
            return pairs
        return replace(pairs, lower=self.near.poisson(rate, Adjacency.ADD_REMOVE).upper)

    def without_replacement(self, rate: float, adjacency: Adjacency) -> Pairs:
        pairs = self.outcomes.without_replacement(rate, adjacency)
        return replace(pairs, basis=(self.basis, FIXED_SIZE))

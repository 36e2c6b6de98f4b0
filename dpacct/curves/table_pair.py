"""A pair of probability tables, one with the unit and one without; not symmetric, as tables are."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpacct.engine.stable import Floats
from dpacct.vocabulary import Adjacency

from .atomic import AtomicLaw, AtomicPair
from .knots import pair_of_profile
from .pairs import FIXED_SIZE, POISSON, Pairs

_BASIS = "the given tables, outcome by outcome"
_BOTH_WAYS = "the larger of both directions' profiles, which is one pair"


@dataclass(frozen=True)
class TablePair:
    """Probabilities of each outcome with the unit (P) and without it (Q); each sums to 1."""

    p: tuple[float, ...]
    q: tuple[float, ...]

    def _law(self, rate: float = 1.0, *, reverse: bool = False) -> AtomicLaw:
        """The loss of (1 - rate) Q + rate P against Q, or of Q against that."""
        losses, masses = [], []
        escaped = rate * math.fsum(a for a, b in zip(self.p, self.q, strict=True) if b == 0.0)
        missed = 0.0
        for a, b in zip(self.p, self.q, strict=True):
            if b == 0.0:
                continue
            if a == 0.0 and rate == 1.0:  # impossible under P
                missed += b
                continue
            excess = rate * ((a - b) / b)
            # near -1 the excess has lost what is left: (1 - rate) + rate a/b in full
            share = 1.0 + excess if excess > -0.5 else (1.0 - rate) + rate * (a / b)
            loss = math.log1p(excess) if excess > -0.5 else math.log(share)
            losses.append(-loss if reverse else loss)
            masses.append(b if reverse else b * share)
        if reverse:
            escaped, missed = missed, escaped
        return AtomicLaw.of(losses, masses, escaped, missed)

    def plain(self) -> Pairs:
        laws = self._law(), self._law(reverse=True)
        return Pairs(laws, (_BASIS,), clt_mu_squared=laws[0].variance_hint)

    def poisson(self, rate: float, adjacency: Adjacency) -> Pairs:
        if adjacency is Adjacency.REPLACE_ONE:
            return self.without_replacement(rate, adjacency)
        laws = self._law(rate), self._law(rate, reverse=True)
        return Pairs(laws, (_BASIS, POISSON), clt_mu_squared=laws[0].variance_hint)

    def without_replacement(self, rate: float, adjacency: Adjacency) -> Pairs:
        pairs = self.symmetric.without_replacement(rate, adjacency)
        lower = self._law(rate), self._law(rate, reverse=True)
        return Pairs(pairs.upper, (_BASIS, _BOTH_WAYS, FIXED_SIZE), lower, pairs.clt_mu_squared)

    @cached_property
    def symmetric(self) -> AtomicPair:
        """The pair whose profile is the larger of both directions' at every epsilon.

        Both profiles have their corners at the losses, and where they cross; a corner too few would
        make a chord too high, which is the safe side, so the crossings are put in only roughly.
        """
        p, q = np.array(self.p), np.array(self.q)
        both = (p > 0.0) & (q > 0.0)
        losses = np.abs(np.log(p[both]) - np.log(q[both]))
        corners = np.unique(np.concatenate(([0.0], losses)))
        between = 0.5 * (corners[1:] + corners[:-1])
        epsilons = np.unique(np.concatenate((corners, between))) if corners.size < 500 else corners
        first, second = _profile(p, q, epsilons), _profile(q, p, epsilons)
        return pair_of_profile(epsilons.tolist(), np.maximum(first, second).tolist())


def _profile(p: Floats, q: Floats, epsilons: Floats) -> Floats:
    """sum of (p - e^eps q)_+ at increasing epsilons, among them every loss above the first one.

    Between neighbours e < e' no loss lies, so that delta(e) = delta(e') + (e^{e'} - e^e) Q(L >= e'): from
    the top down all is added and nothing cancels.
    """
    finite = (p > 0.0) & (q > 0.0)
    losses = np.log(p[finite]) - np.log(q[finite])
    order = np.argsort(losses)
    losses, masses = losses[order], q[finite][order]
    beyond = np.append(np.cumsum(masses[::-1])[::-1], 0.0)  # Q-mass from each loss upwards
    # a loss is met by its own epsilon, whichever way the two were rounded
    above = beyond[np.searchsorted(losses, epsilons[1:] * (1.0 - 1e-14))]
    steps = np.exp(epsilons[1:]) * -np.expm1(epsilons[:-1] - epsilons[1:]) * above
    open_failures = float(p[q == 0.0].sum())
    rising: Floats = np.append(np.cumsum(steps[::-1])[::-1], 0.0) + open_failures
    return rising


@dataclass(frozen=True)
class BothWays:
    """A pair of tables of which it is not known which one is with the unit: either may be."""

    tables: TablePair

    def plain(self) -> Pairs:
        pairs = self.tables.symmetric.plain()
        return Pairs(
            pairs.upper, (_BASIS, _BOTH_WAYS), self.tables.plain().upper, pairs.clt_mu_squared
        )

    def poisson(self, rate: float, adjacency: Adjacency) -> Pairs:
        return self.tables.without_replacement(rate, adjacency)

    def without_replacement(self, rate: float, adjacency: Adjacency) -> Pairs:
        return self.tables.without_replacement(rate, adjacency)

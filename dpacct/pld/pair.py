"""The pair of laws of one release, as data, and the pair that each way of sampling makes of it.

A mechanism states its pair (with the unit, without it) before any sampling. This table has all the rest:

    none                       the pair
    Poisson                    (1-q) Q + q P against Q, and back (Zhu, Dong, Wang 2022, Theorem 11)
    Poisson, replace-one       (1-q) R + q A against (1-q) R + q B, noise without the record, with one record,
                               and with the other (docs/theory/subsampling.md), where the noise has one
                               half-line that favours A most and B least; else C_q: the unit is absent,
                               present, or exchanged, pairwise within one sensitivity
    fixed size, replace-one    C_q (Dong, Roth, Su 2022, Theorem 4.2); below, the mixture, which data realise
    Poisson, cut to B of n     Poisson, or the same with another rate at twice the distance (truncated.py)
    participation              one coin for both neighbours (joint convexity)
    records of a user          sum_j Binomial(k, q)(j) N(j mu, 1) against N(0, 1), and back (Ganesh 2024)
    a group of k units         sum_i Bin(j, q)(i) N(i mu, 1) against sum_i Bin(k-j, q)(i) N(-i mu, 1), for the
                               worst j (docs/theory/subsampling.md)
    one bin of t               (1/t) sum_i N(mu e_i, I) against N(0, I), and back (Chua et al. 2025)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dpacct.citations import (
    APART,
    BINS,
    COIN,
    FIXED_SIZE,
    GAUSSIAN,
    GROUP_SAMPLED,
    LAPLACE,
    ON_THE_SAMPLE,
    POISSON,
    POISSON_EXCHANGED,
    REALISABLE,
    RECORDS,
    Citation,
)
from dpacct.errors import OutsideDomain, Unsupported
from dpacct.vocabulary import Adjacency

from .bracket.nested import nested
from .derived import backwards, mirrored, sampled, thinned
from .loss import LossDistribution
from .moments import prepare
from .operators import Blended, Exchanged, exchanged_coins
from .pieces import Cut, Source
from .scalar import exp
from .stable import Floats, TooFine

Ways = tuple[Source, ...]


class Scheme(Enum):
    """The sampling that a release went through."""

    PLAIN = "plain"
    POISSON = "poisson"
    FIXED_SIZE = "fixed size"


@dataclass(frozen=True)
class Pairs:
    """The laws of one release's loss, one per direction of the neighbouring relation.

    `upper` dominates the release (adaptively, under composition); `lower` is realised by some neighbouring
    data sets. None: `upper` itself is realised, so the answer is exact. `limit`: mu^2 of one release in the
    Gaussian limit; None: the second moment of the loss.
    """

    upper: Ways
    basis: tuple[Citation, ...]
    lower: Ways | None = None
    limit: float | None = None

    @cached_property
    def clt_mu_squared(self) -> float:
        """mu^2 of one release in the Gaussian limit."""
        return _second_moment(self.upper[0]) if self.limit is None else self.limit

    @property
    def gaussian_mu(self) -> float | None:
        """mu, where the release is a plain Gaussian and nothing else."""
        law = self.upper[0].distribution
        if law is None or self.lower is not None or len(self.upper) > 1:
            return None
        return law.gaussian


def _second_moment(source: Source) -> float:
    """E[L^2] of the finite losses; of pieces, about the variance."""
    law = source.distribution
    if law is None:
        return source.variance
    if not law.branches:  # of what does not fail openly
        kept = math.log1p(-law.infinite)
        losses = law.losses - (kept - math.log1p(-law.lost))
        return float(np.exp(law.log_p - kept) @ np.square(losses))
    try:
        result = prepare(law, 0.0, 1.0).cumulants(0.0)
    except TooFine:  # next to the largest loss there is at most its share of P
        return -math.expm1(-source.ceiling) * source.ceiling**2
    return result.variance + result.mean**2


@dataclass(frozen=True)
class PairMoments:
    """Log moments of one release in one direction; `infinite`: P-mass that moments leave out."""

    log_moments: Callable[[Floats], Floats]
    infinite: float = 0.0
    ceiling: float = math.inf  # of the finite losses


@dataclass(frozen=True)
class Facing:
    """The other of two exchanged records, beside a pair (with a record, without).

    The loss of the other record at the same place is turn * loss - level (`operators.Exchanged`).
    """

    turn: int
    level: Any


@dataclass(frozen=True)
class Stated:
    """A base pair as a formula of exact numbers, which floats and balls evaluate alike.

    `basis`: who says so. `unit`: every loss is a whole multiple of it, exactly. `near`, `below` as in `Pair`,
    `below` before any sampling; `back`: the pair back, where the pair is not its own mirror image. `seconds`:
    about what the formula takes in balls, where that is worth a word. `facing` as in `Pair`.
    """

    formula: Callable[..., LossDistribution]
    numbers: tuple[Fraction | int, ...]
    basis: Citation | None = None
    unit: Fraction | None = None
    near: Stated | None = None
    below: Stated | None = None
    back: Stated | None = None
    seconds: float = 0.0
    facing: Facing | None = None

    def of(self, number: Callable[[Fraction], Any] = float) -> LossDistribution:
        """The pair in these numbers; whole numbers stay whole."""
        return self.formula(*(n if isinstance(n, int) else number(n) for n in self.numbers))

    def pair(self) -> Pair:
        """Make a pair that is its own mirror image, and realised, in floats."""
        basis = () if self.basis is None else (self.basis,)
        near = None if self.near is None else self.near.pair
        return Pair((Cut(self.of()),), basis, near=near, facing=self.facing)


@dataclass(frozen=True)
class StatedPairs:
    """Pairs in exact numbers, one for each direction: what dominates a release, and what is realised."""

    upper: tuple[Stated, ...]
    lower: tuple[Stated, ...] | None = None

    @property
    def seconds(self) -> float:
        """About what all of them take in balls."""
        return sum(pair.seconds for pair in (*self.upper, *(self.lower or ())))


@dataclass(frozen=True)
class Pair:
    """(with the unit, without it) of one release before any sampling.

    `ways`: that pair and the pair back; one alone is its own mirror image. `near`: the same at half the
    distance, of a unit that is absent or present where two are exchanged; None: the pair itself. `below`:
    what data realise at a rate (1: without sampling), where the pair only bounds it; None: the pair.
    `limit`: mu^2 in the Gaussian limit without sampling, of other noise than Gaussian; inf: never known.
    `facing`: where a record faces another across its absence, as in a pair at half the distance.
    """

    ways: Ways
    basis: tuple[Citation, ...]
    near: Callable[[], Pair] | None = None
    below: Callable[[float], Ways] | None = None
    limit: float | None = None
    facing: Facing | None = None

    @classmethod
    def of(cls, loss: LossDistribution, *basis: Citation) -> Pair:
        """A pair that is its own mirror image."""
        return cls((Cut(loss),), basis)

    @classmethod
    def together(cls, parts: Sequence[tuple[Pairs, int]]) -> Pair:
        """Put all of these releases, each with its count, on one sample."""
        basis = tuple(dict.fromkeys(line for pairs, _ in parts for line in pairs.basis))
        below = None
        if any(pairs.lower is not None for pairs, _ in parts):
            realised = cls(composed([(pairs.lower or pairs.upper, n) for pairs, n in parts]), ())
            below = realised.at
        # what a unit that is left out of a composition looks like is not known: nothing is claimed below
        nothing = cls.of(LossDistribution.of_outcomes([0.0], [1.0]))
        return cls(
            composed([(pairs.upper, n) for pairs, n in parts]),
            (*basis, ON_THE_SAMPLE),
            near=lambda: nothing,
            below=below,
            limit=math.inf,
        )

    def at(self, rate: float) -> Ways:
        """The pair and the pair back, of a unit that is in the sample by its own coin; at 1, unsampled."""
        if rate == 1.0:
            return self.ways
        remove = sampled(self.ways[0], rate)
        if len(self.ways) == 1 and not self.ways[0].bracketed:
            return remove, backwards(remove)
        # (without, with) read the other way round is (with, without); so a composition that is its own mirror
        # image too keeps its digits at the end that is read
        return remove, backwards(sampled(backwards(self.ways[-1]), rate))

    # -- scheme x adjacency -> operators ------------------------------------------------------------

    def plain(self) -> Pairs:
        """No sampling: the pair itself."""
        lower = None if self.below is None else self.below(1.0)
        return Pairs(self.ways, self.basis, lower, self._limit(Scheme.PLAIN, 1.0))

    def poisson(self, rate: float, adjacency: Adjacency) -> Pairs:
        """Each unit by its own coin."""
        if adjacency is Adjacency.REPLACE_ONE:
            near = self.near() if self.near else None
            if near is not None and near.facing is not None and rate < 1.0:
                return self._one_for_another(near, near.facing, rate)
            return self._exchanged(rate, near.at if near else self.below or self.at)
        self._check_sampled()
        lower = None if self.below is None else self.below(rate)
        basis = self._sampled_basis(POISSON, APART)
        return Pairs(self.at(rate), basis, lower, self._limit(Scheme.POISSON, rate))

    def without_replacement(self, rate: float, adjacency: Adjacency) -> Pairs:
        """A uniform subset of fixed size."""
        return self._exchanged(rate, self.below or self.at)

    def participation(self, rate: float) -> Pairs:
        """Run all or nothing, by a coin that both neighbours share; for the lower end it is seen."""
        lower = None
        if self.below is not None:
            lower = tuple(thinned(source, rate) for source in self.below(1.0))
        upper = tuple(thinned(source, rate) for source in self.ways)
        whole = all(source.distribution is not None for source in upper)
        basis = tuple(line for line in self.basis if not (whole and line == ON_THE_SAMPLE))
        return Pairs(upper, (*basis, COIN), lower, math.inf)

    def by_records(self, records: int, rate: float) -> Pairs:
        """Gaussian noise, and a unit of so many records, each in the sample by its own coin.

        With l the loss of one record, N(j mu, 1) has log density ratio j l - j (j-1) mu^2 / 2 to N(0, 1).
        """
        loss, mu = self._normal("records of a user are sampled")
        self._check_sampled()
        blend = loss.through(_sampled_moves(records, rate, mu))
        return Pairs((Cut(blend), Cut(blend.reversed())), (*self.basis, RECORDS))

    def of_group(self, size: int, rate: float, adjacency: Adjacency) -> Pairs:
        """Gaussian noise, and so many units at once, each in the sample by its own coin.

        Of the units j are in the one data set only, and the others in the other one only: one pair for each
        j, as that stays what it is over all steps. Under replace-one each data set has all of them.
        """
        loss, mu = self._normal("groups are sampled")
        self._check_sampled()
        basis = (*self._sampled_basis(POISSON_EXCHANGED), GROUP_SAMPLED)
        if adjacency is Adjacency.REPLACE_ONE:
            assert self.near is not None
            loss, mu = self.near()._normal("groups are sampled")
            moves = _sampled_moves(size, rate, mu)
            return Pairs((Cut(loss.through(Exchanged(moves, moves, -1, mu * mu))),), basis)
        ways = []
        for j in range(size, 0, -1):
            here = _sampled_moves(j, rate, mu)
            there = _sampled_moves(size - j, rate, mu)
            ways.append(loss.through(Exchanged(here, there, -1, mu * mu) if j < size else here))
        return Pairs(tuple(map(Cut, (*ways, ways[0].reversed()))), basis)

    def in_bins(self, bins: int, epochs: int) -> Pairs:
        """Gaussian noise, and a unit in one bin of so many, which are passed over so many times.

        Passes over the same bins add up to noise of sigma / sqrt(epochs).
        """
        # of units in bins: the law of less takes more than seconds
        least_sigma = 0.1
        from .allocation import one_of

        _, mu = self._normal("bins are")
        mu *= math.sqrt(epochs)
        if mu > 1.0 / least_sigma:
            message = (
                f"sigma / sqrt(epochs) must be at least {least_sigma} where units are put into bins"
            )
            raise OutsideDomain(f"{message}, got {1.0 / mu:.4g}", argument="sigma")
        law = one_of(bins, mu)
        return Pairs((Cut(law), Cut(law.reversed())), (*self.basis, BINS))

    def _normal(self, who: str) -> tuple[LossDistribution, float]:
        """The pair as the loss of N(mu, 1) against N(0, 1), and mu; raises `Unsupported` for any other."""
        source, mu = self.ways[0], self._mu
        if not isinstance(source, Cut) or mu is None:
            message = f"{who} for Gaussian noise alone, and this plan has other noise"
            raise Unsupported(message, argument="plan")
        return source.of, mu

    def normal_shift(self, who: str) -> float:
        """Return mu of N(mu, 1) against N(0, 1), for a sample; raises `Unsupported`, `OutsideDomain`."""
        self._check_sampled()
        return self._normal(who)[1]

    def _exchanged(self, rate: float, realised: Callable[[float], Ways]) -> Pairs:
        """C_rate above, what is realised below."""
        if len(self.ways) > 1:
            message = "a sample under replace-one needs a plan whose pair is its own mirror image"
            raise Unsupported(f"{message}, and this one's is not", argument="plan")
        lower = realised(rate)
        self._check_sampled()
        basis = self._sampled_basis(FIXED_SIZE, REALISABLE)
        upper = (mirrored(self.ways[0], rate),)
        return Pairs(upper, basis, lower, self._limit(Scheme.FIXED_SIZE, rate))

    def _one_for_another(self, near: Pair, facing: Facing, rate: float) -> Pairs:
        """The pair of one record exchanged for another, which is its own mirror image and realised."""
        (source,) = near.ways
        assert isinstance(source, Cut)
        self._check_sampled()
        law = source.of.exchanged(exchanged_coins(rate, facing.turn, facing.level))
        return Pairs((Cut(law),), self._sampled_basis(POISSON_EXCHANGED))

    @cached_property
    def _mu(self) -> float | None:
        """mu, where the pair is N(mu, 1) against N(0, 1)."""
        source = self.ways[0]
        return source.of.gaussian if isinstance(source, Cut) and len(self.ways) == 1 else None

    def _sampled_basis(
        self, theorem: Citation, of_gaussian: Citation | None = None
    ) -> tuple[Citation, ...]:
        """Return the sources of a sample, whose law has no closed form; laws composed before keep theirs."""
        if ON_THE_SAMPLE in self.basis:
            return (*self.basis, theorem)
        kept = (line for line in self.basis if line not in (GAUSSIAN, LAPLACE))
        return (*kept, theorem, *((of_gaussian,) if of_gaussian and GAUSSIAN in self.basis else ()))

    def _limit(self, scheme: Scheme, rate: float) -> float | None:
        """mu^2 of one release in the Gaussian limit; None: the second moment of the loss."""
        mu = self._mu
        if self.limit == math.inf or mu is None:
            return self.limit if scheme is Scheme.PLAIN or self.limit == math.inf else None
        if scheme is Scheme.PLAIN:
            return mu * mu
        growth = min(mu * mu, 700.0)
        if scheme is Scheme.FIXED_SIZE:  # Dong, Roth, Su 2022, Corollary 5.4
            most, least = (0.5 * math.erfc(-x / math.sqrt(2.0)) for x in (1.5 * mu, -0.5 * mu))
            return 2.0 * rate * rate * (math.exp(growth) * most + 3.0 * least - 2.0)
        # Bu, Dong, Long, Su 2020: mu = q sqrt(T (e^{1/sigma^2} - 1))
        return rate * rate * math.expm1(growth)

    def _check_sampled(self) -> None:
        """Raise `OutsideDomain` where a sample is out of reach."""
        # less loses more than any use would bear (epsilon 5000), of more doubles tell nothing
        least, most = 1e-2, 1e15
        if self._mu is not None and not 1.0 / most <= self._mu <= 1.0 / least:
            message = f"sigma of a sampled release must be in [0.01, 1e15], got {1.0 / self._mu!r}"
            raise OutsideDomain(message, argument="sigma")


def _sampled_moves(records: int, rate: float, mu: float) -> Blended:
    """Noise moved by as many records as are sampled of so many: N(j mu, 1), j binomial."""
    weights = (
        (j, math.comb(records, j) * rate**j * (1.0 - rate) ** (records - j))
        for j in range(records + 1)
    )
    return Blended(tuple((w, float(j), 0.5 * j * (j - 1) * mu * mu) for j, w in weights if w > 0.0))


def composed(sides: Sequence[tuple[Ways, int]]) -> Ways:
    """One source per direction of the composition of (ways, count)."""
    results: list[Source] = []
    for k in range(max(len(ways) for ways, _ in sides)):
        merged: dict[Source, int] = {}
        for ways, count in sides:
            source = ways[k % len(ways)]
            merged[source] = merged.get(source, 0) + count
        results.append(nested(list(merged.items())))
    return tuple(results)


# -- pairs of finitely many outcomes that are their own mirror images --------------------------------


def symmetric(losses: Iterable[Any], masses: Iterable[Any], failure: Any = 0.0) -> LossDistribution:
    """Outcomes of loss +-l for each l >= 0, by the Q-mass of +l, and open failures.

    Those of loss -l weigh e^l as much, and what has no loss counts for both signs. With probability
    `failure` each distribution yields an outcome that the other never does.
    """
    # above which a mass has all its digits as a float
    least_log = -690.0
    at, mass = np.array([*losses]), np.array([*masses])
    kept = ~(mass <= 0.0)  # a ball around 0 stays
    at, mass = at[kept], mass[kept]
    still = at == 0.0
    log_q, back = np.log(np.where(still, 2.0 * mass, mass)), ~still
    behind = log_q[back] + at[back]
    if behind.dtype != object:
        # a likely outcome's log is next to 0, which the sum of two large logs is not to its last digit
        heavy = (at[back] < -least_log) & (log_q[back] > least_log)
        product = mass[back] * np.exp(np.where(heavy, at[back], 0.0))
        behind = np.where(heavy, np.log(product), behind)
    return LossDistribution(
        np.concatenate((at, -at[back])),
        np.concatenate((log_q, behind)),
        infinite=failure,
        lost=failure,
    )


def guarantee(epsilon: Any, delta: Any = 0.0) -> LossDistribution:
    """Randomised response at epsilon, beside an open failure of probability delta each way.

    Raises `OutsideDomain` where e^-epsilon leaves the range of floats.
    """
    # e^-epsilon of a guarantee must be a double
    largest = 700.0
    if epsilon > largest:
        message = f"epsilon of a release must be at most {largest:g}, got {float(epsilon):g}"
        raise OutsideDomain(message, argument="epsilon")
    shrink = exp(-epsilon)
    if epsilon == 0.0:
        return symmetric([0.0], [0.5 * (1.0 - delta)], delta)
    return symmetric([epsilon], [(1.0 - delta) * shrink / (1.0 + shrink)], delta)

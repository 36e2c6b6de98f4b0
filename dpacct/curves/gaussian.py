"""The Gaussian mechanism's pair, N(1, sigma^2) against N(0, sigma^2), plain and sampled."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpacct.errors import OutsideDomain
from dpacct.vocabulary import Adjacency

from .gaussian_laws import GaussianLaw, SampledGaussianLaw
from .half_gaussian import SymmetricGaussianLaw
from .pairs import FIXED_SIZE, POISSON, Pairs


def _normal_cdf(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


@dataclass(frozen=True)
class GaussianPair:
    """`sigma` = standard deviation / sensitivity.

    Raises `OutsideDomain` where 1/sigma^2 leaves the range of floats; on a sample also where one release
    loses more than any use would bear (below 0.01 it is epsilon 5000), or less than doubles can tell.
    """

    sigma: float

    def __post_init__(self) -> None:
        if not 1e-100 <= self.sigma <= 1e100:
            told = f"sigma must be in [1e-100, 1e100], got {self.sigma:g}"
            raise OutsideDomain(told, argument="sigma")

    def plain(self) -> Pairs:
        mu = 1.0 / self.sigma
        basis = ("Gaussian loss law, closed form",)
        return Pairs((GaussianLaw(mu),), basis, clt_mu_squared=mu * mu, gaussian_mu=mu)

    def _check_sampled(self) -> None:
        if not 1e-2 <= self.sigma <= 1e15:
            told = f"sigma of a sampled release must be in [0.01, 1e15], got {self.sigma:g}"
            raise OutsideDomain(told, argument="sigma")

    def poisson(self, rate: float, adjacency: Adjacency) -> Pairs:
        self._check_sampled()
        remove = SampledGaussianLaw(self.sigma, rate, True)
        add = SampledGaussianLaw(self.sigma, rate, False)
        if adjacency is Adjacency.REPLACE_ONE:
            # The unit absent, present, or exchanged: the three distributions are pairwise within one
            # replace-one sensitivity, which is all that the proof of C_rate uses. Below: a unit that is
            # absent or present at half that distance, the most that a clipped sum realises this way.
            half = 2.0 * self.sigma
            lower = (SampledGaussianLaw(half, rate, True), SampledGaussianLaw(half, rate, False))
            return self._symmetric(rate, lower)
        basis = (
            POISSON,
            "add and remove composed apart, the worse reported",
        )
        # Bu, Dong, Long, Su 2020: mu = q sqrt(T (e^{1/sigma^2} - 1))
        mu_squared = rate * rate * math.expm1(min(1.0 / self.sigma**2, 700.0))
        return Pairs((remove, add), basis, clt_mu_squared=mu_squared)

    def without_replacement(self, rate: float, adjacency: Adjacency) -> Pairs:
        self._check_sampled()
        lower = (
            SampledGaussianLaw(self.sigma, rate, True),
            SampledGaussianLaw(self.sigma, rate, False),
        )
        return self._symmetric(rate, lower)

    def _symmetric(self, rate: float, lower: tuple[SampledGaussianLaw, ...]) -> Pairs:
        basis = (
            f"{FIXED_SIZE}, composed exactly (upper)",
            "the realisable pair ((1-q) N(0) + q N(1), N(0)), composed exactly (lower)",
        )
        mu = 1.0 / self.sigma
        # Dong, Roth, Su 2022, Corollary 5.4
        limit = (
            math.exp(min(mu * mu, 700.0)) * _normal_cdf(1.5 * mu)
            + 3.0 * _normal_cdf(-0.5 * mu)
            - 2.0
        )
        return Pairs(
            (SymmetricGaussianLaw(self.sigma, rate),), basis, lower, 2.0 * rate * rate * limit
        )

"""The Gaussian mechanism's pair, N(1, sigma^2) against N(0, sigma^2)."""

from __future__ import annotations

import math

from dpacct.errors import OutsideDomain
from dpacct.pld.loss import gaussian

from .amplify import Direction
from .gaussian_rules import SampledGaussianRule, SymmetricGaussianRule
from .pairs import FIXED_SIZE, POISSON
from .stated import FarRule, StatedLaw, StatedPair

_BASIS = "Gaussian loss law, closed form"
_BOTH_WAYS = "add and remove composed apart, the worse reported"
_REALISED = "the realisable pair ((1-q) N(0) + q N(1), N(0)), composed exactly (lower)"


def _normal_cdf(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


def gaussian_pair(sigma: float) -> StatedPair:
    """`sigma` = standard deviation / sensitivity.

    Raises `OutsideDomain` where 1/sigma^2 leaves the range of floats; on a sample also where one release
    loses more than any use would bear (below 0.01 it is epsilon 5000), or less than doubles can tell.
    """
    if not 1e-100 <= sigma <= 1e100:
        told = f"sigma must be in [1e-100, 1e100], got {sigma:g}"
        raise OutsideDomain(told, argument="sigma")
    mu = 1.0 / sigma

    def check() -> None:
        if not 1e-2 <= sigma <= 1e15:
            told = f"sigma of a sampled release must be in [0.01, 1e15], got {sigma:g}"
            raise OutsideDomain(told, argument="sigma")

    def limit(direction: Direction, rate: float) -> float:
        if direction is Direction.PLAIN:
            return mu * mu
        growth = min(mu * mu, 700.0)
        if direction is Direction.SYMMETRIC:  # Dong, Roth, Su 2022, Corollary 5.4
            excess = math.exp(growth) * _normal_cdf(1.5 * mu) + 3.0 * _normal_cdf(-0.5 * mu) - 2.0
            return 2.0 * rate * rate * excess
        # Bu, Dong, Long, Su 2020: mu = q sqrt(T (e^{1/sigma^2} - 1))
        return rate * rate * math.expm1(growth)

    return StatedPair(
        gaussian(mu),
        (_BASIS,),
        (POISSON, _BOTH_WAYS),
        (f"{FIXED_SIZE}, composed exactly (upper)", _REALISED),
        near=lambda: gaussian_pair(2.0 * sigma),
        limit=limit,
        check=check,
        far=lambda direction, rate: _far(sigma, direction, rate),
    )


def _far(sigma: float, direction: Direction, rate: float) -> FarRule:
    if direction is Direction.SYMMETRIC:
        return SymmetricGaussianRule(sigma, rate)
    return SampledGaussianRule(sigma, rate, direction is Direction.REMOVE)


def gaussian_law(mu: float) -> StatedLaw:
    """The loss of N(mu, 1) against N(0, 1)."""
    return StatedLaw(gaussian(mu))

"""Dong, Roth, Su. Gaussian Differential Privacy. 2019 (J. R. Stat. Soc. B 2022)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import dpacct as dp
from dpacct.papers import truths
from dpacct.papers.oracle import Ends, oracle, proof
from dpacct.plan.sampled_renyi import fixed_size as c_p_renyi
from dpacct.pld import conversions
from dpacct.pld.roots import decreasing

__all__ = ["c_p", "c_p_renyi", "corollary5_4", "definition2_6", "theorem4_2"]


# Definition 2.6
def definition2_6(mu: float, alpha: float) -> float:
    """The least type II error of a test with type I error `alpha`."""
    from scipy.special import ndtr, ndtri

    return float(ndtr(-ndtri(alpha) - mu))


# Theorem 4.2
def amplified(epsilon: float, rate: float) -> float:
    """log(1 + (e^eps - 1)/rate): where the profile of the unsampled pair is read."""
    if epsilon < 30.0:
        return math.log1p(math.expm1(epsilon) / rate)
    return epsilon - math.log(rate)  # the rest is below the last digit of epsilon


def theorem4_2(mu: float, rate: float, epsilon: float) -> float:
    """Delta of one step; `mu` = sensitivity/std, `rate` the share of the records in a sample."""
    return rate * conversions.gaussian_delta(mu, amplified(epsilon, rate))


# Eq. (13)
def c_p(mu: float, rate: float, alpha: float) -> float:
    """The least type II error at type I error `alpha` for one sampled Gaussian step."""
    from scipy.special import ndtr, ndtri

    def sampled(x: float) -> float:
        return rate * definition2_6(mu, x) + (1.0 - rate) * (1.0 - x)

    fixed = float(ndtr(-mu / 2.0))
    low = rate * fixed + (1.0 - rate) * (1.0 - fixed)  # G_mu(fixed) = fixed
    if alpha <= fixed:
        return sampled(alpha)
    if alpha <= low:
        return fixed + low - alpha

    # the inverse: sampled falls from 1 to `low` on (0, fixed]; 1 less both sides, which cancels nowhere
    def missing(x: float) -> float:
        return -rate * float(ndtr(ndtri(x) + mu)) - (1.0 - rate) * x

    return decreasing(lambda x: (missing(x), math.nan), alpha - 1.0, 0.0, fixed)


# Corollary 5.4
def corollary5_4(c: float, sigma: float) -> float:
    """The limiting mu; `sigma` = std/sensitivity."""
    from scipy.special import ndtr

    x = 1.0 / sigma
    # e^{x^2} - 1 and the two normal terms apart: their sum vanishes as sigma grows
    growth = math.expm1(x * x) * float(ndtr(1.5 * x))
    rest = 0.5 * (math.erf(1.5 * x / math.sqrt(2.0)) - 3.0 * math.erf(0.5 * x / math.sqrt(2.0)))
    return math.sqrt(2.0) * c * math.sqrt(growth + rest)


@proof("corollary5_4")
def limiting_moment() -> bool:
    """mu^2/(2 c^2) is the integral of phi (e^{mx - m^2/2} - 1)^2 over x > m/2, m = 1/sigma.

    phi e^{k(mx - m^2/2)} = e^{k(k-1)m^2/2} phi(x - km), whose part above m/2 is Phi((k - 1/2) m).
    """
    from sympy import Function, Rational, exp, expand, symbols

    m, x = symbols("m x")
    phi_cdf = Function("Phi")
    square = -(x**2) / 2
    total: Any = 0
    for k, weight in ((2, 1), (1, -2), (0, 1)):
        shifted = -((x - k * m) ** 2) / 2 + Rational(k * (k - 1), 2) * m**2
        if expand(square + k * (m * x - m**2 / 2) - shifted) != 0:
            return False
        total += weight * exp(Rational(k * (k - 1), 2) * m**2) * phi_cdf((k - Rational(1, 2)) * m)
    # Phi(m/2) = 1 - Phi(-m/2)
    total = total.subs(phi_cdf(m / 2), 1 - phi_cdf(-m / 2))
    printed = exp(m**2) * phi_cdf(3 * m / 2) + 3 * phi_cdf(-m / 2) - 2
    return bool(expand(total - printed) == 0)


# Theorem 4.2
@oracle("c_p_renyi", draws=100, within=1e-7)
def renyi_fixed(mu: float, rate: float, alpha: float) -> Ends:
    """The Renyi divergence of the dominating pair of a uniform sample, by the exact engine."""
    node = dp.WithoutReplacement(rate)(dp.Gaussian(sigma=1.0 / mu))
    with np.errstate(over="ignore"):  # of terms that the engine then takes in logarithms
        value = float(node.rdp(alpha))
    return truths.around((value, 1e-9 * value + 1e-13 / (alpha - 1.0)))

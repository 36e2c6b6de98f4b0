"""Dong, Roth, Su. Gaussian Differential Privacy. 2019 (J. R. Stat. Soc. B 2022)."""

from __future__ import annotations

import math

import numpy as np

from dpacct.pld import conversions
from dpacct.pld.roots import decreasing


def definition2_6(mu: float, alpha: float) -> float:
    from scipy.special import ndtr, ndtri

    return float(ndtr(-ndtri(alpha) - mu))


# Theorem 4.2
def amplified(epsilon: float, rate: float) -> float:
    """log(1 + (e^eps - 1)/rate): where the profile of the unsampled pair is read."""
    if epsilon < 30.0:
        return math.log1p(math.expm1(epsilon) / rate)
    return epsilon - math.log(rate)  # the rest is below the last digit of epsilon


def theorem4_2(mu: float, rate: float, epsilon: float) -> float:
    return rate * conversions.gaussian_delta(mu, amplified(epsilon, rate))


# Eq. (13)
def c_p(mu: float, rate: float, alpha: float) -> float:
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


# The divergence of the pair C_p
def c_p_renyi(mu: float, rate: float, alpha: float) -> float:
    nodes, weights = np.polynomial.legendre.leggauss(16)
    start, end = mu / 2.0, alpha * mu + 14.0
    edges = np.linspace(start, end, 2 + int((end - start) * max(1.0, mu)))
    half = (edges[1] - edges[0]) / 2.0
    x = (edges[:-1, None] + half * (nodes + 1.0)).ravel()
    with np.errstate(divide="ignore"):  # log(0) = -inf where rate is 1
        loss = np.logaddexp(np.log1p(-rate), math.log(rate) + mu * x - mu * mu / 2.0)
        # with r = e^loss: r^a + r^(1-a) - r - 1 = (r^(a-1) - 1) (r - r^(1-a)), without cancelling
        rest = np.log(-np.expm1((1.0 - alpha) * loss)) + np.log(-np.expm1(-alpha * loss))
    log_weight = np.log(np.tile(weights * half, edges.size - 1)) - 0.5 * math.log(2.0 * math.pi)
    total = np.logaddexp.reduce(log_weight - x * x / 2.0 + alpha * loss + rest)
    return float(np.logaddexp(0.0, total)) / (alpha - 1.0)


def corollary5_4(c: float, sigma: float) -> float:
    x = 1.0 / sigma
    # e^{x^2} - 1 and the two normal terms apart: their sum vanishes as sigma grows
    growth = math.expm1(x * x) * 0.5 * math.erfc(-1.5 * x / math.sqrt(2.0))
    rest = 0.5 * (math.erf(1.5 * x / math.sqrt(2.0)) - 3.0 * math.erf(0.5 * x / math.sqrt(2.0)))
    return math.sqrt(2.0) * c * math.sqrt(growth + rest)

"""Mironov, Talwar, Zhang. Renyi Differential Privacy of the Sampled Gaussian Mechanism. 2019."""

from __future__ import annotations

import math

import dpacct as dp
from dpacct.papers.oracle import oracle


# Section 3.3
def _log1p_exp(x: float) -> float:
    return math.log1p(math.exp(x)) if x < 30.0 else x + math.log1p(math.exp(-x))


def _log_expm1(x: float) -> float:
    return x + math.log(-math.expm1(-x))


def _log_sum(terms: list[float]) -> float:
    top = max(terms)
    return top + math.log(math.fsum(math.exp(term - top) for term in terms))


def integer(alpha: int, rate: float, sigma: float) -> float:
    """Renyi divergence of order `alpha`; `sigma` = std / sensitivity."""
    if rate == 1.0:
        return alpha / (2.0 * sigma * sigma)
    # the terms minus the weights, which add up to 1: small divergences keep their digits
    terms = [
        math.log(math.comb(alpha, k))
        + (alpha - k) * math.log1p(-rate)
        + k * math.log(rate)
        + _log_expm1(k * (k - 1) / (2.0 * sigma * sigma))
        for k in range(2, alpha + 1)
    ]
    return _log1p_exp(_log_sum(terms)) / (alpha - 1)


_LEAST = -32.0  # logarithm of the terms at which the series end; they fall as k^-(alpha + 2) only


def _log_half_erfc(x: float) -> float:
    from scipy.special import log_ndtr

    return float(log_ndtr(-math.sqrt(2.0) * x))


def fractional(alpha: float, rate: float, sigma: float) -> float:
    """Renyi divergence of order `alpha`; `sigma` = std / sensitivity."""
    if rate == 1.0:
        return alpha / (2.0 * sigma * sigma)
    if float(alpha).is_integer():
        return integer(int(alpha), rate, sigma)
    cut = 0.5 + sigma * sigma * (math.log1p(-rate) - math.log(rate))
    log_q, log_not = math.log(rate), math.log1p(-rate)
    positive: list[float] = []
    negative: list[float] = []
    log_binomial, sign, largest = 0.0, 1.0, -math.inf
    k = 0
    while True:
        j = alpha - k
        pair = [
            log_binomial
            + (m * m - m) / (2.0 * sigma * sigma)
            + (alpha - m) * log_not
            + m * log_q
            + _log_half_erfc(way * (m - cut) / (math.sqrt(2.0) * sigma))
            for m, way in ((k, 1.0), (j, -1.0))
        ]
        (positive if sign > 0.0 else negative).extend(pair)
        largest = max(largest, *pair)
        if k > alpha and max(pair) < max(largest, 0.0) + _LEAST:
            break
        # C(alpha, k + 1) = C(alpha, k) (alpha - k)/(k + 1)
        log_binomial += math.log(abs(j)) - math.log(k + 1)
        sign = sign if j > 0.0 else -sign
        k += 1
    top = _log_sum(positive)
    bottom = _log_sum(negative) if negative else -math.inf
    return max(0.0, top + math.log1p(-math.exp(bottom - top))) / (alpha - 1.0)


@oracle("fractional", draws=150, within=1e-6)
@oracle("integer", draws=1500, within=1e-7)
def removing(alpha: float, rate: float, sigma: float) -> float | None:
    """Quadrature of the likelihood ratio's power, the worse direction, by the exact engine."""
    if sigma < 0.05:
        return None
    node = dp.Poisson(rate)(dp.Gaussian(sigma=sigma))
    return float(node.rdp(alpha))

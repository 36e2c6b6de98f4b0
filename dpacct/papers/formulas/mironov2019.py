"""Mironov, Talwar, Zhang. Renyi Differential Privacy of the Sampled Gaussian Mechanism. 2019.

Section 3.3: one Poisson-sampled step, add or remove; `sigma` = std / sensitivity.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpacct.pld import conversions

_LEAST = -32.0  # logarithm of the terms at which the series end; they fall as k^-(order + 2) only


def log_sum(terms: Sequence[float]) -> float:
    """Log of the sum of exponentials."""
    top = max(terms)
    return top + math.log(math.fsum(math.exp(term - top) for term in terms))


# Section 3.3, whole orders
def integer(alpha: int, rate: float, sigma: float) -> float:
    if rate == 1.0:
        return alpha / (2.0 * sigma * sigma)
    # the terms minus the weights, which add up to 1: small divergences keep their digits
    terms = []
    for k in range(2, alpha + 1):
        growth = k * (k - 1) / (2.0 * sigma * sigma)
        weight = math.log(math.comb(alpha, k)) + (alpha - k) * math.log1p(-rate)
        terms.append(weight + k * math.log(rate) + growth + math.log(-math.expm1(-growth)))
    total = log_sum(terms)
    return (total if total > 700.0 else math.log1p(math.exp(total))) / (alpha - 1)


# The two series for an order that is not whole
def fractional(alpha: float, rate: float, sigma: float) -> float:
    if rate == 1.0:
        return alpha / (2.0 * sigma * sigma)
    if float(alpha).is_integer():
        return integer(int(alpha), rate, sigma)
    log_q, log_not = math.log(rate), math.log1p(-rate)
    cut = 0.5 + sigma * sigma * (log_not - log_q)
    signed: dict[float, list[float]] = {1.0: [], -1.0: []}
    log_binomial, sign, largest, k = 0.0, 1.0, -math.inf, 0
    while True:
        j = alpha - k
        pair = [
            log_binomial
            + (m * m - m) / (2.0 * sigma * sigma)
            + (alpha - m) * log_not
            + m * log_q
            + conversions.log_phi(way * (cut - m) / sigma)
            for m, way in ((k, 1.0), (j, -1.0))
        ]
        signed[sign] += pair
        largest = max(largest, *pair)
        if k > alpha and max(pair) < max(largest, 0.0) + _LEAST:
            break
        # C(alpha, k + 1) = C(alpha, k) (alpha - k)/(k + 1)
        log_binomial += math.log(abs(j)) - math.log(k + 1)
        sign = sign if j > 0.0 else -sign
        k += 1
    top = log_sum(signed[1.0])
    bottom = log_sum(signed[-1.0]) if signed[-1.0] else -math.inf
    return max(0.0, top + math.log1p(-math.exp(bottom - top))) / (alpha - 1.0)


def by_quadrature(alpha: float, rate: float, sigma: float) -> float:
    """The same divergence at any order by the trapezoid rule, which is exact to rounding here: quick."""
    z = np.linspace(-13.0 * sigma, alpha + 13.0 * sigma, 512 + 24 * int(alpha / sigma))
    spacing = math.log(float(z[1] - z[0]) / (sigma * math.sqrt(2.0 * math.pi)))
    log_weight = spacing - z * z / (2.0 * sigma**2)
    shift = (2.0 * z - 1.0) / (2.0 * sigma**2)
    with np.errstate(divide="ignore"):  # log(0) = -inf where the rate is 1
        loss = alpha * np.logaddexp(np.log1p(-rate), math.log(rate) + shift)
    if float(np.max(log_weight + loss)) > 500.0:
        return float(np.logaddexp.reduce(log_weight + loss)) / (alpha - 1.0)
    # the mean of u = e^L - 1 is 0, so that of (1 + u)^a - 1 is that of (1 + u)^a - 1 - a u >= 0
    u = rate * np.expm1(np.minimum(shift, 700.0))
    small = np.where(np.abs(u) < 1e-4 / alpha, u, 0.0)
    series = 1.0 + (alpha - 2.0) / 3.0 * small * (1.0 + (alpha - 3.0) / 4.0 * small)
    squares = 0.5 * alpha * (alpha - 1.0) * small * small * series
    weight = np.exp(log_weight)
    near = weight * np.where(small == u, squares, np.expm1(np.minimum(loss, 30.0)) - alpha * u)
    far = np.exp(log_weight + loss) - weight * (1.0 + alpha * u)
    return math.log1p(float(np.sum(np.where(loss < 30.0, near, far)))) / (alpha - 1.0)

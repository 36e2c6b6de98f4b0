"""Renyi divergences of one sampled Gaussian step, as published: what accountants of papers add up.

Mironov, Talwar, Zhang. Renyi Differential Privacy of the Sampled Gaussian Mechanism. 2019, Section 3.3.
Wang, Balle, Kasiviswanathan. Subsampled Renyi Differential Privacy. AISTATS 2019, Theorem 9.
Dong, Roth, Su. Gaussian Differential Privacy. 2022, Theorem 4.2: the pair C_p of a fixed-size sample.

`sigma` = std / sensitivity, `rate` the share of the records in a sample.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache, lru_cache

import numpy as np

from dpacct.pld.stable import Floats

_LEAST = -32.0  # logarithm of the terms at which the series end; they fall as k^-(order + 2) only
_LARGE = 6.0  # above this exponent the refinement is larger than what it refines
_TINY = (
    1e-4  # order times the ratio's distance from 1, below which powers are taken by their series
)


def _log_sum(terms: Sequence[float]) -> float:
    top = max(terms)
    return top + math.log(math.fsum(math.exp(term - top) for term in terms))


# --- Poisson sampling, add or remove


def whole_order(alpha: int, rate: float, sigma: float) -> float:
    """Mironov et al.'s binomial sum for a whole order.

    >>> round(whole_order(2, 0.05, 1.0), 12)
    0.00428650437
    """
    if rate == 1.0:
        return alpha / (2.0 * sigma * sigma)
    # the terms minus the weights, which add up to 1: small divergences keep their digits
    terms = []
    for k in range(2, alpha + 1):
        growth = k * (k - 1) / (2.0 * sigma * sigma)
        weight = math.log(math.comb(alpha, k)) + (alpha - k) * math.log1p(-rate)
        terms.append(weight + k * math.log(rate) + growth + math.log(-math.expm1(-growth)))
    total = _log_sum(terms)
    log_moment = total if total > 700.0 else math.log1p(math.exp(total))
    return log_moment / (alpha - 1)


def any_order(alpha: float, rate: float, sigma: float) -> float:
    """Mironov et al.'s two series for an order that is not whole.

    >>> round(any_order(2.3422617, 0.05, 1.0), 12)
    0.005216125711
    """
    from scipy.special import log_ndtr

    if rate == 1.0:
        return alpha / (2.0 * sigma * sigma)
    if float(alpha).is_integer():
        return whole_order(int(alpha), rate, sigma)
    log_q, log_not = math.log(rate), math.log1p(-rate)
    cut = 0.5 + sigma * sigma * (log_not - log_q)
    positive: list[float] = []
    negative: list[float] = []
    log_binomial, sign, largest, k = 0.0, 1.0, -math.inf, 0
    while True:
        j = alpha - k
        pair = [
            log_binomial
            + (m * m - m) / (2.0 * sigma * sigma)
            + (alpha - m) * log_not
            + m * log_q
            + float(log_ndtr(way * (cut - m) / sigma))
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


def by_quadrature(alpha: float, rate: float, sigma: float) -> float:
    """(1/(alpha-1)) log E_{z ~ N(0, sigma^2)} [(1 - q + q mu_1(z)/mu_0(z))^alpha], mu_1 = N(1, sigma^2).

    >>> round(by_quadrature(2.0, 0.05, 1.0), 12)
    0.00428650437
    """
    z = np.linspace(-13.0 * sigma, alpha + 13.0 * sigma, 512 + 24 * int(alpha / sigma))
    log_weight = -z * z / (2.0 * sigma**2) + math.log(
        float(z[1] - z[0]) / (sigma * math.sqrt(2.0 * math.pi))
    )
    shift = (2.0 * z - 1.0) / (2.0 * sigma**2)
    with np.errstate(divide="ignore"):  # log(0) = -inf where the rate is 1
        loss = np.logaddexp(np.log1p(-rate), math.log(rate) + shift)
    power, top = alpha - 1.0, log_weight + alpha * loss
    highest = float(np.max(top))
    if highest > 500.0:
        return (highest + math.log(float(np.sum(np.exp(top - highest))))) / power
    # the mean of the ratio is 1, which keeps the digits of a small divergence; dividing by alpha - 1
    # inside the sum keeps those of an order next to 1
    near = np.minimum(loss, 30.0 / alpha)
    close = np.exp(near) * np.expm1(power * near) / power - np.expm1(near)
    hit = np.exp(log_weight + loss)
    far = (np.exp(top) - hit) / power - (hit - np.exp(log_weight))
    parts = np.where(loss < 30.0 / alpha, np.exp(log_weight) * close, far)
    # ((1+u)^alpha - 1 - alpha u)/(alpha - 1) for small u, by its series
    u = rate * np.expm1(np.minimum(shift, 700.0))
    tiny = np.abs(u) < _TINY / alpha
    u = np.where(tiny, u, 0.0)
    tail = 1.0 + (alpha - 3.0) / 4.0 * u * (1.0 + (alpha - 4.0) / 5.0 * u)
    squares = alpha / 2.0 * u * u * (1.0 + (alpha - 2.0) / 3.0 * u * tail)
    parts = np.where(tiny, np.exp(log_weight) * squares, parts)
    return math.log1p(power * float(np.sum(parts))) / power


# --- a sample of fixed size, replace one


@cache
def _rule() -> tuple[Floats, Floats]:
    nodes, weights = np.polynomial.legendre.leggauss(16)
    return nodes, weights


def fixed_size(mu: float, rate: float, alpha: float) -> float:
    """The divergence of the pair C_p of Dong, Roth and Su; mu = sensitivity / std.

    >>> round(fixed_size(1.0, 0.05, 2.0), 12)
    0.006306250967
    """
    nodes, weights = _rule()
    start, end = mu / 2.0, alpha * mu + 14.0
    edges = np.linspace(start, end, 2 + int((end - start) * max(1.0, mu)))
    half = (edges[1] - edges[0]) / 2.0
    x = (edges[:-1, None] + half * (nodes + 1.0)).ravel()
    log_weight = np.log(np.tile(weights * half, edges.size - 1)) - x * x / 2.0
    log_weight -= math.log(2.0 * math.pi) / 2.0
    with np.errstate(divide="ignore"):  # log(0) = -inf where rate is 1
        loss = np.logaddexp(np.log1p(-rate), math.log(rate) + mu * x - mu * mu / 2.0)
    power, top = alpha - 1.0, log_weight + alpha * loss
    highest = float(np.max(top))
    if highest > 500.0:
        return (highest + math.log(float(np.sum(np.exp(top - highest))))) / power
    near = np.minimum(loss, 30.0 / alpha)  # where powers of the ratio are close to 1
    back = np.exp(log_weight) * np.expm1(-power * loss)
    close = np.exp(log_weight + near) * np.expm1(power * near)
    far = np.exp(top) - np.exp(log_weight + loss)
    parts = np.where(loss < 30.0 / alpha, close, far) + back
    return math.log1p(float(np.sum(parts))) / power


@lru_cache(maxsize=4096)
def _log_moment(order: int, sigma: float) -> float:
    """log B(order): the mean of (p_1/p_0 - 1)^order, which cancels and so needs digits."""
    from mpmath import exp, fsum, log, mp, mpf

    # B is of order sigma^-order, its terms 2^order
    lost = order * (1.0 + max(0.0, math.log10(sigma)))
    with mp.workdps(40 + int(lost)):
        scale = 1 / (2 * mpf(sigma) ** 2)
        terms = [
            (-1) ** i * math.comb(order, i) * exp(i * (i - 1) * scale) for i in range(order + 1)
        ]
        return float(log(fsum(terms)))


def theorem9(alpha: int, rate: float, sigma: float) -> float:
    """Wang et al.'s bound for a whole order, with the refinement of Appendix B.5.

    >>> round(theorem9(2, 0.05, 1.0), 9)
    0.013499874
    """
    terms = theorem9_log_terms(alpha, rate, sigma)
    for j in range(3, alpha + 1):
        if 0.5 * j * (j - 1) / sigma / sigma < _LARGE:
            even = 2 * (j // 2), 2 * (j - j // 2)
            moments = math.log(4.0) + 0.5 * sum(_log_moment(order, sigma) for order in even)
            refined = j * math.log(rate) + math.log(math.comb(alpha, j)) + moments
            terms[j - 2] = min(terms[j - 2], refined)
    return of_log_terms(terms, alpha)


def theorem9_log_terms(alpha: int, rate: float, sigma: float) -> list[float]:
    """Logarithms of the terms j = 2..alpha of Theorem 9 as it is printed, without Appendix B.5.

    The Gaussian's loss has no bound, so of its minima over e^{epsilon(infinity)} the 2 remains.

    >>> [round(term, 6) for term in theorem9_log_terms(2, 0.05, 1.0)]
    [-4.298317]
    """
    rho = 1.0 / sigma / sigma  # rho(2)
    if rho < math.log(2.0):  # where 4(e^rho - 1) is the smaller one
        second = math.log(4.0) + math.log(math.expm1(rho)) if rho > 0.0 else -math.inf
    else:
        second = math.log(2.0) + rho
    others = (math.log(2.0) + 0.5 * j * (j - 1) * rho for j in range(3, alpha + 1))
    return [
        j * math.log(rate) + math.log(math.comb(alpha, j)) + factor
        for j, factor in enumerate((second, *others), start=2)
    ]


def of_log_terms(log_terms: Sequence[float], alpha: int) -> float:
    """log(1 + the sum of the terms) / (alpha - 1); infinite where a term is too large for a double.

    >>> round(of_log_terms([0.0], 2), 12)
    0.69314718056
    """
    top = max(log_terms)
    if top == math.inf:
        return math.inf
    if top > 600.0:
        return _log_sum([0.0, *log_terms]) / (alpha - 1)
    return math.log1p(math.fsum(math.exp(term) for term in log_terms)) / (alpha - 1)

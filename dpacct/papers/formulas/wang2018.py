"""Wang, Balle, Kasiviswanathan. Subsampled Renyi Differential Privacy. AISTATS 2019 (2018): fixed sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

from dpacct.papers.formulas.mironov2019 import log_sum


@cache
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


def log_terms(alpha: int, tau: float, sigma: float) -> list[float]:
    """Logarithms of the terms j = 2..alpha of Theorem 9 as it is printed, without Appendix B.5.

    The Gaussian's loss has no bound, so of its minima over e^{epsilon(infinity)} the 2 remains.
    """
    rho = 1.0 / sigma / sigma  # rho(2)
    if rho < math.log(2.0):  # where 4(e^rho - 1) is the smaller one
        second = math.log(4.0) + math.log(math.expm1(rho)) if rho > 0.0 else -math.inf
    else:
        second = math.log(2.0) + rho
    others = (math.log(2.0) + 0.5 * j * (j - 1) * rho for j in range(3, alpha + 1))
    return [
        j * math.log(tau) + math.log(math.comb(alpha, j)) + factor
        for j, factor in enumerate((second, *others), start=2)
    ]


def of_log_terms(terms: Sequence[float], alpha: int) -> float:
    """log(1 + the sum of the terms) / (alpha - 1); infinite where a term is too large for a double."""
    top = max(terms)
    if top == math.inf:
        return math.inf
    if top > 600.0:
        return log_sum([0.0, *terms]) / (alpha - 1)
    return math.log1p(math.fsum(math.exp(term) for term in terms)) / (alpha - 1)


def theorem9(alpha: int, tau: float, sigma: float) -> float:
    """Wang et al.'s bound for a whole order, with the refinement of Appendix B.5."""
    terms = log_terms(alpha, tau, sigma)
    for j in range(3, alpha + 1):
        if 0.5 * j * (j - 1) / sigma / sigma < 6.0:  # else it is larger than what it refines
            even = 2 * (j // 2), 2 * (j - j // 2)
            moments = math.log(4.0) + 0.5 * sum(_log_moment(order, sigma) for order in even)
            refined = j * math.log(tau) + math.log(math.comb(alpha, j)) + moments
            terms[j - 2] = min(terms[j - 2], refined)
    return of_log_terms(terms, alpha)

"""Papernot, Song, Mironov, Raghunathan, Talwar, Erlingsson. Scalable Private Learning with PATE. ICLR 2018.

The noisy argmax of votes, and the Renyi bound that gets better when the votes agree.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from dpacct.voting import published


def proposition7(votes: Sequence[float], sigma: float) -> float:
    first, *others = sorted(votes, reverse=True)
    return min(1.0, math.exp(published.log_mismatch([first - other for other in others], sigma)))


# Theorem 6
def limit(mu1: float, mu2: float, epsilon2: float) -> float:
    """The q below which the theorem speaks."""
    return math.exp(published.theorem6_log_limit(mu1, mu2, epsilon2))


def theorem6(
    mu1: float, epsilon1: float, mu2: float, epsilon2: float, order: float, q: float
) -> float:
    return float(published.data_dependent(math.log(q), order, mu1, epsilon1, mu2, epsilon2))


# Theorem 6 with Propositions 7 and 8
def gnmax(votes: Sequence[float], sigma: float, order: float) -> float:
    first, *others = sorted(votes, reverse=True)
    log_q = published.log_mismatch([first - other for other in others], sigma)
    return float(published.gaussian_votes(log_q, order, sigma, math.sqrt(2.0)))


def theorem23(order: float, beta: float, sigma: float) -> float:
    spread = -0.5 * math.log1p(-2.0 * order * beta) + beta * order
    return order * math.exp(2.0 * beta) / sigma**2 + spread / (order - 1.0)


def theorem23_corrected(order: float, beta: float, sigma: float) -> float:
    return published.publication(order, beta, sigma)

"""Girgis, Data, Diggavi, Suresh, Kairouz. On the Renyi Differential Privacy of the Shuffle Model. 2021."""

from __future__ import annotations

import math

from dpacct.papers import truths
from dpacct.papers.oracle import oracle
from dpacct.shuffling.published import girgis_divergence as upper

__all__ = ["lower", "randomised_response", "upper"]


# Lower bound
def lower(alpha: int, epsilon: float, clients: int) -> float:
    """Renyi divergence of whole order alpha, at least, of shuffled randomised response."""
    pairs = alpha * (alpha - 1) / 2.0
    # (e^g - 1)^2/e^g = 4 sinh(g/2)^2
    return math.log1p(pairs * 4.0 * math.sinh(0.5 * epsilon) ** 2 / clients) / (alpha - 1)


@oracle("lower", draws=600, within=1e-8)
@oracle("upper", draws=200, within=1e-8, draw=truths.few_clients_at_order)
def randomised_response(alpha: int, epsilon: float, clients: int) -> float | None:
    """The count of ones among N randomised responses, one of them changed: exact sums."""
    if epsilon < 1e-3:  # too little is left of the sums' digits
        return None
    return truths.shuffled_divergence(alpha, epsilon, clients)

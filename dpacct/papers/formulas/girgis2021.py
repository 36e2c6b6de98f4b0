"""Girgis, Data, Diggavi, Suresh, Kairouz. On the Renyi Differential Privacy of the Shuffle Model. 2021."""

from __future__ import annotations

import math

from dpacct.shuffling.published import girgis_divergence as upper

__all__ = ["lower", "upper"]


# Lower bound
def lower(alpha: int, epsilon: float, clients: int) -> float:
    pairs = alpha * (alpha - 1) / 2.0
    # (e^g - 1)^2/e^g = 4 sinh(g/2)^2
    return math.log1p(pairs * 4.0 * math.sinh(0.5 * epsilon) ** 2 / clients) / (alpha - 1)

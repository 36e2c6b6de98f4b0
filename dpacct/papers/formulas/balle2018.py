"""Balle, Barthe, Gaboardi. Privacy Amplification by Subsampling. NeurIPS 2018."""

from __future__ import annotations

import math


# Theorems 8 and 9
def epsilon(epsilon: float, rate: float) -> float:
    if epsilon > 30.0:
        return epsilon + math.log(rate - rate * math.exp(-epsilon) + math.exp(-epsilon))
    return math.log1p(rate * math.expm1(epsilon))


def delta(epsilon: float, delta: float, rate: float) -> float:
    return rate * delta

"""Kairouz, Oh, Viswanath. The Composition Theorem for Differential Privacy. ICML 2015."""

from __future__ import annotations

import math


# Theorem 3.3
def coins_delta(step: float, steps: int, epsilon: float) -> float:
    """Delta at `epsilon` of `steps` answers that are true with odds e^step : 1."""
    log_true, log_lie = -math.log1p(math.exp(-step)), -math.log1p(math.exp(step))
    terms = []
    for lies in range(steps + 1):
        gain = (steps - 2 * lies) * step - epsilon
        if gain <= 0.0:
            break
        log_weight = math.lgamma(steps + 1) - math.lgamma(lies + 1) - math.lgamma(steps - lies + 1)
        log_weight += (steps - lies) * log_true + lies * log_lie
        terms.append(-math.exp(log_weight) * math.expm1(-gain))
    return math.fsum(terms)


def theorem3_3(step: float, failure: float, steps: int, epsilon: float) -> float:
    coins = coins_delta(step, steps, epsilon)
    if coins >= 1.0:  # to rounding
        return 1.0
    return -math.expm1(steps * math.log1p(-failure) + math.log1p(-coins))

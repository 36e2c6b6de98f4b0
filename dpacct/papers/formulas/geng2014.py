"""Geng, Viswanath. The Optimal Mechanism in Differential Privacy. ISIT 2014: the staircase.

Sensitivity 1; lam is the pure epsilon, nu in [0, 1] the shape (gamma there).
"""

from __future__ import annotations

import math

from dpacct.mechanisms.laws import staircase

# Cost of the staircase
amplitude = staircase.mean_size


# Optimal shape
best_nu = staircase.best_nu


def least_amplitude(lam: float) -> float:
    return math.exp(-0.5 * lam) / -math.expm1(-lam)


def least_variance(lam: float) -> float:
    b = math.exp(-lam)
    root = math.pow(b - 2.0 * b**2 + 2.0 * b**4 - b**5, 1.0 / 3.0)
    return -b / (1.0 - b) + root / (math.pow(2.0, 1.0 / 3.0) * (1.0 - b) ** 2)

"""Balle, Wang. Improving the Gaussian Mechanism for Differential Privacy. ICML 2018."""

from __future__ import annotations

import math


def log_delta(mu: float, epsilon: float) -> tuple[float, float]:
    """Theorem 8: delta = Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu), mu = sensitivity/std.

    Returns log delta and its relative error: the two terms cancel where mu is small.

    >>> value, error = log_delta(1.0, 1.0)
    >>> round(math.exp(value), 12), error < 1e-13
    (0.126936737507, True)
    """
    from scipy.special import log_ndtr

    first = float(log_ndtr(0.5 * mu - epsilon / mu))
    second = epsilon + float(log_ndtr(-0.5 * mu - epsilon / mu))
    ratio = -math.expm1(second - first)
    if not ratio > 0.0:
        return -math.inf, math.inf
    noise = 4e-16 * (4.0 + abs(first) + abs(second) + abs(epsilon))
    return first + math.log(ratio), noise / ratio

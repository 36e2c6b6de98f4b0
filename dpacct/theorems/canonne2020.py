"""Canonne, Kamath, Steinke. The Discrete Gaussian for Differential Privacy. NeurIPS 2020.

Proposition 12 (the same as Balle, Barthe, Gaboardi, Hsu, Sato 2020, Theorem 21): from
(1 - e^{-y})_+ <= e^{sy} s^s/(1+s)^{1+s} for every s > 0.
"""

from __future__ import annotations

import math


def log_peak(s: float) -> float:
    """log(s^s / (1+s)^{1+s}).

    >>> round(math.exp(log_peak(1.0)), 12)
    0.25
    """
    return -math.log1p(s) - s * math.log1p(1.0 / s)


def log_delta(log_moment: float, s: float, epsilon: float) -> float:
    """delta <= M(s) e^{-s eps} s^s/(1+s)^{1+s}, M(s) = E_P[e^{sL}], order = s + 1.

    >>> round(log_delta(0.0, 1.0, 0.0), 9)
    -1.386294361
    """
    return log_moment - s * epsilon + log_peak(s)


def epsilon(log_moment: float, s: float, log_delta: float) -> float:
    """eps = rdp + log(1 - 1/order) - (log delta + log order)/(order - 1), order = s + 1.

    >>> round(epsilon(7.0, 7.0, math.log(1e-5)), 9)
    2.214109168
    """
    return (log_moment - log_delta + log_peak(s)) / s

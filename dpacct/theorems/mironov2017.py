"""Mironov. Renyi Differential Privacy. CSF 2017."""

from __future__ import annotations


def log_delta(log_moment: float, s: float, epsilon: float) -> float:
    """Proposition 3, solved for delta: log delta = (order - 1)(rdp - eps), order = s + 1.

    `log_moment` = s * rdp is the log moment E_P[e^{sL}]; s > 0.

    >>> round(log_delta(1.0, 1.0, 3.0), 12)
    -2.0
    """
    return log_moment - s * epsilon


def epsilon(log_moment: float, s: float, log_delta: float) -> float:
    """Proposition 3: eps = rdp + log(1/delta)/(order - 1), order = s + 1.

    >>> import math
    >>> round(epsilon(7.0, 7.0, math.log(1e-5)), 9)
    2.644703638
    """
    return (log_moment - log_delta) / s

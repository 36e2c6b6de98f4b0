"""Published conversions of a Gaussian shift, or of a Renyi divergence, to epsilon and delta.

Balle, Wang. Improving the Gaussian Mechanism for Differential Privacy. ICML 2018, Theorem 8.
Mironov. Renyi Differential Privacy. CSF 2017, Proposition 3.
Canonne, Kamath, Steinke. The Discrete Gaussian for Differential Privacy. NeurIPS 2020, Proposition 12.

Renyi divergences come as `log_moment` = s * divergence at the order s + 1, the log moment E_P[e^{sL}].
"""

from __future__ import annotations

import math

from dpacct.pld.stable import log_peak


def gaussian_log_delta(mu: float, epsilon: float) -> tuple[float, float]:
    """Theorem 8: delta = Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu), mu = sensitivity/std.

    Returns log delta and its relative error: the two terms cancel where mu is small.

    >>> value, error = gaussian_log_delta(1.0, 1.0)
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


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Theorem 8's delta; 0 where it lies below the range of floats.

    >>> round(gaussian_delta(1.0, 1.0), 12)
    0.126936737507
    """
    return math.exp(gaussian_log_delta(mu, epsilon)[0])


def mironov_log_delta(log_moment: float, s: float, epsilon: float) -> float:
    """Proposition 3, solved for delta: log delta = (order - 1)(rdp - eps), order = s + 1.

    `log_moment` = s * rdp is the log moment E_P[e^{sL}]; s > 0.

    >>> round(mironov_log_delta(1.0, 1.0, 3.0), 12)
    -2.0
    """
    return log_moment - s * epsilon


def mironov_epsilon(log_moment: float, s: float, log_delta: float) -> float:
    """Proposition 3: eps = rdp + log(1/delta)/(order - 1), order = s + 1.

    >>> round(mironov_epsilon(7.0, 7.0, math.log(1e-5)), 9)
    2.644703638
    """
    return (log_moment - log_delta) / s


def log_delta(log_moment: float, s: float, epsilon: float) -> float:
    """Proposition 12: delta <= M(s) e^{-s eps} s^s/(1+s)^{1+s}, M(s) = E_P[e^{sL}], order = s + 1.

    >>> round(log_delta(0.0, 1.0, 0.0), 9)
    -1.386294361
    """
    return log_moment - s * epsilon + log_peak(s)


def epsilon(log_moment: float, s: float, log_delta: float) -> float:
    """Proposition 12: eps = rdp + log(1 - 1/order) - (log delta + log order)/(order - 1), order = s + 1.

    >>> round(epsilon(7.0, 7.0, math.log(1e-5)), 9)
    2.214109168
    """
    return (log_moment - log_delta + log_peak(s)) / s

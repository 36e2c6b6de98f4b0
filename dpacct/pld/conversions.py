"""Published conversions of a Gaussian shift, or of a Renyi divergence, to epsilon and delta.

Balle, Wang. Improving the Gaussian Mechanism for Differential Privacy. ICML 2018, Theorem 8.
Mironov. Renyi Differential Privacy. CSF 2017, Proposition 3.
Canonne, Kamath, Steinke. The Discrete Gaussian for Differential Privacy. NeurIPS 2020, Proposition 12.

Renyi divergences come as `log_moment` = s * divergence at the order s + 1, the log moment E_P[e^{sL}].
"""

from __future__ import annotations

import math

from dpacct.pld.stable import log_peak


def mills_ratio(z: float) -> float:
    """Return (1 - Phi(z))/phi(z) to rounding, at z > -30.

    >>> mills_ratio(0.0) == math.sqrt(0.5 * math.pi)
    True
    """
    # Veltkamp's factor, 2^27 + 1
    split = 134217729.0
    if z > 10.0:
        # 1/z - 1/z^3 + 3/z^5 - 15/z^7 + .., of which the last terms here are below rounding
        inverse = 1.0 / (z * z)
        ratio = 1.0
        for k in range(2 * 20 - 1, 0, -2):
            ratio = 1.0 - k * inverse * ratio
        return ratio / z
    # e^{x^2} erfc(x), x^2 by halves of its digits, as rounding it is felt
    x = z / math.sqrt(2.0)
    high = split * x - (split * x - x)
    square = math.exp(high * high) * math.exp((x - high) * (x + high))
    return math.sqrt(0.5 * math.pi) * square * math.erfc(x)


def log_phi(x: float) -> float:
    """Log of the distribution function of N(0, 1), to rounding.

    >>> round(log_phi(-40.0), 9)
    -804.608442014
    """
    if x >= 0.0:
        return math.log1p(-0.5 * math.erfc(x / math.sqrt(2.0)))
    if x < -1e150:
        return -math.inf
    return math.log(mills_ratio(-x)) - 0.5 * x * x - 0.5 * math.log(2.0 * math.pi)


def gaussian_log_delta(mu: float, epsilon: float) -> tuple[float, float]:
    """Theorem 8: delta = Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu), mu = sensitivity/std.

    Epsilon is at least 0. Returns log delta and its relative error: the two terms cancel where mu is small.

    >>> value, error = gaussian_log_delta(1.0, 1.0)
    >>> round(math.exp(value), 12), error < 1e-13
    (0.126936737507, True)
    """
    # e^eps phi(w) = phi(z), so that delta = phi(z) (m(z) - m(w)) with Mills' ratio m
    z, w = epsilon / mu - 0.5 * mu, epsilon / mu + 0.5 * mu
    # deviations whose squares are still floats
    if not z < 1e150:
        return -math.inf, math.inf
    log_density = -0.5 * z * z - 0.5 * math.log(2.0 * math.pi)
    if z < 1.0:
        first = 0.5 * math.erfc(z / math.sqrt(2.0))
        share = math.exp(log_density) * mills_ratio(w) / first
        log_first = math.log(first)
    else:
        first = mills_ratio(z)
        share = mills_ratio(w) / first
        log_first = log_density + math.log(first)
    ratio = 1.0 - share
    if not ratio > 0.0:
        return -math.inf, math.inf
    noise = 4e-16 * (4.0 + 2.0 * abs(log_density) + abs(epsilon))
    return log_first + math.log1p(-share), noise / ratio


def gaussian_slope(mu: float, epsilon: float) -> float:
    """Return d log delta / d eps of Theorem 8, -e^eps Phi(-w)/delta, to a part in 1e12 or so.

    >>> round(gaussian_slope(1.0, 1.0), 5)
    -1.43064
    """
    w = epsilon / mu + 0.5 * mu
    log_value = gaussian_log_delta(mu, epsilon)[0]
    log_tail = epsilon - 0.5 * w * w - 0.5 * math.log(2.0 * math.pi) + math.log(mills_ratio(w))
    return -math.exp(log_tail - log_value)


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

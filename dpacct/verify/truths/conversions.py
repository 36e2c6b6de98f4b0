"""Truths for conversions between notions of privacy: the worst pair of distributions that is left."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpacct.engine.stable import Floats
from dpacct.verify.truth import truth


def _divergence(alpha: float, log_p: Floats, log_q: Floats) -> Floats:
    """Renyi divergence of (p, 1-p) from (q, 1-q)."""
    log_p_not = np.log(-np.expm1(log_p))
    log_q_not = np.log(-np.expm1(log_q))
    first = alpha * log_p + (1.0 - alpha) * log_q
    second = alpha * log_p_not + (1.0 - alpha) * log_q_not
    return np.asarray(np.logaddexp(first, second) / (alpha - 1.0))


@truth("mironov2017.proposition3", "canonne2020.proposition12", "dp_fed_ls.lemma1", draws=1500)
def worst_epsilon(alpha: float, rho: float, delta: float) -> tuple[float, float]:
    """The best of many two-point pairs whose divergence is exactly rho: each is a mechanism."""
    shares = np.concatenate([np.geomspace(1e-6, 0.5, 90), 1.0 - np.geomspace(0.49, 1e-9, 90)])
    p = delta + (1.0 - delta) * shares
    shares, p = shares[p < 1.0], p[p < 1.0]
    log_p: NDArray[np.float64] = np.log(p)
    # D falls in q on (0, p): bisect log q between far below and p
    low = log_p - (800.0 + rho)
    high = log_p.copy()
    for _ in range(70):
        middle = 0.5 * (low + high)
        with np.errstate(all="ignore"):
            beyond = _divergence(alpha, log_p, middle) > rho
        low, high = np.where(beyond, middle, low), np.where(beyond, high, middle)
    gain = np.log((1.0 - delta) * shares) - high  # the pair at `high` has divergence at most rho
    best = float(np.max(gain))
    return max(0.0, best), float("inf")


@truth("balle_wang.theorem8", draws=400, within=1e-8)
def gaussian_delta(mu: float, epsilon: float) -> float:
    """The integral of the positive part of two normal densities' difference, 40 digits."""
    from mpmath import erfc, exp, mp, mpf, sqrt

    with mp.workdps(60):
        m, e = mpf(mu), mpf(epsilon)
        cut = e / m + m / 2  # integrate N(mu,1) - e^eps N(0,1) from the cut
        tail = erfc((cut - m) / sqrt(2)) / 2 - exp(e) * erfc(cut / sqrt(2)) / 2
        return float(tail)

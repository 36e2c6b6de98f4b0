"""Published data-dependent bounds of a noisy argmax, and of publishing what it cost.

Papernot, Abadi, Erlingsson, Goodfellow, Talwar. Semi-supervised Knowledge Transfer. ICLR 2017: LNMax.
Papernot, Song, Mironov, Raghunathan, Talwar, Erlingsson. Scalable Private Learning. ICLR 2018: GNMax.
Zhu et al., voting-based private federated learning (AE-DPFL), Lemma 13 and Theorem 14 as corrected.

`log_q` is the logarithm of a probability, so that it may lie below the range of floats. Arrays are broadcast.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpacct.pld import conversions

Floats = NDArray[np.floating[Any]]
# values, different ones and all: of more importing scipy.special, .14 s, takes less time
_FEW, _MANY = 20_000, 1_000_000


def as_floats(values: ArrayLike) -> Floats:
    """An array of doubles."""
    return np.asarray(values, dtype=np.float64)


def log_sum(first: ArrayLike, second: ArrayLike) -> Floats:
    """log(e^one + e^two), also where the first is next to 0 and the second tiny, or either huge.

    >>> log_sum([1e-20, 1000.0], [-1000.0, 0.0]).tolist()
    [1e-20, 1000.0]
    """
    first, second = as_floats(first), as_floats(second)
    high, low = np.maximum(first, second), np.minimum(first, second)
    with np.errstate(over="ignore"):
        small = np.log1p(np.expm1(np.minimum(first, 31.0)) + np.exp(np.minimum(second, 31.0)))
    return np.asarray(np.where(high > 30.0, high + np.log1p(np.exp(low - high)), small))


def log_totals(logs: Floats) -> Floats:
    """The log of the sum of e^x over the last axis.

    >>> log_totals(np.array([[-1000.0, -1000.0]])).round(9).tolist()
    [-999.306852819]
    """
    most = logs.max(axis=-1)
    return np.asarray(most + np.log(np.exp(logs - most[..., None]).sum(axis=-1)))


def log_phi(x: Floats) -> Floats:
    """Log of the distribution function of N(0, 1).

    >>> np.exp(log_phi(np.array([-1.0, 0.0, 1.0]))).round(6).tolist()
    [0.158655, 0.5, 0.841345]
    """
    if x.size < _MANY:
        places, which = np.unique(x, return_inverse=True)
        if places.size < _FEW:
            each = np.array([conversions.log_phi(place) for place in places.tolist()])
            return each[which.reshape(x.shape)]
    from scipy.special import log_ndtr

    return np.asarray(log_ndtr(x))


def log_mismatch(margins: ArrayLike, sigma: float) -> Floats:
    """Proposition 7: log of how likely a noisy count overtakes the leader, by a union; may exceed 0.

    `margins` are the leader's votes minus those of each other class, along the last axis; `sigma` is the
    noise of each count.

    >>> np.exp(log_mismatch([2.0, 2.0], 1.0)).round(12).item()
    0.15729920705
    """
    return log_totals(log_phi(-as_floats(margins) / (math.sqrt(2.0) * sigma)))


def theorem6_log_limit(mu1: ArrayLike, mu2: ArrayLike, epsilon2: ArrayLike) -> Floats:
    """Theorem 6's condition on q, and that A is positive."""

    def log_share(mu: Floats) -> Floats:
        return np.where(mu > 1.0, np.log(mu / (mu - 1.0)), math.inf)

    mu1, mu2, epsilon2 = map(as_floats, (mu1, mu2, epsilon2))
    with np.errstate(divide="ignore", invalid="ignore"):
        log_limit = (mu2 - 1.0) * epsilon2 - mu2 * (log_share(mu1) + log_share(mu2))
    return np.asarray(np.minimum(log_limit, -epsilon2))


def data_dependent(
    log_q: ArrayLike,
    order: ArrayLike,
    mu1: ArrayLike,
    epsilon1: ArrayLike,
    mu2: ArrayLike,
    epsilon2: ArrayLike,
) -> Floats:
    """Theorem 6's bound without its conditions; `log_q` is the logarithm of q. For arrays too.

    >>> data_dependent(math.log(1e-6), 4.0, 20.0, 0.2, 19.0, 0.19).round(12).item()
    6.52433e-06
    """
    log_q, power = as_floats(log_q), as_floats(order) - 1.0
    mu1, epsilon1, mu2, epsilon2 = map(as_floats, (mu1, epsilon1, mu2, epsilon2))
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        stay = np.log1p(-np.exp(log_q))
        log_a = -np.log1p(-np.exp((log_q + epsilon2) * (mu2 - 1.0) / mu2)) + stay
        log_b = epsilon1 - log_q / (mu1 - 1.0)
        bound = log_sum(stay + power * log_a, log_q + power * log_b) / power
    return np.asarray(np.where(log_q + epsilon2 > -1e-15, math.inf, bound))


def gaussian_votes(log_q: ArrayLike, order: ArrayLike, sigma: float, sensitivity: float) -> Floats:
    """Theorem 6 for a noisy argmax, at its best orders, or order s^2/(2 sigma^2) where that is less.

    `log_q` bounds the log probability of another winner at D; `sensitivity` is the L2 distance that a
    neighbour moves the votes: sqrt(2) for one moved vote. The best orders are those of Proposition 10.

    >>> gaussian_votes(-0.1, 4.0, 10.0, 1.0).item()
    0.02
    >>> bool(gaussian_votes(-1000.0, 4.0, 10.0, 1.0) < 1e-300)
    True
    """
    slope = sensitivity**2 / (2.0 * sigma**2)
    q, order = as_floats(log_q), as_floats(order)
    plain = order * slope
    mu2 = np.sqrt(np.maximum(-q, 0.0) / slope)
    mu1 = mu2 + 1.0
    holds = (
        (q < 0.0) & (mu2 > 1.0) & (order <= mu2) & (q < theorem6_log_limit(mu1, mu2, mu2 * slope))
    )
    bound = data_dependent(q, order, mu1, mu1 * slope, mu2, mu2 * slope)
    return np.asarray(np.where(holds, np.minimum(plain, bound), plain))


def publication(order: float, beta: float, sigma: float, raised: float = 0.0) -> float:
    """Renyi cost of F + S (raised sigma + N(0, sigma^2)); inf where the order is too large for beta.

    `raised` lifts the published value by so many standard deviations.

    >>> round(publication(25.0, 0.016, 20.0), 9)
    0.157901384
    >>> round(publication(10.0, 0.04, 5.0, 1.6448536269514722), 9)
    1.461695547
    """
    power = order - 1.0
    rest = 1.0 + order * math.expm1(-2.0 * beta)  # 1 - lambda + lambda e^{-2 beta}
    if rest <= 0.0:
        return math.inf
    distance = 1.0 + raised * sigma * math.expm1(beta)
    means = order * distance**2 * math.exp(-2.0 * beta) / (2.0 * sigma**2 * rest)
    shrunk = -order / power * beta - math.log(rest) / (2.0 * power)
    grown = order / power * beta - math.log1p(order * math.expm1(2.0 * beta)) / (2.0 * power)
    return means + max(shrunk, grown)


def log_overtaking(margins: ArrayLike) -> Floats:
    """Log of (2 + m)/(4 e^m): a count with Laplace noise of scale 1 overtakes one that is m ahead.

    >>> round(float(np.exp(log_overtaking(0.0))), 12)
    0.5
    """
    m = as_floats(margins)
    with np.errstate(divide="ignore", invalid="ignore"):
        ahead = np.log(2.0 + np.maximum(m, 0.0)) - math.log(4.0) - np.maximum(m, 0.0)
        behind = np.log1p(-0.25 * (2.0 + np.maximum(-m, 0.0)) * np.exp(np.minimum(m, 0.0)))
    return np.asarray(np.where(m >= 0.0, ahead, behind))


def _theorem3_log_limit(epsilon: float) -> float:
    """Log of (e^eps - 1)/(e^{2 eps} - 1) = 1/(e^eps + 1)."""
    return -math.log1p(math.exp(epsilon)) if epsilon < 700.0 else -epsilon


def likely_outcome(log_q: ArrayLike, order: ArrayLike, epsilon: float) -> Floats:
    """Theorem 3 as a Renyi divergence, or epsilon where that is less or its condition on q fails.

    >>> likely_outcome(math.log(0.01), 2.0, 0.5).round(9).item()
    0.012933219
    """
    q, power = as_floats(log_q), as_floats(order) - 1.0
    inside = q < _theorem3_log_limit(epsilon)
    held = np.minimum(q, _theorem3_log_limit(epsilon) - 1e-9)
    stay = np.log1p(-np.exp(held))
    with np.errstate(divide="ignore"):
        # log(1 - e^eps q) without losing the digits of a small q
        x = epsilon + held
        ratio = stay - np.where(x < -1.0, np.log1p(-np.exp(x)), np.log(-np.expm1(x)))
    bound = log_sum(stay + power * ratio, held + power * epsilon) / power
    return np.asarray(np.where(inside, np.minimum(bound, epsilon), epsilon))


def event_bound(log_q: ArrayLike, alpha: ArrayLike, epsilon: ArrayLike) -> Floats:
    """Lemma 13 corrected, for a q below the range of floats too; `log_q` < 0.

    >>> event_bound(math.log(0.01), 2.0, 0.5).round(9).item()
    0.083079206
    """
    log_q, alpha, epsilon = map(as_floats, (log_q, alpha, epsilon))
    with np.errstate(divide="ignore"):
        # log(1 - q) without losing the digits of a small q
        keep = np.where(log_q < -1.0, np.log1p(-np.exp(log_q)), np.log(-np.expm1(log_q)))
    stay = (1.0 - alpha) * keep
    leave = alpha / (2.0 * alpha - 1.0) * log_q + (alpha - 1.0) * epsilon
    return np.asarray(log_sum(stay, leave) / (alpha - 1.0))


def voting_rdp(log_q: ArrayLike, alpha: ArrayLike, sigma: float, shift: float) -> Floats:
    """Corrected Theorem 14 of one noisy argmax, order `alpha`: the smaller of the two bounds.

    `log_q` must bound the log probability of any but the likely winner under both neighbours; `shift` is
    the L2 distance of the neighbours' votes, `sigma` the noise of each count.

    >>> voting_rdp(0.0, 4.0, 2.0, 1.0).item()
    0.5
    >>> voting_rdp(math.log(1e-9), 4.0, 2.0, 1.0).round(12).item()
    4.8181761e-05
    """
    q, order = as_floats(log_q), as_floats(alpha)
    plain = order * shift**2 / (2.0 * sigma**2)
    bound = event_bound(np.minimum(q, -1e-300), order, 2.0 * plain)
    return np.asarray(np.where(q < 0.0, np.minimum(plain, bound), plain))

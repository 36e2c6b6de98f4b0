"""Zhu et al. Private federated learning by voting (AE-DPFL), its appendix."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dpacct.papers.formulas import dp_fed_ls, mironov2017, papernot2018
from dpacct.pld import conversions
from dpacct.voting import published


def lemma8_1(q: float, alpha: float, rho: float) -> float:
    return math.exp(min(rho, 700.0) + math.log(q) * alpha / (alpha - 1.0))


def lemma8_1_lower(q: float, alpha: float, rho: float) -> float:
    return math.exp(math.log(q) * alpha / (alpha - 1.0) - rho)


def lemma8_1_corrected(q: float, alpha: float, rho: float) -> float:
    return math.exp(min(0.0, (rho + math.log(q)) * (alpha - 1.0) / alpha))


def lemma8_3(alpha: float, first: float, second: float) -> float:
    return dp_fed_ls.lemma4(alpha, first, 1) + dp_fed_ls.lemma4(alpha, second, 1)


lemma9 = mironov2017.proposition3


def proposition10_a(distance: float, rate: float, slope: float) -> float:
    return distance / (rate * slope)


def proposition10_b(rate: float, slope: float) -> float:
    return 0.0 * rate * slope


def proposition10_c(steps: int, rate: float, slope: float) -> float:
    return steps * rate * slope


def proposition10_c_corrected(steps: int, rate: float, slope: float, smoothness: float) -> float:
    return smoothness * rate * slope * (steps - 1) / 2.0


def algorithm3(sigma: float, participants: int, dimension: int, epsilon: float) -> float:
    return algorithm3_corrected(sigma, epsilon)


def algorithm3_corrected(sigma: float, epsilon: float) -> float:
    return conversions.gaussian_delta(1.0 / sigma, epsilon)


# Algorithms 5 and 6
def algorithm6(sigma: float, clip: float, participants: int) -> float:
    return sigma * clip


def algorithm6_dropout(sigma: float, clip: float, participants: int, missing: int) -> float:
    return sigma * clip * math.sqrt((participants - missing) / participants)


def theorem11_agent(alpha: float, queries: int, sigma: float) -> float:
    return queries * alpha / (2.0 * sigma**2)


def theorem11_instance(alpha: float, queries: int, sigma: float) -> float:
    return queries * alpha / sigma**2


def theorem11_knn(alpha: float, queries: int, sigma: float, k: int) -> float:
    return queries * alpha / (k * sigma**2)


def theorem11_knn_tight(alpha: float, queries: int, sigma: float, k: int) -> float:
    return queries * alpha / (k * sigma) ** 2


def lemma12(votes: Sequence[float], sigma: float) -> float:
    first, second, *_ = sorted(votes, reverse=True)
    return 1.0 - len(votes) * math.exp(-((first - second) ** 2) / (8.0 * sigma**2))


def lemma12_union(votes: Sequence[float], sigma: float) -> float:
    return 1.0 - papernot2018.proposition7(votes, sigma)


# The sentence after Lemma 12
def lemma12_threshold(classes: int, delta: float, sigma: float) -> float:
    return 2.0 * math.sqrt(2.0 * math.log(classes / delta))


def lemma12_threshold_corrected(classes: int, delta: float, sigma: float) -> float:
    return 2.0 * sigma * math.sqrt(2.0 * math.log(classes / delta))


# Lemma 13
def softplus(x: float) -> float:
    """log(1 + e^x), for every x."""
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


def lemma13(q: float, alpha: float, epsilon: float) -> float:
    log_keep = math.log1p(-q)
    inner = 0.5 * math.log(q) + (alpha - 1.0) * (log_keep + epsilon)
    return -log_keep + softplus(inner) / (alpha - 1.0)


lemma13_proof = lemma13


def lemma13_corrected_event(q: float, alpha: float, epsilon: float) -> float:
    log_keep = math.log1p(-q)
    inner = 0.5 * (math.log(q) + (2.0 * alpha - 1.0) * epsilon) + (alpha - 1.0) * log_keep
    return -log_keep + softplus(inner) / (alpha - 1.0)


def lemma13_corrected(q: float, alpha: float, epsilon: float) -> float:
    return float(published.event_bound(math.log(q), alpha, epsilon))


def theorem14(votes: Sequence[int], sigma: float, alpha: float) -> float:
    leader, second, *_ = sorted(votes, reverse=True)
    square = (leader - second) ** 2 / sigma**2
    first = len(votes) * math.exp(-square / 8.0)
    inner = (2.0 * alpha - 1.0) * sigma**2 / 2.0 - square / 16.0 + math.log(len(votes))
    return first + softplus(inner) / (alpha - 1.0)


def _moved(votes: Sequence[float], sigma: float, margin: float) -> float:
    """Log of how likely another class wins once the leader's margins fell by `margin`."""
    first, *others = sorted(votes, reverse=True)
    return float(published.log_mismatch([first - other - margin for other in others], sigma))


def theorem14_corrected(votes: Sequence[int], sigma: float, alpha: float) -> float:
    return float(published.voting_rdp(_moved(votes, sigma, 1.0), alpha, sigma, 1.0))


def theorem14_corrected_instance(votes: Sequence[int], sigma: float, alpha: float) -> float:
    return float(published.voting_rdp(_moved(votes, sigma, 2.0), alpha, sigma, math.sqrt(2.0)))


def theorem14_corrected_knn(neighbours: Sequence[int], k: int, sigma: float, alpha: float) -> float:
    votes = tuple(count / k for count in neighbours)
    log_q = _moved(votes, sigma, 2.0 / k)
    return float(published.voting_rdp(log_q, alpha, sigma, math.sqrt(2.0) / k))


# Proof of Theorem 14
def log_inequality(x: float) -> float:
    return x + x


def log_inequality_corrected(x: float) -> float:
    return 2.0 * x

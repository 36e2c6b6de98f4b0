"""Zhu et al. Private federated learning by voting (AE-DPFL), its appendix."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dpacct.papers.formulas import dp_fed_ls, mironov2017, papernot2018
from dpacct.pld import conversions
from dpacct.voting import published


# Lemma 8.1
def lemma8_1(q: float, alpha: float, rho: float) -> float:
    """The printed bound on the event's probability under D; `rho` = epsilon(alpha)."""
    return math.exp(min(rho, 700.0) + math.log(q) * alpha / (alpha - 1.0))


def lemma8_1_lower(q: float, alpha: float, rho: float) -> float:
    """The least probability of the event under D; `rho` = epsilon(alpha)."""
    return math.exp(math.log(q) * alpha / (alpha - 1.0) - rho)


def lemma8_1_corrected(q: float, alpha: float, rho: float) -> float:
    """The most that the event's probability under D can be; `rho` = epsilon(alpha)."""
    return math.exp(min(0.0, (rho + math.log(q)) * (alpha - 1.0) / alpha))


# Lemma 8.3
def lemma8_3(alpha: float, first: float, second: float) -> float:
    """The sum for answers that tell the truth with odds e^first and e^second."""
    return dp_fed_ls.lemma4(alpha, first, 1) + dp_fed_ls.lemma4(alpha, second, 1)


# Lemma 9
lemma9 = mironov2017.proposition3


# Proposition 10
def proposition10_a(distance: float, rate: float, slope: float) -> float:
    """Below this many local steps the update is the gradient's; `distance` = nu, `slope` = G."""
    return distance / (rate * slope)


def proposition10_b(rate: float, slope: float) -> float:
    """The printed distance of g from the subdifferential of F."""
    return 0.0 * rate * slope


def proposition10_c(steps: int, rate: float, slope: float) -> float:
    """The printed bound; `steps` = E, `rate` = eta, `slope` = G."""
    return steps * rate * slope


def proposition10_c_corrected(steps: int, rate: float, slope: float, smoothness: float) -> float:
    """The bound; `smoothness` = beta, the Lipschitz constant of the gradients."""
    return smoothness * rate * slope * (steps - 1) / 2.0


# Algorithm 3
def algorithm3(sigma: float, participants: int, dimension: int, epsilon: float) -> float:
    """Delta of one round with all agents, add/remove; participants and dimension play no part."""
    return algorithm3_corrected(sigma, epsilon)


def algorithm3_corrected(sigma: float, epsilon: float) -> float:
    """Delta of one round with all agents, add/remove."""
    return conversions.gaussian_delta(1.0 / sigma, epsilon)


# Algorithms 5 and 6
def algorithm6(sigma: float, clip: float, participants: int) -> float:
    """The std of the noise on the sum; that of one agent's is sqrt(participants) times less."""
    return sigma * clip


def algorithm6_dropout(sigma: float, clip: float, participants: int, missing: int) -> float:
    """The std of the noise on the sum that is left."""
    return sigma * clip * math.sqrt((participants - missing) / participants)


# Theorem 11
def theorem11_agent(alpha: float, queries: int, sigma: float) -> float:
    """Renyi divergence of all the noisy counts, exactly."""
    return queries * alpha / (2.0 * sigma**2)


def theorem11_instance(alpha: float, queries: int, sigma: float) -> float:
    """Renyi divergence of all the noisy counts, exactly, where a vote may move."""
    return queries * alpha / sigma**2


def theorem11_knn(alpha: float, queries: int, sigma: float, k: int) -> float:
    """Renyi divergence of all the noisy counts, at most."""
    return queries * alpha / (k * sigma**2)


def theorem11_knn_tight(alpha: float, queries: int, sigma: float, k: int) -> float:
    """Renyi divergence of all the noisy counts, exactly."""
    return queries * alpha / (k * sigma) ** 2


# Lemma 12
def lemma12(votes: Sequence[float], sigma: float) -> float:
    """The least probability of the right label; `sigma` is the std of the noise of a sum of votes."""
    first, second, *_ = sorted(votes, reverse=True)
    return 1.0 - len(votes) * math.exp(-((first - second) ** 2) / (8.0 * sigma**2))


def lemma12_union(votes: Sequence[float], sigma: float) -> float:
    """The least probability of the right label."""
    return 1.0 - papernot2018.proposition7(votes, sigma)


# The sentence after Lemma 12
def lemma12_threshold(classes: int, delta: float, sigma: float) -> float:
    """The printed margin in votes (N gamma); `sigma` plays no part."""
    return 2.0 * math.sqrt(2.0 * math.log(classes / delta))


def lemma12_threshold_corrected(classes: int, delta: float, sigma: float) -> float:
    """A margin in votes (N gamma) that is enough."""
    return 2.0 * sigma * math.sqrt(2.0 * math.log(classes / delta))


# Lemma 13
def softplus(x: float) -> float:
    """log(1 + e^x), for every x."""
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


def lemma13(q: float, alpha: float, epsilon: float) -> float:
    """The printed bound; `epsilon` is that of order 2 alpha."""
    log_keep = math.log1p(-q)
    inner = 0.5 * math.log(q) + (alpha - 1.0) * (log_keep + epsilon)
    return -log_keep + softplus(inner) / (alpha - 1.0)


lemma13_proof = lemma13


def lemma13_corrected_event(q: float, alpha: float, epsilon: float) -> float:
    """Renyi divergence of order alpha; `epsilon` is that of order 2 alpha."""
    log_keep = math.log1p(-q)
    inner = 0.5 * (math.log(q) + (2.0 * alpha - 1.0) * epsilon) + (alpha - 1.0) * log_keep
    return -log_keep + softplus(inner) / (alpha - 1.0)


def lemma13_corrected(q: float, alpha: float, epsilon: float) -> float:
    """Renyi divergence of order alpha, either way; `epsilon` is that of order 2 alpha."""
    return float(published.event_bound(math.log(q), alpha, epsilon))


# Theorem 14
def theorem14(votes: Sequence[int], sigma: float, alpha: float) -> float:
    """The printed bound for one answer with these votes, noise `sigma` on each count."""
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
    """Renyi divergence of one released label; an agent comes or goes."""
    return float(published.voting_rdp(_moved(votes, sigma, 1.0), alpha, sigma, 1.0))


def theorem14_corrected_instance(votes: Sequence[int], sigma: float, alpha: float) -> float:
    """Renyi divergence of one released label; a vote may move to another class."""
    return float(published.voting_rdp(_moved(votes, sigma, 2.0), alpha, sigma, math.sqrt(2.0)))


def theorem14_corrected_knn(neighbours: Sequence[int], k: int, sigma: float, alpha: float) -> float:
    """Renyi divergence of one released label; `neighbours` of each class among all agents' k."""
    votes = tuple(count / k for count in neighbours)
    log_q = _moved(votes, sigma, 2.0 / k)
    return float(published.voting_rdp(log_q, alpha, sigma, math.sqrt(2.0) / k))


# Proof of Theorem 14
def log_inequality(x: float) -> float:
    """The right side, 2x."""
    return x + x


def log_inequality_corrected(x: float) -> float:
    """The right side, 2x."""
    return 2.0 * x

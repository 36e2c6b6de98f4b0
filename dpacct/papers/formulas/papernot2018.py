"""Papernot, Song, Mironov, Raghunathan, Talwar, Erlingsson. Scalable Private Learning with PATE. ICLR 2018.

The noisy argmax of votes, and the Renyi bound that gets better when the votes agree.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpacct.papers import truths
from dpacct.papers.oracle import Ends, oracle
from dpacct.voting import published


# Proposition 7
def proposition7(votes: Sequence[float], sigma: float) -> float:
    """The probability that noise of std `sigma` on each count changes the winner, at most."""
    first, *others = sorted(votes, reverse=True)
    return min(1.0, math.exp(published.log_mismatch([first - other for other in others], sigma)))


@oracle("proposition7", draws=300, within=1e-9)
def wrong_label(votes: Sequence[float], sigma: float) -> Ends:
    """The probability of all labels but the leader's, by quadrature over their noise."""
    value = float(np.sum(np.exp(truths.log_labels(tuple(sorted(votes)), sigma)[:-1])))
    return value * (1.0 - 1e-10), value * (1.0 + 1e-10)


# Theorem 6
def limit(mu1: float, mu2: float, epsilon2: float) -> float:
    """The q below which the theorem speaks."""
    return math.exp(published.theorem6_log_limit(mu1, mu2, epsilon2))


def theorem6(
    mu1: float, epsilon1: float, mu2: float, epsilon2: float, order: float, q: float
) -> float:
    """Renyi divergence of that order; the mechanism is (mu1, epsilon1)- and (mu2, epsilon2)-RDP."""
    return float(published.data_dependent(math.log(q), order, mu1, epsilon1, mu2, epsilon2))


@oracle("theorem6", draws=300)
def likely_outcome(
    mu1: float, epsilon1: float, mu2: float, epsilon2: float, order: float, q: float
) -> Ends:
    """P = (1-q, q) and the farthest Q that both Renyi bounds admit, both ways."""
    near = [truths.partners(q, mu1, epsilon1), truths.partners(q, mu2, epsilon2)]
    low, high = max(near[0][0], near[1][0]), min(near[0][1], near[1][1])
    return truths.attained(order, (q, low), (q, high))


# Theorem 6 with Propositions 7 and 8
def gnmax(votes: Sequence[float], sigma: float, order: float) -> float:
    """Renyi divergence from these votes to those with one vote moved, at most."""
    first, *others = sorted(votes, reverse=True)
    log_q = published.log_mismatch([first - other for other in others], sigma)
    return float(published.gaussian_votes(log_q, order, sigma, math.sqrt(2.0)))


@oracle("gnmax", draws=150, within=1e-6)
def pate_vote(votes: Sequence[float], sigma: float, order: float) -> Ends | None:
    """All labels' probabilities by quadrature, from these votes to all with one vote moved."""
    counts = tuple(votes)
    moved = truths.one_moved(counts, 1.0)
    return truths.worst_label_divergence(counts, moved, sigma, order, both=False)


# Theorem 23
def theorem23(order: float, beta: float, sigma: float) -> float:
    """The Renyi cost as the released code has it."""
    spread = -0.5 * math.log1p(-2.0 * order * beta) + beta * order
    return order * math.exp(2.0 * beta) / sigma**2 + spread / (order - 1.0)


def theorem23_corrected(order: float, beta: float, sigma: float) -> float:
    """Renyi cost of publishing a value with noise sigma times its smooth sensitivity."""
    return published.publication(order, beta, sigma)


@oracle("theorem23", "theorem23_corrected", draws=1500, within=1e-9)
def two_normal_laws(order: float, beta: float, sigma: float) -> Ends | None:
    """The Renyi integral of two normal laws by quadrature, for neighbours with less and with more noise."""
    if sigma < 1e-3:
        return None
    sides = [
        truths.normal_divergence(order, min(1.0, ratio) / sigma, ratio)
        for ratio in (math.exp(-beta), math.exp(beta))
    ]
    if not all(sides):
        return None
    return truths.around(max(filter(None, sides)), 1.0, 1e-12 * order / (order - 1.0))

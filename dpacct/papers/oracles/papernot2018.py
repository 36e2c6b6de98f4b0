"""Truths for the statements of Papernot et al. (2018)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpacct.papers.oracles import truths
from dpacct.papers.oracles.oracle import oracle
from dpacct.papers.page import Ends


@oracle("proposition7", draws=300, within=1e-9)
def wrong_label(votes: Sequence[float], sigma: float) -> Ends:
    """The probability of all labels but the leader's, by quadrature over their noise."""
    value = float(np.sum(np.exp(truths.log_labels(tuple(sorted(votes)), sigma)[:-1])))
    return value * (1.0 - 1e-10), value * (1.0 + 1e-10)


@oracle("theorem6", draws=300)
def likely_outcome(
    mu1: float, epsilon1: float, mu2: float, epsilon2: float, order: float, q: float
) -> Ends:
    """P = (1-q, q) and the farthest Q that both Renyi bounds admit, both ways."""
    near = [truths.partners(q, mu1, epsilon1), truths.partners(q, mu2, epsilon2)]
    low, high = max(near[0][0], near[1][0]), min(near[0][1], near[1][1])
    return truths.attained(order, (q, low), (q, high))


@oracle("gnmax", draws=150, within=1e-6)
def pate_vote(votes: Sequence[float], sigma: float, order: float) -> Ends | None:
    """All labels' probabilities by quadrature, from these votes to all with one vote moved."""
    counts = tuple(votes)
    moved = truths.one_moved(counts, 1.0)
    return truths.worst_label_divergence(counts, moved, sigma, order, both=False)


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

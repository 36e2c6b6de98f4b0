"""The noisy argmax itself: the probability of each label by quadrature, for all neighbouring votes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from functools import cache

import numpy as np

from dpacct.engine.stable import Floats
from dpacct.verify.comparison import Comparison
from dpacct.verify.truth import truth

Votes = tuple[float, float, float]


@cache
def _grid() -> Floats:
    # a Gaussian of variance 1/3 and more is integrated to rounding at this step
    return np.linspace(-38.0, 38.0, 381)


def _log_labels(votes: tuple[float, ...], sigma: float) -> Floats:
    """Log of the probability that each class wins, noise of std sigma on each count."""
    from scipy.special import log_ndtr

    z = _grid()
    width = math.log(float(z[1] - z[0])) - 0.5 * math.log(2.0 * math.pi)
    logs = []
    for index, own in enumerate(votes):
        height = -0.5 * z * z
        for other, count in enumerate(votes):
            if other != index:
                height = height + log_ndtr(z + (own - count) / sigma)
        logs.append(float(np.logaddexp.reduce(height)) + width)
    return np.array(logs)


def _divergence(alpha: float, log_p: Floats, log_q: Floats) -> float:
    """Renyi divergence, exact to rounding also where it is tiny: sum of q (r^a - 1 - a (r - 1))."""
    lead = int(np.argmax(log_p))
    excess = 0.0
    moved = 0.0
    for index in range(log_p.size):
        if index == lead:
            continue
        p, q = math.exp(log_p[index]), math.exp(log_q[index])
        power = alpha * log_p[index] + (1.0 - alpha) * log_q[index]
        if power > 600.0:
            return float(power) / (alpha - 1.0)
        excess += math.exp(power) - q - alpha * (p - q)
        moved -= p - q
    q = math.exp(log_q[lead])
    if q == 0.0 or (alpha * log_p[lead] + (1.0 - alpha) * log_q[lead]) > 600.0:
        return float(alpha * log_p[lead] + (1.0 - alpha) * log_q[lead]) / (alpha - 1.0)
    x = moved / q
    if abs(alpha * x) < 1e-5:
        lead_excess = 0.5 * alpha * (alpha - 1.0) * x * x * (1.0 + (alpha - 2.0) * x / 3.0)
    elif abs(x) < 0.5:
        lead_excess = math.expm1(alpha * math.log1p(x)) - alpha * x
    else:
        lead_excess = math.exp(alpha * (log_p[lead] - log_q[lead])) - 1.0 - alpha * x
    return math.log1p(max(0.0, excess + q * lead_excess)) / (alpha - 1.0)


def _agents(votes: Votes) -> Iterator[Votes]:
    """One hard vote more or fewer."""
    for index in range(len(votes)):
        for step in (1.0, -1.0):
            if votes[index] + step >= 0.0:
                changed = list(votes)
                changed[index] += step
                yield (changed[0], changed[1], changed[2])


def _moves(votes: Votes, weight: float) -> Iterator[Votes]:
    """A vote of that weight moved from one class to another."""
    for source, target in itertools.permutations(range(len(votes)), 2):
        if votes[source] >= weight * (1.0 - 1e-9):
            changed = list(votes)
            changed[source] -= weight
            changed[target] += weight
            yield (changed[0], changed[1], changed[2])


def _worst(
    votes: Votes, others: Iterator[Votes], sigma: float, alpha: float, *, both: bool
) -> tuple[float, float]:
    own = _log_labels(votes, sigma)
    worst = 0.0
    for other in others:
        theirs = _log_labels(other, sigma)
        worst = max(worst, _divergence(alpha, own, theirs))
        if both:
            worst = max(worst, _divergence(alpha, theirs, own))
    room = 1e-7 * worst + 1e-14 * alpha / (alpha - 1.0)  # rounding, over alpha - 1
    return worst - room, worst + room


def _steady(votes: Votes, sigma: float) -> bool:
    """Whether the quadrature reaches all labels: else a probability lies below the range of floats."""
    return (max(votes) - min(votes) + 2.0) / sigma < 45.0


@truth("ae_dpfl.theorem14", draws=400, within=1e-8)
def two_classes(v1: int, v2: int, sigma: float, alpha: float) -> tuple[float, float] | None:
    """Both labels' probabilities in closed form; the worst of all votes with an agent more or less."""
    from scipy.special import log_ndtr

    def logs(margin: float) -> Floats:
        scaled = margin / (math.sqrt(2.0) * sigma)
        return np.array([float(log_ndtr(scaled)), float(log_ndtr(-scaled))])

    own = logs(v1 - v2)
    margins = [v1 - v2 + 1, v1 - v2 - 1]  # a vote more for one of them; a vote fewer is the same
    value = max(_divergence(alpha, own, logs(margin)) for margin in margins)
    room = 1e-9 * value + 1e-14 * alpha / (alpha - 1.0)
    return value - room, value + room


@truth("ae_dpfl.theorem14_corrected", draws=150, within=1e-6)
def one_agent(v1: int, v2: int, v3: int, sigma: float, alpha: float) -> tuple[float, float] | None:
    """The three labels' probabilities by quadrature, for all votes with one agent more or less, both ways."""
    votes = (float(v1), float(v2), float(v3))
    if not _steady(votes, sigma):
        return None
    return _worst(votes, _agents(votes), sigma, alpha, both=True)


@truth("ae_dpfl.theorem14_corrected_instance", draws=150, within=1e-6)
def one_vote(v1: int, v2: int, v3: int, sigma: float, alpha: float) -> tuple[float, float] | None:
    """The three labels' probabilities by quadrature, for all votes with one vote moved, both ways."""
    votes = (float(v1), float(v2), float(v3))
    if not _steady(votes, sigma):
        return None
    return _worst(votes, _moves(votes, 1.0), sigma, alpha, both=True)


@truth("papernot2018.gnmax", draws=150, within=1e-6)
def pate_vote(
    v1: float, v2: float, v3: float, sigma: float, order: float
) -> tuple[float, float] | None:
    """The three labels' probabilities by quadrature, from these votes to all with one vote moved."""
    votes = (v1, v2, v3)
    if not _steady(votes, sigma):
        return None
    return _worst(votes, _moves(votes, 1.0), sigma, order, both=False)


@truth("ae_dpfl.theorem14_corrected_knn", draws=120, within=1e-6)
def one_neighbour(
    n1: int, n2: int, n3: int, k: int, sigma: float, alpha: float
) -> tuple[float, float] | None:
    """The three labels' probabilities by quadrature, for all votes with one k-th moved, both ways."""
    votes = (n1 / k, n2 / k, n3 / k)
    if not _steady(votes, sigma):
        return None
    return _worst(votes, _moves(votes, 1.0 / k), sigma, alpha, both=True)


def _counts(alpha: float, sigma: float, moves: tuple[float, ...]) -> float | None:
    """Renyi divergence of noisy counts by quadrature in each coordinate that moves."""
    if alpha * max(moves) / sigma > 200.0 or max(moves) < 1e-4 * sigma:
        return None
    total = 0.0
    for move in moves:
        shift = move / sigma
        # the integrand is a normal density around alpha * shift
        x = alpha * shift + np.linspace(-14.0, 14.0, 1401)
        height = -0.5 * (alpha * (x - shift) ** 2 + (1.0 - alpha) * x * x)
        width = math.log(float(x[1] - x[0])) - 0.5 * math.log(2.0 * math.pi)
        total += float(np.logaddexp.reduce(height)) + width
    return total / (alpha - 1.0)


def _of_queries(value: float | None, queries: int, alpha: float) -> tuple[float, float] | None:
    if value is None:
        return None
    room = 1e-12 * max(1.0, alpha) + 1e-12 / (alpha - 1.0)  # rounding of the logarithm
    return queries * (value - room), queries * (value + room)


@truth("ae_dpfl.theorem11_agent", draws=300)
def agent_counts(alpha: float, queries: int, sigma: float) -> tuple[float, float] | None:
    """The Renyi integral of the one count that an agent's hard vote moves."""
    return _of_queries(_counts(alpha, sigma, (1.0,)), queries, alpha)


@truth("ae_dpfl.theorem11_instance", draws=300)
def instance_counts(alpha: float, queries: int, sigma: float) -> tuple[float, float] | None:
    """The Renyi integrals of the two counts that a moved vote changes."""
    return _of_queries(_counts(alpha, sigma, (1.0, 1.0)), queries, alpha)


@truth("ae_dpfl.theorem11_knn", "ae_dpfl.theorem11_knn_tight", draws=300)
def neighbour_counts(
    alpha: float, queries: int, sigma: float, k: int
) -> tuple[float, float] | None:
    """The Renyi integrals of the two counts that a replaced neighbour changes by 1/k."""
    return _of_queries(_counts(alpha, sigma, (1.0 / k, 1.0 / k)), queries, alpha)


@truth("ae_dpfl.lemma12", "ae_dpfl.lemma12_union", draws=300, within=1e-9)
def right_label(v1: float, v2: float, v3: float, sigma: float) -> tuple[float, float]:
    """The probability of the leader's label, by quadrature over its noise."""
    value = float(np.exp(np.max(_log_labels(tuple(sorted((v1, v2, v3))), sigma)[-1])))
    return value - 1e-13, value + 1e-13


@truth("papernot2018.proposition7", draws=300, within=1e-9)
def wrong_label(v1: float, v2: float, v3: float, sigma: float) -> tuple[float, float]:
    """The probability of the two other labels, by quadrature over their noise."""
    value = float(np.sum(np.exp(_log_labels(tuple(sorted((v1, v2, v3))), sigma)[:2])))
    return value * (1.0 - 1e-10), value * (1.0 + 1e-10)


@truth(
    "ae_dpfl.lemma12_threshold",
    "ae_dpfl.lemma12_threshold_corrected",
    draws=300,
    within=1e-9,
    claimed=True,
)
def wrong_at_margin(margin: float, classes: int, delta: float, sigma: float) -> Comparison:
    """The probability of a wrong label at that margin over all other classes, by quadrature."""
    from scipy.special import log_ndtr

    z = np.linspace(-38.0, 38.0, 4001)
    # some other class is ahead: 1 - Phi^{C-1}, without cancellation
    ahead = -np.expm1((classes - 1) * log_ndtr(z + margin / sigma))
    density = np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    wrong = float(density @ ahead) * float(z[1] - z[0])
    return Comparison(delta, wrong * (1.0 - 1e-11), wrong * (1.0 + 1e-11))

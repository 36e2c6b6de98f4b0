"""Truths for the statements of federated f-DP."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import cache

import numpy as np

import dpacct as dp
from dpacct.papers.oracles import truths
from dpacct.papers.oracles.oracle import Floats, oracle
from dpacct.papers.page import Ends, ends


@oracle("lemma3_3", draws=300)
def coins(step: float, rounds: int, epsilon: float) -> Ends | None:
    """The outcomes of R biased coins, by how many of them lie."""
    return truths.coins_delta(step, 0.0, rounds, epsilon)


@oracle("lemma3_4", draws=300, within=1e-8)
def two_shifts(mu1: float, mu2: float) -> float | None:
    """The total variation of the two-dimensional pair, an integral over one coordinate, as a mu."""
    from scipy.special import ndtr, ndtri

    if mu1 + mu2 > 8.0 or mu2 < 1e-3:
        return None
    x = np.linspace(-14.0, 14.0 + mu1, 4001)
    bar = (0.5 * (mu1 * mu1 + mu2 * mu2) - mu1 * x) / mu2  # the other coordinate is above it
    shifted = truths.normal_density(x - mu1) * ndtr(mu2 - bar)
    gain = float(np.sum(shifted - truths.normal_density(x) * ndtr(-bar))) * float(x[1] - x[0])
    return 2.0 * float(ndtri(0.5 + 0.5 * gain))


@oracle("definition3_6", "definition3_6_corrected", draws=300, within=1e-7)
def two_helpers(mu: float, correlation: float) -> float | None:
    """The joint density of the two helper models, along the direction in which its mean moves."""
    if mu < 1e-4:
        return None
    # their sum and difference are independent, and only the mean of the sum moves, by 2 mu
    deviation = math.sqrt(2.0 * (1.0 + correlation))
    return truths.sampled_profile(2.0 * mu / deviation, 0.0) if deviation > 1e-3 else None


@oracle("c_p", draws=60, within=2e-5)
def sampled_step(sigma: float, rate: float, alpha: float) -> Ends:
    """The double conjugate as defined: the convex hull of min(f_p, its inverse) on a fine grid."""
    return truths.envelope(1.0 / sigma, rate, alpha)


@oracle("lemma3_7", draws=300)
def averaged(mu: float, clients: int, alpha: float) -> float | None:
    """The test on the average of w_j and of the other clients' models, each with the same noise."""
    return truths.error_two(mu / math.sqrt(clients), alpha)


@oracle("lemma3_8", draws=300, within=1e-5)
def sampled_round(mu: float, rate: float, alpha: float) -> Ends:
    """The best test where it shows who took part, by the dual: the highest of all supporting lines."""
    from scipy.special import ndtr

    reach = mu * (8.0 + 0.5 * mu)
    cut = np.linspace(-reach, reach, 16_001) / mu
    slope = np.exp(mu * cut)
    # E(N(mu,1), u N(0,1)) for slope u, mixed with the weight 1 - p^2 of two equal laws
    apart = ndtr(0.5 * mu - cut) - slope * ndtr(-0.5 * mu - cut)
    excess = rate * rate * apart + (1.0 - rate * rate) * np.maximum(1.0 - slope, 0.0)
    value = float(np.max(1.0 - slope * alpha - excess, initial=0.0))
    return value - 1e-9, value + 1e-9


@oracle("lemma3_8_tight", draws=300, within=1e-8)
def round_profile(mu: float, rate: float, epsilon: float) -> float | None:
    """The hockey stick of the helper model by quadrature, where i and j both took part."""
    both = truths.sampled_profile(mu, epsilon)
    return None if both is None else rate * rate * both


@cache
def _shown_by_heads(rounds: int, observers: int) -> Floats:
    """Count the outcomes of all coins by their heads and by the releases of j that an observer is shown.

    The server averages with eta = 1/2 and the models are published as they are, so an observer who is
    sampled reads every w_j of the rounds so far: the weights 2^-k of the model tell the rounds apart.
    """
    counts = np.zeros((1 + (1 + observers) * rounds, 1 + rounds))
    for coins in itertools.product((False, True), repeat=(1 + observers) * rounds):
        table = np.array(coins).reshape(rounds, 1 + observers)
        still_to_look = np.logical_or.accumulate(table[::-1, 1:].any(axis=1))[::-1]
        counts[sum(coins), np.count_nonzero(table[:, 0] & still_to_look)] += 1.0
    return counts


def _apart(law: Sequence[float], releases: int) -> float:
    """Total variation of so many releases, outcome by outcome."""
    once: Floats = np.array(law) / math.fsum(law)
    first, second = np.ones(1), np.ones(1)
    for _ in range(releases):
        first, second = np.outer(first, once).ravel(), np.outer(second, once[::-1]).ravel()
    return 0.5 * float(np.abs(first - second).sum())


def _shown(rate: float, rounds: int, observers: int, law: Sequence[float]) -> Ends:
    """The mean over all coins: they tell nothing about S, and are known to who looks on."""
    counts = _shown_by_heads(rounds, observers)
    coins = len(counts) - 1
    weights = [rate**k * (1.0 - rate) ** (coins - k) for k in range(coins + 1)]
    variation = float(weights @ counts @ [_apart(law, n) for n in range(rounds + 1)])
    return truths.around((variation, 1e-14))  # rounding of what two near laws differ by


@oracle("theorem1", draws=400)
@oracle("theorem1_corrected", draws=200)
def weak(rate: float, rounds: int, law: Sequence[float]) -> Ends:
    """Two clients, F = id, eta = 1/2: each of the 4^R outcomes of their coins."""
    return _shown(rate, rounds, 1, law)


@oracle("theorem1_strong", draws=400)
@oracle("theorem1_strong_corrected", draws=200)
def strong(rate: float, clients: int, rounds: int, law: Sequence[float]) -> Ends | None:
    """All coins of all clients, F = id, eta = 1/2; what all but client j see together."""
    return _shown(rate, rounds, clients - 1, law) if clients * rounds <= 9 else None


@oracle("theorem1_gaussian", draws=250, within=1e-7)
def coins_and_shifts(mu: float, rate: float, rounds: int, epsilon: float) -> float | None:
    """The mean over how often j took part: so many shifts in as many directions, by quadrature."""
    parts = []
    for k, weight in enumerate(truths.binomial(rounds, rate).tolist()[1:], 1):
        stick = truths.sampled_profile(mu * math.sqrt(k), epsilon) if weight else 0.0
        if stick is None:
            return None
        parts.append(weight * stick)
    return math.fsum(parts)


@oracle("theorem2", draws=25, within=1e-6)
@oracle("theorem2_gdp", draws=150, within=1e-6)
def composed(rate: float, sigma: float, steps: int, epsilon: float) -> Ends | None:
    """Delta of the composed dominating pair, by the exact engine; below, that of a pair of data sets."""
    if steps > 1 and rate * steps < 0.3:
        return None
    node = dp.WithoutReplacement(rate)(dp.Gaussian(sigma=sigma)) * steps
    lower, upper = ends(node.delta(epsilon=epsilon, method="exact"))
    return (lower, upper) if lower >= 1e-12 else None  # large enough for a sum over a lattice


@oracle("theorem2_thinned", draws=3, within=1e-6)
def thinned(
    client_rate: float, rate: float, sigma: float, local_steps: int, rounds: int, epsilon: float
) -> Ends | None:
    """Given in how many rounds the client took part, the exact engine; the mean over that number."""
    if rounds > 300 or rate * local_steps < 1.0 < local_steps:
        return None
    step = dp.WithoutReplacement(rate)(dp.Gaussian(sigma=sigma))
    lower, upper = 0.0, 0.0
    for k, weight in enumerate(truths.binomial(rounds, client_rate).tolist()[1:], 1):
        if weight < 1e-10:
            upper += weight
            continue
        answer = (step * (local_steps * k)).delta(epsilon=epsilon, method="exact")
        below, above = ends(answer)
        lower, upper = lower + weight * below, upper + weight * above
    return (lower, upper) if lower > 1e-12 else None


@oracle("theorem2_strong", "theorem2_strong_tight", draws=200, within=1e-8)
def many_helpers(mu: float, clients: int) -> float:
    """The shift of m - 1 helper models that all hold the same release, by their joint covariance."""
    share = 1.0 + np.arange(clients - 1) / clients  # each is its own multiple of the release
    inverse = np.linalg.pinv(np.outer(share, share), hermitian=True)
    return math.sqrt(float(mu * share @ inverse @ (mu * share)))

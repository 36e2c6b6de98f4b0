"""Truths for the statements of DP-FedSAM."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

import dpacct as dp
from dpacct.papers.formulas.dp_fedsam import _algorithm1, _run
from dpacct.papers.oracles import truths
from dpacct.papers.oracles.oracle import Comparison, oracle
from dpacct.papers.page import Ends, ends


@oracle("eq11", draws=100)
def noise_of_mean(sigma: float, clip: float, participants: int) -> float | None:
    """The variances of m shares, added up one by one, over m^2."""
    if participants > 10_000:
        return None
    share = sigma * sigma * clip * clip / participants
    return math.sqrt(math.fsum([share] * participants)) / participants


@oracle("theorem1", "theorem1_sgd", draws=200)
def apart(eta: float, steps: int, smoothness: float, rho: float = 0.0, **_rest: float) -> Ends:
    """SAM, or SGD, on a quadratic with the sample z = 1, and with z = -1; one sample has variance 0."""
    first, second = (_run(eta, rho, steps, smoothness, z)[-1] for z in (1.0, -1.0))
    return (first - second) ** 2 * (1.0 - 1e-12), math.inf


def _clipped(update: float, clip: float) -> float:
    return update * min(1.0, clip / abs(update)) if update else 0.0


@oracle("theorem1_corrected", draws=100)
def clipped(clip: float) -> Ends:
    """Clipped updates of every two from a list, opposite ones and absent ones among them."""
    updates = [_clipped(share * clip, clip) for share in (-7.0, -1.0, -0.4, 0.0, 0.3, 1.0, 9.0)]
    worst = max((left - right) ** 2 for left in updates for right in updates)
    return worst, worst * (1.0 + 1e-12)


@oracle("lemma1", "lemma1_corrected", draws=100)
def exchanged(clip: float, participants: int) -> float:
    """Compute how far the mean moves when one client's clipped update is exchanged for its opposite."""
    return abs(_clipped(3.0 * clip, clip) - _clipped(-3.0 * clip, clip)) / participants


@oracle("lemma1_add_remove", draws=100)
def joined(clip: float, participants: int) -> float:
    """Compute how far a sum of clipped updates, over a constant, moves when a client joins."""
    return abs(_clipped(3.0 * clip, clip)) / participants


def _poisson(rate: float, sigma: float, rounds: int) -> dp.Node:
    return dp.Poisson(rate)(dp.Gaussian(sigma=sigma)) * rounds


@oracle("eq17", "eq17_corrected", draws=300, within=1e-7)
def renyi(alpha: float, rate: float, sigma: float, rounds: int) -> Ends:
    """The Renyi divergence of the Poisson-sampled Gaussian, the worse direction, by the exact engine."""
    value = float(_poisson(rate, sigma, 1).rdp(alpha))
    return truths.around((value, 1e-9 * value + 1e-13 / (alpha - 1.0)), rounds)


@oracle("diameter", draws=100)
def two_samples(smoothness: float, rho: float) -> Ends:
    """One step of SAM on each of two quadratics from 0, divided by the learning rate."""
    steps = [_run(1.0, rho, 1, smoothness, z)[-1] for z in (1.0, -1.0)]
    return abs(steps[0] - steps[1]) * (1.0 - 1e-12), math.inf


@oracle("theorem4", draws=300, within=1e-7, claimed=True)
def gaussian_step(
    claimed: float, sigma: float, clip: float, dimension: int, slack: float, **run: Any
) -> Comparison | None:
    """The step that the proof describes: a shift of 2 L rho/m against noise of std sigma C/m, sampled.

    The printed delta is taken at the best t >= 1, W' as in the proof, and only where it is below 1.
    """
    shift, participants = 2.0 * run["smoothness"] * run["rho"], run["participants"]
    spread = shift * sigma * clip * dimension / participants**2
    bar = math.sqrt(-2.0 * math.log(slack))
    t = max(1.0, bar / spread)
    log_delta = 0.5 * (t * spread) ** 2 - t * spread * bar
    mu, rate = shift / (sigma * clip), participants / run["samples"]
    if log_delta >= 0.0 or mu > 25.0 or claimed >= 29.0:
        return None
    true = truths.sampled_profile(mu, claimed, rate)
    return None if true is None else Comparison(rate * math.exp(log_delta), true, true)


@oracle("theorem4_corrected", draws=300, within=1e-8)
def one_round(sigma: float, rate: float, epsilon: float) -> float | None:
    """Opposite clipped updates, one step on a uniform sample, the hockey stick of two normal tails."""
    return truths.sampled_profile(2.0 / sigma, epsilon, rate)


@oracle("theorem5", draws=100)
def probability(epsilon: float, delta: float) -> Ends:
    """A probability, so at most 1."""
    return 0.0, 1.0


@oracle("lemma2", draws=100)
def perturbations(steps: int, eta: float, smoothness: float, rho: float) -> float:
    """F_1 = w and F_2 = -w/2: each client's unit vector and that of the mean gradient."""
    gradients = [1.0, -0.5]
    whole = math.copysign(rho, sum(gradients))
    return sum((math.copysign(rho, g) - whole) ** 2 for g in gradients) / len(gradients)


@oracle("lemma3", draws=300)
def drift(steps: int, eta: float, local: float, gradient: float, **_rest: float) -> Ends:
    """Linear losses with slope g +- sigma_l by a coin: the second moment after K - 1 steps, added up."""
    mean, variance = 0.0, 0.0
    for _ in range(steps - 1):
        mean += eta * gradient
        variance += (eta * local) ** 2
    return (mean * mean + variance) * (1.0 - 1e-12), math.inf


@oracle("lemma4", draws=200)
def coin_on_a_sample(epsilon: float, samples: int, participants: int) -> float | None:
    """A biased coin on the exchanged record, and its lie where the sample misses it: both odds."""
    from mpmath import exp, log, mp, mpf

    with mp.workdps(40):
        true = 1 / (1 + exp(-mpf(epsilon)))
        hit = mpf(participants) / samples
        with_record = hit * true + (1 - hit) * (1 - true)
        exchanged = hit * (1 - true) + (1 - hit) * (1 - true)
        return float(log(with_record / exchanged))


@oracle("lemma4_delta", draws=100)
def open_failure(delta: float, samples: int, participants: int) -> float | None:
    """Every record of the data set in turn: how often it is in the sample, times delta."""
    if samples > 5000:
        return None
    chosen = np.arange(samples) < participants  # any fixed sample, the record's place being uniform
    return float(np.mean(chosen * delta))


@oracle("lemma5_epsilon", draws=250, within=1e-8, claimed=True)
def delivered(
    claimed: float, steps: int, epsilon: float, delta: float, slack: float
) -> Comparison | None:
    """The exact delta at the claimed eps', against 1 - (1 - delta)^T (1 - slack)."""
    revealed = truths.coins_delta(epsilon, delta, steps, claimed)
    if revealed is None:
        return None
    allowed = 1.0 - (1.0 - delta) ** steps * (1.0 - slack)
    return Comparison(allowed * (1.0 + 1e-12), *revealed)


def _total(steps: int, epsilon: float, slack: float) -> float:
    """The epsilon' of Lemma 5, which the claimed delta' belongs to."""
    from mpmath import exp, log, mp, mpf, sqrt

    with mp.workdps(30):
        e = mpf(epsilon)
        bias = steps * e * (exp(e) - 1) / (exp(e) + 1)
        return float(sqrt(2 * log(1 / mpf(slack)) * steps * e * e) + bias)


@oracle("lemma5", "lemma5_sign", "lemma5_corrected", draws=250, within=1e-8)
def best_possible(steps: int, epsilon: float, delta: float, slack: float) -> Ends | None:
    """The exact delta at eps' of coins that may fail openly, summed over the lies with 40 digits."""
    return truths.coins_delta(epsilon, delta, steps, _total(steps, epsilon, slack))


@oracle("lemma7", draws=200)
def along_the_way(steps: int, step: float) -> float:
    """Two quadratics, z = 1 and z = -1: the squared distances of the models along the way."""
    ways = [_run(step, 0.0, steps, 1.0, z) for z in (1.0, -1.0)]
    return math.fsum((x - y) ** 2 for x, y in zip(*(way[:steps] for way in ways), strict=True))


@oracle("lemma8", "lemma8_corrected", draws=200)
def straight(steps: int, eta: float, gradient: float, local: float = 0.0, **_rest: float) -> Ends:
    """K steps along B +- sigma_l, the same batch at every step, never clipped: the mean of both squares."""
    squares = []
    for noise in (local, -local):
        w = 0.0
        for _ in range(steps):
            w -= eta * (gradient + noise)
        squares.append(w * w)
    return sum(squares) / 2.0 * (1.0 - 1e-12), math.inf


@oracle("eq24_topk", draws=60, within=1e-8)
def kept_noise(d: int, k: int) -> float:
    """The k largest squares of d normals: E of each as the integral of its survival function."""
    from scipy.special import bdtrc, erfc

    x = np.linspace(0.0, 12.0, 6001)  # of |z|; the square's survival is integrated with 2x dx
    above = np.clip(erfc(x / math.sqrt(2.0)), 1e-300, 1.0)
    total = np.zeros_like(x)
    for rank in range(1, k + 1):  # the rank-th largest exceeds x if at least rank of d do
        total += bdtrc(rank - 1, d, above)
    height = total * 2.0 * x
    odd, even = height[1::2].sum(), height[2:-1:2].sum()  # Simpson's rule
    return float(height[0] + height[-1] + 4.0 * odd + 2.0 * even) * float(x[1]) / 3.0


def _delivered(node: dp.Node, epsilon: float, delta: float) -> Comparison:
    return Comparison(delta, *ends(node.delta(epsilon=epsilon, method="exact")))


_few = partial(oracle, draws=12, within=1e-6, claimed=True)


@_few("theorem2", "theorem2_corrected")
def sampled(claimed: float, delta: float, **run: Any) -> Comparison | None:
    """The exact delta at the claimed epsilon, each client sampled by its own coin."""
    few = run["rate"] * run["rounds"] < 1.0
    return None if few else _delivered(_poisson(**run), claimed, delta)


@_few("theorem2_algorithm1", "theorem2_without_replacement")
def without_replacement(claimed: float, delta: float, **run: Any) -> Comparison | None:
    """The exact delta at the claimed epsilon for Algorithm 1: below, of data sets; above, of C_q."""
    few = run["rate"] * run["rounds"] < 1.0
    return None if few else _delivered(_algorithm1(**run), claimed, delta)

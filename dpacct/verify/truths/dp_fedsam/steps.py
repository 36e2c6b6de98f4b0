"""Lemmas 4 and 5 and Theorems 4 and 5: coins on samples, all sums of coins, and one Gaussian step."""

from __future__ import annotations

import math

import numpy as np

from dpacct.verify.comparison import Comparison
from dpacct.verify.truth import truth
from dpacct.verify.truths.federated_fdp.tradeoffs import sampled_profile


@truth("dp_fedsam.lemma4", draws=200)
def coin_on_a_sample(epsilon: float, samples: int, participants: int) -> float | None:
    """A biased coin on the exchanged record, and its lie where the sample misses it: both odds."""
    from mpmath import exp, log, mp, mpf

    with mp.workdps(40):
        true = 1 / (1 + exp(-mpf(epsilon)))
        hit = mpf(participants) / samples
        with_record = hit * true + (1 - hit) * (1 - true)
        exchanged = hit * (1 - true) + (1 - hit) * (1 - true)
        return float(log(with_record / exchanged))


@truth("dp_fedsam.lemma4_delta", draws=100)
def open_failure(delta: float, samples: int, participants: int) -> float | None:
    """Every record of the data set in turn: how often it is in the sample, times delta."""
    if samples > 5000:
        return None
    chosen = np.arange(samples) < participants  # any fixed sample, the record's place being uniform
    return float(np.mean(chosen * delta))


def _coins(step: float, failure: float, steps: int, epsilon: float) -> tuple[float, float] | None:
    """Delta of coins that may fail openly: mpmath, over the number of lies, or by convolution."""
    from mpmath import binomial, exp, fsum, mp, mpf

    if steps > 2000:
        return None
    with mp.workdps(40):
        true = 1 / (1 + exp(-mpf(step)))
        lie, bar = 1 - true, exp(mpf(epsilon))
        told = fsum(
            binomial(steps, j)
            * max(mpf(0), true ** (steps - j) * lie**j - bar * lie ** (steps - j) * true**j)
            for j in range(steps // 2 + 1)
        )
        value = float(1 - (1 - mpf(failure)) ** steps * (1 - told))
    return value * (1.0 - 1e-10), value * (1.0 + 1e-10)


def _total(steps: int, epsilon: float, slack: float) -> float:
    """The epsilon' of Lemma 5, which the claimed delta' belongs to."""
    from mpmath import exp, log, mp, mpf, sqrt

    with mp.workdps(30):
        e = mpf(epsilon)
        bias = steps * e * (exp(e) - 1) / (exp(e) + 1)
        return float(sqrt(2 * log(1 / mpf(slack)) * steps * e * e) + bias)


@truth(
    "dp_fedsam.lemma5",
    "dp_fedsam.lemma5_sign",
    "dp_fedsam.lemma5_corrected",
    draws=250,
    within=1e-8,
)
def best_possible(
    steps: int, epsilon: float, delta: float, slack: float
) -> tuple[float, float] | None:
    """The exact delta at eps' of coins that may fail openly, summed over the lies with 40 digits."""
    return _coins(epsilon, delta, steps, _total(steps, epsilon, slack))


@truth("dp_fedsam.lemma5_epsilon", draws=250, within=1e-8, claimed=True)
def delivered(
    claimed: float, steps: int, epsilon: float, delta: float, slack: float
) -> Comparison | None:
    """The exact delta at the claimed eps', against 1 - (1 - delta)^T (1 - slack)."""
    told = _coins(epsilon, delta, steps, claimed)
    if told is None:
        return None
    allowed = 1.0 - (1.0 - delta) ** steps * (1.0 - slack)
    return Comparison(allowed * (1.0 + 1e-12), *told)


@truth("dp_fedsam.theorem4", draws=300, within=1e-7, claimed=True)
def gaussian_step(
    claimed: float,
    smoothness: float,
    rho: float,
    sigma: float,
    clip: float,
    dimension: int,
    samples: int,
    participants: int,
    slack: float,
) -> Comparison | None:
    """The step that the proof describes: a shift of 2 L rho/m against noise of std sigma C/m, sampled.

    The printed delta is taken at the best t >= 1, W' as in the proof, and only where it is below 1.
    """
    spread = 2.0 * smoothness * rho * sigma * clip * dimension / participants**2
    bar = math.sqrt(-2.0 * math.log(slack))
    t = max(1.0, bar / spread)
    log_delta = 0.5 * (t * spread) ** 2 - t * spread * bar
    if log_delta >= 0.0:
        return None
    mu = 2.0 * smoothness * rho / (sigma * clip)
    if mu > 25.0 or claimed > 60.0:
        return None
    rate = participants / samples
    true = sampled_profile(mu, rate, min(claimed, 29.0)) if claimed < 29.0 else None
    if true is None:
        return None
    return Comparison(rate * math.exp(log_delta), true * (1.0 - 1e-9), true * (1.0 + 1e-9))


@truth("dp_fedsam.theorem4_corrected", draws=300, within=1e-8)
def one_round(sigma: float, rate: float, epsilon: float) -> float | None:
    """Opposite clipped updates, one step on a uniform sample, the hockey stick by quadrature."""
    return sampled_profile(2.0 / sigma, rate, epsilon)


@truth("dp_fedsam.theorem5", draws=100)
def probability(epsilon: float, delta: float) -> tuple[float, float]:
    """A probability, so at most 1."""
    return 0.0, 1.0

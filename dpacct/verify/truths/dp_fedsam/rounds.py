"""Theorem 2 against the exact engine: what the claimed budget really delivers."""

from __future__ import annotations

from random import Random

import numpy as np

import dpacct.mechanisms.gaussian as gaussian
import dpacct.sampling.fixed_size as fixed_size
import dpacct.sampling.poisson as poisson
from dpacct.compose import questions
from dpacct.tree import Node
from dpacct.verify.comparison import Comparison
from dpacct.verify.truth import truth
from dpacct.verify.truths import conversions


@truth("dp_fedsam.eq16", draws=300)
def converted(alpha: float, rho: float, delta: float) -> tuple[float, float]:
    """As for the conversion it is: the best of many two-point pairs."""
    return conversions.worst_epsilon(alpha, rho, delta)


def _poisson(rate: float, sigma: float, rounds: int) -> Node:
    return poisson.Poisson(rate)(gaussian.Gaussian(sigma=sigma)) * rounds


def _algorithm1(rate: float, sigma: float, rounds: int) -> Node:
    """m = qM clients, one exchanged: the sensitivity is twice that of the noise's unit."""
    return fixed_size.WithoutReplacement(rate)(gaussian.Gaussian(sigma=0.5 * sigma)) * rounds


@truth("dp_fedsam.eq17", "dp_fedsam.eq17_corrected", draws=300, within=1e-7)
def renyi(alpha: float, rate: float, sigma: float, rounds: int) -> tuple[float, float]:
    """The Renyi divergence of the Poisson-sampled Gaussian, the worse direction, by the exact engine."""
    value = float(questions.rdp(_poisson(rate, sigma, 1), alpha))
    room = 1e-9 * value + 1e-13 / (alpha - 1.0)
    return rounds * (value - room), rounds * (value + room)


@truth("dong2019.c_p_renyi", draws=100, within=1e-7)
def renyi_fixed(mu: float, rate: float, alpha: float) -> tuple[float, float]:
    """The Renyi divergence of the dominating pair of a uniform sample, by the exact engine."""
    node = fixed_size.WithoutReplacement(rate)(gaussian.Gaussian(sigma=1.0 / mu))
    with np.errstate(over="ignore"):  # of terms that the engine then takes in logarithms
        value = float(questions.rdp(node, alpha))
    room = 1e-9 * value + 1e-13 / (alpha - 1.0)
    return value - room, value + room


def _hit_often(rng: Random) -> dict[str, float | int]:
    """Runs in which the exchanged client is sampled several times: the engine is quick there."""
    rate = 10 ** rng.uniform(-2.0, -0.3)
    rounds = round(rng.uniform(4.0, 60.0) / rate)
    delta = 10 ** rng.uniform(-7.0, -2.0)
    return {"rate": rate, "sigma": rng.uniform(0.7, 3.0), "rounds": rounds, "delta": delta}


def _delivered(node: Node, epsilon: float, delta: float) -> Comparison:
    true = questions.delta(node, epsilon=epsilon, method="exact")
    lower = true.value if true.lower is None else true.lower
    upper = true.value if true.upper is None else true.upper
    return Comparison(delta, lower, upper)


@truth(
    "dp_fedsam.theorem2",
    "dp_fedsam.theorem2_corrected",
    draws=6,
    within=1e-6,
    claimed=True,
    draw=_hit_often,
)
def sampled(
    epsilon: float, rate: float, sigma: float, rounds: int, delta: float
) -> Comparison | None:
    """The exact delta at the claimed epsilon, each client sampled by its own coin."""
    if rate * rounds < 1.0:
        return None
    return _delivered(_poisson(rate, sigma, rounds), epsilon, delta)


@truth(
    "dp_fedsam.theorem2_algorithm1",
    "dp_fedsam.theorem2_without_replacement",
    draws=6,
    within=1e-6,
    claimed=True,
    draw=_hit_often,
)
def without_replacement(
    epsilon: float, rate: float, sigma: float, rounds: int, delta: float
) -> Comparison | None:
    """The exact delta at the claimed epsilon for Algorithm 1: below, of data sets; above, of C_q."""
    if rate * rounds < 1.0:
        return None
    return _delivered(_algorithm1(rate, sigma, rounds), epsilon, delta)


def within_budget(budget: float) -> tuple[float, float]:
    """Both ends of Algorithm 1's epsilon, stated setting, after the rounds that the budget allows."""
    from dpacct.theorems.dp_fedsam.tables import rounds_within

    node = _algorithm1(0.1, 0.95, rounds_within(budget))
    answer = questions.epsilon(node, delta="0.002", method="exact")
    assert answer.lower is not None and answer.upper is not None
    return answer.lower, answer.upper

"""What the noise of Theorems 1 and 2 delivers, and the lambdas that exist, by brute force."""

from __future__ import annotations

import math
from random import Random

import numpy as np

import dpacct.mechanisms.gaussian as gaussian
import dpacct.sampling.fixed_size as fixed_size
import dpacct.sampling.poisson as poisson
from dpacct.compose import questions
from dpacct.engine.stable import Floats
from dpacct.theorems.dp_fed_ls.smallest_noise import POISSON
from dpacct.tree import Node
from dpacct.verify.comparison import Comparison
from dpacct.verify.truth import truth


def _where_it_speaks(rng: Random) -> dict[str, float | int]:
    """Targets for which a lambda exists; elsewhere Theorem 2 says nothing that could be judged."""
    while True:
        drawn = {
            "epsilon": 10.0 ** rng.uniform(-0.5, 2.0),
            "delta": 10.0 ** rng.uniform(-9.0, -0.5),
            "tau": 10.0 ** rng.uniform(-3.5, -0.3),
            "clip": 10.0 ** rng.uniform(-2.0, 2.0),
            "steps": int(10.0 ** rng.uniform(0.0, 4.0)),
        }
        asked = -math.log(drawn["delta"]), drawn["tau"], int(drawn["steps"])
        if POISSON.smallest(drawn["epsilon"], *asked) is not None:
            return drawn


@truth("dp_fed_ls.eq3", "dp_fed_ls.theorem1", draws=300, within=1e-6, claimed=True)
def uniform(
    nu: float, epsilon: float, delta: float, tau: float, clip: float, steps: int, lam: float = 0.0
) -> Comparison:
    """Delta at that noise and epsilon under replace-one: C_tau at sigma = nu/(2G), composed.

    By Renyi moments, which bound it from above; where they are above the target, exactly.
    """
    node = fixed_size.WithoutReplacement(tau)(gaussian.Gaussian(sigma=nu / (2.0 * clip))) * steps
    return _delivered(node, epsilon, delta)


@truth("dp_fed_ls.theorem2_corrected", draws=150, within=1e-6, claimed=True, draw=_where_it_speaks)
@truth(
    "dp_fed_ls.eq4",
    "dp_fed_ls.theorem2",
    draws=60,
    within=1e-6,
    claimed=True,
)
def sampled(
    nu: float, epsilon: float, delta: float, tau: float, clip: float, steps: int, lam: float = 0.0
) -> Comparison:
    """Delta at that noise and epsilon: Poisson sampling at sigma = nu/G, composed as above."""
    node = poisson.Poisson(tau)(gaussian.Gaussian(sigma=nu / clip)) * steps
    return _delivered(node, epsilon, delta)


def _delivered(node: Node, epsilon: float, delta: float) -> Comparison:
    # a few orders show most claims to hold; the whole curve, then the exact delta, are asked after
    reach = -math.log(delta) / epsilon
    orders = [1.0 + share * reach for share in (1.0, 1.5, 2.5)]
    divergences = questions.rdp(node, orders)
    for order, divergence in zip(orders, np.atleast_1d(divergences).tolist(), strict=True):
        log_delta = (order - 1.0) * (divergence - epsilon)
        if log_delta <= math.log(delta):
            return Comparison(delta, *(2 * [math.exp(log_delta)]))
    bound = questions.delta(node, epsilon=epsilon, method="rdp")
    if bound.value > delta:
        bound = questions.delta(node, epsilon=epsilon, method="exact")
    return Comparison(delta, bound.value, bound.value)


def _least_epsilon(constant: float, least: float, delta: float, tau: float, steps: int) -> float:
    """Halving epsilon over a fine grid of lambda on which every condition is tried."""
    share = np.geomspace(1e-7, 0.5, 20_000)
    lam = np.concatenate([share, 1.0 - share[::-1]])

    def exists(epsilon: float, where: Floats) -> tuple[bool, float]:
        order = 1.0 - np.log(delta) / ((1.0 - where) * epsilon)
        x = constant * tau**2 * steps * order / (where * epsilon)
        with np.errstate(over="ignore"):
            room = 2.0 * x / 3.0 * -np.log(tau * order * (1.0 + x)) - order + 1.0
        room[x < least] = -np.inf
        at = int(np.argmax(room))
        return bool(room[at] >= 0.0), float(where[at])

    def feasible(epsilon: float) -> bool:
        found, best = exists(epsilon, lam)
        if found:
            return True
        near = best * np.geomspace(0.998, 1.0 / 0.998, 20_001)
        return exists(epsilon, near[near < 1.0])[0]

    high = 1.0
    while not feasible(high):
        high *= 2.0
    low = 0.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if feasible(middle) else (middle, high)
        if high - low < 1e-9 * high:
            break
    return high


@truth("dp_fed_ls.theorem1_least_epsilon", draws=12, within=1e-6)
def least_uniform(delta: float, tau: float, steps: int) -> float | None:
    """Theorem 1's conditions tried on 40 000 lambdas, epsilon halved."""
    return _least_epsilon(3.5, 0.67, delta, tau, steps) if tau < 0.5 else None


@truth("dp_fed_ls.theorem2_least_epsilon", draws=12, within=1e-6)
def least_sampled(delta: float, tau: float, steps: int) -> float | None:
    """Theorem 2's conditions tried on 40 000 lambdas, epsilon halved."""
    return _least_epsilon(2.0, 0.53, delta, tau, steps) if tau < 0.5 else None

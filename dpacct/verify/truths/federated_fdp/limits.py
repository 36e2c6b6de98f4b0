"""Theorem 2 against the exact engine, and with client coins against a contour of its own."""

from __future__ import annotations

import math
from random import Random

import dpacct.mechanisms.gaussian as gaussian
import dpacct.sampling.fixed_size as fixed_size
from dpacct.compose import questions
from dpacct.verify.truth import truth

_HITS = 4.0  # rate * steps: with fewer, but for a single step, the engine takes long


def _few_steps(rng: Random) -> dict[str, float | int]:
    """Points at which delta is neither 1 nor too small to be compared."""
    rate, sigma = 10 ** rng.uniform(-2.0, -0.3), rng.uniform(0.5, 3.0)
    steps = rng.choice((1, math.ceil(rng.uniform(_HITS, 20.0 * _HITS) / rate)))
    size = rate * math.sqrt(steps * math.expm1(sigma**-2))
    epsilon = 0.5 * size * size + size * rng.uniform(0.0, 4.0)
    return {"rate": rate, "sigma": sigma, "steps": steps, "epsilon": epsilon}


def _few_rounds(rng: Random) -> dict[str, float | int]:
    """As `_few_steps`, dealt to at most 8 rounds of a client."""
    drawn = _few_steps(rng)
    rounds, steps = rng.randint(1, 8), int(drawn.pop("steps"))
    drawn["local_steps"] = steps if steps == 1 else 1 + steps // rounds
    return drawn | {"rounds": rounds, "client_rate": rng.uniform(0.1, 1.0)}


@truth("federated_fdp.theorem2", draws=25, within=1e-6, draw=_few_steps)
def composed(rate: float, sigma: float, steps: int, epsilon: float) -> tuple[float, float] | None:
    """Delta of the composed dominating pair, by the exact engine; below, that of a pair of data sets."""
    if steps > 1 and rate * steps < 0.3:
        return None
    node = fixed_size.WithoutReplacement(rate)(gaussian.Gaussian(sigma=sigma)) * steps
    answer = questions.delta(node, epsilon=epsilon, method="exact")
    return _ends(answer.lower, answer.upper, 1e-12)


def _ends(lower: float | None, upper: float | None, floor: float) -> tuple[float, float] | None:
    """Both ends, where they are large enough to be compared with a sum over a lattice."""
    if lower is None or upper is None or lower < floor:
        return None
    return lower, upper


@truth("federated_fdp.theorem2_gdp", draws=150, within=1e-6)
def realised(rate: float, sigma: float, steps: int, epsilon: float) -> tuple[float, float] | None:
    """As `composed`: what a pair of data sets attains, and what bounds all of them."""
    return composed(rate, sigma, steps, epsilon)


def equivalent_mu(
    batch: int, records: int, sigma: float, local_steps: int, rounds: int
) -> tuple[float, float]:
    """The mu whose Gaussian mechanism has the exact epsilon of K R steps at delta = 1e-5, both ends."""
    node = fixed_size.WithoutReplacement(f"{batch}/{records}")(gaussian.Gaussian(sigma=sigma))
    answer = questions.epsilon(node * (local_steps * rounds), delta="1e-5", method="exact")
    assert answer.lower is not None and answer.upper is not None
    return _mu_of(answer.lower), _mu_of(answer.upper)


def _mu_of(epsilon: float) -> float:
    from scipy.optimize import brentq

    def gap(mu: float) -> float:
        node = gaussian.Gaussian(sigma=1.0 / mu)
        true = questions.delta(node, epsilon=epsilon, method="exact")
        return math.log(true.value) - math.log(1e-5)

    return float(brentq(gap, epsilon / 30.0, 3.0 * math.sqrt(epsilon) + 1.0, xtol=1e-10))


@truth("federated_fdp.theorem2_thinned", draws=3, within=1e-6, draw=_few_rounds)
def thinned(
    client_rate: float,
    rate: float,
    sigma: float,
    local_steps: int,
    rounds: int,
    epsilon: float,
) -> tuple[float, float] | None:
    """Given in how many rounds the client took part, the exact engine; the mean over that number."""
    if rounds > 300 or rate * local_steps < 1.0 < local_steps:
        return None
    lower, upper = 0.0, 0.0
    for k in range(1, rounds + 1):
        weight = _binomial(rounds, k, client_rate)
        if weight < 1e-10:
            upper += weight
            continue
        node = fixed_size.WithoutReplacement(rate)(gaussian.Gaussian(sigma=sigma))
        answer = questions.delta(node * (local_steps * k), epsilon=epsilon, method="exact")
        if answer.lower is None or answer.upper is None:
            return None
        lower, upper = lower + weight * answer.lower, upper + weight * answer.upper
    return (lower, upper) if lower > 1e-12 else None


def _binomial(n: int, k: int, rate: float) -> float:
    from scipy.special import bdtr

    return float(bdtr(k, n, rate) - bdtr(k - 1, n, rate))

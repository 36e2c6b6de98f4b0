"""Noise that agents add, and local gradient steps, simulated."""

from __future__ import annotations

import itertools
import math
from functools import cache

import numpy as np

from dpacct.engine.stable import Floats
from dpacct.verify.truth import truth


@truth("ae_dpfl.algorithm3", draws=300, within=1e-8)
def joining(
    sigma: float, participants: int, dimension: int, epsilon: float
) -> tuple[float, float] | None:
    """An agent with update zero joins: the noise is divided by m + 1; the norm tells, exactly."""
    from scipy.special import gammaincc

    grow = 1.0 + 1.0 / participants
    # log p/q = -d log(grow) + r (grow^2 - 1)/2 for p with std 1, q with 1/grow, r = |x|^2
    cut = 2.0 * (epsilon + dimension * math.log(grow)) / (grow * grow - 1.0)
    wide = float(gammaincc(0.5 * dimension, 0.5 * cut))
    narrow = float(gammaincc(0.5 * dimension, 0.5 * cut * grow * grow))
    told = wide - math.exp(min(epsilon, 700.0)) * narrow
    return max(0.0, told * (1.0 - 1e-9)), 1.0


@cache
def _rule() -> tuple[Floats, Floats]:
    nodes, weights = np.polynomial.legendre.leggauss(80)
    return nodes, weights


@truth("ae_dpfl.algorithm3_corrected", draws=300, within=1e-7)
def sum_of_updates(sigma: float, epsilon: float) -> float | None:
    """The positive part of N(1, sigma^2) - e^eps N(0, sigma^2), integrated from where it begins."""
    cut = epsilon * sigma + 0.5 / sigma  # in units of sigma
    if cut > 30.0 or epsilon > 600.0 or cut - 1.0 / sigma > 8.0:
        return None
    nodes, weights = _rule()
    ends = cut + np.array([0.0, 1.0, 3.0, 8.0, 20.0]) / (1.0 + max(0.0, cut - 1.0 / sigma))
    ends = np.append(ends, cut + 1.0 / sigma + 20.0)
    total = 0.0
    for low, high in itertools.pairwise(ends.tolist()):
        x = low + 0.5 * (high - low) * (nodes + 1.0)
        density = np.exp(-0.5 * (x - 1.0 / sigma) ** 2) / math.sqrt(2.0 * math.pi)
        share = -np.expm1(epsilon - x / sigma + 0.5 / sigma**2)
        total += 0.5 * (high - low) * float(weights @ (density * share))
    return total


@truth("ae_dpfl.algorithm6", draws=200)
def all_agents(sigma: float, clip: float, participants: int) -> float | None:
    """Each agent's variance, added up one by one."""
    return _left(sigma, clip, participants, participants)


@truth("ae_dpfl.algorithm6_dropout", draws=200)
def some_agents(sigma: float, clip: float, participants: int, missing: int) -> float | None:
    """The variances of those that stay, added up one by one."""
    return _left(sigma, clip, participants, participants - missing)


def _left(sigma: float, clip: float, participants: int, staying: int) -> float | None:
    if participants > 5000:
        return None
    each = sigma * sigma * clip * clip / participants
    return math.sqrt(math.fsum([each] * staying))


@truth("ae_dpfl.proposition10_a", draws=300)
def steps_in_region(distance: float, rate: float, slope: float) -> float | None:
    """F = G|x| from x = nu: how many local steps use the gradient at the start, by taking them."""
    if distance / (rate * slope) > 1e5:
        return None
    x, taken = distance, 0
    while x > 1e-12 * distance:
        x -= rate * slope
        taken += 1
    return float(taken)


@truth("ae_dpfl.proposition10_b", draws=50)
def on_the_kink(rate: float, slope: float) -> float:
    """f_1 = G|x| and f_2 = -G|x| at 0, one step with subgradient G each; F = 0 has gradient 0."""
    moves = [-rate * slope, -rate * slope]
    update = sum(moves) / len(moves)
    return abs(-update / rate)


def _distance(steps: int, rate: float, start: float, slope: float, smoothness: float) -> float:
    """|g - F'(start)| for F' = clip(beta x, -G, G), by taking the steps."""
    x, total = start, 0.0
    for _ in range(steps):
        gradient = max(-slope, min(slope, smoothness * x))
        total += gradient
        x -= rate * gradient
    return abs(total / steps - max(-slope, min(slope, smoothness * start)))


@truth("ae_dpfl.proposition10_c", draws=200)
def beside_the_kink(steps: int, rate: float, slope: float) -> tuple[float, float]:
    """F = G|x|, or as smooth as that nearly is: the worst of several starts near the kink."""
    far = max(
        _distance(steps, rate, share * rate * slope, slope, 1e9 / rate)
        for share in (0.01, 0.5, 0.99, 1.5)
    )
    return far, math.inf


@truth("ae_dpfl.proposition10_c_corrected", draws=200)
def bent(steps: int, rate: float, slope: float, smoothness: float) -> tuple[float, float]:
    """F' = clip(beta x, -G, G), both constants attained: the worst of many starts."""
    reach = slope / smoothness
    far = max(
        _distance(steps, rate, float(start), slope, smoothness)
        for start in np.linspace(0.0, 1.2 * reach, 25)
    )
    return far * (1.0 - 1e-9) - 1e-12 * slope, math.inf

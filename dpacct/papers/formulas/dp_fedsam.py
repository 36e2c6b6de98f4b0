"""Shi et al. Towards the Flatter Landscape and Better Generalization in FL under Client-level DP. 2023."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import dpacct as dp
from dpacct.papers.formulas import balle2018, canonne2020, dong2019, mironov2019
from dpacct.papers.page import Ends, ends
from dpacct.pld.roots import minimum


def eq11(sigma: float, clip: float, participants: int) -> float:
    return sigma * clip / participants


def theorem1(eta: float, rho: float, steps: int, smoothness: float) -> float:
    square = (eta * smoothness) ** 2
    top = 6.0 * square * rho**2 * steps * (12.0 * steps**2 * square + 10.0)
    return top / (1.0 - 2.0 * square * steps)


def _run(eta: float, rho: float, steps: int, smoothness: float, centre: float) -> list[float]:
    """SAM from 0 on F = L (w - z)^2/2 with one sample z: all the models on the way."""
    w, way = 0.0, [0.0]
    for _ in range(steps):
        gradient = smoothness * (w - centre)
        ascent = w + math.copysign(rho, gradient) if gradient else w
        w -= eta * smoothness * (ascent - centre)
        way.append(w)
    return way


def theorem1_sgd(eta: float, variance: float, steps: int, smoothness: float) -> float:
    return 6.0 * eta**2 * variance * steps / (1.0 - 3.0 * steps * (eta * smoothness) ** 2)


def theorem1_corrected(clip: float) -> float:
    return (2.0 * clip) ** 2


def lemma1(clip: float, participants: int) -> float:
    return clip / participants


def lemma1_corrected(clip: float, participants: int) -> float:
    return 2.0 * clip / participants


lemma1_add_remove = lemma1


# Theorem 2
eq16 = canonne2020.proposition12


def eq17(alpha: float, rate: float, sigma: float, rounds: int) -> float:
    return rounds * mironov2019.by_quadrature(alpha, rate * rate, sigma)


def eq17_corrected(alpha: float, rate: float, sigma: float, rounds: int) -> float:
    return rounds * mironov2019.by_quadrature(alpha, rate, sigma)


def best_order(epsilon: Callable[[float], float]) -> float:
    """The smallest epsilon over the orders (1.01, 256]; it has one minimum."""
    low, high = math.log(1e-2), math.log(255.0)
    return minimum(lambda power: epsilon(1.0 + math.exp(min(high, max(low, power)))), low, high)


def theorem2(rate: float, sigma: float, rounds: int, delta: float) -> float:
    return best_order(lambda alpha: eq16(alpha, eq17(alpha, rate, sigma, rounds), delta))


def theorem2_corrected(rate: float, sigma: float, rounds: int, delta: float) -> float:
    return best_order(lambda alpha: eq16(alpha, eq17_corrected(alpha, rate, sigma, rounds), delta))


theorem2_algorithm1 = theorem2_corrected


def theorem2_without_replacement(rate: float, sigma: float, rounds: int, delta: float) -> float:
    mu = 2.0 / sigma
    return best_order(
        lambda alpha: eq16(alpha, rounds * dong2019.c_p_renyi(mu, rate, alpha), delta)
    )


def _algorithm1(rate: float, sigma: float, rounds: int) -> dp.Node:
    """m = qM clients, one exchanged: the sensitivity is twice that of the noise's unit."""
    return dp.WithoutReplacement(rate)(dp.Gaussian(sigma=0.5 * sigma)) * rounds


# Proof of Theorem 4
def diameter(smoothness: float, rho: float) -> float:
    return 2.0 * smoothness * rho


def theorem4(
    smoothness: float,
    rho: float,
    sigma: float,
    clip: float,
    dimension: int,
    samples: int,
    participants: int,
    slack: float,
) -> float:
    unit = smoothness * rho / (sigma * clip * dimension)
    inner = unit * math.sqrt(-2.0 * math.log(slack)) + 2.0 * unit**2
    return lemma4(inner, samples, participants) if inner < 700.0 else inner


def theorem4_corrected(sigma: float, rate: float, epsilon: float) -> float:
    return dong2019.theorem4_2(2.0 / sigma, rate, epsilon)


def theorem5(epsilon: float, delta: float) -> float:
    return 1.0 - 2.0 * math.exp(-1.7 * epsilon) * delta / epsilon * math.log(2.0 / epsilon)


def lemma2(steps: int, eta: float, smoothness: float, rho: float) -> float:
    return 2.0 * (steps * smoothness * eta * rho) ** 2


def lemma3(
    steps: int,
    eta: float,
    smoothness: float,
    rho: float,
    local: float,
    across: float,
    gradient: float,
) -> float:
    shift = (smoothness * rho) ** 2
    spread = 6.0 * steps * (3.0 * across**2 + 6.0 * shift + gradient**2)
    first = 5.0 * steps * eta**2 * (2.0 * shift * local**2 + spread)
    return first + 24.0 * steps**3 * eta**4 * smoothness**2 * shift


def lemma4(epsilon: float, samples: int, participants: int) -> float:
    return balle2018.epsilon(epsilon, participants / samples)


def lemma4_delta(delta: float, samples: int, participants: int) -> float:
    return participants * delta / samples


def lemma5_epsilon(steps: int, epsilon: float, delta: float, slack: float) -> float:
    return epsilon * (math.sqrt(-2.0 * steps * math.log(slack)) + steps * math.tanh(epsilon / 2.0))


def _failures(steps: int, epsilon: float, total: float, delta: float) -> float:
    """The rest of delta' as printed."""
    unit = delta / (1.0 + math.exp(epsilon))
    count = math.ceil(total / epsilon)
    mixed = count * math.log1p(-math.exp(epsilon) * unit) + (steps - count) * math.log1p(-unit)
    return -math.expm1(mixed) - math.expm1(steps * math.log1p(-unit))


def _log_tail(steps: int, epsilon: float, total: float, sign: float) -> float:
    """Log of the first term of delta'; the sign of its first exponent is -1 as printed."""
    high, low = steps * epsilon + total, steps * epsilon - total
    return (
        sign * high / 2.0
        + steps * (math.log(2.0 * steps * epsilon / low) - math.log1p(math.exp(epsilon)))
        - high / (2.0 * epsilon) * math.log(high / low)
    )


def _printed_delta(steps: int, epsilon: float, delta: float, slack: float, sign: float) -> float:
    total = lemma5_epsilon(steps, epsilon, delta, slack)
    tail = math.exp(_log_tail(steps, epsilon, total, sign))
    return tail + _failures(steps, epsilon, total, delta)


def lemma5(steps: int, epsilon: float, delta: float, slack: float) -> float:
    return _printed_delta(steps, epsilon, delta, slack, -1.0)


def lemma5_sign(steps: int, epsilon: float, delta: float, slack: float) -> float:
    return _printed_delta(steps, epsilon, delta, slack, 1.0)


def lemma5_corrected(steps: int, epsilon: float, delta: float, slack: float) -> float:
    total = lemma5_epsilon(steps, epsilon, delta, slack)
    kept = steps * math.log1p(-delta)
    if total < steps * epsilon:
        tail = math.exp(min(0.0, _log_tail(steps, epsilon, total, 1.0)))
        kept += math.log1p(-tail) if tail < 1.0 else -math.inf
    return -math.expm1(kept)


def lemma7(steps: int, step: float) -> float:
    apart = 2.0 * (1.0 - (1.0 - step) ** steps)
    return 2.0 * steps * apart**2


def lemma8(steps: int, eta: float, smoothness: float, rho: float, gradient: float) -> float:
    return 3.0 * steps * eta**2 * ((smoothness * rho) ** 2 + gradient**2)


def lemma8_corrected(steps: int, eta: float, gradient: float, local: float) -> float:
    return (steps * eta) ** 2 * (gradient**2 + local**2)


def eq24_topk(d: int, k: int) -> float:
    return float(k)


_SETTING = (0.1, 0.95)  # Section 6.1: q and sigma; M = 500 clients and delta = 1/M


@cache
def _epsilon(rounds: int) -> float:
    return theorem2_corrected(*_SETTING, rounds, 1.0 / 500)


@cache
def rounds_within(budget: float) -> int:
    """The most rounds whose epsilon by Theorem 2 (Poisson) is at most `budget`."""
    low, high = 1, 2
    while _epsilon(high) <= budget:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _epsilon(middle) <= budget else (low, middle)
    return low


def spent(budget: float) -> float:
    """Epsilon by Theorem 2 after the last round that stays within `budget`."""
    return _epsilon(rounds_within(budget))


def within_budget(budget: float) -> Ends:
    """Both ends of Algorithm 1's epsilon, stated setting, after the rounds that the budget allows."""
    answer = _algorithm1(*_SETTING, rounds_within(budget)).epsilon(delta="0.002", method="exact")
    return ends(answer)

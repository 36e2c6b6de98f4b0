"""What the oracles of several papers share: truths by sums, quadrature and halving, without any formula."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from functools import cache
from random import Random
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpacct.papers.oracle import Comparison

Floats: TypeAlias = NDArray[np.float64]
Votes: TypeAlias = tuple[float, ...]
_HALVE = 200
MOST_COUNTED = 20_000
"""Clients of a shuffle whose counts are added up."""
_MOST_AT_ORDER = 400_000


# --- two-point laws


def _reach(start: float, end: float, admitted: Callable[[float], bool]) -> float:
    """The point between `start`, which is admitted, and `end` at which that stops; by halving odds."""
    inside, outside = math.log(start / (1.0 - start)), end
    for _ in range(_HALVE):
        middle = 0.5 * (inside + outside)
        if middle in (inside, outside):
            break
        if admitted(1.0 / (1.0 + math.exp(-middle))):
            inside = middle
        else:
            outside = middle
    return 1.0 / (1.0 + math.exp(-inside))


def _log_moment(alpha: float, log_p: float, log_q: float) -> float:
    """log(p^alpha q^(1-alpha) + (1-p)^alpha (1-q)^(1-alpha))."""
    other_p, other_q = math.log(-math.expm1(log_p)), math.log(-math.expm1(log_q))
    first = alpha * log_p + (1.0 - alpha) * log_q
    second = alpha * other_p + (1.0 - alpha) * other_q
    high = max(first, second)
    return high + math.log1p(math.exp(-abs(first - second)))


def two_point_divergence(alpha: float, p: float, q: float) -> float:
    """Renyi divergence of (p, 1-p) from (q, 1-q), from logarithms of both parts."""
    return max(0.0, _log_moment(alpha, math.log(p), math.log(q)) / (alpha - 1.0))


def partners(p: float, alpha: float, rho: float) -> list[float]:
    """The lowest and the highest q for which (p, 1-p) and (q, 1-q) are within rho both ways."""

    def near(q: float) -> bool:
        both = (0.0 < q < 1.0) and max(
            two_point_divergence(alpha, p, q), two_point_divergence(alpha, q, p)
        ) <= rho
        return both or q == p

    return [_reach(p, -36.0, near), _reach(p, 36.0, near)]


def at_least(value: float, alpha: float) -> tuple[float, float]:
    """What two-point laws attain, less the rounding of a logarithm over alpha - 1."""
    return value * (1.0 - 1e-9) - 1e-13 * alpha / (alpha - 1.0), math.inf


def _two_point_divergences(alpha: float, log_p: Floats, log_q: Floats) -> Floats:
    """Renyi divergence of (p, 1-p) from (q, 1-q)."""
    log_p_not = np.log(-np.expm1(log_p))
    log_q_not = np.log(-np.expm1(log_q))
    first = alpha * log_p + (1.0 - alpha) * log_q
    second = alpha * log_p_not + (1.0 - alpha) * log_q_not
    return np.asarray(np.logaddexp(first, second) / (alpha - 1.0))


def worst_epsilon(alpha: float, rho: float, delta: float) -> tuple[float, float]:
    """The best of many two-point pairs whose divergence is exactly rho: each is a mechanism."""
    shares = np.concatenate([np.geomspace(1e-6, 0.5, 90), 1.0 - np.geomspace(0.49, 1e-9, 90)])
    p = delta + (1.0 - delta) * shares
    shares, p = shares[p < 1.0], p[p < 1.0]
    log_p: NDArray[np.float64] = np.log(p)
    # D falls in q on (0, p): bisect log q between far below and p
    low = log_p - (800.0 + rho)
    high = log_p.copy()
    for _ in range(70):
        middle = 0.5 * (low + high)
        with np.errstate(all="ignore"):
            beyond = _two_point_divergences(alpha, log_p, middle) > rho
        low, high = np.where(beyond, middle, low), np.where(beyond, high, middle)
    gain = np.log((1.0 - delta) * shares) - high  # the pair at `high` has divergence at most rho
    best = float(np.max(gain))
    return max(0.0, best), float("inf")


# --- noisy votes


@cache
def _grid() -> Floats:
    # a Gaussian of variance 1/3 and more is integrated to rounding at this step
    return np.linspace(-38.0, 38.0, 381)


def log_labels(votes: tuple[float, ...], sigma: float) -> Floats:
    """Log of the probability that each class wins, noise of std sigma on each count."""
    from scipy.special import log_ndtr

    z = _grid()
    width = math.log(float(z[1] - z[0])) - 0.5 * math.log(2.0 * math.pi)
    logs = []
    for index, base in enumerate(votes):
        height = -0.5 * z * z
        for other, count in enumerate(votes):
            if other != index:
                height = height + log_ndtr(z + (base - count) / sigma)
        logs.append(float(np.logaddexp.reduce(height)) + width)
    return np.array(logs)


def label_divergence(alpha: float, log_p: Floats, log_q: Floats) -> float:
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


def one_agent(votes: Votes) -> Iterator[Votes]:
    """One hard vote more or fewer."""
    for index in range(len(votes)):
        for step in (1.0, -1.0):
            if votes[index] + step >= 0.0:
                changed = list(votes)
                changed[index] += step
                yield tuple(changed)


def one_moved(votes: Votes, weight: float) -> Iterator[Votes]:
    """A vote of that weight moved from one class to another."""
    for source, target in itertools.permutations(range(len(votes)), 2):
        if votes[source] >= weight * (1.0 - 1e-9):
            changed = list(votes)
            changed[source] -= weight
            changed[target] += weight
            yield tuple(changed)


def worst_label_divergence(
    votes: Votes, others: Iterator[Votes], sigma: float, alpha: float, *, both: bool
) -> tuple[float, float] | None:
    """The largest divergence of the label released on these votes from that on others, and back if `both`."""
    if (max(votes) - min(votes) + 2.0) / sigma >= 45.0:
        return None  # some label's probability lies below the range of floats
    base = log_labels(votes, sigma)
    worst = 0.0
    for other in others:
        theirs = log_labels(other, sigma)
        worst = max(worst, label_divergence(alpha, base, theirs))
        if both:
            worst = max(worst, label_divergence(alpha, theirs, base))
    room = 1e-7 * worst + 1e-14 * alpha / (alpha - 1.0)  # rounding, over alpha - 1
    return worst - room, worst + room


# --- shuffled randomised response


def _binomial(n: int, p: float) -> Floats:
    """Probabilities of 0..n successes."""
    from scipy.special import gammaln

    k = np.arange(n + 1.0)
    logs = gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)
    return np.asarray(np.exp(logs + k * math.log(p) + (n - k) * math.log1p(-p)))


def _positive(p: Floats, q: Floats, epsilon: float) -> float:
    """The larger of both directions' deltas."""
    growth = math.exp(epsilon)
    up = float(np.maximum(p - growth * q, 0.0).sum())
    return max(up, float(np.maximum(q - growth * p, 0.0).sum()))


def more_answers(epsilon: float, eps0: float, clients: int, answers: int = 3) -> float:
    """Delta of how many say 0 and how many 1 on k >= 3 answers: the others hold a third one.

    Answers beyond the third are not looked at: what is computed is realised by a coarser view.
    """
    lie = 1.0 / (math.exp(eps0) + answers - 1.0)
    honest = math.exp(eps0) * lie
    others = clients - 1
    answered = _binomial(others, 2.0 * lie)
    shape = (clients + 1, clients + 1)
    p, q = np.zeros(shape), np.zeros(shape)
    for said, chance in enumerate(answered.tolist()):
        ones = _binomial(said, 0.5) * chance
        at = np.arange(said + 1)
        for table, zero, one in ((p, honest, lie), (q, lie, honest)):
            table[said + 1 - at, at] += zero * ones
            table[said - at, at + 1] += one * ones
            table[said - at, at] += (1.0 - zero - one) * ones
    return _positive(p, q, epsilon)


def two_answers(epsilon: float, eps0: float, clients: int) -> float:
    """Delta of the count of ones: one client holds one and all others zero, against all zero."""
    lie = 1.0 / (1.0 + math.exp(eps0))
    others = _binomial(clients - 1, lie)
    held = np.append(others * lie, 0.0) + np.append(0.0, others * (1.0 - lie))
    none = np.append(others * (1.0 - lie), 0.0) + np.append(0.0, others * lie)
    return _positive(held, none, epsilon)


def shuffled_delta(epsilon: float, eps0: float, clients: int) -> float:
    """The largest delta of randomised responses that is computed here: a lower bound of the worst one's."""
    largest = two_answers(epsilon, eps0, clients)
    return max(largest, more_answers(epsilon, eps0, clients)) if clients <= 60 else largest


def exact_enough(delta: float) -> tuple[float, float] | None:
    """A delta that some mechanism attains, as a lower bound; None where the sums' rounding would be seen."""
    return (delta, math.inf) if delta > 1e-10 else None


def clones_leak(epsilon: float, eps0: float, clients: int) -> tuple[float, float] | None:
    """What shuffled randomised response leaks at epsilon, for few clients; None elsewhere."""
    if clients > 300 or epsilon >= eps0:
        return None
    return exact_enough(shuffled_delta(epsilon, eps0, clients))


def shuffle_delivers(claimed: float, delta: float, clients: int, eps0: float) -> Comparison | None:
    """The delta of shuffled randomised response at the claimed epsilon, beside the delta that was asked."""
    if clients > MOST_COUNTED or claimed >= eps0 or delta < 1e-9:
        return None
    return Comparison(delta, shuffled_delta(claimed, eps0, clients), math.inf)


def few_clients(rng: Random) -> dict[str, float | int]:
    """Not many more clients than the condition asks for: there the bound has least to spare."""
    delta = 10.0 ** rng.uniform(-9.0, -0.05)
    eps0 = math.exp(rng.uniform(-4.0, 1.2))
    least = 16.0 * math.log(4.0 / delta) * (math.exp(eps0) + 1.0)
    clients = math.ceil(least * math.exp(rng.choice((0.0, rng.uniform(0.0, 2.0)))))
    return {"delta": delta, "eps0": eps0, "clients": max(12, clients)}


def _log_binomial(n: int, p: float) -> Floats:
    """Logarithms of the probabilities of 0..n successes."""
    from scipy.special import gammaln

    k = np.arange(n + 1.0)
    logs = gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)
    return np.asarray(logs + k * math.log(p) + (n - k) * math.log1p(-p))


def shuffled_divergence(alpha: float, epsilon: float, clients: int) -> float | None:
    """D_alpha between one client holding 1 and none doing so, the worse direction."""
    if clients > _MOST_AT_ORDER:
        return None
    q = 1.0 / (1.0 + math.exp(epsilon))  # a client holding 0 sends 1
    none = _log_binomial(clients, q)
    k = np.arange(clients + 1.0)
    # a client holding 1 sends 1 with probability 1 - q: the ratio of the two laws of the count
    ratio = k * (1.0 - q) / (clients * q) + (clients - k) * q / (clients * (1.0 - q))
    weight = np.exp(none)
    x = ratio - 1.0  # its mean is 0
    both = []
    with np.errstate(all="ignore"):
        for order in (alpha, 1.0 - alpha):
            small = np.where(np.abs(x) < 0.5, np.expm1(order * np.log1p(x)), ratio**order - 1.0)
            # less its linear term, whose mean is 0
            mean = float(np.sum(np.where(weight > 0.0, weight * (small - order * x), 0.0)))
            both.append(math.log1p(mean) / (alpha - 1.0))
    return max(both)


def few_clients_at_order(rng: Random) -> dict[str, float | int]:
    """Not many more clients than are asked for: there the bound has least to spare."""
    while True:
        alpha, epsilon = rng.randint(2, 6), math.exp(rng.uniform(-5.0, 0.2))
        least = 9 * alpha**4 * math.exp(5.0 * epsilon)
        if least < 12_000:
            return {
                "alpha": alpha,
                "epsilon": epsilon,
                "clients": math.ceil(least) + 2 + rng.choice((0, rng.randint(0, int(least)))),
            }


# --- the staircase, piece by piece


def staircase_moment(lam: float, nu: float, power: int) -> float:
    """E|X|^power of the 1-D staircase: its pieces, each integrated exactly."""
    steps = math.ceil(45.0 / lam) + 2
    if steps > 20_000:
        raise ArithmeticError("too many steps")
    ends = np.unique(np.concatenate([np.arange(steps + 1.0), np.arange(steps) + nu]))
    middle = 0.5 * (ends[1:] + ends[:-1])
    below = np.floor(middle)
    level = -lam * (below + (middle - below >= nu))
    weight: Floats = np.exp(level)
    mass = float(np.sum(weight * np.diff(ends)))
    part = np.diff(ends ** (power + 1)) / (power + 1)
    return float(np.sum(weight * part)) / mass


def least_staircase_moment(lam: float, power: int) -> tuple[float, float]:
    """(nu, moment) of the least moment over nu, by golden section on (0, 1)."""
    low, high = 0.0, 1.0
    for _ in range(60):
        one, two = low + 0.382 * (high - low), high - 0.382 * (high - low)
        if staircase_moment(lam, one, power) < staircase_moment(lam, two, power):
            high = two
        else:
            low = one
    nu = 0.5 * (low + high)
    return nu, staircase_moment(lam, nu, power)


# --- Gaussian shifts


def error_two(mu: float, alpha: float) -> float:
    """Type II error of the test x > cut of N(0,1) against N(mu,1), both errors as integrals."""
    from mpmath import erfc, erfinv, mp, mpf, sqrt

    with mp.workdps(40):
        cut = -sqrt(2) * erfinv(2 * mpf(alpha) - 1)
        return float(erfc((mpf(mu) - cut) / sqrt(2)) / 2)


@cache
def _rule() -> tuple[Floats, Floats]:
    nodes, weights = np.polynomial.legendre.leggauss(200)
    return nodes, weights


def integral(height: Callable[[Floats], Floats], low: float, high: float) -> float:
    """Gauss and Legendre's rule of 200 points."""
    nodes, weights = _rule()
    half = 0.5 * (high - low)
    return half * float(weights @ height(low + half * (nodes + 1.0)))


def normal_density(x: Floats) -> Floats:
    """The density of N(0, 1)."""
    return np.asarray(np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi))


def sampled_profile(mu: float, rate: float, epsilon: float) -> float | None:
    """The positive part of ((1-p) N(0,1) + p N(mu,1)) - e^eps N(0,1), integrated from where it begins."""
    if epsilon > 30.0:
        return None
    growth = math.expm1(epsilon)
    cut = math.log1p(growth / rate) / mu + 0.5 * mu
    if cut > 30.0:
        return None  # below the range of floats

    def gap(x: Floats) -> Floats:
        # p (N(mu,1) - N(0,1)) - (e^eps - 1) N(0,1), as a multiple of N(0,1)
        return normal_density(x) * growth_free(x)

    def growth_free(x: Floats) -> Floats:
        return np.asarray(rate * np.expm1(np.minimum(mu * x - 0.5 * mu * mu, 700.0)) - growth)

    scale = 1.0 / (1.0 + max(cut - mu, 0.0))
    return integral(gap, cut, cut + 9.0 * scale) + integral(
        gap, cut + 9.0 * scale, cut + 40.0 * scale
    )


def _turns(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def envelope(mu: float, rate: float, alpha: float) -> tuple[float, float]:
    """The double conjugate as defined: the convex hull of min(f_p, its inverse) on a fine grid."""
    from scipy.special import ndtr, ndtri

    u = ndtr(np.linspace(-9.0, 9.0, 8_001))
    sampled = rate * ndtr(-ndtri(u) - mu) + (1.0 - rate) * (1.0 - u)
    # the inverse is the mirror image of the curve; all points of both, and the hull below them
    across = np.concatenate([u, sampled, [0.0, 1.0]])
    up = np.concatenate([sampled, u, [1.0, 0.0]])
    order = np.argsort(across, kind="stable")
    hull: list[tuple[float, float]] = []
    for point in zip(across[order].tolist(), up[order].tolist(), strict=True):
        while len(hull) > 1 and _turns(hull[-2], hull[-1], point) <= 0.0:
            hull.pop()
        hull.append(point)
    x, y = np.array(hull).T
    value = float(np.interp(alpha, x, y))
    return value - 1e-7, value + 1e-15

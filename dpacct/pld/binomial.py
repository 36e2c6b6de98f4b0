"""Binomial probabilities to nearly full relative accuracy, for up to 10^9 trials, and where they end.

A difference of log-gammas loses log10(n) digits; here only what is small is ever rounded (Loader, Fast and
Accurate Computation of Binomial Probabilities, 2000): Stirling's remainder, and a deviance by its series.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from .stable import Floats

LOG_CUT = -230.0
"""Log of the probability beyond which a tail is not followed: its bound is charged instead."""
ROUNDING = 5e-13
"""Bound of the relative error of a probability above e^-300 (tests compare with exact fractions)."""
HALF = Fraction(1, 2)


def _stirling_remainders() -> Floats:
    """log k! - log(sqrt(2 pi k) (k/e)^k) for k = 1..15, from whole factorials; 0 stands for k = 0."""
    remainders = [0.0]
    for k in range(1, 16):
        # k! e^k / k^k is near sqrt(2 pi k): a log of a moderate number, so nothing cancels
        moderate = float(Fraction(math.factorial(k), k**k)) * math.exp(k)
        remainders.append(math.log(moderate / math.sqrt(2.0 * math.pi * k)))
    return np.array(remainders)


_SMALL = _stirling_remainders()


def _remainder(k: Floats) -> Floats:
    """Stirling's remainder; by the asymptotic series from k = 16 on, whose next term is below 1e-17."""
    x = np.maximum(k, 16.0)
    y = 1.0 / (x * x)
    series = (
        1.0 / 12.0 - y * (1.0 / 360.0 - y * (1.0 / 1260.0 - y * (1.0 / 1680.0 - y / 1188.0)))
    ) / x
    return np.where(k < 16.0, _SMALL[np.minimum(k, 15.0).astype(np.int64)], series)


def _deviance(x: Floats, mean: float | Floats, gap: Floats) -> Floats:
    """x log(x / mean) + mean - x for x > 0, where gap = x - mean is given to full accuracy."""
    v = gap / (x + mean)
    near = np.abs(v) < 0.3
    square = np.where(near, np.square(v), 0.0)
    # 2 x (v^3/3 + v^5/5 + ...) + gap v; what is left out is below 1e-18 of the sum
    most = float(square.max(initial=0.0))
    terms = 1 if most == 0.0 else min(17, 2 + math.ceil(18.0 / -math.log10(most)))
    total = np.zeros_like(square)
    for odd in range(2 * terms + 1, 1, -2):
        total = (total + 1.0 / odd) * square
    series = gap * v + 2.0 * x * v * total
    # further out the deviance is of the size of x, and is not followed beyond some hundreds
    return np.where(near, series, x * np.log(np.maximum(x, 1e-300) / mean) - gap)


def log_pmf(k: Floats, n: int, p: Fraction) -> Floats:
    """log Pr[Bin(n, p) = k] for whole k in [0, n] and 0 < p < 1, p exact.

    >>> abs(float(log_pmf(np.array([3.0]), 10, Fraction(1, 2))[0]) - math.log(120 / 1024)) < 1e-15
    True
    """
    k = np.asarray(k, dtype=np.float64)
    if n == 0:
        return np.zeros(k.shape)
    mean, rest = n * p, n * (1 - p)
    high, other = float(mean), float(rest)
    inner = np.clip(k, 1.0, max(n - 1.0, 1.0))
    left = n - inner
    # inner - n p, with what the float of n p leaves out
    centre = (inner - high) - float(mean - Fraction(high))
    middle = (
        _remainder(np.array([float(n)]))[0]
        - _remainder(inner)
        - _remainder(left)
        - _deviance(inner, high, centre)
        - _deviance(left, other, -centre)
        - 0.5 * (math.log(2.0 * math.pi) + np.log(inner) + np.log1p(-inner / n) if n > 1 else 0.0)
    )
    none, all_of = n * _log(1 - p), n * _log(p)
    result = np.where(k == 0.0, none, np.where(k == n, all_of, middle))
    return np.asarray(np.where((k < 0.0) | (k > n), -np.inf, result))


def log_pmf_half(k: Floats, n: Floats) -> Floats:
    """log Pr[Bin(n, 1/2) = k], elementwise; -inf outside [0, n]."""
    inner = np.clip(k, 1.0, np.maximum(n - 1.0, 1.0))
    left, trials = np.maximum(n - inner, 1.0), np.maximum(n, 1.0)
    middle = (
        _remainder(trials)
        - _remainder(inner)
        - _remainder(left)
        - _both_deviances(np.minimum(np.abs(inner - 0.5 * n) / (0.5 * trials), 1.0), trials)
        - 0.5 * (math.log(2.0 * math.pi) + np.log(inner) + np.log(left / trials))
    )
    result = np.where((k == 0.0) | (k == n), -n * math.log(2.0), middle)
    return np.asarray(np.where((k < 0.0) | (k > n), -np.inf, result))


def _both_deviances(v: Floats, n: Floats) -> Floats:
    """(n/2) ((1 + v) log(1 + v) + (1 - v) log(1 - v)): the deviances of (1 +- v) n/2 from n/2, added."""
    square = np.minimum(v, 0.3) ** 2
    most = float(square.max(initial=0.0))
    terms = 1 if most == 0.0 else min(17, 2 + math.ceil(18.0 / -math.log10(most)))
    total = np.zeros_like(square)
    for k in range(terms, 0, -1):
        total = (total + 1.0 / (2 * k * (2 * k - 1))) * square
    far = v > 0.3
    if far.any():
        up, down = v[far], np.maximum(1.0 - v[far], 1e-300)
        total[far] = 0.5 * ((1.0 + up) * np.log1p(up) + down * np.log(down))
    return np.asarray(n * total)


def _log(p: Fraction) -> float:
    """log p of an exact probability, also close to 1."""
    return math.log1p(-float(1 - p)) if p > HALF else math.log(float(p))


def reach(n: int, p: Fraction) -> tuple[int, int]:
    """(first, last): counts below or above have probability at most e^LOG_CUT each (Bernstein).

    >>> reach(10, Fraction(1, 2))
    (0, 10)
    """
    if p == 0:
        return 0, 0
    third, variance = -LOG_CUT / 3.0, float(n * p * (1 - p))
    wide = math.ceil(third + math.sqrt(third * third - 2.0 * variance * LOG_CUT)) + 1
    centre = math.floor(n * p)
    return max(0, centre - wide), min(n, centre + wide)


def reaches(n: Floats) -> tuple[Floats, Floats]:
    """`reach` of fair coins, for many n.

    >>> [end.tolist() for end in reaches(np.array([10.0, 1e6]))] == [[0, 489198], [10, 510802]]
    True
    """
    third, centre = -LOG_CUT / 3.0, np.floor(0.5 * n)
    wide = np.ceil(third + np.sqrt(third * third - 0.5 * n * LOG_CUT)) + 1.0
    return np.maximum(0.0, centre - wide), np.minimum(n, centre + wide)


def tail_half(edges: Floats, n: Floats) -> Floats:
    """Pr[Bin(n, 1/2) >= edge] at whole edges above n/2, where each term is below the one before it.

    Of few coins the terms are added up: SciPy's betainc would take longer to import.

    >>> round(float(tail_half(np.array([8.0]), np.array([10.0]))[0]), 12) == 56 / 1024
    True
    """
    if float(n.max(initial=0.0)) > 20_000:
        return tails(edges, n, 0.5)[1]
    j = np.asarray(edges, dtype=np.float64)
    term = np.exp(log_pmf_half(j, n))
    total = term.copy()
    while (term > 1e-17 * total).any():
        term *= np.maximum(n - j, 0.0) / (j + 1.0)
        total += term
        j = j + 1.0
    return total


def tails(edges: Floats, n: float | Floats, p: float) -> tuple[Floats, Floats]:
    """(Pr[Bin(n, p) < edge], Pr[Bin(n, p) >= edge]) at whole edges; `tail_rounding` bounds the error."""
    from scipy.special import betainc

    inside = (edges > 0.0) & (edges <= n)
    j = np.clip(edges, 1.0, np.maximum(n, 1.0))
    above = np.where(edges <= 0.0, 1.0, np.where(inside, betainc(j, n - j + 1.0, p), 0.0))
    below = np.where(edges <= 0.0, 0.0, np.where(inside, betainc(n - j + 1.0, j, 1.0 - p), 1.0))
    return below, above


def tail_rounding(n: float) -> float:
    """Bound of the relative error of `tails` above e^-300 (tests compare with balls).

    >>> tail_rounding(10**9) < 1e-9
    True
    """
    return 1e-12 + 1e-14 * math.sqrt(n)

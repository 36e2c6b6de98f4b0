"""Trade-off functions and profiles by quadrature, by convex envelopes, and by joint covariances."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from dpacct.engine.stable import Floats
from dpacct.verify.truth import truth

_WIDE = 14.0  # standard deviations: nothing of a normal density is left beyond


def _error_two(mu: float, alpha: float) -> float:
    """Type II error of the test x > cut of N(0,1) against N(mu,1), both errors as integrals."""
    from mpmath import erfc, erfinv, mp, mpf, sqrt

    with mp.workdps(40):
        cut = -sqrt(2) * erfinv(2 * mpf(alpha) - 1)
        return float(erfc((mpf(mu) - cut) / sqrt(2)) / 2)


@truth("dong2019.definition2_6", draws=400)
def gaussian(mu: float, alpha: float) -> float:
    """The error of the threshold test, by mpmath's error functions, 40 digits."""
    return _error_two(mu, alpha)


@cache
def _rule() -> tuple[Floats, Floats]:
    nodes, weights = np.polynomial.legendre.leggauss(200)
    return nodes, weights


def _integral(height: Callable[[Floats], Floats], low: float, high: float) -> float:
    """Gauss and Legendre's rule of 200 points."""
    nodes, weights = _rule()
    half = 0.5 * (high - low)
    return half * float(weights @ height(low + half * (nodes + 1.0)))


def _normal(x: Floats) -> Floats:
    return np.asarray(np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi))


@truth("dong2019.theorem4_2", draws=300, within=1e-8)
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
        return _normal(x) * growth_free(x)

    def growth_free(x: Floats) -> Floats:
        return np.asarray(rate * np.expm1(np.minimum(mu * x - 0.5 * mu * mu, 700.0)) - growth)

    scale = 1.0 / (1.0 + max(cut - mu, 0.0))
    return _integral(gap, cut, cut + 9.0 * scale) + _integral(
        gap, cut + 9.0 * scale, cut + 40.0 * scale
    )


@truth("dong2019.c_p", draws=120, within=2e-5)
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


@truth("federated_fdp.c_p", draws=60, within=2e-5)
def sampled_step(sigma: float, rate: float, alpha: float) -> tuple[float, float]:
    """The double conjugate as defined: the convex hull of min(f_p, its inverse) on a fine grid."""
    return envelope(1.0 / sigma, rate, alpha)


def _turns(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def _variation(shift: float) -> float:
    """Half of the integral of |N(shift,1) - N(0,1)|, on either side of where they cross."""
    middle = 0.5 * shift
    return 0.5 * (
        _integral(lambda x: _normal(x) - _normal(x - shift), -_WIDE, middle)
        + _integral(lambda x: _normal(x - shift) - _normal(x), middle, shift + _WIDE)
    )


@truth("federated_fdp.lemma3_3", draws=300)
def coins(step: float, rounds: int, epsilon: float) -> float:
    """Each of the 2^R outcomes of R biased coins, one by one."""
    laws = np.array([1.0 / (1.0 + math.exp(-step)), 1.0 / (1.0 + math.exp(step))])
    first, second = np.ones(1), np.ones(1)
    for _ in range(rounds):
        first, second = np.outer(first, laws).ravel(), np.outer(second, laws[::-1]).ravel()
    return float(np.sum(np.maximum(first - math.exp(epsilon) * second, 0.0)))


@truth("federated_fdp.lemma3_4", draws=300, within=1e-8)
def two_shifts(mu1: float, mu2: float) -> float | None:
    """The total variation of the two-dimensional pair, an integral over one coordinate, as a mu."""
    from scipy.special import ndtr, ndtri

    if mu1 + mu2 > 8.0 or mu2 < 1e-3:
        return None
    x = np.linspace(-_WIDE, _WIDE + mu1, 4001)
    density = np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)
    shifted = np.exp(-0.5 * (x - mu1) ** 2) / math.sqrt(2.0 * math.pi)
    bar = (0.5 * (mu1 * mu1 + mu2 * mu2) - mu1 * x) / mu2  # the other coordinate is above it
    gain = float(np.sum(shifted * ndtr(mu2 - bar) - density * ndtr(-bar))) * float(x[1] - x[0])
    return 2.0 * float(ndtri(0.5 + 0.5 * gain))


@truth(
    "federated_fdp.definition3_6", "federated_fdp.definition3_6_corrected", draws=300, within=1e-7
)
def two_helpers(mu: float, correlation: float) -> float | None:
    """The joint density of the two helper models, along the direction in which its mean moves."""
    if mu < 1e-4:
        return None
    if correlation == 1.0:  # one helper model twice
        return _variation(mu)
    # their sum and difference are independent, and only the mean of the sum moves, by 2 mu
    deviation = math.sqrt(2.0 * (1.0 + correlation))
    return _variation(2.0 * mu / deviation) if deviation > 1e-3 else None


@truth(
    "federated_fdp.theorem2_strong", "federated_fdp.theorem2_strong_tight", draws=200, within=1e-8
)
def many_helpers(mu: float, clients: int) -> float:
    """The shift of m - 1 helper models that all hold the same release, by their joint covariance."""
    share = 1.0 + np.arange(clients - 1) / clients  # each is its own multiple of the release
    inverse = np.linalg.pinv(np.outer(share, share), hermitian=True)
    return math.sqrt(float(mu * share @ inverse @ (mu * share)))


@truth("federated_fdp.lemma3_7", draws=300)
def averaged(mu: float, clients: int, alpha: float) -> tuple[float, float]:
    """The test on the average of w_j and of the other clients' models, each with the same noise."""
    value = _error_two(mu / math.sqrt(clients), alpha)
    return value, value


@truth("federated_fdp.lemma3_8", draws=300, within=1e-5)
def sampled_round(mu: float, rate: float, alpha: float) -> tuple[float, float]:
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


@truth("federated_fdp.lemma3_8_tight", draws=300, within=1e-8)
def round_profile(mu: float, rate: float, epsilon: float) -> tuple[float, float] | None:
    """Quadrature of the laws of (who took part, helper model): below, hidden; above, shown."""
    cut, bar = epsilon / mu + 0.5 * mu, math.exp(min(epsilon, 700.0))
    if epsilon > 30.0 or cut - mu > 6.0:
        return None
    shown = rate * rate * _integral(lambda x: _normal(x - mu) - bar * _normal(x), cut, cut + _WIDE)
    return shown * (1.0 - 1e-9), shown * (1.0 + 1e-9)

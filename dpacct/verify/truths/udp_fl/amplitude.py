"""How large staircase, Gaussian and Laplace noise is: pieces, minima over a grid, quadrature."""

from __future__ import annotations

import math

import numpy as np

from dpacct.engine.stable import Floats
from dpacct.verify.comparison import Comparison
from dpacct.verify.truth import truth
from dpacct.verify.truths.udp_fl.staircase import divergence


def moment(lam: float, nu: float, power: int) -> float:
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


def _least(lam: float, power: int) -> tuple[float, float]:
    """(nu, moment) of the least moment over nu, by golden section on (0, 1)."""
    low, high = 0.0, 1.0
    for _ in range(60):
        one, two = low + 0.382 * (high - low), high - 0.382 * (high - low)
        if moment(lam, one, power) < moment(lam, two, power):
            high = two
        else:
            low = one
    nu = 0.5 * (low + high)
    return nu, moment(lam, nu, power)


@truth("udp_fl.lemma1", "geng2014.least_amplitude", draws=30, within=1e-8)
def least_amplitude(lam: float) -> float:
    """The least E|X| over nu, golden section over sums of pieces."""
    return _least(lam, 1)[1]


@truth("geng2014.least_variance", draws=20, within=1e-8, claimed=True)
def least_variance(nu: float, lam: float) -> Comparison:
    """E X^2 at that nu beside its least value over nu."""
    return Comparison(moment(lam, nu, 2), *(2 * [_least(lam, 2)[1]]))


def _lam(alpha: float, gamma: float, nu: float) -> float:
    low, high = 0.0, 2.0 * gamma
    while divergence(alpha, high, nu, 1.0) < gamma:
        high *= 2.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if divergence(alpha, middle, nu, 1.0) >= gamma else (middle, high)
    return high


@truth("udp_fl.optimal_nu", draws=6, within=1e-4)
def least_at_renyi(alpha: float, gamma: float) -> float:
    """The least E|X| over a grid of nu, each at the lam that makes it (alpha, gamma)-RDP."""
    grid = (0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99)
    return min(moment(_lam(alpha, gamma, nu), nu, 1) for nu in grid)


@truth("udp_fl.variance_gap")
def gap_to_laplace(epsilon: float) -> float:
    """2/epsilon^2 less the least variance over nu."""
    return 2.0 / epsilon**2 - _least(epsilon, 2)[1]


@truth("udp_fl.variance_gap_gaussian", draws=10, within=1e-6)
def gap_to_gaussian(alpha: float, gamma: float) -> float:
    """alpha/(2 gamma) less the variance of Lemma 1's staircase at the same divergence."""
    low, high = 0.0, 2.0 * gamma

    def shape(lam: float) -> float:
        return 1.0 / (1.0 + math.exp(lam / 2.0))

    while divergence(alpha, high, shape(high), 1.0) < gamma:
        high *= 2.0
    for _ in range(30):
        middle = 0.5 * (low + high)
        enough = divergence(alpha, middle, shape(middle), 1.0) >= gamma
        low, high = (low, middle) if enough else (middle, high)
    return alpha / (2.0 * gamma) - moment(high, shape(high), 2)


@truth("geng2014.amplitude", draws=200, within=1e-8)
def amplitude(lam: float, nu: float) -> float:
    """The mean of |x| of one draw, summed piece by piece."""
    return moment(lam, nu, 1)


@truth("udp_fl.theorem3", "udp_fl.theorem3_corrected", draws=200, within=1e-8)
def amplitudes(lam: float, nu: float, sensitivity: float, m: int, steps: int) -> float:
    """m T times the mean amplitude of one draw, summed piece by piece."""
    return m * steps * sensitivity * moment(lam, nu, 1)


@truth("udp_fl.theorem8", "udp_fl.theorem8_final", draws=100, within=1e-9)
def gaussian_walk(sigma: float, m: int, steps: int) -> float:
    """m times the mean absolute value of a normal of T times the variance, by mpmath's quadrature."""
    from mpmath import exp, mp, pi, quad, sqrt

    with mp.workdps(20):
        unit = float(quad(lambda x: x * exp(-x * x / 2), [0, 5, 40]) * sqrt(2 / pi))
    return m * sigma * math.sqrt(steps) * unit


@truth("udp_fl.theorem9", "udp_fl.theorem9_final", draws=40, within=1e-9)
def laplace_walk(b: float, m: int, steps: int) -> float:
    """m times E|sum of T Laplace draws| from its characteristic function, by mpmath's quadrature."""
    from mpmath import mp, pi, quad

    with mp.workdps(25):
        scale = 1.0 / math.sqrt(steps)
        points = [0, *(scale * 10.0**k for k in (-1, 0, 1, 2, 3, 4))]
        area = quad(lambda t: (1 - (1 + t * t) ** (-steps)) / t**2, points)
        tail = 1 / mp.mpf(points[-1])  # beyond, 1 - phi is 1 to far below rounding of the result
        rest = quad(lambda t: (1 + t * t) ** (-steps) / t**2, [points[-1], mp.inf])
        return float(m * b * 2 / pi * (area + tail - rest))

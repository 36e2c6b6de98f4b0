"""Truths for the statements of UDP-FL."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np

import dpacct as dp
from dpacct.papers.oracles import truths
from dpacct.papers.oracles.oracle import Comparison, Floats, oracle
from dpacct.papers.page import Ends


def _lam(alpha: float, gamma: float, shape: Callable[[float], float]) -> float:
    """The least lam at which the staircase of that shape costs gamma, by halving."""

    def less(lam: float) -> bool:
        return lam == 0.0 or divergence_staircase(alpha, lam, shape(lam), 1.0) < gamma

    high = 2.0 * gamma
    while less(high):
        high *= 2.0
    return truths.last(less, 0.0, high, 1e-9)


@oracle("optimal_nu", draws=6, within=1e-4)
def least_at_renyi(alpha: float, gamma: float) -> float:
    """The least E|X| over a grid of nu, each at the lam that makes it (alpha, gamma)-RDP."""

    def amplitude(nu: float) -> float:
        return truths.staircase_moment(_lam(alpha, gamma, lambda _: nu), nu, 1)

    return min(map(amplitude, (0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99)))


@oracle("variance_gap")
def gap_to_laplace(epsilon: float) -> float:
    """2/epsilon^2 less the least variance over nu."""
    return 2.0 / epsilon**2 - truths.least_staircase_moment(epsilon, 2)


@oracle("variance_gap_gaussian", draws=60, within=1e-6)
def gap_to_gaussian(alpha: float, gamma: float) -> float:
    """alpha/(2 gamma) less the variance of Lemma 1's staircase at the same divergence."""

    def shape(lam: float) -> float:
        return 1.0 / (1.0 + math.exp(lam / 2.0))

    lam = _lam(alpha, gamma, shape)
    return alpha / (2.0 * gamma) - truths.staircase_moment(lam, shape(lam), 2)


@oracle("table3_gaussian", draws=200, within=1e-8)
def gaussian_divergence(alpha: float, sigma: float) -> Ends | None:
    """The Renyi integral by the trapezoid rule, which is exact to rounding for such functions."""
    value = truths.normal_divergence(alpha, 1.0 / sigma)
    return value and truths.around(value)


def divergence_staircase(alpha: float, lam: float, nu: float, shift: float) -> float:
    """D_alpha of the mechanism from itself shifted; both directions are the same, by symmetry.

    Summed over the pieces on which both densities are constant.
    """
    steps = math.ceil(42.0 / lam) + 2
    if steps > 20_000:
        raise ArithmeticError("too many steps")
    whole = np.arange(steps + 1.0)
    kinks = np.concatenate([whole, whole + nu, -whole, -whole - nu])
    jumps = np.unique(np.concatenate([kinks, kinks + shift]))
    middle = 0.5 * (jumps[1:] + jumps[:-1])

    def level(x: Floats) -> Floats:
        """The log density, less that at 0."""
        below = np.floor(np.abs(x))
        return np.asarray(-lam * (below + (np.abs(x) - below >= nu)))

    base = level(middle)
    weight = np.diff(jumps) * np.exp(base)
    # P and Q exchange their roles under reflection, so the mean under P of e^{(alpha-1) L} decides;
    # divided by the mass, so that neither small losses nor orders near 1 lose their digits
    powers = (alpha - 1.0) * (base - level(middle - shift))
    top = max(0.0, float(np.max(powers)) - 600.0)
    mean = float(weight @ (np.exp(powers - top) if top else np.expm1(powers))) / weight.sum()
    return max(0.0, top + float(np.log(mean) if top else np.log1p(mean))) / (alpha - 1.0)


@oracle("theorem1", "theorem2_log", "theorem2_corrected", draws=800, within=1e-6)
def worst(alpha: float, lam: float, nu: float) -> Ends:
    """The densities integrated piece by piece, for shifts of the whole sensitivity and parts of it."""
    shifts = {1.0, 0.9, 0.5, nu, 1.0 - nu} - {0.0}
    best = max(divergence_staircase(alpha, lam, nu, shift) for shift in shifts)
    return best - 1e-15, best + 1e-15


@oracle("multidim", "multidim_corrected", draws=400, within=1e-6)
def split(alpha: float, lam: float, n: int) -> Ends:
    """n coordinates shifted by 1/n each: n times the 1-D divergence, piece by piece."""
    return truths.around((divergence_staircase(alpha, lam, 0.5, 1.0 / n), 1e-15), n)


@oracle("theorem3", "theorem3_corrected", draws=200, within=1e-8)
def amplitudes(lam: float, nu: float, sensitivity: float, m: int, steps: int) -> float:
    """m T times the mean amplitude of one draw, summed piece by piece."""
    return m * steps * sensitivity * truths.staircase_moment(lam, nu, 1)


@oracle("theorem5", "theorem5_corrected", draws=100)
def curve(smoothness: float, w: float, v: float) -> Ends:
    """The theta at which the mean of the curve less w is 1/L: Gauss-Legendre over r, one division."""
    nodes, weights = np.polynomial.legendre.leggauss(8)
    r, weight = 0.5 * (nodes + 1.0), 0.5 * weights
    ends = float(weight @ ((1.0 - r) ** 2 * v + (r**2 - 1.0) * w))
    value = (1.0 / smoothness - ends) / float(weight @ (2.0 * r * (1.0 - r)))
    room = 1e-13 * (abs(v) + abs(w) + 1.0 / smoothness)
    return value - room, value + room


@oracle("lemma2_renyi_level", draws=300, within=1e-8)
def at_renyi_level(gamma: float, clients: int) -> float | None:
    """Judge at order 2, for the randomised response whose divergence of order 2 is gamma."""
    # e^gamma = cosh(3 eps/2)/cosh(eps/2) = 2 cosh(eps) - 1
    epsilon = math.acosh(0.5 * (1.0 + math.exp(gamma)))
    return truths.shuffled_divergence(2.0, epsilon, clients)


@oracle("algorithm3_corrected", draws=200, within=1e-7, claimed=True)
def delivered(sigma: float, epsilon: float, delta: float, steps: int) -> Comparison | None:
    """Delta at that noise and epsilon, exactly, of T Gaussians."""
    if not 1e-3 < math.sqrt(steps) / sigma < 1e3:
        return None
    node = dp.Gaussian(sigma=sigma) * steps
    true = node.delta(epsilon=epsilon, method="balle_wang.theorem8").value
    return Comparison(delta, true, true)


@oracle("theorem6", draws=300, within=1e-7, claimed=True)
def delivered_noises(sigma: float, alpha: float, gamma: float, sensitivity: float) -> Comparison:
    """The divergence at that noise, by the exact engine."""
    true = float(dp.Gaussian(sigma=sigma / sensitivity).rdp(alpha))
    return Comparison(gamma, true, true)


@oracle("theorem7", "theorem7_l2", "theorem7_l2_corrected", draws=500, within=1e-8)
def laplace_divergence(alpha: float, lam: float, n: int = 1) -> Ends:
    """Integrate the divergence of n coordinates moved by lam/sqrt(n): Gauss-Laguerre and -Legendre."""
    lam /= math.sqrt(n)
    tail_x, tail_w = np.polynomial.laguerre.laggauss(6)
    unit_x, unit_w = np.polynomial.legendre.leggauss(16)
    panels = math.ceil(lam * (2.0 * alpha - 1.0) / 6.0) + 1
    if panels > 50_000:
        raise ArithmeticError("too many panels")
    edges = np.linspace(0.0, lam, panels + 1)
    half = 0.5 * (edges[1] - edges[0])
    x = (edges[:-1, None] + half * (1.0 + unit_x)).ravel()
    middle = -alpha * np.abs(x - lam) - (1.0 - alpha) * np.abs(x)
    left = -alpha * (tail_x + lam) - (1.0 - alpha) * tail_x + tail_x
    right = -alpha * tail_x - (1.0 - alpha) * (tail_x + lam) + tail_x
    logs = np.concatenate([middle, left, right])
    weights = np.concatenate([np.tile(half * unit_w, panels), tail_w, tail_w])
    top = float(np.max(logs))
    total = float(weights @ np.exp(logs - top)) / 2.0
    return truths.around(((top + math.log(total)) / (alpha - 1.0), 2e-14 / (alpha - 1.0)), n)


@oracle("lemma4", draws=50)
def gaussian_amplitude(sigma: float) -> float:
    """The mean of |x| by quadrature."""
    x = np.linspace(0.0, 12.0, 200_001)
    return sigma * 2.0 * float(np.trapezoid(x * truths.normal_density(x), x))


@oracle("lemma5", "lemma5_corrected", draws=50)
def laplace_amplitude(b: float, **_rest: float) -> float:
    """b times the mean of |x| at scale 1, by Laguerre's rule of 8 points."""
    x, weight = np.polynomial.laguerre.laggauss(8)
    return b * float(weight @ x)


@oracle("conversion", "conversion_corrected", draws=300, within=1e-7)
def composed_gaussians(alpha: float, rho: float, delta: float, steps: int) -> Ends | None:
    """Epsilon of that many Gaussians with this divergence at alpha, exactly composed: a lower bound."""
    mu = math.sqrt(2.0 * rho / alpha * steps)
    if not 1e-3 < mu < 1e3:
        return None
    node = dp.Gaussian(sigma=1.0 / mu)
    return node.epsilon(delta=delta, method="balle_wang.theorem8").value, math.inf


@oracle("theorem8", "theorem8_final", draws=100, within=1e-9)
def gaussian_walk(sigma: float, m: int, steps: int) -> float:
    """m times the mean absolute value of a normal of T times the variance, by quadrature."""
    return m * gaussian_amplitude(math.sqrt(steps) * sigma)


@cache
def _walk(steps: int) -> float:
    """E|sum of T Laplace draws| at scale 1, from its characteristic function, by mpmath's quadrature."""
    from mpmath import mp, pi, quad

    with mp.workdps(25):
        scale = 1.0 / math.sqrt(steps)
        points = [0, *(scale * 10.0**k for k in (-1, 0, 1, 2, 3, 4))]
        area = quad(lambda t: (1 - (1 + t * t) ** (-steps)) / t**2, points)
        tail = 1 / mp.mpf(points[-1])  # beyond, 1 - phi is 1 to far below rounding of the result
        rest = quad(lambda t: (1 + t * t) ** (-steps) / t**2, [points[-1], mp.inf])
        return float(2 / pi * (area + tail - rest))


@oracle("theorem9", "theorem9_final", draws=40, within=1e-9)
def laplace_walk(b: float, m: int, steps: int) -> float:
    """m b times the mean distance of T steps at scale 1."""
    return m * b * _walk(steps)

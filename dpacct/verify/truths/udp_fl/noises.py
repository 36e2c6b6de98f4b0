"""Gaussian and Laplace noise: quadrature, and exact composition of the Gaussian."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

import dpacct.mechanisms.gaussian as gaussian
from dpacct.compose import questions
from dpacct.verify.comparison import Comparison
from dpacct.verify.truth import truth


@truth("udp_fl.theorem6", draws=300, within=1e-7, claimed=True)
def delivered(sigma: float, alpha: float, gamma: float, sensitivity: float) -> Comparison:
    """The divergence at that noise, by the exact engine."""
    node = gaussian.Gaussian(sigma=sigma / sensitivity)
    true = float(questions.rdp(node, alpha))
    return Comparison(gamma, true, true)


@truth("udp_fl.table3_gaussian", draws=200, within=1e-8)
def gaussian_divergence(alpha: float, sigma: float) -> tuple[float, float]:
    """The trapezoid rule on p^alpha q^(1-alpha), which is exact to rounding for such functions."""
    shift = 1.0 / sigma
    x = np.linspace(-12.0, 12.0, 1201) + alpha * shift
    logs = -0.5 * (alpha * (x - shift) ** 2 + (1.0 - alpha) * x**2)
    top = float(np.max(logs))
    area = float(np.sum(np.exp(logs - top))) * 0.02 / math.sqrt(2.0 * math.pi)
    found, room = (top + math.log(area)) / (alpha - 1.0), 1e-14 / (alpha - 1.0)
    return found - room, found + room


def laplace_divergence(alpha: float, lam: float) -> tuple[float, float]:
    """p^alpha q^(1-alpha) integrated by Gauss's rules: Laguerre beyond the modes, Legendre between."""
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
    found, room = (top + math.log(total)) / (alpha - 1.0), 2e-14 / (alpha - 1.0)
    return found - room, found + room


@truth("udp_fl.theorem7", draws=500, within=1e-8)
def one_coordinate(alpha: float, lam: float) -> tuple[float, float]:
    """The integral of p^alpha q^(1-alpha), by Gauss's rules."""
    return laplace_divergence(alpha, lam)


@truth("udp_fl.theorem7_l2", "udp_fl.theorem7_l2_corrected", draws=500, within=1e-8)
def coordinates(alpha: float, lam: float, n: int) -> tuple[float, float]:
    """n coordinates shifted by 1/sqrt(n) each: n times the integral of one."""
    lower, upper = laplace_divergence(alpha, lam / math.sqrt(n))
    return n * lower, n * upper


@truth("udp_fl.lemma4", draws=50)
def gaussian_amplitude(sigma: float) -> float:
    """The mean of |x| by quadrature."""
    x = np.linspace(0.0, 40.0, 400_001)
    values = x * np.exp(-0.5 * x * x)
    step = float(x[1] - x[0])
    # the end correction of Euler and Maclaurin: the integrand has slope 1 at 0
    area = step * (float(np.sum(values)) - 0.5 * float(values[0])) + step * step / 12.0
    return sigma * 2.0 * area / math.sqrt(2.0 * math.pi)


@truth("udp_fl.lemma5", draws=50)
def laplace_amplitude_of(sensitivity: float, b: float) -> float:
    """The mean of |x| for scale b, by mpmath's quadrature."""
    return laplace_amplitude(b)


@truth("udp_fl.lemma5_corrected", draws=50)
def laplace_amplitude(b: float) -> float:
    """b times the mean of |x| at scale 1, by mpmath's quadrature."""
    return b * _unit_laplace()


@cache
def _unit_laplace() -> float:
    from mpmath import exp, mp, quad

    with mp.workdps(20):
        return float(quad(lambda x: x * exp(-x), [0, 10, 60]))


@truth("udp_fl.conversion", "udp_fl.conversion_corrected", draws=300, within=1e-7)
def composed_gaussians(
    alpha: float, rho: float, delta: float, steps: int
) -> tuple[float, float] | None:
    """Epsilon of that many Gaussians with this divergence at alpha, exactly composed: a lower bound."""
    mu = math.sqrt(2.0 * rho / alpha * steps)
    if not 1e-3 < mu < 1e3:
        return None
    node = gaussian.Gaussian(sigma=1.0 / mu)
    true = questions.epsilon(node, delta=delta, method="balle_wang.theorem8")
    return true.value, math.inf

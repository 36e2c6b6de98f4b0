"""Liang, Wang, Gu, Osher, Yao. Exploring Private Federated Learning with Laplacian Smoothing. 2020."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import dpacct as dp
from dpacct.papers.formulas import mironov2017, mironov2019, wang2018
from dpacct.papers.page import Ends, ends
from dpacct.plan.smallest_noise import POISSON, UNIFORM
from dpacct.pld.stable import Floats


# Proposition 1
def _risk(v: Sequence[float], sigma: float, nu: float, angles: Floats, waves: Floats) -> float:
    """The sum over a Laplacian's eigenpairs, 2 - 2 cos(angle) and waves: squared bias plus variance."""
    waves = waves / np.linalg.norm(waves, axis=1, keepdims=True)
    values = sigma * (2.0 - 2.0 * np.cos(angles))
    return float(np.sum(((values * (waves @ np.array(v))) ** 2 + nu * nu) / (1.0 + values) ** 2))


def proposition1(v: Sequence[float], sigma: float, nu: float) -> float:
    k = np.arange(len(v))  # a path, with Neumann ends: cosines, the first of them constant
    angles = np.pi * k / len(v)
    return _risk(v, sigma, nu, angles, np.cos(angles[:, None] * (k + 0.5)))


def proposition1_periodic(v: Sequence[float], sigma: float, nu: float) -> float:
    k = np.arange(len(v))  # a cycle: a sine and a cosine for each frequency
    angles = 2.0 * np.pi * k / len(v)
    waves = angles[:, None] * k
    waves = np.where(2 * k[:, None] > len(v), np.sin(waves), np.cos(waves))
    return _risk(v, sigma, nu, angles, waves)


# Section 4 and Eq. (2)
def eq2(v: Sequence[float], sigma: float) -> float:
    kernel = np.zeros(len(v))
    kernel[0], kernel[1], kernel[-1] = -2.0, 1.0, 1.0
    return float(np.fft.ifft(np.fft.fft(v) / (1.0 - sigma * np.fft.fft(kernel)))[0].real)


eq2_corrected = eq2


lemma1 = mironov2017.proposition3


def lemma2(tau: float, nu2: float, alpha: float) -> float:
    return 3.5 * tau * tau * alpha / nu2


def remark1(tau: float, nu2: float, alpha: float) -> float:
    return 5.0 * tau * tau * alpha / nu2


# Theorem 1
def eq3(epsilon: float, delta: float, tau: float, clip: float, steps: int, lam: float) -> float:
    return 2.0 * clip * math.sqrt(UNIFORM.admitted(lam, epsilon, -math.log(delta), tau, steps))


def theorem1(epsilon: float, delta: float, tau: float, clip: float, steps: int) -> float:
    return 2.0 * clip * math.sqrt(UNIFORM.best(epsilon, -math.log(delta), tau, steps))


def theorem1_least_epsilon(delta: float, tau: float, steps: int) -> float:
    return UNIFORM.least_epsilon(-math.log(delta), tau, steps)


# Proof of Theorem 1
def sensitivity(clip: float, m: int) -> float:
    return 2.0 * clip / m


def lemma3(tau: float, nu2: float, alpha: float) -> float:
    return 2.0 * tau * tau * alpha / nu2


def lemma3_integer(tau: float, nu2: float, alpha: int) -> float:
    return lemma3(tau, nu2, alpha)


def uniform(multiplier: float, tau: float, steps: int, delta: float) -> float:
    """Epsilon by Theorem 9 of Wang et al., whole orders, with rho(alpha) = alpha/(2 z^2)."""
    costs = ((a, steps * wang2018.theorem9(a, tau, multiplier)) for a in range(2, 33))
    return min(lemma1(order, cost, delta) for order, cost in costs)


# Theorem 2
def eq4(epsilon: float, delta: float, tau: float, clip: float, steps: int, lam: float) -> float:
    return 2.0 * clip * math.sqrt(POISSON.admitted(lam, epsilon, -math.log(delta), tau, steps))


def theorem2(epsilon: float, delta: float, tau: float, clip: float, steps: int) -> float:
    return 2.0 * clip * math.sqrt(POISSON.best(epsilon, -math.log(delta), tau, steps))


def theorem2_corrected(epsilon: float, delta: float, tau: float, clip: float, steps: int) -> float:
    return theorem2(epsilon, delta, tau, 0.5 * clip, steps)


# What Opacus and TensorFlow Privacy optimise over; whole orders alone miss six of the eight numbers.
_ORDERS = [1.0 + tenth / 10.0 for tenth in range(1, 100)] + [float(n) for n in range(12, 64)]


def poisson(multiplier: float, tau: float, steps: int, delta: float) -> float:
    """Epsilon by the exact Renyi divergence of the sampled Gaussian, sensitivity G."""

    def epsilon(place: int) -> float:
        order = _ORDERS[place]
        return lemma1(order, steps * mironov2019.by_quadrature(order, tau, multiplier), delta)

    low, high = 0, len(_ORDERS) - 1  # it falls, then rises: halving finds the lowest
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if epsilon(middle) < epsilon(middle + 1) else (middle + 1, high)
    return epsilon(low)


def theorem2_least_epsilon(delta: float, tau: float, steps: int) -> float:
    return POISSON.least_epsilon(-math.log(delta), tau, steps)


# Proof of Theorem 2
theorem2_proof = lemma3


def eq5(nu2: float) -> float:
    return 6.0 / nu2


# Eq. (6)-(8)
def eq8(tau: float, nu2: float, alpha: int) -> float:
    return tau * tau * alpha * (alpha - 1) / 2.0 / nu2


def eq7(tau: float, nu2: float) -> float:
    reach = 2.0 / 3.0 * nu2
    target = math.log(tau) + math.log1p(nu2)
    alpha = 1.0
    while True:  # a concave increasing function: the steps never pass the root
        height = alpha - 1.0 + reach * (math.log(alpha) + target)
        following = alpha - height / (1.0 + reach / alpha)
        if not following > alpha:
            return alpha
        alpha = following


# Appendix A
def appendix_a(alpha: int, tau: float, sigma: float) -> float:
    return wang2018.of_log_terms(wang2018.log_terms(alpha, tau, sigma), alpha)


def lemma4(alpha: float, epsilon: float, k: int) -> float:
    # cosh((alpha - 1/2) eps)/cosh(eps/2) is 1 + the first product below
    half = 0.5 * epsilon
    if alpha * epsilon < 600.0:
        product = 2.0 * math.sinh(alpha * half) * math.sinh((alpha - 1.0) * half) / math.cosh(half)
        return k * math.log1p(product) / (alpha - 1.0)
    return k * (epsilon - math.log1p(math.exp(-epsilon)) / (alpha - 1.0))


def eq14(x: float, n: int) -> float:
    return 1.0 / (1.0 - n * x)


def eq15(nu2: float) -> float:
    return 7.0 / (2.0 * nu2)


eq15_corrected = eq15


# Tables 1 to 3: noise z G on a sample of fixed size under replace-one, sensitivity 2G; and by coins, G
def _run(
    sampler: type[dp.WithoutReplacement | dp.Poisson], tau: float, z: float, n: int
) -> dp.Node:
    return sampler(tau)(dp.Gaussian(noise_multiplier=z, clip=1)) * n


def uniform_noise(nu: float, tau: float, clip: float, steps: int, delta: float) -> float:
    """Theorem 1, read for epsilon."""
    plan = _run(dp.WithoutReplacement, tau, nu / clip, steps)
    return float(plan.epsilon(delta=delta, method="dp_fed_ls.theorem1"))


def poisson_noise(nu: float, tau: float, clip: float, steps: int, delta: float) -> float:
    """Theorem 2, read for epsilon."""
    plan = _run(dp.Poisson, tau, nu / clip, steps)
    return float(plan.epsilon(delta=delta, method="dp_fed_ls.theorem2"))


def uniform_truth(
    multiplier: float, tau: float, steps: int, delta: float, method: str = "exact"
) -> Ends:
    """Both ends of the exact epsilon on samples of a fixed size, as wide as the theory is."""
    plan = _run(dp.WithoutReplacement, tau, multiplier, steps)
    return ends(plan.epsilon(delta=delta, method=method))


def poisson_truth(multiplier: float, tau: float, steps: int, delta: float) -> Ends:
    """Both ends of the exact epsilon on samples by coins."""
    return ends(_run(dp.Poisson, tau, multiplier, steps).epsilon(delta=delta, method="exact"))


def uniform_noise_truth(nu: float, clip: float, **run: Any) -> Ends:
    """Return `uniform_truth` of noise in units of the clip; few steps are bracketed, so to 1e-3."""
    return uniform_truth(nu / clip, **run, method="bracket@1e-3")


def poisson_noise_truth(nu: float, clip: float, **run: Any) -> Ends:
    """Return `poisson_truth` of noise in units of the clip."""
    return poisson_truth(nu / clip, **run)

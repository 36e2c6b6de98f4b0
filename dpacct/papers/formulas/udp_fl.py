"""Feng et al. Universally Harmonizing Differential Privacy Mechanisms for Federated Learning. 2024."""

from __future__ import annotations

import math

from dpacct.mechanisms.laws import staircase
from dpacct.papers.formulas import geng2014, girgis2021
from dpacct.pld.roots import decreasing

lemma1 = geng2014.least_amplitude


# Section 4.2 and Appendix A.4
def lam_of(alpha: float, gamma: float) -> float:
    """The lam at which the staircase with Lemma 1's nu is exactly (alpha, gamma)-RDP."""
    renyi, nu = staircase.renyi, staircase.best_nu
    return decreasing(lambda lam: (-renyi(alpha, lam, nu(lam)), math.nan), -gamma, gamma)


def optimal_nu(alpha: float, gamma: float) -> float:
    lam = lam_of(alpha, gamma)
    return staircase.mean_size(lam, staircase.best_nu(lam))


# Section 4.2
def variance_gap(epsilon: float) -> float:
    return 1.0 / 12.0 - epsilon * epsilon / 720.0


def variance_gap_gaussian(alpha: float, gamma: float) -> float:
    return variance_gap(lam_of(alpha, gamma))


# Table 3
def table3_gaussian(alpha: float, sigma: float) -> float:
    return alpha / (2.0 * sigma * sigma)


# Theorems 1 and 2
def theorem1(alpha: float, lam: float, nu: float) -> float:
    if (alpha - 1.0) * lam > 700.0:
        return math.inf
    ends = math.exp((alpha - 1.0) * lam) + math.exp(-alpha * lam)
    side = math.exp(-lam if nu < 0.5 else lam)
    factor = -math.expm1(-lam) / (2.0 * (nu + math.exp(-lam) * (1.0 - nu)))
    return 0.5 * ends + (ends * (1.0 - nu) + abs(2.0 * nu - 1.0) * side) * factor


theorem2 = theorem1


def theorem2_log(alpha: float, lam: float, nu: float) -> float:
    return math.log(theorem1(alpha, lam, nu)) / (alpha - 1.0)


theorem2_corrected = staircase.renyi


# Section 4.2
def multidim(alpha: float, lam: float, n: int) -> float:
    return staircase.renyi(alpha, lam, 0.5)


def multidim_corrected(alpha: float, lam: float, n: int) -> float:
    return n * staircase.renyi(alpha, lam, 0.5)


def theorem3(lam: float, nu: float, sensitivity: float, m: int, steps: int) -> float:
    b, square = math.exp(-lam), sensitivity * sensitivity
    inner = nu * nu * square + b * square - b * nu * nu * square + sensitivity * b
    return m * steps * inner / (1.0 - b)


def theorem3_corrected(lam: float, nu: float, sensitivity: float, m: int, steps: int) -> float:
    return m * steps * sensitivity * staircase.mean_size(lam, nu)


def theorem5(smoothness: float, w: float, v: float) -> float:
    return 1.2 / smoothness + 1.1 * w - 0.1 * v


def theorem5_corrected(smoothness: float, w: float, v: float) -> float:
    return 3.0 / smoothness + 2.0 * w - v


lemma2 = lemma2_corrected = girgis2021.upper


def lemma2_renyi_level(gamma: float, clients: int) -> float:
    return girgis2021.upper(2, gamma, clients)


lemma3 = girgis2021.lower


def algorithm3_corrected(epsilon: float, delta: float, steps: int) -> float:
    log_inverse = -math.log(delta)
    # sqrt(L + eps) - sqrt(L), without cancelling
    root = epsilon / (math.sqrt(log_inverse + epsilon) + math.sqrt(log_inverse))
    return math.sqrt(0.5 * steps) / root


def theorem6(alpha: float, gamma: float, sensitivity: float) -> float:
    return sensitivity * math.sqrt(alpha / (2.0 * gamma))


def theorem7(alpha: float, lam: float) -> float:
    s = alpha - 1.0
    # the weights add up to 1, so small lam keeps its digits
    up, down = alpha / (2.0 * alpha - 1.0), s / (2.0 * alpha - 1.0)
    if s * lam > 30.0:
        return lam + (math.log(up) + math.log1p(down / up * math.exp(-(s + alpha) * lam))) / s
    return math.log1p(up * math.expm1(s * lam) + down * math.expm1(-alpha * lam)) / s


def theorem7_l2(alpha: float, lam: float, n: int) -> float:
    return theorem7(alpha, lam)


def theorem7_l2_corrected(alpha: float, lam: float, n: int) -> float:
    return theorem7(alpha, lam * math.sqrt(n))


def lemma4(sigma: float) -> float:
    return 2.0 * sigma / math.sqrt(2.0 * math.pi)


def lemma5(sensitivity: float, b: float) -> float:
    return sensitivity / b


def lemma5_corrected(b: float) -> float:
    return b


# Section 4.1
def conversion(alpha: float, rho: float, delta: float, steps: int) -> float:
    return rho - math.log(delta) / (alpha - 1.0)


def conversion_corrected(alpha: float, rho: float, delta: float, steps: int) -> float:
    return steps * rho - math.log(delta) / (alpha - 1.0)


def theorem8(sigma: float, m: int, steps: int) -> float:
    return math.sqrt(2.0 / math.pi) * m * sigma * steps


def theorem8_final(sigma: float, m: int, steps: int) -> float:
    return m * sigma * math.sqrt(2.0 * steps / math.pi)


def theorem9(b: float, m: int, steps: int) -> float:
    return steps * m * b


def theorem9_final(b: float, m: int, steps: int) -> float:
    return 2.0 * m * b * steps * (math.comb(2 * steps, steps) / (1 << (2 * steps)))

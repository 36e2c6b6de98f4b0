"""Truths for the statements of DP-Fed-LS."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import dpacct as dp
from dpacct.papers.oracles import truths
from dpacct.papers.oracles.oracle import Comparison, Floats, oracle
from dpacct.papers.page import Ends


def _matrix(ends: str, sigma: float, d: int) -> Floats:
    """I + sigma L, entry by entry, for Dirichlet, Neumann or periodic ends."""
    laplacian = np.zeros((d, d))
    for i in range(d):
        for j in (i - 1, i + 1):
            inside = 0 <= j < d
            if inside or ends == "periodic":
                laplacian[i, j % d] -= 1.0
            laplacian[i, i] += 1.0 if inside or ends != "neumann" else 0.0
    return np.asarray(np.eye(d) + sigma * laplacian)


def _risk(ends: str, sigma: float, nu: float, v: Sequence[float]) -> float:
    """||(A^-1 - I) v||^2 + nu^2 trace(A^-2), dense."""
    inverse = np.linalg.inv(_matrix(ends, sigma, len(v)))
    bias = inverse @ v - v
    return float(bias @ bias + nu * nu * np.sum(inverse * inverse))


@oracle("proposition1", draws=200, within=1e-6)
def neumann_risk(v: Sequence[float], sigma: float, nu: float) -> float:
    """The risk by dense matrices, for a path."""
    return _risk("neumann", sigma, nu, v)


@oracle("proposition1_periodic", draws=200, within=1e-6)
def periodic_risk(v: Sequence[float], sigma: float, nu: float) -> float:
    """The risk by dense matrices, for a cycle."""
    return _risk("periodic", sigma, nu, v)


@oracle("eq2", draws=200)
def dirichlet(v: Sequence[float], sigma: float) -> float:
    """The text's tridiagonal matrix, solved."""
    return float(np.linalg.solve(_matrix("dirichlet", sigma, len(v)), v)[0])


@oracle("eq2_corrected", draws=200, within=1e-7)
def periodic_ends(v: Sequence[float], sigma: float) -> Ends:
    """The cycle's matrix, solved; the first entry may cancel, so it has the error of the vector."""
    solution = float(np.linalg.solve(_matrix("periodic", sigma, len(v)), v)[0])
    room = 1e-13 * max(abs(x) for x in v)
    return solution - room, solution + room


@oracle("remark1", draws=500, within=1e-7)
@oracle("lemma2", draws=5000, within=1e-7)
def of_a_fixed_size(tau: float, nu2: float, alpha: float) -> float | None:
    """Renyi divergence of the dominating pair C_tau under replace-one, by the exact engine."""
    return truths.by_fixed_size(alpha, tau, math.sqrt(nu2))


def _delivered(node: dp.Node, steps: int, epsilon: float, delta: float) -> Comparison:
    """Delta by Renyi moments, which bound it from above; where that is above the target, exactly."""
    true = (node * steps).delta(epsilon=epsilon, method="rdp").value
    if true > delta:
        true = (node * steps).delta(epsilon=epsilon, method="exact").value
    return Comparison(delta, true, true)


@oracle("eq3", "theorem1", draws=300, within=1e-6, claimed=True)
def uniform_guarantee(
    nu: float, tau: float, clip: float, lam: float = 0.0, **run: Any
) -> Comparison:
    """Delta at that noise and epsilon under replace-one: C_tau at sigma = nu/(2G), composed."""
    step = dp.WithoutReplacement(tau)(dp.Gaussian(sigma=nu / (2.0 * clip)))
    return _delivered(step, **run)


@oracle("theorem2_corrected", draws=150, within=1e-6, claimed=True)
@oracle("eq4", "theorem2", draws=60, within=1e-6, claimed=True)
def sampled(nu: float, tau: float, clip: float, lam: float = 0.0, **run: Any) -> Comparison:
    """Delta at that noise and epsilon: Poisson sampling at sigma = nu/G, composed as above."""
    return _delivered(dp.Poisson(tau)(dp.Gaussian(sigma=nu / clip)), **run)


def _least_epsilon(constant: float, least: float, delta: float, tau: float, steps: int) -> float:
    """Halving epsilon over a fine grid of lambda on which every condition is tried."""
    share = np.geomspace(1e-7, 0.5, 20_000)
    lam = np.concatenate([share, 1.0 - share[::-1]])

    def missing(epsilon: float) -> bool:
        where = lam
        for _ in range(2):  # then more of them near the best
            order = 1.0 - np.log(delta) / ((1.0 - where) * epsilon)
            x = constant * tau**2 * steps * order / (where * epsilon)
            with np.errstate(over="ignore"):
                room = 2.0 * x / 3.0 * -np.log(tau * order * (1.0 + x)) - order + 1.0
            room[x < least] = -np.inf
            at = int(np.argmax(room))
            if room[at] >= 0.0:
                return False
            near = where[at] * np.geomspace(0.998, 1.0 / 0.998, 20_001)
            where = near[near < 1.0]
        return True

    high = 1.0
    while missing(high):
        high *= 2.0
    return truths.last(missing, 0.0, high, 1e-9)


@oracle("theorem1_least_epsilon", draws=12, within=1e-6)
def least_uniform(delta: float, tau: float, steps: int) -> float | None:
    """Theorem 1's conditions tried on 40 000 lambdas, epsilon halved."""
    return _least_epsilon(3.5, 0.67, delta, tau, steps) if tau < 0.5 else None


@oracle("sensitivity", draws=200)
def exchanged(clip: float, m: int) -> float:
    """Two opposite updates, clipped as Algorithm 1 does, and the means they lead to."""
    first, second = (v / max(1.0, abs(v) / clip) for v in (9.0 * clip, -9.0 * clip))
    return (first - second) / m


@oracle("theorem2_least_epsilon", draws=12, within=1e-6)
def least_sampled(delta: float, tau: float, steps: int) -> float | None:
    """Theorem 2's conditions tried on 40 000 lambdas, epsilon halved."""
    return _least_epsilon(2.0, 0.53, delta, tau, steps) if tau < 0.5 else None


@oracle("theorem2_proof", draws=4000, within=1e-7)
@oracle("lemma3", "lemma3_integer", draws=5000, within=1e-7)
def of_coins(tau: float, nu2: float, alpha: float) -> float | None:
    """Renyi divergence of the Poisson-sampled Gaussian, the worse direction, by the exact engine."""
    return truths.by_coins(alpha, tau, math.sqrt(nu2))


@oracle("eq5", draws=300)
def left_of_eq5(nu2: float) -> float:
    """The left side."""
    x = 1.0 / nu2
    return min(4.0 * math.expm1(x), 2.0 * math.exp(x))


@oracle("eq8", draws=2000)
def left_of_eq8(tau: float, nu2: float, alpha: int) -> float | None:
    """The sum, term by term, 30 digits; long sums are left out."""
    from mpmath import binomial, exp, fsum, mp, mpf

    if alpha > 300:
        return None
    with mp.workdps(30):
        t, v = mpf(tau), mpf(nu2)
        terms = (
            binomial(alpha, j) * exp(j * (j - 1) / (2 * v)) * t**j for j in range(3, alpha + 1)
        )
        return float(2 * fsum(terms))


@oracle("eq7", draws=300)
def largest_order(tau: float, nu2: float) -> float:
    """The root of the condition by mpmath's Lambert W, 50 digits."""
    from mpmath import exp, lambertw, log, mp, mpf

    with mp.workdps(50):
        # a/c + ln(a/c) = 1/c - ln(tau (1 + nu2)) - ln c, hence a/c = W(e^{right side})
        c = mpf(nu2) * 2 / 3
        right = 1 / c - log(mpf(tau) * (1 + mpf(nu2))) - log(c)
        w = lambertw(exp(right)).real
        return float(c * w)


@oracle("lemma4", draws=300)
def composed(alpha: float, epsilon: float, k: int) -> float:
    """The divergence of k answers, summed over their 2^k outcomes by how many are true."""
    from mpmath import binomial, exp, fsum, log, mp, mpf

    with mp.workdps(40):
        a, p = mpf(alpha), 1 / (1 + exp(-mpf(epsilon)))
        terms = [
            binomial(k, j)
            * (p**j * (1 - p) ** (k - j)) ** a
            * ((1 - p) ** j * p ** (k - j)) ** (1 - a)
            for j in range(k + 1)
        ]
        return float(log(fsum(terms)) / (a - 1))


@oracle("eq14", draws=300)
def left_of_eq14(x: float, n: int) -> float:
    """(1 + x)^n."""
    return float((1.0 + x) ** n)


@oracle("eq15", draws=300)
def left_of_eq15(nu2: float) -> float:
    """e^{1/nu^2}."""
    return math.exp(1.0 / nu2)


@oracle("eq15_corrected", draws=300)
def left_of_eq15_corrected(nu2: float) -> float:
    """e^{1/nu^2} - 1."""
    return math.expm1(1.0 / nu2)

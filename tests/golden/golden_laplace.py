"""Laplace steps of the golden oracle: three methods, none of which needs the others.

Base loss l in [-lam, lam], lam = 1/b: under N0 an atom 1/2 at -lam, an atom e^{-lam}/2 at lam and
the density e^{-(l+lam)/2}/4 between; sampled, r = 1-q+q e^l, loss log r (remove), -log r (add).

 * `plain_by_residues`: q = 1, any T, exact.
   M(s) = e^{lam s} (s+1)/(2s+1) + e^{-lam(s+1)} s/(2s+1), so M^T is a
   finite sum of exponentials times rational
   functions: close each to its side.
 * `two_steps`: T = 2, any q: E[delta_1(eps - L)] in real space, mpmath quadrature.
 * `LaplaceStep`: for Plan, when T is so large that the atoms' share of M^T is dead.
"""

import math
from itertools import pairwise

import numpy as np
from flint import acb, arb, arb_poly
from mpmath import mp, mpf

from tests.golden.golden_closed import sampled_laplace
from tests.golden.golden_contour import gauss_legendre
from tests.golden.golden_nodes import LEVEL, ExpSum


class LaplaceStep:
    """Poisson-sampled Laplace step; b and q are exact decimal strings.

    The density's part is integrated along -lam -> -lam + i eta -> lam + i eta -> lam, where r^{it}
    decays; the panels shrink towards the two end points.
    """

    bend = 0
    edge = -math.inf
    spike = 0.0

    def __init__(self, b: str, q: str, direction: str) -> None:
        self.lam_b, self.q_b = 1 / arb(b), arb(q)
        self.lam, self.q = 1 / float(b), float(q)
        self.remove = direction == "remove"

    def cumulants(self, c: float) -> tuple[float, float, float]:
        x, w = np.polynomial.legendre.leggauss(60)
        ell = np.concatenate([self.lam * x, [-self.lam, self.lam]])
        w0 = np.concatenate(
            [self.lam * w * np.exp(-(self.lam * x + self.lam) / 2) / 4,
             [0.5, math.exp(-self.lam) / 2]]
        )  # fmt: skip
        loss = np.log1p(self.q * np.expm1(ell))
        if self.remove:
            w0 = w0 * np.exp(loss)
        else:
            loss = -loss
        m = 1 + float((w0 * np.expm1(c * loss)).sum())
        e = w0 * np.exp(c * loss)
        m1 = float((e * loss).sum()) / m
        return math.log(m), m1, float((e * (loss - m1) ** 2).sum()) / m

    def nodes(self, c: float, variant: int) -> ExpSum:
        lam, eta = self.lam_b, (1.2, 1.0)[variant]
        rule = gauss_legendre(int((40, 46)[variant] * LEVEL.factor))
        rise = [0.0] + [eta * 2.0 ** (j - 8) for j in range(9)]
        legs = [(acb(-lam, x), acb(-lam, y)) for x, y in pairwise(rise)]
        legs += [(acb(lam, y), acb(lam, x)) for x, y in pairwise(rise)]
        flat = max(1, math.ceil(2 * self.lam))
        legs += [
            (acb(-lam + 2 * lam * j / flat, eta), acb(-lam + 2 * lam * (j + 1) / flat, eta))
            for j in range(flat)
        ]
        pairs = [(acb(1) / 2, -acb(lam)), ((-acb(lam)).exp() / 2, acb(lam))]
        for lo, hi in legs:
            for x, w in rule:
                ell = lo + (hi - lo) * x
                pairs.append(((hi - lo) * w * (-(ell + lam) / 2).exp() / 4, ell))
        w_b, ell_b = [], []
        for weight, ell in pairs:
            loss = (self.q_b * ell.expm1()).log1p()
            if self.remove:
                w_b.append(weight * loss.exp())
                ell_b.append(loss)
            else:
                w_b.append(weight.conjugate())
                ell_b.append(-(loss.conjugate()))
        return ExpSum(
            w_b, ell_b, np.ones(len(w_b), bool),
            np.array([float(abs(x).log().mid()) for x in w_b]),
            np.array([float(x.real.mid()) for x in ell_b]),
            np.array([float(x.imag.mid()) for x in ell_b]), 0.5,
        )  # fmt: skip


def two_steps(b: str, q: str, eps: str, direction: str) -> mpf:
    """T = 2 in real space: the law of the first loss against the closed form of the second."""
    lam, p, e = 1 / mpf(b), mpf(q), mpf(eps)
    sign = 1 if direction == "remove" else -1

    def inner(ell: mpf) -> mpf:
        r = 1 - p + p * mp.exp(ell)
        weight = r if direction == "remove" else mpf(1)
        return weight * sampled_laplace(b, q, e - sign * mp.log(r), direction)

    kinks = [-lam, lam]
    for end in (-lam, lam):  # where the second step reaches an end of its range
        x = (mp.exp(sign * e) / (1 - p + p * mp.exp(end)) - 1 + p) / p
        if x > 0 and -lam < mp.log(x) < lam:
            kinks.append(mp.log(x))
    body = mp.quad(lambda t: mp.exp(-(t + lam) / 2) / 4 * inner(t), sorted(kinks))
    return inner(-lam) / 2 + mp.exp(-lam) / 2 * inner(lam) + body


def plain_by_residues(b: str, steps: int, eps: str) -> arb:
    """q = 1, no contour at all: residues at 0, -1 and -1/2 (order T) of every lattice term.

    M = e^{lam s} (s+1)/(2s+1) + e^{-lam(s+1)} s/(2s+1); lattice points 2k - T above eps/lam are
    closed to the left, where the poles are, the others to the right, where there is none.
    """
    lam, e = 1 / arb(b), arb(eps)
    total = arb(0)
    binom = arb(1)
    for k in range(steps + 1):
        x = lam * (2 * k - steps) - e  # exponent of e^{s x}
        if x > 0:
            # term: binom e^{-lam (T-k)} (s+1)^{k-1} s^{T-k-1} (2s+1)^{-T} e^{sx}
            front = binom * (-lam * (steps - k)).exp()
            total += front * _residues(k - 1, steps - k - 1, steps, x)
        binom = binom * (steps - k) / (k + 1)
    return total


def _residues(p: int, m: int, n: int, x: arb) -> arb:
    """Sum of the residues of (s+1)^p s^m (2s+1)^{-n} e^{sx}, p, m >= -1."""
    total = arb(0)
    if m == -1:
        total += arb(1)
    if p == -1:
        total += (arb(-1)) ** m * (arb(-1)) ** n * (-x).exp()
    # at s = -1/2 + u: coefficient of u^{n-1} in (1/2+u)^p (u-1/2)^m e^{xu} e^{-x/2} 2^{-n}
    half = arb(1) / 2
    ex = [arb(1)]
    for j in range(1, n):
        ex.append(ex[-1] * x / j)
    fg = arb_poly(_power(half, p, n)) * arb_poly(_power(-half, m, n))
    coeff = sum((fg[j] * ex[n - 1 - j] for j in range(n)), arb(0))
    return total + coeff * (-x / 2).exp() / arb(2) ** n


def _power(base: arb, p: int, n: int) -> list[arb]:
    """Coefficients of (base + u)^p up to u^{n-1}, p >= -1."""
    out = [base**p]
    for j in range(1, n):
        out.append(out[-1] * (p - j + 1) / j / base)
    return out

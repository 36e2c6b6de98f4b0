"""Sampling without replacement, replace-one: the pair C_p(G_mu) of Dong-Roth-Su, mu = 1/sigma.

Re-derived: the trade-off curve of p N(mu,1) + (1-p) N(0,1) against N(0,1) is followed while its
slope is steeper than -1, i.e. for thresholds x > mu/2; its mirror image is the other end; the chord
of slope -1 between them is an atom of mass (1-p)(1 - 2 Phi(-mu/2)) at L = 0.  With
r = 1-p+p e^z, z = mu (x - mu/2) >= 0 and phi the N(0,1) density of x(z) = z/mu + mu/2,

    M(s) = atom + (1/mu) int_0^inf phi(x(z)) (r^{s+1} + r^{-s}) dz.

For Im s > 0 the first integral is moved to a path that leaves 0 at 45 degrees and then runs at
Im z = eta, the second to its conjugate; panels shrink geometrically towards the end point 0.
"""

import math

import numpy as np
from flint import acb, arb

from tests.golden.golden_contour import gauss_legendre
from tests.golden.golden_nodes import LEVEL, ExpSum, softplus

ORDER = 40
_X16, _W16 = np.polynomial.legendre.leggauss(16)


def normal_cdf(x: arb) -> arb:
    return (-x / arb(2).sqrt()).erfc() / 2


class FixedSizeGaussian:
    """C_p(G_{1/sigma}); sigma and p are exact decimal strings, 0 < p < 1."""

    bend = 1
    edge = -math.inf  # losses of both signs
    spike = 0.0

    def __init__(self, sigma: str, p: str) -> None:
        self.mu_b, self.p_b = 1 / arb(sigma), arb(p)
        self.mu, self.p = 1 / float(sigma), float(p)
        self.atom_b = (1 - self.p_b) * (1 - 2 * normal_cdf(-self.mu_b / 2))
        self.reach = 1e4

    def prepare(self, c: float, eps: float) -> None:
        """Set the largest |s| that the panels next to the end point must resolve."""
        eta = min(math.pi / 2, 12 * self.mu)
        self.reach = 4 * (600 / max(eps, 1e-12) + 150 / eta + 3 * c)

    def _loss(self, z: np.ndarray) -> np.ndarray:
        y = z + math.log(self.p / (1 - self.p))
        return math.log1p(-self.p) + softplus(y.astype(complex))

    def cumulants(self, c: float) -> tuple[float, float, float]:
        mu = self.mu
        top = abs(c + 1) * mu * mu + 26 * mu
        n = int(top / min(0.3, 0.5 * mu)) + 1
        edges = np.linspace(0, top, n + 1)
        h = top / n
        z = (edges[:-1, None] + h * (1 + _X16) / 2).ravel()
        w = np.tile(h * _W16 / 2, n)
        loss = self._loss(z).real
        log_w = np.log(w / mu / math.sqrt(2 * math.pi)) - (z / mu + mu / 2) ** 2 / 2
        a1, a2 = log_w + (c + 1) * loss, log_w - c * loss
        big = max(float(a1.max()), float(a2.max()), 0.0)
        e0 = float(self.atom_b) * math.exp(-big)
        e1, e2 = np.exp(a1 - big), np.exp(a2 - big)
        total = e0 + float(e1.sum() + e2.sum())
        m1 = float((e1 * loss).sum() - (e2 * loss).sum()) / total
        m2 = float((e1 * loss**2).sum() + (e2 * loss**2).sum()) / total - m1**2
        k = big + math.log(total)
        if abs(k) < 0.5 and big == 0.0:
            w0 = np.exp(log_w)
            x = np.clip(c * loss, -600.0, 600.0)  # beyond, the weight has underflown
            k = math.log1p(float((w0 * (np.exp(loss) * np.expm1(x) + np.expm1(-x))).sum()))
        return k, m1, m2

    def nodes(self, c: float, variant: int) -> ExpSum:
        mu = self.mu
        eta = min(math.pi / 2, (12.0 if variant == 0 else 10.0) * mu) * (1.0, 0.85)[variant]
        width = min(1.0, 1.6 * mu) * (1.0, 0.87)[variant]
        k_c = self.cumulants(c)[0]
        pieces: list[tuple[complex, complex]] = []  # start, end (exact floats)
        rho = min(8 / (self.p * self.reach), width) * (1.0, 0.8)[variant]
        a = 0.0
        b = rho
        while a < eta:  # along the diagonal
            b = min(b, eta)
            pieces.append((complex(a, a), complex(b, b)))
            a, b = b, b + min(width, 0.5 * b)
        z = eta
        stop = eta + abs(c + 1) * mu * mu + 26 * mu
        while z < stop:
            pieces.append((complex(z, eta), complex(z + width, eta)))
            z += width
        w_b: list[acb] = [acb(self.atom_b)]
        ell_b: list[acb] = [acb(0)]
        re_z: list[float] = [0.0]
        rule = gauss_legendre(int(ORDER * LEVEL.factor))
        log_front = (self.mu_b * (2 * arb.pi()).sqrt()).log()
        for lo, hi in pieces:
            mid = np.array([(lo + hi) / 2])
            x_mid = mid / mu + mu / 2
            size = float((-(x_mid**2) / 2).real[0])
            loss_mid = float(self._loss(mid).real[0])
            slack = 3 + 2 * abs(hi - lo) / mu * abs(x_mid[0]) + 2 * abs(c + 1) * abs(hi - lo)
            if size + max((c + 1) * loss_mid, 0.0) + slack < k_c - LEVEL.keep:
                continue
            start, span = acb(lo.real, lo.imag), acb(hi.real, hi.imag) - acb(lo.real, lo.imag)
            for t, gw in rule:
                zz = start + span * t
                x = zz / self.mu_b + self.mu_b / 2
                loss = (self.p_b * zz.expm1()).log1p()
                g = (-(x * x) / 2 - log_front).exp() * span * gw
                w_b += [g * loss.exp(), g.conjugate()]
                ell_b += [loss, -(loss.conjugate())]
                re_z += [float(zz.real.mid())] * 2
        re = np.array([float(x.real.mid()) for x in ell_b])
        im = np.array([float(x.imag.mid()) for x in ell_b])
        log_w = np.array([float(abs(x).log().mid()) for x in w_b])
        keep = log_w + c * re > k_c - LEVEL.keep
        keep[0] = True
        v0 = max(math.log((1 - self.p) / self.p), 0.0) + 3.0 if eta > 1 else 30 * mu
        near = np.array(re_z) <= v0
        ratio = np.where(np.abs(re) > 1e-300, im / np.maximum(np.abs(re), 1e-300), np.inf)
        slope = 0.9 * min(1.0, float(np.min(ratio[near & keep])))
        idx = np.nonzero(keep)[0]
        return ExpSum(
            [w_b[i] for i in idx], [ell_b[i] for i in idx], near[idx],
            log_w[idx], re[idx], im[idx], slope,
        )  # fmt: skip

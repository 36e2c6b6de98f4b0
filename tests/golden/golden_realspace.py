"""Two steps in real space: no moment function and no inversion, so a truly independent check.

    delta_2(eps) = E[delta_1(eps - L)],    L the loss of the first step under its P,

with delta_1 the closed form of one step at any real eps (golden_closed.py).
"""

from __future__ import annotations

from itertools import pairwise

from golden_closed import sampled_gaussian
from golden_mpmath import legendre_rule
from mpmath import mp, mpf


def _density(x: mpf, sigma: mpf) -> mpf:
    return mp.exp(-((x / sigma) ** 2) / 2) / (sigma * mp.sqrt(2 * mp.pi))


def two_steps(sigma: str, q: str, eps: str, direction: str, dps: int = 34) -> mpf:
    """delta of two Poisson-sampled Gaussian steps, by graded Gauss-Legendre panels in x."""
    with mp.workdps(dps):
        s, p, e = mpf(sigma), mpf(q), mpf(eps)
        remove = direction == "remove"

        def integrand(x: mpf) -> mpf:
            r = 1 - p + p * mp.exp((2 * x - 1) / (2 * s * s))
            weight = _density(x, s) * (r if remove else 1)
            loss = mp.log(r) if remove else -mp.log(r)
            return weight * sampled_gaussian(sigma, q, e - loss, direction)

        # from where P has no mass that matters to where a single step makes all of eps, and 22 sigma
        lo, hi = -22 * s, e * s * s + 22 * s + 1
        cuts = {lo + (hi - lo) * k / 70 for k in range(71)}
        # graded towards the point where the second step's loss leaves its range: there delta_1 is
        # smooth but not analytic
        r = mp.exp(e if remove else -e) / (1 - p)
        if r > 1 - p:
            kink = s * s * mp.log((r - 1 + p) / p) + mpf(1) / 2
            cuts |= {kink + side * s * s / 2**k for k in range(-1, 60) for side in (-1, 1)}
            cuts.add(kink)
        rule = legendre_rule(30)
        edges = sorted(c for c in cuts if lo <= c <= hi)
        return mp.fsum(
            (b - a) * w * integrand(a + (b - a) * x) for a, b in pairwise(edges) for x, w in rule
        )


def two_steps_fixed_size(sigma: str, p_text: str, eps: str, dps: int = 34) -> mpf:
    """delta of two steps of C_p(G_{1/sigma}) at eps >= 0: both branches and the atom at L = 0."""
    with mp.workdps(dps):
        mu, p, e = 1 / mpf(sigma), mpf(p_text), mpf(eps)

        def one(x: mpf) -> mpf:
            if x >= 0:
                return sampled_gaussian(sigma, p_text, x, "remove")
            # C_p is symmetric: H(e^x) = 1 - e^x + e^x H(e^-x)
            return -mp.expm1(x) + mp.exp(x) * sampled_gaussian(sigma, p_text, -x, "remove")

        def integrand(x: mpf) -> mpf:
            loss = mp.log(1 + p * mp.expm1(mu * x - mu * mu / 2))
            return _density(x, mpf(1)) * (mp.exp(loss) * one(e - loss) + one(e + loss))

        kink = (mp.log((mp.exp(e) - 1 + p) / p) + mu * mu / 2) / mu
        cuts = {mu / 2, mu / 2 + 2, mu / 2 + 5, kink, kink + 2, kink + 8, kink + 22}
        return mp.quad(integrand, sorted(cuts)) + (1 - p) * mp.erf(mu / 2 / mp.sqrt(2)) * one(e)

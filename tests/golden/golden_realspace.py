"""Two steps in real space: no moment function and no inversion, so a truly independent check.

    delta_2(eps) = E[delta_1(eps - L)],    L the loss of the first step under its P,

with delta_1 the closed form of one step at any real eps (golden_closed.py).
"""

from collections.abc import Callable
from itertools import pairwise

from mpmath import mp, mpf

from tests.golden.golden_closed import sampled_gaussian
from tests.golden.golden_mpmath import legendre_rule


def _density(x: mpf, sigma: mpf) -> mpf:
    return mp.exp(-((x / sigma) ** 2) / 2) / (sigma * mp.sqrt(2 * mp.pi))


def _graded(integrand: Callable[[mpf], mpf], lo: mpf, hi: mpf, kinks: list[mpf], unit: mpf) -> mpf:
    """By Gauss-Legendre panels that shrink towards the kinks: there delta_1 is smooth but not analytic."""
    cuts = {lo + (hi - lo) * k / 70 for k in range(71)}
    for kink in kinks:
        cuts |= {kink, *(kink + side * unit / 2**k for k in range(-1, 60) for side in (-1, 1))}
    edges = sorted(c for c in cuts if lo <= c <= hi)
    rule = legendre_rule(30)
    return mp.fsum(
        (b - a) * w * integrand(a + (b - a) * x) for a, b in pairwise(edges) for x, w in rule
    )


def two_steps(sigma: str, q: str, eps: str, direction: str, dps: int = 34) -> mpf:
    """delta of two Poisson-sampled Gaussian steps."""
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
        # where the second step's loss leaves its range
        r = mp.exp(e if remove else -e) / (1 - p)
        kinks = [s * s * mp.log((r - 1 + p) / p) + mpf(1) / 2] if r > 1 - p else []
        return _graded(integrand, lo, hi, kinks, s * s)


def two_steps_fixed_size(sigma: str, p_text: str, eps: str, dps: int = 34) -> mpf:
    """delta of two steps of C_p(G_{1/sigma}) at eps >= 0: both branches and the atom at L = 0."""
    with mp.workdps(dps):
        mu, p, e = 1 / mpf(sigma), mpf(p_text), mpf(eps)

        def profile_once(x: mpf) -> mpf:
            if x >= 0:
                return sampled_gaussian(sigma, p_text, x, "remove")
            # C_p is symmetric: H(e^x) = 1 - e^x + e^x H(e^-x)
            return -mp.expm1(x) + mp.exp(x) * sampled_gaussian(sigma, p_text, -x, "remove")

        def integrand(x: mpf) -> mpf:
            loss = mp.log(1 + p * mp.expm1(mu * x - mu * mu / 2))
            return _density(x, mpf(1)) * (
                mp.exp(loss) * profile_once(e - loss) + profile_once(e + loss)
            )

        def place(loss: mpf) -> mpf:
            return mp.log1p(mp.expm1(loss) / p) / mu + mu / 2

        kinks = [place(e), place(e - mp.log1p(-p))]
        both = _graded(integrand, mu / 2, kinks[-1] + 22, kinks, mpf(1))
        return both + (1 - p) * mp.erf(mu / 2 / mp.sqrt(2)) * profile_once(e)

"""Closed forms of the golden oracle in mpmath: one step, plain Gaussians, randomised response.

All arguments are decimal strings; results are mpf at the working precision of `mp`.
"""

from collections.abc import Callable

from mpmath import mp, mpf

DIGITS = 90
"""Of `mp` in the programs that make tables."""


def upper_tail(x: mpf) -> mpf:
    """P(N(0,1) > x), to full relative accuracy."""
    return mp.erfc(x / mp.sqrt(2)) / 2


def gaussian(mu: mpf, eps: mpf) -> mpf:
    """delta of N(mu,1) against N(0,1): Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu)."""
    return upper_tail(eps / mu - mu / 2) - mp.exp(eps) * upper_tail(eps / mu + mu / 2)


def sampled_gaussian(sigma: str, q: str, eps: mpf, direction: str) -> mpf:
    """One Poisson-sampled Gaussian step, either direction, any real eps."""
    s, p = mpf(sigma), mpf(q)
    if direction == "remove":
        if mp.exp(eps) <= 1 - p:
            return 1 - mp.exp(eps)
        # r(x) = e^eps at x0; P = mixture
        x0 = s * s * mp.log((mp.exp(eps) - 1 + p) / p) + mpf(1) / 2
        a, b = upper_tail(x0 / s), upper_tail((x0 - 1) / s)
        return p * b - (mp.expm1(eps) + p) * a
    if mp.exp(-eps) <= 1 - p:
        return mpf(0)
    x1 = s * s * mp.log((mp.exp(-eps) - 1 + p) / p) + mpf(1) / 2
    a, b = upper_tail(-x1 / s), upper_tail(-(x1 - 1) / s)
    return (1 - mp.exp(eps) * (1 - p)) * a - mp.exp(eps) * p * b


def fixed_size_gaussian(sigma: str, p: str, eps: mpf) -> mpf:
    """One step of C_p(G_{1/sigma}), eps >= 0: the branch of positive losses only."""
    return sampled_gaussian(sigma, p, eps, "remove")


def sampled_laplace(b: str, q: str, eps: mpf, direction: str) -> mpf:
    """One Poisson-sampled Laplace step (q = 1: plain), any real eps; losses in [L-, L+].

    Base loss l in [-lam, lam], lam = 1/b: under N0 an atom 1/2 at -lam, an atom e^{-lam}/2 at lam
    and the density e^{-(l+lam)/2}/4 between; dP/dQ = 1-q+q e^l.
    """
    lam, p = 1 / mpf(b), mpf(q)
    e = mp.exp(eps)

    def below(x: mpf) -> tuple[mpf, mpf]:
        """(N0, N1) mass of {l < x}, for -lam < x <= lam."""
        n0 = mpf(1) / 2 + (1 - mp.exp(-(x + lam) / 2)) / 2
        n1 = mp.exp(-lam) / 2 + (mp.exp((x - lam) / 2) - mp.exp(-lam)) / 2
        return n0, n1

    if direction == "remove":  # P = (1-p) N0 + p N1 on {1-p+p e^l > e^eps}
        r = (e - 1 + p) / p
        if r <= mp.exp(-lam):
            return 1 - e
        if r >= mp.exp(lam):
            return mpf(0)
        n0, n1 = below(mp.log(r))
        return (1 - p) * (1 - n0) + p * (1 - n1) - e * (1 - n0)
    r = (1 / e - 1 + p) / p
    if r <= mp.exp(-lam):
        return mpf(0)
    if r >= mp.exp(lam):
        return 1 - e
    n0, n1 = below(mp.log(r))
    return n0 - e * ((1 - p) * n0 + p * n1)


def randomised_response(eps0: str, steps: int, eps: mpf) -> mpf:
    """Exact binomial sum for `steps` copies of the pure-DP pair of eps0."""
    e0 = mpf(eps0)
    p = 1 / (1 + mp.exp(-e0))
    total = mpf(0)
    term = p**steps  # k heads, from k = steps down
    for k in range(steps, -1, -1):
        loss = e0 * (2 * k - steps)
        if loss <= eps:
            break
        total += term * -mp.expm1(eps - loss)
        term *= mpf(k) / (steps - k + 1) * (1 - p) / p
    return total


def solve_epsilon(delta_of: Callable[[mpf], mpf], delta: mpf) -> mpf:
    """eps >= 0 with delta_of(eps) = delta (decreasing); 0 when delta_of(0) <= delta."""
    if delta_of(mpf(0)) <= delta:
        return mpf(0)
    lo, hi = mpf(0), mpf("1e-9")
    while delta_of(hi) > delta:
        lo, hi = hi, 2 * hi
    target = mp.log(delta)
    f_lo, f_hi, side = mp.log(delta_of(lo)) - target, None, 0
    tol = mp.mpf(10) ** (-(mp.dps - 25))
    for it in range(400):  # bisection, then regula falsi of the Illinois kind
        if f_hi is None or it < 8:
            x = (lo + hi) / 2
        else:
            x = (lo * f_hi - hi * f_lo) / (f_hi - f_lo)
        d = delta_of(x)
        f = mp.log(d) - target if d > 0 else None
        if f is not None and f > 0:
            if it >= 8 and f_hi is not None and side == 1:
                f_hi = f_hi / 2
            lo, f_lo, side = x, f, 1
        else:
            if it >= 8 and side == -1:
                f_lo = f_lo / 2
            hi, f_hi, side = x, f, -1
        if hi - lo < tol * hi or (f is not None and abs(f) < tol):
            return x
    raise RuntimeError("no convergence")

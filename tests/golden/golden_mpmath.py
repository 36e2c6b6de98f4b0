"""Confirmation of single values in plain mpmath: real axis, no ball arithmetic, no contour bends.

Shares only the inversion formula with the contour oracle: here the inner rule is a trapezoid in x
on the real axis and the outer one a trapezoid in t on a vertical line, with its own abscissa.
"""

from itertools import pairwise

from mpmath import mp, mpc, mpf


def _invert(
    losses: list[mpf], weights: list[mpf], steps: int, eps: mpf, c: mpf, h: mpf, const: mpf
) -> mpf:
    """(1/pi) Re int_0^inf [const + sum w e^{(c+it)L}]^T e^{-s eps} / (s(s+1)) dt, step h."""
    turn = [mp.expj(h * x) for x in losses]
    now = [mpc(w * mp.exp(c * x)) for w, x in zip(weights, losses, strict=True)]
    total, first, k = mpf(0), None, 0
    while True:
        s = mpc(c, k * h)
        g = (const + mp.fsum(now)) ** steps * mp.exp(-s * eps) / (s * (s + 1))
        total += g.real / 2 if k == 0 else g.real
        first = first or abs(g)
        if abs(g) < first * mpf(10) ** -33 or k > 200_000:
            return total * h / mp.pi
        now = [a * b for a, b in zip(now, turn, strict=True)]
        k += 1


def delta_sampled(
    sigma: str, q: str, steps: int, eps: str, direction: str, dps: int = 42, c: str | None = None
) -> mpf:
    """delta of T sampled Gaussian steps; c near the saddle (found roughly here when not given)."""
    with mp.workdps(dps):
        s, p, e = mpf(sigma), mpf(q), mpf(eps)
        remove = direction == "remove"
        # rough saddle by bisection on F'(c) with a coarse rule
        step = min(s / 3, s * s / 2)
        lo = -12 * s
        hi = 12 * s + 14

        def rule(h: mpf, a: mpf, b: mpf) -> tuple[list[mpf], list[mpf]]:
            xs = [a + k * h for k in range(int((b - a) / h) + 2)]
            ls = [mp.log(1 - p + p * mp.exp((2 * x - 1) / (2 * s * s))) for x in xs]
            ws = [mp.exp(-x * x / (2 * s * s)) * h / (s * mp.sqrt(2 * mp.pi)) for x in xs]
            if remove:
                return ls, [w * mp.exp(v) for w, v in zip(ws, ls, strict=True)]
            return [-v for v in ls], ws

        losses, weights = rule(step, lo, hi)

        def slopes(cc: mpf) -> tuple[mpf, mpf]:
            t = [w * mp.exp(cc * x) for w, x in zip(weights, losses, strict=True)]
            m0, m1 = mp.fsum(t), mp.fdot(t, losses)
            m2 = mp.fdot(t, [x * x for x in losses])
            f1 = steps * m1 / m0 - e - 1 / cc - 1 / (cc + 1)
            return f1, steps * (m2 / m0 - (m1 / m0) ** 2) + 1 / cc**2 + 1 / (cc + 1) ** 2

        a, b = mpf("1e-3"), mpf("1e-3")
        while slopes(b)[0] < 0:
            b *= 2
        for _ in range(12):
            m = (a + b) / 2
            a, b = (m, b) if slopes(m)[0] < 0 else (a, m)
        cc = mpf(c) if c else a * mpf("0.93")
        f2 = slopes(cc)[1]
        # trapezoid: e^{-2 pi d / h_x}, d < pi sigma^2, and the range of the tilted Gaussian
        h_x = min(2 * mp.pi**2 * s * s / 105, s / mpf("2.6"))
        losses, weights = rule(h_x, -15 * s, 15 * s + (cc + 1 if remove else 0))
        h_t = min(mpf("0.16") / mp.sqrt(f2), 2 * mp.pi * cc / 90)
        return _invert(losses, weights, steps, e, cc, h_t, mpf(0))


def delta_fixed_size(sigma: str, p_text: str, steps: int, eps: str, dps: int = 30) -> mpf:
    """delta of T steps of C_p(G_{1/sigma}), sigma near 1 and T in the hundreds (atom^T is dead).

    Gauss-Legendre panels of z on the real axis, trapezoid in t to t = 43.
    """
    with mp.workdps(dps):
        mu, p, e = 1 / mpf(sigma), mpf(p_text), mpf(eps)
        losses, weights = [], []
        nodes = legendre_rule(24)
        edges = [mpf(k) / 4 for k in range(53)]
        for lo, hi in pairwise(edges):
            for x, w in nodes:
                z = lo + (hi - lo) * x
                loss = mp.log(1 + p * mp.expm1(z))
                phi = (
                    mp.exp(-((z / mu + mu / 2) ** 2) / 2) / mp.sqrt(2 * mp.pi) / mu * w * (hi - lo)
                )
                losses += [loss, -loss]
                weights += [phi * mp.exp(loss), phi]
        atom = (1 - p) * (1 - mp.erfc(mu / 2 / mp.sqrt(2)))
        c, h = mpf("2.5"), mpf(1) / 32
        turn = [mp.expj(h * x) for x in losses]
        now = [mpc(w * mp.exp(c * x)) for w, x in zip(weights, losses, strict=True)]
        total = mpf(0)
        for k in range(1400):  # to t = 43: the rest is bounded by atom^T/(pi t) e^{-c eps}
            s = mpc(c, k * h)
            g = (atom + mp.fsum(now)) ** steps * mp.exp(-s * e) / (s * (s + 1))
            total += g.real / 2 if k == 0 else g.real
            now = [u * v for u, v in zip(now, turn, strict=True)]
        return total * h / mp.pi


def legendre_rule(n: int) -> list[tuple[mpf, mpf]]:
    """Gauss-Legendre nodes and weights on [0, 1] by Newton on the recurrence."""
    out = []
    for k in range(n):
        x = mp.cos(mp.pi * (k + mpf(3) / 4) / (n + mpf(1) / 2))
        for _ in range(12):
            p0, p1 = mpf(1), x
            for j in range(2, n + 1):
                p0, p1 = p1, ((2 * j - 1) * x * p1 - (j - 1) * p0) / j
            d = n * (x * p1 - p0) / (x * x - 1)
            x -= p1 / d
        out.append(((1 + x) / 2, 1 / ((1 - x * x) * d * d)))
    return out

"""Proofs about the corrected statements of UDP-FL."""

from __future__ import annotations

from dpacct.verify.truth import proof


@proof("udp_fl.theorem2_corrected")
def total_mass() -> bool:
    """At alpha = 1 the corrected moment is the total mass, 1, for nu on either side of 1/2."""
    from sympy import exp, simplify, symbols

    lam, nu = symbols("lambda nu", positive=True)
    b = exp(-lam)
    height = (1 - b) / (2 * (nu + b * (1 - nu)))
    ends = 1 + b  # e^{(alpha-1) lam} + e^{-alpha lam} at alpha = 1
    below = ends / 2 + height * (ends * nu + (1 - 2 * nu) * b)
    above = ends / 2 + height * (ends * (1 - nu) + (2 * nu - 1))
    return bool(simplify(below - 1) == 0 and simplify(above - 1) == 0)


@proof("udp_fl.theorem7")
def three_pieces() -> bool:
    """The integral of p^alpha q^(1-alpha) for two Laplace densities, piece by piece."""
    from sympy import exp, integrate, oo, simplify, symbols

    lam, t = symbols("lambda t", positive=True)
    x = symbols("x", real=True)
    alpha = t + 1  # above 1, so that sympy knows the sign of every exponent
    left = integrate(exp(alpha * (x - lam) + (1 - alpha) * x) / 2, (x, -oo, 0))
    middle = integrate(exp(alpha * (x - lam) - (1 - alpha) * x) / 2, (x, 0, lam))
    right = integrate(exp(-alpha * (x - lam) - (1 - alpha) * x) / 2, (x, lam, oo))
    printed = alpha * exp(lam * t) + t * exp(-lam * alpha)
    return bool(simplify(left + middle + right - printed / (2 * alpha - 1)) == 0)


@proof("udp_fl.algorithm3_corrected")
def best_order() -> bool:
    """The least of T alpha/(2 sigma^2) + L/(alpha - 1) over alpha is eps at the corrected sigma."""
    from sympy import diff, simplify, sqrt, symbols

    steps, log_inverse, eps, sigma, s = symbols("T L eps sigma s", positive=True)
    cost = steps * (s + 1) / (2 * sigma**2) + log_inverse / s  # s = alpha - 1
    best = sigma * sqrt(2 * log_inverse / steps)
    noise = sqrt(steps / 2) / (sqrt(log_inverse + eps) - sqrt(log_inverse))
    return bool(
        simplify(diff(cost, s).subs(s, best)) == 0
        and diff(cost, s, 2).is_positive
        and simplify(cost.subs(s, best).subs(sigma, noise) - eps) == 0
    )


@proof("udp_fl.theorem5_corrected")
def moments_of_the_curve() -> bool:
    """With r uniform, the mean of the curve less w is 1/L exactly at the corrected theta."""
    from sympy import integrate, simplify, symbols

    r, smoothness, w, v = symbols("r L w v")
    theta = 3 / smoothness + 2 * w - v
    point = (1 - r) ** 2 * v + 2 * r * (1 - r) * theta + r**2 * w
    return bool(simplify(integrate(point, (r, 0, 1)) - w - 1 / smoothness) == 0)


@proof("udp_fl.theorem7_l2_corrected")
def convex_in_the_shift() -> bool:
    """log(u e^{s x} + v e^{-a x}) with u + v = 1 is convex: its second derivative is a square times uv."""
    from sympy import diff, exp, log, simplify, symbols

    x = symbols("x", real=True)
    u, v, s, a = symbols("u v s a", positive=True)
    up, down = u * exp(s * x), v * exp(-a * x)
    second = diff(log(up + down), x, 2)
    return bool(simplify(second - up * down * (s + a) ** 2 / (up + down) ** 2) == 0)

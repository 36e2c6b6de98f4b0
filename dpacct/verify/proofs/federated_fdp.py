"""Proofs of steps in Federated f-DP."""

from __future__ import annotations

import itertools
from typing import Any

from dpacct.verify.truth import proof


@proof("federated_fdp.theorem1", "federated_fdp.theorem1_corrected")
def two_rounds() -> bool:
    """R = 2, two clients: the truth exceeds the printed bound by p^2 (1-p)^2, and not the corrected."""
    from sympy import expand, symbols

    p = symbols("p")
    truth = sum(
        p ** sum(coins) * (1 - p) ** (4 - sum(coins))
        for coins in itertools.product((0, 1), repeat=4)
        # coins of j and of i in round 1, then in round 2; the server keeps what j gave
        if (coins[0] and (coins[1] or coins[3])) or (coins[2] and coins[3])
    )
    printed = 1 - (1 - p**2) ** 2
    corrected = 1 - (1 - p) ** 2
    beyond = expand(truth - printed - p**2 * (1 - p) ** 2)
    within = expand(corrected - truth - 2 * p * (1 - p) ** 2)
    return bool(beyond == 0 and within == 0)


@proof("federated_fdp.definition3_6_corrected")
def joint_shift() -> bool:
    """v^T S^-1 v = 2 mu^2/(1 + r) for v = mu (1, 1) and S = ((1, r), (r, 1))."""
    from sympy import Matrix, simplify, symbols

    mu, r = symbols("mu r")
    v = Matrix([mu, mu])
    shift = (v.T * Matrix([[1, r], [r, 1]]).inv() * v)[0]
    return bool(simplify(shift - 2 * mu**2 / (1 + r)) == 0)


@proof("dong2019.corollary5_4")
def limiting_moment() -> bool:
    """mu^2/(2 c^2) is the integral of phi (e^{mx - m^2/2} - 1)^2 over x > m/2, m = 1/sigma.

    phi e^{k(mx - m^2/2)} = e^{k(k-1)m^2/2} phi(x - km), whose part above m/2 is Phi((k - 1/2) m).
    """
    from sympy import Function, Rational, exp, expand, symbols

    m, x = symbols("m x")
    phi_cdf = Function("Phi")
    square = -(x**2) / 2
    total: Any = 0
    for k, weight in ((2, 1), (1, -2), (0, 1)):
        shifted = -((x - k * m) ** 2) / 2 + Rational(k * (k - 1), 2) * m**2
        if expand(square + k * (m * x - m**2 / 2) - shifted) != 0:
            return False
        total += weight * exp(Rational(k * (k - 1), 2) * m**2) * phi_cdf((k - Rational(1, 2)) * m)
    # Phi(m/2) = 1 - Phi(-m/2)
    total = total.subs(phi_cdf(m / 2), 1 - phi_cdf(-m / 2))
    printed = exp(m**2) * phi_cdf(3 * m / 2) + 3 * phi_cdf(-m / 2) - 2
    return bool(expand(total - printed) == 0)

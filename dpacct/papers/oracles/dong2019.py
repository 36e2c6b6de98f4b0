"""Truths and proofs for the statements of Dong, Roth, Su (2019)."""

from __future__ import annotations

from typing import Any

import numpy as np

import dpacct as dp
from dpacct.papers.oracles import truths
from dpacct.papers.oracles.oracle import oracle, proof
from dpacct.papers.page import Ends


@proof("corollary5_4")
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


@oracle("c_p_renyi", draws=100, within=1e-7)
def renyi_fixed(mu: float, rate: float, alpha: float) -> Ends:
    """The Renyi divergence of the dominating pair of a uniform sample, by the exact engine."""
    node = dp.WithoutReplacement(rate)(dp.Gaussian(sigma=1.0 / mu))
    with np.errstate(over="ignore"):  # of terms that the engine then takes in logarithms
        value = float(node.rdp(alpha))
    return truths.around((value, 1e-9 * value + 1e-13 / (alpha - 1.0)))

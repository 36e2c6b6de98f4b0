"""Geng, Viswanath. The Optimal Mechanism in Differential Privacy. ISIT 2014: the staircase.

Sensitivity 1; lam is the pure epsilon, nu in [0, 1] the shape (gamma there).
"""

from __future__ import annotations

import math

from dpacct.mechanisms.laws import staircase
from dpacct.papers import truths
from dpacct.papers.oracle import Comparison, oracle, proof, vanish

# Cost of the staircase
amplitude = staircase.mean_size


@oracle("amplitude", draws=200, within=1e-8)
def pieces(lam: float, nu: float) -> float:
    """The mean of |x| of one draw, summed piece by piece."""
    return truths.staircase_moment(lam, nu, 1)


# Optimal shape
best_nu = staircase.best_nu


def least_amplitude(lam: float) -> float:
    """The least mean absolute value."""
    return math.exp(-0.5 * lam) / -math.expm1(-lam)


def least_variance(lam: float) -> float:
    """The best shape for the variance."""
    b = math.exp(-lam)
    root = math.pow(b - 2.0 * b**2 + 2.0 * b**4 - b**5, 1.0 / 3.0)
    return -b / (1.0 - b) + root / (math.pow(2.0, 1.0 / 3.0) * (1.0 - b) ** 2)


@oracle("least_variance", draws=20, within=1e-8, claimed=True)
def least_square_over_shapes(nu: float, lam: float) -> Comparison:
    """E X^2 at that nu beside its least value over nu."""
    least = truths.least_staircase_moment(lam, 2)
    return Comparison(truths.staircase_moment(lam, nu, 2), least, least)


@proof("least_variance")
def derivative() -> bool:
    """dV/dnu has the sign of 2u^3 - b(1+b), u = (1-b) nu + b, and the printed nu is its zero."""
    mass, sign = "(nu + b*(1 - nu))", "(2*((1 - b)*nu + b)**3 - b*(1 + b))"
    first = f"(nu**2 + b*(1 - nu**2))/(2*{mass})"
    second = f"(nu**3 + b*(1 - nu**3))/(3*{mass})"
    # E p and E p^2 of the geometric level, P(p) = (1 - b) b^p
    level, square = "b/(1 - b)", "b*(1 + b)/(1 - b)**2"
    return vanish(
        f"diff({square} + 2*{level}*{first} + {second}, nu)*3*{mass}**2*(1 - b) - {sign}",
        "b - 2*b**2 + 2*b**4 - b**5 - b*(1 + b)*(1 - b)**3",
    )

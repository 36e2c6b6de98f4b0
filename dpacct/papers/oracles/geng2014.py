"""Truths and proofs for the statements of Geng, Viswanath (2014)."""

from __future__ import annotations

from dpacct.papers.oracles import truths
from dpacct.papers.oracles.oracle import Comparison, oracle, proof, vanish


@oracle("amplitude", draws=200, within=1e-8)
def pieces(lam: float, nu: float) -> float:
    """The mean of |x| of one draw, summed piece by piece."""
    return truths.staircase_moment(lam, nu, 1)


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

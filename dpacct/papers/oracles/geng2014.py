"""Truths for the statements of Geng, Viswanath (2014)."""

from __future__ import annotations

from dpacct.papers.oracles import truths
from dpacct.papers.oracles.oracle import Comparison, oracle


@oracle("amplitude", draws=200, within=1e-8)
def pieces(lam: float, nu: float) -> float:
    """The mean of |x| of one draw, summed piece by piece."""
    return truths.staircase_moment(lam, nu, 1)


@oracle("least_variance", draws=20, within=1e-8, claimed=True)
def least_square_over_shapes(nu: float, lam: float) -> Comparison:
    """E X^2 at that nu beside its least value over nu."""
    least = truths.least_staircase_moment(lam, 2)
    return Comparison(truths.staircase_moment(lam, nu, 2), least, least)

"""Truths for the statements of Balle, Wang (2018)."""

from __future__ import annotations

from dpacct.papers.oracles.oracle import oracle


@oracle("theorem8", draws=400, within=1e-8)
def density_difference(mu: float, epsilon: float) -> float:
    """The integral of the positive part of two normal densities' difference, 60 digits."""
    from mpmath import erfc, exp, mp, mpf, sqrt

    with mp.workdps(60):
        m, e = mpf(mu), mpf(epsilon)
        cut = e / m + m / 2  # integrate N(mu,1) - e^eps N(0,1) from the cut
        tail = erfc((cut - m) / sqrt(2)) / 2 - exp(e) * erfc(cut / sqrt(2)) / 2
        return float(tail)

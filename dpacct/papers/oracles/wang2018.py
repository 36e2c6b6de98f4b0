"""Truths for the statements of Wang, Balle, Kasiviswanathan (2018)."""

from __future__ import annotations

import dpacct as dp
from dpacct.papers.oracles.oracle import oracle


@oracle("theorem9", draws=250, within=1e-7)
def without_replacement(alpha: int, tau: float, sigma: float) -> float | None:
    """The dominating pair C_tau of the Gaussian under replace-one, by the exact engine."""
    if sigma < 0.05:
        return None
    return float(dp.WithoutReplacement(tau)(dp.Gaussian(sigma=sigma)).rdp(alpha))

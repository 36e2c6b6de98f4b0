"""Truths for the statements of Mironov, Talwar, Zhang (2019)."""

from __future__ import annotations

import dpacct as dp
from dpacct.papers.oracles.oracle import oracle


@oracle("fractional", draws=150, within=1e-6)
@oracle("integer", draws=1500, within=1e-7)
def removing(alpha: float, rate: float, sigma: float) -> float | None:
    """Quadrature of the likelihood ratio's power, the worse direction, by the exact engine."""
    if sigma < 0.05:
        return None
    return float(dp.Poisson(rate)(dp.Gaussian(sigma=sigma)).rdp(alpha))

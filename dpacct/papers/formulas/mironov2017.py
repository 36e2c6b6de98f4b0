"""Mironov. Renyi Differential Privacy. CSF 2017."""

from __future__ import annotations

import math

from dpacct.papers import truths
from dpacct.papers.oracle import oracle
from dpacct.pld import conversions


# Proposition 3
def proposition3(alpha: float, rho: float, delta: float) -> float:
    """Epsilon at this delta."""
    return conversions.mironov_epsilon(rho * (alpha - 1.0), alpha - 1.0, math.log(delta))


@oracle("proposition3", draws=1500)
def two_points(alpha: float, rho: float, delta: float) -> tuple[float, float]:
    """The best of many two-point pairs whose divergence is exactly rho: each is a mechanism."""
    return truths.worst_epsilon(alpha, rho, delta)

"""The Laplace mechanism's pair, Laplace(1, b) against Laplace(0, b).

With lam = 1/b the loss has under the second (Q) atoms 1/2 at -lam and e^{-lam}/2 at +lam, and density
e^{-(lam+l)/2}/4 between.
"""

from __future__ import annotations

import math

import numpy as np

from dpacct.errors import OutsideDomain
from dpacct.pld.loss import LossDistribution, between

from .stated import StatedPair

_BASIS = "Laplace loss law, closed form"


def laplace_loss(lam: float) -> LossDistribution:
    """The loss distribution of noise of scale 1/lam sensitivities."""
    half = math.log(2.0)
    density = between(-lam, lam, -0.5 * lam - 2.0 * half)
    return LossDistribution(np.array([lam, -lam]), np.array([-lam - half, -half]), (density,))


def laplace_pair(b: float) -> StatedPair:
    """`b` = scale / sensitivity. Raises `OutsideDomain` for an absurd one."""
    if not 1e-100 <= b <= 1e100:
        raise OutsideDomain(f"b must be in [1e-100, 1e100], got {b:g}", argument="b")
    return StatedPair(laplace_loss(1.0 / b), (_BASIS,), near=lambda: laplace_pair(2.0 * b))

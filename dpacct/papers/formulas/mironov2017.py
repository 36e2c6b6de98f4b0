"""Mironov. Renyi Differential Privacy. CSF 2017."""

from __future__ import annotations

import math

from dpacct.pld import conversions


def proposition3(alpha: float, rho: float, delta: float) -> float:
    return conversions.mironov_epsilon(rho * (alpha - 1.0), alpha - 1.0, math.log(delta))

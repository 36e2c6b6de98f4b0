"""Canonne, Kamath, Steinke. The Discrete Gaussian for Differential Privacy. NeurIPS 2020.

Proposition 12 (the same as Balle, Barthe, Gaboardi, Hsu, Sato 2020, Theorem 21): from
(1 - e^{-y})_+ <= e^{sy} s^s/(1+s)^{1+s} for every s > 0.
"""

from __future__ import annotations

import math

from dpacct.pld import conversions


def proposition12(alpha: float, rho: float, delta: float) -> float:
    epsilon = conversions.epsilon(rho * (alpha - 1.0), alpha - 1.0, math.log(delta))
    return max(0.0, epsilon)

"""What Algorithm 3's noise delivers, and the mean of a Bezier curve by quadrature."""

from __future__ import annotations

import math

import numpy as np

import dpacct.mechanisms.gaussian as gaussian
from dpacct.compose import questions
from dpacct.verify.comparison import Comparison
from dpacct.verify.truth import truth


@truth("udp_fl.algorithm3_corrected", draws=200, within=1e-7, claimed=True)
def delivered(sigma: float, epsilon: float, delta: float, steps: int) -> Comparison | None:
    """Delta at that noise and epsilon, exactly, of T Gaussians."""
    if not 1e-3 < math.sqrt(steps) / sigma < 1e3:
        return None
    node = gaussian.Gaussian(sigma=sigma) * steps
    true = questions.delta(node, epsilon=epsilon, method="balle_wang.theorem8")
    return Comparison(delta, true.value, true.value)


@truth("udp_fl.theorem5", "udp_fl.theorem5_corrected", draws=100)
def curve(smoothness: float, w: float, v: float) -> tuple[float, float]:
    """The theta at which the mean of the curve less w is 1/L: Gauss-Legendre over r, one division."""
    nodes, weights = np.polynomial.legendre.leggauss(8)
    r, weight = 0.5 * (nodes + 1.0), 0.5 * weights
    ends = float(weight @ ((1.0 - r) ** 2 * v + (r**2 - 1.0) * w))
    found = (1.0 / smoothness - ends) / float(weight @ (2.0 * r * (1.0 - r)))
    room = 1e-13 * (abs(v) + abs(w) + 1.0 / smoothness)
    return found - room, found + room

"""The Gaussian mechanism's loss, cut into pieces, with masses right to rounding however narrow the pieces."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpacct.engine.discrete.pieces import NO_LOSSES, Pieces
from dpacct.engine.stable import Floats

_LOG_NORMAL = 0.5 * math.log(2.0 * math.pi)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(10)


def log_normal_mass(a: Floats, b: Floats) -> Floats:
    """log(Phi(b) - Phi(a)) for a <= b, relative error of the mass some 1e-15 (1 + a^2).

    Narrow intervals by ten Gauss-Legendre points: for |x| (b - a) <= 1 the next term is below 2^-20/20!
    of the mass. Wide ones as a difference, of which then less than e^{-1/2} cancels.
    """
    from scipy.special import log_ndtr

    mirrored = a + b > 0.0
    low, high = np.where(mirrored, -b, a), np.where(mirrored, -a, b)
    with np.errstate(invalid="ignore", divide="ignore"):
        upper = log_ndtr(high)
        share = np.exp(log_ndtr(low) - upper)
        result: Floats = upper + np.log1p(-np.where(np.isnan(share), 1.0, share))
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
        narrow = np.isfinite(middle) & (2.0 * half * np.maximum(1.0, -low) <= 1.0)
    if narrow.any():
        m, w = middle[narrow], half[narrow]
        total = np.zeros(m.shape)
        for node, weight in zip(_NODES.tolist(), _WEIGHTS.tolist(), strict=True):
            s = node * w
            total += weight * np.exp(-s * (m + 0.5 * s))
        with np.errstate(divide="ignore"):
            result[narrow] = np.log(w * total) - 0.5 * m * m - _LOG_NORMAL
    return result


@dataclass(frozen=True)
class NormalSource:
    """L = mu x - mu^2/2 with x ~ N(mu, 1) under P and N(0, 1) under Q."""

    mu: float

    atoms = NO_LOSSES
    only_atoms = False

    def span(self, log_mass: float) -> tuple[float, float]:
        """Losses at which the normal tail is about e^log_mass."""
        reach = math.sqrt(2.0 * max(1.0, -log_mass))
        half = 0.5 * self.mu * self.mu
        return half - reach * self.mu, half + reach * self.mu

    def pieces(self, edges: Floats, *, upper: bool) -> Pieces:
        """One piece between neighbouring edges, and two tails."""
        mu = self.mu
        ends = np.concatenate(([-math.inf], edges, [math.inf]))
        x = ends / mu + 0.5 * mu
        low, high = x[:-1], x[1:]
        log_q, log_p = log_normal_mass(low, high), log_normal_mass(low - mu, high - mu)
        kept = np.isfinite(log_q) & np.isfinite(log_p)
        finite = x[np.isfinite(x)]
        reach = float(np.abs(finite).max(initial=0.0)) + mu
        slack = 4e-15 + 5e-16 * min(reach, 40.0) * max(min(reach, 40.0), mu)
        return Pieces(log_p[kept], log_q[kept], ends[:-1][kept], ends[1:][kept], slack)

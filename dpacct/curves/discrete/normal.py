"""The Gaussian mechanism's loss, cut into pieces, with masses right to rounding however narrow the pieces."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpacct.engine.discrete.pieces import NO_LOSSES, Pieces
from dpacct.engine.stable import Floats

_LOG_NORMAL = 0.5 * math.log(2.0 * math.pi)
# |x| times half the width of what the series is for
_SLIM = 0.1
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(10)


def _series(m: Floats, w: Floats) -> Floats:
    """I - 1 with I the mean of e^{-s (m + s/2)} over [-w, w], for |m| w and w up to 0.1.

    The normal density around m: sum of He_2k(m) w^2k / (2k+1)!, Hermite's polynomials; the term after the
    last is below 3e-18.
    """
    t, square = m * m, w * w
    he2 = t - 1.0
    he4 = t * (t - 6.0) + 3.0
    he6 = t * (t * (t - 15.0) + 45.0) - 15.0
    he8 = t * (t * (t * (t - 28.0) + 210.0) - 420.0) + 105.0
    total: Floats = square * (
        he2 / 6.0 + square * (he4 / 120.0 + square * (he6 / 5040.0 + square * (he8 / 362880.0)))
    )
    return total


def log_normal_mass(a: Floats, b: Floats) -> Floats:
    """log(Phi(b) - Phi(a)) for a <= b, relative error of the mass some 1e-15 (1 + a^2).

    Narrow intervals by a series, wider ones by ten Gauss-Legendre points: for |x| (b - a) <= 1 the next
    term is below 2^-20/20! of the mass. Wide ones as a difference, of which then less than e^{-1/2} cancels.
    """
    with np.errstate(invalid="ignore"):
        middle, half = 0.5 * (a + b), 0.5 * (b - a)
        slim = np.maximum(np.abs(middle), 1.0) * half <= _SLIM
    result = np.empty(a.shape)
    m, w = middle[slim], half[slim]
    with np.errstate(divide="ignore", invalid="ignore"):
        result[slim] = np.log(2.0 * w) + np.log1p(_series(m, w)) - 0.5 * m * m - _LOG_NORMAL
    if not slim.all():
        result[~slim] = _log_wide_mass(a[~slim], b[~slim])
    return result


def _log_wide_mass(a: Floats, b: Floats) -> Floats:
    """The same where intervals are not that narrow."""
    from scipy.special import log_ndtr

    with np.errstate(invalid="ignore"):
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
    bracketed = False
    least = -math.inf

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
        low, high, log_q, log_p = low[kept], high[kept], log_q[kept], log_p[kept]
        first, last = ends[:-1][kept], ends[1:][kept]
        far = np.minimum(np.maximum(np.abs(low), np.abs(high)) + mu, 40.0)
        # mu itself may be a few units of rounding off (several Gaussians in one)
        slack = 4e-15 + 8e-16 * far * np.maximum(far, mu)
        # a narrow piece's loss is that of its middle but for what the series differ by
        with np.errstate(invalid="ignore"):
            middle, half = 0.5 * (low + high), 0.5 * (high - low)
            slim = (np.abs(middle) + mu + 1.0) * half <= _SLIM
        loss, unsure = log_p - log_q, 2.0 * slack
        m, w = middle[slim], half[slim]
        moved = np.log1p(_series(m - mu, w)) - np.log1p(_series(m, w))
        loss[slim] = 0.5 * (first[slim] + last[slim]) + moved
        unsure[slim] = 8e-16 * (mu * (np.abs(m) + mu) + np.abs(moved))
        sizes = np.abs(np.stack((low, high)))
        slip = 8e-16 * mu * (np.where(np.isfinite(sizes), sizes, 0.0).max(axis=0) + mu)
        return Pieces(log_p, log_q, first, last, slack, slip, loss, unsure)

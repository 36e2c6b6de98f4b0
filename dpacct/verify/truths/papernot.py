"""Papernot et al. 2017 and 2018, what is not about Gaussian votes: Laplace votes and publication."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from dpacct.verify.truth import truth


@truth("papernot2018.theorem23", "papernot2018.theorem23_corrected", draws=1500, within=1e-9)
def published(order: float, beta: float, sigma: float) -> tuple[float, float] | None:
    """The Renyi integral of two normal laws by quadrature, for neighbours with less and with more noise."""
    worst, lost = 0.0, 0.0
    for ratio in (math.exp(-beta), math.exp(beta)):
        shift, spread = min(1.0, ratio), sigma * ratio
        # p^a q^{1-a} is a Gaussian integrand of this precision and centre
        precision = order / sigma**2 + (1.0 - order) / spread**2
        if precision * sigma**2 < 1e-5 or sigma < 1e-3:
            return None  # the integrand is a difference of two that are far larger
        centre = (1.0 - order) * shift / spread**2 / precision
        x = centre + np.linspace(-13.0, 13.0, 1301) / math.sqrt(precision)
        log_p = -0.5 * np.square(x / sigma) - math.log(sigma)
        log_q = -0.5 * np.square((x - shift) / spread) - math.log(spread)
        heights = order * log_p + (1.0 - order) * log_q
        peak = float(heights.max())
        width = float(x[1] - x[0]) / math.sqrt(2.0 * math.pi)
        moment = peak + math.log(float(np.exp(heights - peak).sum()) * width)
        worst = max(worst, moment / (order - 1.0))
        lost = max(lost, 1e-15 * order * float(np.abs(log_p).max() + np.abs(log_q).max()))
    room = 1e-9 * worst + (1e-12 + lost) * order / (order - 1.0)
    return worst - room, worst + room


@truth("papernot2017.lemma4", draws=300, within=1e-7)
def laplace_wrong(v1: float, v2: float, v3: float, b: float) -> tuple[float, float]:
    """The chance of the two other labels, by Gauss' rule between the kinks of the integrand."""
    lead, *others = sorted((v1 / b, v2 / b, v3 / b), reverse=True)
    points, weights = np.polynomial.legendre.leggauss(20)
    ends = sorted({lead - 80.0, *others, lead, lead + 40.0})
    edges = np.unique(np.concatenate([np.linspace(a, c, 41) for a, c in pairwise(ends)]))
    half = 0.5 * np.diff(edges)
    t = (edges[:-1, None] + half[:, None] * (1.0 + points)).ravel()
    w = (half[:, None] * weights).ravel()

    def behind(count: float) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        below = 0.5 * np.exp(-np.abs(t - count))
        return np.where(t < count, below, 1.0 - below)

    density = 0.5 * np.exp(-np.abs(t - lead))
    # another is ahead: 1 - F G = (1 - F) + F (1 - G), without cancellation
    first, second = (behind(count) for count in others)
    miss = [
        np.where(t < c, 1.0 - f, 0.5 * np.exp(-np.abs(t - c)))
        for c, f in zip(others, (first, second), strict=True)
    ]
    value = float(w @ (density * (miss[0] + first * miss[1])))
    return value * (1.0 - 1e-8), value * (1.0 + 1e-8)


@truth("papernot2017.theorem3", draws=1500, within=1e-9)
def pure_pair(epsilon: float, alpha: float, q: float) -> tuple[float, float]:
    """The largest divergence of many pairs of laws within e^epsilon of each other, with that q."""
    worst = 0.0
    for share in (1.0, 0.7, 0.3):
        p = np.array([1.0 - share * q, share * q])
        for other in (min(1.0, math.exp(epsilon) * p[1]), p[1] * math.exp(-epsilon)):
            theirs = np.array([1.0 - other, other])
            logs = np.log(theirs) - np.log(p) if other < 1.0 else np.array([math.inf])
            if np.abs(logs).max() > epsilon * (1.0 + 1e-9):
                continue
            heights = alpha * np.log(p) + (1.0 - alpha) * np.log(theirs)
            peak = float(heights.max())
            worst = max(
                worst, (peak + math.log(float(np.exp(heights - peak).sum()))) / (alpha - 1.0)
            )
    room = 1e-9 * worst + 1e-13 * alpha / (alpha - 1.0)
    return worst - room, worst + room

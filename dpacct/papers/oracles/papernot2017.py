"""Truths for the statements of Papernot et al. (2017)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from dpacct.papers.oracles.oracle import oracle
from dpacct.papers.page import Ends


@oracle("lemma4", draws=300, within=1e-7)
def laplace_wrong(votes: Sequence[float], b: float) -> Ends:
    """The chance of all labels but the leader's, by Gauss' rule between the kinks of the integrand."""
    lead, *others = sorted((count / b for count in votes), reverse=True)
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
    # another is ahead: 1 - F G ... = (1 - F) + F (1 - G) + ..., without cancellation
    missed, ahead = np.zeros_like(t), np.ones_like(t)
    for count in others:
        below = behind(count)
        above = np.where(t < count, 1.0 - below, 0.5 * np.exp(-np.abs(t - count)))
        missed, ahead = missed + ahead * above, ahead * below
    value = float(w @ (density * missed))
    return value * (1.0 - 1e-8), value * (1.0 + 1e-8)


@oracle("theorem3", draws=1500, within=1e-9)
def pure_pair(epsilon: float, alpha: float, q: float) -> Ends:
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

"""One pair of laws that is at least as easy to tell apart as every neighbour's, for one histogram.

What a test can reach, (Q(S), P(S)), is a curve for each neighbour: outcomes added by falling ratio p/q. The
upper hull of all curves is the curve of a pair of laws (Blackwell), whose hockey-stick divergences are the
largest of the neighbours' at every epsilon; so its composition bounds theirs (Zhu, Dong, Wang 2022).
"""

from __future__ import annotations

import math

import numpy as np

from dpacct.pld.stable import Floats

ROUNDING = 4e-15
"""What the probabilities of a histogram may be off by, together: granted to an infinite loss."""


def hull(log_p: Floats, log_q: Floats) -> tuple[Floats, Floats, float]:
    """Losses and log P-masses of the pair that dominates each pair of rows, and its infinite mass.

    >>> rows = np.log([[0.75, 0.25]]), np.log([[0.25, 0.75]])
    >>> losses, log_p, _ = hull(*rows)
    >>> losses.round(6).tolist(), np.exp(log_p).round(6).tolist()
    ([1.098612, -1.098612], [0.75, 0.25])
    """
    p, q = np.exp(log_p), np.exp(log_q)
    with np.errstate(invalid="ignore"):
        ratio = np.where(log_p == log_q, 0.0, log_p - log_q)
    order = np.argsort(-ratio, axis=1, kind="stable")
    if p.shape[0] == 1:
        first = order[0]
        kept = p[0, first] > 0.0
        return _finite(ratio[0, first][kept], log_p[0, first][kept])
    p, q = np.take_along_axis(p, order, axis=1), np.take_along_axis(q, order, axis=1)
    x, y = np.cumsum(q, axis=1)[:, :-1].ravel(), np.cumsum(p, axis=1)[:, :-1].ravel()
    width, height = corners(x, y)
    with np.errstate(divide="ignore"):
        losses = np.where(width > 0.0, np.log(height) - np.log(np.maximum(width, 1e-320)), math.inf)
    return _finite(losses, np.log(height))


def corners(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Widths and heights between the corners of the upper hull of points, of (0, 0) and of (1, 1)."""
    place = np.lexsort((-y, x))
    points = [(0.0, 0.0)]
    for a, b in [*zip(x[place].tolist(), y[place].tolist(), strict=True), (1.0, 1.0)]:
        if b <= points[-1][1]:
            continue
        while len(points) > 1 and _turns_up(points[-2], points[-1], (a, b)):
            points.pop()
        points.append((a, b))
    found = np.array(points)
    return np.diff(found[:, 0]), np.diff(found[:, 1])


def _turns_up(
    first: tuple[float, float], second: tuple[float, float], third: tuple[float, float]
) -> bool:
    """Whether the second of three points lies on or below the line through the others."""
    rise, run = second[1] - first[1], second[0] - first[0]
    return rise * (third[0] - second[0]) <= (third[1] - second[1]) * run


def _finite(losses: Floats, log_p: Floats) -> tuple[Floats, Floats, float]:
    endless = losses > 600.0
    infinite = float(np.exp(log_p[endless]).sum()) + ROUNDING
    return losses[~endless], log_p[~endless], infinite

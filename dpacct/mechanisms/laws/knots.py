"""Pairs from curves: the worst pair that a privacy profile or a trade-off function allows.

With t = e^eps, a profile H(t) = E[(dP/dQ - t)_+] is convex, falls from 1 at t = 0, and is its own
mirror image for a guarantee that holds both ways: H(1/t) = 1 - (1 - H(t))/t. Known at some points
only, it lies below the chords between them, and the chords are a profile themselves: that of the pair
with the losses log t_k, and Q-masses by which the slope changes there. A trade-off function f and H
are two sides of one thing (Dong, Roth, Su 2022, Proposition 2.12): H(t) = sup_a 1 - f(a) - t a.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from dpacct.pld.loss import LossDistribution
from dpacct.pld.pair import symmetric
from dpacct.pld.stable import Floats

Point = tuple[float, float]


def hull(points: Sequence[Point]) -> list[Point]:
    """The lower convex hull of points, in order of x; of two with one x the lower is taken."""
    kept: list[Point] = []
    for x, y in sorted(points):
        if kept and kept[-1][0] == x:
            continue
        while len(kept) > 1:
            (x0, y0), (x1, y1) = kept[-2:]
            # the middle one stays where it is below the chord
            if (y1 - y0) * (x - x0) < (y - y0) * (x1 - x0):
                break
            kept.pop()
        kept.append((x, y))
    return kept


def _mirrored(epsilons: Sequence[float], deltas: Sequence[float]) -> list[Point]:
    """(t, H) at these epsilons >= 0, at their mirror images, and H(0) = 1; increasing in t."""
    points = [(0.0, 1.0)]
    for epsilon, delta in zip(epsilons, deltas, strict=True):
        growth = math.exp(min(epsilon, 700.0))
        points.append((growth, delta))
        if epsilon > 0.0:
            points.append((1.0 / growth, 1.0 - (1.0 - delta) / growth))
    return sorted(points)


def _with_corners(corners: Sequence[Point], failure: float) -> LossDistribution:
    """The symmetric pair whose profile has these corners, and stays at `failure` after the last."""
    slopes = [(h1 - h0) / (t1 - t0) for (t0, h0), (t1, h1) in pairwise(corners)] + [0.0]
    losses, masses = [], []
    for (t, _), before, after in zip(corners[1:], slopes, slopes[1:], strict=False):
        if t > 1.0 and after > before:
            losses.append(math.log(t))
            masses.append(after - before)
    total = math.fsum(m * (1.0 + math.exp(x)) for m, x in zip(masses, losses, strict=True))
    rest = max(0.0, 1.0 - failure - total)
    return symmetric((*losses, 0.0), (*masses, 0.5 * rest), failure)


def above_profile(epsilons: Sequence[float], deltas: Sequence[float]) -> LossDistribution:
    """The worst symmetric pair of which delta(epsilon) is at most so much, epsilons >= 0."""
    corners = hull(_mirrored(epsilons, deltas))
    while len(corners) > 2 and corners[-1][1] >= corners[-2][1]:
        corners.pop()
    return _with_corners(corners, corners[-1][1])


@dataclass(frozen=True)
class Polygon:
    """A convex, falling trade-off function between its corners, from (0, f(0)) to where it is 0."""

    corners: tuple[Point, ...]

    def __call__(self, alpha: Floats) -> Floats:
        """The function at these alphas."""
        x, y = zip(*self.corners, strict=True)
        result: Floats = np.interp(alpha, x, y)
        return result

    def table(self) -> tuple[list[float], list[float]]:
        """(P, Q): a piece of slope -r is an outcome that is r times as likely under Q.

        The type I error a is a probability under P, so r is dQ/dP.
        """
        p, q = [0.0], [1.0 - self.corners[0][1]]
        for (x0, y0), (x1, y1) in pairwise(self.corners):
            p.append(x1 - x0)
            q.append(y0 - y1)
        if self.corners[-1][0] < 1.0:
            p.append(1.0 - self.corners[-1][0])
            q.append(self.corners[-1][1])
        return p, q

    def profile(self, epsilons: Floats) -> Floats:
        """sup over the corners of 1 - f(a) - e^eps a."""
        x, y = (np.array(part) for part in zip(*self.corners, strict=True))
        growth = np.exp(np.minimum(epsilons, 700.0))
        largest: Floats = (1.0 - y - np.multiply.outer(growth, x)).max(axis=-1)
        return np.maximum(largest, 0.0)


def through(alphas: Sequence[float], betas: Sequence[float]) -> Polygon:
    """The polygon through these points, convex by taking the hull (the double conjugate)."""
    corners = hull([*zip(alphas, betas, strict=True), (1.0, 0.0)])
    end = next(i for i, (_, y) in enumerate(corners) if y <= 0.0)
    return Polygon(tuple(corners[: end + 1]))


def of_tradeoff(polygon: Polygon) -> LossDistribution:
    """The symmetric pair of max(f, 1/f): a trade-off that holds for both orders of two neighbours.

    The lesser of both directions' profiles has its convex corners at theirs, so its hull, which is
    the profile of the larger trade-off, needs no others.
    """
    p, q = (np.array(part) for part in polygon.table())
    both = (p > 0.0) & (q > 0.0)
    losses = np.abs(np.log(q[both]) - np.log(p[both]))
    epsilons = np.unique(np.concatenate(([0.0], losses[losses < 690.0])))
    deltas = np.clip(np.minimum(_falling(p, q, epsilons), _falling(q, p, epsilons)), 0.0, 1.0)
    return above_profile(epsilons.tolist(), deltas.tolist())


# -- from tables -----------------------------------------------------------------------------------


def table(p: Any, q: Any) -> LossDistribution:
    """Probabilities of each outcome with the unit (P) and without it (Q)."""
    both = (p > 0.0) & (q > 0.0)
    excess, log_q = (p[both] - q[both]) / q[both], np.log(q[both])
    losses, near = np.log(p[both]) - log_q, excess > -0.5  # else it has lost what is left
    losses[near] = np.log1p(excess[near])
    return LossDistribution(losses, log_q, infinite=p[q == 0.0].sum(), lost=q[p == 0.0].sum())


def listed(*masses: Any) -> LossDistribution:
    """Return the law of two lists of masses, one behind the other."""
    p, q = np.array(masses).reshape(2, -1)
    return table(p, q)


def of_either(p: Floats, q: Floats) -> LossDistribution:
    """The pair whose profile is the larger of both directions' at every epsilon.

    Both profiles have their corners at the losses, and where they cross; a corner too few would
    make a chord too high, which is the safe side, so the crossings are put in only roughly.
    """
    both = (p > 0.0) & (q > 0.0)
    losses = np.abs(np.log(p[both]) - np.log(q[both]))
    corners = np.unique(np.concatenate(([0.0], losses)))
    between = 0.5 * (corners[1:] + corners[:-1])
    epsilons = np.unique(np.concatenate((corners, between))) if corners.size < 500 else corners
    first, second = _falling(p, q, epsilons), _falling(q, p, epsilons)
    return above_profile(epsilons.tolist(), np.maximum(first, second).tolist())


def _falling(p: Floats, q: Floats, epsilons: Floats) -> Floats:
    """sum of (p - e^eps q)_+ at increasing epsilons, among them every loss above the first one.

    Between neighbours e < e' no loss lies, so that delta(e) = delta(e') + (e^{e'} - e^e) Q(L >= e'): from
    the top down all is added and nothing cancels.
    """
    finite = (p > 0.0) & (q > 0.0)
    losses = np.log(p[finite]) - np.log(q[finite])
    order = np.argsort(losses)
    losses, masses = losses[order], q[finite][order]
    beyond = np.append(np.cumsum(masses[::-1])[::-1], 0.0)  # Q-mass from each loss upwards
    # a loss is met by its own epsilon, whichever way the two were rounded
    above = beyond[np.searchsorted(losses, epsilons[1:] * (1.0 - 1e-14))]
    steps = np.exp(epsilons[1:]) * -np.expm1(epsilons[:-1] - epsilons[1:]) * above
    open_failures = float(p[q == 0.0].sum())
    rising: Floats = np.append(np.cumsum(steps[::-1])[::-1], 0.0) + open_failures
    return rising

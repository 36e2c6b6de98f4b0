"""Whole profiles of a composition, by few pairs of contours, each read where it is sharp."""

from __future__ import annotations

import numpy as np

from dpacct.pld.budget import remaining
from dpacct.pld.pieces import Sources
from dpacct.pld.stable import Floats

from .search import DirectionSearch

# log delta below which a Chernoff bound is all that is told, and what counts as met
_NOTHING = -60.0
_MET = 1.3
# pairs of contours at most: what none of them reads well keeps what it has
_PAIRS = 40
# of what a question has left at first, what is kept
_KEPT = 0.4


def profile(sources: Sources, epsilons: Floats, width: float) -> tuple[Floats, Floats]:
    """Both ends of log delta of the finite losses at each epsilon, `width` apart or as near as can be.

    A pair of contours is laid at the middle of what is still open, and serves the stretch about it.
    """
    direction = DirectionSearch(sources, -40.0)
    high = direction.chernoff(epsilons)
    if float(high.min(initial=0.0)) < -40.0:
        direction = DirectionSearch(sources, max(float(high.min()), _NOTHING))
    low = np.full(epsilons.shape, -np.inf)
    past = epsilons >= direction.largest
    high = np.where(past, -np.inf, high)
    order = np.argsort(epsilons)
    left = order[(high > _NOTHING)[order]]
    room = remaining()
    for turn in range(_PAIRS):
        if not left.size or (turn and remaining() < _KEPT * room):
            break
        middle = int(left[left.size // 2])
        pair = direction.delta(float(epsilons[middle]), 0.4 * width)[2]
        if pair is not None:
            up, down = (line.log_deltas(epsilons[left]) for line in pair)
            high[left], low[left] = np.minimum(high[left], up), np.maximum(low[left], down)
        # both are -inf where there is nothing
        open_ = high[left] > np.maximum(low[left], -1e300) + _MET * width
        left = left[open_ & (left != middle)]
    return np.minimum(low, high), high

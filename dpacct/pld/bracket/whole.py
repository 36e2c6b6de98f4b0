"""Whole profiles of a composition, by few pairs of contours, each read where it is sharp."""

from __future__ import annotations

import numpy as np

from dpacct.pld.budget import remaining
from dpacct.pld.pieces import Sources
from dpacct.pld.stable import Floats

from .search import DirectionSearch, Line

# log delta below which a Chernoff bound is all that is told
_NOTHING = -60.0
# pairs of contours at most for one question: what none of them reads well keeps what it has
_PAIRS = 40
# pairs that are kept for later questions, 20 MB each at most, and those read about an epsilon
_KEPT_PAIRS, _NEAREST = 24, 2
# of what a question has left at first, what is kept
_KEPT = 0.4


class ProfileReader:
    """Both ends of log delta of the finite losses at any epsilons, `width` apart or as near as can be.

    A pair of contours is laid at the middle of what is still open, serves the stretch about it, and is kept.
    """

    def __init__(self, sources: Sources, width: float) -> None:
        self._direction, self._width = DirectionSearch(sources, _NOTHING), width
        self._pairs: dict[float, tuple[Line, Line]] = {}

    def __call__(self, epsilons: Floats) -> tuple[Floats, Floats]:
        """Return lower and upper ends."""
        direction = self._direction
        low = np.full(epsilons.shape, -np.inf)
        high = np.where(epsilons >= direction.largest, -np.inf, direction.chernoff(epsilons))
        order = np.argsort(epsilons)
        left = order[(high > _NOTHING)[order]]
        room = remaining()
        for middle, which in self._nearest(epsilons[left]):
            self._read(middle, epsilons, left[which], low, high)
        left = self._open(left, low, high)
        for turn in range(_PAIRS):
            if not left.size or (turn and remaining() < _KEPT * room):
                break
            place = left.size // 2
            middle = float(epsilons[left[place]])
            pair = direction.delta(middle, 0.4 * self._width)[2]
            if pair is not None:
                if len(self._pairs) >= _KEPT_PAIRS:
                    self._pairs.pop(next(iter(self._pairs)))
                self._pairs[middle] = pair
                self._read(middle, epsilons, left, low, high)
            left = self._open(np.delete(left, place), low, high)
        return np.minimum(low, high), high

    def _nearest(self, epsilons: Floats) -> list[tuple[float, np.ndarray]]:
        """The kept pairs, each with the places of the epsilons that it is one of the nearest to."""
        if not self._pairs or not epsilons.size:
            return []
        middles = np.array(sorted(self._pairs))
        distance = np.abs(np.subtract.outer(epsilons, middles))
        nearest = np.argsort(distance, axis=1)[:, :_NEAREST]
        places = (
            (float(m), np.flatnonzero((nearest == k).any(axis=1))) for k, m in enumerate(middles)
        )
        return [(middle, which) for middle, which in places if which.size]

    def _read(
        self, middle: float, epsilons: Floats, where: np.ndarray, low: Floats, high: Floats
    ) -> None:
        up, down = (line.log_deltas(epsilons[where]) for line in self._pairs[middle])
        high[where], low[where] = np.minimum(high[where], up), np.maximum(low[where], down)

    def _open(self, left: np.ndarray, low: Floats, high: Floats) -> np.ndarray:
        """Those of which the ends are too far apart; both are -inf where there is nothing."""
        apart = high[left] > np.maximum(low[left], -1e300) + 1.3 * self._width
        return np.asarray(left[apart])

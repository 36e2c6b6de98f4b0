"""Comparison: a claimed number beside the interval in which the truth lies."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpacct.vocabulary import Side


@dataclass(frozen=True)
class Comparison:
    """A claim, and the two ends of the truth in the same unit.

    >>> Comparison(1.0, 1.5, 1.6).excess(Side.UPPER)  # the truth is at least half as large again
    0.3333333333333333
    >>> Comparison(2.0, 1.5, 1.6).excess(Side.UPPER) < 0
    True
    """

    claimed: float
    lower: float
    upper: float

    def excess(self, side: Side) -> float:
        """By how much the claim is missed, relative to the larger number: positive if violated."""
        if math.isnan(self.claimed):
            return math.inf
        if side is Side.UPPER:
            return _relative(self.lower, self.claimed)
        if side is Side.LOWER:
            return _relative(self.claimed, self.upper)
        if side is Side.TWO_SIDED:
            return max(_relative(self.lower, self.claimed), _relative(self.claimed, self.upper))
        return -math.inf


def _relative(larger: float, smaller: float) -> float:
    """(larger - smaller) / size; infinite bounds are beyond everything finite."""
    if larger == smaller:
        return 0.0
    if math.isinf(larger) or math.isinf(smaller):
        return math.copysign(1.0, 1.0 if larger > smaller else -1.0)
    return (larger - smaller) / max(abs(larger), abs(smaller))

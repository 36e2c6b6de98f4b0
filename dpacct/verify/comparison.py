"""Comparison: a claimed number beside the interval in which the truth lies."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpacct.vocabulary import Side


@dataclass(frozen=True)
class Comparison:
    """A claim, and the two ends of the truth in the same unit.

    >>> Comparison(1.0, 1.5, 1.6).excess(Side.UPPER)  # the truth is at least half as large again
    0.4054651081081644
    >>> Comparison(2.0, 1.5, 1.6).excess(Side.UPPER) < 0
    True
    """

    claimed: float
    lower: float
    upper: float

    def excess(self, side: Side) -> float:
        """By how much the claim is missed, as the logarithm of a ratio: positive if violated."""
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
    """log(larger/smaller) where both have one sign, else their difference relative to the larger."""
    if larger == smaller:
        return 0.0
    if math.isinf(larger) or math.isinf(smaller):  # beyond everything finite
        return math.copysign(1e3, 1.0 if larger > smaller else -1.0)
    if larger == 0.0 < smaller:
        return -1e3  # as far as it can be
    if larger == 0.0 or smaller == 0.0 or (larger > 0.0) != (smaller > 0.0):
        return (larger - smaller) / max(abs(larger), abs(smaller))
    share = (larger - smaller) / abs(smaller)
    if abs(share) < 0.5:
        return math.copysign(math.log1p(abs(share)), share)
    sign = 1.0 if larger > 0.0 else -1.0
    return sign * (math.log(abs(larger)) - math.log(abs(smaller)))

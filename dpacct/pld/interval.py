"""Interval: a log delta or an epsilon, with the ends that it lies between."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Interval:
    """A value and its ends; where it is not `resolved` these are mere bounds, and the value a guess.

    `tilt`: where it was read, for a similar question; 0 where nothing is known.
    """

    value: float
    lower: float
    upper: float
    resolved: bool = True
    tilt: float = 0.0

    @classmethod
    def about(cls, value: float, error: float, tilt: float = 0.0) -> Interval:
        """Make an interval that is symmetric about the value; unresolved if the error is not finite.

        >>> Interval.about(2.0, 0.5).lower
        1.5
        """
        if error == 0.0:
            return cls(value, value, value, tilt=tilt)
        if not error < math.inf:
            return cls(value, -math.inf, math.inf, False, tilt)
        return cls(value, value - error, value + error, True, tilt)

    @classmethod
    def of_log(cls, value: float, error: float, tilt: float = 0.0) -> Interval:
        """The log of a probability whose relative error is this."""
        if value > -math.inf and error < 1.0:
            ends = value + math.log1p(-error), min(0.0, value + math.log1p(error))
            return cls(min(value, 0.0), *ends, True, tilt)
        return cls.about(value, error if error < 1.0 else math.inf, tilt)

    @classmethod
    def between(cls, lower: float, upper: float, resolved: bool = True) -> Interval:
        """The middle of two ends; the upper one where there is none below."""
        value = 0.5 * (lower + upper) if lower > -math.inf else upper
        return cls(value, lower, upper, resolved)

    @property
    def error(self) -> float:
        """The largest distance of an end from the value; inf where it is not resolved."""
        if self.lower == self.upper:
            return 0.0
        return max(self.upper - self.value, self.value - self.lower) if self.resolved else math.inf

    def larger(self, other: Interval) -> Interval:
        """The larger of two numbers; its ends are those of the maximum."""
        first, second = (self, other) if self.value >= other.value else (other, self)
        if second.upper == -math.inf:
            return first
        return Interval(
            first.value,
            min(first.value, max(first.lower, second.lower)),
            max(first.upper, second.upper),
            first.resolved and (second.resolved or second.upper <= first.lower),
        )

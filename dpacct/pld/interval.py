"""Interval: what is known of one number, with its strength."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from dpacct.vocabulary import Side, Strength


@dataclass(frozen=True)
class Interval:
    """lower <= truth <= upper; `value` lies between, the one number to name. An end not known is infinite.

    >>> Interval(1.0, 1.5, 2.0, Strength.BOUND).side
    <Side.TWO_SIDED: 'two-sided'>
    >>> Interval.at_most(2.0, Strength.BOUND).side
    <Side.UPPER: 'upper'>
    """

    lower: float
    value: float
    upper: float
    strength: Strength

    @classmethod
    def exactly(cls, value: float, strength: Strength = Strength.CONVERGED) -> Interval:
        """Both ends at the value."""
        return cls(value, value, value, strength)

    @classmethod
    def at_most(cls, value: float, strength: Strength) -> Interval:
        """Known from above only."""
        return cls(-math.inf, value, value, strength)

    @classmethod
    def around(
        cls, value: float, error: float, strength: Strength = Strength.CONVERGED
    ) -> Interval:
        """A value with an absolute error."""
        return cls(value - error, value, value + error, strength)

    @property
    def side(self) -> Side:
        """Which ends are known."""
        below, above = self.lower > -math.inf, self.upper < math.inf or self.lower == math.inf
        if below:
            return Side.TWO_SIDED if above else Side.LOWER
        return Side.UPPER if above else Side.NONE

    @property
    def width(self) -> float:
        """upper - lower, relative to the larger size of the two; 0 where both are the same."""
        if self.lower == self.upper:
            return 0.0
        return (self.upper - self.lower) / max(abs(self.lower), abs(self.upper), 1e-300)

    def map(self, rising: Callable[[float], float]) -> Interval:
        """The interval of a non-decreasing function of the number."""
        return replace(
            self, lower=rising(self.lower), value=rising(self.value), upper=rising(self.upper)
        )

    def __and__(self, other: Interval) -> Interval:
        """What both leave, the value inside; raises `ValueError` where they do not meet."""
        lower, upper = max(self.lower, other.lower), min(self.upper, other.upper)
        if not lower <= upper:
            raise ValueError(f"[{self.lower!r}, {self.upper!r}] and {other!r} do not meet")
        value = min(max(self.value, lower), upper)
        return Interval(lower, value, upper, Strength.weakest((self.strength, other.strength)))


def worst(intervals: Iterable[Interval]) -> Interval:
    """The interval of the largest of several numbers."""
    found = tuple(intervals)
    lower, upper = max(one.lower for one in found), max(one.upper for one in found)
    value = max(one.value for one in found)
    return Interval(lower, value, upper, Strength.weakest(one.strength for one in found))

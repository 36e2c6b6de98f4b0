"""Meter: what was bounded and drawn under one name, measured on what came out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpacct as dp

STANDARD_ERRORS = 8.0
"""A measured variance further from the accounted one is refused; an honest one is, with chance 1e-15."""
ENOUGH = 30
"""Fewer numbers are judged at the end of the run only, all rounds together."""


@dataclass
class Meter:
    """`bounded`: rows that were clipped. `squares`: sum of (noise / its accounted std)^2."""

    bounded: int = 0
    vectors: int = 0
    numbers: int = 0
    squares: float = 0.0

    @property
    def ratio(self) -> float:
        """Measured variance over the accounted one; 1 where nothing was drawn."""
        return self.squares / self.numbers if self.numbers else 1.0

    def measure(self, noise: NDArray[np.float64], variance: float, kurtosis: float) -> None:
        """Count a noise that was just added, unless it cannot be the accounted one.

        Raises `AssumptionViolated`, before anything is released.
        """
        drawn = noise.ravel()
        fresh = Meter(0, 1, drawn.size, float(np.dot(drawn, drawn)) / variance)
        fresh.check(kurtosis)
        self.take(fresh)

    def take(self, other: Meter) -> None:
        """Add what another meter measured."""
        self.bounded += other.bounded
        self.vectors += other.vectors
        self.numbers += other.numbers
        self.squares += other.squares

    def check(self, kurtosis: float) -> None:
        """Raise `AssumptionViolated` where the variance is not the accounted one.

        The variance of n numbers with E z^4 = kurtosis has a standard error of
        sqrt((kurtosis - 1) / n).
        """
        if self.numbers < ENOUGH:
            return
        tolerance = STANDARD_ERRORS * math.sqrt((kurtosis - 1.0) / self.numbers)
        if not abs(self.ratio - 1.0) <= tolerance:  # nan fails too
            message = f"noise of {self.ratio:.6g} times the accounted variance was drawn"
            raise dp.AssumptionViolated(message, argument="noise")


class Meters(dict[str, Meter]):
    """By name of what the noise hides; a new name has an empty meter."""

    def __missing__(self, name: str) -> Meter:
        return self.setdefault(name, Meter())

    def add(self, others: Meters) -> None:
        """Take in what another site measured."""
        for name, meter in others.items():
            self[name].take(meter)

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """As JSON values, sorted by name."""
        return {name: dict(vars(self[name])) for name in sorted(self)}

    @classmethod
    def from_dict(cls, values: dict[str, dict[str, Any]]) -> Meters:
        """What `to_dict` returned."""
        return cls({name: Meter(**fields) for name, fields in values.items()})

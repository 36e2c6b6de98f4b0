"""Claims of papers, judged over seeds: runs of one seed share data and coins, so differences go by seed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, stdev
from typing import Any

from scipy.special import stdtrit

from dpacct import InvalidArgument
from dpacct_training.accept import one_of, real
from studies.measures import MEASURES

HELD, NOT_HELD, UNDECIDED = "held", "not held", "undecided"
LEVEL = 0.95
LEAST_SEEDS = 3
"""Fewer runs decide nothing, however far apart they are."""


@dataclass(frozen=True)
class VariantClaim:
    """[[claim]]: a variant's `measure` is greater than another variant's by more than `by`.

    `says`: in the paper's sense, with the place. `at`: for which settings of the sweep. `than_measure`:
    of the other side, where it is another one. `printed`: the paper's own numbers; `printed_epsilon`:
    what it says that they cost. Raises `InvalidArgument`.
    """

    says: str
    greater: str
    than: str
    by: float = 0.0
    measure: str = "accuracy"
    than_measure: str | None = None
    at: Mapping[str, Any] = field(default_factory=dict)
    printed: str = ""
    printed_epsilon: str = ""

    def __post_init__(self) -> None:
        real("by", self.by, -math.inf)
        for _, name in self.sides:
            one_of("measure", name, MEASURES)
        if self.sides[0] == self.sides[1]:
            message = f"greater and than must differ, got {self.greater!r} twice"
            raise InvalidArgument(message, argument="than")

    @property
    def sides(self) -> tuple[tuple[str, str], tuple[str, str]]:
        """(variant, measure) of the side that should be greater, then of the other."""
        return (self.greater, self.measure), (self.than, self.than_measure or self.measure)

    def judged(self, greater: Sequence[float], than: Sequence[float]) -> Verdict:
        """Judge the claim by values for the same seeds, in the same order."""
        differences = [a - b for a, b in zip(greater, than, strict=True)]
        return Verdict(self, tuple(greater), tuple(than), *interval(differences))


@dataclass(frozen=True)
class Verdict:
    """The mean difference, and an interval that covers the true one with probability `LEVEL`."""

    claim: VariantClaim
    greater: tuple[float, ...]
    than: tuple[float, ...]
    difference: float
    low: float
    high: float

    @property
    def interval(self) -> str:
        """Return the difference and its interval in words."""
        return f"{self.difference:+.2f} [{self.low:+.2f}, {self.high:+.2f}]"

    @property
    def word(self) -> str:
        """`HELD` or `NOT_HELD` where the whole interval says so, else `UNDECIDED`."""
        if len(self.greater) < LEAST_SEEDS:
            return UNDECIDED
        if self.low > self.claim.by:
            return HELD
        return NOT_HELD if self.high < self.claim.by else UNDECIDED


def interval(differences: Sequence[float], level: float = LEVEL) -> tuple[float, float, float]:
    """(mean, low, high) of Student's interval; the whole line where there is one value only."""
    count, mean = len(differences), fmean(differences or [math.nan])
    if count < 2:
        return mean, -math.inf, math.inf
    half = float(stdtrit(count - 1, 0.5 + level / 2)) * stdev(differences) / math.sqrt(count)
    return mean, mean - half, mean + half

"""Directions of a plan that are told by how many large losses there are (dpacct.pld.rare)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from dpacct.pld.loss import Branch, Reversed, Sampled, gaussian, laplace
from dpacct.pld.moments import Part, Summand
from dpacct.pld.stable import TooFine, quiet

if TYPE_CHECKING:
    from dpacct.pld.rare import Question
    from dpacct.pld.rare_law import SampledLaw

# expected number of sampled steps below which this comes before any contour, and up to which after them
FEW_HITS, MOST_HITS = 1.0, 40.0
# different laws in one plan, at most: terms are counted by how many large losses each has
_MOST_LAWS = 3
# what the rounding of rates, scales and sums over all steps may do to epsilon, relative
_INPUTS = 1e-12

Ends = tuple[float, float, float]
"""A value, and the ends that it lies between."""


class _Counted(NamedTuple):
    """A law whose large losses can be counted: sampled Gaussian or Laplace noise."""

    branch: Branch
    rate: float
    reversed: bool
    mirrored: bool


def _counted(law: Summand) -> _Counted | None:
    """The law as one that can be counted; None where it is another one."""
    if not law.branches or law.inner is not None:
        return None
    branch = law.branches[0]
    kinds = [type(operator) for operator in branch.chain]
    # the largest loss of Laplace noise is an atom
    if kinds not in ([Sampled], [Sampled, Reversed]) or not (branch.square or law.losses.any()):
        return None
    first = branch.chain[0]
    assert isinstance(first, Sampled)
    mirrored = len(law.branches) > 1
    return _Counted(branch, float(first.rate), len(kinds) > 1 and not mirrored, mirrored)


def _sampled(law: _Counted) -> SampledLaw:
    """As the expansion takes it (imported late: most plans need none of it)."""
    from dpacct.pld.rare_law import SampledLaw

    branch = law.branch
    release = gaussian(branch.steep) if branch.square else laplace(branch.high)
    return SampledLaw(release, law.rate, law.mirrored)


@dataclass(frozen=True)
class LowSampling:
    """One direction of a plan of few hits."""

    laws: Sequence[tuple[_Counted, float]]
    hits: float
    exchanged: bool

    @classmethod
    def of(cls, laws: Sequence[Part]) -> LowSampling | None:
        """None where some law is of another kind, hits are many, or there is just one release."""
        if not 0 < len(laws) <= _MOST_LAWS or (len(laws) == 1 and laws[0][1] == 1.0):
            return None
        results = [(_counted(law), n) for law, n in laws]
        sampled = [(law, n) for law, n in results if law is not None]
        if len(sampled) < len(laws):
            return None
        ways = {law.reversed for law, _ in sampled}
        hits = sum(n * law.rate for law, n in sampled)
        return cls(sampled, hits, ways.pop()) if hits < MOST_HITS and len(ways) == 1 else None

    @cached_property
    def question(self) -> Question:
        """What the expansion over counts of large losses is asked."""
        from dpacct.pld.rare import Question

        laws = [(_sampled(law), n) for law, n in self.laws]
        return Question(laws, reverse=self.exchanged)

    @property
    def steps(self) -> float:
        """Of all laws together."""
        return sum(n for _, n in self.laws)

    @property
    def log_touched(self) -> float:
        """log of the probability that some step touches the record at all: delta is never above it."""
        return math.log(-math.expm1(sum(n * math.log1p(-law.rate) for law, n in self.laws)))

    def log_delta(self, epsilon: float) -> Ends | None:
        """log delta at epsilon; None where nothing tells."""
        try:
            with quiet():
                reading = self.question.read(epsilon)
        except (ArithmeticError, TooFine):
            return None
        lower, upper = reading.ends
        return min(max(reading.log_delta, lower), upper), lower, upper

    def epsilon(self, log_target: float) -> Ends | None:
        """epsilon at this log delta; None where nothing tells."""
        try:
            with quiet():
                value, lower, upper = self.question.solve(log_target)
        except (ArithmeticError, TooFine):
            return None
        # parameters are doubles
        lower, upper = lower * (1.0 - _INPUTS), upper * (1.0 + _INPUTS)
        return min(max(value, lower), upper), lower, upper

    def bound(self, epsilon: float) -> float:
        """log delta is at most this."""
        with suppress(ArithmeticError, TooFine), quiet():
            return min(self.log_touched, self.question.bound(epsilon))
        return self.log_touched

    def surely_below(self, log_target: float, epsilon: float) -> bool:
        """Whether delta(epsilon) is shown to be below e^log_target."""
        with quiet():
            return self.question.surely_below(log_target, epsilon)

    def estimate(self, epsilon: float) -> float:
        """About log delta; NaN where nothing tells."""
        try:
            with quiet():
                return min(0.0, self.question.rough(epsilon))
        except (ArithmeticError, TooFine):
            return math.nan

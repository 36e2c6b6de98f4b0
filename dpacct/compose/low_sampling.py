"""Directions of a plan that are told by how many large losses there are (dpacct.pld.rare)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpacct.curves.amplify import Direction as Way
from dpacct.curves.gaussian_laws import SampledGaussianLaw
from dpacct.curves.half_gaussian import SymmetricGaussianLaw
from dpacct.curves.laplace import LaplaceLaw
from dpacct.engine.invert import Solved
from dpacct.engine.law import Law
from dpacct.pld.stable import TooFine

if TYPE_CHECKING:
    from dpacct.pld.rare import Question
    from dpacct.pld.rare_law import SampledLaw

# expected number of sampled steps below which this comes before any contour, and up to which after them
FEW_HITS, MOST_HITS = 1.0, 40.0
# different laws in one plan, at most: terms are counted by how many large losses each has
_MOST_LAWS = 3


def _gaussian(law: SampledGaussianLaw) -> tuple[SampledLaw, bool] | None:
    from dpacct.pld.rare_law import Normal, SampledLaw

    return SampledLaw(Normal(1.0 / law.sigma), law.rate), not law.remove


def _fixed_size(law: SymmetricGaussianLaw) -> tuple[SampledLaw, bool] | None:
    from dpacct.pld.rare_law import Normal, SampledLaw

    return SampledLaw(Normal(1.0 / law.sigma), law.rate, mirrored=True), False


def _laplace(law: LaplaceLaw) -> tuple[SampledLaw, bool] | None:
    from dpacct.pld.rare_law import Exponential, SampledLaw

    if law.direction is Way.PLAIN:
        return None
    mirrored = law.direction is Way.SYMMETRIC
    return SampledLaw(Exponential(law.lam), law.rate, mirrored), law.direction is Way.ADD


_KNOWN: dict[type, Callable[[Any], tuple[SampledLaw, bool] | None]] = {
    SampledGaussianLaw: _gaussian,
    SymmetricGaussianLaw: _fixed_size,
    LaplaceLaw: _laplace,
}


@dataclass(frozen=True)
class LowSampling:
    """One direction of a plan of few hits."""

    question: Question
    hits: float

    @classmethod
    def of(cls, laws: Sequence[tuple[Law, float]]) -> LowSampling | None:
        """None where some law is of another kind, hits are many, or there is just one release."""
        if not 0 < len(laws) <= _MOST_LAWS or (len(laws) == 1 and laws[0][1] == 1.0):
            return None
        if any(type(law) not in _KNOWN for law, _ in laws):
            return None
        stated = [(_KNOWN[type(law)](law), n) for law, n in laws]
        parts = [(pair[0], n) for pair, n in stated if pair is not None]
        ways = {pair[1] for pair, _ in stated if pair is not None}
        hits = sum(n * law.rate for law, n in parts)
        if len(parts) < len(laws) or len(ways) != 1 or hits >= MOST_HITS:
            return None
        from dpacct.pld.rare import Question

        return cls(Question(parts, reverse=ways.pop()), hits)

    @property
    def log_touched(self) -> float:
        """log of the probability that some step touches the record at all: delta is never above it."""
        return math.log(
            -math.expm1(sum(n * math.log1p(-law.rate) for law, n in self.question.laws))
        )

    def log_delta(self, epsilon: float) -> Solved | None:
        """log delta at epsilon; None where nothing tells."""
        try:
            reading = self.question.read(epsilon)
        except (ArithmeticError, TooFine):
            return None
        lower, upper = reading.ends
        return Solved(min(max(reading.log_delta, lower), upper), lower, upper)

    def epsilon(self, log_target: float) -> Solved | None:
        """epsilon at this log delta; None where nothing tells."""
        try:
            value, lower, upper = self.question.solve(log_target)
        except (ArithmeticError, TooFine):
            return None
        return Solved(min(max(value, lower), upper), lower, upper)

    def surely_below(self, log_target: float, epsilon: float) -> bool:
        """Whether delta(epsilon) is shown to be below e^log_target."""
        return self.question.surely_below(log_target, epsilon)

    def estimate(self, epsilon: float) -> float:
        """About log delta; NaN where nothing tells."""
        try:
            return min(0.0, self.question.rough(epsilon))
        except (ArithmeticError, TooFine):
            return math.nan

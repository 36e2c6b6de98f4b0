"""The abscissa of the line: the saddle of the integrand for a given epsilon, or for a given delta."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from .contour import Families, Totals, totals
from .law import Law

Laws = Sequence[tuple[Law, float]]

_SPAN = 2.5


class Saddle:
    """Newton's method for log c, with the laws prepared over a range of tilts around the guess."""

    def __init__(self, laws: Laws, c: float, reach: float = math.inf) -> None:
        self._laws = laws
        self._reach = reach
        self._prepare(c)

    def _prepare(self, c: float) -> None:
        self._low, self._high = c / _SPAN, c * _SPAN
        self.families: Families = [
            (law.prepare(self._low, self._high, self._reach), count) for law, count in self._laws
        ]

    def at(self, c: float, quick: bool = False) -> Totals:
        if not self._low <= c <= self._high:
            self._prepare(c)
        return totals(self.families, c, quick)

    def solve(
        self, gap: Callable[[Totals], tuple[float, float]], c: float, tolerance: float
    ) -> Totals:
        """Find c where gap = 0; gap increases in c and returns its value and d gap/d log c."""
        low, high = 0.0, math.inf
        quick = True
        for _ in range(200):
            total = self.at(c, quick)
            value, slope = gap(total)
            if abs(value) <= tolerance and quick:
                quick, low, high = False, 0.0, math.inf
                total = self.at(c)
                value, slope = gap(total)
            if abs(value) <= tolerance and not quick:
                return total
            if value > 0.0:
                high = c
            else:
                low = c
            move = (
                max(-2.0, min(2.0, -value / slope)) if slope > 0.0 else math.copysign(1.0, -value)
            )
            proposal = min(max(c * math.exp(move), 1e-140), 1e140)
            if not low < proposal < high:
                proposal = math.sqrt(low * high) if low > 0.0 else 0.5 * high
            if proposal == c or (math.isfinite(high) and high - low <= 1e-13 * high):
                return self.at(c)
            c = proposal
        return self.at(c)

    def for_log_delta(self, log_delta: float, c: float) -> Totals:
        """d log delta/d eps = -c at the saddle and d eps/d c = F'', so d log delta/d log c = -c^2 F''."""

        def gap(total: Totals) -> tuple[float, float]:
            estimate = total.log_delta_estimate(total.saddle_epsilon)
            return log_delta - estimate, total.c**2 * total.curvature

        return self.solve(gap, c, 0.3)

    def for_epsilon(self, epsilon: float, c: float, tolerance: float = 0.1) -> Totals:
        def gap(total: Totals) -> tuple[float, float]:
            scale = 1.0 / math.sqrt(total.curvature)
            return (total.saddle_epsilon - epsilon) * scale, total.c / scale

        return self.solve(gap, c, tolerance)


def _variance(laws: Laws) -> float:
    return max(sum(count * law.variance_hint for law, count in laws), 1e-300)


def first_guess(laws: Laws, log_delta: float) -> float:
    """c of a Gaussian mechanism with the same variance: about sqrt(2 log 1/delta)/mu."""
    guess = (math.sqrt(max(-2.0 * log_delta, 0.0)) + 0.3) / math.sqrt(_variance(laws))
    return min(guess, *(law.tilt_hint for law, _ in laws))


def guess_for_epsilon(laws: Laws, epsilon: float) -> float:
    """The same where epsilon is given: mu^2 (c + 1/2) - 1/c = epsilon, with 1/(1 + c) left out."""
    variance = _variance(laws)
    excess = epsilon - 0.5 * variance
    guess = 0.5 * (excess + math.hypot(excess, 2.0 * math.sqrt(variance))) / variance
    if excess < 0.0:  # the same without cancellation
        guess = 2.0 / (math.hypot(excess, 2.0 * math.sqrt(variance)) - excess)
    return min(guess, *(law.tilt_hint for law, _ in laws))


def reach_for(laws: Laws, log_delta: float) -> float:
    """Deviations of the noise beyond which all tails together are below e^{-50} of delta."""
    steps = sum(count for _, count in laws)
    return math.sqrt(2.0 * (50.0 - log_delta + math.log(steps)))

"""The certified route: a proven interval instead of a converged number."""

from __future__ import annotations

import math
from fractions import Fraction

from dpacct.compose.composition import Composition
from dpacct.declare.number import ln
from dpacct.errors import NotCertified
from dpacct.vocabulary import Side, Strength

from .route import Finding, Route

_BASIS = "enclosed in balls, every truncation bounded: docs/theory/certificate.md"
_WIDTH = 4e-10
# a float is taken for every number that it may stand for: questions give logs and doubles, rounded
_ROUNDING = Fraction(1, 10**12)


class Certified(Route):
    """Ball arithmetic; raises `NotCertified` where no proof is reached.

    Routes are asked with floats, so the question is widened by its rounding and both its ends are
    proven; `dpacct.compose.certified` takes exact numbers, and gives more digits and a certificate.
    """

    name = "certified"

    def _finding(self, plan: Composition, value: float, lower: float, upper: float) -> Finding:
        basis = (*plan.basis, _BASIS)
        return Finding(value, lower, upper, Side.TWO_SIDED, Strength.PROVED, basis)

    def epsilon(self, plan: Composition, log_delta: float) -> Finding:
        """Epsilon proven at both ends of what the rounded log delta may stand for."""
        from dpacct.compose.certified import above, below, prepared

        proof = prepared(plan)
        target = _exp(log_delta)
        upper = proof.epsilon(target * (1 - _ROUNDING), _WIDTH)
        lower = proof.epsilon(target * (1 + _ROUNDING), _WIDTH)
        ends = below(lower.lower), above(upper.upper)
        return self._finding(plan, 0.5 * (ends[0] + ends[1]), *ends)

    def log_delta(self, plan: Composition, epsilon: float) -> Finding:
        """Log delta, proven at both ends of what the rounded epsilon may stand for."""
        from dpacct.compose.certified import prepared

        proof = prepared(plan)
        at = Fraction(epsilon)
        answer = proof.delta(at, _WIDTH)
        if epsilon == 0.0:
            upper = lower = answer
        else:
            upper = proof.delta(at * (1 - _ROUNDING), _WIDTH)
            lower = proof.delta(at * (1 + _ROUNDING), _WIDTH)
        if not lower.lower > 0:
            raise NotCertified(f"delta at epsilon {epsilon:.6g} has no positive proven lower end")
        # ln rounds; its error is far below this margin
        low, high = ln(lower.lower), ln(upper.upper)
        margin = 1e-14 * (1.0 + abs(low))
        value = answer.lower + (answer.upper - answer.lower) / 2
        ends = low - margin, high + margin
        return self._finding(plan, min(max(ln(value), ends[0]), ends[1]), *ends)


def _exp(log_value: float) -> Fraction:
    """About e^log_value, to 1e-15 relative, also below the range of floats."""
    scale = math.floor(log_value / math.log(2.0))
    part = Fraction(math.exp(log_value - scale * math.log(2.0)))
    return part * Fraction(2) ** scale

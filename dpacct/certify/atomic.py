"""Opaque guarantees in balls: finitely many outcomes, so every composition is a finite sum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb, ctx

from dpacct.errors import NotCertified, Unsupported

from .balls import ball
from .effort import spend, sum_cost
from .fold import MOST_POINTS, Point, folded, stick

PLAIN, REMOVE, ADD, SYMMETRIC = "plain", "remove", "add", "symmetric"


@dataclass(frozen=True)
class AtomicStep:
    """Randomised response at `epsilon` beside an open failure of probability `delta`, sampled."""

    epsilon: Fraction
    delta: Fraction
    rate: Fraction
    kind: str

    def outcomes(self) -> list[tuple[arb, arb]]:
        """(P, Q) probability of each outcome."""
        growth, d, rate = ball(self.epsilon).exp(), ball(self.delta), ball(self.rate)
        low = (1 - d) / (1 + growth)
        plain = [(low * growth, low), (low, low * growth)]
        if self.delta:
            plain += [(d, arb(0)), (arb(0), d)]
        if self.kind == PLAIN:
            return plain
        if self.kind == SYMMETRIC:
            # what favours P, its mirror image, and no evidence for (1 - rate) of the difference
            favoured = [plain[0], *plain[2:3]]
            high = [(rate * p + (1 - rate) * q, q) for p, q in favoured]
            rest = (1 - rate) * sum((p - q for p, q in favoured), arb(0))
            return [*high, *((q, p) for p, q in high), (rest, rest)]
        mixed = [(rate * p + (1 - rate) * q, q) for p, q in plain]
        return mixed if self.kind == REMOVE else [(q, p) for p, q in mixed]

    def points(self) -> tuple[list[Point], arb]:
        """(loss, P-mass) of the outcomes possible under both, and the P-mass of the others."""
        finite, escaped = [], arb(0)
        for p, q in self.outcomes():
            if q.is_zero():
                escaped += p
            elif not p.is_zero():
                finite.append(((p / q).log(), p))
        return finite, escaped

    def one_step(self, epsilon: arb) -> arb:
        """Delta of one step."""
        return finite_sum([(self, 1)], epsilon)

    def ceiling(self) -> arb:
        """The largest loss; none where an outcome is impossible under Q."""
        finite, escaped = self.points()
        if not escaped.is_zero():
            return arb.pos_inf()
        highest = finite[0][0]
        for loss, _ in finite[1:]:
            highest = highest.max(loss)
        return highest

    def top(self) -> arb:
        """Not used: a finite sum gives delta itself."""
        return arb(0)

    def prepare(self, c: arb, rule: Any) -> Any:
        """There is no contour for it: raises `Unsupported`."""
        told = "guarantees taken on trust are certified among themselves only, not beside noise"
        raise Unsupported(told, argument="method")

    def rule_from_json(self, fields: dict[str, Any]) -> Any:
        """There is no contour for it: raises `Unsupported`."""
        return self.prepare(arb(1), fields)


def finite_sum(steps: Sequence[tuple[AtomicStep, int]], epsilon: arb) -> arb:
    """1 - prod (1 - escaped)^T + sum of mass (1 - e^{eps - loss})_+, eq. (18)."""
    kept = arb(1)
    points: list[Point] = [(arb(0), arb(1))]
    for step, count in steps:
        finite, escaped = step.points()
        kept *= (1 - escaped) ** count
        more = folded(finite, count)
        if len(points) * len(more) > MOST_POINTS:
            raise NotCertified(
                f"the plan has more than {MOST_POINTS} outcomes: the value is withheld"
            )
        spend(sum_cost(len(points) * len(more), ctx.prec))
        points = [(x + y, p * m) for x, p in points for y, m in more]
    return 1 - kept + sum((mass * stick(epsilon - loss) for loss, mass in points), arb(0))

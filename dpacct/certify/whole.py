"""What is proven of a composition without a contour: ceilings, closed forms, moment bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from flint import arb

from .atomic import AtomicStep, finite_sum
from .laplace import PLAIN, LaplaceStep
from .line import payoff_peak
from .plan import Laws

FEW_STEPS = 1500
"""Laplace steps, repeated, for which a finite sum is tried before a contour."""
MOST_STEPS = 200_000


def largest_loss(laws: Laws) -> arb:
    """Upper bound of the composed loss; delta is 0 from there on."""
    return sum((count * law.ceiling() for law, count in laws), arb(0))


def top_outcome(laws: Laws, epsilon: arb) -> arb:
    """Lower bound of delta: what the largest possible loss alone contributes, eq. (19)."""
    mass, ceiling = arb(1), largest_loss(laws)
    for law, count in laws:
        mass *= law.top() ** count
    if mass.is_zero() or not ceiling > epsilon:
        return arb(0)
    return -mass * (epsilon - ceiling).expm1()


def has_closed_form(laws: Laws, most: int = MOST_STEPS) -> bool:
    """Whether one formula may give delta, with no more than `most` Laplace steps; slow ones at last."""
    if len(laws) == 1:
        law, count = laws[0]
        if count == 1:
            return True
        if isinstance(law, LaplaceStep) and count <= most:
            return law.kind == PLAIN or most == MOST_STEPS
    return all(isinstance(law, AtomicStep) for law, _ in laws)


def closed_form(laws: Laws, epsilon: arb, most: int = MOST_STEPS) -> arb | None:
    """delta(eps) where one formula gives it; None elsewhere."""
    if not has_closed_form(laws, most):
        return None
    law, count = laws[0]
    if len(laws) == 1 and count == 1:
        return law.one_step(epsilon)
    if isinstance(law, LaplaceStep):
        return law.repeated(count, epsilon)
    return finite_sum([(one, n) for one, n in laws if isinstance(one, AtomicStep)], epsilon)


def chernoff(laws: Laws, rules: Sequence[object], c: arb, epsilon: arb) -> arb:
    """delta(eps) <= M(c) e^{-c eps} c^c/(1+c)^{1+c}, any c > 0, eq. (10)."""
    log_moment = arb(0)
    for (law, count), rule in zip(laws, rules, strict=True):
        log_moment += count * law.prepare(c, rule).at_c.log()
    return ((log_moment - c * epsilon).exp() * payoff_peak(c)).upper()


def rules_from_json(laws: Laws, told: Sequence[dict[str, Any] | None]) -> list[object]:
    """Each law's rule, read from a certificate."""
    return [
        None if fields is None else law.rule_from_json(fields)
        for (law, _), fields in zip(laws, told, strict=True)
    ]


def size(rule: Any) -> int:
    """Terms and cells of a rule; 1 where there is nothing to choose."""
    return 1 if rule is None else int(rule.size)


def rules_to_json(rules: Sequence[Any]) -> list[dict[str, Any] | None]:
    """Each law's rule, for a certificate."""
    return [None if rule is None else asdict(rule) for rule in rules]

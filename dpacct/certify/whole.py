"""What is proven of a composition without a contour: ceilings, closed forms, moment bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from flint import arb

from .atomic import AtomicStep, finite_sum
from .laplace import LaplaceStep
from .line import payoff_peak
from .plan import Laws


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


def closed_form(laws: Laws, epsilon: arb) -> arb | None:
    """delta(eps) where one formula gives it; None elsewhere."""
    if len(laws) == 1 and laws[0][1] == 1:
        return laws[0][0].one_step(epsilon)
    if len(laws) == 1 and isinstance(laws[0][0], LaplaceStep):
        return laws[0][0].repeated(laws[0][1], epsilon)
    atomic = [(law, count) for law, count in laws if isinstance(law, AtomicStep)]
    return finite_sum(atomic, epsilon) if len(atomic) == len(laws) else None


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


def rules_to_json(rules: Sequence[Any]) -> list[dict[str, Any] | None]:
    """Each law's rule, for a certificate."""
    return [None if rule is None else asdict(rule) for rule in rules]

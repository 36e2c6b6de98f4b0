"""What is proven of a composition without a contour: ceilings, closed forms, moment bounds."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from flint import arb, ctx

from . import between
from .lattice import kept, places
from .line import log_moment, payoff_peak, prepared
from .outcomes import MOST_POINTS, Composition, count_outcomes, three_losses
from .plan import Laws, Step
from .rule import Rules

_FEW_BETWEEN = 20.0, 70.0
"""Losses between the atoms up to which a finite sum of Laplace steps is tried before a contour: of many
steps, and of so few that one power series is cheap."""
MOST_STEPS = 200_000
_SERIES = (
    300  # steps up to which one power series costs less than a sum over what lies between the atoms
)
FEW_OUTCOMES = 4000
"""Points of a composition that are listed even where they lie on a lattice."""
Discrete = tuple[tuple[Step, int], ...]


def discrete(laws: Laws) -> Discrete:
    """The plan's steps where all have finitely many outcomes; else none."""
    return () if any(step.law().branches for step, _ in laws) else laws


def outcomes(laws: Discrete) -> int:
    """How many points their composition has."""
    return count_outcomes([(len(step.law().atoms), count) for step, count in laws])


@lru_cache(maxsize=4)
def _composed(laws: Discrete, bits: int) -> Composition:
    return Composition([(step.law().atoms, count) for step, count in laws])


def finite_sum(laws: Discrete, epsilon: arb) -> arb:
    """1 - prod (1 - infinite)^T + sum of mass (1 - e^{eps - loss})_+, eq. (18)."""
    return 1 - kept(laws) + _composed(laws, ctx.prec).delta(epsilon)


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


def has_closed_form(laws: Laws, slow: bool = True) -> bool:
    """Whether one formula may give delta; of many Laplace steps only where slow ones are allowed."""
    if len(laws) == 1:
        law, count = laws[0]
        if count == 1:
            return True
        if law.spaced and count <= MOST_STEPS:
            inside = -count * math.expm1(-law.numbers[0])
            return slow or (law.rate == 1 and inside < _FEW_BETWEEN[count <= _SERIES])
    steps = discrete(laws)
    if not steps:
        return False
    count = outcomes(steps)
    if count <= FEW_OUTCOMES:
        return True
    return (count <= MOST_POINTS or _of_three(steps)) and places(steps) is None


def _of_three(steps: Discrete) -> bool:
    """Whether one law is repeated, with three losses."""
    return len(steps) == 1 and len(steps[0][0].law().atoms) == 3


def closed_form(laws: Laws, epsilon: arb, slow: bool = True) -> arb | None:
    """delta(eps) where one formula gives it; None elsewhere."""
    if not has_closed_form(laws, slow):
        return None
    law, count = laws[0]
    if len(laws) == 1 and count == 1:
        return law.one_step(epsilon)
    if law.spaced:
        return repeated(law, count, epsilon)
    steps = discrete(laws)
    if outcomes(steps) > FEW_OUTCOMES and _of_three(steps):
        return 1 - kept(steps) + three_losses(law.law().atoms, count, epsilon)
    return finite_sum(steps, epsilon)


def repeated(step: Step, count: int, epsilon: arb) -> arb | None:
    """Delta of Laplace steps as a finite sum, eq. (11) or (27); None: there are too many terms."""
    b = 1 / Fraction(step.numbers[0])
    if step.rate == 1 and count <= _SERIES:
        return between.residues(count, b, epsilon)
    value = between.by_draws(step, count, epsilon)
    if value is None and step.rate == 1 and count <= between.MOST_TERMS:
        return between.residues(count, b, epsilon)
    return value


def chernoff(laws: Laws, rules: Rules, tilt: float, epsilon: arb) -> arb:
    """delta(eps) <= M(c) e^{-c eps} c^c/(1+c)^{1+c}, any c > 0, eq. (10)."""
    c, log = arb(tilt), log_moment(prepared(laws, rules, tilt))
    return ((log - c * epsilon).exp() * payoff_peak(c)).upper()

"""The decision whether a plan meets (epsilon, delta), for calibrations, plans and ledgers."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from dpacct.answer import Answer
from dpacct.declare.number import ln
from dpacct.errors import NotCertified, Unsupported
from dpacct.plan.node import Node
from dpacct.plan.routes import safe_log_delta
from dpacct.vocabulary import Adjacency

_TIE = 1e-6
"""Relative distance from the target within which more than one way is tried."""


@dataclass(frozen=True)
class Decision:
    """The decision on a target, and the epsilon that was computed first."""

    met: bool
    cost: Answer


def cost(node: Node, *, delta: Fraction, adjacency: Adjacency) -> Answer:
    """Epsilon at delta: the exact engine, or Renyi where nothing else is known."""
    try:
        return node.epsilon(delta=delta, method="exact", adjacency=adjacency)
    except Unsupported:
        return node.epsilon(delta=delta, method="rdp", adjacency=adjacency)


def decide(node: Node, *, epsilon: Fraction, delta: Fraction, adjacency: Adjacency) -> Decision:
    """Return whether the plan is (epsilon, delta)-DP.

    A calibration ends where an upper end of *delta* just meets its target, or a proof does; an upper
    end of *epsilon* at that very noise may lie above the target by its own rounding. Each is sound,
    so that at a tie any of them decides: epsilon, then delta as calibrations ask it, then a proof.
    """
    first = cost(node, delta=delta, adjacency=adjacency)
    if float(first) <= epsilon:
        return Decision(True, first)
    least = first.value if first.lower is None else first.lower
    if least > float(epsilon) * (1.0 + _TIE):
        return Decision(False, first)
    _, log_delta = safe_log_delta(node, float(epsilon), method=first.method, adjacency=adjacency)
    if log_delta <= ln(delta):
        return Decision(True, first)
    return Decision(_proved(node, epsilon, delta, adjacency), first)


def _proved(node: Node, epsilon: Fraction, delta: Fraction, adjacency: Adjacency) -> bool:
    from dpacct.plan import certified
    from dpacct.proof.effort import FORCED, allowance

    try:
        with allowance(FORCED, alone=True):
            met, _ = certified.plan(node, adjacency).half("upper").meets(epsilon, delta)
    except (NotCertified, Unsupported):
        return False
    return met is True


def excess(answer: Answer, epsilon: Fraction) -> str:
    """An epsilon above the target, in enough digits to distinguish the two.

    >>> from dpacct import Gaussian
    >>> excess(Gaussian(sigma=1).epsilon(delta=1e-5), Fraction("4.377"))
    '4.37718'
    """
    value = Decimal(float(answer))
    shown = (f"{value:.{digits}g}" for digits in range(6, 60))
    return next((text for text in shown if Fraction(text) > epsilon), str(value))

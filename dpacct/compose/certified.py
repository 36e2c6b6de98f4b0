"""Certified answers: the plan's laws in balls, the fast engine to steer, claims to prove.

`epsilon`, `delta` and `parameter` return an answer with its certificate, a JSON object that
`dpacct.proof.check` proves again.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from dpacct.answer import Answer
from dpacct.compose.composition import Composition
from dpacct.declare.domain import DELTA, EPSILON, Integer
from dpacct.declare.number import Number, ln, text
from dpacct.tree import Node, resolve_adjacency
from dpacct.vocabulary import Adjacency, Side, Strength

if TYPE_CHECKING:
    from dpacct.proof.solve import Certified, Plan

DIGITS = 12
"""Digits that lower and upper share by default: a relative width of 1e-12."""
_DIGITS = Integer(3, 300)
_BASIS = "enclosed in balls, every truncation bounded: docs/theory/certificate.md"


@dataclass(frozen=True)
class Proven:
    """An answer, and the JSON object that proves it."""

    answer: Answer
    certificate: dict[str, Any]


def prepared(composition: Composition) -> Plan:
    """A composition ready for certified questions; raises `Unsupported` if there is no proof."""
    from dpacct.proof.solve import Plan

    lower = composition.lower
    return Plan(
        composition.node,
        composition.adjacency,
        composition.upper,
        lower,
    )


def plan(node: Node, adjacency: Adjacency | str | None = None) -> Plan:
    """The plan ready for certified questions; raises `Unsupported` where there is no proof."""
    return prepared(Composition(node, resolve_adjacency(node, adjacency)))


def below(value: Fraction) -> float:
    """The largest float that is not above the value.

    >>> below(Fraction(1, 10)) <= Fraction(1, 10) < math.nextafter(below(Fraction(1, 10)), 1)
    True
    """
    nearest = float(value)
    return nearest if Fraction(nearest) <= value else math.nextafter(nearest, -math.inf)


def above(value: Fraction) -> float:
    """The smallest float that is not below the value."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def _answer(
    quantity: str,
    found: Certified,
    composition: Composition,
    started: float,
    digits: int,
    safe_end: Literal["upper", "lower"] = "upper",
) -> Answer:
    from dpacct.proof.claims import decimal

    node = composition.node
    # the value is what is promised: the safe end of a parameter, and where the dominating pair may not
    # be realised; else what is between the ends
    ends = below(found.lower), above(found.upper)
    middle, value = (found.upper, ends[1]) if safe_end == "upper" else (found.lower, ends[0])
    if composition.lower is None and quantity in ("epsilon", "delta"):
        middle = (found.lower + found.upper) / 2
        value = min(max(float(middle), ends[0]), ends[1])
    return Answer(
        quantity=quantity,
        value=value,
        lower=ends[0],
        upper=ends[1],
        side=Side.TWO_SIDED,
        strength=Strength.PROVED,
        method="certified",
        basis=(*composition.basis, _BASIS),
        assumptions=node.assumptions(composition.adjacency),
        adjacency=composition.adjacency,
        unit=node.unit,
        tree=node,
        seconds=time.perf_counter() - started,
        log_value=ln(middle) if quantity == "delta" and middle > 0 else None,
        extra={
            "lower_decimal": decimal(found.lower, digits + 6, up=False),
            "upper_decimal": decimal(found.upper, digits + 6, up=True),
        },
        safe_end=safe_end,
    )


def epsilon(
    node: Node,
    *,
    delta: Number,
    adjacency: Adjacency | str | None = None,
    digits: int = DIGITS,
    effort: float = math.inf,
) -> Proven:
    """The least epsilon at delta, in a proven interval of relative width 10^-digits.

    `effort` is the most a proof may cost, in seconds as estimated from the sizes of its sums (at most
    60). Raises `NotCertified` where the width is not reached, `Unsupported` where there is no proof.

    >>> import dpacct as dp
    >>> run = dp.Poisson(0.01)(dp.Gaussian(sigma=1.1)) * 1000
    >>> epsilon(run, delta=1e-5, digits=20).answer.extra["upper_decimal"][:21]
    '1.5153619166644847273'
    """
    from dpacct.proof.check import certificate
    from dpacct.proof.claims import exact_text
    from dpacct.proof.effort import FORCED, allowance

    started = time.perf_counter()
    target = DELTA.check("delta", delta)
    digits = _DIGITS.check("digits", digits)
    composition = Composition(node, resolve_adjacency(node, adjacency))
    with allowance(min(effort, FORCED)):
        found = prepared(composition).epsilon(target, 10.0**-digits)
    told = certificate(
        "epsilon",
        {"delta": text(target)},
        exact_text(found.lower),
        exact_text(found.upper),
        found.claims,
    )
    return Proven(_answer("epsilon", found, composition, started, digits), told)


def delta(
    node: Node,
    *,
    epsilon: Number,
    adjacency: Adjacency | str | None = None,
    digits: int = DIGITS,
    effort: float = math.inf,
) -> Proven:
    """The least delta at epsilon, in a proven interval of relative width 10^-digits.

    `effort` is the most a proof may cost, in seconds as estimated from the sizes of its sums (at most
    60). Raises `NotCertified` where the width is not reached, `Unsupported` where there is no proof.

    >>> import dpacct as dp
    >>> run = dp.Poisson(0.01)(dp.Gaussian(sigma=1.1)) * 1000
    >>> delta(run, epsilon=1.5, digits=20).answer.extra["upper_decimal"][:24]
    '0.0000115378673456327381'
    """
    from dpacct.proof.check import certificate
    from dpacct.proof.claims import exact_text
    from dpacct.proof.effort import FORCED, allowance

    started = time.perf_counter()
    at = EPSILON.check("epsilon", epsilon)
    digits = _DIGITS.check("digits", digits)
    composition = Composition(node, resolve_adjacency(node, adjacency))
    with allowance(min(effort, FORCED)):
        found = prepared(composition).delta(at, 10.0**-digits)
    told = certificate(
        "delta",
        {"epsilon": text(at)},
        exact_text(found.lower),
        exact_text(found.upper),
        found.claims,
    )
    return Proven(_answer("delta", found, composition, started, digits), told)


def parameter(
    build: Callable[[Fraction], Node],
    *,
    guess: float,
    epsilon: Number,
    delta: Number,
    adjacency: Adjacency | str | None = None,
    digits: int = DIGITS,
    name: str = "parameter",
    effort: float = math.inf,
) -> Proven:
    """A parameter's boundary near a guess: one end proven to meet the target, one proven not to.

    `build` makes a plan from an exact value of the parameter, in which privacy must be monotone;
    `guess` is what `dpacct.calibrate` finds; `effort` as in `epsilon`. Raises `NotCertified`.

    >>> import dpacct as dp
    >>> plan = lambda sigma: dp.Poisson(0.01)(dp.Gaussian(sigma=sigma)) * 1000
    >>> found = parameter(plan, guess=0.611546, epsilon=7, delta=1e-5, name="sigma")
    >>> found.answer.lower < 0.6115461 < found.answer.upper + 1e-6, found.answer.safe_end
    (True, 'upper')
    """
    from dpacct.proof.check import certificate
    from dpacct.proof.claims import exact_text
    from dpacct.proof.effort import FORCED, allowance
    from dpacct.proof.solve import boundary

    started = time.perf_counter()
    at, target = EPSILON.check("epsilon", epsilon), DELTA.check("delta", delta)
    digits = _DIGITS.check("digits", digits)

    def composed(x: Fraction) -> Composition:
        node = build(x)
        return Composition(node, resolve_adjacency(node, adjacency))

    with allowance(min(effort, FORCED)):
        found, more_is_safer = boundary(
            lambda x: prepared(composed(x)), guess, at, target, 10.0**-digits
        )
    safe, unsafe = (found.upper, found.lower) if more_is_safer else (found.lower, found.upper)
    safe_end: Literal["upper", "lower"] = "upper" if more_is_safer else "lower"
    composition = composed(safe)
    question = {
        "epsilon": text(at),
        "delta": text(target),
        "parameter": name,
        "meets": composition.node.to_json(),
        "fails": build(unsafe).to_json(),
        "safe_end": safe_end,
    }
    told = certificate(
        "parameter", question, exact_text(found.lower), exact_text(found.upper), found.claims
    )
    answer = _answer(name, found, composition, started, digits, safe_end)
    return Proven(answer, told)


def whole_parameter(
    build: Callable[[int], Node],
    *,
    guess: int,
    epsilon: Number,
    delta: Number,
    adjacency: Adjacency | str | None = None,
    name: str = "steps",
    effort: float = math.inf,
) -> Proven:
    """The largest whole number that meets the target, proven, with the next one proven not to.

    Where the dominating pair may not be realised (fixed-size samples), the next one meets it no more
    under that pair, and the upper end is one that surely misses it.

    Privacy must not grow with the number; `guess` is what `dpacct.calibrate` finds. Raises
    `NotCertified` where the guess is more than a few off, or too close to call.

    >>> import dpacct as dp
    >>> found = whole_parameter(
    ...     lambda n: dp.Gaussian(sigma=20) * n, guess=22, epsilon=1, delta=1e-6)
    >>> int(found.answer)
    22
    """
    from dpacct.proof.check import certificate
    from dpacct.proof.effort import FORCED, allowance
    from dpacct.proof.solve import whole_boundary

    started = time.perf_counter()
    at, target = EPSILON.check("epsilon", epsilon), DELTA.check("delta", delta)

    def composed(count: int) -> Composition:
        node = build(count)
        return Composition(node, resolve_adjacency(node, adjacency))

    with allowance(min(effort, FORCED)):
        found = whole_boundary(lambda n: prepared(composed(n)), guess, at, target)
    count, most = int(found.lower), int(found.upper)
    composition = composed(count)
    question = {
        "epsilon": text(at),
        "delta": text(target),
        "parameter": name,
        "meets": composition.node.to_json(),
        "fails": build(most).to_json(),
        "safe_end": "lower",
    }
    told = certificate("parameter", question, str(count), str(most), found.claims)
    answer = _answer(name, found, composition, started, DIGITS, "lower")
    return Proven(replace(answer, value=float(count)), told)

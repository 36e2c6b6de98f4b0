"""Statements that a certificate is made of, and their re-checking from scratch.

A claim says: in one direction of one plan, delta(epsilon) <= bound (or >=). It carries what the
proof needs; `holds` evaluates the proof again with more bits, from the plan's text. No search is
imported.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, Inexact
from fractions import Fraction
from functools import cache
from typing import Any

from flint import arb

from dpacct.declare.number import exact, text
from dpacct.errors import InvalidArgument, NotCertified, Unsupported
from dpacct.plan.node import from_json
from dpacct.vocabulary import Adjacency

from .balls import Enclosure
from .effort import TooCostly
from .mesh import Mesh
from .plan import Laws, Sides, read_plan
from .proofs import Proof

AT_MOST, AT_LEAST, MORE = "at most", "at least", "more than"
RELATIONS = (AT_MOST, AT_LEAST, MORE)
_MORE_BITS = 32
_SHORT = 10_000  # bits up to which a number is written as the user types it
_LONGEST = 1000
_TINY = re.compile(r"-?\d(\.\d{1,1000})?E[+-]?\d{1,6}", re.ASCII | re.IGNORECASE)
_ROUNDED, _PRINTED = 1e-6, 1e-18
_KINDS: dict[str, type] = {
    **dict.fromkeys(("plan", "adjacency", "side", "epsilon", "relation", "bound"), str),
    "direction": int,
    "evidence": dict,
    "terms": dict,
}
_SAID = {str: "text", int: "a whole number", dict: "an object"}
_BROKEN = (
    ArithmeticError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
    MemoryError,
    RecursionError,
)
"""What a proof that is none may raise."""


def decimal(value: Fraction, digits: int, up: bool) -> str:
    """A decimal of so many significant digits, on the stated side of the value.

    >>> decimal(Fraction(2, 3), 4, up=True), decimal(Fraction(2, 3), 4, up=False)
    ('0.6667', '0.6666')
    """
    context = Context(prec=digits, rounding=ROUND_CEILING if up else ROUND_FLOOR)
    context.Emin, context.Emax = -999_999, 999_999
    return str(context.divide(Decimal(value.numerator), Decimal(value.denominator)))


def require(holds: bool, message: str) -> None:
    """Raise `InvalidArgument` unless the condition on a certificate holds."""
    if not holds:
        raise InvalidArgument(message, argument="certificate")


@dataclass(frozen=True)
class Claim:
    """One proven inequality; `plan` is JSON text, epsilon and bound exact text."""

    plan: str
    adjacency: str
    side: str  # "upper" or "lower": which pairs of the plan
    direction: int
    epsilon: str
    relation: str
    bound: str
    evidence: dict[str, Any]
    terms: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The claim as JSON values."""
        return dict(vars(self))

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Claim:
        """The object that `to_json` wrote; raises `InvalidArgument`."""
        named = isinstance(fields, dict) and set(fields) == set(_KINDS)
        require(named, f"a certificate's claim must have {', '.join(_KINDS)} and nothing else")
        for name, kind in _KINDS.items():
            right = type(fields[name]) is kind
            require(right, f"{name} of a certificate's claim must be {_SAID[kind]}")
        for name, allowed in (("side", ("upper", "lower")), ("relation", RELATIONS)):
            one_of = f"{name} of a certificate's claim must be one of {', '.join(allowed)}"
            require(fields[name] in allowed, one_of)
        return cls(**fields)

    def holds(self) -> bool:
        """Whether the proof, evaluated again, gives the bound; raises `TooCostly`."""
        directions = laws_of(self.plan, self.adjacency, self.side)
        if self.direction not in range(len(directions)):
            return False
        bound = number(self.bound)
        try:
            laws, mesh = directions[self.direction], self.evidence.get("mesh")
            if mesh is not None:
                grid = Mesh.from_json(mesh)
                if grid.up != (self.relation == AT_MOST):
                    return False  # it bounds the other side
                laws = grid.of(laws)
            proof = Proof(laws, self.evidence, _MORE_BITS)
            enclosure, terms = proof.at(number(self.epsilon))
        except TooCostly:
            raise
        except (*_BROKEN, NotCertified, Unsupported):
            return False  # what is written down is no proof
        if not self._as_written(terms):
            return False
        if self.relation == AT_MOST:
            return enclosure.upper <= bound
        return enclosure.lower > bound if self.relation == MORE else enclosure.lower >= bound

    def _as_written(self, terms: dict[str, arb]) -> bool:
        """Whether the sum and the error terms that are written down are those of the proof."""
        if set(self.terms) != set(terms):
            return False
        try:
            return all(_agrees(name, arb(self.terms[name]), terms[name]) for name in terms)
        except (TypeError, ValueError):
            return False


def _agrees(name: str, written: arb, value: arb) -> bool:
    """Whether what is written of a term is true: a sum lies in it, an error is no more, nor far less."""
    if not written.is_finite():
        return False
    if name.endswith("sum"):
        return bool(written.overlaps(value))
    end = written.upper()
    return bool(end >= value * (1 - arb(_PRINTED)) and end <= value * (1 + arb(_ROUNDED)))


def number(written: str) -> Fraction:
    """Exact text as a fraction; raises `InvalidArgument`."""
    value = exact(written) if isinstance(written, str) else None
    if value is None and isinstance(written, str) and _TINY.fullmatch(written):
        value = Fraction(Decimal(written))  # a delta as small as no one types
    if value is None:
        raise InvalidArgument(f"not a number in a certificate: {written!r}", argument="certificate")
    return value


@cache
def sides(plan: str, adjacency: str) -> Sides:
    """The laws of a plan given as JSON text."""
    return read_plan(from_json(plan), Adjacency.parse(adjacency))


def laws_of(plan: str, adjacency: str, side: str) -> tuple[Laws, ...]:
    """The laws of each direction on one side of a plan given as JSON text."""
    both = sides(plan, adjacency)
    return both.upper if side == "upper" or both.lower is None else both.lower


def prove(laws: Laws, epsilon: Fraction, evidence: dict[str, Any]) -> Enclosure:
    """delta(epsilon) of one direction, enclosed by the proof that the evidence describes."""
    return Proof(laws, evidence, _MORE_BITS).at(epsilon)[0]


def exact_text(value: Fraction) -> str:
    """A fraction as text that `number` reads back exactly.

    >>> exact_text(Fraction(1, 3)), exact_text(Fraction(1, 10**40000))
    ('1/3', '1E-40000')
    """
    if max(value.numerator.bit_length(), value.denominator.bit_length()) < _SHORT:
        return text(value)
    context = Context(prec=_LONGEST, traps=[Inexact])
    context.Emin, context.Emax = -999_999, 999_999
    try:
        return str(
            context.divide(Decimal(value.numerator), Decimal(value.denominator)).normalize(context)
        )
    except Inexact:
        raise NotCertified("a number has more digits than a certificate should") from None

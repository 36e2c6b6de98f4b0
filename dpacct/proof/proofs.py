"""Proofs from evidence: read in one place, by the search that wrote it and by every check.

Evidence is a JSON object: its form, a precision in bits, and the free choices that its theorem leaves. This
module knows nothing of how they were found; work is charged before it is done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from flint import arb

from dpacct.errors import InvalidArgument

from .balls import Enclosure, Unsound, ball, demand, positive, precision, whole
from .closed import (
    Period,
    TabulatedPeriod,
    chernoff,
    closed_form,
    discrete,
    kept,
    largest_loss,
    top_outcome,
)
from .effort import CLOSED, PERIOD, READ, RULE, spend, spend_on, spend_on_line
from .line import Contour, TabulatedLine, Terms, prepared
from .plan import Laws
from .rule import Rules, rules_from_json

CEILING, CLOSED_FORM, EDGE, BOUND = "ceiling", "closed", "largest loss", "moment bound"
LATTICE, LINE = "lattice", "contour"

Evidence = Mapping[str, Any]
Reading = tuple[Enclosure, Terms]
"""delta at one epsilon, and the terms that it was added up from where a certificate has them."""
_NONE = arb(0)


class NoClosedForm(Unsound):
    """There is no closed form, or it is too long."""


class Proof:
    """The proof by some evidence for these laws, at any epsilon, with `more_bits` of precision.

    Raises `InvalidArgument` for a form that there is not, `NotCertified` and many more where it is no proof.
    """

    def __init__(self, laws: Laws, evidence: Evidence, more_bits: int = 0) -> None:
        if not whole(evidence["bits"], 1, 400_000):
            raise ValueError("a precision that no proof takes")
        self.evidence, self._bits = evidence, evidence["bits"] + more_bits
        with precision(self._bits):
            self._at = _proved(laws, evidence)

    def at(self, epsilon: Fraction) -> Reading:
        """delta at this epsilon."""
        with precision(self._bits):
            return self._at(ball(epsilon))


def _proved(laws: Laws, evidence: Evidence) -> Callable[[arb], Reading]:
    if evidence["form"] == CEILING:
        return lambda e: (_ceiling(laws, e), {})
    failing = 1 - kept(laws)  # open failures; lines and moments are of finite losses
    match evidence["form"]:
        case "closed":
            return lambda e: (Enclosure.of(_closed(laws, e)), {})
        case "largest loss":
            return lambda e: (Enclosure(Enclosure.of(top_outcome(laws, e)).lower, Fraction(1)), {})
        case "moment bound":
            c, rules = _tilted(evidence)
            return lambda e: (_at_most(failing + chernoff(laws, rules, c, e)), {})
        case "lattice":
            period, outcomes = Period(**evidence["period"]), discrete(laws)
            atoms = sum(len(step.law().atoms) for step, _ in outcomes)
            spend_on(PERIOD, period.nodes)
            spend_on(RULE, atoms)
            lattice = TabulatedPeriod(outcomes, period)
            return lambda e: (_read(lattice, e)[0], {})
        case "contour":
            line = _line(laws, evidence)
            return lambda e: _read(line, e, failing)
    raise InvalidArgument(f"no proof of form {evidence['form']!r}", argument="certificate")


def _at_most(value: arb) -> Enclosure:
    return Enclosure(Fraction(0), Enclosure.of(value).upper)


def _ceiling(laws: Laws, epsilon: arb) -> Enclosure:
    demand(bool(largest_loss(laws) <= epsilon), "losses above epsilon")
    return Enclosure(Fraction(0), Fraction(0))


def _closed(laws: Laws, epsilon: arb) -> arb:
    spend(CLOSED)
    value = closed_form(laws, epsilon)
    if value is None:
        raise NoClosedForm("there is no closed form for this plan")
    return value


def _tilted(evidence: Evidence) -> tuple[float, Rules]:
    """A tilt and the rules for it."""
    demand(positive(evidence["c"]), "a tilt that is not positive")
    return evidence["c"], rules_from_json(evidence["rules"])


def _line(laws: Laws, evidence: Evidence) -> TabulatedLine:
    contour, rules = Contour(**evidence["contour"]), rules_from_json(evidence["rules"])
    steps = prepared(laws, rules, contour.c)
    nodes = sum(law.node_count for law, _ in steps)
    spend_on_line(nodes, contour.count, len(steps))
    return TabulatedLine(steps, contour)


def _read(proof: TabulatedLine | TabulatedPeriod, epsilon: arb, failing: arb = _NONE) -> Reading:
    spend_on(READ, proof.node_count)
    terms = proof.terms(epsilon)
    return Enclosure.of(failing + proof.delta(epsilon, terms)), terms

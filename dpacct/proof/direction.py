"""One direction of a plan: delta(eps) enclosed, to a width that is asked for, or withheld."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from flint import arb

from dpacct.declare.number import ln
from dpacct.errors import DpacctError, NotCertified

from .balls import Enclosure, ball, fraction, precision
from .effort import CLOSED, allowance, read_cost, spend
from .far_draws import FarDraws
from .far_search import FarSeeker, propose_far
from .floats import FloatLaw
from .lattice import Lattice, places
from .lattice_search import LatticeSeeker
from .line import Line
from .plan import Laws
from .search import Aim, Seeker, propose, saddle_epsilon, tilt_for_bound
from .whole import (
    FEW_OUTCOMES,
    chernoff,
    closed_form,
    discrete,
    has_closed_form,
    largest_loss,
    outcomes,
    rules_to_json,
    top_outcome,
)

_TRIALS = 6
_MOST_NATS = 140.0
_EDGE_BITS = 256
_FAR_OFF = 6.0  # nats by which the saddle point's delta may differ from the one expected
_VALLEY = 40.0  # nats above delta at the saddle: a valley lies between near and far draws
_SHORT = 0.15  # seconds that a line may take before a split is looked for
_NOTHING = Fraction(1, 10**1000)
_ROUNDING = 2.0**-30  # of an error's radius


class Solved(Protocol):
    """A float answer with its ends; `resolved` is False where it is an end of a bracket, maybe far off."""

    @property
    def value(self) -> float:
        """The answer."""
        ...

    @property
    def lower(self) -> float:
        """Its lower end."""
        ...

    @property
    def upper(self) -> float:
        """Its upper end."""
        ...

    @property
    def resolved(self) -> bool:
        """Whether it is more than an end of a bracket."""
        ...


class Engine(Protocol):
    """The fast engine's answers for one direction: where the search starts."""

    def epsilon(self, log_target: float) -> Solved:
        """Epsilon at a log delta."""
        ...

    def log_delta(self, epsilon: float) -> Solved:
        """Log delta at an epsilon."""
        ...


def _missing(found: Enclosure, width: float) -> float:
    """Nats to add to an aim that came out wider than this."""
    return max(1.0, min(40.0, math.log(found.relative_width / width) + 1.0))


def _too_wide(width: float) -> NotCertified:
    return NotCertified(
        f"delta could not be enclosed to a relative width of {width:.1e}: the value is withheld"
    )


class Direction:
    """Laws in exact numbers, the same in floats for the search, and what was built from them."""

    def __init__(self, laws: Laws, engine: Engine | None = None) -> None:
        self.laws, self._engine = laws, engine
        self._float_laws = [(FloatLaw(step), count) for step, count in laws]
        self._line: Line | FarDraws | Lattice | None = None
        self._lattice = _on_lattice(laws)
        self._split = _to_split(laws)  # which law has far draws
        self._split_first = False
        self._slow = False  # whether a slow closed form is tried too
        self._bits = 0
        self._closed_bits = 0  # what the last closed form took
        self.evidence: dict[str, Any] = {}
        self._line_evidence: dict[str, Any] = {}

    def _closed(self, epsilon: Fraction, width: float) -> Enclosure | None:
        """Closed forms, with as much precision as their cancellation takes."""
        bits = max(96 + math.ceil(-math.log2(width)), self._closed_bits)
        while bits < 200_000:
            spend(CLOSED)
            with precision(bits):
                e = ball(epsilon)
                if largest_loss(self.laws) <= e:
                    self.evidence = {"form": "ceiling", "bits": bits}
                    return Enclosure(Fraction(0), Fraction(0))
                value = closed_form(self.laws, e, self._slow)
                if value is None:
                    return None
                if value < ball(_NOTHING):  # eps at the largest loss: no precision tells it from 0
                    self.evidence = {"form": "closed", "bits": bits}
                    return Enclosure.of(value)
                if value > 0:
                    found = Enclosure.of(value)
                    if found.relative_width <= width:
                        self.evidence = {"form": "closed", "bits": bits}
                        self._closed_bits = bits
                        return found
            bits *= 2
        raise NotCertified("a closed form cancels beyond 200,000 bits: the value is withheld")

    @property
    def closed(self) -> bool:
        """Whether a closed form gives delta."""
        return has_closed_form(self.laws, self._slow)

    def enclose(self, epsilon: Fraction, width: float, log_delta: float | None = None) -> Enclosure:
        """delta(epsilon) within a relative width; raises `NotCertified`."""
        try:
            return self._enclose(epsilon, width, log_delta)
        except NotCertified:
            if self.closed or not self._more_closed():
                raise
        return self._enclose(epsilon, width, log_delta)

    def _more_closed(self) -> bool:
        """Whether there is a closed form after all, a slow one."""
        before, self._slow = self._slow, True
        return not before and self.closed

    def _enclose(self, epsilon: Fraction, width: float, log_delta: float | None) -> Enclosure:
        closed = self._closed(epsilon, width)
        if closed is not None:
            return closed
        if self._line is not None:
            found = self._read(epsilon)
            if found.relative_width <= width:
                return found
        nats = -math.log(width) + 2.5
        if self._lattice is not None:
            return self._by_lattice(self._lattice, epsilon, width, nats)
        if self._split is not None:
            either = self._by_either(epsilon, width, log_delta, nats)
            if either is not None:
                return either
        return self._by_line(
            Seeker(self._float_laws, float(epsilon), log_delta), epsilon, width, nats
        )

    def _by_either(
        self, epsilon: Fraction, width: float, log_delta: float | None, nats: float
    ) -> Enclosure | None:
        """By a short line, or else by the number of far draws; None: neither."""
        if not self._split_first:
            try:
                with allowance(_SHORT):
                    seeker = Seeker(self._float_laws, float(epsilon), log_delta)
                    if seeker.total.height(float(epsilon)) - seeker.log_delta < _VALLEY:
                        return self._by_line(seeker, epsilon, width, nats)
            except NotCertified:
                pass
        try:
            found = self._by_far_draws(epsilon, width, log_delta, nats)
        except NotCertified:
            return None
        self._split_first = True
        return found

    def _by_far_draws(
        self, epsilon: Fraction, width: float, log_delta: float | None, nats: float
    ) -> Enclosure:
        assert self._split is not None
        seeker = FarSeeker(self.laws, self._float_laws, self._split)
        for _ in range(_TRIALS):
            evidence, self._line = propose_far(seeker, Aim(float(epsilon), 0.0, nats), log_delta)
            self._line_evidence, self._bits = evidence, evidence["bits"]
            found = self._read(epsilon)
            if found.relative_width <= width:
                return found
            if found.lower > 0:
                log_delta = ln(found.lower)
                nats += _missing(found, width)
            else:
                log_delta = (ln(found.upper) if log_delta is None else log_delta) - 6.0
        raise _too_wide(width)

    def _by_lattice(
        self, seeker: LatticeSeeker, epsilon: Fraction, width: float, nats: float
    ) -> Enclosure:
        """By one period of the moments of losses that lie on a lattice."""
        guess = seeker.estimate(float(epsilon)) - 2.0
        for _ in range(_TRIALS):
            evidence, self._line = seeker.propose(float(epsilon), guess, nats)
            self._line_evidence, self._bits = evidence, evidence["bits"]
            found = self._read(epsilon)
            if found.relative_width <= width:
                return found
            if found.lower > 0:
                guess = ln(found.lower)
                nats += _missing(found, width)
            else:
                guess -= 12.0
        raise _too_wide(width)

    def _by_line(self, seeker: Seeker, epsilon: Fraction, width: float, nats: float) -> Enclosure:
        guess = seeker.log_delta
        if abs(seeker.estimate - guess) > _FAR_OFF:
            guess = min(guess, seeker.estimate)
        for _ in range(_TRIALS):
            found = self._build(seeker, Aim(float(epsilon), guess, nats), epsilon)
            if found.relative_width <= width:
                return found
            if found.lower > 0 and ln(found.lower) > guess - 3.0:
                nats += _missing(found, width)
            else:  # the estimate was far too high, and the sum drowned in its errors
                guess = min(guess, ln(found.upper) if found.upper > 0 else guess) - 12.0
        raise _too_wide(width)

    def _build(self, seeker: Seeker, aim: Aim, epsilon: Fraction) -> Enclosure:
        proposal, self._line = propose(seeker, self.laws, aim)
        self._bits = proposal.bits
        self._line_evidence = {
            "form": "contour less atoms" if proposal.less_atoms else "contour",
            "bits": proposal.bits,
            "contour": asdict(proposal.contour),
            "rules": rules_to_json(proposal.rules),
        }
        return self._read(epsilon)

    def decide(
        self, epsilon: Fraction, target: Fraction, *, only_edge: bool = False
    ) -> bool | None:
        """Whether delta(epsilon) <= target (True) or > target (False) is proven; None: neither."""
        try:
            return self._decide(epsilon, target, only_edge=only_edge)
        except NotCertified:
            if self.closed or not self._more_closed():
                raise
        return self._decide(epsilon, target, only_edge=only_edge)

    def _decide(self, epsilon: Fraction, target: Fraction, *, only_edge: bool) -> bool | None:
        verdict = self._at_the_edge(epsilon, target)
        if only_edge:
            return verdict
        if verdict is None and self._line is not None:
            verdict = self._compare(self._read(epsilon), target)
        if verdict is None and self._line is None and self.at_most(epsilon, target):
            return True
        seeker: Seeker | None = None
        nats = 7.0
        while verdict is None and nats < _MOST_NATS:
            closed = self._closed(epsilon, math.exp(-nats))
            if closed is None and self._lattice is not None:
                closed = self._by_lattice(self._lattice, epsilon, math.exp(-nats), nats + 2.5)
            elif closed is None and self._split is not None:
                closed = self._by_either(epsilon, math.exp(-nats), ln(target), nats + 2.5)
            if closed is not None:
                verdict = self._compare(closed, target)
            else:
                seeker = seeker or Seeker(self._float_laws, float(epsilon), ln(target))
                found = self._build(seeker, Aim(float(epsilon), ln(target), nats), epsilon)
                verdict = self._compare(found, target)
            nats += 10.0
        return verdict

    def ceiling(self) -> Fraction | None:
        """An upper end of the largest loss; None where there is none."""
        with precision(_EDGE_BITS):
            value = largest_loss(self.laws)
            return fraction(value.upper()) if value.is_finite() else None

    def _at_the_edge(self, epsilon: Fraction, target: Fraction) -> bool | None:
        """`decide` by the largest loss alone: beyond it delta is 0, and its mass may be enough."""
        with precision(_EDGE_BITS):
            e = ball(epsilon)
            ceiling = largest_loss(self.laws)
            if ceiling <= e:
                self.evidence = {"form": "ceiling", "bits": _EDGE_BITS}
                return True
            if ceiling.is_finite() and top_outcome(self.laws, e) > ball(target):
                self.evidence = {"form": "largest loss", "bits": _EDGE_BITS}
                return False
        return None

    @staticmethod
    def _compare(found: Enclosure, target: Fraction) -> bool | None:
        return True if found.upper <= target else False if found.lower > target else None

    def _read(self, epsilon: Fraction) -> Enclosure:
        assert self._line is not None
        spend(read_cost(self._line.node_count, self._bits))
        self.evidence = self._line_evidence
        with precision(self._bits):
            value = self._line.delta(ball(epsilon))
            return Enclosure.of(value)

    def terms(self, epsilon: Fraction) -> dict[str, str]:
        """The sum and each error term, as text, for a certificate."""
        if self._line is None:
            return {}
        with precision(self._bits):
            told = self._line.terms(ball(epsilon))
            # an error may round a little differently at another precision, where it is checked
            room = {name: 0 if name.endswith("sum") else _ROUNDING for name in told}
            return {
                name: (value * (1 + room[name])).str(20, radius=True)
                for name, value in told.items()
            }

    def _asked(self, question: Callable[[Engine], Solved]) -> Solved | None:
        """What the fast engine says; None where it gives up."""
        if self._engine is None:
            return None
        try:
            with np.errstate(all="ignore"):
                return question(self._engine)
        except (ArithmeticError, ValueError, MemoryError, LookupError, DpacctError, RuntimeError):
            return None

    def float_epsilon(self, log_target: float) -> float:
        """The fast engine's epsilon at this log delta, or the saddle's: where the search starts."""
        found = self._asked(lambda engine: engine.epsilon(log_target))
        if found is not None and found.resolved:
            return found.value
        try:
            with np.errstate(all="ignore"):
                guess = saddle_epsilon(self._float_laws, log_target)
        except (ArithmeticError, ValueError, MemoryError, LookupError, DpacctError, RuntimeError):
            return math.nan if found is None else found.value
        return guess if found is None else min(max(guess, found.lower), found.upper)

    def float_lower(self, log_target: float) -> float:
        """The lower end of the fast engine's epsilon; nan where it has none."""
        found = self._asked(lambda engine: engine.epsilon(log_target))
        return math.nan if found is None else found.lower

    def float_log_delta(self, epsilon: float) -> float:
        """The fast engine's log delta, or nan."""
        found = self._asked(lambda engine: engine.log_delta(epsilon))
        return math.nan if found is None else found.value

    def float_slope(self, epsilon: float, log_target: float) -> float:
        """About -d log delta/d epsilon."""
        if self.closed or self._lattice is not None:
            rise = 1e-4
            ends = [self._enclose(Fraction(epsilon * x), 1e-7, None) for x in (1.0, 1.0 + rise)]
            high, low = (ln(end.lower) if end.lower > 0 else -math.inf for end in ends)
            found = (high - low) / (epsilon * rise)
            return found if 0.0 < found < math.inf else 1.0 / max(epsilon, 1e-300)
        try:
            with allowance(math.inf if self._split is None else _SHORT):
                return Seeker(self._float_laws, epsilon, log_target).total.c
        except (ArithmeticError, ValueError, MemoryError, LookupError, DpacctError, RuntimeError):
            return 1.0 / max(epsilon, 1e-300)

    def at_most(self, epsilon: Fraction, target: Fraction) -> bool:
        """Whether a cheap bound, eq. (10), proves delta(epsilon) <= target."""
        with precision(96):
            if largest_loss(self.laws) <= ball(epsilon):
                self.evidence = {"form": "ceiling", "bits": 96}
                return True
            if self.closed or self._lattice is not None:
                return False  # which is cheap enough
        found = tilt_for_bound(self._float_laws, self.laws, float(epsilon), ln(target))
        if found is None:
            return False
        c, rules, bits = found
        with precision(bits):
            if not chernoff(self.laws, rules, arb(c), ball(epsilon)) <= ball(target):
                return False
        self.evidence = {
            "form": "moment bound",
            "bits": bits,
            "c": c,
            "rules": rules_to_json(rules),
        }
        return True


def _to_split(laws: Laws) -> int | None:
    """The law whose far draws are the rarest; None where no law has any."""
    found = [
        (count * law.rate, k) for k, (law, count) in enumerate(laws) if law.splittable and count > 1
    ]
    return min(found)[1] if found else None


def _on_lattice(laws: Laws) -> LatticeSeeker | None:
    """Where many outcomes lie on a lattice; None where they are few, or on none."""
    steps = discrete(laws)
    with precision(96):
        if not steps or outcomes(steps) <= FEW_OUTCOMES or places(steps) is None:
            return None
    return LatticeSeeker(steps)

"""One direction of a plan: delta(eps) enclosed to a requested width, or withheld."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from functools import cached_property
from typing import Protocol

import numpy as np
from flint import arb

from dpacct.declare.number import ln
from dpacct.errors import DpacctError, NotCertified
from dpacct.pld.interval import Interval

from .balls import Enclosure, ball, fraction, precision
from .closed import (
    FEW_OUTCOMES,
    discrete,
    has_closed_form,
    largest_loss,
    outcomes,
    places,
    top_outcome,
)
from .floats import FloatLaw, FloatLaws, saddle_for_log_delta
from .plan import Laws
from .proofs import CEILING, CLOSED_FORM, EDGE, Evidence, NoClosedForm, Proof, Reading
from .search import LatticeSeeker, Seeker, bound

_EDGE_BITS = 256
_GIVES_UP = ArithmeticError, ValueError, MemoryError, LookupError, DpacctError, RuntimeError
"""The errors that floats may raise where they have no answer."""


Seeks = Seeker | LatticeSeeker


class FloatAnswers(Protocol):
    """The fast engine's answers for one direction: where the search starts."""

    def epsilon(self, log_target: float) -> Interval:
        """Epsilon at a log delta."""
        ...

    def log_delta(self, epsilon: float) -> Interval:
        """Log delta at an epsilon."""
        ...


class ProofDirection:
    """Laws in exact numbers, the same in floats for the search, and what was built from them."""

    def __init__(self, laws: Laws, engine: FloatAnswers | None = None) -> None:
        self._engine, self.laws = engine, laws
        self._lattice = self._on_lattice()
        self._closed_bits = 0  # what the last closed form took
        self._sought: tuple[tuple[Fraction, float | None], Seeker] | None = None
        self._line: Proof | None = None  # good for epsilons near each other
        self._readings: dict[Fraction, tuple[Reading, Proof]] = {}
        self._proof: Proof | None = None  # what was read last

    @cached_property
    def _float_laws(self) -> FloatLaws:
        return [(FloatLaw(step), count) for step, count in self.laws]

    def _on_lattice(self) -> LatticeSeeker | None:
        """Seek on the lattice of many outcomes; None where they are few, or on none."""
        steps = discrete(self.laws)
        with precision(96):
            if not steps or outcomes(steps) <= FEW_OUTCOMES or places(steps) is None:
                return None
        return LatticeSeeker(steps, self._float_laws)

    @cached_property
    def _largest(self) -> arb:
        with precision(_EDGE_BITS):
            return largest_loss(self.laws)

    def _beyond_all(self, epsilon: Fraction) -> bool:
        """Return whether no loss exceeds epsilon."""
        with precision(_EDGE_BITS):
            if not self._largest <= ball(epsilon):
                return False
        self._proof = Proof(self.laws, {"form": CEILING, "bits": _EDGE_BITS})
        return True

    def ceiling(self) -> Fraction | None:
        """An upper end of the largest loss; None where there is none."""
        return fraction(self._largest.upper()) if self._largest.is_finite() else None

    @property
    def closed(self) -> bool:
        """Return whether a closed form gives delta."""
        return has_closed_form(self.laws)

    def _closed(self, epsilon: Fraction, width: float) -> Enclosure:
        """Closed forms, with as much precision as their cancellation takes."""
        # of a closed form
        most_bits = 200_000
        bits = max(96 + math.ceil(-math.log2(width)), self._closed_bits)
        while bits < most_bits:
            enclosure = self._read(epsilon, Proof(self.laws, {"form": CLOSED_FORM, "bits": bits}))
            if enclosure.upper < Fraction(1, 10**1000):  # no precision tells it from 0
                return enclosure
            if enclosure.lower > 0 and enclosure.relative_width <= width:
                self._closed_bits = bits
                return enclosure
            bits *= 2
        raise NotCertified(f"a closed form cancels beyond {most_bits} bits")

    def _read(self, epsilon: Fraction, proof: Proof) -> Enclosure:
        return self._kept(epsilon, (proof.at(epsilon), proof))

    def _kept(self, epsilon: Fraction, reading: tuple[Reading, Proof]) -> Enclosure:
        self._readings[epsilon] = reading
        (enclosure, _), self._proof = reading
        return enclosure

    @property
    def evidence(self) -> Evidence:
        """The evidence of the proof that was read last; empty before any was."""
        return {} if self._proof is None else self._proof.evidence

    def terms(self, epsilon: Fraction) -> dict[str, str]:
        """The sum and each error term that was read at this epsilon, as text, for a certificate."""
        (_, terms), proof = self._readings.get(epsilon, ((None, {}), None))
        if proof is not self._proof or proof is None:
            return {}
        with precision(proof.evidence["bits"]):
            # an error may round a little differently at another precision, where it is checked
            rounded = {
                name: value if name.endswith("sum") else value * (1 + (2.0**-30))
                for name, value in terms.items()
            }
            return {name: value.str(20, radius=True) for name, value in rounded.items()}

    def enclose(self, epsilon: Fraction, width: float, log_delta: float | None = None) -> Enclosure:
        """delta(epsilon) within a relative width; raises `NotCertified`."""
        if self._beyond_all(epsilon):
            return Enclosure(Fraction(0), Fraction(0))
        reading = self._readings.get(epsilon)
        if reading is not None and reading[0][0].relative_width <= width:
            return self._kept(epsilon, reading)
        return self._enclose(epsilon, width, log_delta)

    def _enclose(self, epsilon: Fraction, width: float, log_delta: float | None) -> Enclosure:
        if self.closed:
            with suppress(NoClosedForm):
                return self._closed(epsilon, width)
        if self._line is not None:
            enclosure = self._read(epsilon, self._line)
            if enclosure.relative_width <= width:
                return enclosure
        if self._lattice is not None:
            return self._by_trials(self._lattice, epsilon, width)
        return self._by_trials(self._seeker(epsilon, log_delta), epsilon, width)

    def _seeker(self, epsilon: Fraction, log_delta: float | None) -> Seeker:
        if self._sought is None or self._sought[0] != (epsilon, log_delta):
            seeker = Seeker(self.laws, self._float_laws, float(epsilon), log_delta)
            self._sought = (epsilon, log_delta), seeker
        return self._sought[1]

    def _by_trials(self, seeker: Seeks, epsilon: Fraction, width: float) -> Enclosure:
        """An enclosure by the seeker's proposals, with another one where the width is too large."""
        log_delta, nats = seeker.log_delta, 2.5 - math.log(width)
        for _ in range(6):
            self._line = self._built(seeker.propose(float(epsilon), log_delta, nats))
            enclosure = self._read(epsilon, self._line)
            if enclosure.relative_width <= width:
                return enclosure
            if enclosure.lower > 0:
                least = ln(enclosure.lower)
                short = math.log(enclosure.relative_width / width) + 1.0
                if log_delta is not None:  # errors were a share of what was expected
                    short -= max(0.0, log_delta - least)
                log_delta = least
                nats += max(1.0, min(40.0, short))
            else:  # the value was expected far too high, and drowned in the errors
                most = ln(enclosure.upper)
                # nats by which less is expected where a value drowned in its errors
                log_delta = (most if log_delta is None else min(most, log_delta)) - 12.0
        raise NotCertified(f"delta could not be enclosed to a relative width of {width:.1e}")

    def _built(self, proposals: Iterator[Evidence]) -> Proof:
        """The first proposal that gives a proof."""
        failure = NotCertified("no contour was found for a proof")
        for evidence in proposals:
            try:
                return Proof(self.laws, evidence)
            except NotCertified as error:
                failure = error
        raise failure

    def decide(
        self, epsilon: Fraction, target: Fraction, *, only_edge: bool = False, nats: float = 7.0
    ) -> bool | None:
        """Return whether delta(epsilon) <= target (True) or > target (False) is proven; None: neither.

        `nats`: -log of the relative width of the first enclosure; the next ones are narrower.
        """
        verdict = self._at_the_edge(epsilon, target)
        if verdict is not None or only_edge:
            return verdict
        reading = self._readings.get(epsilon)
        if reading is not None:
            verdict = self._compare(self._kept(epsilon, reading), target)
        elif self._line is not None:
            verdict = self._compare(self._read(epsilon, self._line), target)
        elif self.at_most(epsilon, target):
            return True
        while verdict is None and nats < 140.0:
            verdict = self._compare(self.enclose(epsilon, math.exp(-nats), ln(target)), target)
            nats += 10.0
        return verdict

    def _at_the_edge(self, epsilon: Fraction, target: Fraction) -> bool | None:
        """`decide` by the largest loss alone: beyond it delta is 0, and its mass may be enough."""
        if self._beyond_all(epsilon):
            return True
        if self._largest.is_finite():
            with precision(_EDGE_BITS):
                if top_outcome(self.laws, ball(epsilon)) > ball(target):
                    self._proof = Proof(self.laws, {"form": EDGE, "bits": _EDGE_BITS})
                    return False
        return None

    @staticmethod
    def _compare(enclosure: Enclosure, target: Fraction) -> bool | None:
        return True if enclosure.upper <= target else False if enclosure.lower > target else None

    def _asked(self, question: Callable[[FloatAnswers], Interval]) -> Interval | None:
        """The fast engine's answer; None if it refuses."""
        if self._engine is None:
            return None
        try:
            with np.errstate(all="ignore"):
                return question(self._engine)
        except _GIVES_UP:
            return None

    def float_epsilons(self, log_target: float) -> tuple[float, ...]:
        """Return starts of a search for epsilon at this log delta, the likeliest first; perhaps nan.

        The fast engine's, or the saddle's of many steps with a closed form, which is cheap to read again.
        Else the saddle's, within the ends that the engine has, and the lower one of these; in rising order
        where they are so far apart that neither is likely.
        """
        repeated = self.closed and any(count > 1 for _, count in self.laws)
        guess = self._saddle_epsilon(log_target) if repeated else math.nan
        if guess > 0.0:
            return (guess,)
        solved = self._asked(lambda engine: engine.epsilon(log_target))
        if solved is not None and solved.resolved:
            return (solved.value,)
        guess = self._saddle_epsilon(log_target)
        if solved is None:
            return (guess,)
        between = min(max(guess, solved.lower), solved.upper)
        # shares of a bracket's ends from which a saddle beyond it, or in it, is no guess
        if solved.upper > (100.0 if guess == between else 1.1) * solved.lower:
            return solved.lower, between
        return between, solved.lower

    def _saddle_epsilon(self, log_target: float) -> float:
        """The epsilon whose own saddle has this log delta, or nan."""
        try:
            with np.errstate(all="ignore"):
                return saddle_for_log_delta(self._float_laws, log_target).saddle_epsilon
        except _GIVES_UP:
            return math.nan

    def float_log_delta(self, epsilon: float) -> float:
        """The fast engine's log delta, or nan."""
        solved = self._asked(lambda engine: engine.log_delta(epsilon))
        return math.nan if solved is None else solved.value

    def float_slope(self, epsilon: float, log_target: float) -> float:
        """An estimate of -d log delta/d epsilon."""
        if self.closed or self._lattice is not None:
            rise = 1e-4  # downwards, for delta may end a little above
            ends = [self.enclose(Fraction(epsilon * x), 1e-7) for x in (1.0 - rise, 1.0)]
            high, low = (ln(end.lower) if end.lower > 0 else -math.inf for end in ends)
            slope = (high - low) / (epsilon * rise)
            return slope if 0.0 < slope < math.inf else 1.0 / max(epsilon, 1e-300)
        try:
            return self._seeker(Fraction(epsilon), log_target).place.total.c
        except _GIVES_UP:
            return 1.0 / max(epsilon, 1e-300)

    def steepness(self, guess: float) -> float:
        """A guess of -d log delta/d epsilon, or the tilt of the line last read where they are far apart."""
        tilt: float = self.evidence.get("contour", {}).get("c", guess)
        return guess if 1.0 / 3.0 < tilt / guess < 3.0 else tilt

    def at_most(self, epsilon: Fraction, target: Fraction) -> bool:
        """Return whether a cheap bound, eq. (10), proves delta(epsilon) <= target."""
        if self._beyond_all(epsilon):
            return True
        if self.closed or self._lattice is not None:
            return False  # which is cheap enough
        evidence = bound(self._float_laws, self.laws, float(epsilon), ln(target))
        if evidence is None:
            return False
        proof = Proof(self.laws, evidence)
        if proof.at(epsilon)[0].upper > target:
            return False
        self._proof = proof
        return True

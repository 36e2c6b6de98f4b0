"""Balls from exact numbers, exact ends back from balls, and conditions on the free choices of a proof.

A certificate may be written by anyone, so what a search would never choose (a negative step, no panels,
a cell twice) has to be refused, before a bound is evaluated for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction

from flint import acb, arb, ctx, fmpq

from dpacct.errors import NotCertified

Exact = Fraction | int | float
"""An exact number that becomes a ball to working precision; a float is binary."""
# of a fraction's numerator and denominator: about 10^300000
_MOST_BITS = 1_000_000


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Work with so many bits inside the block; raises `NotCertified` where these are no sensible number.

    A library that cannot have them ends the process.
    """
    if bits > _MOST_BITS:
        raise NotCertified(f"the proof takes numbers of {bits:.3g} bits")
    before = ctx.prec
    ctx.prec = bits
    try:
        yield
    finally:
        ctx.prec = before


def ball(value: Exact) -> arb:
    """A ball that contains the value.

    >>> bool(ball(Fraction(1, 3)) * 3 == 1), (ball(Fraction(1, 3)) * 3).overlaps(arb(1))
    (False, True)
    """
    if isinstance(value, Fraction):
        return arb(fmpq(value.numerator, value.denominator))
    return arb(value)


def fraction(end: arb) -> Fraction:
    """An exact ball as a fraction; raises `NotCertified` where that has more digits than a file should."""
    mantissa, exponent = (int(part) for part in end.man_exp())
    if abs(exponent) > 2 * _MOST_BITS:
        raise NotCertified("the answer is too far from 1 to be written as a fraction")
    return Fraction(mantissa << exponent) if exponent >= 0 else Fraction(mantissa, 1 << -exponent)


def spread(radius: arb) -> acb:
    """The square around 0 that contains the disc of this radius."""
    side = arb(0, radius.upper())
    return acb(side, side)


def disc(size: arb) -> arb:
    """The interval [-size, size]."""
    return arb(0, size.upper())


@dataclass(frozen=True)
class Enclosure:
    """A proven interval [lower, upper] with exact ends.

    >>> Enclosure(Fraction(1, 2), Fraction(3, 4)).relative_width
    0.3333333333333333
    """

    lower: Fraction
    upper: Fraction

    @classmethod
    def of(cls, value: arb) -> Enclosure:
        """The interval that a ball of a probability stands for; [0, 1] where nothing is known."""
        if not value.is_finite():
            return cls(Fraction(0), Fraction(1))
        lower, upper, least = value.lower(), value.upper(), arb(2) ** -_MOST_BITS
        # an end that is too near 0 for a file is rounded outwards
        low = fraction(lower) if lower > least else Fraction(0)
        if not -1 < upper < 1:
            return cls(low, Fraction(1))
        return cls(low, fraction(upper.max(least)) if upper > 0 else Fraction(0))

    @property
    def relative_width(self) -> float:
        """(upper - lower)/upper; 0 for the point 0."""
        return float((self.upper - self.lower) / self.upper) if self.upper else 0.0


MOST_TERMS = 200_000
"""Terms of one sum or cells of one staircase, at most."""


class Unsound(NotCertified):
    """A free choice outside the hypotheses of a bound, with which nothing is proved."""


def demand(holds: bool, choice: str) -> None:
    """Refuse a choice whose condition does not hold.

    >>> demand(positive(-1.0), "a negative step")
    Traceback (most recent call last):
    dpacct.proof.balls.Unsound: no bound is stated for a negative step
    """
    if not holds:
        raise Unsound(f"no bound is stated for {choice}")


def real(value: object) -> bool:
    """Return whether a value is a number, finite, and no text or truth value.

    >>> real(0.5), real(math.nan), real("1"), real(True)
    (True, False, False, False)
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) if isinstance(value, float) else abs(value) <= 1 << 1000


def positive(value: object) -> bool:
    """Return whether a value is a number above 0."""
    return real(value) and isinstance(value, int | float) and value > 0


def whole(value: object, least: int, most: int = MOST_TERMS) -> bool:
    """Return whether a value is a whole number in [least, most].

    >>> whole(3, 1), whole(3.0, 1), whole(True, 1), whole(0, 1)
    (True, False, False, False)
    """
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most

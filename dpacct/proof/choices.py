"""Conditions on the free choices of a proof: choices outside a bound's hypotheses are refused.

A certificate may be written by anyone, so what a search would never choose (a negative step, no panels,
a cell twice) has to be refused here, before a bound is evaluated for it.
"""

from __future__ import annotations

import math

from dpacct.errors import NotCertified

MOST_TERMS = 200_000
"""Terms of one sum or cells of one staircase, at most."""


class Unsound(NotCertified):
    """A free choice outside the hypotheses of a bound, with which nothing is proved."""


def demand(holds: bool, choice: str) -> None:
    """Refuse a choice whose condition does not hold.

    >>> demand(positive(-1.0), "a negative step")
    Traceback (most recent call last):
    dpacct.proof.choices.Unsound: no bound is stated for a negative step: the value is withheld
    """
    if not holds:
        raise Unsound(f"no bound is stated for {choice}: the value is withheld")


def real(value: object) -> bool:
    """Whether a value is a number, finite, and no text or truth value.

    >>> real(0.5), real(math.nan), real("1"), real(True)
    (True, False, False, False)
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) if isinstance(value, float) else abs(value) <= 1 << 1000


def positive(value: object) -> bool:
    """Whether a value is a number above 0."""
    return real(value) and isinstance(value, int | float) and value > 0


def whole(value: object, least: int, most: int = MOST_TERMS) -> bool:
    """Whether a value is a whole number in [least, most].

    >>> whole(3, 1), whole(3.0, 1), whole(True, 1), whole(0, 1)
    (True, False, False, False)
    """
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most

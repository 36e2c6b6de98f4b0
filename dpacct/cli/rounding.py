"""Decimal digits as the command line prints them: twelve, rounded to the safe side."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction

from dpacct.declare.number import fits
from dpacct.report import rounding
from dpacct.report.rounding import Direction

DIGITS = 12


def rounded(value: float, direction: Direction, digits: int = DIGITS) -> str:
    """`value` to `digits` significant digits, rounded in `direction`.

    >>> rounded(1.5153619166637, "up"), rounded(1.5153619166637, "down")
    ('1.51536191667', '1.51536191666')
    >>> rounded(2.5e-7, "up"), rounded(3.0, "up"), rounded(0.1, "up", 3), rounded(0.00025, "up")
    ('2.5e-7', '3', '0.1', '0.00025')
    """
    return rounding.rounded(value, direction, digits, smallest=-4)


def power_of_ten(log_value: float, direction: Direction, digits: int = 9) -> str:
    """A positive number too small for a float, from its natural logarithm, as a power of ten.

    >>> power_of_ten(-1000.0, "up")
    '10^-434.294481'
    """
    return f"10^{rounded(log_value / math.log(10), direction, digits)}"


def short(value: Fraction) -> str:
    """Six digits of what was asked, also where no float holds it.

    >>> short(Fraction(1, 10**5)), short(Fraction(1, 10**400))
    ('1e-05', '1e-400')
    """
    if fits(value):
        return f"{float(value):.6g}"
    return f"{Context(prec=6).divide(Decimal(value.numerator), Decimal(value.denominator)):.6g}".lower()

"""Decimal digits of a float, rounded towards the safe side, so that what is printed still holds."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from typing import Literal

Direction = Literal["up", "down", "nearest"]

_MODES = {"up": ROUND_CEILING, "down": ROUND_FLOOR, "nearest": ROUND_HALF_EVEN}
DIGITS = 12


def rounded(value: float, direction: Direction, digits: int = DIGITS) -> str:
    """`value` to `digits` significant digits, rounded in `direction`.

    >>> rounded(1.5153619166637, "up"), rounded(1.5153619166637, "down")
    ('1.51536191667', '1.51536191666')
    >>> rounded(2.5e-7, "up"), rounded(3.0, "up"), rounded(0.1, "up", 3)
    ('2.5e-7', '3', '0.1')
    """
    # repr, as everywhere in dpacct, says which decimal number a float stands for: 0.1 is one tenth.
    number = Context(prec=digits, rounding=_MODES[direction]).plus(Decimal(repr(float(value))))
    return _written(number.normalize(Context(prec=digits)))


def _written(number: Decimal) -> str:
    exponent = number.adjusted()
    if number == 0 or -4 <= exponent < 16:
        return f"{number:f}"
    mantissa = number.scaleb(-exponent)
    return f"{mantissa.normalize():f}e{exponent}"


def power_of_ten(log_value: float, direction: Direction, digits: int = 9) -> str:
    """A positive number too small for a float, from its natural logarithm, as a power of ten.

    >>> power_of_ten(-1000.0, "up")
    '10^-434.294481'
    """
    return f"10^{rounded(log_value / math.log(10), direction, digits)}"

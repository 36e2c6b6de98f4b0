"""Numbers as a reader takes them: few digits, rounded to the side on which they stay true."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from dpacct.vocabulary import Side, Strength

if TYPE_CHECKING:
    from dpacct.answer import Answer


Direction = Literal["up", "down", "nearest"]
_MODES = {"up": ROUND_CEILING, "down": ROUND_FLOOR, "nearest": ROUND_HALF_EVEN}


def rounded(
    value: float | Fraction, direction: Direction, digits: int, *, smallest: int = -3
) -> str:
    """`value` to so many significant digits, rounded in `direction`.

    A number below 10^`smallest` is written with a power of ten.

    >>> rounded(0.00025, "up", 4), rounded(0.00025, "up", 4, smallest=-4)
    ('2.5e-4', '0.00025')
    """
    context = Context(prec=digits, rounding=_MODES[direction])
    if isinstance(value, Fraction):
        number = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    else:
        # repr says which decimal number a float stands for: 0.1 is one tenth.
        number = context.plus(Decimal(repr(float(value))))
    if not number.is_finite():
        return str(number).lower().replace("infinity", "inf")
    number = number.normalize(Context(prec=digits))
    exponent = number.adjusted()
    if number == 0 or smallest <= exponent < 16:
        return f"{number:f}"
    return f"{number.scaleb(-exponent).normalize(Context(prec=digits)):f}e{exponent}"


def upward(value: float | Fraction, digits: int) -> str:
    """`value` to so many digits, rounded up.

    >>> upward(1.51536191667, 4), upward(Fraction(1, 3000), 3), upward(1e-6, 4)
    ('1.516', '3.34e-4', '1e-6')
    """
    return rounded(value, "up", digits)


def downward(value: float | Fraction, digits: int) -> str:
    """`value` to so many digits, rounded down."""
    return rounded(value, "down", digits)


def nearest(value: float | Fraction, digits: int) -> str:
    """`value` to so many digits, for numbers that bound nothing."""
    return rounded(value, "nearest", digits)


def is_bound(answer: Answer) -> bool:
    """Whether the answer's safe end is a guarantee: an upper end that a theorem supports."""
    return (
        answer.side in (Side.TWO_SIDED, Side.UPPER)
        and answer.strength >= Strength.BOUND
        and math.isfinite(float(answer))
    )


def safe(answer: Answer, digits: int) -> str:
    """The end that may be quoted; an answer that bounds nothing is rounded to nearest."""
    return upward(float(answer), digits) if is_bound(answer) else nearest(answer.value, digits)


def interval(answer: Answer) -> str:
    """What is known to hold the truth, as many digits as the two ends share and two more."""
    lower, upper = answer.lower, answer.upper
    if answer.strength <= Strength.PUBLISHED or (lower is None and upper is None):
        return "none"
    if lower is None:
        return f"at most {upward(upper, 6)}" if upper is not None else "none"
    if upper is None:
        return f"at least {downward(lower, 6)}"
    if lower == upper:
        return f"exactly {nearest(lower, 17)}"
    digits = 10
    size = max(abs(lower), abs(upper))
    if math.isfinite(size) and size > 0:
        digits = min(16, max(4, 2 + math.ceil(math.log10(size / (upper - lower)))))
    return f"[{downward(lower, digits)}, {upward(upper, digits)}]"

"""Numbers as a reader takes them: few digits, rounded to the side on which they stay true."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import Literal

Direction = Literal["up", "down", "nearest"]
_MODES = {"up": ROUND_CEILING, "down": ROUND_FLOOR, "nearest": ROUND_HALF_EVEN}


def rounded(
    value: float | Fraction, direction: Direction, digits: int, *, largest: int = 16
) -> str:
    """`value` to so many significant digits, rounded in `direction`.

    The digits before the point are all kept; a number below 1e-4, or from 10^`largest` on, is written
    with a power of ten.

    >>> rounded(12345.6, "up", 4), rounded(12345.6, "up", 4, largest=4)
    ('12346', '1.235e4')
    """
    if isinstance(value, Fraction):
        exact = (Decimal(value.numerator), Decimal(value.denominator))
    else:
        # repr says which decimal number a float stands for: 0.1 is one tenth.
        exact = (Decimal(repr(float(value))), Decimal(1))
    if not exact[0].is_finite():
        return str(exact[0]).lower().replace("infinity", "inf")
    before_point = Context(prec=40).divide(*exact).adjusted() + 1
    if before_point <= largest:
        digits = max(digits, before_point)
    number = Context(prec=digits, rounding=_MODES[direction]).divide(*exact)
    number = number.normalize(Context(prec=digits))
    exponent = number.adjusted()
    if number == 0 or -4 <= exponent < largest:
        return f"{number:f}"
    return f"{number.scaleb(-exponent).normalize(Context(prec=digits)):f}e{exponent}"


def up(value: float | Fraction, digits: int = 4) -> str:
    """An upper bound in few digits, rounded up, so that what is said holds too.

    >>> up(1.51536), up(Fraction(1, 3000), 3), up(3e-7), up(12345.6), up(0.0)
    ('1.516', '0.000334', '3e-7', '12346', '0')
    """
    return rounded(value, "up", digits)


def down(value: float | Fraction, digits: int = 4) -> str:
    """A lower bound in few digits, rounded down."""
    return rounded(value, "down", digits)


def near(value: float | Fraction, digits: int = 4) -> str:
    """A number that bounds nothing, or that was typed.

    >>> near(1e-5), near(0.012345), near(10000.0), near(1e6)
    ('1e-5', '0.01234', '10000', '1000000')
    """
    return rounded(value, "nearest", digits)


def power_of_ten(log_value: float, direction: Direction = "nearest", digits: int = 10) -> str:
    """A positive number that floats cannot hold, from its natural logarithm.

    >>> power_of_ten(-1000.0, "up"), power_of_ten(-1000.0, "down")
    ('5.075958898e-435', '5.075958897e-435')
    """
    if math.isinf(log_value):
        return "0" if log_value < 0 else "inf"
    exponent, fraction = divmod(log_value / math.log(10), 1)
    # the logarithm and its quotient are rounded: some units in the last place of the exponent
    slack = 4 * math.ulp(log_value) * {"up": 1, "down": -1, "nearest": 0}[direction]
    digit, _, rest = rounded(10**fraction * math.exp(slack), direction, digits).partition(".")
    carried = len(digit) - 1  # 1 where the mantissa rounds up to ten
    shown = f"{digit[0]}.{digit[1:]}{rest}".rstrip("0").rstrip(".")
    return f"{shown}e{int(exponent) + carried}"


def percent(share: float) -> str:
    """The size of a share in per cent, two digits.

    >>> percent(0.12953), percent(-0.0241), percent(1.4), percent(2e-6)
    ('13 %', '2.4 %', '140 %', '0.0002 %')
    """
    return f"{near(100 * abs(share), 2)} %"


def more_or_less(share: float) -> str:
    """How far something is from its standard, in words.

    >>> more_or_less(0.12953), more_or_less(-0.0241), more_or_less(0.0), more_or_less(7.0)
    ('13 % more', '2.4 % less', 'the same', '8 times as much')
    """
    if abs(share) < 5e-7:
        return "the same"
    if share >= 4:
        return f"{near(1 + share, 2)} times as much"
    return f"{percent(share)} {'more' if share > 0 else 'less'}"


def compared_to(share: float) -> str:
    """The same before what it is compared with.

    >>> compared_to(0.12953), compared_to(0.0), compared_to(7.0)
    ('13 % more than', 'as much as', '8 times')
    """
    difference = more_or_less(share)
    if difference == "the same":
        return "as much as"
    times, as_much, _ = difference.partition(" as much")
    return times if as_much else f"{difference} than"


def listed(parts: list[str]) -> str:
    """`a, b and c`."""
    return " and ".join([*filter(None, [", ".join(parts[:-1])]), *parts[-1:]])

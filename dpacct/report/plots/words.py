"""Numbers as a title says them: few digits, and those on the safe side."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal


def up(value: float, digits: int = 4) -> str:
    """An upper bound in few digits, rounded up, so that the title holds too.

    >>> up(1.51536), up(3e-7), up(12345.6), up(0.0)
    ('1.516', '3e-7', '12346', '0')
    """
    return _short(value, digits, ROUND_CEILING)


def down(value: float, digits: int = 4) -> str:
    """A lower bound in few digits, rounded down.

    >>> down(1.51536)
    '1.515'
    """
    return _short(value, digits, ROUND_FLOOR)


def near(value: float, digits: int = 4) -> str:
    """A number that bounds nothing, or that was typed.

    >>> near(1e-5), near(0.012345), near(10000.0), near(1e6)
    ('1e-5', '0.01234', '10000', '1000000')
    """
    return _short(value, digits, ROUND_HALF_EVEN)


def percent(share: float) -> str:
    """The size of a share in per cent, two digits.

    >>> percent(0.12953), percent(-0.0241), percent(1.4), percent(2e-6)
    ('13 %', '2.4 %', '140 %', '0.0002 %')
    """
    return f"{_short(100 * abs(share), 2, ROUND_HALF_EVEN)} %"


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
    return (
        difference.removesuffix(" as much")
        if difference.endswith("as much")
        else f"{difference} than"
    )


def listed(parts: list[str]) -> str:
    """`a, b and c`.

    >>> listed(["a", "b", "c"]), listed(["a"])
    ('a, b and c', 'a')
    """
    return ", ".join(parts[:-1]) + (" and " if parts[1:] else "") + (parts[-1] if parts else "")


def _short(value: float, digits: int, rounding: str) -> str:
    if not math.isfinite(value):
        return str(value)
    exact = Decimal(repr(float(value)))
    keep = max(digits, exact.adjusted() + 1 if exact and exact.adjusted() < 9 else 1)
    number = Context(prec=keep, rounding=rounding).plus(exact)
    exponent = number.adjusted() if number else 0
    if -4 <= exponent < 9:
        text = f"{number:f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    mantissa = f"{number.scaleb(-exponent):f}"
    return (mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa) + f"e{exponent}"

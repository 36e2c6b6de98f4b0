"""Exact numbers: reading what was typed as a fraction, and writing it back as the same text.

A number is kept as the exact fraction of what was typed: `0.1` is one tenth, not the double
nearest to it.
"""

from __future__ import annotations

import math
import numbers
import re
import sys
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias

Number: TypeAlias = int | float | Fraction | Decimal | str
"""What a user may type for a number; NumPy scalars are accepted too."""

_MAX_DIGITS = 4000
"""Digits of a numerator or denominator at most: "1e999999999" must not fill the memory."""
_DECIMAL = re.compile(r"([+-]?)(\d+\.?\d*|\.\d+)(?:[eE]([+-]?\d+))?", re.ASCII)
_RATIO = re.compile(r"([+-]?\d+)\s*/\s*(\d+)", re.ASCII)


def shown(value: object, limit: int = 60) -> str:
    """`value` as an error message prints it: short, on one line, and never failing."""
    try:
        text = str(value) if isinstance(value, numbers.Number) else repr(value)
    except Exception:  # a value whose repr fails must not hide the message it belongs to
        text = f"a {type(value).__name__}"
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 3] + "..."


def _from_text(text: str) -> Fraction | None:
    """The value of a decimal or a ratio of integers; None where it is neither, or absurdly long."""
    text = text.strip()
    if len(text) > 2 * _MAX_DIGITS:
        return None
    ratio = _RATIO.fullmatch(text)
    if ratio:
        over, under = (part.lstrip("+-") for part in ratio.groups())
        if max(len(over), len(under)) > _MAX_DIGITS or not under.strip("0"):
            return None
        return Fraction(int(ratio[1]), int(ratio[2]))
    match = _DECIMAL.fullmatch(text)
    if not match:
        return None
    sign, digits, exponent = match.groups()
    if exponent and len(exponent) > 6:
        return None
    whole, _, decimals = digits.partition(".")
    power = int(exponent or 0) - len(decimals)
    if abs(power) + len(whole) + len(decimals) > _MAX_DIGITS:
        return None
    value = int(whole + decimals) * Fraction(10) ** power
    return -value if sign == "-" else value


def exact(value: object) -> Fraction | None:
    """The exact fraction of what was typed; None where `value` is not a finite real number.

    A float stands for its shortest decimal. Booleans, NaN, infinities, complex numbers and text
    that is not a decimal (or `p/q`) are not numbers here.

    >>> exact(0.1), exact("1e-3"), exact(float("nan")), exact(True)
    (Fraction(1, 10), Fraction(1, 1000), None, None)
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        return _from_text(value)
    if isinstance(value, Decimal):
        return _from_text(str(value)) if value.is_finite() else None
    if isinstance(value, numbers.Rational):  # int, Fraction, NumPy integers
        fraction = Fraction(int(value.numerator), int(value.denominator))
        bits = max(fraction.numerator.bit_length(), fraction.denominator.bit_length())
        return fraction if bits <= 3.3219 * _MAX_DIGITS else None
    if isinstance(value, float):
        return Fraction(float.__repr__(value)) if math.isfinite(value) else None
    if isinstance(value, numbers.Real):  # NumPy's float32 and float16 print their shortest decimal
        return _from_text(str(value))
    return None


def text(value: Fraction) -> str:
    """The exact value as text that `exact` reads back: a decimal where that is short, else `p/q`.

    >>> [text(Fraction(*ratio)) for ratio in ((11, 10), (1, 10**300), (1, 3), (1000, 1))]
    ['1.1', '1e-300', '1/3', '1000']
    """
    odd = value.denominator
    twos = fives = 0
    while odd % 5 == 0:
        odd, fives = odd // 5, fives + 1
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    places = max(twos, fives)
    scaled = abs(value.numerator) * 10**places // value.denominator
    if odd != 1 or scaled.bit_length() > 14_000:  # the latter: too long for int-to-text
        return str(value)
    digits = str(scaled)
    significant = digits.rstrip("0") or "0"
    if len(significant) > 60:
        return str(value)
    sign = "-" if value < 0 else ""
    exponent = len(digits) - 1 - places  # of the leading digit
    if value == 0 or -5 <= exponent <= 15:
        digits = digits.rjust(places + 1, "0")
        cut = len(digits) - places
        return sign + f"{digits[:cut]}.{digits[cut:]}".rstrip("0").rstrip(".")
    tail = f".{significant[1:]}" if len(significant) > 1 else ""
    return f"{sign}{significant[0]}{tail}e{exponent}"


def ln(value: Fraction) -> float:
    """Natural logarithm of a positive fraction, also far below and above the range of floats.

    >>> round(ln(Fraction(1, 10**1000)), 6)
    -2302.585093
    """
    if Fraction(1, 2) < value < 2:
        return math.log1p(float(value - 1))
    return math.log(value.numerator) - math.log(value.denominator)


def fits(value: Fraction) -> bool:
    """Whether a double holds the value without overflow, and without losing digits to underflow."""
    try:
        size = abs(float(value))
    except OverflowError:
        return False
    return value == 0 or size >= sys.float_info.min

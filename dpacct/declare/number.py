"""Numbers as they are typed, in Python, options and files, and as a reader takes them.

A number is kept as the exact fraction of what was typed: `0.1` is one tenth, not the double nearest
to it. Text may also be `256/60000`, `1 %` or `1000^-1.1`; sizes are checked before anything is computed.
"""

from __future__ import annotations

import math
import numbers
import re
import sys
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal, DecimalException
from fractions import Fraction
from typing import Literal, TypeAlias

Number: TypeAlias = int | float | Fraction | Decimal | str
"""A number as the user may type it; NumPy scalars are accepted too."""

DIGITS = 50
"""Digits to which an irrational power is held."""
_MAX_DIGITS = 4000
"""Digits of a numerator or denominator at most: "1e999999999" must not fill the memory."""
_MAX_BITS = 13_288  # as many
_PLAIN = re.compile(r"[+-]?[\d._]+(?:[eE]([+-]?\d+))?", re.ASCII)
_NOT_FINITE = {"nan", "inf", "infinity", "oo", "∞"}
_HINT = "which is not a number such as 1e-5, 256/60000, 1 % or 1000^-1.1"
_TOO_LARGE = "which is too large or too small to evaluate"


class NotANumber(ValueError):
    """The value is not a number; the message is a clause such as "which divides by zero", or empty."""


def number(value: object) -> Fraction:
    """The exact number that was typed: an int, float, Fraction, Decimal, NumPy scalar, or text.

    A float stands for its shortest decimal. An irrational power is held to 50 digits. Raises
    `NotANumber` for booleans, NaN, infinities, and text that is no number or too large.

    >>> number("256/60000"), number("2^-3"), number("1_000"), number("1 %"), number(0.1)
    (Fraction(8, 1875), Fraction(1, 8), Fraction(1000, 1), Fraction(1, 100), Fraction(1, 10))
    >>> float(number("1000^-1.1"))
    0.0005011872336272723
    """
    if isinstance(value, str):
        return _of_text(value.strip())
    if type(value) is int:  # the abstract classes below are slow to ask
        return _sized(Fraction(value))
    if isinstance(value, float):
        return _plain(float.__repr__(value))
    if isinstance(value, bool) or not isinstance(value, numbers.Real | Decimal):
        raise NotANumber("")
    if isinstance(value, numbers.Rational):  # Fraction, NumPy integers
        return _sized(Fraction(int(value.numerator), int(value.denominator)))
    return _plain(str(value))  # Decimal; NumPy's float32 and float16 print their shortest decimal


def exact(value: object) -> Fraction | None:
    """The exact number as by `number`; None if it is not a number.

    >>> exact(0.1), exact("1e-3"), exact(float("nan")), exact(True)
    (Fraction(1, 10), Fraction(1, 1000), None, None)
    """
    try:
        return number(value)
    except NotANumber:
        return None


def _of_text(text: str) -> Fraction:
    if text.endswith("%"):
        return _of_text(text[:-1].strip()) / 100
    over, slash, under = text.partition("/")
    result = _term(over.strip())
    if slash and not (divisor := _term(under.strip())):
        raise NotANumber("which divides by zero")
    return _sized(result / divisor) if slash else result


def _term(text: str) -> Fraction:
    """A plain number, or a power of one; a sign before it is of the whole."""
    base, power, exponent = text.replace("**", "^").partition("^")
    if not power:
        return _plain(text)
    sign, size = (-1, base[1:]) if base.startswith("-") else (1, base)
    return sign * _power(_plain(size.strip()), _plain(exponent.strip()))


def _plain(text: str) -> Fraction:
    """A plain number, whose length is known before it is made."""
    match = _PLAIN.fullmatch(text)
    if match is None:
        finite = text.lstrip("+-").lower() not in _NOT_FINITE
        hint = _HINT if text else "which is empty"
        raise NotANumber(hint if finite else "which is not a finite real number")
    if len(text) > _MAX_DIGITS or len((match[1] or "").lstrip("+-0")) > 4:
        raise NotANumber(_TOO_LARGE)
    try:
        return _sized(Fraction(text))
    except ValueError:
        raise NotANumber(_HINT) from None


def _sized(value: Fraction) -> Fraction:
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > _MAX_BITS:
        raise NotANumber(_TOO_LARGE)
    return value


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    """Exact where that is short; else to 50 digits. Its size is judged by logarithms first."""
    if base <= 0 and (exponent < 0 or exponent.denominator != 1):
        raise NotANumber("which divides by zero or takes a root of a negative number")
    bits = max(base.numerator.bit_length(), base.denominator.bit_length())
    if exponent.denominator == 1 and abs(exponent) * bits <= _MAX_BITS:
        return Fraction(base**exponent.numerator)
    if not base:
        return base
    decades = math.log10(base.numerator) - math.log10(base.denominator)
    if abs(exponent) > 10**18 or abs(float(exponent) * decades) > _MAX_DIGITS - 4 * DIGITS:
        raise NotANumber(_TOO_LARGE)
    # Not exact from here on: irrational, or a rational of many thousand digits.
    context = Context(prec=DIGITS + 20, Emax=10**6, Emin=-(10**6))
    try:
        root = context.power(
            *(context.divide(*map(Decimal, each.as_integer_ratio())) for each in (base, exponent))
        )
    except DecimalException:
        raise NotANumber(_TOO_LARGE) from None
    return Fraction(Context(prec=DIGITS).plus(root))


# --- writing numbers


def text(value: Fraction | int) -> str:
    """The exact value as text that `number` reads back: a decimal where that is short, else `p/q`.

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


def literal(value: Fraction | int) -> str:
    """An exact number as a Python literal that a constructor reads back exactly.

    >>> literal(Fraction(11, 10)), literal(Fraction(1, 3))
    ('1.1', "'1/3'")
    """
    written = text(value)
    try:
        same = Fraction(repr(float(written))) == value
    except (ValueError, OverflowError):
        same = False
    return written if same else repr(written)


def shown(value: object, limit: int = 60) -> str:
    """`value` as an error message prints it: short, on one line, and never failing.

    Text is quoted unless it is plainly a number.

    >>> shown("0.5"), shown("half"), shown(None)
    ('0.5', "'half'", 'None')
    """
    try:
        plain = isinstance(value, numbers.Number)
        plain = plain or (isinstance(value, str) and bool(_PLAIN.fullmatch(value)))
        result = str(value) if plain else repr(value)
    except Exception:  # a value whose repr fails must not hide the message it belongs to
        result = f"a {type(value).__name__}"
    result = " ".join(result.split())
    return result if len(result) <= limit else result[: limit - 3] + "..."


# --- as floats


def ln(value: Fraction) -> float:
    """Natural logarithm of a positive fraction, also far below and above the range of floats.

    >>> round(ln(Fraction(1, 10**1000)), 6)
    -2302.585093
    """
    if Fraction(1, 2) < value < 2:
        return math.log1p(float(value - 1))
    return math.log(value.numerator) - math.log(value.denominator)


def fits(value: Fraction) -> bool:
    """Return whether a double holds the value without overflow, and without losing digits to underflow."""
    try:
        size = abs(float(value))
    except OverflowError:
        return False
    return value == 0 or size >= sys.float_info.min


# --- as a reader takes them: few digits, rounded to the side on which they stay true

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
        quotient = (Decimal(value.numerator), Decimal(value.denominator))
    else:
        # repr says which decimal number a float stands for: 0.1 is one tenth.
        quotient = (Decimal(repr(float(value))), Decimal(1))
    if not quotient[0].is_finite():
        return str(quotient[0]).lower().replace("infinity", "inf")
    before_point = Context(prec=40).divide(*quotient).adjusted() + 1
    if before_point <= largest:
        digits = max(digits, before_point)
    short = Context(prec=digits, rounding=_MODES[direction]).divide(*quotient)
    short = short.normalize(Context(prec=digits))
    exponent = short.adjusted()
    if short == 0 or -4 <= exponent < largest:
        return f"{short:f}"
    return f"{short.scaleb(-exponent).normalize(Context(prec=digits)):f}e{exponent}"


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


def short(value: object, direction: Direction = "nearest") -> str:
    """A number as a person types it, six digits of one that is longer; a word as it is.

    What holds at an epsilon and a delta holds at larger ones: there a longer number is rounded up.

    >>> short(Fraction(1, 10**5)), short(Fraction("0.1234561"), "up"), short(Fraction("0.99999999"), "up")
    ('1e-5', '0.123457', '0.99999999')
    """
    if not isinstance(value, Fraction | int):
        return str(value)
    written = text(value)
    if fits(Fraction(value)) and (len(written) > 8 or written.startswith("0.0000")):
        few = rounded(value, direction, 6)
        return written if few == "1" else few  # a delta just below 1 is none of 1
    return written


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


def listed(parts: list[str]) -> str:
    """`a, b and c`."""
    return " and ".join([*filter(None, [", ".join(parts[:-1])]), *parts[-1:]])

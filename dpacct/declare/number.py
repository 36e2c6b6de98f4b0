"""Numbers as they are typed, in Python, options and files, and as a reader takes them.

A number is kept as the exact fraction of what was typed: `0.1` is one tenth, not the double nearest
to it. Text may also be `256/60000`, `1 %` or `1000^-1.1`.
"""

from __future__ import annotations

import math
import numbers
import re
import sys
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal, DecimalException
from decimal import Inexact as _Inexact
from fractions import Fraction
from typing import Literal, TypeAlias

Number: TypeAlias = int | float | Fraction | Decimal | str
"""A number as the user may type it; NumPy scalars are accepted too."""

_MOST = 4000  # digits of a numerator or denominator: "1e999999999" must not fill the memory
_PLAIN = re.compile(r"[+-]?[\d._]+([eE][+-]?0*\d{1,4})?", re.ASCII)
_HINT = "which is not a number such as 1e-5, 256/60000, 1 % or 1000^-1.1"
_TOO_LARGE = "which is too large or too small to evaluate"
_WIDE = Context(prec=70, Emax=10**6, Emin=-(10**6))


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
        text = value.strip()
        body = text.removesuffix("%")
        over, slash, under = body.partition("/")
        result, divisor = _term(over.strip()), _term(under.strip()) if slash else Fraction(1)
        if not divisor:
            raise NotANumber("which divides by zero")
        return _sized(result / divisor / (1 if body == text else 100))
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
    """The exact number as by `number`; None if it is not a number."""
    try:
        return number(value)
    except NotANumber:
        return None


def _term(text: str) -> Fraction:
    """A plain number, or a power of one; a sign before it is of the whole."""
    base, power, exponent = text.replace("**", "^").partition("^")
    if not power:
        return _plain(text)
    size = _power(_plain(base.strip().removeprefix("-")), _plain(exponent.strip()))
    return -size if base.startswith("-") else size


def _plain(text: str) -> Fraction:
    """A plain number, whose length is known before it is made."""
    if text.lstrip("+-").lower() in ("nan", "inf", "infinity", "oo", "∞"):
        raise NotANumber("which is not a finite real number")
    if len(text) > _MOST or re.fullmatch(r"[+-]?[\d.]+[eE][+-]?0*[1-9]\d{4,}", text, re.ASCII):
        raise NotANumber(_TOO_LARGE)
    try:
        if _PLAIN.fullmatch(text):
            return _sized(Fraction(text))
    except ValueError as error:
        raise NotANumber(_HINT) from error
    raise NotANumber(_HINT if text else "which is empty")


def _sized(value: Fraction) -> Fraction:
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > _MOST * 3.322:
        raise NotANumber(_TOO_LARGE)
    return value


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    """Exact where that is short; else to 50 digits. Its size is judged by logarithms first."""
    if not base and exponent < 0:
        raise NotANumber("which divides by zero")
    bits = max(base.numerator.bit_length(), base.denominator.bit_length())
    if exponent.denominator == 1 and abs(exponent) * bits <= _MOST * 3.322:
        return Fraction(base**exponent.numerator)
    try:  # not exact from here on: irrational, or a rational of many thousand digits
        top, bottom = (_WIDE.divide(*map(Decimal, x.as_integer_ratio())) for x in (base, exponent))
        root = _WIDE.power(top, bottom)
    except DecimalException:
        raise NotANumber(_TOO_LARGE) from None
    if root and abs(root.adjusted()) > _MOST - 200:
        raise NotANumber(_TOO_LARGE)
    return Fraction(Context(prec=50).plus(root))


# --- writing numbers


def text(value: Fraction | int) -> str:
    """The exact value as text that `number` reads back: a decimal where that is short, else `p/q`.

    >>> [text(Fraction(*ratio)) for ratio in ((11, 10), (1, 10**300), (1, 3), (1000, 1))]
    ['1.1', '1e-300', '1/3', '1000']
    """
    short = Context(prec=60, Emax=10**6, Emin=-(10**6), traps=[_Inexact])
    try:
        decimal = short.divide(Decimal(value.numerator), Decimal(value.denominator))
    except _Inexact:
        return str(value)
    decimal, exponent = decimal.normalize(short), decimal.adjusted()
    if -5 <= exponent <= 15:
        return f"{decimal:f}"
    return f"{decimal.scaleb(-exponent, short):f}e{exponent}"


def literal(value: Fraction | int) -> str:
    """An exact number as a Python literal that a constructor reads back exactly.

    >>> literal(Fraction(11, 10)), literal(Fraction(1, 3))
    ('1.1', "'1/3'")
    """
    written = text(value)
    if fits(Fraction(value)) and Fraction(repr(float(value))) == value:
        return written
    return repr(written)


def shown(value: object, limit: int = 60) -> str:
    """`value` as an error message prints it: short, on one line, and never failing.

    Text is quoted unless it is plainly a number.

    >>> shown("0.5"), shown("half"), shown(None)
    ('0.5', "'half'", 'None')
    """
    try:
        plain = isinstance(value, str) and bool(_PLAIN.fullmatch(value))
        written = str(value) if plain or isinstance(value, numbers.Number) else repr(value)
    except Exception:  # a value whose repr fails must not hide the message it belongs to
        written = f"a {type(value).__name__}"
    written = " ".join(written.split())
    return written if len(written) <= limit else written[: limit - 3] + "..."


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
        return value == 0 or abs(float(value)) >= sys.float_info.min
    except OverflowError:
        return False


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
    if not math.isfinite(value):
        return str(float(value))
    # repr says which decimal number a float stands for: 0.1 is one tenth.
    kept = value if isinstance(value, Fraction) else Fraction(repr(float(value)))
    top, bottom = Decimal(kept.numerator), Decimal(kept.denominator)
    before_point = Context(prec=40).divide(top, bottom).adjusted() + 1
    if before_point <= largest:
        digits = max(digits, before_point)
    context = Context(prec=digits, rounding=_MODES[direction])
    few = context.divide(top, bottom).normalize(context)
    exponent = few.adjusted()
    if few == 0 or -4 <= exponent < largest:
        return f"{few:f}"
    return f"{few.scaleb(-exponent).normalize(context):f}e{exponent}"


def up(value: float | Fraction, digits: int = 4) -> str:
    """An upper bound in few digits, rounded up, so that what is said holds too."""
    return rounded(value, "up", digits)


def down(value: float | Fraction, digits: int = 4) -> str:
    """A lower bound in few digits, rounded down."""
    return rounded(value, "down", digits)


def near(value: float | Fraction, digits: int = 4) -> str:
    """A number that bounds nothing, or that was typed."""
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
    mantissa = Decimal(rounded(10**fraction * math.exp(slack), direction, digits))
    carried = mantissa.adjusted()  # 1 where the mantissa rounds up to ten
    return f"{mantissa.scaleb(-carried).normalize():f}e{int(exponent) + carried}"

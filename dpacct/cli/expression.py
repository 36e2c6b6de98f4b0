"""Numbers as people write them: `1e-5`, `256/60000`, `2**-20`, `1000^-1.1`.

A small recursive-descent reader of + - * / ^ ** and parentheses. Rational arithmetic is exact
(`Fraction`); a power that is irrational, or too long to hold exactly, is evaluated to 50 digits.
Nothing is handed to `eval`, and sizes are checked before the work is done, so that `9^9^9^9` is
refused at once rather than computed.
"""

from __future__ import annotations

import math
import re
from decimal import Context, Decimal, DecimalException
from fractions import Fraction

DIGITS = 50
MAX_CHARACTERS = 200
MAX_DEPTH = 50
MAX_BITS = 12_000  # what `dpacct.exact` accepts, with a margin
MAX_DECADES = 3000

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?\d+)?)|(?P<op>\*\*|[-+*/^()]))",
    re.ASCII,
)
_NOT_FINITE = {"nan", "inf", "infinity", "oo", "∞"}


class ExpressionError(ValueError):
    """The text is not a number; the message is a clause such as "which is not finite"."""


def parse(text: str) -> Fraction:
    """The number that `text` stands for.

    Args:
        text: an arithmetic expression over decimal numbers, at most 200 characters.

    Returns:
        The exact value when it is rational and of reasonable length, else its first 50 digits.

    Raises:
        ExpressionError: the text is no expression, is not finite, or is too large to evaluate.

    >>> parse("256/60000")
    Fraction(8, 1875)
    >>> float(parse("1000^-1.1"))
    0.0005011872336272723
    >>> parse("9^9^9^9")
    Traceback (most recent call last):
    ...
    dpacct.cli.expression.ExpressionError: which is too large to evaluate
    """
    if text.strip().lstrip("+-").lower() in _NOT_FINITE:
        raise ExpressionError("which is not a finite number")
    if len(text) > MAX_CHARACTERS:
        raise ExpressionError(f"which is longer than {MAX_CHARACTERS} characters")
    return _Reader(_tokens(text)).whole()


def _tokens(text: str) -> list[str]:
    tokens: list[str] = []
    position, end = 0, len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None:
            rest = text[position:].lstrip()
            raise ExpressionError(
                "which is not a number or an expression such as 1e-5, 256/60000 or 1000^-1.1"
                + (f" (cannot read {rest[:12]!r})" if tokens else "")
            )
        tokens.append(match[match.lastgroup or 0])
        position = match.end()
    if not tokens:
        raise ExpressionError("which is empty")
    return tokens


class _Reader:
    """One pass over the tokens; each method reads one level of precedence."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens
        self.at = 0
        self.depth = 0

    def whole(self) -> Fraction:
        value = self.sum()
        if self.at < len(self.tokens):
            raise ExpressionError(f"where {self.tokens[self.at]!r} is out of place")
        return value

    def take(self, *wanted: str) -> str | None:
        if self.at < len(self.tokens) and self.tokens[self.at] in wanted:
            self.at += 1
            return self.tokens[self.at - 1]
        return None

    def sum(self) -> Fraction:
        value = self.product()
        while operator := self.take("+", "-"):
            term = self.product()
            value = _sized(value + term if operator == "+" else value - term)
        return value

    def product(self) -> Fraction:
        value = self.signed()
        while operator := self.take("*", "/"):
            factor = self.signed()
            if operator == "/" and factor == 0:
                raise ExpressionError("which divides by zero")
            value = _sized(value * factor if operator == "*" else value / factor)
        return value

    def signed(self) -> Fraction:
        """A sign binds weaker than a power, as in Python: -2^2 is -4, and 2^-2 is a quarter."""
        sign = 1
        while operator := self.take("+", "-"):
            sign = -sign if operator == "-" else sign
        return sign * self.power()

    def power(self) -> Fraction:
        base = self.atom()
        if self.take("^", "**") is None:
            return base
        self.enter()
        exponent = self.signed()
        self.depth -= 1
        return _power(base, exponent)

    def atom(self) -> Fraction:
        if self.take("("):
            self.enter()
            value = self.sum()
            self.depth -= 1
            if self.take(")") is None:
                raise ExpressionError("where a ')' is missing")
            return value
        if self.at >= len(self.tokens):
            raise ExpressionError("which ends too early")
        token = self.tokens[self.at]
        if token[0] not in "0123456789.":
            raise ExpressionError(f"where {token!r} is out of place")
        self.at += 1
        return _literal(token)

    def enter(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise ExpressionError("which is nested too deeply")


def _literal(token: str) -> Fraction:
    exponent = token.lower().partition("e")[2]
    if len(exponent) > 6 or abs(int(exponent or 0)) > MAX_DECADES:
        raise ExpressionError("which is too large or too small to evaluate")
    try:
        return Fraction(token)
    except ValueError:  # underscores in the wrong places: 1__0, 1_.5
        raise ExpressionError("which is not a number") from None


def _sized(value: Fraction) -> Fraction:
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS:
        raise ExpressionError("which is too long to keep exactly")
    return value


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    if base == 0:
        if exponent < 0:
            raise ExpressionError("which divides by zero")
        return Fraction(int(exponent == 0))
    if exponent.denominator != 1 and base < 0:
        raise ExpressionError("which takes a root of a negative number")
    bits = max(base.numerator.bit_length(), base.denominator.bit_length())
    if exponent.denominator == 1 and abs(exponent) * bits <= MAX_BITS:
        return Fraction(base**exponent.numerator)
    decades = math.log10(abs(base.numerator)) - math.log10(base.denominator)
    if abs(exponent) > 10**18 or abs(float(exponent) * decades) > MAX_DECADES:
        raise ExpressionError("which is too large to evaluate")
    # Not exact from here on: irrational, or a rational of many thousand digits.
    context = Context(prec=DIGITS + 20, Emax=10**6, Emin=-(10**6))
    try:
        root = context.power(_decimal(abs(base), context), _decimal(exponent, context))
    except DecimalException as error:
        raise ExpressionError("which is too large to evaluate") from error
    sign = -1 if base < 0 and exponent.numerator % 2 else 1
    return sign * Fraction(Context(prec=DIGITS).plus(root))


def _decimal(value: Fraction, context: Context) -> Decimal:
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))

"""Ranges of arguments as pages write them, and domains made of them, to check and to draw from.

`(0, 1]`, `integer in [1, 1000000]`, `[0.67, 1/tau - 1)`, and for lists `2 to 9 of integer in [0, 100]`.
An end may be arithmetic over the other arguments, with exp, log, sqrt, tanh, ceil, floor, min, max and the
functions of the paper's file; `^` is power.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from types import CodeType
from typing import TypeAlias

from dpacct.declare.domain import Closed, Integer, Real
from dpacct.declare.number import shown
from dpacct.errors import DpacctError, InvalidArgument, OutsideDomain

Value: TypeAlias = "Fraction | int | tuple[Fraction | int, ...]"
"""An exact argument: a number, or a list of them."""
Interval: TypeAlias = Real | Integer
Functions: TypeAlias = Mapping[str, Callable[..., float]]
_MATHS: dict[str, Callable[..., float]] = {
    **{name: getattr(math, name) for name in ("exp", "log", "sqrt", "tanh", "ceil", "floor")},
    "min": min,
    "max": max,
}
_ALLOWED = (ast.Expression, ast.BinOp, ast.UnaryOp, ast.Call, ast.Name, ast.Constant)
_MARKS = (ast.Load, ast.operator, ast.unaryop)
_RANGE = re.compile(r"(?:(\d+) to (\d+) of )?(integer in )?([\[(])(.*)([\])])")
_PLAIN = re.compile(r"-?[\d.]+(e[-+]?\d+)?(/\d+)?")
_CLOSED: dict[str, Closed] = {"()": "neither", "[)": "left", "(]": "right", "[]": "both"}


@dataclass(frozen=True)
class Range:
    """A range as written. `many` is the least and the largest length of a list."""

    written: str
    whole: bool
    ends: tuple[str, str]
    closed: Closed
    typical: tuple[float, float] | None
    many: tuple[int, int] | None

    def __str__(self) -> str:
        return self.written.replace("integer in ", "")

    @cached_property
    def dependent(self) -> list[str]:
        """The ends that are arithmetic over other arguments."""
        return [end for end in self.ends if not _PLAIN.fullmatch(end) and end.lstrip("-") != "inf"]

    def at(self, values: Mapping[str, Value], functions: Functions) -> Interval:
        """The interval for these values of the other arguments."""
        lower, upper = (_end(end, values, functions) for end in self.ends)
        kind = Integer if self.whole else Real
        return kind(lower, upper, self.closed, typical=self.typical)

    def check(self, name: str, value: object, interval: Interval) -> Value:
        """A number, or a list of as many as are asked for (`[6, 0, 0]` or `6,0,0`), made exact."""
        if self.many is None:
            return interval.check(name, value, error=OutsideDomain)
        parts = re.split(r"\s*,\s*", value.strip(" []")) if isinstance(value, str) else value
        least, most = self.many
        if not isinstance(parts, list | tuple) or not least <= len(parts) <= most:
            expected = f"{name} must be {least} to {most} numbers such as [6, 0, 0]"
            raise InvalidArgument(f"{expected}, got {shown(value)}", argument=name)
        named = ((f"{name}[{i}]", part) for i, part in enumerate(parts))
        return tuple(interval.check(place, part, error=OutsideDomain) for place, part in named)


@dataclass(frozen=True)
class Hypotheses:
    """The hypotheses of a statement: all its arguments by name, and the functions that their ends call.

    >>> domain = Hypotheses({"n": parse("integer in [2, inf)"), "x": parse("(0, 1/n)")}, {})
    >>> str(domain)
    'n in [2, inf), x in (0, 1/n)'
    >>> domain.check({"n": 10, "x": "0.05"})
    {'n': 10, 'x': Fraction(1, 20)}
    >>> domain.check({"n": 10, "x": 0.5})
    Traceback (most recent call last):
    dpacct.errors.OutsideDomain: x must be a number strictly between 0 and 0.1, got 0.5 (where the end is 1/n)
    """

    ranges: Mapping[str, Range]
    functions: Functions

    def __str__(self) -> str:
        return ", ".join(f"{name} in {each}" for name, each in self.ranges.items())

    def check(self, values: Mapping[str, object]) -> dict[str, Value]:
        """All values made exact, if they lie in the domain together.

        Raises `InvalidArgument` for a missing or unknown argument or one that is not a number,
        `OutsideDomain` for numbers outside.
        """
        for name in values.keys() - self.ranges.keys():
            listed = ", ".join(self.ranges)
            raise InvalidArgument(f"{name} is not one of the arguments {listed}", argument=name)
        for name in self.ranges.keys() - values.keys():
            raise InvalidArgument(f"{name} is missing: it must be in {self}", argument=name)
        checked: dict[str, Value] = {}
        for name in self.order:
            each = self.ranges[name]
            interval = each.at(checked, self.functions)
            try:
                checked[name] = each.check(name, values[name], interval)
            except DpacctError as wrong:
                if not each.dependent:
                    raise
                message = f"{wrong.message} (where the end is {' and '.join(each.dependent)})"
                raise type(wrong)(message, argument=name) from None
        return {name: checked[name] for name in self.ranges}

    @cached_property
    def order(self) -> list[str]:
        """The names, ordered so that ranges come after the arguments that their ends depend on."""
        return sorted(self.ranges, key=lambda name: bool(self.ranges[name].dependent))


@cache
def parse(written: str, drawn: str = "") -> Range:
    """A range as a page writes it; `drawn` is where the search draws from. Raises `ValueError`.

    >>> parse("integer in [1, 1000]").whole, parse("(0, 1/(2*order))").dependent
    (True, ['1/(2*order)'])
    """
    parts = _RANGE.fullmatch(written)
    if not parts:
        raise ValueError(f"a range must be like (0, 1], got {written!r}")
    least, most, whole, left, inside, right = parts.groups()
    start, _, stop = drawn.partition(" to ")
    # the comma outside of parentheses
    lower, upper = re.split(r",\s*(?![^()]*\))", inside.strip())
    window = (float(start), float(stop)) if drawn else None
    many = (int(least), int(most)) if least else None
    return Range(written, bool(whole), (lower, upper), _CLOSED[left + right], window, many)


def _end(end: str, values: Mapping[str, Value], functions: Functions) -> Fraction | float:
    if end.lstrip("-") == "inf":
        return float(end)
    if _PLAIN.fullmatch(end):
        return Fraction(end)
    floats = {
        name: tuple(map(float, value)) if isinstance(value, tuple) else float(value)
        for name, value in values.items()
    }
    number = float(eval(_code(end), {"__builtins__": {}}, {**_MATHS, **functions, **floats}))
    return Fraction(repr(number)) if math.isfinite(number) else number


@cache
def _code(end: str) -> CodeType:
    tree = ast.parse(end.replace("^", "**"), mode="eval")
    if not all(isinstance(node, (*_ALLOWED, *_MARKS)) for node in ast.walk(tree)):
        raise ValueError(f"an end must be arithmetic, got {end!r}")
    return compile(tree, "<page>", "eval")

"""Domains: each checks a value and describes its range; and the words of sentences about them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from numbers import Integral
from typing import ClassVar, Generic, Literal, TypeAlias, TypeVar

from dpacct.declare.number import NotANumber, fits, number, rounded, shown, text
from dpacct.errors import DpacctError, InvalidArgument

T_co = TypeVar("T_co", covariant=True)
Closed: TypeAlias = Literal["neither", "left", "right", "both"]
Endpoint: TypeAlias = int | float | Fraction | str


class Domain(Generic[T_co]):
    """Base: `check` gives the value, or raises a sentence with `words`, what is accepted."""

    words: str

    def check(self, name: str, value: object) -> T_co:
        """The value, made exact; `name` is what the reader calls it: rate, --rate.

        Raises `InvalidArgument` for anything else.
        """
        raise self.refusal(name, value)

    def refusal(
        self, name: str, value: object, why: str = "", error: type[DpacctError] = InvalidArgument
    ) -> DpacctError:
        """The one sentence of a bad value, which `why` ends."""
        return error(f"{name} must be {self.words}, got {shown(value)}{why}", argument=name)


class _Interval(Domain[T_co]):
    """Base of `Real` and `Integer`: two ends, and whether each belongs to the domain.

    `typical` is where values usually lie; `as_float=False` also admits what a double can't hold (1e-400);
    `above` ends the refusal of a number that is too large.
    """

    noun: ClassVar[str] = "a number"
    whole: ClassVar[bool] = False

    def __init__(
        self,
        lower: Endpoint = -math.inf,
        upper: Endpoint = math.inf,
        closed: Closed = "neither",
        *,
        typical: tuple[float, float] | None = None,
        as_float: bool = True,
        above: str = "",
    ) -> None:
        self.lower: Fraction | float = -math.inf if lower == -math.inf else number(lower)
        self.upper: Fraction | float = math.inf if upper == math.inf else number(upper)
        self.closed_left = lower != -math.inf if self.whole else closed in ("left", "both")
        self.closed_right = upper != math.inf if self.whole else closed in ("right", "both")
        self.typical, self.as_float, self.above = typical, as_float, above
        low, high = (rounded(end, "nearest", 17, largest=6) for end in (self.lower, self.upper))
        above = f"{'of at least' if self.closed_left else 'above'} {low}" if low != "-inf" else ""
        below = f"{'at most' if self.closed_right else 'below'} {high}" if high != "inf" else ""
        ends = " and ".join(filter(None, (above, below)))
        if above and below and self.closed_left == self.closed_right:
            inside = f"strictly between {low} and {high}"
            ends = f"from {low} to {high}" if self.closed_left else inside
        self.words = f"{self.noun} {ends}".rstrip()

    def __str__(self) -> str:
        """The interval in mathematical notation: "(0, 1]"."""
        left, right = "["[: self.closed_left] or "(", "]"[: self.closed_right] or ")"
        ends = [text(e) if isinstance(e, Fraction) else str(e) for e in (self.lower, self.upper)]
        return f"{left}{', '.join(ends)}{right}"

    def contains(self, value: Fraction | int) -> bool:
        """Return whether the exact number lies between the ends."""
        above = value >= self.lower if self.closed_left else value > self.lower
        return above and (value <= self.upper if self.closed_right else value < self.upper)

    def _read(self, name: str, value: object, error: type[DpacctError]) -> Fraction:
        """The exact number, if it lies between the ends; `error` is for one that does not."""
        try:
            result = number(value)
        except NotANumber as wrong:
            raise self.refusal(name, value, f", {wrong}".rstrip(", ")) from None
        if self.whole and (result.denominator != 1 or not isinstance(value, str | Integral)):
            raise self.refusal(name, value)
        if not self.contains(result):
            raise self.refusal(name, value, self.above if result > self.upper else "", error)
        if self.as_float and not fits(result):
            limits = ", which floating point (2.3e-308 to 1.8e308) cannot hold"
            raise self.refusal(name, value, limits, error)
        return result


class Real(_Interval[Fraction]):
    """An interval of real numbers; `closed` says which ends belong to it.

    >>> rate = Real(0, 1, closed="right")
    >>> str(rate), rate.check("rate", "0.01")
    ('(0, 1]', Fraction(1, 100))
    >>> rate.check("rate", 0)
    Traceback (most recent call last):
    dpacct.errors.InvalidArgument: rate must be a number above 0 and at most 1, got 0
    """

    def check(
        self, name: str, value: object, *, error: type[DpacctError] = InvalidArgument
    ) -> Fraction:
        """The number, made exact; raises `InvalidArgument`, or `error` for one out of range."""
        return self._read(name, value, error)


class Integer(_Interval[int]):
    """A range of whole numbers, finite ends included; floats are refused, even whole ones."""

    noun, whole = "a whole number", True

    def check(self, name: str, value: object, *, error: type[DpacctError] = InvalidArgument) -> int:
        """The whole number, also of text such as "1e6"; raises as `Real.check`."""
        if type(value) is int and value < 10**15 and self.contains(value):
            return value  # of which every trial of a search has many
        return int(self._read(name, value, error))


class Word(Domain[str]):
    """One of a few words."""

    def __init__(self, *choices: str) -> None:
        self.choices = choices

    @property
    def words(self) -> str:  # type: ignore[override]
        """The choices in words: "one of poisson, uniform or none"."""
        return f"one of {one_of(self.choices)}"

    def check(self, name: str, value: object) -> str:
        """The word itself; raises `InvalidArgument`, which suggests the nearest."""
        if isinstance(value, str) and value in self.choices:
            return str(value)
        typed = str(value)[:40]
        raise self.refusal(name, typed, did_you_mean(typed, self.choices))


class Text(Domain[str]):
    """Any text, such as the name of a file."""

    words = "a text"

    def check(self, name: str, value: object) -> str:
        """The text itself; raises `InvalidArgument` for anything else."""
        if isinstance(value, str):
            return value
        raise self.refusal(name, value)


# --- words of sentences


def one_of(words: Iterable[str], last: str = "or") -> str:
    """`a, b or c`."""
    *rest, end = words
    return f"{', '.join(rest)} {last} {end}" if rest else end


_OTHERS = """
rate: q p sampling-rate sampling-probability subsampling-rate
steps: t iterations compositions num-steps num-rounds
adjacency: relation neighbouring neighboring
sigma: std noise-std
noise-multiplier: noise z
clip: max-grad-norm clipping
dataset-size: n records clients
client-rate: per-round
b: scale
epsilon: eps target-epsilon
delta: target-delta
add-remove: add remove
replace-one: substitute swap replace
uniform: fixed without-replacement
poisson: bernoulli
exact: prv pld
rdp: moments
clt: gdp
bracket: lattice
gaussian: normal
tradeoff: trade-off
"""
SYNONYMS = {o: w[0][:-1] for w in map(str.split, _OTHERS.strip().splitlines()) for o in w[1:]}
"""Words of other tools, each with ours."""


def did_you_mean(word: str, choices: Iterable[str], also: Mapping[str, str] = SYNONYMS) -> str:
    """A clause for the end of a sentence, "; did you mean --delta?", or nothing.

    `also` are other tools' words for the choices.
    """
    lowered, dashed = word.lower().replace("_", "-"), {c.replace("_", "-"): c for c in choices}
    near = dashed.get(lowered) or dashed.get(also.get(lowered, ""))
    if near is None:
        from difflib import get_close_matches  # which only a misspelt word costs

        cutoff = 0.7 if len(lowered) > 4 else 0.6  # one wrong letter of three is a near miss, too
        near = dashed.get(next(iter(get_close_matches(lowered, dashed, 1, cutoff)), ""))
    return f"; did you mean {near}?" if near else ""


POSITIVE = Real(0, math.inf, typical=(1e-2, 1e2))
"""A scale such as sigma, b or a clipping norm."""
RATE = Real(0, 1, "right")
"""The probability that a unit is in a sample."""
SHARE = Real(0, 1, "both")
"""A part of something, none and all included."""
STEPS = Integer(1, 10**15)
"""The number of releases."""
DELTA = Real(0, 1, as_float=False)
"""The delta of a question: it may lie far below the range of floats (`ln` gives its logarithm)."""
PURE_DELTA = Real(0, 1, "left", as_float=False)
"""The delta of a guarantee, which may be pure."""
EPSILON = Real(0, math.inf, "left", typical=(0, 20))
"""The epsilon of a question."""
TARGET_EPSILON = Real(0, 10**15, "both", typical=(0, 20))
"""The epsilon that a parameter is sought for: beyond, floats do not tell a noise that meets it from none."""
ORDER = Real(1, math.inf, typical=(1.1, 64))
"""A Renyi order."""
EFFORT = 0.3
"""Seconds of CPU, estimated and never measured, that a proof may cost before auto takes another way."""
DIGITS = 12
"""Digits of a proof, unless more are asked for: a relative width of 1e-12."""
PROOF_DIGITS = Integer(3, 300)
"""Digits that a proof may be asked for."""

"""Domains: each checks a value and describes its range; and the words of sentences about them."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import ClassVar, Generic, Literal, TypeAlias, TypeVar

from dpacct.declare.number import NotANumber, exact, fits, number, shown, text
from dpacct.errors import DpacctError, InvalidArgument

T_co = TypeVar("T_co", covariant=True)
Closed: TypeAlias = Literal["neither", "left", "right", "both"]
Endpoint: TypeAlias = int | float | Fraction | str


class Domain(Generic[T_co]):
    """Base: `check` gives the value, or raises a sentence with `words`, what is accepted."""

    _words: str

    @property
    def words(self) -> str:
        """The accepted values in words: "a number above 0"."""
        return self._words

    def check(self, name: str, value: object) -> T_co:
        """The value, made exact; `name` is what the reader calls it: rate, --rate.

        Raises `InvalidArgument` for anything else.
        """
        raise self.refusal(name, value)

    def refusal(
        self,
        name: str,
        value: object,
        clause: str = "",
        *,
        error: type[DpacctError] = InvalidArgument,
    ) -> DpacctError:
        """The one sentence of a bad value."""
        end = f", {clause}" if clause else ""
        return error(f"{name} must be {self.words}, got {shown(value)}{end}", argument=name)

    def __repr__(self) -> str:
        return f"<{self.words}>"


def _end(value: Endpoint) -> Fraction | float:
    """An endpoint as written, made exact; the infinities stay floats."""
    if value in (math.inf, -math.inf):
        return float(value)
    result = exact(value)
    if result is None:
        raise InvalidArgument(f"an endpoint must be a number, got {shown(value)}")
    return result


def _written(end: Fraction | float) -> str:
    """An end in a sentence: large powers of ten as 1e15."""
    written = text(end) if isinstance(end, Fraction) else str(end)
    digits = written.lstrip("-")
    if len(digits) > 6 and digits == "1".ljust(len(digits), "0"):
        return f"{'-' if end < 0 else ''}1e{len(digits) - 1}"
    return written


class _Interval(Domain[T_co]):
    """Base of `Real` and `Integer`: two ends, and whether each belongs to the domain.

    `typical` is where values usually lie; `as_float=False` also admits what a double can't hold (1e-400);
    `above` ends the refusal of a number that is too large.
    """

    noun: ClassVar[str]

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
        self.lower, self.upper = _end(lower), _end(upper)
        self.typical, self.as_float, self.above = typical, as_float, above
        self.closed_left, self.closed_right = (
            closed in ("left", "both"),
            closed in ("right", "both"),
        )
        low, high = _written(self.lower), _written(self.upper)
        above_low = f"{'of at least' if self.closed_left else 'above'} {low}"
        below_high = f"{'at most' if self.closed_right else 'below'} {high}"
        if self.lower == -math.inf or self.upper == math.inf:
            ends = (
                above_low if self.lower > -math.inf else below_high if self.upper < math.inf else ""
            )
        elif closed in ("both", "neither"):
            ends = f"{'from' if closed == 'both' else 'strictly between'} {low} "
            ends += f"{'to' if closed == 'both' else 'and'} {high}"
        else:
            ends = f"{above_low} and {below_high}"
        self._words = f"{self.noun} {ends}".rstrip()

    def __str__(self) -> str:
        """The interval in mathematical notation: "(0, 1]"."""
        left, right = ("[" if self.closed_left else "("), ("]" if self.closed_right else ")")
        low, high = (
            text(e) if isinstance(e, Fraction) else str(e) for e in (self.lower, self.upper)
        )
        return f"{left}{low}, {high}{right}"

    def contains(self, value: Fraction | int) -> bool:
        """Return whether the exact number lies between the ends."""
        above = value >= self.lower if self.closed_left else value > self.lower
        return above and (value <= self.upper if self.closed_right else value < self.upper)

    def _read(self, name: str, value: object, error: type[DpacctError]) -> Fraction:
        """The exact number, if it lies between the ends; `error` is for one that does not."""
        try:
            result = number(value)
        except NotANumber as wrong:
            raise self.refusal(name, value, str(wrong)) from None
        if not self.contains(result):
            raise self.refusal(name, value, self.above if result > self.upper else "", error=error)
        if self.as_float and not fits(result):
            limits = "which floating point (2.3e-308 to 1.8e308) cannot hold"
            raise self.refusal(name, value, limits, error=error)
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

    noun = "a number"

    def check(
        self, name: str, value: object, *, error: type[DpacctError] = InvalidArgument
    ) -> Fraction:
        """`value` made exact, if it lies in the domain.

        Raises `InvalidArgument` for what is not a finite real number, `error` for one out of range.
        """
        return self._read(name, value, error)


class Integer(_Interval[int]):
    """A range of whole numbers, finite ends included. Floats are refused, even whole ones.

    >>> Integer(1, 10**15).check("steps", 2.5)
    Traceback (most recent call last):
    dpacct.errors.InvalidArgument: steps must be a whole number from 1 to 1e15, got 2.5
    """

    noun = "a whole number"

    def __init__(
        self,
        lower: Endpoint = -math.inf,
        upper: Endpoint = math.inf,
        closed: Closed | None = None,
        *,
        typical: tuple[float, float] | None = None,
    ) -> None:
        usual: tuple[Closed, ...] = ("neither", "left", "right", "both")  # the finite ends
        closed = closed or usual[(lower != -math.inf) + 2 * (upper != math.inf)]
        super().__init__(lower, upper, closed, typical=typical)
        # a quick check for plain integers, of which every trial of a search has many
        plain = closed == "both" and isinstance(upper, int) and isinstance(lower, int)
        self._surely = range(int(lower), min(int(upper), 10**15) + 1) if plain else range(0)

    def check(self, name: str, value: object, *, error: type[DpacctError] = InvalidArgument) -> int:
        """`value` as an int: from an int, a NumPy integer, or text such as "1000" or "1e6".

        Raises `InvalidArgument` for what is not whole, `error` for a whole number out of range.
        """
        if type(value) is int and value in self._surely:
            return value
        try:
            whole = number(value).denominator == 1 and isinstance(value, str | numbers.Integral)
        except NotANumber:
            whole = True  # `_read` says why it is none
        if not whole:
            raise self.refusal(name, value)
        return int(self._read(name, value, error))


class Word(Domain[str]):
    """One of a few words.

    >>> Word("exact", "rdp").check("method", "moments")
    Traceback (most recent call last):
    dpacct.errors.InvalidArgument: method must be one of exact or rdp, got 'moments'; did you mean rdp?
    """

    def __init__(self, *choices: str) -> None:
        self.choices = choices

    @property
    def words(self) -> str:
        """The choices in words: "one of poisson, uniform or none"."""
        return f"one of {one_of(self.choices)}"

    def check(self, name: str, value: object) -> str:
        """The word itself; raises `InvalidArgument`, which suggests the nearest."""
        if isinstance(value, str) and str(value) in self.choices:
            return str(value)
        hint = did_you_mean(str(value), self.choices)
        message = f"{name} must be {self.words}, got {str(value)[:40]!r}{hint}"
        raise InvalidArgument(message, argument=name)


class Text(Domain[str]):
    """Any text, such as the name of a file."""

    words = "a text"

    def check(self, name: str, value: object) -> str:
        """The text itself; raises `InvalidArgument` for anything else."""
        if not isinstance(value, str):
            raise self.refusal(name, value)
        return value


# --- words of sentences


def one_of(words: Iterable[str]) -> str:
    """`a, b or c`."""
    *rest, last = words
    return f"{', '.join(rest)} or {last}" if rest else last


_OTHERS = {
    "rate": "q p sampling_rate sampling_probability subsampling_rate",
    "steps": "t iterations compositions num_steps num_rounds",
    "adjacency": "relation neighbouring neighboring",
    "sigma": "std noise_std",
    "noise_multiplier": "noise z",
    "clip": "max_grad_norm clipping",
    "dataset_size": "n records clients",
    "client_rate": "per_round",
    "b": "scale",
    "epsilon": "eps target_epsilon",
    "delta": "target_delta",
    "add-remove": "add remove",
    "replace-one": "substitute swap replace",
    "uniform": "fixed without-replacement",
    "poisson": "bernoulli",
    "exact": "prv pld",
    "rdp": "moments",
    "clt": "gdp",
    "bracket": "lattice",
    "gaussian": "normal",
    "tradeoff": "trade-off",
}
SYNONYMS = {word: ours for ours, words in _OTHERS.items() for word in words.split()}
"""Words of other tools, each with ours."""


def closest(word: str, choices: Iterable[str], also: Mapping[str, str] = SYNONYMS) -> str | None:
    """The choice that a misspelt word most likely stands for; `also` are other tools' words for it.

    >>> closest("--detla", ["--delta", "--eps"]), closest("std", ["sigma", "clip"])
    ('--delta', 'sigma')
    """
    lowered = word.lower().replace("_", "-")
    dashed = {choice.replace("_", "-"): choice for choice in choices}
    meant = {other.replace("_", "-"): ours.replace("_", "-") for other, ours in also.items()}
    near = dashed.get(lowered) or dashed.get(meant.get(lowered, ""))
    if near is None:
        from difflib import get_close_matches

        cutoff = 0.7 if len(lowered) > 4 else 0.6  # one wrong letter of three is a near miss, too
        near = dashed.get(next(iter(get_close_matches(lowered, dashed, 1, cutoff)), ""))
    return near


def did_you_mean(word: str, choices: Iterable[str], also: Mapping[str, str] = SYNONYMS) -> str:
    """A clause for the end of a sentence, "; did you mean --delta?", or nothing."""
    near = closest(word, choices, also)
    return f"; did you mean {near}?" if near else ""


POSITIVE = Real(0, math.inf, typical=(1e-2, 1e2))
"""A scale such as sigma, b or a clipping norm."""
RATE = Real(0, 1, "right")
"""The probability that a unit is in a sample."""
SHARE = Real(0, 1, "both")
"""A part of something, none and all included."""
STEPS = Integer(1, 10**15)
"""The number of releases."""
SEED = Integer(0, 10**18)
"""The seed of a random generator; the same seed repeats the draws."""
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

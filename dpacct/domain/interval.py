"""One parameter: an interval of real or of whole numbers."""

from __future__ import annotations

import inspect
import math
import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import ModuleType
from typing import TYPE_CHECKING, ClassVar, Literal, Self, TypeAlias

from dpacct.domain.exact import exact, fits, shown, text
from dpacct.errors import DpacctError, InvalidArgument, MissingExtra

if TYPE_CHECKING:
    from random import Random

    from hypothesis.strategies import SearchStrategy

Closed: TypeAlias = Literal["neither", "left", "right", "both"]
Part: TypeAlias = Literal["inside", "boundary", "outside"]


@dataclass(frozen=True)
class Bound:
    """An endpoint that depends on other arguments, with the text that documents it.

    `of` takes those arguments by name, as floats: `Bound("log(n)", lambda n: math.log(n))`.
    """

    text: str
    of: Callable[..., float]

    def at(self, values: Mapping[str, float]) -> float:
        """The endpoint's value, given all the arguments (those it does not use are left out)."""
        return self.of(**{name: values[name] for name in inspect.signature(self.of).parameters})

    def __str__(self) -> str:
        return self.text


Endpoint: TypeAlias = int | float | Fraction | str | Bound


def _end(value: Endpoint) -> Fraction | float | Bound:
    """An endpoint as written, made exact; the infinities stay floats."""
    if isinstance(value, Bound) or (isinstance(value, float) and math.isinf(value)):
        return value
    number = exact(value)
    if number is None:
        raise InvalidArgument(f"an endpoint must be a number, got {shown(value)}")
    return number


@dataclass(frozen=True, init=False)
class _Interval:
    """What `Real` and `Integer` share: two ends, and whether each belongs to the domain."""

    lower: Fraction | float | Bound
    upper: Fraction | float | Bound
    closed: Closed
    typical: tuple[float, float] | None
    as_float: bool

    noun: ClassVar[str]

    def __init__(
        self,
        lower: Endpoint = -math.inf,
        upper: Endpoint = math.inf,
        closed: Closed = "neither",
        *,
        typical: tuple[float, float] | None = None,
        as_float: bool = True,
    ) -> None:
        fields = {"lower": _end(lower), "upper": _end(upper), "closed": closed}
        for name, value in (fields | {"typical": typical, "as_float": as_float}).items():
            object.__setattr__(self, name, value)

    @property
    def closed_left(self) -> bool:
        """Whether the lower end belongs to the domain."""
        return self.closed in ("left", "both")

    @property
    def closed_right(self) -> bool:
        """Whether the upper end belongs to the domain."""
        return self.closed in ("right", "both")

    def __str__(self) -> str:
        left, right = ("[" if self.closed_left else "("), ("]" if self.closed_right else ")")
        ends = [text(e) if isinstance(e, Fraction) else str(e) for e in (self.lower, self.upper)]
        return f"{left}{ends[0]}, {ends[1]}{right}"

    def at(self, values: Mapping[str, float]) -> Self:
        """The same interval, with ends that depend on other arguments replaced by their values."""
        ends = [e.at(values) if isinstance(e, Bound) else e for e in (self.lower, self.upper)]
        return type(self)(
            ends[0], ends[1], self.closed, typical=self.typical, as_float=self.as_float
        )

    def contains(self, value: Fraction | int) -> bool:
        """Whether the exact number lies between the ends (none of which may be a `Bound`)."""
        if isinstance(self.lower, Bound) or isinstance(self.upper, Bound):
            raise InvalidArgument(f"the ends of {self} depend on other arguments: check with Where")
        above = value >= self.lower if self.closed_left else value > self.lower
        below = value <= self.upper if self.closed_right else value < self.upper
        return above and below

    def _checked(
        self, name: str, value: object, number: Fraction | None, error: type[DpacctError]
    ) -> Fraction:
        if number is None:
            raise InvalidArgument(self._refusal(name, value), argument=name)
        if not self.contains(number):
            raise error(self._refusal(name, value), argument=name)
        if self.as_float and not fits(number):
            limits = " within the range of floating point (2.3e-308 to 1.8e308)"
            raise error(self._refusal(name, value, limits), argument=name)
        return number

    def _refusal(self, name: str, value: object, limits: str = "") -> str:
        return f"{name} must be {self.noun} in {self}{limits}, got {shown(value)}"

    def _window(self) -> tuple[Fraction, Fraction]:
        """Finite ends to draw between: the typical ones, else its own, else a million away."""
        if self.typical:
            return Fraction(str(self.typical[0])), Fraction(str(self.typical[1]))
        low = self.lower if isinstance(self.lower, Fraction) else None
        high = self.upper if isinstance(self.upper, Fraction) else None
        if low is None:
            low = (high or Fraction(0)) - 10**6
        return low, high if high is not None else low + 10**6

    def _no(self, part: Part) -> InvalidArgument:
        return InvalidArgument(f"{self} has no {part} to draw from", argument="part")


class Real(_Interval):
    """An interval of real numbers.

    `closed` says which ends belong to it; `typical` narrows what is drawn for tests;
    `as_float=False` also admits what a double can't hold (1e-400).

    >>> rate = Real(0, 1, closed="right")
    >>> str(rate), rate.check("rate", "0.01")
    ('(0, 1]', Fraction(1, 100))
    >>> rate.check("rate", 0)
    Traceback (most recent call last):
    dpacct.errors.InvalidArgument: rate must be a number in (0, 1], got 0
    """

    noun: ClassVar[str] = "a number"

    def check(
        self, name: str, value: object, *, error: type[DpacctError] = InvalidArgument
    ) -> Fraction:
        """`value` made exact, if it lies in the domain.

        Raises `InvalidArgument` for what is not a finite real number, `error` for one out of range.
        """
        return self._checked(name, value, exact(value), error)

    def draw(self, rng: Random, part: Part = "inside") -> Fraction:
        """A value for tests; "boundary" is a closed end, or a hair inside an open one.

        Raises `InvalidArgument` where there is none (the whole line has no outside).
        """
        low, high = self._window()
        if part == "inside":
            # A third of the draws is uniform; the others hug either end on a logarithmic scale.
            share = Fraction(rng.randint(1, 10**9 - 1), 10**9)
            kind = rng.randrange(3)
            if kind:
                hug = Fraction(repr(10 ** -(9 * rng.random()))) / 2
                share = hug if kind == 1 else 1 - hug
            return low + (high - low) * share
        hair = min(Fraction(1), high - low) / 10**12
        found: list[Fraction] = []
        ends = (self.lower, 1, self.closed_left), (self.upper, -1, self.closed_right)
        for end, inward, closed in ends:
            if isinstance(end, Fraction) and part == "boundary":
                found.append(end if closed else end + inward * hair)
            elif isinstance(end, Fraction):
                found += [end - inward * hair, end - inward * rng.randint(1, 10**6)]
                found += [] if closed else [end]
        if not found:
            raise self._no(part)
        return rng.choice(found)

    def strategy(self) -> SearchStrategy[Fraction]:
        """A Hypothesis strategy of values inside the domain, closed ends included."""
        st = _hypothesis().strategies
        low, high = self._window()
        floats = st.floats(float(low), float(high), allow_subnormal=False).map(exact)
        grid = st.integers(0, 10**6).map(lambda step: low + (high - low) * Fraction(step, 10**6))
        strategy: SearchStrategy[Fraction] = (grid | floats).filter(
            lambda value: self.contains(value) and fits(value)
        )
        return strategy


class Integer(_Interval):
    """A range of whole numbers, finite ends included. Floats are refused, even whole ones.

    >>> Integer(1, 10**15).check("steps", 2.5)
    Traceback (most recent call last):
    dpacct.errors.InvalidArgument: steps must be a whole number in [1, 1000000000000000], got 2.5
    """

    noun: ClassVar[str] = "a whole number"
    _surely: range

    def __init__(
        self,
        lower: Endpoint = -math.inf,
        upper: Endpoint = math.inf,
        closed: Closed | None = None,
        *,
        typical: tuple[float, float] | None = None,
        as_float: bool = True,
    ) -> None:
        finite: dict[tuple[bool, bool], Closed] = {
            (False, False): "neither",
            (True, False): "left",
            (False, True): "right",
            (True, True): "both",
        }
        closed = closed or finite[lower != -math.inf, upper != math.inf]
        super().__init__(lower, upper, closed, typical=typical, as_float=as_float)
        object.__setattr__(self, "_surely", self._plain_range())

    def check(self, name: str, value: object, *, error: type[DpacctError] = InvalidArgument) -> int:
        """`value` as an int: from an int, a NumPy integer, or text such as "1000" or "1e6".

        Raises `InvalidArgument` for what is not whole, `error` for a whole number out of range.
        """
        if type(value) is int and value in self._surely:
            return value
        whole = isinstance(value, (str, numbers.Integral))
        number = exact(value) if whole else None
        if number is not None and number.denominator != 1:
            number = None
        return int(self._checked(name, value, number, error))

    def _plain_range(self) -> range:
        """Whole numbers that need no second look (every plan has many, at every trial of a search)."""
        low, high = self.lower, self.upper
        if not (isinstance(low, Fraction) and isinstance(high, Fraction)):
            return range(0)
        if low.denominator != 1 or high.denominator != 1:
            return range(0)
        first, last = int(low) + (not self.closed_left), int(high) - (not self.closed_right)
        return range(max(first, -(10**15)), min(last, 10**15) + 1)

    def _ends(self) -> tuple[int, int]:
        """The smallest and largest whole numbers to draw."""
        low, high = (math.ceil(end) for end in self._window())
        high = math.floor(self._window()[1])
        low += low == self.lower and not self.closed_left
        high -= high == self.upper and not self.closed_right
        return low, high

    def draw(self, rng: Random, part: Part = "inside") -> int:
        """As `Real.draw`, on whole numbers."""
        low, high = self._ends()
        if high < low:  # an end that depends on other arguments may leave nothing
            raise self._no(part)
        if part == "inside":
            uniform = rng.random() < 0.5
            span = high - low
            offset = rng.randint(0, span) if uniform else int((span + 1) ** rng.random()) - 1
            return low + min(offset, span)
        step = 0 if part == "boundary" else rng.choice([1, rng.randint(1, 10**6)])
        found = [low - step] if isinstance(self.lower, Fraction) else []
        found += [high + step] if isinstance(self.upper, Fraction) else []
        if not found:
            raise self._no(part)
        return rng.choice(found)

    def strategy(self) -> SearchStrategy[int]:
        """A Hypothesis strategy of whole numbers inside the domain."""
        low, high = self._ends()
        strategy: SearchStrategy[int] = _hypothesis().strategies.integers(low, high)
        return strategy


def _hypothesis() -> ModuleType:
    """Hypothesis, imported only when a strategy is asked for: it belongs to the `dev` extra."""
    try:
        import hypothesis
        import hypothesis.strategies
    except ImportError as absent:
        message = "drawing strategies needs Hypothesis: pip install 'dpacct[dev]'"
        raise MissingExtra(message, argument="hypothesis") from absent
    return hypothesis

"""Answer: a number together with all that is known about it; Answers: many; and how one is written."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal, localcontext
from functools import reduce
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, cast

from dpacct.citations import Citation
from dpacct.declare.domain import DIGITS
from dpacct.declare.number import Direction, down, near, power_of_ten, rounded, up
from dpacct.errors import InvalidArgument, Unsupported
from dpacct.vocabulary import Adjacency, Assumption, Side, Strength, Unit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dpacct.plan.node import Node

    _Floats = NDArray[np.float64]

SCHEMA = 1
"""Version of the JSON form."""
_SIGNS: Mapping[Side, tuple[str, Direction]] = {
    Side.UPPER: ("<=", "up"),
    Side.LOWER: (">=", "down"),
    Side.TWO_SIDED: ("=", "nearest"),
    Side.NONE: ("~", "nearest"),
}
"""The sign before an answer's single number, and the direction in which it may be rounded."""
RESERVED = frozenset(
    (
        *("schema", "command", "error", "quantity", "plan", "seconds", "alternatives"),
        *("value", "lower", "upper", "side", "strength", "method", "log_value"),
        *("adjacency", "unit", "basis", "basis_ids", "assumptions", "assumption_ids"),
    )
)
"""Keys of the JSON form that `Answer.extra` may not use."""
_WORDS = (("side", Side), ("strength", Strength), ("adjacency", Adjacency), ("unit", Unit))


@dataclass(frozen=True, kw_only=True, repr=False)
class Answer:
    """A number, the bracket it lies in, and how well that is supported.

    `value` is the best single number; `lower` and `upper` bracket the truth where they are known
    (None where not). Delta and the like are plain numbers, sigma is in units of the sensitivity,
    `seconds` in seconds. `log_value` is the natural logarithm of the value where the value itself
    lies below the range of floats; `notes` say how it was come by, and `certificate` proves it where
    there is a proof. `float(answer)` is the safe end: by it answers are compared with each other and
    with numbers, and to its safe side they are rounded (`==` compares all that two answers say).
    Raises `InvalidArgument` unless lower <= value <= upper, and for NaN.

    >>> answer = Answer(quantity="epsilon", value=1.515361916664, lower=1.51536191666,
    ...                 upper=1.51536191667, side=Side.TWO_SIDED,
    ...                 strength=Strength.CONVERGED, method="exact")
    >>> print(answer)
    epsilon = 1.515361916664 [1.51536191666, 1.51536191667] two-sided, converged (exact), add-remove
    >>> float(answer), f"{answer:.3f}", answer <= 1.6
    (1.51536191667, '1.516', True)
    """

    quantity: str
    value: float
    lower: float | None = None
    upper: float | None = None
    side: Side
    strength: Strength
    method: str
    basis: tuple[Citation, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    adjacency: Adjacency = Adjacency.ADD_REMOVE
    unit: Unit = Unit.RECORD
    tree: Node | None = field(default=None, repr=False)
    seconds: float = field(default=0.0, compare=False)
    alternatives: tuple[Answer, ...] = field(default=(), repr=False)
    log_value: float | None = None
    extra: Mapping[str, float | str] = field(default_factory=dict, hash=False)
    safe_end: Literal["upper", "lower"] = "upper"
    notes: tuple[str, ...] = field(default=(), compare=False)
    certificate: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Make the ends plain floats, and refuse what contradicts itself."""
        kept, wrong = self.__dict__, dict[str, str]()
        for name in ("value", "lower", "upper", "seconds", "log_value"):
            if kept[name] is not None:
                kept[name] = float(kept[name])
                if math.isnan(kept[name]):
                    wrong[name] = "of an answer must be a number, got nan"
        kept["basis"] = tuple([b if isinstance(b, Citation) else Citation(b) for b in self.basis])
        for name, kind in _WORDS:
            if not isinstance(kept[name], kind):
                kept[name] = kind.parse(kept[name], argument=name)
        low, high = _or(self.lower, -math.inf), _or(self.upper, math.inf)
        if not low <= self.value <= high:
            wrong.setdefault(
                "value", f"must lie between the ends, {low} and {high}, got {self.value}"
            )
        for end, other in (("lower", Side.LOWER), ("upper", Side.UPPER)):
            if kept[end] is None and self.side in (Side.TWO_SIDED, other):
                wrong[end] = f"must be given for an answer of side {self.side}, got None"
        if self.strength is Strength.REFUTED:
            wrong["strength"] = "of an answer must not be refuted, got refuted"
        if self.safe_end not in ("upper", "lower"):
            wrong["safe_end"] = f"must be 'upper' or 'lower', got {self.safe_end!r}"
        if taken := RESERVED.intersection(self.extra):
            wrong["extra"] = f"must not use the reserved key {min(taken)!r}"
        for name, message in wrong.items():
            raise InvalidArgument(f"{name} {message}", argument=name)
        kept["extra"] = MappingProxyType(dict(self.extra))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "extra": dict(self.extra)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, extra=MappingProxyType(state["extra"]))

    def __float__(self) -> float:
        """The safe end: upper, or lower for step counts; the value where that end is unknown."""
        return _or(self.upper if self.safe_end == "upper" else self.lower, self.value)

    def __int__(self) -> int:
        """The safe end as a whole number; raises `InvalidArgument` where it isn't one."""
        safe = float(self)
        if not safe.is_integer():
            raise InvalidArgument(
                f"{self.quantity} must be whole to become an int, got {safe!r}",
                argument=self.quantity,
            )
        return int(safe)

    def __lt__(self, other: Any) -> bool:
        return cast(bool, float(self) < _end(other))

    def __le__(self, other: Any) -> bool:
        return cast(bool, float(self) <= _end(other))

    def __gt__(self, other: Any) -> bool:
        return cast(bool, float(self) > _end(other))

    def __ge__(self, other: Any) -> bool:
        return cast(bool, float(self) >= _end(other))

    def __format__(self, spec: str) -> str:
        """The safe end, rounded to its safe side; an estimate to nearest."""
        safe = float(self)
        if not spec or not math.isfinite(safe):
            return format(safe, spec) if spec else str(self)
        rounding = ROUND_CEILING if self.safe_end == "upper" else ROUND_FLOOR
        with localcontext() as context:
            context.rounding = ROUND_HALF_EVEN if self.is_estimate else rounding
            return format(Decimal(repr(safe)), spec)

    @property
    def is_estimate(self) -> bool:
        """Return whether the number bounds nothing."""
        return self.strength is Strength.ESTIMATE or self.side is Side.NONE

    def __repr__(self) -> str:
        return f"<{self}>"

    def _repr_html_(self) -> str:
        """Show the answer's line in a notebook, with its basis and assumptions folded."""
        from html import escape

        number, _, grade = escape(str(self)).partition(f" {self.side}")
        about = [*self.basis, *(f"assumes: {each}" for each in self.assumptions), *self.notes]
        listed = "".join(f"<li>{escape(line)}</li>" for line in about)
        more = f"<details><summary>why</summary><ul>{listed}</ul></details>" if listed else ""
        return f"<b>{number}</b> <small>{self.side}{grade}; unit {self.unit}</small>{more}"

    def __str__(self) -> str:
        """One line; the ends are rounded outward, to as many digits as tell them apart."""
        grade = f"{self.side}, {self.strength} ({self.method}), {self.adjacency}"
        sign, way = _SIGNS[Side.NONE if self.is_estimate else self.side]
        if self.log_value is not None and self.value < 1e-300:
            return f"{self.quantity} {sign} {power_of_ten(self.log_value, way)} {grade}"
        low, high = self.lower, self.upper
        if self.is_estimate or self.side is not Side.TWO_SIDED or low is None or high is None:
            end = {"<=": high, ">=": low}.get(sign)
            return f"{self.quantity} {sign} {rounded(_or(end, self.value), way, 10)} {grade}"
        if low == high:
            return f"{self.quantity} = {rounded(self.value, 'nearest', 17)} {grade}"
        finite = math.isfinite(low + high)
        digits = told_apart(low, high, most=16, least=4, beyond=1) if finite else 10
        value, ends = (
            rounded(self.value, "nearest", digits + 1),
            (down(low, digits), up(high, digits)),
        )
        return f"{self.quantity} = {value} [{', '.join(ends)}] {grade}"

    def to_dict(self) -> dict[str, Any]:
        """The JSON form (docs/json.md, schema 1), without the command's name.

        An end that is not known is null. JSON has no infinity: an infinite number is the string
        "inf" or "-inf", which `float` reads. A plan made of a function is null. Keys of `extra` stand
        beside the others; the alternatives carry their own bracket and time.
        """
        results: dict[str, Any] = {
            "schema": SCHEMA,
            "quantity": self.quantity,
            **self._numbers(),
            "adjacency": str(self.adjacency),
            "unit": str(self.unit),
            **self._basis(),
            "assumptions": [str(assumption) for assumption in self.assumptions],
            "plan": _saved(self.tree),
            "seconds": self.seconds,
            "alternatives": [
                {**other._numbers(), **other._basis(), "seconds": other.seconds}
                for other in self.alternatives
            ],
            "assumption_ids": [assumption.id for assumption in self.assumptions],
        }
        return results | {key: _json(value) for key, value in self.extra.items()}

    def _basis(self) -> dict[str, list[str]]:
        return {"basis": [*self.basis], "basis_ids": [citation.id for citation in self.basis]}

    def _numbers(self) -> dict[str, Any]:
        results = {name: _json(vars(self)[name]) for name in ("value", "lower", "upper")}
        results |= {"side": str(self.side), "strength": str(self.strength), "method": self.method}
        return results if self.log_value is None else results | {"log_value": _json(self.log_value)}


def _end(other: Any) -> Any:
    """The number to compare an answer with: another answer's safe end, or a plain number."""
    return float(other) if isinstance(other, Answer) else other


def _or(end: float | None, instead: float) -> float:
    return instead if end is None else end


def _saved(tree: Node | None) -> dict[str, Any] | None:
    """The plan as JSON values; None if there is no plan, or if a function in it cannot be saved."""
    try:
        return None if tree is None else tree.to_dict()
    except Unsupported:
        return None


def _json(value: float | str | None) -> float | str | None:
    """A value that JSON can hold: infinities as text."""
    if isinstance(value, str) or value is None:
        return value
    if math.isnan(value):
        raise InvalidArgument("an answer must not hold nan", argument="extra")
    return value if math.isfinite(value) else ("inf" if value > 0 else "-inf")


# --- many of them

_SHOWN = 8
"""More answers than that are not printed one by one."""


class Answers(Sequence["Answer"]):
    """The answers at many values: `value`, `lower` and `upper` are arrays of the values' shape.

    An end that is not known is nan. As an array, it is the safe ends; as a sequence, single answers.
    `side` and `strength` are what all of them have at least.

    >>> import dpacct as dp
    >>> dp.Gaussian(sigma=2).epsilon([1e-5, 1e-6], method="exact").upper.shape
    (2,)
    """

    def __init__(self, answers: Sequence[Answer], shape: tuple[int, ...] | None = None) -> None:
        self._answers = tuple(answers)
        self.shape = (len(self._answers),) if shape is None else shape

    def _array(self, numbers: Sequence[float | None]) -> _Floats:
        import numpy as np

        return np.array(numbers, dtype=np.float64).reshape(self.shape)  # None becomes nan

    @property
    def value(self) -> _Floats:
        """The best single numbers."""
        return self._array([answer.value for answer in self._answers])

    @property
    def lower(self) -> _Floats:
        """The lower ends."""
        return self._array([answer.lower for answer in self._answers])

    @property
    def upper(self) -> _Floats:
        """The upper ends."""
        return self._array([answer.upper for answer in self._answers])

    @property
    def side(self) -> Side:
        """The side that all the answers share."""
        return reduce(Side.meet, (answer.side for answer in self._answers), Side.TWO_SIDED)

    @property
    def strength(self) -> Strength:
        """The weakest strength of the answers."""
        return Strength.weakest(answer.strength for answer in self._answers)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        made = self._array([float(answer) for answer in self._answers])
        return made if dtype is None else made.astype(dtype)

    def __len__(self) -> int:
        return len(self._answers)

    def __iter__(self) -> Iterator[Answer]:
        return iter(self._answers)

    def __getitem__(self, index: Any) -> Any:
        """One answer in reading order, or several of them."""
        entry = self._answers[index]
        return Answers(entry) if isinstance(index, slice) else entry

    def __repr__(self) -> str:
        """The first of the answers, and how many there are."""
        more = [f"... of {len(self)} answers"] if len(self) > _SHOWN else []
        return "\n".join([*map(str, self._answers[:_SHOWN]), *more])


# --- as a reader takes one: its side, its grade, and as many digits as are true

# A bracket narrower than this is one number to any reader of twelve digits.
_TIGHT = 1e-9


KNOWN = {
    Strength.PROVED: "proved",
    Strength.BRACKETED: "bracketed, every rounding charged",
    Strength.CONVERGED: "computed, not proved",
    Strength.BOUND: "an upper bound from a theorem; the truth may be lower",
    Strength.PUBLISHED: "as the paper prints it, not verified",
    Strength.ESTIMATE: "an estimate: it guarantees nothing",
}
"""A sentence for each grade of a number."""
PROTECTS = {
    Adjacency.ADD_REMOVE: "one {unit}, added or removed",
    Adjacency.REPLACE_ONE: "one {unit}, exchanged for another",
    Adjacency.ZERO_OUT: "one {unit}, its contribution replaced by zero",
}
"""The difference between two data sets that stays hidden."""


def is_tight(answer: Answer) -> bool:
    """Return whether the two ends agree in all printed digits."""
    if answer.lower is None or answer.upper is None or _below_floats(answer):
        return True
    if answer.safe_end == "lower" and answer.upper - answer.lower == 1:
        return True  # whole numbers: the most that is within, and the least that is not
    return answer.upper - answer.lower <= _TIGHT * abs(answer.upper)


def _below_floats(answer: Answer) -> bool:
    """Return whether the number is so small that only its logarithm is shown."""
    return answer.log_value is not None and float(answer) < 1e-300


def safe_number(answer: Answer, digits: int = DIGITS) -> str:
    """The safe end, rounded to its safe side; an estimate has none and is rounded to nearest."""
    direction: Direction = "up" if answer.safe_end == "upper" else "down"
    direction = "nearest" if answer.is_estimate else direction
    if answer.log_value is not None and _below_floats(answer):
        return power_of_ten(answer.log_value, direction)
    return rounded(float(answer), direction, digits)


def bounded(answer: Answer, digits: int = DIGITS) -> str:
    """`<= 1.5154`: what is said of the quantity."""
    sign = "<=" if answer.safe_end == "upper" else ">="
    if answer.is_estimate or (answer.side is Side.TWO_SIDED and is_tight(answer)):
        sign = "~" if answer.is_estimate else "="
    return f"{sign} {safe_number(answer, digits)}"


def grade(answer: Answer) -> str:
    """`two-sided, converged`."""
    return f"{answer.side}, {answer.strength}"


def bracket(answer: Answer, most: int = 16) -> str:
    """The interval as "between ... and ..."; empty for a point or without an interval."""
    low, high = answer.lower, answer.upper
    if low is None or high is None or low == high or not math.isfinite(low + high):
        return ""
    if _below_floats(answer) or (answer.safe_end == "lower" and is_tight(answer)):
        return ""
    digits = told_apart(low, high, most=most, least=6)
    return f"between {rounded(low, 'down', digits)} and {rounded(high, 'up', digits)}"


def told_apart(low: float, high: float, *, most: int, least: int, beyond: int = 2) -> int:
    """Enough digits to distinguish two ends, and `beyond` more."""
    size = max(abs(low), abs(high))
    return min(most, max(least, beyond + math.ceil(math.log10(size / (high - low)))))


def is_bound(answer: Answer) -> bool:
    """Return whether the answer's safe end is a guarantee: an upper end that a theorem supports."""
    return (
        answer.side in (Side.TWO_SIDED, Side.UPPER)
        and answer.strength >= Strength.BOUND
        and math.isfinite(float(answer))
    )


def safe(answer: Answer, digits: int) -> str:
    """The end that may be quoted; an estimate is rounded to nearest."""
    return up(float(answer), digits) if is_bound(answer) else near(answer.value, digits)


def interval(answer: Answer) -> str:
    """The interval that holds the truth, to the digits that its ends share and two more."""
    lower, upper = answer.lower, answer.upper
    if answer.strength <= Strength.PUBLISHED or (lower is None and upper is None):
        return "none"
    if lower is None or upper is None:
        return (
            f"at most {up(upper, 6)}" if upper is not None else f"at least {down(lower or 0.0, 6)}"
        )
    if lower == upper:
        return f"exactly {near(lower, 17)}"
    finite = math.isfinite(lower + upper)
    digits = told_apart(lower, upper, most=16, least=4) if finite else 10
    return f"[{down(lower, digits)}, {up(upper, digits)}]"


def leading(answer: Answer, digits: int) -> str:
    """The number of the first line, rounded to its safe side."""
    return f"{'about ' if answer.is_estimate else ''}{safe_number(answer, digits)}"


def certainty(answer: Answer) -> str:
    """One line on how well the answer is known."""
    sentence, least = KNOWN[answer.strength], f"the least {answer.quantity} that holds"
    if answer.is_estimate:
        return sentence
    if answer.lower is None and answer.strength >= Strength.CONVERGED:
        return f"{sentence}: {least} is at most this"
    ends = bracket(answer, 12)
    if not ends or answer.lower is None:
        return sentence
    known = sentence.partition(";")[0]
    if is_tight(answer):
        return f"{known}: {least} lies {ends}"
    return f"{known}: {least} is at most this and at least {down(answer.lower, 4)}"


def protected(answer: Answer) -> str:
    """The difference between two data sets that stays hidden, with its unit."""
    return PROTECTS[answer.adjacency].format(unit=answer.unit)

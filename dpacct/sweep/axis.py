"""One axis of a grid: a parameter and the texts it takes, in order."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, exp, floor, log

from dpacct.declare.number import fits, text
from dpacct.errors import InvalidArgument

MOST_POINTS = 1_000_000
SCALES = ("linear", "log")


@dataclass(frozen=True)
class Axis:
    """A parameter, and its values as they would be typed.

    Attributes:
        name: of the parameter, such as "sigma".
        values: at least one.
        log: whether they are spread over a logarithmic scale.
    """

    name: str
    values: tuple[str, ...]
    log: bool = False

    def __post_init__(self) -> None:
        """Refuse an axis without values, or beyond all use."""
        if not self.values:
            raise InvalidArgument(f"axis {self.name} must have a value", argument=self.name)
        if len(self.values) > MOST_POINTS:
            told = (
                f"axis {self.name} must have at most {MOST_POINTS} values, got {len(self.values)}"
            )
            raise InvalidArgument(told, argument=self.name)

    def numbers(self) -> tuple[float, ...] | None:
        """The values as floats; None where one of them is a word."""
        from dpacct.declare.number import exact

        found = [exact(value) for value in self.values]
        return (
            None if None in found else tuple(float(value) for value in found if value is not None)
        )


def spread(
    name: str, start: Fraction, stop: Fraction, points: int, scale: str, *, whole: bool
) -> Axis:
    """An axis of evenly spread numbers, both ends included.

    Linear steps are exact fractions; those of a logarithmic scale have twelve digits. The values of
    a whole-numbered parameter are rounded, and each is kept once.

    Args:
        name: of the parameter.
        start: the first value.
        stop: the last one; may be the smaller.
        points: how many, from 2 to a million.
        scale: "linear" or "log".
        whole: whether the parameter takes whole numbers only.

    Raises:
        InvalidArgument: no such axis.

    >>> spread("rate", Fraction(1, 10), Fraction(1, 2), 3, "linear", whole=False).values
    ('0.1', '0.3', '0.5')
    >>> spread("steps", Fraction(1), Fraction(10000), 5, "log", whole=True).values
    ('1', '10', '100', '1000', '10000')
    """
    if scale not in SCALES:
        raise InvalidArgument(f"axis {name}: scale must be linear or log, got {scale[:40]!r}")
    if not 2 <= points <= MOST_POINTS:
        told = f"axis {name}: points must be from 2 to {MOST_POINTS}, got {points}"
        raise InvalidArgument(told, argument=name)
    if start == stop:
        raise InvalidArgument(f"axis {name}: from and to must differ, got {text(start)} twice")
    if scale == "log":
        if min(start, stop) <= 0:
            told = f"axis {name}: both ends of a log scale must be above 0, got {text(min(start, stop))}"
            raise InvalidArgument(told, argument=name)
        inner = [_between(start, stop, i / (points - 1)) for i in range(1, points - 1)]
    else:
        inner = [start + (stop - start) * i / (points - 1) for i in range(1, points - 1)]
    numbers = [start, *inner, stop]
    if whole:
        # The ends stay as they are: whoever types a fraction shall be told by the command.
        numbers = [start, *(Fraction(round(number)) for number in inner), stop]
        low, high = ceil(min(start, stop)), floor(max(start, stop))
        numbers[1:-1] = [n for n in numbers[1:-1] if low <= n <= high]
    return Axis(name, tuple(dict.fromkeys(text(number) for number in numbers)), scale == "log")


def _between(start: Fraction, stop: Fraction, share: float) -> Fraction:
    """The point that divides the ratio of the ends, to twelve digits."""
    if not (fits(start) and fits(stop)):
        raise InvalidArgument("an axis must lie in the range of floats")
    low, high = float(start), float(stop)
    return Fraction(f"{exp(log(low) + (log(high) - log(low)) * share):.12g}")

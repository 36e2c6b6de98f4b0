"""Checks of settings: each returns the value, or raises a sentence with argument, value and range."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any, TypeVar, cast

from dpacct import InvalidArgument

T = TypeVar("T")


def setting(default: T, check: Callable[..., object], *bounds: object) -> T:
    """A field of `Settings` with a default and a check of its value: check(name, value, *bounds)."""
    described: Any = field(default=default, metadata={"check": (check, bounds)})
    return cast(T, described)


@dataclass(frozen=True)
class Settings:
    """A dataclass whose fields check their values (`setting`); None stands for a setting not given.

    An exact number takes the place of what was typed. Raises `InvalidArgument`.
    """

    def __post_init__(self) -> None:
        for each in fields(self):
            value = vars(self)[each.name]
            if value is None or "check" not in each.metadata:
                continue
            check, bounds = each.metadata["check"]
            accepted = check(each.name, value, *bounds)
            if isinstance(accepted, Fraction):
                object.__setattr__(self, each.name, accepted)


def _refused(name: str, range_text: str, value: object) -> InvalidArgument:
    return InvalidArgument(f"{name} must be {range_text}, got {value!r:.60}", argument=name)


def whole(name: str, value: object, least: int = 0, most: int = 10**12) -> int:
    """A whole number from `least` to `most`."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise _refused(name, f"a whole number from {least} to {most}", value)
    return value


def real(name: str, value: object, least: float, most: float = math.inf) -> float:
    """A finite number from `least` to `most`, both included."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise _refused(name, "a finite number", value)
    if not least <= value <= most:
        above = f"at least {least:g}" if math.isinf(most) else f"from {least:g} to {most:g}"
        raise _refused(name, above, value)
    return float(value)


def positive(name: str, value: object, most: float = math.inf) -> float:
    """A finite number above 0."""
    number = real(name, value, 0.0, most)
    if number == 0.0:
        raise _refused(name, "a finite number above 0", value)
    return number


def share(name: str, value: object) -> Fraction:
    """An exact number in (0, 1]: 0.05 is 1/20, as it was typed."""
    try:
        number = value if isinstance(value, Fraction) else Fraction(Decimal(str(value)))
    except (InvalidOperation, ValueError, OverflowError):
        raise _refused(name, "a number above 0 and at most 1", value) from None
    if isinstance(value, bool) or not 0 < number <= 1:
        raise _refused(name, "a number above 0 and at most 1", value)
    return number


def widths(name: str, value: object, count: int | None = None) -> tuple[int, ...]:
    """Whole numbers of at least 1, in a list; `count` of them where that is given."""
    entries = list(value) if isinstance(value, tuple | list) else [None]
    fine = [entry for entry in entries if type(entry) is int and 1 <= entry <= 10**6]
    if len(fine) != len(entries) or count not in (None, len(fine)):
        range_text = "a list of" if count is None else f"a list of {count}"
        raise _refused(name, f"{range_text} whole numbers from 1 to 1000000", value)
    return tuple(fine)


def near(value: str, choices: Iterable[str]) -> str:
    """A clause "did you mean ...?" for a misspelt word, or nothing."""
    close = difflib.get_close_matches(value, list(choices), 1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def one_of(name: str, value: object, choices: Iterable[str]) -> str:
    """Check that a word is in `choices`."""
    words = list(choices)
    if not isinstance(value, str) or value not in words:
        message = f"{name} must be one of {', '.join(words)}, got {value!r:.60}"
        raise InvalidArgument(message + near(str(value), words), argument=name)
    return value


def check_keys(where: str, section: Iterable[str], names: Iterable[str]) -> None:
    """Refuse a key that nothing reads: a misspelt setting must not be silently ignored."""
    accepted = sorted(names)
    for key in section:
        if key not in accepted:
            takes = ", ".join(accepted) or "no settings but its name"
            message = f"{where} takes {takes}, got {key!r}{near(key, accepted)}"
            raise InvalidArgument(message, argument=key)


def delta(name: str, value: object, clients: int) -> Fraction:
    """A probability in (0, 1); also as a power of the number of clients, as papers write it."""
    power = re.fullmatch(r"\s*clients\s*\^\s*(-\d+(?:\.\d*)?)\s*", str(value))
    if power and clients > 1:
        return Fraction(math.nextafter(clients ** float(power.group(1)), 0.0))  # the safe side
    number = share(name, value)
    if number == 1:
        raise _refused(name, "a number strictly between 0 and 1, or 'clients^-1.1'", value)
    return number

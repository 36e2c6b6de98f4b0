"""Custom: a mechanism described by the user, in one of several forms."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from dpacct.declare.domain import did_you_mean
from dpacct.declare.number import shown
from dpacct.errors import InvalidArgument, Unsupported
from dpacct.mechanisms.mechanism import Mechanism
from dpacct.plan.node import Fields
from dpacct.vocabulary import Adjacency, Assumption

if TYPE_CHECKING:
    from dpacct.pld.pair import Pair

# the keyword that gives a form -> the file and the class of that form
_FORMS = {
    "rdp": ("custom_renyi", "CustomRenyi"),
    "moment": ("custom_renyi", "CustomRenyi"),
    "tables": ("custom_tables", "CustomTables"),
    "densities": ("custom_densities", "CustomDensities"),
    "profile": ("custom_profile", "CustomProfile"),
    "tradeoff": ("custom_profile", "CustomTradeoff"),
}
_BESIDE = ("breaks", "symmetric")


class Custom(Mechanism):
    """Your own mechanism, from exactly one of these; each holds for every pair of neighbours.

    `rdp`: Renyi DP as a function of the order, above 1.
    `moment`: E[e^{sL}] of the privacy loss L under P, as a function of s > 0.
    `tables`: (p, q), the probabilities of each outcome with the unit and without it.
    `densities`: (p, q), densities on a line as functions of an array, with `breaks`, which start and
    end where both vanish and name every kink; `symmetric` says that exchanging p and q changes nothing.
    `profile`: delta as a function of epsilon >= 0, or a list of (epsilon, delta) that hold together.
    `tradeoff`: the least type II error as a function of the type I error, or a list of points.

    Functions are called with floats (densities with arrays), are checked where they are called, and
    are not saved with a plan; lists are. `Custom.from_csv` reads a profile. Raises `InvalidArgument`.

    >>> coin = Custom(tables=([0.75, 0.25], [0.25, 0.75]))
    >>> round(coin.epsilon(delta=1e-9).value, 6)
    1.098612
    >>> Custom(rdp=lambda order: order / 8).epsilon(delta=1e-5).side
    <Side.UPPER: 'upper'>
    """

    domains: ClassVar[Any] = {}
    what: ClassVar[str] = ""
    instead: ClassVar[str] = ""  # the lists that say as much as its function
    in_files = False

    def __new__(cls, **settings: Any) -> Custom:
        """Make an instance of the class for the given form."""
        if cls is not Custom:
            return object.__new__(cls)
        forms = [name for name in _FORMS if settings.get(name) is not None]
        if len(forms) != 1:
            got = " and ".join(forms) or "none of them"
            unknown = sorted(set(settings) - {*_FORMS, *_BESIDE})
            if unknown:
                got += f", and {unknown[0]}, which it does not know"
                got += did_you_mean(unknown[0], [*_FORMS])
            message = f"Custom takes exactly one of {', '.join(_FORMS)}, got {got}"
            raise InvalidArgument(message, argument=forms[0] if forms else "rdp")
        for other in set(settings) - {*_FORMS} - set(_BESIDE if forms == ["densities"] else ()):
            message = f"Custom({forms[0]}=...) takes no {other}"
            raise InvalidArgument(message, argument=other)
        file, name = _FORMS[forms[0]]
        chosen: type[Custom] = getattr(import_module(f"dpacct.mechanisms.{file}"), name)
        made: Custom = object.__new__(chosen)
        return made

    @classmethod
    def from_csv(cls, path: str | Path) -> Custom:
        """A profile from a file of lines `epsilon,delta` (or with semicolons or tabs).

        A heading, a byte-order mark, empty lines and lines that start with # are skipped. Raises
        `InvalidArgument`, naming the line, for what is no profile.
        """
        from dpacct.mechanisms.custom_csv import read_profile

        rows = read_profile(path)
        made: Custom = import_module(f"{__package__}.custom_profile").CustomProfile(profile=rows)
        return made

    if TYPE_CHECKING:  # for a type checker it is a class like any other: calling it gives a form

        def pair(self, adjacency: Adjacency) -> Pair:
            """See `Mechanism.pair`."""
            raise unsaved(self.what)

    def assumptions(self, adjacency: Adjacency) -> tuple[Assumption, ...]:
        """The assumption that the user's description is true."""
        return (
            Assumption(
                f"the {self.what} that was given holds under {adjacency}", id="stated-guarantee"
            ),
        )

    def fields(self) -> Fields:
        """The lists as JSON values; raises `Unsupported` for a function."""
        raise unsaved(self.instead)

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        """Read lists; raises `Unsupported` for what is never saved."""
        raise unsaved(cls.instead)

    def __repr__(self) -> str:
        return f"Custom({self.what})"


def unsaved(what: str) -> Unsupported:
    """The refusal to save a function."""
    text = f"a Custom made of a function cannot be saved: give its {what} as a list of numbers"
    return Unsupported(text, argument="plan")


def failure(wrong: Exception) -> str:
    """The message of an exception, on one line."""
    return f"{type(wrong).__name__} {shown(str(wrong))}"


def listed(anything: object) -> list[Any] | None:
    """A sequence or an array as a list, None for anything else; a string is no list."""
    if isinstance(anything, Sequence) and not isinstance(anything, str | bytes):
        return list(anything)
    tolist = getattr(anything, "tolist", None)
    rows = tolist() if callable(tolist) else None
    return rows if isinstance(rows, list) else None


def called(function: Callable[[float], float], at: float, name: str) -> float:
    """The function's value as a float; raises `InvalidArgument` for what is not a number."""
    try:
        value = float(function(at))
    except OverflowError:
        return math.inf
    except Exception as wrong:  # whatever a function of the user's may raise
        message = f"{name} must be a function of one number, and fails at {at:g}: {failure(wrong)}"
        raise InvalidArgument(message, argument=name) from None
    if math.isnan(value):
        raise InvalidArgument(
            f"{name} must be a number everywhere, got nan at {at:g}", argument=name
        )
    return value


def pairs_of_numbers(points: object, name: str) -> list[tuple[float, float]]:
    """A list of pairs of finite numbers; raises `InvalidArgument`."""
    results = []
    for row in listed(points) or []:
        try:
            first, second = (float(cell) for cell in row)
        except (TypeError, ValueError):
            first = second = math.nan
        if not (math.isfinite(first) and math.isfinite(second)):
            message = f"{name} must be a list of pairs of finite numbers, got the row {shown(row)}"
            raise InvalidArgument(message, argument=name)
        results.append((first, second))
    if not results:
        message = f"{name} must be a function or a list of pairs of numbers, got {shown(points)}"
        raise InvalidArgument(message, argument=name)
    return results

"""Custom: a mechanism described by the user: tables or densities here, curves in custom_curves.py."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Self

from dpacct.citations import BOTH_WAYS, DENSITIES, TABLES
from dpacct.declare.domain import did_you_mean
from dpacct.declare.number import Number, exact, shown, text
from dpacct.errors import InvalidArgument, Unsupported
from dpacct.mechanisms.mechanism import Mechanism
from dpacct.plan.node import Fields, take
from dpacct.vocabulary import Adjacency, Assumption

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dpacct.pld.pair import Pair, Stated

# the keywords of which one gives the law, and those that may stand beside densities
_GIVEN_BY = ("rdp", "tables", "densities", "profile", "tradeoff")
_BESIDE = ("breaks", "symmetric")


class Custom(Mechanism):
    """Your own mechanism, from exactly one of these; each holds for every pair of neighbours.

    `rdp`: Renyi DP as a function of the order, above 1.
    `tables`: (p, q), the probabilities of each outcome with the unit and without it.
    `densities`: (p, q), densities on a line as functions of an array, with `breaks`, which start and
    end where both vanish and name every kink; `symmetric` says that exchanging p and q changes nothing.
    `profile`: a list of (epsilon, delta) that hold together.
    `tradeoff`: a list of (type I error, least type II error), the corners of a polygon.

    Functions are called with floats (densities with arrays), are checked where they are called, and
    are not saved with a plan; lists are. Raises `InvalidArgument`.

    >>> coin = Custom(tables=([0.75, 0.25], [0.25, 0.75]))
    >>> round(coin.epsilon(delta=1e-9).value, 6)
    1.098612
    >>> Custom(rdp=lambda order: order / 8).epsilon(delta=1e-5).side
    <Side.UPPER: 'upper'>
    """

    from_reals = False
    what: ClassVar[str] = ""
    instead: ClassVar[str] = ""  # the lists that say as much as its function
    holds: ClassVar[tuple[str, ...]] = ()  # the attributes that it is made of
    given: ClassVar[str] = ""  # the keyword that gives it
    in_files = False
    _forms: ClassVar[dict[str, type[Custom]]] = {}  # by the keyword that gives each

    def __init_subclass__(cls, given_by: str = "", **more: Any) -> None:
        super().__init_subclass__(**more)
        cls.given = given_by
        if given_by:
            Custom._forms[given_by] = cls

    def __new__(cls, **settings: Any) -> Custom:
        """Make an instance of the class for the given form."""
        if cls is not Custom:
            return object.__new__(cls)
        forms = [name for name in _GIVEN_BY if settings.get(name) is not None]
        if len(forms) != 1:
            got = " and ".join(forms) or "none of them"
            unknown = sorted(set(settings) - {*_GIVEN_BY, *_BESIDE})
            if unknown:
                got += f", and {unknown[0]}, which it does not know"
                got += did_you_mean(unknown[0], _GIVEN_BY)
            message = f"Custom takes exactly one of {', '.join(_GIVEN_BY)}, got {got}"
            raise InvalidArgument(message, argument=forms[0] if forms else "rdp")
        for other in set(settings) - {*_GIVEN_BY} - set(_BESIDE if forms == ["densities"] else ()):
            message = f"Custom({forms[0]}=...) takes no {other}"
            raise InvalidArgument(message, argument=other)
        made: Custom = object.__new__(cls._forms[forms[0]])
        return made

    if TYPE_CHECKING:  # for a type checker it is a class like any other: calling it gives a form

        def pair(self, adjacency: Adjacency) -> Pair:
            """See `Mechanism.pair`."""
            raise unsaved(self.what)

    def _keep(self, **values: object) -> None:
        """Store the checked attributes."""
        self.__dict__.update(values)

    def _values(self) -> tuple[Any, ...]:
        return tuple(self.__dict__[name] for name in self.holds)

    def assumptions(self, adjacency: Adjacency) -> tuple[Assumption, ...]:
        """The assumption that the user's description is true."""
        message = f"the {self.what} that was given holds under {adjacency}"
        return (Assumption(message, id="stated-guarantee"),)

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


def listed(value: object) -> list[Any] | None:
    """A sequence or an array as a list, None for anything else; a string is no list."""
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return list(value)
    tolist = getattr(value, "tolist", None)
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
        message = f"{name} must be a list of pairs of numbers, got {shown(points)}"
        raise InvalidArgument(message, argument=name)
    return results


# --- finitely many outcomes, given by two lists of probabilities


def _probabilities(name: str, table: object) -> tuple[Fraction, ...]:
    """Exact probabilities that sum to 1 within 1e-9, made to sum to 1."""
    rows = listed(table)
    if not rows:
        message = f"{name} of the tables must be a list of probabilities, got {shown(table)}"
        raise InvalidArgument(message, argument="tables")
    numbers = [exact(entry) for entry in rows]
    for entry, number in zip(rows, numbers, strict=True):
        if number is None or not 0 <= number <= 1:
            message = f"{name} of the tables must be probabilities in [0, 1], got {shown(entry)}"
            raise InvalidArgument(message, argument="tables")
        # less is no double, or not all of its digits
        if 0 < number < Fraction(1, 10**300):
            message = f"{name} of the tables must be probabilities of 0 or at least 1e-300, got "
            raise InvalidArgument(f"{message}{shown(entry)}", argument="tables")
    results = [number for number in numbers if number is not None]
    total = sum(results, Fraction(0))
    if abs(total - 1) > Fraction(1, 10**9):
        message = f"{name} of the tables must sum to 1 within 1e-9, got a sum of {float(total)!r}"
        raise InvalidArgument(message, argument="tables")
    return tuple(results) if total == 1 else tuple(number / total for number in results)


class CustomTables(Custom, kind="custom-tables", given_by="tables"):
    """Outcomes with their probabilities with the unit and without it; see `Custom`.

    Under replace-one either list may belong to either data set.
    """

    p: tuple[Fraction, ...]
    q: tuple[Fraction, ...]

    what = "pair of tables"
    holds = ("p", "q")

    def __init__(self, *, tables: Sequence[Sequence[Number]]) -> None:
        both = listed(tables)
        if both is None or len(both) != 2:
            message = f"tables must be two lists of probabilities, (p, q), got {shown(tables)}"
            raise InvalidArgument(message, argument="tables")
        p, q = _probabilities("p", both[0]), _probabilities("q", both[1])
        if len(p) != len(q):
            message = f"tables must be two lists of equal length, got {len(p)} and {len(q)} numbers"
            raise InvalidArgument(message, argument="tables")
        if not any(a and b for a, b in zip(p, q, strict=True)):
            message = (
                "tables must have an outcome that both p and q can yield, got none: every outcome"
            )
            raise InvalidArgument(f"{message} would tell the two apart", argument="tables")
        self._keep(p=p, q=q)

    def stated(self, adjacency: Adjacency) -> Stated:
        """The tables with equal losses merged; raises `Unsupported` under replace-one and for long tables."""
        most_proved = 2000
        from dpacct.mechanisms.laws.knots import listed as outcomes
        from dpacct.pld.pair import Stated

        if adjacency is Adjacency.REPLACE_ONE:
            message = (
                "method 'certified' has no proof for tables of which either may be with the unit"
            )
            raise Unsupported(message, argument="method")
        if len(self.p) > most_proved:
            message = f"method 'certified' takes tables of at most {most_proved} rows"
            raise Unsupported(message, argument="method")
        merged: dict[Fraction | None, tuple[Fraction, Fraction]] = {}
        for p, q in zip(self.p, self.q, strict=True):
            ratio = p / q if q else None
            before = merged.get(ratio, (Fraction(0), Fraction(0)))
            merged[ratio] = before[0] + p, before[1] + q
        with_unit, without = zip(*merged.values(), strict=True)
        back = Stated(outcomes, (*without, *with_unit))
        return Stated(outcomes, (*with_unit, *without), back=back)

    def pair(self, adjacency: Adjacency) -> Pair:
        """The tables, which differ by direction; under replace-one the worse direction at each epsilon."""
        import numpy as np

        from dpacct.mechanisms.laws import knots
        from dpacct.pld.derived import backwards
        from dpacct.pld.pair import Pair
        from dpacct.pld.pieces import Cut

        p, q = np.array([*map(float, self.p)]), np.array([*map(float, self.q)])
        cut = Cut(knots.table(p, q))
        tables = Pair((cut, backwards(cut)), (TABLES,))
        if adjacency is not Adjacency.REPLACE_ONE:
            return tables
        either = Pair.of(knots.of_either(p, q), TABLES, BOTH_WAYS)
        return replace(either, below=tables.at)

    def fields(self) -> Fields:
        """Both lists, as exact text."""
        return {"p": [text(x) for x in self.p], "q": [text(x) for x in self.q]}

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        """Read both lists."""
        return cls(tables=(take(fields, "p"), take(fields, "q")))


# --- two densities on a line

Density = Callable[[Any], Any]


@dataclass(frozen=True)
class _Log:
    """The logarithm of a density that is checked where it is called."""

    density: Density
    name: str

    def __call__(self, x: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
        import numpy as np

        try:
            raw = np.asarray(self.density(x))
            values = raw.astype(
                np.float64, casting="same_kind" if raw.dtype.kind == "c" else "unsafe"
            )
        except Exception as wrong:  # whatever a function of the user's may raise
            message = f"{self.name} of the densities must be a function of an array, and fails: "
            raise InvalidArgument(f"{message}{failure(wrong)}", argument="densities") from None
        if values.shape != x.shape:
            message = (
                f"{self.name} of the densities must give an array of the shape it is called with"
            )
            raise InvalidArgument(f"{message}, got {values.shape}", argument="densities")
        wrong_one = ~(np.isfinite(values) & (values >= 0.0))
        if wrong_one.any():
            at, got = float(x[wrong_one][0]), float(values[wrong_one][0])
            message = f"{self.name} of the densities must be finite and at least 0, got {got!r}"
            raise InvalidArgument(f"{message} at {at:g}", argument="densities")
        with np.errstate(divide="ignore"):
            return np.log(values)


class CustomDensities(Custom, kind="custom-densities", given_by="densities"):
    """Densities with the unit and without it; see `Custom`.

    They are integrated numerically, so answers are converged at best and never proved.
    """

    p: Density
    q: Density
    breaks: tuple[float, ...]
    symmetric: bool

    what = "pair of densities"
    holds = ("p", "q", "breaks", "symmetric")
    instead = "tables"

    def __init__(
        self,
        *,
        densities: tuple[Density, Density],
        breaks: Sequence[Number] = (),
        symmetric: bool = False,
    ) -> None:
        if not (
            isinstance(densities, Sequence)
            and len(densities) == 2
            and all(map(callable, densities))
        ):
            message = f"densities must be two functions of an array, (p, q), got {shown(densities)}"
            raise InvalidArgument(message, argument="densities")
        numbers = [exact(x) for x in listed(breaks) or []]
        ends = [float(x) for x in numbers if x is not None]
        if len(ends) < 2 or len(ends) < len(numbers) or any(b <= a for a, b in pairwise(ends)):
            message = (
                "breaks must be two or more increasing numbers, from where both densities begin"
            )
            raise InvalidArgument(f"{message} to their end, got {shown(breaks)}", argument="breaks")
        self._keep(p=densities[0], q=densities[1], breaks=tuple(ends), symmetric=bool(symmetric))
        self._check()

    def _check(self) -> None:
        """Both must integrate to 1, and agree with `symmetric` about both directions."""
        import numpy as np

        nodes, weights = np.polynomial.legendre.leggauss(20)
        totals = np.zeros(5)
        for low, high in zip(self.breaks, self.breaks[1:], strict=False):
            cuts = np.linspace(low, high, 401)
            half = 0.5 * np.diff(cuts)[:, None]
            x = 0.5 * (cuts[1:] + cuts[:-1])[:, None] + half * nodes
            p = np.exp(_Log(self.p, "p")(x.ravel())).reshape(x.shape)
            q = np.exp(_Log(self.q, "q")(x.ravel())).reshape(x.shape)
            rests = np.maximum(p - 2.0 * q, 0), np.maximum(q - 2.0 * p, 0)
            for i, part in enumerate((p, q, *rests, np.minimum(p, q))):
                totals[i] += float((part * half) @ weights @ np.ones(half.size))
        message = ""
        if totals[4] > 1.0 - 1e-12:
            message = "densities must differ, got two that are the same: nothing would be released"
        if totals[4] <= 0.0:
            message = "densities must overlap: every outcome would tell the two apart"
        for name, total in (("p", totals[0]), ("q", totals[1])):
            # the integral of smooth pieces is off by less; what lies beyond the breaks is not seen
            if not abs(total - 1.0) < 1e-9:
                message = f"{name} of the densities must integrate to 1 within 1e-9 between the "
                message += f"breaks, which name every kink and leave nothing out, got {total:.12g}"
        if message:
            raise InvalidArgument(message, argument="densities")
        if self.symmetric and not math.isclose(totals[2], totals[3], rel_tol=1e-3, abs_tol=1e-4):
            message = "symmetric must be False for densities whose two directions differ: delta(log 2) is "
            message += f"{totals[2]:.6g} one way and {totals[3]:.6g} the other"
            raise InvalidArgument(message, argument="symmetric")

    def pair(self, adjacency: Adjacency) -> Pair:
        """The densities, cut into pieces for grids."""
        from dpacct.pld.densities import Densities
        from dpacct.pld.derived import backwards
        from dpacct.pld.pair import Pair

        source = Densities(_Log(self.p, "p"), _Log(self.q, "q"), self.breaks)
        ways = (source,) if self.symmetric else (source, backwards(source))
        return Pair(ways, (DENSITIES,))

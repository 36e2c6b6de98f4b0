"""A mechanism of finitely many outcomes, given by two lists of probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Self

from dpacct.citations import BOTH_WAYS, TABLES
from dpacct.declare.number import Number, exact, shown, text
from dpacct.errors import InvalidArgument, Unsupported
from dpacct.mechanisms.custom import Custom, listed
from dpacct.plan.node import Fields, take
from dpacct.vocabulary import Adjacency

if TYPE_CHECKING:
    from dpacct.pld.pair import Pair, Stated

_MOST_PROVED = 2000
_SUM = Fraction(1, 10**9)
_LEAST = Fraction(1, 10**300)  # less is no double, or not all of its digits


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
        if 0 < number < _LEAST:
            message = f"{name} of the tables must be probabilities of 0 or at least 1e-300, got "
            raise InvalidArgument(f"{message}{shown(entry)}", argument="tables")
    results = [number for number in numbers if number is not None]
    total = sum(results, Fraction(0))
    if abs(total - 1) > _SUM:
        message = f"{name} of the tables must sum to 1 within 1e-9, got a sum of {float(total)!r}"
        raise InvalidArgument(message, argument="tables")
    return tuple(results) if total == 1 else tuple(number / total for number in results)


@dataclass(frozen=True, init=False, repr=False)
class CustomTables(Custom, kind="custom-tables"):
    """Outcomes with their probabilities with the unit and without it; see `Custom`.

    Under replace-one either list may belong to either data set.
    """

    p: tuple[Fraction, ...]
    q: tuple[Fraction, ...]

    what = "pair of tables"

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
        object.__setattr__(self, "p", p)
        object.__setattr__(self, "q", q)

    def stated(self, adjacency: Adjacency) -> Stated:
        """The tables with equal losses merged; raises `Unsupported` under replace-one and for long tables."""
        from dpacct.mechanisms.laws.knots import listed
        from dpacct.pld.pair import Stated

        if adjacency is Adjacency.REPLACE_ONE:
            message = (
                "method 'certified' has no proof for tables of which either may be with the unit"
            )
            raise Unsupported(message, argument="method")
        if len(self.p) > _MOST_PROVED:
            message = f"method 'certified' takes tables of at most {_MOST_PROVED} rows"
            raise Unsupported(message, argument="method")
        merged: dict[Fraction | None, tuple[Fraction, Fraction]] = {}
        for p, q in zip(self.p, self.q, strict=True):
            ratio = p / q if q else None
            before = merged.get(ratio, (Fraction(0), Fraction(0)))
            merged[ratio] = before[0] + p, before[1] + q
        with_unit, without = zip(*merged.values(), strict=True)
        back = Stated(listed, (*without, *with_unit))
        return Stated(listed, (*with_unit, *without), back=back)

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

"""Mechanism: a leaf whose parameters are exact numbers, each with its domain."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

from dpacct.domain import Integer, Real, exact, text
from dpacct.tree.facts import Facts
from dpacct.tree.node import Fields, Leaf
from dpacct.tree.saved import take
from dpacct.vocabulary import Adjacency, Assumption

if TYPE_CHECKING:
    from dpacct.curves.pairs import BasePair, Pairs


def literal(value: Fraction) -> str:
    """An exact number as a Python literal that a constructor reads back exactly.

    >>> literal(Fraction(11, 10)), literal(Fraction(1, 3))
    ('1.1', "'1/3'")
    """
    written = text(value)
    try:
        same = exact(float(written)) == value
    except (ValueError, OverflowError):
        same = False
    return written if same else repr(written)


class Mechanism(Leaf):
    """Base of the mechanisms: a subclass declares `domains` and `base`, the rest follows.

    A subclass is a frozen dataclass of exact fractions (None for a form that is not used).
    """

    domains: ClassVar[Mapping[str, Real | Integer]]
    stored: ClassVar[Mapping[str, str]] = {}  # parameter -> attribute, where the names differ
    references: ClassVar[tuple[str, ...]] = ()
    facts = Facts()

    def _keep(self, **values: object) -> None:
        """Check each value against its domain, and store it exactly."""
        for name, value in values.items():
            number = self.domains[name].check(name, value)
            object.__setattr__(self, self.stored.get(name, name), number)

    def _given(self) -> dict[str, Fraction]:
        values = {name: getattr(self, self.stored.get(name, name)) for name in self.domains}
        return {name: value for name, value in values.items() if value is not None}

    @abstractmethod
    def base(self, adjacency: Adjacency) -> BasePair:
        """The dominating pair of one release, before any sampling.

        Raises `Unsupported` where none is known.
        """

    def pairs(self, adjacency: Adjacency) -> Pairs:
        """The pairs of one release without sampling."""
        return self.base(adjacency).plain()

    def in_sample(self, sampler: Any) -> Leaf:
        """One release on a sample."""
        leaf: Leaf = sampler.holding(self)
        return leaf

    def pure_epsilon(self, adjacency: Adjacency) -> Fraction | None:
        """The epsilon at which one release is DP with delta 0, as typed; None where none is known."""
        return None

    def assumptions(self, adjacency: Adjacency) -> tuple[Assumption, ...]:
        """What an answer about it takes on trust: nothing, unless a subclass says so."""
        return ()

    def citations(self) -> tuple[str, ...]:
        """Where the mechanism comes from."""
        return self.references

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={literal(value)}" for name, value in self._given().items())
        return f"{type(self).__name__}({inside})"

    def fields(self) -> Fields:
        """The parameters that were given, as exact text."""
        return {name: text(value) for name, value in self._given().items()}

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        """Build from the parameters that are there; the constructor checks them."""
        parameters = inspect.signature(cls).parameters
        needed = {n for n, p in parameters.items() if p.default is inspect.Parameter.empty}
        wanted = [name for name in cls.domains if name in fields or name in needed]
        return cls(**{name: take(fields, name) for name in wanted})

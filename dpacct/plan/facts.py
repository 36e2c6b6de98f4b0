"""What a node knows about itself from the day it is built, and which of it can contradict."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

from dpacct.declare.domain import STEPS
from dpacct.errors import InvalidArgument
from dpacct.vocabulary import Adjacency, Unit

MAX_DEPTH = 120
"""Deepest nesting of a plan: far beyond any real one, and shallow enough for Python's recursion."""
_Word = TypeVar("_Word", Adjacency, Unit)


def _agree(name: str, first: _Word | None, second: _Word | None) -> _Word | None:
    """The one value that both allow."""
    if first is not None and second is not None and first is not second:
        message = f"{name} must be the same throughout a plan, got both {first} and {second}"
        raise InvalidArgument(message, argument=name)
    return first if second is None else second


class Facts(NamedTuple):
    """What a node knows about itself from the day it is built."""

    depth: int = 1
    total: int = 1  # releases, each repetition counted
    declared: Adjacency | None = None  # with `under`
    fixed: Adjacency | None = None  # the only one its sampling allows
    unit: Unit | None = None  # declared with `under`
    group: int = 1  # units that change together

    def join(self, other: Facts) -> Facts:
        """The facts of two plans together; `InvalidArgument` where they contradict each other."""
        return Facts(
            max(self.depth, other.depth),
            self.total + other.total,
            _agree("adjacency", self.declared, other.declared),
            _agree("adjacency", self.fixed, other.fixed),
            _agree("unit", self.unit, other.unit),
            max(self.group, other.group),
        ).checked()

    def above(self, **changed: Any) -> Facts:
        """The facts of a node over this one."""
        return self._replace(depth=self.depth + 1, **changed).checked()

    def checked(self) -> Facts:
        """These facts, if they are possible."""
        _agree("adjacency", self.declared, self.fixed)
        STEPS.check("steps", self.total)
        if self.depth > MAX_DEPTH:
            message = f"a plan must be at most {MAX_DEPTH} levels deep, got {self.depth}"
            raise InvalidArgument(message, argument="plan")
        return self

"""The vocabulary of answers: adjacency, unit, side, strength, assumption."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from dpacct.errors import InvalidArgument


class _Word(StrEnum):
    """A closed set of words that can be read from text, forgiving case and underscores only."""

    @classmethod
    def parse(cls, text: object, *, argument: str | None = None) -> Self:
        """The member that `text` names; `InvalidArgument` lists the choices, with a guess.

        >>> Adjacency.parse("Replace_One")
        <Adjacency.REPLACE_ONE: 'replace-one'>
        """
        if isinstance(text, cls):
            return text
        name = argument or cls.__name__.lower()
        words = [str(member) for member in cls]
        typed = str(text).strip().lower().replace("_", "-").replace(" ", "-")
        if isinstance(text, str) and typed in words:
            return cls(typed)
        from dpacct.declare.domain import did_you_mean, one_of
        from dpacct.declare.number import shown

        message = f"{name} must be {one_of(words)}, got {shown(text)}{did_you_mean(typed, words)}"
        raise InvalidArgument(message, argument=name)


class Adjacency(_Word):
    """The relation between two neighbouring data sets.

    `add-remove`: one unit more or fewer; `replace-one`: one unit exchanged for another, the size
    is public; `zero-out`: one unit's contribution is replaced by zero, the size is public.
    """

    ADD_REMOVE = "add-remove"
    REPLACE_ONE = "replace-one"
    ZERO_OUT = "zero-out"

    @property
    def clip_factor(self) -> int:
        """Sensitivity of a sum of vectors clipped to norm C, in units of C.

        Exchanging one vector of norm C for another moves the sum by up to 2C; adding, removing or
        zeroing one moves it by up to C.

        >>> {str(adjacency): adjacency.clip_factor for adjacency in Adjacency}
        {'add-remove': 1, 'replace-one': 2, 'zero-out': 1}
        """
        return 2 if self is Adjacency.REPLACE_ONE else 1


class Unit(_Word):
    """The unit that is protected: one row of the neighbouring data sets."""

    RECORD = "record"
    USER = "user"
    CLIENT = "client"
    DEVICE = "device"
    SILO = "silo"


class Side(_Word):
    """The side of the truth on which a number is known to lie."""

    TWO_SIDED = "two-sided"
    UPPER = "upper"
    LOWER = "lower"
    NONE = "none"

    def meet(self, other: Side) -> Side:
        """The side of a combination of two numbers with these sides.

        >>> str(Side.TWO_SIDED.meet(Side.UPPER)), str(Side.UPPER.meet(Side.LOWER))
        ('upper', 'none')
        """
        if self is Side.TWO_SIDED:
            return other
        if other is Side.TWO_SIDED or other is self:
            return self
        return Side.NONE


class Strength(_Word):
    """The grade of a number, from strongest to weakest; compares in that order.

    `proved`: enclosed by interval arithmetic and explicit error bounds. `bracketed`: both ends from
    discretised laws in floating point, every rounding and truncation charged. `converged`: computed to
    a stated error estimate. `bound`: one side, a verified theorem in floating point. `published`: a
    theorem as printed, not verified here. `estimate`: asymptotic, no guarantee. `refuted`: known to be
    wrong; never the strength of an answer.

    >>> Strength.PROVED > Strength.BRACKETED > Strength.CONVERGED > Strength.BOUND
    True
    """

    PROVED = "proved"
    BRACKETED = "bracketed"
    CONVERGED = "converged"
    BOUND = "bound"
    PUBLISHED = "published"
    ESTIMATE = "estimate"
    REFUTED = "refuted"

    @property
    def rank(self) -> int:
        """0 for the weakest (`refuted`), larger for stronger."""
        return len(Strength) - 1 - list(Strength).index(self)

    # A StrEnum would compare alphabetically ("bound" < "proved" by luck, "estimate" > "bound"
    # wrongly).
    def __lt__(self, other: str) -> bool:
        return self.rank < Strength.parse(other).rank

    def __le__(self, other: str) -> bool:
        return self.rank <= Strength.parse(other).rank

    def __gt__(self, other: str) -> bool:
        return self.rank > Strength.parse(other).rank

    def __ge__(self, other: str) -> bool:
        return self.rank >= Strength.parse(other).rank

    @staticmethod
    def weakest(strengths: Iterable[Strength]) -> Strength:
        """The weakest of several strengths, which is that of their composition.

        >>> str(Strength.weakest([Strength.PROVED, Strength.ESTIMATE, Strength.BOUND]))
        'estimate'
        """
        return min(strengths, key=lambda strength: strength.rank)


class AssumptionStatus(_Word):
    """`held` and `violated` were checked; `declared` is the user's word; `unknown` is nobody's."""

    HELD = "held"
    DECLARED = "declared"
    VIOLATED = "violated"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Assumption:
    """Something an answer rests on that the accountant cannot see for itself.

    >>> str(Assumption("the clipped sum has sensitivity 2C", source="replace-one"))
    'the clipped sum has sensitivity 2C [declared; replace-one]'
    """

    text: str
    source: str = ""
    status: AssumptionStatus = AssumptionStatus.DECLARED
    id: str = ""
    """Key of an assumption that every report knows, such as "sampling"; "" for any other."""

    def __str__(self) -> str:
        source = f"; {self.source}" if self.source else ""
        return f"{self.text} [{self.status}{source}]"

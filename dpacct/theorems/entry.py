"""Entry: one statement of a paper, with its formula, domain, verdict and evidence."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TypeAlias, TypeVar

from dpacct.domain import Number, Where
from dpacct.errors import InvalidArgument, OutsideDomain, Unsupported
from dpacct.theorems.grade import Status, Verdict
from dpacct.vocabulary import Side

Values: TypeAlias = Mapping[str, float | int]
"""Arguments of a formula: floats, or ints where the domain is `Integer`."""
Formula = TypeVar("Formula", bound=Callable[..., float])
ATTRIBUTE = "__theorem__"
"""Where a formula carries its entry."""
EVERYWHERE = Where()


@dataclass(frozen=True)
class Paper:
    """Where statements come from; `key` begins their ids, and the name of the file they are in."""

    key: str
    title: str
    authors: str
    year: int
    venue: str = ""


@dataclass(frozen=True)
class Vector:
    """A number known from outside the code: the formula's value, or (and) the truth, at `inputs`.

    `printed` marks a number that the paper itself prints. `within` is the relative error allowed.
    """

    inputs: Mapping[str, Number]
    value: float | None = None
    truth: float | None = None
    printed: bool = False
    within: float = 1e-9
    source: str = "our errata of the papers"


@dataclass(frozen=True)
class Witness:
    """A point of the domain at which the printed statement is violated, and what happens there."""

    inputs: Mapping[str, Number]
    told: str = ""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One statement. `formula` is None where there is nothing to evaluate.

    `side` says what the printed value claims to be of the truth: upper, lower, two-sided (equal)
    or none. `claim` is one plain sentence, `maths` the statement in LaTeX. `refuses` are points just
    outside the domain. `relies_on` and `corrected_by` are ids.
    """

    id: str
    locus: str
    claim: str
    verdict: Verdict
    status: Status
    side: Side = Side.NONE
    domain: Where = EVERYWHERE
    maths: str = ""
    reason: str = ""
    derivation: str = ""
    looseness: str = ""
    corrected_by: str | None = None
    relies_on: tuple[str, ...] = ()
    vectors: tuple[Vector, ...] = ()
    refuses: tuple[Mapping[str, Number], ...] = ()
    witness: Witness | None = None
    formula: Callable[..., float] | None = None

    @property
    def paper(self) -> str:
        """The key of the paper: what stands before the dot of the id."""
        return self.id.partition(".")[0]

    @property
    def is_answer(self) -> bool:
        """Whether the value may be handed out without being asked for as printed."""
        return self.status.is_answer and self.verdict.printed_ok

    def checked(self, values: Mapping[str, object]) -> dict[str, float | int]:
        """The arguments as the formula takes them.

        Raises `OutsideDomain` for numbers outside the hypotheses, `InvalidArgument` for no numbers.
        """
        exact = self.domain.check(error=OutsideDomain, **values)
        rounded = {k: v if isinstance(v, int) else float(v) for k, v in exact.items()}
        self.domain.check(error=OutsideDomain, **rounded)  # a double may lie on an open end
        return rounded

    def evaluate(self, values: Mapping[str, object], *, as_printed: bool = False) -> float:
        """The formula's value inside its domain, a finite number or an infinite bound.

        Raises `Unsupported` for a statement that is not to be used as printed (unless `as_printed`),
        `OutsideDomain`, and `InvalidArgument`.
        """
        if self.formula is None:
            raise Unsupported(f"{self.id} states nothing that can be evaluated: {self.claim}")
        if not (self.is_answer or as_printed or self.verdict is Verdict.ASYMPTOTIC):
            other = f"; use {self.corrected_by}" if self.corrected_by else ""
            told = (
                f"{self.id} is {self.verdict} as printed{other} (--as-printed evaluates it anyway)"
            )
            raise Unsupported(told, argument="as_printed")
        value = float(self.formula(**self.checked(values)))
        if math.isnan(value):
            raise InvalidArgument(f"{self.id} is undefined at {dict(values)!r}")
        return value


def theorem(entry: Entry) -> Callable[[Formula], Formula]:
    """Attach an entry to the formula below it; the registry finds it there."""

    def attach(formula: Formula) -> Formula:
        setattr(formula, ATTRIBUTE, replace(entry, formula=formula))
        return formula

    return attach


def at(**inputs: Number) -> Mapping[str, Number]:
    """Arguments by name, read-only.

    >>> dict(at(alpha=2, tau="0.05"))
    {'alpha': 2, 'tau': '0.05'}
    """
    return MappingProxyType(inputs)

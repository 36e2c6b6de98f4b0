"""Cell: one number printed in a table of a paper, and the formula that reproduces it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from dpacct.domain import Number
from dpacct.errors import InvalidArgument


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A printed number, as text so that its digits count. A paper's cells stand in its `CELLS`.

    `formula` is called with `inputs`, under the conventions that reproduce the table (`note` says
    which, and why the truth differs). `truth` names the function of dpacct.verify.truths that gives
    the exact two-sided value, if there is one. `corrected` is the number that should be printed.
    """

    paper: str
    table: str
    cell: str
    inputs: Mapping[str, Number]
    printed: str
    formula: Callable[..., float]
    note: str = ""
    truth: str | None = None

    def computed(self) -> float:
        """The number under the table's own conventions."""
        return float(self.formula(**self.inputs))

    def matches(self, computed: float) -> bool:
        """Whether `computed` rounds to what is printed, to the digits that are printed.

        >>> Cell(paper="x", table="1", cell="", inputs={}, printed="2.71", formula=lambda: 0
        ...      ).matches(2.7109)
        True
        """
        try:
            digits = int(Decimal(self.printed).as_tuple().exponent)
        except (ArithmeticError, ValueError) as wrong:
            raise InvalidArgument(
                f"a printed cell must be a decimal, got {self.printed}"
            ) from wrong
        step = Decimal(1).scaleb(digits)
        return Decimal(repr(computed)).quantize(step) == Decimal(self.printed)

"""One row of a sweep: what was answered, or why there is no answer."""

from __future__ import annotations

from dataclasses import dataclass

Cell = float | int | str | bool | None
"""A value of an answer; None where it has none."""


@dataclass(frozen=True)
class Row:
    """The outputs in their order, or the sentence and exit code of a failure.

    >>> Row.from_list(Row(error="no such luck.", code=4).to_list()).code
    4
    """

    cells: tuple[Cell, ...] = ()
    error: str = ""
    code: int = 0

    def to_list(self) -> list[object]:
        """As JSON values."""
        return [self.code, self.error] if self.code else [0, list(self.cells)]

    @classmethod
    def from_list(cls, told: list[object]) -> Row:
        """The row that `to_list` wrote; raises `ValueError` for anything else."""
        if len(told) != 2 or not isinstance(told[0], int):
            raise ValueError("not a row")
        code, rest = told[0], told[1]
        if code and isinstance(rest, str):
            return cls(error=rest, code=int(code))
        if code == 0 and isinstance(rest, list):
            return cls(cells=tuple(rest))
        raise ValueError("not a row")

"""The numbers that the papers print, recomputed, with the truth beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module

from dpacct.errors import InvalidArgument
from dpacct.theorems.cell import Cell
from dpacct.theorems.registry import modules, papers


@dataclass(frozen=True)
class Row:
    """A cell, the number under the table's conventions, and the two ends of the truth."""

    cell: Cell
    computed: float
    exact: tuple[float, float] | None

    @property
    def matches(self) -> bool:
        """Whether the printed digits come out."""
        return self.cell.matches(self.computed)


def cells(paper: str | None = None) -> list[Cell]:
    """The cells of one paper, or of all; raises `InvalidArgument` for an unknown paper."""
    if paper is not None and paper not in papers():
        told = f"paper must be one of {', '.join(papers())}, got {paper[:40]!r}"
        raise InvalidArgument(told, argument="paper")
    found = [cell for module in modules() for cell in getattr(module, "CELLS", ())]
    return [cell for cell in found if paper in (None, cell.paper)]


def rows(paper: str | None = None, *, exact: bool = True) -> Iterator[Row]:
    """Each cell recomputed; `exact` False leaves the truth out, which takes most of the time."""
    for cell in cells(paper):
        truth = truth_of(cell) if exact else None
        yield Row(cell, cell.computed(), None if truth is None else truth(**cell.inputs))


def truth_of(cell: Cell) -> Callable[..., tuple[float, float]] | None:
    """The function that gives the exact ends: `paper.file.function` of dpacct.verify.truths."""
    if cell.truth is None:
        return None
    file, _, name = cell.truth.rpartition(".")
    found: Callable[..., tuple[float, float]] = getattr(
        import_module(f"dpacct.verify.truths.{file}"), name
    )
    return found

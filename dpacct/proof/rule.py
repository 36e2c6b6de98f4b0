"""The rule for one law: nodes, cells, a shift. Every rule is valid; a bad one gives wide bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb

from .balls import MOST_TERMS, demand, positive, real, whole
from .law import ProofBranch
from .operated import OperatedBranch

MOST_NODES = 5000


@dataclass(frozen=True)
class PointRow:
    """Points start + k step, k = 0 .. count, of plain losses; floats stand for their exact binary values."""

    start: float
    step: float
    count: int

    def __post_init__(self) -> None:
        """Refuse cells of no width; raises `Unsound`."""
        demand(real(self.start) and positive(self.step), "cells that do not ascend")
        demand(whole(self.count, 1), "this number of cells")

    @property
    def end(self) -> Fraction:
        """The last point, as an exact number."""
        return Fraction(self.start) + self.count * Fraction(self.step)

    def points(self) -> list[arb]:
        """The points as balls."""
        start, step = arb(self.start), arb(self.step)
        return [start + k * step for k in range(self.count + 1)]


@dataclass(frozen=True)
class LineRule:
    """Nodes j step, first <= j <= last, on the line Im z = +-shift: for a branch on the whole axis."""

    shift: float
    step: float
    first: int
    last: int

    def __post_init__(self) -> None:
        """Refuse what (4) and (5) do not cover; raises `Unsound`."""
        demand(positive(self.shift) and positive(self.step), "a shift or step that is not positive")
        demand(whole(self.last, -MOST_TERMS * 100, MOST_TERMS * 100), "this last node")
        demand(whole(self.first, self.last - MOST_TERMS, self.last - 1), "this number of nodes")

    @property
    def size(self) -> int:
        """The number of nodes."""
        return self.last - self.first + 1


@dataclass(frozen=True)
class PanelRule:
    """Gauss-Legendre panels from a branch's start to its end, or to `end` where that is infinite.

    Ellipses of parameter rho around the panels bound the error.
    """

    end: float
    panels: int
    nodes: int
    rho: float

    def __post_init__(self) -> None:
        """Refuse what (12) does not cover; raises `Unsound`."""
        demand(real(self.end), "an end that is no number")
        demand(whole(self.panels, 1), "this number of panels")
        demand(whole(self.nodes, 2, MOST_NODES), "this number of nodes")
        demand(real(self.rho) and self.rho > 1, "an ellipse that holds no panel")

    @property
    def size(self) -> int:
        """The number of nodes."""
        return self.panels * self.nodes


@dataclass(frozen=True)
class StripRule:
    """Gauss-Legendre panels between rising edges, for a branch after any operators (theorem 20)."""

    edges: tuple[float, ...]
    nodes: int
    rho: float

    def __post_init__(self) -> None:
        """Refuse what theorem 20 does not cover; raises `Unsound`."""
        demand(2 <= len(self.edges) <= MOST_TERMS, "this number of panels")
        demand(all(map(real, self.edges)), "an edge that is no number")
        ends = zip(self.edges, self.edges[1:], strict=False)
        demand(all(a < b for a, b in ends), "edges that do not rise")
        demand(whole(self.nodes, 2, MOST_NODES), "this number of nodes")
        demand(real(self.rho) and self.rho > 1, "an ellipse that holds no panel")

    @property
    def size(self) -> int:
        """The number of nodes."""
        return (len(self.edges) - 1) * self.nodes


@dataclass(frozen=True)
class BranchRule:
    """The nodes of one branch, and the cells of the layers below its density."""

    nodes: LineRule | PanelRule | StripRule
    cells: tuple[PointRow, ...]

    def __post_init__(self) -> None:
        """Refuse a cell that counts twice; raises `Unsound`."""
        ends = zip(self.cells, self.cells[1:], strict=False)
        demand(all(a.end <= Fraction(b.start) for a, b in ends), "cells that overlap")


@dataclass(frozen=True)
class QuadratureRule:
    """The rules of a law's branches, and if asked for, a shift `lift` and cells for damping, eq. (8)."""

    branches: tuple[BranchRule, ...]
    lift: float = 0.0
    damped: tuple[PointRow, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a line shifted to the other side; raises `Unsound`."""
        demand(real(self.lift) and self.lift >= 0, "a line shifted to the other side")
        demand(len(self.damped) in (0, len(self.branches)), "damping of some branches only")

    @property
    def size(self) -> int:
        """Terms and cells."""
        cells = [*self.damped, *(grid for branch in self.branches for grid in branch.cells)]
        return sum(branch.nodes.size for branch in self.branches) + sum(
            grid.count for grid in cells
        )

    def fits(self, branches: Sequence[ProofBranch | OperatedBranch]) -> bool:
        """Return whether every branch has nodes of its kind, from its start on, and cells within its ends."""
        if len(branches) != len(self.branches):
            return False
        return all(
            _fits(stated, each) for stated, each in zip(branches, self.branches, strict=True)
        )

    def to_json(self) -> dict[str, Any]:
        """The rule as JSON values; `dataclasses.asdict` would take a tenth of a proof."""
        branches = [
            {
                "nodes": dict(vars(branch.nodes)),
                "cells": [dict(vars(grid)) for grid in branch.cells],
            }
            for branch in self.branches
        ]
        damped = [dict(vars(grid)) for grid in self.damped]
        return {"branches": branches, "lift": self.lift, "damped": damped}

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> QuadratureRule:
        """Read what `to_json` wrote; raises where that is no rule."""
        branches = []
        for row in fields["branches"]:
            cells = tuple(PointRow(**cells) for cells in row["cells"])
            branches.append(BranchRule(_nodes(dict(row["nodes"])), cells))
        damped = tuple(PointRow(**cells) for cells in fields["damped"])
        return cls(tuple(branches), fields["lift"], damped)


def _nodes(fields: dict[str, Any]) -> LineRule | PanelRule | StripRule:
    """The nodes of one branch, read from JSON."""
    if "edges" in fields:
        return StripRule(**(fields | {"edges": tuple(fields["edges"])}))
    return (LineRule if "shift" in fields else PanelRule)(**fields)


def _fits(branch: ProofBranch | OperatedBranch, rule: BranchRule) -> bool:
    within = all(
        (branch.start is None or arb(cells.start) >= branch.start)
        and (branch.end is None or cells.points()[-1] <= branch.end)
        for cells in rule.cells
    )
    if isinstance(branch, OperatedBranch) or isinstance(rule.nodes, StripRule):
        # finite ends of the branch stand for the outermost edges
        return within and isinstance(branch, OperatedBranch) and isinstance(rule.nodes, StripRule)
    if isinstance(rule.nodes, LineRule):
        return within and branch.start is None and branch.end is None
    if branch.start is None:
        return False
    end = arb(rule.nodes.end) if branch.end is None else branch.end
    return within and bool(end > branch.start)


def has_panels(rule: QuadratureRule | None) -> bool:
    """Return whether some branch is cut into panels, whose error grows with the frequency."""
    return rule is not None and any(
        isinstance(branch.nodes, PanelRule | StripRule) for branch in rule.branches
    )


Rules = Sequence[QuadratureRule | None]
"""Each law's; None where there is nothing to choose."""


def rules_to_json(rules: Rules) -> list[dict[str, Any] | None]:
    """The rules for a certificate."""
    return [None if rule is None else rule.to_json() for rule in rules]


def rules_from_json(rows: Sequence[dict[str, Any] | None]) -> list[QuadratureRule | None]:
    """Read what `rules_to_json` wrote."""
    return [None if fields is None else QuadratureRule.from_json(fields) for fields in rows]

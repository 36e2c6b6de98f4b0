"""The papers' printed numbers, recomputed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpacct.cli.command import CommandLine, argument, command, group, option, switch
from dpacct.cli.output import Result
from dpacct.declare.domain import Text, Word
from dpacct.declare.number import down, up
from dpacct.display import aligned

if TYPE_CHECKING:
    from dpacct.papers.tables import Cell

HEADER = ("paper", "table", "cell", "quantity", "printed", "computed", "matches", "truth", "note")


@command(
    "tables",
    group(
        "What is computed",
        argument("paper", "[PAPER]", Text(), required=False),
        switch(
            "--truth/--no-truth",
            "also compute the exact two-sided value of what the paper ran",
            default=True,
        ),
    ),
    group(
        "Output",
        option(
            "--format style", "text, or a Markdown table", Word("text", "markdown"), default="text"
        ),
        switch("--markdown", "the same as --format markdown"),
    ),
    examples=("tables dp_fed_ls --no-truth", "tables dp_fed_ls --no-truth --markdown"),
)
def main(line: CommandLine, paper: str | None, truth: bool, style: str, markdown: bool) -> Result:
    """Recompute every printed number that a calculator can produce.

    Beside what is printed stands what comes out under the conventions that reproduce the table, the
    exact two-sided truth, and the reason where they differ.
    """
    from dpacct.papers.tables import cells

    rows = [
        TableRow(cell, cell.computed(), cell.exact() if truth else None) for cell in cells(paper)
    ]
    as_markdown = markdown or style == "markdown"
    return Result(lambda: [_json(row) for row in rows], lambda: _lines(rows, as_markdown))


def _lines(rows: list[TableRow], markdown: bool) -> list[str]:
    texts = [_text(row) for row in rows]
    if markdown:
        lines = ["| " + " | ".join(HEADER) + " |", "|" + "---|" * len(HEADER)]
        return [*lines, *("| " + " | ".join(row) + " |" for row in texts)]
    matched = sum(row.matches for row in rows)
    notes = list(dict.fromkeys(row.cell.note for row in rows if row.cell.note))
    numbered = [(*row[:-1], str(notes.index(row[-1]) + 1) if row[-1] else "") for row in texts]
    plural = "s" if len(rows) != 1 else ""
    return [
        *aligned(HEADER, numbered, indent=0),
        "",
        f"{matched} of {len(rows)} number{plural} come out as printed",
        *(f"note {index}: {text}" for index, text in enumerate(notes, 1)),
    ]


@dataclass(frozen=True)
class TableRow:
    """A table cell, the number recomputed under the table's conventions, and the true interval."""

    cell: Cell
    computed: float
    exact: tuple[float, float] | None

    @property
    def matches(self) -> bool:
        """Return whether the recomputed number agrees with all printed digits."""
        return self.cell.matches(self.computed)


def _json(row: TableRow) -> dict[str, Any]:
    exact = None if row.exact is None else {"lower": row.exact[0], "upper": row.exact[1]}
    return {
        "paper": row.cell.paper,
        "table": row.cell.table,
        "cell": row.cell.cell,
        "inputs": {name: str(value) for name, value in row.cell.inputs.items()},
        "quantity": row.cell.quantity,
        "printed": float(row.cell.printed),
        "computed": row.computed,
        "matches_printed": row.matches,
        "exact": exact,
        "note": row.cell.note,
    }


def _text(row: TableRow) -> tuple[str, ...]:
    exact = "" if row.exact is None else f"[{down(row.exact[0], 5)}, {up(row.exact[1], 5)}]"
    if row.exact is not None and row.exact[1] - row.exact[0] <= 1e-6 * row.exact[1]:
        exact = f"{row.exact[0]:.6g}"
    cell = row.cell
    return (
        cell.paper,
        cell.table,
        cell.cell,
        cell.quantity,
        cell.printed,
        f"{row.computed:.6g}",
        "yes" if row.matches else "NO",
        exact,
        cell.note,
    )

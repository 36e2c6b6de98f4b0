"""The papers' printed numbers, recomputed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpacct.cli.command import CommandLine, argument, command, group, switch
from dpacct.cli.output import Result
from dpacct.declare.number import down, up
from dpacct.display import aligned

if TYPE_CHECKING:
    from dpacct.papers.tables import Cell

HEADER = ("paper", "table", "cell", "quantity", "printed", "computed", "matches", "truth", "note")


@command(
    "tables",
    group(
        "What is computed",
        argument("[PAPER]"),
        switch("--truth/--no-truth", "also the exact value of what the paper ran", default=True),
    ),
    examples=("tables dp_fed_ls --no-truth",),
)
def main(line: CommandLine) -> Result:
    """Recompute every printed number that a calculator can produce.

    Beside what is printed stands what comes out under the conventions that reproduce the table, the
    exact two-sided truth, and the reason where they differ.
    """
    from dpacct.papers.tables import cells

    truth = line.has("truth")
    chosen = list(cells(line.get("path")))
    rows = [_row(cell, cell.computed(), cell.exact() if truth else None) for cell in chosen]

    def lines() -> list[str]:
        notes = list(dict.fromkeys(row["note"] for row in rows if row["note"]))
        matched, plural = sum(row["matches_printed"] for row in rows), "s" if len(rows) != 1 else ""
        return [
            *aligned(
                HEADER, [_cells(*each, notes) for each in zip(chosen, rows, strict=True)], indent=0
            ),
            "",
            f"{matched} of {len(rows)} number{plural} come out as printed",
            *(f"note {index}: {text}" for index, text in enumerate(notes, 1)),
        ]

    return Result(lambda: rows, lines)


def _row(cell: Cell, computed: float, exact: tuple[float, float] | None) -> dict[str, Any]:
    """A cell, the number recomputed under the table's conventions, and the true interval."""
    return {
        "paper": cell.paper,
        "table": cell.table,
        "cell": cell.cell,
        "inputs": {name: str(value) for name, value in cell.inputs.items()},
        "quantity": cell.quantity,
        "printed": float(cell.printed),
        "computed": computed,
        "matches_printed": cell.matches(computed),
        "exact": None if exact is None else {"lower": exact[0], "upper": exact[1]},
        "note": cell.note,
    }


def _cells(cell: Cell, row: dict[str, Any], notes: list[str]) -> tuple[str, ...]:
    """The row as text, the printed number to its last digit; its note by number."""
    exact = ""
    if row["exact"] is not None:
        low, high = row["exact"].values()
        exact = f"{low:.6g}" if high - low <= 1e-6 * high else f"[{down(low, 5)}, {up(high, 5)}]"
    said = [cell.paper, cell.table, cell.cell, cell.quantity, cell.printed]
    matches, note = "yes" if row["matches_printed"] else "NO", row["note"]
    number = str(notes.index(note) + 1) if note else ""
    return (*said, f"{row['computed']:.6g}", matches, exact, number)

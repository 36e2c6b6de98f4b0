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

    rows = [_row(cell, truth=line.get("truth")) for cell in cells(line.get("path"))]
    notes = [*dict.fromkeys(row["note"] for row in rows if row["note"])]
    matched, plural = sum(row["matches_printed"] for row in rows), "s" if len(rows) != 1 else ""
    shown = [_cells(row, str(notes.index(row["note"]) + 1) if row["note"] else "") for row in rows]
    lines = [
        *aligned(HEADER, shown, indent=0),
        "",
        f"{matched} of {len(rows)} number{plural} come out as printed",
        *(f"note {index}: {text}" for index, text in enumerate(notes, 1)),
    ]
    texts = [{**row, "printed": float(row["printed"])} for row in rows]
    return Result(lambda: texts, lambda: lines)


def _row(cell: Cell, *, truth: bool) -> dict[str, Any]:
    """A cell, the number recomputed under the table's conventions, and the true interval."""
    computed, exact = cell.computed(), cell.exact() if truth else None
    return {
        "paper": cell.paper,
        "table": cell.table,
        "cell": cell.cell,
        "inputs": {name: str(value) for name, value in cell.inputs.items()},
        "quantity": cell.quantity,
        "printed": cell.printed,
        "computed": computed,
        "matches_printed": cell.matches(computed),
        "exact": None if exact is None else {"lower": exact[0], "upper": exact[1]},
        "note": cell.note,
    }


def _cells(row: dict[str, Any], note: str) -> tuple[str, ...]:
    """The row as text, the printed number to its last digit; its note by number."""
    exact, matches = "", "yes" if row["matches_printed"] else "NO"
    if row["exact"] is not None:
        low, high = row["exact"].values()
        exact = f"{low:.6g}" if high - low <= 1e-6 * high else f"[{down(low, 5)}, {up(high, 5)}]"
    said = [row[key] for key in ("paper", "table", "cell", "quantity", "printed")]
    return (*said, f"{row['computed']:.6g}", matches, exact, note)

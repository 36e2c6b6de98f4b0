"""Plain aligned columns: readable in a terminal, in a log and in a mail."""

from __future__ import annotations

from collections.abc import Sequence


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]], indent: int = 2) -> list[str]:
    """The rows under their header, columns two spaces apart; no colours, no rules.

    >>> lines = aligned(("method", "epsilon"), [("exact", "1.5"), ("rdp", "1.7117")])
    >>> for line in lines:
    ...     print(line)
      method  epsilon
      exact   1.5
      rdp     1.7117
    """
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]
    return [
        " " * indent
        + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (header, *rows)
    ]

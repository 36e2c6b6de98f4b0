"""The pictures of the statements' pages: one table (sweeps.csv), and docs/theorems/pictures/ID.svg."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from figures.record import FOLDER, Row, from_csv, to_csv
from figures.statements.draw import chart
from figures.statements.sweep import Sweep, sweeps

TABLE = FOLDER / "statements" / "sweeps.csv"
PICTURES = FOLDER.parent / "docs" / "theorems" / "pictures"


def rows(sweep: Sweep) -> list[Row]:
    """The lines of the table for one statement."""
    return [
        {
            "id": sweep.statement.id,
            "argument": sweep.argument,
            "at": sweep.at,
            "x": point.x,
            "claimed": point.comparison.claimed,
            "lower": point.comparison.lower,
            "upper": point.comparison.upper,
            "violated": int(violated),
        }
        for point, violated in zip(sweep.seen, sweep.violated, strict=True)
    ]


def pictures(table: Sequence[Row]) -> dict[Path, str]:
    """Every picture by where it lies."""
    return {
        PICTURES / f"{name}.svg": chart(list(value)).to_svg()
        for name, value in groupby(table, key=lambda row: str(row["id"]))
    }


def main(compute: bool) -> None:
    """Compute the table (or take it as it lies there), and draw all."""
    began = time.process_time()
    if compute:
        TABLE.write_text(
            to_csv([row for sweep in sweeps() for row in rows(sweep)]), encoding="utf-8"
        )
    drawn = pictures(from_csv(TABLE.read_text(encoding="utf-8")))
    PICTURES.mkdir(exist_ok=True)
    for old in set(PICTURES.glob("*.svg")) - set(drawn):
        old.unlink()
    for path, picture in drawn.items():
        path.write_text(picture, encoding="utf-8")
    print(f"statements ({time.process_time() - began:.1f} s): {len(drawn)} pictures", flush=True)

"""A figure as a record: what is computed at which points, and how the table becomes a picture.

Beside each script lie its table (CSV) and its picture (SVG) of the same name. The picture names the
fingerprint of the script and the table that it was drawn from, so it is seen when it is older.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from dpacct.report.plots import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FOLDER = Path(__file__).resolve().parent
Row: TypeAlias = Mapping[str, float | str]
"""One line of the table by column; nan where there is no number."""


@dataclass(frozen=True)
class Record:
    """One figure.

    Attributes:
        name: of the script, its table and its picture.
        points: what is put in, a line of the table each.
        row: the whole line of a point: what was put in and what came out.
        draw: the picture of a table, and the sentence that it shows.
        prepare: what is computed once, before all rows, and kept in a file beside the script.
    """

    name: str
    points: Callable[[], Sequence[Row]]
    row: Callable[[Row], Row]
    draw: Callable[[Sequence[Row]], tuple[Figure, str]]
    prepare: Callable[[], None] | None = None

    def file(self, suffix: str) -> Path:
        """The script (.py), the table (.csv) or the picture (.svg)."""
        return FOLDER / f"{self.name}{suffix}"

    def compute(self) -> None:
        """Compute the table anew and write it."""
        if self.prepare is not None:
            self.prepare()
        self.file(".csv").write_text(
            to_csv([self.row(point) for point in self.points()]), encoding="utf-8"
        )

    def table(self) -> list[Row]:
        """The table as it lies there."""
        return from_csv(self.file(".csv").read_text(encoding="utf-8"))

    def redraw(self) -> str:
        """Draw the table that lies there; gives the sentence that the picture shows."""
        made, title = self.draw(self.table())
        picture = style.to_bytes(made, ".svg").decode()
        self.file(".svg").write_text(signed(picture, self.mark()), encoding="utf-8")
        return title

    def mark(self) -> str:
        """The fingerprint of the script and its table."""
        result = b"\0".join(self.file(suffix).read_bytes() for suffix in (".py", ".csv"))
        return f"{self.name}.py, {self.name}.csv: sha256 {hashlib.sha256(result).hexdigest()[:32]}"


def signed(picture: str, mark: str) -> str:
    """An SVG that says what it was drawn from."""
    return picture.replace(">", f">\n <desc>{mark}</desc>", 1)


def to_csv(rows: Sequence[Row]) -> str:
    """A header and a line for each row; floats read back to the same, nan is empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(rows[0])
    for row in rows:
        if list(row) != list(rows[0]):
            raise ValueError(f"columns {list(row)} under the header {list(rows[0])}")
        writer.writerow([_written(value) for value in row.values()])
    return out.getvalue()


def from_csv(text: str) -> list[Row]:
    """The rows; what reads as a number is one."""
    return [{k: _read(v) for k, v in row.items()} for row in csv.DictReader(io.StringIO(text))]


def _written(value: float | str) -> str:
    if isinstance(value, str):
        return value
    return "" if value != value else repr(value)


def _read(text: str) -> float | str:
    try:
        return float(text) if text else float("nan")
    except ValueError:
        return text

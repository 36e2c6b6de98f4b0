"""A sweep of a file written for it, and the rows that it prints."""

import csv
import io
from pathlib import Path

from tests.cli.runner import Run, run


def sweep(folder: Path, text: str, *words: str) -> Run:
    (folder / "s.toml").write_text(text, encoding="utf-8")
    return run("sweep", str(folder / "s.toml"), *words)


def rows(done: Run) -> list[dict[str, str]]:
    assert done.code == 0, done.stderr
    return list(csv.DictReader(io.StringIO(done.stdout)))

"""`python figures/make.py` computes and draws every figure anew; with names, only those.

`--draw` draws the tables that lie there, and computes nothing.
"""

from __future__ import annotations

import importlib
import sys
import time
from pathlib import Path

if __package__ in (None, ""):  # run as a script, from anywhere
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from figures.record import FOLDER, Record
from figures.statements import make as statements

STATEMENTS = "statements"
APPARATUS = {"make", "panels", "record"}


def records() -> list[Record]:
    """Every figure of this folder, by name."""
    names = sorted(p.stem for p in FOLDER.glob("*.py") if p.stem not in APPARATUS)
    return [importlib.import_module(f"figures.{name}").RECORD for name in names]


def main(words: list[str]) -> None:
    """Make the figures that are named, or all."""
    names = [word for word in words if not word.startswith("-")]
    by_name = {record.name: record for record in records()}
    unknown = sorted(set(names) - {*by_name, STATEMENTS})
    if unknown:
        raise SystemExit(
            f"no figure is called {unknown[0]}; there are {', '.join(by_name)}, {STATEMENTS}"
        )
    for name in names or [*by_name, STATEMENTS]:
        if name == STATEMENTS:
            statements.main(compute="--draw" not in words)
            continue
        began = time.process_time()
        if "--draw" not in words:
            by_name[name].compute()
        title = by_name[name].redraw()
        print(f"{name} ({time.process_time() - began:.1f} s): {title}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])

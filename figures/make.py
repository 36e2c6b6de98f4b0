"""`python figures/make.py` computes and draws every figure anew; with names, only those.

`--draw` draws the tables that lie there, and computes nothing.
"""

from __future__ import annotations

import argparse
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


def main(words: list[str] | None = None) -> None:
    """Make the figures that are named, or all."""
    figures = {record.name: record for record in records()}
    parser = argparse.ArgumentParser(description="Compute and draw the figures of this folder.")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"{', '.join(figures)}, {STATEMENTS}; all if none"
    )
    parser.add_argument("--draw", action="store_true", help="from the stored tables, not anew")
    options = parser.parse_args(words)
    if unknown := sorted({*options.names} - {*figures, STATEMENTS}):
        parser.error(
            f"no figure is called {unknown[0]}; there are {', '.join(figures)}, {STATEMENTS}"
        )
    for name in options.names or [*figures, STATEMENTS]:
        if name == STATEMENTS:
            statements.main(compute=not options.draw)
            continue
        began = time.process_time()
        if not options.draw:
            figures[name].compute()
        title = figures[name].redraw()
        print(f"{name} ({time.process_time() - began:.1f} s): {title}", flush=True)


if __name__ == "__main__":
    main()

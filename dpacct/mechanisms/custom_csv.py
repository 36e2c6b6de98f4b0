"""Rows of two numbers from a CSV file, which may have a heading, a byte-order mark or semicolons."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from pathlib import Path

from dpacct.declare.number import shown
from dpacct.errors import InvalidArgument

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def read_profile(path: str | Path) -> list[tuple[float, float]]:
    """(epsilon, delta) by line; `InvalidArgument` names a line that does not fit a profile."""
    rows = [(number, *_pair(path, number, cells)) for number, cells in _lines(path)]
    if not rows:
        message = (
            f"path must be a file with lines of epsilon,delta, and {shown(str(path))} has none"
        )
        raise InvalidArgument(message, argument="path")
    rows.sort(key=lambda row: row[1])
    for (before, e0, d0), (number, e1, d1) in pairwise(rows):
        if d1 > d0 or (e1 == e0 and d1 != d0):
            message = (
                f"line {number} of {path} must not have a larger delta than line {before}, got "
            )
            raise InvalidArgument(
                f"{message}{d1:g} at epsilon {e1:g} after {d0:g} at {e0:g}", argument="path"
            )
    return [(epsilon, delta) for _, epsilon, delta in rows]


def _lines(path: str | Path) -> list[tuple[int, list[str]]]:
    """Numbered lines that have cells, without the heading."""
    import csv

    try:
        # a byte-order mark, as spreadsheets write it, is no part of the first number
        text = Path(path).read_text(encoding="utf-8-sig")
        first = text.lstrip().split("\n", 1)[0]
        mark = next(
            (candidate for candidate in ";\t" if candidate in first and "," not in first), ","
        )
        rows = [*enumerate(csv.reader(text.splitlines(), delimiter=mark), 1)]
    except (OSError, UnicodeDecodeError, TypeError, ValueError, csv.Error) as wrong:
        message = f"path must be a readable file of epsilon,delta, got {shown(path)}: "
        raise InvalidArgument(f"{message}{shown(str(wrong))}", argument="path") from None
    results = [(number, [cell.strip() for cell in row]) for number, row in rows]
    results = [(number, row) for number, row in results if any(row) and not row[0].startswith("#")]
    if results and not any(_NUMBER.fullmatch(cell) for cell in results[0][1]):
        heading = [cell.lower() for cell in results.pop(0)[1]]
        if "delta" in heading[0] or any("eps" in cell for cell in heading[1:]):
            message = f"the columns of {path} must be epsilon and delta, in this order, got {shown(heading)}"
            raise InvalidArgument(message, argument="path")
    return results


def _pair(path: str | Path, number: int, cells: list[str]) -> tuple[float, float]:
    if len(cells) != 2 or not all(map(_NUMBER.fullmatch, cells)):
        message = (
            f"line {number} of {path} must be two numbers, epsilon and delta, got {shown(cells)}"
        )
        raise InvalidArgument(message, argument="path")
    epsilon, delta = map(float, cells)
    if not (0.0 <= epsilon < math.inf and 0.0 <= delta <= 1.0):
        message = f"line {number} of {path} must have epsilon >= 0 and delta in [0, 1], got {shown(cells)}"
        raise InvalidArgument(message, argument="path")
    return epsilon, delta

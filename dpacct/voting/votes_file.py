"""Reads a table of votes from a file, and says on which line one isn't."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from dpacct.declare.number import shown
from dpacct.errors import InvalidArgument
from dpacct.voting.votes import checked

_MAGIC = b"\x93NUMPY"


def read_rows(path: str | Path, argument: str = "votes", *, whole: bool = True) -> Any:
    """The table in a file, checked; `argument` is what it is called in an error.

    Raises `InvalidArgument`.
    """
    try:
        data = sys.stdin.buffer.read() if str(path) == "-" else Path(path).read_bytes()
    except (OSError, ValueError) as wrong:  # ValueError: a NUL in the path
        why = (getattr(wrong, "strerror", None) or str(wrong)).lower()
        raise InvalidArgument(
            f"{argument} cannot be read from {shown(str(path))}: {why}", argument=argument
        ) from None
    if data.startswith(_MAGIC):
        return checked(_from_npy(data, path, argument), argument, whole=whole)
    return _from_text(data, path, argument, whole)


def _from_npy(data: bytes, path: str | Path, argument: str) -> Any:
    from io import BytesIO

    try:
        return np.load(BytesIO(data), allow_pickle=False)
    except (ValueError, EOFError, MemoryError, OSError):
        message = (
            f"{argument} must be a NumPy array of numbers, and {shown(Path(path).name)} holds none"
        )
        raise InvalidArgument(message, argument=argument) from None


def _from_text(data: bytes, path: str | Path, argument: str, whole: bool) -> Any:
    try:
        lines = data.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        message = (
            f"{argument} must be a .npy file or text in UTF-8, and {shown(Path(path).name)} is"
        )
        raise InvalidArgument(f"{message} neither", argument=argument) from None
    first = next((line for line in lines if line.strip() and not line.startswith("#")), "")
    skip = lines.index(first) + 1 if first and _is_heading(first) else 0
    body = lines[skip:]
    if not any(line.strip() and not line.startswith("#") for line in body):
        message = f"{argument} must have at least one row, and {shown(Path(path).name)} has none"
        raise InvalidArgument(message, argument=argument)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            table = np.loadtxt(body, delimiter=",", ndmin=2, comments="#", dtype=np.float64)
        return checked(table, argument, whole=whole)
    except (ValueError, UserWarning, DeprecationWarning):
        # something is wrong with it: go through it again, slowly, to say on which line
        return checked(_line_by_line(lines, skip, argument, whole), argument, whole=whole)


def _is_heading(line: str) -> bool:
    """Whether every cell of the line is a word: none a number, each with a letter."""
    cells = line.split(",")
    words = [cell for cell in cells if any(sign.isalpha() for sign in cell)]
    return len(words) == len(cells) and all(_number(cell) is None for cell in cells)


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def _line_by_line(lines: list[str], skip: int, argument: str, whole: bool) -> Any:
    rows: list[list[float]] = []
    for number, line in enumerate(lines[skip:], skip + 1):
        text = line.split("#")[0].strip()
        if not text:
            continue
        cells = [cell.strip() for cell in text.split(",")]
        row: list[float] = []
        for cell in cells:
            value = _number(cell)
            if value is None:
                result = f"{argument} must be numbers with commas between them"
                raise InvalidArgument(
                    f"{result}, got {shown(cell)} in line {number}", argument=argument
                )
            row.append(value)
        if rows and len(row) != len(rows[0]):
            result = (
                f"{argument} must have as many columns in each row: the first has {len(rows[0])}"
            )
            raise InvalidArgument(f"{result}, line {number} has {len(row)}", argument=argument)
        try:
            checked([row], argument, columns=min(len(row), 2), whole=whole)
        except InvalidArgument as wrong:
            result = wrong.message.replace("in row 1", f"in line {number}")
            raise InvalidArgument(result, argument=argument) from None
        rows.append(row)
    return rows

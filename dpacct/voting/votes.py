"""Votes: one histogram per query, checked once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpacct.declare.number import shown
from dpacct.errors import InvalidArgument

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Counts = NDArray[np.int64]

MOST_VOTES = 2**40
"""More votes than that in one cell are refused: nobody has so many voters."""


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Votes:
    """How many votes each class (column) got in each query (row): whole numbers of at least 0.

    Raises `InvalidArgument` with the row (the first is 1) for anything else: ragged rows, negative or
    fractional counts, NaN, nobody voting, no query at all, fewer than two classes.

    >>> votes = Votes([[60, 5, 5], [20, 30, 20]])
    >>> votes.queries, votes.classes, votes.labels.tolist()
    (2, 3, [0, 1])
    """

    counts: Counts

    def __init__(self, counts: ArrayLike) -> None:
        object.__setattr__(self, "counts", checked(counts, "votes"))

    @classmethod
    def read(cls, path: str | Path) -> Votes:
        """From a file: NumPy's .npy, or text of one line per query with commas between the classes.

        A first line of words, empty lines and lines that begin with # are skipped.
        Raises `InvalidArgument` with the line.
        """
        from dpacct.voting.votes_file import read_rows

        made = object.__new__(cls)
        object.__setattr__(made, "counts", read_rows(path))
        return made

    @classmethod
    def of_labels(cls, labels: ArrayLike, classes: int) -> Votes:
        """From each voter's label (column) in each query (row): whole numbers from 0 to classes - 1.

        Raises `InvalidArgument` with the row.

        >>> Votes.of_labels([[0, 0, 2], [1, 1, 1]], classes=3).counts.tolist()
        [[2, 0, 1], [0, 3, 0]]
        """
        rows_of_labels = checked(labels, "labels", columns=1)
        if int(rows_of_labels.max()) >= classes:
            row = int(np.argmax(rows_of_labels.max(axis=1) >= classes))
            message = (
                f"labels must be from 0 to {classes - 1}, got {int(rows_of_labels[row].max())}"
            )
            raise InvalidArgument(f"{message} in row {row + 1}", argument="labels")
        rows = np.arange(rows_of_labels.shape[0])[:, None]
        counts = np.bincount(
            (rows * classes + rows_of_labels).ravel(), minlength=rows_of_labels.shape[0] * classes
        ).reshape(-1, classes)
        return cls(counts)

    @property
    def queries(self) -> int:
        """How many queries were voted on."""
        return int(self.counts.shape[0])

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return int(self.counts.shape[1])

    @property
    def labels(self) -> NDArray[np.intp]:
        """The winner without noise, of each query; the first of several."""
        return np.asarray(np.argmax(self.counts, axis=1))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Votes) and np.array_equal(self.counts, other.counts)

    def __hash__(self) -> int:
        return hash((self.counts.shape, self.counts.tobytes()))

    def __repr__(self) -> str:
        return f"Votes({self.queries} queries, {self.classes} classes)"


def checked(values: ArrayLike, argument: str, *, columns: int = 2, whole: bool = True) -> Any:
    """A table of whole numbers of at least 0 (or, not `whole`, of finite ones), read-only.

    Raises `InvalidArgument` with the row.
    """
    table = _table(values, argument)
    if table.shape[0] == 0 or table.size == 0:
        raise InvalidArgument(f"{argument} must have at least one row, got none", argument=argument)
    if table.shape[1] < columns:
        message = f"{argument} must have at least two classes (columns), got {table.shape[1]}"
        raise InvalidArgument(message, argument=argument)
    bad = ~np.isfinite(table)
    if whole:
        with np.errstate(invalid="ignore"):
            bad |= (table < 0) | (table > MOST_VOTES) | (table != np.floor(table))
    if bad.any():
        row, column = (int(place) for place in np.argwhere(bad)[0])
        kind = f"whole numbers from 0 to 2^{MOST_VOTES.bit_length() - 1}" if whole else "finite"
        message = f"{argument} must be {kind}, got {float(table[row, column]):.6g}"
        raise InvalidArgument(f"{message} in row {row + 1}, column {column + 1}", argument=argument)
    if whole and columns > 1 and not table.any(axis=1).all():
        row = int(np.argmin(table.any(axis=1))) + 1
        raise InvalidArgument(
            f"{argument} must hold at least one vote a query, got none in row {row}",
            argument=argument,
        )
    kept = np.array(table, dtype=np.int64 if whole else np.float64)
    kept.flags.writeable = False
    return kept


def _table(values: Any, argument: str) -> NDArray[Any]:
    """Two dimensions of numbers, from whatever was given."""
    rows = values if isinstance(values, np.ndarray) else list(values)
    if not isinstance(rows, np.ndarray):
        width: int | None = None
        for number, row in enumerate(rows, 1):
            try:
                size = len(row)
            except TypeError:
                message = f"{argument} must be rows of numbers, got {shown(row)} for row {number}"
                raise InvalidArgument(message, argument=argument) from None
            width = size if width is None else width
            if size != width:
                message = f"{argument} must have as many columns in each row: row 1 has {width}"
                raise InvalidArgument(f"{message}, row {number} has {size}", argument=argument)
    try:
        table = np.asarray(rows)
        if table.dtype.kind not in "iuf":
            raise ValueError(table.dtype.name)
    except (TypeError, ValueError):
        message = f"{argument} must be numbers, got {shown(values)}"
        raise InvalidArgument(message, argument=argument) from None
    if table.ndim == 1 and table.size == 0:
        return table.reshape(0, 0)
    if table.ndim != 2:
        message = f"{argument} must have two dimensions, queries and classes, got {table.ndim}"
        raise InvalidArgument(message, argument=argument)
    return table

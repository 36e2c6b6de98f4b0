"""Votes: one histogram a query, checked once; read from a file; sorted, with equal queries grouped.

And whose data is protected, and how far it can move the votes: AE-DPFL, Theorem 11 with the sensitivities
it should have (docs/theory/voting.md). All is counted in shares of a vote: whole votes where each voter has
one, k-th parts where an agent's vote is the mean of its k nearest neighbours' labels.
"""

from __future__ import annotations

import math
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpacct.declare.domain import Integer
from dpacct.declare.number import shown
from dpacct.errors import InvalidArgument
from dpacct.pld.stable import Floats
from dpacct.vocabulary import Adjacency, Unit

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Counts = NDArray[np.int64]
    Places = NDArray[np.intp]

MOST_VOTES = 2**40
"""More votes than that in one cell are refused: nobody has so many voters."""


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Votes:
    """The votes of each class (column) in each query (row): whole numbers of at least 0.

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
        """Read a file: NumPy's .npy, or text of one line per query with commas between the classes.

        A first line of words, empty lines and lines that begin with # are skipped.
        Raises `InvalidArgument` with the line.
        """
        made = object.__new__(cls)
        object.__setattr__(made, "counts", read_rows(path))
        return made

    @classmethod
    def of_labels(cls, labels: ArrayLike, classes: int) -> Votes:
        """Count each voter's labels (column) in each query (row): whole numbers from 0 to classes - 1.

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
        """The number of queries that were voted on."""
        return int(self.counts.shape[0])

    @property
    def classes(self) -> int:
        """The number of classes."""
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


# --- from a file

_MAGIC = b"\x93NUMPY"


def read_rows(path: str | Path, argument: str = "votes", *, whole: bool = True) -> Any:
    """The table in a file, checked; `argument` is what it is called in an error.

    Raises `InvalidArgument`.
    """
    if str(path) == "-" and sys.stdin is None:
        message = f"{argument} cannot be read from standard input: it is closed"
        raise InvalidArgument(message, argument=argument)
    try:
        content = sys.stdin.buffer.read() if str(path) == "-" else Path(path).read_bytes()
    except (OSError, ValueError) as wrong:  # ValueError: a NUL in the path
        why = (getattr(wrong, "strerror", None) or str(wrong)).lower()
        raise InvalidArgument(
            f"{argument} cannot be read from {shown(str(path))}: {why}", argument=argument
        ) from None
    if content.startswith(_MAGIC):
        return checked(_from_npy(content, path, argument), argument, whole=whole)
    return _from_text(content, path, argument, whole)


def _from_npy(content: bytes, path: str | Path, argument: str) -> Any:
    from io import BytesIO

    try:
        return np.load(BytesIO(content), allow_pickle=False)
    except (ValueError, EOFError, MemoryError, OSError):
        message = (
            f"{argument} must be a NumPy array of numbers, and {shown(Path(path).name)} holds none"
        )
        raise InvalidArgument(message, argument=argument) from None


def _from_text(content: bytes, path: str | Path, argument: str, whole: bool) -> Any:
    try:
        lines = content.decode("utf-8-sig").splitlines()
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
    """Return whether every cell of the line is a word: none a number, each with a letter."""
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
        cells = [cell.strip() for cell in line.split("#")[0].split(",")]
        if cells == [""]:
            continue
        row = [value for value in map(_number, cells) if value is not None]
        if len(row) < len(cells):
            wrong = next(cell for cell in cells if _number(cell) is None)
            message = f"{argument} must be numbers with commas between them, got {shown(wrong)}"
            raise InvalidArgument(f"{message} in line {number}", argument=argument)
        if rows and len(row) != len(rows[0]):
            result = (
                f"{argument} must have as many columns in each row: the first has {len(rows[0])}"
            )
            raise InvalidArgument(f"{result}, line {number} has {len(row)}", argument=argument)
        try:
            checked([row], argument, columns=min(len(row), 2), whole=whole)
        except InvalidArgument as refused:
            result = refused.message.replace("in row 1", f"in line {number}")
            raise InvalidArgument(result, argument=argument) from None
        rows.append(row)
    return rows


# --- sorted, and equal queries together


@dataclass(frozen=True)
class Histograms:
    """Counts of each query in shares, the largest first."""

    counts: Counts

    @classmethod
    def of(cls, counts: Counts) -> Histograms:
        """Sort votes (in shares)."""
        return cls(np.ascontiguousarray(np.sort(counts, axis=1)[:, ::-1]))

    @property
    def margins(self) -> Counts:
        """The leader's count less each other's."""
        return np.asarray(self.counts[:, :1] - self.counts[:, 1:])

    @property
    def top(self) -> Floats:
        """The largest count."""
        return self.counts[:, 0].astype(np.float64)

    def rows(self, places: Places) -> Histograms:
        """Return the histograms at these places."""
        return Histograms(self.counts[places])

    def alike(self) -> tuple[Places, Places, Places]:
        """(first, which, count): a query of each kind, the kind of each query, and how many there are.

        >>> Histograms.of(np.array([[3, 1], [2, 2], [1, 3]])).alike()[2].tolist()
        [2, 1]
        """
        return alike(self.counts)


def alike(table: Counts) -> tuple[Places, Places, Places]:
    """Rows that are equal: the first of each kind, the kind of each row, and how many there are.

    Kinds are in the order of their first rows.
    """
    # one number for each row; should two kinds share it (hardly ever), compare the rows themselves
    factors: Counts = np.random.default_rng(2018).integers(1, 2**62, size=(table.shape[1],))
    with np.errstate(over="ignore"):
        key = table @ (2 * factors + 1)
    first, which, count = np.unique(
        key, return_index=True, return_inverse=True, return_counts=True
    )[1:]
    which = which.reshape(-1)
    if not np.array_equal(table, table[first[which]]):
        first, which, count = np.unique(
            table, axis=0, return_index=True, return_inverse=True, return_counts=True
        )[1:]
        which = which.reshape(-1)
    place = np.argsort(first, kind="stable")
    rank = np.empty(place.size, dtype=np.intp)
    rank[place] = np.arange(place.size)
    return first[place], rank[which], count[place]


# --- neighbours

LEVELS = ("agent", "instance")
NEIGHBOURS = Integer(1, 10**6, typical=(1, 100))
"""k of Private-kNN-FL."""


@dataclass(frozen=True)
class Level:
    """The protected unit: "agent" (a voter comes or goes) or "instance" (one of its records is exchanged).

    `shares` is k: how many equal shares a voter's vote has, 1 for PATE. Raises `InvalidArgument`.

    >>> [round(Level(name, 10).l2, 6) for name in LEVELS]
    [10.0, 1.414214]
    """

    name: str
    shares: int = 1

    def __post_init__(self) -> None:
        if self.name not in LEVELS:
            message = f"level must be agent or instance, got {self.name!r}"
            raise InvalidArgument(message, argument="level")
        NEIGHBOURS.check("neighbours", self.shares)

    @property
    def is_agent(self) -> bool:
        """Return whether an agent comes or goes, with all its votes."""
        return self.name == "agent"

    @property
    def step(self) -> int:
        """Shares that leave a class, or come to one, in a neighbour."""
        return self.shares if self.is_agent else 1

    @property
    def l2_squared(self) -> int:
        """Squared L2 distance of neighbours: k^2 for an agent, and 2 for one share that moves."""
        return self.shares**2 if self.is_agent else 2

    @property
    def l2(self) -> float:
        """L2 distance of neighbours."""
        return math.sqrt(self.l2_squared)

    @property
    def changed(self) -> int:
        """The number of counts that a neighbour changes, by `step` each."""
        return 1 if self.is_agent else 2

    @property
    def margin(self) -> int:
        """The most by which a margin between two classes can change."""
        return self.step * self.changed

    @property
    def proven(self) -> bool:
        """Return whether the enumerated neighbours include the worst one.

        An agent of kNN voting may spread its vote over classes. That a vote for one class is the worst is
        shown for Renyi divergences in one order only.
        """
        return not self.is_agent or self.shares == 1

    @property
    def adjacency(self) -> Adjacency:
        """Add-remove of agents; replace-one of records."""
        return Adjacency.ADD_REMOVE if self.is_agent else Adjacency.REPLACE_ONE

    @property
    def unit(self) -> Unit:
        """The unit whose data is protected."""
        return Unit.CLIENT if self.is_agent else Unit.RECORD

    @property
    def sentence(self) -> str:
        """The neighbouring relation in a sentence."""
        if self.is_agent:
            return (
                "neighbours differ in one voter, with all its votes: one vote more or fewer a query"
            )
        if self.shares == 1:
            return "neighbours differ in one voter's data: in each query one vote may move to another class"
        return (
            "neighbours differ in one record: in each query one of a voter's"
            f" {self.shares} nearest neighbours may have another label"
        )

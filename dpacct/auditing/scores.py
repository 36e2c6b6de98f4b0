"""Scores and guesses turned into counts, at thresholds not chosen on the same data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpacct.auditing import bounds
from dpacct.declare.domain import did_you_mean
from dpacct.declare.number import shown
from dpacct.errors import AssumptionViolated, InvalidArgument

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.floating[Any]]
    Flags = NDArray[np.bool_]

_FAIR = 1e-9


@dataclass(frozen=True)
class Rates:
    """False positives and negatives at one threshold, and upper bounds of their rates."""

    false_positives: int
    outs: int
    false_negatives: int
    ins: int
    alpha: float
    beta: float

    @property
    def counts(self) -> dict[str, int]:
        """The counts by name, as the bounds take them."""
        names = ("false_positives", "outs", "false_negatives", "ins")
        return {name: vars(self)[name] for name in names}

    def values(self, delta: float, sure: float) -> Mapping[str, float]:
        """Epsilon by method; for "gdp" it is mu."""
        return {
            "clopper-pearson": bounds.epsilon_of_rates(self.alpha, self.beta, delta),
            "gdp": bounds.mu_of_rates(self.alpha, self.beta),
        }


@dataclass(frozen=True)
class Guessed:
    """The number of canaries guessed in one run, and of right guesses among them."""

    canaries: int
    guesses: int
    right: int

    @property
    def counts(self) -> dict[str, int]:
        """The counts by name, as the bounds take them."""
        return dict(vars(self))

    def values(self, delta: float, sure: float) -> Mapping[str, float]:
        """Epsilon by method; for "gdp" it is mu."""
        return {
            "one-run": bounds.one_run_epsilon(**self.counts, delta=delta, confidence=sure),
            "gdp": bounds.one_run_mu(**self.counts, confidence=sure),
        }


@dataclass(frozen=True)
class Scores:
    """Scores of canaries, and whether each was included; a high score means "included"."""

    values: Floats
    included: Flags

    @staticmethod
    def read(values: ArrayLike, included: ArrayLike, name: str = "scores") -> Scores:
        """The checked scores: no NaN, flags 0 or 1, at least one of each kind. Raises `InvalidArgument`."""
        scores, flags = _column(values, name), _column(included, "included")
        if scores.size != flags.size:
            message = (
                f"{name} and included must be equally long, got {scores.size} and {flags.size}"
            )
            raise InvalidArgument(message, argument="included")
        odd = np.flatnonzero((flags != 0.0) & (flags != 1.0))
        if odd.size:
            message = f"included must be 0 or 1, got {flags[odd[0]]:g} in row {odd[0] + 1}"
            raise InvalidArgument(message, argument="included")
        missing = np.flatnonzero(np.isnan(scores))
        if missing.size:
            message = f"{name} must be numbers, got nan in row {missing[0] + 1}"
            raise InvalidArgument(message, argument=name)
        inside = flags == 1.0
        if inside.all() or not inside.any():
            lacking = "left out" if inside.all() else "included"
            message = f"{name} must be of canaries of both kinds, but none was {lacking}"
            raise InvalidArgument(message, argument=name)
        return Scores(scores, inside)

    @staticmethod
    def of_worlds(ins: ArrayLike, outs: ArrayLike) -> Scores:
        """The scores of two worlds, included and left out; raises `InvalidArgument`."""
        kinds = [_column(ins, "scores_in"), _column(outs, "scores_out")]
        flags = np.repeat([1.0, 0.0], [kind.size for kind in kinds])
        return Scores.read(np.concatenate(kinds), flags)

    @property
    def sizes(self) -> tuple[int, int]:
        """The numbers of canaries included and left out."""
        inside = int(self.included.sum())
        return inside, self.included.size - inside

    def errors(self, thresholds: ArrayLike) -> tuple[list[int], list[int]]:
        """False positives and negatives, where a score above a threshold says "in"."""
        ins, outs = np.sort(self.values[self.included]), np.sort(self.values[~self.included])
        positives = outs.size - np.searchsorted(outs, thresholds, side="right")
        return positives.tolist(), np.searchsorted(ins, thresholds, side="right").tolist()

    def fair(self) -> None:
        """Raise `AssumptionViolated` where the coins of one run cannot have been fair (Hoeffding)."""
        size, inside = self.included.size, self.sizes[0]
        if abs(inside - 0.5 * size) > math.sqrt(0.5 * size * math.log(2.0 / _FAIR)):
            message = (
                f"{inside} of {size} canaries were included, which is implausible for fair coins"
            )
            raise AssumptionViolated(f"{message}, which one run needs", argument="included")


def _column(values: ArrayLike, name: str) -> Floats:
    try:
        column = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        message = f"{name} must be an array of numbers, got {shown(values)}"
        raise InvalidArgument(message, argument=name) from None
    if column.ndim != 1 or column.size == 0:
        message = f"{name} must be a list of one number or more, got the shape {column.shape}"
        raise InvalidArgument(message, argument=name)
    return column


# --- two worlds


def at_ranks(scores: Scores, shares: Sequence[float], error: float) -> list[Rates]:
    """Thresholds at order statistics of one kind, judged on the other.

    A further score of those left out exceeds their k-th largest with a probability that is at most
    Beta(k, n - k + 1), the law behind Clopper and Pearson's bound for k - 1 events; given it, the included
    ones are independent. And the same from below, where the two kinds change places.
    """
    ins, outs = scores.sizes
    mirror = Scores(-scores.values, ~scores.included)
    looks = [
        (side, int(share * size))
        for share in shares
        for side, size in ((scores, outs), (mirror, ins))
    ]
    looks = [(side, rank) for side, rank in looks if rank > 0]
    if not looks:
        message = f"shares must leave a score beyond the threshold, got {max(shares):g} of {ins} and {outs}"
        raise InvalidArgument(message, argument="shares")
    sure, rates = 1.0 - 0.5 * error / len(looks), []
    for side, rank in looks:
        others = np.sort(side.values[~side.included])
        (positive,), (missed,) = side.errors(others[[others.size - rank]])
        alpha = bounds.upper_rate(rank - 1, others.size, sure)  # with ties even fewer are beyond
        beta = bounds.upper_rate(missed, side.values.size - others.size, sure)
        if side is scores:
            rates.append(Rates(positive, outs, missed, ins, alpha, beta))
        else:
            rates.append(Rates(missed, outs, positive, ins, beta, alpha))
    return rates


def at_values(scores: Scores, thresholds: Sequence[float], error: float) -> list[Rates]:
    """Thresholds that were fixed before the scores were seen."""
    sure = 1.0 - 0.5 * error / len(thresholds)
    counts = zip(*scores.errors(thresholds), strict=True)
    return [_rates(positives, negatives, scores, sure) for positives, negatives in counts]


def _rates(positives: int, negatives: int, scores: Scores, sure: float) -> Rates:
    ins, outs = scores.sizes
    alpha, beta = bounds.upper_rate(positives, outs, sure), bounds.upper_rate(negatives, ins, sure)
    return Rates(positives, outs, negatives, ins, alpha, beta)


# --- one run


def guessed(scores: Scores, shares: Sequence[float]) -> list[Guessed]:
    """Guess, for each share, that the highest scores are in and equally many lowest scores out.

    Of equal scores the wrong guesses are made: any order of the file might know the coins.
    """
    truth = scores.included[np.lexsort((~scores.included, scores.values))]
    counts = []
    for share in shares:
        half = max(1, int(truth.size * share) // 2)
        right = int((~truth[:half]).sum() + truth[-half:].sum())
        counts.append(Guessed(truth.size, 2 * half, right))
    return counts


def guessed_at(scores: Scores, thresholds: Sequence[float]) -> list[Guessed]:
    """All canaries guessed, at thresholds fixed beforehand."""
    size = scores.values.size
    wrong = [sum(pair) for pair in zip(*scores.errors(thresholds), strict=True)]
    return [Guessed(size, size, size - count) for count in wrong]


def guessed_as_said(scores: Scores) -> list[Guessed]:
    """Scores that are guesses already: 1 in, -1 out, 0 none."""
    made = scores.values != 0.0
    if not made.any():
        raise InvalidArgument("guesses must not all be 0, which is no guess", argument="guesses")
    right = int(((scores.values > 0.0) == scores.included)[made].sum())
    return [Guessed(made.size, int(made.sum()), right)]


# --- files


def read_csv(path: str, score: str = "score", included: str = "included") -> tuple[Scores, bool]:
    r"""Scores from a file with a heading, and whether they are guesses (1 in, -1 out, 0 none).

    Columns are found by name; one called `guess` stands in for scores. Raises `InvalidArgument`.

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "scores.csv"
    >>> _ = file.write_text("score,included\n0.5,1\n-2,0\n")
    >>> scores, guesses = read_csv(str(file))
    >>> scores.values.tolist(), scores.included.tolist(), guesses
    ([0.5, -2.0], [True, False], False)
    """
    try:
        with open(path, encoding="utf-8-sig") as file:
            heading, *lines = file.read().splitlines() or [""]
    except (OSError, ValueError) as wrong:
        why = wrong.strerror if isinstance(wrong, OSError) else "not a text in UTF-8"
        message = f"scores cannot be read from {shown(path)}: {str(why).lower()}"
        raise InvalidArgument(message, argument="scores") from None
    names = [name.strip() for name in heading.split(",")]
    guesses = score == "score" and score not in names and "guess" in names
    wanted = ["guess" if guesses else score, included]
    for name in wanted:
        if name not in names:
            columns = " and ".join(name[:40] for name in wanted)
            message = f"scores must have the columns {columns}, got {heading[:60]!r}"
            raise InvalidArgument(message + did_you_mean(name, names), argument="scores")
    table = _table(lines, [names.index(name) for name in wanted])
    return Scores.read(table[:, 0], table[:, 1], wanted[0]), guesses


def _table(lines: list[str], columns: list[int]) -> Floats:
    """Two columns of numbers; an error names the line."""
    if not any(line.strip() for line in lines):
        raise InvalidArgument("scores must have one row or more, got none", argument="scores")
    try:
        return np.loadtxt(lines, delimiter=",", usecols=columns, ndmin=2, comments=None)
    except ValueError:
        for number, line in enumerate(lines, 2):
            cells = line.split(",")
            for column in columns if line.strip() else ():
                cell = cells[column] if column < len(cells) else ""
                try:
                    float(cell)
                except ValueError:
                    message = f"scores must be numbers with commas between them, got {shown(cell)}"
                    message += f" in line {number}"
                    raise InvalidArgument(message, argument="scores") from None
        raise

"""The cost of each query, and the probability that its label is wrong."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpacct.pld.stable import Floats
    from dpacct.voting.voting_cost import VotingCost

COLUMNS = (
    "query",
    "label",
    "votes",
    "margin",
    "wrong_at_most",
    "answered",
    "cost",
    "share",
    "exact",
)


@dataclass(frozen=True)
class PerQuery:
    """Columns with one entry a query, in the order of the votes.

    `label`: the winner without noise (0 is the first class); `votes` and `margin`: its votes, and how many
    more than the next, in votes; `wrong_at_most`: the chance of another label; `answered`: of an answer;
    `cost`: the Renyi bound at the run's order, and `share`, its part of all; `exact`: the exact Renyi
    divergence at that order, NaN where it was not computed.
    """

    label: NDArray[np.intp]
    votes: Floats
    margin: Floats
    wrong_at_most: Floats
    answered: Floats
    cost: Floats
    share: Floats
    exact: Floats

    @classmethod
    def of(cls, priced: VotingCost) -> PerQuery:
        """The columns of a voting run."""
        bounds, shares = priced.bounds, priced.aggregator.neighbours
        ready = bounds.histograms
        cost = bounds.each(priced.order)
        whole = float(cost.sum())
        answered = np.ones(cost.size)
        if bounds.screening is not None:
            answered = np.exp(bounds.screening.log_passes(ready.top)[1])
        return cls(
            priced.votes.labels,
            ready.counts[:, 0] / shares,
            ready.margins[:, 0] / shares,
            np.minimum(np.exp(bounds.log_q), 1.0),
            answered,
            cost,
            cost / whole if whole > 0.0 else np.zeros(cost.size),
            np.full(cost.size, np.nan) if priced.exact_each is None else priced.exact_each,
        )

    def rows(self, places: Iterable[int]) -> list[dict[str, float | int | None]]:
        """Some rows, by the names of `COLUMNS`; queries count from 1."""
        columns = [getattr(self, name) for name in COLUMNS[1:]]
        results: list[dict[str, float | int | None]] = []
        for place in places:
            values = [column[place].item() for column in columns]
            numbers = [None if value != value else value for value in values]
            results.append(dict(zip(COLUMNS, [int(place) + 1, *numbers], strict=True)))
        return results

    def write_csv(self, target: str | Path | TextIO) -> None:
        """All rows as CSV, with a heading."""
        if isinstance(target, str | Path):
            with Path(target).open("w", newline="", encoding="utf-8") as file:
                self.write_csv(file)
            return
        writer = csv.writer(target, lineterminator="\n")
        writer.writerow(COLUMNS)
        columns = [np.arange(1, self.cost.size + 1), *(getattr(self, n) for n in COLUMNS[1:])]
        lists = [column.tolist() for column in columns]
        for row in zip(*lists, strict=True):
            writer.writerow([repr(value) if value == value else "" for value in row])

"""Sweep: every combination of some settings, beside what a paper prints for them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dpacct_training.experiment import Experiment, Section
from dpacct_training.processes import finished

Watch = Callable[["Cell", int], None]
"""Told each finished cell, and how many there are."""


@dataclass(frozen=True)
class Cell:
    """One run of a sweep."""

    values: Section
    accuracy: float
    noise_std: float  # the largest, on a number of a sum
    epsilon: float | None  # of the exact accountant, at the experiment's delta
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            **self.values,
            "accuracy": self.accuracy,
            "noise_std": self.noise_std,
            "epsilon_exact": self.epsilon,
            "seconds": self.seconds,
        }


def combinations(experiment: Experiment) -> list[Section]:
    r"""The settings of every run: each variant with each combination of the sweep.

    >>> text = '[sweep]\n"run.seed" = [0, 1]\n[[variant]]\n"privacy.rate" = 1'
    >>> combinations(Experiment.from_toml(text, "demo"))
    [{'privacy.rate': 1, 'run.seed': 0}, {'privacy.rate': 1, 'run.seed': 1}]
    """
    names = list(experiment.sweep)
    product = list(itertools.product(*experiment.sweep.values()))
    variants = experiment.variants or ({},)
    return [{**v, **dict(zip(names, row, strict=True))} for v in variants for row in product]


def sweep(experiment: Experiment, processes: int = 1, watch: Watch | None = None) -> list[Cell]:
    """All runs, in memory; those of one process share the data. In the order of `combinations`."""
    settings = combinations(experiment)
    jobs = [(experiment, values) for values in settings]
    cells: dict[int, Cell] = {}
    for place, cell in finished(_run, jobs, processes):
        cells[place] = cell
        if watch is not None:
            watch(cell, len(jobs))
    return [cells[place] for place in range(len(jobs))]


def _run(job: tuple[Experiment, Section]) -> Cell:
    from dpacct_training.prepare import prepare
    from dpacct_training.session import Session

    experiment, values = job
    changed = experiment.changed({"run.evaluate_every": 10**9, **values})
    prepared = prepare(changed)
    result = Session(prepared).finish()
    return Cell(
        values,
        result.test_accuracy,
        max((noise.variance**0.5 for noise in prepared.plan.noise.values()), default=0.0),
        None if result.spent is None else float(result.spent),
        result.seconds,
    )


@dataclass(frozen=True)
class Mean:
    """Runs that differ in their seed only."""

    values: Section
    accuracy: float
    spread: float  # standard deviation over seeds
    seeds: int
    noise_std: float
    epsilon: float | None
    printed: float | None

    @property
    def difference(self) -> float | None:
        """Ours less the paper's, in points."""
        return None if self.printed is None else 100 * self.accuracy - self.printed


def means(experiment: Experiment, cells: list[Cell]) -> list[Mean]:
    """One for each combination of all settings but the seed."""
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        values = {k: v for k, v in cell.values.items() if k != "run.seed"}
        groups.setdefault(json.dumps(values), []).append(cell)
    averages = []
    for key, group in groups.items():
        values = json.loads(key)
        got = [cell.accuracy for cell in group]
        middle = sum(got) / len(got)
        spread = (sum((a - middle) ** 2 for a in got) / max(1, len(got) - 1)) ** 0.5
        first = group[0]
        printed = _printed(experiment, values)
        averages.append(
            Mean(values, middle, spread, len(got), first.noise_std, first.epsilon, printed)
        )
    return averages


def _printed(experiment: Experiment, values: Section) -> float | None:
    """What the paper prints for these settings, in percent."""
    for entry in experiment.printed:
        wanted = {k: v for k, v in entry.items() if k != "accuracy"}
        if all(values.get(k) == v for k, v in wanted.items()):
            return float(entry["accuracy"])
    return None

"""Sweep: every combination of some settings, run in processes, and a table beside what a paper prints."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any, TypeVar

import dpacct as dp
from dpacct_training.experiment import Experiment, Section

Job = TypeVar("Job")
Done = TypeVar("Done")


def finished(
    run: Callable[[Job], Done], jobs: Sequence[Job], processes: int
) -> Iterator[tuple[int, Done]]:
    """(place in `jobs`, what it came to), as they end."""
    if processes == 1:
        yield from enumerate(map(run, jobs))
        return
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        places = {pool.submit(run, job): place for place, job in enumerate(jobs)}
        for future in as_completed(places):
            yield places[future], future.result()


# --- cells

Watch = Callable[["SweepRun", int], None]
"""Told each finished cell, and how many there are."""


@dataclass(frozen=True)
class SweepRun:
    """One run of a sweep."""

    values: Section
    accuracy: float
    noise_std: float  # the largest, on a number of a sum
    epsilon: float | None  # of the exact accountant, at the experiment's delta
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
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


def sweep(experiment: Experiment, processes: int = 1, watch: Watch | None = None) -> list[SweepRun]:
    """All runs, in memory; those of one process share the data. In the order of `combinations`."""
    settings = combinations(experiment)
    jobs = [(experiment, values) for values in settings]
    cells: dict[int, SweepRun] = {}
    for place, cell in finished(_run, jobs, processes):
        cells[place] = cell
        if watch is not None:
            watch(cell, len(jobs))
    return [cells[place] for place in range(len(jobs))]


def _run(job: tuple[Experiment, Section]) -> SweepRun:
    from dpacct_training.experiment import prepare
    from dpacct_training.run import Session

    experiment, values = job
    changed = experiment.changed({"run.evaluate_every": 10**9, **values})
    prepared = prepare(changed)
    result = Session(prepared).finish()
    return SweepRun(
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


def means(experiment: Experiment, cells: list[SweepRun]) -> list[Mean]:
    """Average over seeds, for each combination of all other settings."""
    groups: dict[str, list[SweepRun]] = {}
    for cell in cells:
        values = {k: v for k, v in cell.values.items() if k != "run.seed"}
        groups.setdefault(json.dumps(values), []).append(cell)
    averages = []
    for key, group in groups.items():
        values = json.loads(key)
        accuracies = [cell.accuracy for cell in group]
        middle = sum(accuracies) / len(accuracies)
        spread = (sum((a - middle) ** 2 for a in accuracies) / max(1, len(accuracies) - 1)) ** 0.5
        first = group[0]
        printed = _printed(experiment, values)
        averages.append(
            Mean(values, middle, spread, len(accuracies), first.noise_std, first.epsilon, printed)
        )
    return averages


def _printed(experiment: Experiment, values: Section) -> float | None:
    """Return the paper's printed accuracy for these settings, in percent."""
    for entry in experiment.printed:
        wanted = {k: v for k, v in entry.items() if k != "accuracy"}
        if all(values.get(k) == v for k, v in wanted.items()):
            return float(entry["accuracy"])
    return None


# --- the table


def sweep_report(experiment: Experiment, means: list[Mean], seconds: float) -> dp.ReportDocument:
    """One table for each variant: columns by the first swept setting, rows by the second."""
    names = [name for name in experiment.sweep if name != "run.seed"]
    column, row = [*names, "", ""][:2]
    seeds = max(mean.seeds for mean in means)
    runs = "one seed" if seeds == 1 else f"mean of {seeds} seeds (standard deviation)"
    paragraphs = [line for line in (experiment.source, experiment.note) if line]
    paragraphs.append(
        f"Test accuracy in percent, {runs}; after the slash what the paper prints, where it does. All"
        f" of it took {seconds:.0f} s. Each epsilon is of one run alone: over private data all runs of"
        " a sweep compose, also those that are thrown away."
    )
    sections = [dp.ReportSection(title="What was run", paragraphs=tuple(paragraphs))]
    for variant in experiment.variants or ({},):
        mine = [m for m in means if all(m.values.get(k) == v for k, v in variant.items())]
        title = ", ".join(f"{_short(k)} {v}" for k, v in variant.items())
        sections.append(_grid(experiment, mine, column, row, title or experiment.name))
    reduced = "Reduced: smaller than the paper's setting; not a reproduction."
    return dp.ReportDocument(
        title=experiment.name,
        warnings=(reduced,) if experiment.reduced else (),
        sections=tuple(sections),
    )


def _short(name: str) -> str:
    return name.rpartition(".")[2]


def _grid(
    experiment: Experiment, mine: list[Mean], column: str, row: str, title: str
) -> dp.ReportSection:
    columns: list[Any] = list(experiment.sweep.get(column, [""]))
    lines: list[tuple[str, ...]] = []
    for value in experiment.sweep.get(row, [""]):
        cells = [
            _cell([m for m in mine if _at(m, column, c) and _at(m, row, value)]) for c in columns
        ]
        lines.append((f"{_short(row)} {value}", *cells))
    for name, show in (("noise std", _noise), ("exact epsilon", _epsilon)):
        cells = [show([m for m in mine if _at(m, column, c)]) for c in columns]
        lines.append((name, *cells))
    head = (_short(column), *(str(value) for value in columns))
    return dp.ReportSection(title=title, head=head, rows=tuple(lines))


def _at(mean: Mean, name: str, value: Any) -> bool:
    return not name or mean.values.get(name) == value


def _cell(means: list[Mean]) -> str:
    if len(means) != 1:
        return "–"
    mean = means[0]
    beside = "" if mean.printed is None else f" / {mean.printed:.2f}"
    spread = "" if mean.seeds == 1 else f" ({100 * mean.spread:.2f})"
    return f"{100 * mean.accuracy:.2f}{spread}{beside}"


def _noise(means: list[Mean]) -> str:
    return f"{means[0].noise_std:.4f}" if means else "–"


def _epsilon(means: list[Mean]) -> str:
    return "–" if not means or means[0].epsilon is None else f"{means[0].epsilon:.3f}"

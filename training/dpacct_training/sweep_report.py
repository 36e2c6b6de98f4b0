"""The table of a sweep: accuracy by the settings that vary, beside the paper's."""

from __future__ import annotations

from typing import Any

import dpacct as dp
from dpacct_training.experiment import Experiment
from dpacct_training.sweep import Mean


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

"""The table of a sweep, as Markdown: accuracy by the settings that vary, beside the paper's."""

from __future__ import annotations

from typing import Any

from dpacct_training.experiment import Experiment
from dpacct_training.report import table
from dpacct_training.sweep import Mean


def sweep_report(experiment: Experiment, found: list[Mean], seconds: float) -> str:
    """One table for each variant: columns by the first swept setting, rows by the second."""
    names = [name for name in experiment.sweep if name != "run.seed"]
    column, row = [*names, "", ""][:2]
    parts = [f"# {experiment.name}", ""]
    if experiment.reduced:
        parts += ["**Reduced:** smaller than the paper's setting; not a reproduction.", ""]
    parts += [line for line in (experiment.source, experiment.note) if line]
    seeds = max(mean.seeds for mean in found)
    runs = "one seed" if seeds == 1 else f"mean of {seeds} seeds (standard deviation)"
    parts += [
        "",
        f"Test accuracy in percent, {runs}; after the slash what the paper prints, where it",
    ]
    parts += [
        f"does. All of it took {seconds:.0f} s. Each epsilon is of one run alone: over private data all"
    ]
    parts += ["runs of a sweep compose, also those that are thrown away."]
    for variant in experiment.variants or ({},):
        mine = [m for m in found if all(m.values.get(k) == v for k, v in variant.items())]
        title = ", ".join(f"{_short(k)} {v}" for k, v in variant.items())
        parts += ["", f"## {title or experiment.name}", "", _grid(experiment, mine, column, row)]
    return "\n".join(parts) + "\n"


def _short(name: str) -> str:
    return name.rpartition(".")[2]


def _grid(experiment: Experiment, mine: list[Mean], column: str, row: str) -> str:
    columns: list[Any] = list(experiment.sweep.get(column, [""]))
    lines: list[list[str]] = []
    for value in experiment.sweep.get(row, [""]):
        cells = [
            _cell([m for m in mine if _at(m, column, c) and _at(m, row, value)]) for c in columns
        ]
        lines.append([f"{_short(row)} {value}", *cells])
    for name, show in (("noise std", _noise), ("exact epsilon", _epsilon)):
        cells = [show([m for m in mine if _at(m, column, c)]) for c in columns]
        lines.append([name, *cells])
    return table([_short(column), *[str(c) for c in columns]], lines)


def _at(mean: Mean, name: str, value: Any) -> bool:
    return not name or mean.values.get(name) == value


def _cell(found: list[Mean]) -> str:
    if len(found) != 1:
        return "–"
    one = found[0]
    beside = "" if one.printed is None else f" / {one.printed:.2f}"
    spread = "" if one.seeds == 1 else f" ({100 * one.spread:.2f})"
    return f"{100 * one.accuracy:.2f}{spread}{beside}"


def _noise(found: list[Mean]) -> str:
    return f"{found[0].noise_std:.4f}" if found else "–"


def _epsilon(found: list[Mean]) -> str:
    return "–" if not found or found[0].epsilon is None else f"{found[0].epsilon:.3f}"

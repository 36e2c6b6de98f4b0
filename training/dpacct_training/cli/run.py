"""`dpacct-train run`: one experiment, or all combinations of a sweep."""

from __future__ import annotations

import json
import shlex
import time
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpacct import AssumptionViolated, InvalidArgument

if TYPE_CHECKING:
    from dpacct_training.engine import Engine
    from dpacct_training.experiment import Experiment
    from dpacct_training.prepare import Prepared
    from dpacct_training.sweep import Cell


@click.command()
@click.argument("experiment", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(path_type=Path), help="The run's folder [default: runs/NAME]."
)
@click.option(
    "--set", "changes", multiple=True, help="section.key=value, as in the file; repeatable."
)
@click.option("--engine", help="in_process, pool or flower, as [engine] name.")
@click.option("--superlink", help="HOST:PORT of a Flower SuperLink whose SuperNodes are the hosts.")
@click.option("--processes", type=int, help="Worker processes: the engine pool with so many hosts.")
@click.option("--quiet", is_flag=True, help="Print the result only.")
def run(
    experiment: Path,
    out: Path | None,
    changes: tuple[str, ...],
    engine: str | None,
    superlink: str | None,
    processes: int | None,
    quiet: bool,
) -> None:
    """Run EXPERIMENT, a TOML file; a run that was killed continues, to the same bits."""
    from dpacct_training.experiment import Experiment
    from dpacct_training.extras import torch

    torch()  # without it, one sentence, before anything is written
    read = Experiment.read(experiment)
    values = dict(change(text) for text in changes)
    folder = out or Path("runs") / experiment.stem
    if read.sweep or read.variants:
        _sweep(read, values, folder, processes or 1, quiet)
        return
    if processes is not None:
        values |= {"engine.name": "pool", "engine.hosts": processes}
    if superlink is not None:
        values |= {"engine.name": "flower", "engine.superlink": superlink}
    if engine is not None:
        values["engine.name"] = engine
    said = [f"--set {shlex.quote(text)}" for text in changes]
    command = " ".join(["dpacct-train run", shlex.quote(str(experiment)), *said])
    from dpacct_training.prepare import prepare

    one(prepare(read.changed(values)), folder, quiet, command)


def change(text: str) -> tuple[str, Any]:
    """(name, value) of a word like privacy.rounds=3."""
    path, equals, value = text.partition("=")
    if not equals:
        raise InvalidArgument(f"--set takes section.key=value, got {text!r}", argument="set")
    try:
        return path.strip(), tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return path.strip(), value.strip()  # a word without its quotes


def one(
    prepared: Prepared, folder: Path, quiet: bool, command: str, engine: Engine | None = None
) -> None:
    """Run to the end, and write the report; `engine`: one that was started already."""
    from dpacct_training.cli.progress import line, live
    from dpacct_training.durable import write_text
    from dpacct_training.plots import accuracy, epsilon
    from dpacct_training.report import report, without_guarantee
    from dpacct_training.session import Session

    started = Session(prepared, folder, engine=engine)
    with live(quiet, prepared.cohort.rounds, line) as watch:
        result = started.finish(watch)
    document = report(prepared, result, command)
    written = without_guarantee(prepared, result) if document is None else document.document()
    write_text(folder / "report.md", written.to_markdown())
    write_text(folder / "report.html", written.to_html())
    if document is not None:
        write_text(folder / "report.json", document.to_json())
    for name, chart in (("accuracy", accuracy(result.rows)), ("epsilon", epsilon(result.rows))):
        if chart is not None:
            write_text(folder / f"{name}.svg", chart.to_svg(standalone=True))
    spent = "" if result.spent is None else f", epsilon {float(result.spent):.6g}"
    click.echo(f"test accuracy {100 * result.test_accuracy:.2f} %{spent}: {folder / 'report.html'}")
    if document is not None and document.violated:
        message = f"violated: {document.violated[0].text} ({document.violated[0].evidence})"
        raise AssumptionViolated(message, argument="execution")


def _sweep(
    experiment: Experiment, values: dict[str, Any], folder: Path, processes: int, quiet: bool
) -> None:
    from dataclasses import replace

    from dpacct_training.cli.progress import live
    from dpacct_training.durable import write_text
    from dpacct_training.sweep import combinations, means, sweep
    from dpacct_training.sweep_report import sweep_report

    changed = replace(experiment, sections=experiment.changed(values).sections)
    total = len(combinations(changed))
    start, count = time.monotonic(), iter(range(1, total + 1))

    def words(cell: Cell, of: int) -> str:
        shown = " ".join(f"{k.rpartition('.')[2]}={v}" for k, v in cell.values.items())
        done = next(count)
        left = (time.monotonic() - start) / done * (of - done)
        return f"{done}/{of}  accuracy {100 * cell.accuracy:.2f} %  {shown}  {left:.0f} s left"

    with live(quiet, total, words) as watch:
        cells = sweep(changed, processes, watch)
    document = sweep_report(changed, means(changed, cells), time.monotonic() - start)
    text = document.to_markdown()
    write_text(folder / "cells.json", json.dumps([c.to_dict() for c in cells], indent=1) + "\n")
    write_text(folder / "table.md", text)
    write_text(folder / "table.html", document.to_html())
    click.echo(text if not quiet else str(folder / "table.md"))

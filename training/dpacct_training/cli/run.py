"""`dpacct-train run`: one experiment, or all combinations of a sweep."""

from __future__ import annotations

import json
import shlex
import time
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpacct import AssumptionViolated, InvalidArgument

if TYPE_CHECKING:
    from dpacct_training.engine import Engine
    from dpacct_training.experiment import Experiment
    from dpacct_training.folder import Row
    from dpacct_training.prepare import Prepared
    from dpacct_training.session import Result
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
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option("--tensorboard", is_flag=True, help="Write measurements for TensorBoard too.")
def run(
    experiment: Path,
    out: Path | None,
    changes: tuple[str, ...],
    engine: str | None,
    superlink: str | None,
    processes: int | None,
    quiet: bool,
    as_json: bool,
    tensorboard: bool,
) -> None:
    """Run EXPERIMENT, a TOML file; a run that was killed continues, to the same bits."""
    from dpacct_training.experiment import Experiment
    from dpacct_training.extras import torch

    torch()  # without it, one sentence, before anything is written
    read = Experiment.read(experiment)
    values = dict(change(text) for text in changes)
    folder = out or Path("runs") / experiment.stem
    if read.sweep or read.variants:
        _sweep(read, values, folder, processes or 1, quiet, as_json)
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

    watches = [board(folder)] if tensorboard else []
    complete(
        prepare(read.changed(values)), folder, quiet, command, as_json=as_json, watches=watches
    )


def change(text: str) -> tuple[str, Any]:
    """(name, value) of a word like privacy.rounds=3."""
    path, equals, value = text.partition("=")
    if not equals:
        raise InvalidArgument(f"--set takes section.key=value, got {text!r}", argument="set")
    try:
        return path.strip(), tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return path.strip(), value.strip()  # a word without its quotes


def board(folder: Path) -> Callable[..., None]:
    """A watcher that writes each measurement where `tensorboard --logdir FOLDER` finds it."""
    from dpacct_training.events import Events

    events = Events(folder / "tensorboard")

    def write(row: Row, rounds: int) -> None:
        events.add({k: v for k, v in row.items() if k not in ("round", "seconds")}, row["round"])

    return write


def complete(
    prepared: Prepared,
    folder: Path,
    quiet: bool,
    command: str,
    *,
    engine: Engine | None = None,
    as_json: bool = False,
    watches: Sequence[Callable[..., None]] = (),
) -> None:
    """Run to the end, and write the report.

    `engine`: one that was started already. `watches`: told each measurement as well.
    """
    from dpacct_training.cli.progress import line, live
    from dpacct_training.durable import write_text
    from dpacct_training.report import accuracy, epsilon, report, without_guarantee
    from dpacct_training.session import Session

    started = Session(prepared, folder, engine=engine)
    with live(quiet or as_json, prepared.cohort.rounds, line) as bar:

        def watch(row: Row, rounds: int) -> None:
            for each in (bar, *watches):
                each(row, rounds)

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
    if as_json:
        click.echo(json.dumps(_values(prepared, result, folder)))
    else:
        where = folder / "report.html"
        click.echo(f"test accuracy {100 * result.test_accuracy:.2f} %{spent}: {where}")
    if document is not None and document.violated:
        message = f"violated: {document.violated[0].text} ({document.violated[0].evidence})"
        raise AssumptionViolated(message, argument="execution")


def _values(prepared: Prepared, result: Result, folder: Path) -> dict[str, Any]:
    """A finished run as JSON values."""
    state = result.state
    return {
        "schema": 1,
        "command": "run",
        "experiment": prepared.experiment.name,
        "algorithm": prepared.algorithm.name,
        "engine": prepared.engine.name,
        "rounds": state.round,
        "test_accuracy": result.test_accuracy,
        "test_loss": result.test_loss,
        "personal_accuracy": result.personal,
        "account": result.account,
        "epsilon": None if result.spent is None else result.spent.to_dict(),
        "clients": list(state.sizes),
        "missing": state.missing,
        "planned": result.planned,
        "executed": result.executed,
        "measured": {name: meter.ratio for name, meter in state.meters.items() if meter.numbers},
        "seconds": result.seconds,
        "folder": str(folder),
        "report": str(folder / "report.json"),
    }


def _sweep(
    experiment: Experiment,
    values: dict[str, Any],
    folder: Path,
    processes: int,
    quiet: bool,
    as_json: bool,
) -> None:
    from dataclasses import replace

    from dpacct_training.cli.progress import live
    from dpacct_training.durable import write_text
    from dpacct_training.sweep import combinations, means, sweep, sweep_report

    changed = replace(experiment, sections=experiment.changed(values).sections)
    total = len(combinations(changed))
    start, count = time.monotonic(), iter(range(1, total + 1))

    def words(cell: Cell, of: int) -> str:
        shown = " ".join(f"{k.rpartition('.')[2]}={v}" for k, v in cell.values.items())
        done = next(count)
        left = (time.monotonic() - start) / done * (of - done)
        return f"{done}/{of}  accuracy {100 * cell.accuracy:.2f} %  {shown}  {left:.0f} s left"

    with live(quiet or as_json, total, words) as watch:
        cells = sweep(changed, processes, watch)
    document = sweep_report(changed, means(changed, cells), time.monotonic() - start)
    text = document.to_markdown()
    write_text(folder / "cells.json", json.dumps([c.to_dict() for c in cells], indent=1) + "\n")
    write_text(folder / "table.md", text)
    write_text(folder / "table.html", document.to_html())
    if as_json:
        values = {"cells": [cell.to_dict() for cell in cells], "folder": str(folder)}
        click.echo(json.dumps({"schema": 1, "command": "run", **values}))
    else:
        click.echo(text if not quiet else str(folder / "table.md"))

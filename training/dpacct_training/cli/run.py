"""`dpacct-train run` and `replicate`: an experiment, or the papers' claims, judged over seeds.

Progress is on standard error: bars on a terminal, a line now and then elsewhere.
"""

from __future__ import annotations

import json
import shlex
import sys
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from dpacct import AssumptionViolated, InvalidArgument, MissingExtra

if TYPE_CHECKING:
    from dpacct_training.engines import Engine
    from dpacct_training.experiment import Prepared
    from dpacct_training.folder import Row
    from dpacct_training.run import FinishedRun


_MISSING = 11  # what ran is not all that was planned


def line_of(row: Row, rounds: int) -> str:
    """One measurement in words."""
    width = len(str(rounds))
    epsilon = f"  epsilon <= {row['epsilon']:.4g}" if "epsilon" in row else ""
    left = row["seconds"] / row["round"] * (rounds - row["round"])
    return (
        f"round {row['round']:>{width}}/{rounds}  accuracy {100 * row['accuracy']:.2f} %"
        f"  loss {row['loss']:.4f}{epsilon}  {left:.0f} s left"
    )


@contextmanager
def live(quiet: bool, total: int, describe: Callable[..., str]) -> Iterator[Callable[..., None]]:
    """A progress callback for rows: one line that is written anew on a terminal, else a line each."""
    there = sys.stderr.isatty()

    def tell(*row: Any) -> None:
        if not quiet:
            click.echo(("\r\033[K" if there else "") + describe(*row), nl=not there, err=True)

    yield tell
    if there and not quiet:
        click.echo(err=True)


@contextmanager
def portions(quiet: bool, name: str) -> Iterator[Callable[[int, int], None]]:
    """A progress callback for (done, total); it prints every tenth."""
    shown = -1
    with live(quiet, 100, lambda share: f"{name}  {share} %") as step:

        def watch(done: int, of: int) -> None:
            nonlocal shown
            if (share := 10 * (10 * done // of)) > shown:
                shown = share
                step(share)

        yield watch


@click.command()
@click.argument("experiment", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(path_type=Path), help="The run's folder [default: runs/NAME]."
)
@click.option(
    "--set", "changes", multiple=True, help="section.key=value, as in the file; repeatable."
)
@click.option("--variant", help="One of the experiment's [[variant]] tables, by its name.")
@click.option("--engine", help="in_process, pool, flower or ray, as [engine] name.")
@click.option("--superlink", help="HOST:PORT of a Flower SuperLink whose SuperNodes are the hosts.")
@click.option("--quiet", is_flag=True, help="Print the result only.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option("--log", "logs", multiple=True, help="csv, tensorboard or wandb; repeatable.")
def run(
    experiment: Path,
    out: Path | None,
    changes: tuple[str, ...],
    variant: str | None,
    engine: str | None,
    superlink: str | None,
    quiet: bool,
    as_json: bool,
    logs: tuple[str, ...],
) -> int:
    """Run EXPERIMENT, a TOML file; a run that was killed continues, to the same bits."""
    from dpacct_training.extras import torch

    torch()  # without it, one sentence, before anything is written
    from dpacct_training.accept import one_of
    from dpacct_training.engines import FLOWER
    from dpacct_training.experiment import Experiment, engine_setting, prepare

    read = Experiment.read(experiment)
    values = dict(change(text) for text in changes)
    folder = out or Path("runs") / experiment.stem
    if read.variants:
        chosen = one_of("variant", variant or "", read.variants)
        values, folder = read.variants[chosen] | values, out or folder / chosen
    elif variant is not None:
        raise InvalidArgument(f"{experiment} has no variants, got {variant!r}", argument="variant")
    if superlink is not None:
        values |= {"engine.name": "flower", "engine.superlink": superlink}
    if engine is not None:
        if engine != read.sections["engine"].get("name"):  # settings of another are not its own
            read = replace(read, sections={**read.sections, "engine": {}})
        values["engine.name"] = engine
    said = [f"--set {shlex.quote(text)}" for text in changes]
    command = " ".join(["dpacct-train run", shlex.quote(str(experiment)), *said])
    from dpacct_training.cli.log import log

    watches = [log(kind, folder, folder.name) for kind in logs]
    asked, quiet = read.changed(values), quiet or as_json
    setting = engine_setting(asked)
    if setting.name in FLOWER:
        from dpacct_training.engines.flower.launch import launched

        with live(quiet, asked.sections["privacy"].get("rounds", 1), line_of) as bar:
            result = launched(asked, setting, folder, [bar, *watches])
    else:
        result = complete(prepare(asked), folder, quiet, command, watches=watches)
    click.echo(json.dumps(result.values) if as_json else result.line)
    return result.code


def change(text: str) -> tuple[str, Any]:
    """(name, value) of a word like privacy.rounds=3."""
    path, equals, value = text.partition("=")
    if not equals:
        raise InvalidArgument(f"--set takes section.key=value, got {text!r}", argument="set")
    try:
        return path.strip(), tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return path.strip(), value.strip()  # a word without its quotes


class Outcome(NamedTuple):
    """The end of a run: its exit code (11: answers are missing), last line, and JSON values."""

    code: int
    line: str
    values: dict[str, Any]


def complete(
    prepared: Prepared,
    folder: Path,
    quiet: bool,
    command: str,
    *,
    engine: Engine | None = None,
    watches: Sequence[Callable[..., None]] = (),
) -> Outcome:
    """Run to the end, and write the report.

    `engine`: one that was started already. `watches`: told each measurement as well.
    """
    from dpacct_training.durable import write_text
    from dpacct_training.report import curves, missing_answers, report, without_guarantee
    from dpacct_training.run import Session

    started = Session(prepared, folder, engine=engine)
    with live(quiet, prepared.cohort.rounds, line_of) as bar:

        def watch(row: Row, rounds: int) -> None:
            for each in (bar, *watches):
                each(row, rounds)

        result = started.finish(watch)
    drawn = curves(result.rows)
    pictures = tuple(drawn.values())
    document = report(prepared, result, command, pictures)
    nothing = without_guarantee(prepared, result, pictures)
    written = nothing if document is None else document.document()
    write_text(folder / "report.md", written.to_markdown())
    write_text(folder / "report.html", written.to_html())
    if document is not None:
        write_text(folder / "report.json", document.to_json())
    for name, (svg, _) in drawn.items():
        write_text(folder / f"{name}.svg", svg)
    spent = "" if result.spent is None else f", epsilon {float(result.spent):.6g}"
    where, lost = folder / "report.html", result.state.missing
    said = f"{spent}, {missing_answers(result)}" if lost else spent
    line = f"test accuracy {100 * result.test_accuracy:.2f} %{said}: {where}"
    values = _values(prepared, result, folder)
    if document is not None and document.violated:
        message = f"violated: {document.violated[0].text} ({document.violated[0].evidence})"
        raise AssumptionViolated(message, argument="execution")
    return Outcome(_MISSING if lost else 0, line, values)


def _values(prepared: Prepared, result: FinishedRun, folder: Path) -> dict[str, Any]:
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


@click.command()
@click.argument("papers", nargs=-1, metavar="[PAPER]...")
@click.option("--quick", is_flag=True, help="The least seeds that decide anything, three.")
@click.option("--processes", type=click.IntRange(1, 1024), default=1, show_default=True)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("replication"),
    show_default=True,
    help="Where results are kept, and continued.",
)
def replicate(papers: tuple[str, ...], quick: bool, processes: int, out: Path) -> None:
    """Run the experiments of PAPER, or of all papers, and judge their claims.

    PAPER is a paper or the name of one experiment. What was interrupted goes on where it was. OUT
    holds the results and replication.md. The studies are part of a checkout of dpacct.
    """
    import os
    from importlib import import_module

    import dpacct_training
    from dpacct_training.extras import torch

    torch()
    checkout = Path(dpacct_training.__file__).parents[1]
    if not (checkout / "studies").is_dir():
        message = "the studies are not installed: run this from a checkout of dpacct"
        raise MissingExtra(message, argument="paper")
    sys.path.insert(0, str(checkout))  # and for the processes of a pool
    os.environ["PYTHONPATH"] = os.pathsep.join([str(checkout), os.environ.get("PYTHONPATH", "")])
    import_module("studies.replicate").command(papers, out, quick, processes, click.echo)

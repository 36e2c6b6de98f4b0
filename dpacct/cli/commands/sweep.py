"""`dpacct sweep`: a command over a grid of its options."""

from __future__ import annotations

import json
from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from dpacct.cli import options
from dpacct.cli.command import ExampleCommand, option
from dpacct.cli.exit_status import ExitStatus
from dpacct.cli.failure import SCHEMA
from dpacct.cli.output import note, write_file, write_json
from dpacct.cli.picture import PICTURES, writable
from dpacct.cli.progress import Progress
from dpacct.cli.refusal import Refusal
from dpacct.cli.sweep_file import files_of, read_sweep
from dpacct.cli.sweep_picture import check_picture, grid_data
from dpacct.cli.sweep_point import Asking
from dpacct.cli.values import Choice, FilePath, Number
from dpacct.declare.domain import Integer
from dpacct.sweep.grid import Grid
from dpacct.sweep.journal import Journal
from dpacct.sweep.row import Row
from dpacct.sweep.run import Killed, processors, run
from dpacct.sweep.table import Table

_JOBS = Number(Integer(1, 1024))
_SWEEP = "Sweep"


@click.command(
    "sweep",
    cls=ExampleCommand,
    rank=65,
    short_help="A command over a grid of its options.",
    examples=(
        "sweep sweep.toml",
        "sweep sweep.toml --json",
        "sweep sweep.toml -o sweep.csv -o sweep.svg",
    ),
)
@click.argument("plan", metavar="PLAN", type=FilePath())
@option(
    "--output",
    "-o",
    "outputs",
    section=_SWEEP,
    type=FilePath(),
    metavar="FILE",
    multiple=True,
    help="Write to a file instead of stdout: .csv, .json, or .svg, .pdf, .png for a picture; as"
    " often as you like. The same command goes on where a killed one ended.",
)
@option(
    "--jobs",
    section=_SWEEP,
    type=_JOBS,
    metavar="N",
    help="Processes; default: one for each processor.",
)
@option("--restart", section=_SWEEP, is_flag=True, help="Forget the rows of a run that was killed.")
@option(
    "--show", section=_SWEEP, metavar="OUTPUT", help="What a picture shows; default: the first."
)
@option(
    "--picture",
    section=_SWEEP,
    type=Choice(("curves", "heatmap")),
    help="How a picture shows two axes; default: curves where one of them has at most 6 values.",
)
@options.json_option
@option("--quiet", "-q", section="Output", is_flag=True, help="No progress and no notes on stderr.")
def command(
    plan: str,
    outputs: tuple[str, ...],
    jobs: Fraction | None,
    restart: bool,
    show: str | None,
    picture: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Put a command to every point of a grid of its options.

    PLAN is a TOML file with the command, its fixed options and its axes (- for standard input). A row
    that has no answer carries the exit code and the sentence that the command would have given.
    """
    paths = [writable(output) for output in outputs]
    grid, asking, method = read_sweep(plan)
    if any(path.suffix.lower() in PICTURES for path in paths):
        check_picture(grid, grid.outputs, show, picture)
    count = processors() if jobs is None else int(jobs)
    rows = _compute(grid, asking, paths[0] if paths else None, count, restart, quiet)
    table = Table(grid, grid.outputs, rows, method)
    body = {"schema": SCHEMA, "command": "sweep", **table.to_dict()}
    heat = None if picture is None else picture == "heatmap"
    for path in paths:
        write_file(_bytes(table, body, path.suffix.lower(), show, heat), str(path))
    if paths:
        _journal(paths[0]).unlink(missing_ok=True)
    if as_json:
        write_json(body)
    elif not paths:
        click.echo(table.to_csv(), nl=False)
    if not quiet:
        _remarks(table, paths)


def _compute(
    grid: Grid, asking: Asking, path: Path | None, jobs: int, restart: bool, quiet: bool
) -> list[Row]:
    """All rows in order; those of an interrupted run are read, not computed."""
    from importlib.metadata import version

    mark = grid.fingerprint(version("dpacct"), *files_of(grid))
    try:
        opened: Any = nullcontext()
        if path is not None:
            opened = Journal(_journal(path), mark, restart=restart)
    except OSError as error:
        told = f"cannot write {str(_journal(path or Path()))[:80]!r}: {error.strerror}."
        raise Refusal(told, "--output") from None
    with opened as journal:
        done: dict[int, Row] = {} if journal is None else dict(journal.rows)
        done = {number: row for number, row in done.items() if 0 <= number < grid.size}
        if done and not quiet:
            note(f"{len(done)} of {grid.size} rows are there from an earlier run.")
        kept = len(done)
        wanted = ((n, grid.point(n)) for n in range(grid.size) if n not in done)
        with Progress(grid.size, kept, silent=quiet) as progress:
            try:
                for chunk in run(asking, wanted, grid.size - kept, jobs):
                    if journal is not None:
                        journal.add(chunk)
                    done.update(chunk)
                    progress.add(len(chunk))
            except (KeyboardInterrupt, Killed) as ending:
                why = "interrupted" if isinstance(ending, KeyboardInterrupt) else str(ending)
                rest = "; the same command goes on from there" if journal else ""
                told = f"{why}: {progress.done} of {grid.size} rows are done{rest}."
                status = (
                    ExitStatus.INTERNAL if isinstance(ending, Killed) else ExitStatus.INTERRUPTED
                )
                raise Refusal(told, kind="interrupted", status=status) from None
        if not quiet:
            fresh = grid.size - kept
            note(f"{fresh} row{'' if fresh == 1 else 's'} in {progress.seconds}.")
    return [done[number] for number in range(grid.size)]


def _journal(path: Path) -> Path:
    return path.with_name(path.name + ".journal")


def _bytes(
    table: Table, body: dict[str, Any], suffix: str, show: str | None, heat: bool | None
) -> bytes:
    if suffix in PICTURES:
        from dpacct.report.plots.grid import draw_grid
        from dpacct.report.plots.style import to_bytes

        data = grid_data(table, show)
        return to_bytes(draw_grid(data, heat=heat), suffix, title=data.title)
    if suffix == ".csv":
        return table.to_csv().encode()
    return (json.dumps(body, allow_nan=False, indent=1) + "\n").encode()


def _remarks(table: Table, paths: list[Path]) -> None:
    if table.method:
        note(
            f"note: method {table.method}, which is converged and not proven; each row says its"
            ' grade, and method = "certified" under [fixed] proves each number it can.'
        )
    if table.failed:
        first = next(row for row in table.rows if row.code)
        note(
            f"note: {table.failed} of {table.grid.size} rows have no answer; the first says:"
            f" {first.error}"
        )
    for path in paths:
        note(f"wrote {path}")

"""A command over a grid of its options."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import click

from dpacct.cli.command import Command, File
from dpacct.cli.output import ExitStatus, Result, note, payload
from dpacct.cli.picture import PICTURES, writable, write
from dpacct.cli.sweep_file import Asking, files_of, read_sweep
from dpacct.declare.domain import Integer, Text, Word, did_you_mean
from dpacct.declare.record import Maybe, Parameter, Several, Switch, Usage
from dpacct.errors import DpacctError
from dpacct.sweep.grid import Grid, Row, Table
from dpacct.sweep.journal import Journal
from dpacct.sweep.run import Killed, processors, run

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Sweep(Command):
    """Put a command to every point of a grid of its options.

    PLAN is a TOML file with the command, its fixed options and its axes (- for standard input). A row
    that has no answer carries the exit code and the sentence that the command would have given.
    """

    heading = "Sweep"
    headings: ClassVar[Mapping[str, str]] = {"quiet": "Output"}
    plan_file: Parameter[str] = Parameter(File(), "the file", "PLAN", kw_only=False, alias="plan")
    outputs: Parameter[tuple[str, ...]] = Several(
        File(),
        "write to a file instead of stdout: .csv, .json, or .svg, .pdf, .png for a picture; as often as"
        " you like; the same command goes on where a killed one ended",
        "FILE",
        default=(),
        alias="output",
    )
    jobs: Parameter[int | None] = Maybe(
        Integer(1, 1024), "processes; default: one for each processor", "N"
    )
    restart: Parameter[bool] = Switch("forget the rows of a run that was killed")
    show: Parameter[str | None] = Maybe(
        Text(), "what a picture shows; default: the first", "OUTPUT"
    )
    picture: Parameter[str | None] = Maybe(
        Word("curves", "heatmap"),
        "how a picture shows two axes; default: curves where one of them has at most 6 values",
    )
    quiet: Parameter[bool] = Switch("no progress and no notes on stderr")
    examples = (
        "sweep sweep.toml",
        "sweep sweep.toml --json",
        "sweep sweep.toml -o sweep.csv -o sweep.svg",
    )

    def answer(self) -> Result:
        """Ask at every point, and write the files."""
        paths = [writable(output) for output in self.outputs]
        grid, asking, method = read_sweep(self.plan_file)
        drawn = any(path.suffix.lower() in PICTURES for path in paths)
        if drawn:
            self._check_picture(grid)
        count = processors() if self.jobs is None else self.jobs
        rows = _compute(grid, asking, paths[0] if paths else None, count, self.restart, self.quiet)
        table = Table(grid, grid.outputs, rows, method)
        for path in paths:
            body = payload(self.name, table.to_dict())
            write(path, body, table.to_csv, lambda: self._picture(table))
        if paths:
            _journal(paths[0]).unlink(missing_ok=True)

        def lines() -> list[str]:
            return [] if paths else table.to_csv().removesuffix("\n").split("\n")

        notes = [] if self.quiet else [*_remarks(table), *(f"wrote {path}" for path in paths)]
        return Result(table.to_dict, lines, lines, notes=notes)

    def _check_picture(self, grid: Grid) -> None:
        """Refuse a picture that cannot be, before the work."""
        from dpacct.report.plots.grid import must_fit

        must_fit(grid, curves=self.picture == "curves")
        if self.show is not None and self.show not in grid.outputs:
            message = f"--show must name an output of the sweep, got {self.show[:40]!r}"
            raise Usage(message + did_you_mean(self.show, grid.outputs), argument="--show")

    def _picture(self, table: Table) -> tuple[Figure, str]:
        from dpacct.report.plots.grid import GridData, draw_grid

        data = GridData.of(table, self.show or table.columns[0])
        heat = None if self.picture is None else self.picture == "heatmap"
        return draw_grid(data, heat=heat), data.title


class _Interrupted(DpacctError):
    """Not all rows are done."""

    kind = "interrupted"
    exit_code = ExitStatus.INTERRUPTED


class _Lost(_Interrupted):
    exit_code = ExitStatus.INTERNAL


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
        message = f"cannot write {str(_journal(path or Path()))[:80]!r}: {error.strerror}"
        raise Usage(message, argument="--output") from None
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
                message = f"{why}: {progress.done} of {grid.size} rows are done{rest}"
                raise (_Lost if isinstance(ending, Killed) else _Interrupted)(message) from None
        if not quiet:
            fresh = grid.size - kept
            note(f"{fresh} row{'' if fresh == 1 else 's'} in {progress.seconds}.")
    return [done[number] for number in range(grid.size)]


def _journal(path: Path) -> Path:
    return path.with_name(path.name + ".journal")


def _remarks(table: Table) -> Iterator[str]:
    if table.method:
        yield (
            f"note: method {table.method}, which is converged and not proven; each row says its"
            ' grade, and method = "certified" under [fixed] proves each number it can.'
        )
    if table.failed:
        first = next(row for row in table.rows if row.code)
        yield (
            f"note: {table.failed} of {table.grid.size} rows have no answer; the first says:"
            f" {first.error}"
        )


# --- how far it is: a bar on a terminal, now and then a line elsewhere; on stderr

_FIRST, _EVERY = 3.0, 10.0  # seconds until the first line, and between lines


def _span(seconds: float) -> str:
    """Seconds as a person says them.

    >>> _span(0.31), _span(42.2), _span(600), _span(9000)
    ('0.3 s', '42 s', '10 min', '2.5 h')
    """
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


class Progress:
    """Counts rows as they are done.

    Args:
        total: of rows.
        kept: of them, done in an earlier run.
        silent: whether to say nothing.
    """

    def __init__(self, total: int, kept: int, *, silent: bool) -> None:
        self._total, self._done, self._kept = total, kept, kept
        self._silent = silent
        self._begun = self._last_line = time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Progress:
        if not self._silent and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            columns = (
                MofNCompleteColumn(),
                BarColumn(),
                TextColumn("left:"),
                TimeRemainingColumn(),
            )
            self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task("", total=self._total, completed=self._done)
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    @property
    def done(self) -> int:
        """Rows that are done."""
        return self._done

    @property
    def seconds(self) -> str:
        """How long it took, in words."""
        return _span(time.monotonic() - self._begun)

    def add(self, rows: int) -> None:
        """So many more are done."""
        self._done += rows
        if self._bar is not None:
            self._bar.update(self._task, completed=self._done)
            return
        now = time.monotonic()
        wait = _FIRST if self._last_line == self._begun else _EVERY
        if self._silent or now - self._last_line < wait or self._done >= self._total:
            return
        self._last_line = now
        left = (now - self._begun) / (self._done - self._kept) * (self._total - self._done)
        share = 100 * self._done / self._total
        click.echo(
            f"{self._done} of {self._total} rows, {share:.0f} %; about {_span(left)} left", err=True
        )

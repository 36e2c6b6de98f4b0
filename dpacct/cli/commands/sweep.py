"""A command over a grid of its options."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from dpacct.cli.command import Command, File
from dpacct.cli.output import ExitStatus, Result, note, payload
from dpacct.cli.picture import PICTURES, writable, write
from dpacct.cli.progress import Progress
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
    """Run a command at every point of a grid of its options.

    PLAN is a TOML file with the command, its fixed options and its axes (- for standard input). A row
    that has no answer carries the exit code and the sentence that the command would have given.
    """

    heading = "Sweep"
    headings: ClassVar[Mapping[str, str]] = {"quiet": "Output"}
    plan_file: Parameter[str] = Parameter(File(), "the file", "PLAN", kw_only=False, alias="plan")
    outputs: Parameter[tuple[str, ...]] = Several(
        File(),
        "write to a file instead of stdout: .csv, .json, or .svg, .pdf, .png for a picture; as often as"
        " you like; after a kill the same command continues where it stopped",
        "FILE",
        default=(),
        alias="output",
    )
    jobs: Parameter[int | None] = Maybe(
        Integer(1, 1024), "processes; default: one for each processor", "N"
    )
    restart: Parameter[bool] = Switch("discard the rows of a run that was killed")
    show: Parameter[str | None] = Maybe(
        Text(), "the output that a picture shows; default: the first", "OUTPUT"
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
        """Run the command at every point and write the files."""
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
        """Refuse an impossible picture before any work is done."""
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
    """The sweep was interrupted before all rows were done."""

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

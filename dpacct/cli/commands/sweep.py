"""A command over a grid of its options."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from dpacct.cli.command import Command, File
from dpacct.cli.failure import ExitStatus
from dpacct.cli.output import Result, note, payload, write_file
from dpacct.cli.picture import PICTURES, writable
from dpacct.cli.progress import Progress
from dpacct.cli.sweep_file import Asking, files_of, read_sweep
from dpacct.declare.domain import Flag, Integer, Text, Word, did_you_mean
from dpacct.declare.record import Parameter, Several, Usage
from dpacct.errors import DpacctError
from dpacct.sweep.grid import Grid, Row, Table
from dpacct.sweep.journal import Journal
from dpacct.sweep.run import Killed, processors, run
from dpacct.vocabulary import Strength

if TYPE_CHECKING:
    from dpacct.report.plots.grid import GridData, Side
    from dpacct.sweep.grid import Axis


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
    jobs: Parameter[int | None] = Parameter(
        Integer(1, 1024), "processes; default: one for each processor", "N", default=None
    )
    restart: Parameter[bool] = Parameter(
        Flag(), "forget the rows of a run that was killed", default=False
    )
    show: Parameter[str | None] = Parameter(
        Text(), "what a picture shows; default: the first", "OUTPUT", default=None
    )
    picture: Parameter[str | None] = Parameter(
        Word("curves", "heatmap"),
        "how a picture shows two axes; default: curves where one of them has at most 6 values",
        default=None,
    )
    quiet: Parameter[bool] = Parameter(Flag(), "no progress and no notes on stderr", default=False)
    examples = (
        "sweep sweep.toml",
        "sweep sweep.toml --json",
        "sweep sweep.toml -o sweep.csv -o sweep.svg",
    )

    def answer(self) -> Result:
        """Ask at every point, and write the files."""
        paths = [writable(output) for output in self.outputs]
        grid, asking, method = read_sweep(self.plan_file)
        if any(path.suffix.lower() in PICTURES for path in paths):
            check_picture(grid, grid.outputs, self.show, self.picture)
        count = processors() if self.jobs is None else self.jobs
        rows = _compute(grid, asking, paths[0] if paths else None, count, self.restart, self.quiet)
        table = Table(grid, grid.outputs, rows, method)
        heat = None if self.picture is None else self.picture == "heatmap"
        for path in paths:
            body = payload(self.name, table.to_dict())
            write_file(_bytes(table, body, path.suffix.lower(), self.show, heat), str(path))
        if paths:
            _journal(paths[0]).unlink(missing_ok=True)

        def lines() -> list[str]:
            return [] if paths else table.to_csv().removesuffix("\n").split("\n")

        notes = [] if self.quiet else [*_remarks(table), *(f"wrote {path}" for path in paths)]
        return Result(table.to_dict, lines, lines, notes=notes)


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


def check_picture(
    grid: Grid, columns: tuple[str, ...], quantity: str | None, kind: str | None
) -> None:
    """Refuse a picture that cannot be, before the work.

    Raises:
        InvalidArgument: too many axes, panels or lines, or no such output.
    """
    from dpacct.report.plots.grid import MOST_PANELS, arranged
    from dpacct.report.plots.style import LOOKS

    sides = _sides(grid)
    sizes = [len(sides[place].values) for place in arranged(sides)]
    if not sides:
        raise Usage("a picture needs an axis with two values or more", argument="--output")
    if len(sides) > 3 or (len(sides) == 3 and sizes[2] > MOST_PANELS):
        listed = ", ".join(f"{side.name} {len(side.values)}" for side in sides)
        raise Usage(
            f"a picture shows two axes, and a third one of at most {MOST_PANELS} values;"
            f" this sweep has {listed}: write .csv or .json",
            argument="--output",
        )
    if kind == "curves" and len(sides) > 1 and sizes[1] > len(LOOKS):
        message = f"--picture curves shows at most {len(LOOKS)} lines; this sweep has {sizes[1]}"
        raise Usage(message, argument="--picture")
    if quantity is not None and quantity not in columns:
        message = f"--show must name an output of the sweep, got {quantity[:40]!r}"
        raise Usage(message + did_you_mean(quantity, columns), argument="--show")


def _sides(grid: Grid) -> tuple[Side, ...]:
    """What varies: an axis, or several that are tied."""
    return tuple(_side(axes) for axes in grid.sides if len(axes[0].values) > 1)


def _side(axes: tuple[Axis, ...]) -> Side:
    """Tied axes go by the numbers of the first, or in their order where it has none or one twice."""
    from dpacct.report.plots.grid import Side

    first, *others = axes
    numbers = first.numbers()
    if numbers is not None and len(set(numbers)) < len(numbers):
        numbers = None
    partners = tuple((axis.name, axis.values) for axis in others)
    return Side(first.name, first.values, numbers, first.log, partners)


def grid_data(table: Table, quantity: str | None) -> GridData:
    """The numbers of one output over the axes that vary.

    Raises:
        InvalidArgument: the output is no number.
    """
    import numpy as np

    from dpacct.report.plots.grid import GridData

    name = quantity or table.columns[0]
    cells = table.column(name)
    if any(isinstance(cell, str) for cell in cells):
        raise Usage(
            f"{name} is a word, which a picture cannot show; choose with --show", argument="--show"
        )
    numbers = np.array([np.nan if cell is None else float(cell) for cell in cells])
    sides = _sides(table.grid)
    values = numbers.reshape([len(side.values) for side in sides])
    fixed = [f"{key} {', '.join(fixed_values)}" for key, fixed_values in table.grid.fixed]
    fixed += [f"{axis.name} {axis.values[0]}" for axis in table.grid.axes if len(axis.values) == 1]
    strengths = None
    if "strength" in table.columns:
        words = [w or Strength.CONVERGED for w in table.column("strength")]
        strengths = np.array([Strength.parse(str(w)) for w in words], dtype=object)
        strengths = strengths.reshape(values.shape)
    return GridData(
        name,
        sides,
        values,
        strengths,
        (f"dpacct {table.grid.command}: {'; '.join(fixed)}" if fixed else "",),
    )

"""A command over a grid of its options."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from dpacct.cli import federated_plan, words
from dpacct.cli.command import Command, DeclaredCommand, File
from dpacct.cli.main import load, names
from dpacct.cli.output import PICTURES, ExitStatus, Result, describe, note, payload, writable, write
from dpacct.cli.progress import Progress
from dpacct.cli.words import (
    as_table,
    as_text,
    at,
    check_keys,
    contents,
    file_name,
    replaced,
    table_of,
    texts,
)
from dpacct.declare.domain import Flag, Integer, Text, Word, closest, did_you_mean, one_of
from dpacct.declare.number import shown
from dpacct.declare.record import Exclusive, Maybe, Parameter, Several, Switch, Usage
from dpacct.declare.words import Steps
from dpacct.errors import DpacctError
from dpacct.sweep.grid import Cell, Spread, SweepAxis, SweepGrid, SweepRow, SweepTable
from dpacct.sweep.run import Journal, Killed, processors, run

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Sweep(Command):
    """Run a command at every point of a grid of its options.

    PLAN is a TOML file with the command, its fixed options and its axes (- for standard input). A row
    that has no answer carries the exit code and the sentence that the command would have given.
    """

    heading = "Sweep"
    headings = dict.fromkeys(("quiet",), "Output")
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
        if drawn:  # refused before any work is done
            from dpacct.report.plots.grid import must_fit

            must_fit(grid, curves=self.picture == "curves")
            if self.show is not None and self.show not in grid.outputs:
                message = f"--show must name an output of the sweep, got {self.show[:40]!r}"
                raise Usage(message + did_you_mean(self.show, grid.outputs), argument="--show")
        kept = paths[0].with_name(paths[0].name + ".journal") if paths else None
        table = SweepTable(grid, grid.outputs, self._rows(grid, asking, kept), method)
        for path in paths:
            body = payload(self.name, table.to_dict())
            write(path, body, table.to_csv, lambda: _picture(table, self.show, self.picture))
        if kept is not None:
            kept.unlink(missing_ok=True)

        def lines() -> list[str]:
            return [] if paths else table.to_csv().removesuffix("\n").split("\n")

        notes = [] if self.quiet else [*_remarks(table), *(f"wrote {path}" for path in paths)]
        return Result(table.to_dict, lines, lines, notes=notes)

    def _rows(self, grid: SweepGrid, asking: Asking, path: Path | None) -> list[SweepRow]:
        """All rows in order; those of an interrupted run are read, not computed."""
        from importlib.metadata import version

        mark = grid.fingerprint(version("dpacct"), *files_of(grid))
        try:
            opened: Any = nullcontext()
            if path is not None:
                opened = Journal(path, mark, restart=self.restart)
        except OSError as error:
            message = f"cannot write {str(path)[:80]!r}: {error.strerror}"
            raise Usage(message, argument="--output") from None
        with opened as journal:
            done: dict[int, SweepRow] = {} if journal is None else dict(journal.rows)
            done = {number: row for number, row in done.items() if 0 <= number < grid.size}
            if done and not self.quiet:
                note(f"{len(done)} of {grid.size} rows are there from an earlier run.")
            kept = len(done)
            wanted = ((n, grid.point(n)) for n in range(grid.size) if n not in done)
            with Progress(grid.size, kept, silent=self.quiet) as progress:
                try:
                    for chunk in run(asking, wanted, grid.size - kept, self.jobs or processors()):
                        if journal is not None:
                            journal.add(chunk)
                        done.update(chunk)
                        progress.add(len(chunk))
                except (KeyboardInterrupt, Killed) as ending:
                    why = "interrupted" if isinstance(ending, KeyboardInterrupt) else str(ending)
                    rest = "; the same command goes on from there" if journal else ""
                    message = f"{why}: {progress.done} of {grid.size} rows are done{rest}"
                    raise (_Lost if isinstance(ending, Killed) else _Interrupted)(message) from None
            if not self.quiet:
                fresh = grid.size - kept
                note(f"{fresh} row{'' if fresh == 1 else 's'} in {progress.seconds}.")
        return [done[number] for number in range(grid.size)]


def _picture(table: SweepTable, output: str | None, how: str | None) -> tuple[Figure, str]:
    from dpacct.report.plots.grid import GridData, draw_grid

    grid = GridData.of(table, output or table.columns[0])
    return draw_grid(grid, heat=None if how is None else how == "heatmap"), grid.title


class _Interrupted(DpacctError):
    """The sweep was interrupted before all rows were done."""

    kind = "interrupted"
    exit_code = ExitStatus.INTERRUPTED


class _Lost(_Interrupted):
    exit_code = ExitStatus.INTERNAL


def _remarks(table: SweepTable) -> Iterator[str]:
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


# --- sweep files (docs/sweep.md): each point of the grid is answered by the command

_KEYS = ("command", "outputs", "fixed", "axes", "tied")
_ANSWER = ("lower", "upper", "side", "strength", "method")
_NOT_SWEPT = ("sweep", "completion", "ledger")
_OURS = ("json", "csv", "quiet", "details", "save", "output", "certificate", "help")
_PROBES = 20


class Slot(NamedTuple):
    """The target of a key: a parameter or, `inside` one, a path in its file or a word NAME=VALUE."""

    name: str
    inside: str = ""


@dataclass(frozen=True)
class Asking:
    """The way to answer the points of a grid.

    Attributes:
        grid: of the values.
        slots: what each of its keys sets.
        outputs: paths into the answer's JSON, such as "value" or "data_dependent.upper".
        way: the switch that says how it shall answer: "quiet", which may be less work, or "json".
    """

    grid: SweepGrid
    slots: Mapping[str, Slot]
    outputs: tuple[str, ...] = ()
    way: str = "json"

    def __call__(self, point: tuple[str, ...]) -> SweepRow:
        """The row of a point: its outputs, or the sentence and exit code of its failure."""
        try:
            cells = paths(self.body(point))
            return SweepRow(tuple(cells.get(path) for path in self.outputs))
        except click.exceptions.Exit as leaving:
            message = f"dpacct {self.grid.command} ended without an answer."
            return SweepRow(error=message, code=leaving.exit_code)
        except Exception as error:
            what = describe(error)
            return SweepRow(error=what.message, code=what.status)

    def body(self, point: tuple[str, ...]) -> Mapping[str, Any]:
        """The JSON object that the command would print; raises what the command raises."""
        command = load(self.grid.command)
        parameters = command.every
        values: dict[str, Any] = {self.way: True}
        inside, pairs = dict[str, str](), dict[str, tuple[str, ...]]()
        axes = zip(self.grid.axes, point, strict=True)
        for key, typed in chain(self.grid.fixed, ((axis.name, (text,)) for axis, text in axes)):
            name, path = self.slots[key]
            if path and _is(parameters[name], File):
                inside[path] = typed[0]
            elif path:
                pairs[name] = (*pairs.get(name, ()), f"{path}={typed[0]}")
            else:
                values[name] = read(command, name, typed)
        values |= {name: (*values.get(name, ()), *each) for name, each in pairs.items()}
        with replaced(inside):
            result = command.answer(values)
        if result.status:
            raise click.exceptions.Exit(result.status)
        body = payload(self.grid.command, result.body())
        if not isinstance(body, Mapping):
            message = f"dpacct {self.grid.command} gives no single answer to keep"
            raise Usage(message, argument="command")
        if result.answer is None:
            return body
        return {**body, "plan": None, "safe": float(result.answer)}


def read(command: DeclaredCommand, name: str, typed: tuple[str, ...]) -> Any:
    """A parameter's value, or its values where it may have several."""
    each = command.every[name]
    if _is(each, Flag):
        return True
    return each.check(
        command.declared.option(name), typed if isinstance(each, Several) else typed[0]
    )


def _is(parameter: Parameter[Any], domain: type) -> bool:
    return isinstance(parameter.domain, domain)


# --- the answer's values


def paths(body: Any, before: str = "") -> dict[str, Cell]:
    """Every value of a JSON object by its path, such as "data_dependent.value" or "rates.0.fpr"."""
    if isinstance(body, Mapping):
        fields: Iterable[tuple[Any, Any]] = body.items()
    elif isinstance(body, list | tuple):
        fields = enumerate(body)
    else:
        finite = not isinstance(body, float) or math.isfinite(body)
        return {before: body if finite else None}
    cells: dict[str, Cell] = {}
    for key, value in fields:
        cells |= paths(value, f"{before}.{key}" if before else str(key))
    return cells


# --- the file


def read_sweep(path: str) -> tuple[SweepGrid, Asking, str]:
    """The grid of a file, what answers its points, and the method that was taken unasked ("" if none).

    Raises `InvalidArgument` where the file cannot be read or is no sweep; the sentence says where.
    """
    name = file_name(path)
    table = table_of(contents(path), name)
    command = load(_command(table, name))
    check_keys(table, _KEYS, name)
    slots: dict[str, Slot] = {}
    for part, ends in (("fixed", ()), ("axes", Spread.parameters)):
        place = f"{name}: {part}"
        for key, _ in _flattened(as_table(table.get(part, {}), place), ends):
            slot = _slot(command, key, place)
            twin = next((other for other, taken in slots.items() if taken == slot), None)
            if twin is not None:
                message = (
                    f"{twin} and {key} are one option, which is both fixed and an axis, or given"
                )
                raise Exclusive(f"{place}: {message} twice; leave one of them out", argument=key)
            slots[key] = slot
    fixed = _fixed(command, slots, table.get("fixed", {}), f"{name}: fixed")
    axes = _axes(command, slots, table.get("axes", {}), f"{name}: axes")
    if not axes:
        raise Usage(f"{name} has no axes: give one or more under [axes]", argument="axes")
    proves = command.declared.parameters.get("method")  # by default, if it has methods
    asked = {slot.name for slot in slots.values()} & {"method", "digits"}
    method = "exact" if proves and proves.default == "auto" and not asked else ""
    if method:
        fixed["method"], slots["method"] = (method,), Slot("method")
    tied = _tied(table, {axis.name for axis in axes}, name)
    grid = SweepGrid(str(command.name), tuple(fixed.items()), axes, (), tied)
    wanted = _outputs(table, name)
    asking, body = _answering(Asking(grid, slots), command, wanted)
    columns, where = _columns(body, wanted, f"{name}: dpacct {grid.command}")
    return replace(grid, outputs=columns), replace(asking, outputs=where), method


def files_of(grid: SweepGrid) -> tuple[bytes, ...]:
    """The contents of the files that a sweep's values name: answers depend on them as on the values."""
    settings = [values for _, values in grid.fixed] + [axis.values for axis in grid.axes]
    contents = []
    for value in dict.fromkeys(chain(*settings)):
        with suppress(OSError, ValueError):
            if Path(value).is_file():
                contents.append(Path(value).read_bytes())
    return tuple(contents)


def _command(table: Mapping[str, Any], name: str) -> str:
    if "command" not in table:
        message = f'{name} does not say which command it sweeps: command = "eps"'
        raise Usage(message, argument="command")
    word = as_text(table["command"], f"{name}: command")
    if word in _NOT_SWEPT:
        raise Usage(f"{name}: the command {word} cannot be swept", argument="command")
    if word not in names():
        message = f"{name}: dpacct has no command {shown(word)}"
        raise Usage(message + did_you_mean(word, names()), argument="command")
    return word


def _slot(command: DeclaredCommand, key: str, place: str) -> Slot:
    """The slot that a key sets.

    It is an option's name without dashes, or an argument's; what follows a file's name and a dot is
    a path in that file; where a command takes NAME=VALUE, any other name is one.
    """
    parameters = {name: each for name, each in command.every.items() if name not in _OURS}
    spelled = {
        word: name
        for name, each in parameters.items()
        for word in command.declared.spellings(name, each)
    }
    dashed = key.replace("_", "-").lower()
    if dashed in spelled:
        return Slot(spelled[dashed])
    file, dot, path = key.partition(".")
    holder = spelled.get(file.replace("_", "-").lower())
    if dot and holder is not None and _is(parameters[holder], File):
        return Slot(holder, path)
    for name, each in parameters.items():
        if "NAME=VALUE" in each.symbol:
            return Slot(name, key)
    near = closest(dashed, spelled)
    hint = f"; did you mean {near}?" if near else ""
    message = f"{place}: dpacct {command.name} has no option {shown(key)}{hint}"
    raise Usage(message, argument=key)


def _is_whole(command: DeclaredCommand, slot: Slot) -> bool:
    """Return whether a slot takes whole numbers only."""
    if not slot.inside:
        return _is(command.every[slot.name], Integer)
    key = slot.inside.rpartition(".")[2]
    declared = [kind.parameters.get(key) for kind in words.kinds().values()]
    declared.append(Steps.parameters.get("steps" if key == "repeat" else key))
    declared.append(federated_plan.keys().get(key))
    return any(each is not None and _is(each, Integer) for each in declared)


def _flattened(table: Mapping[str, object], ends: Iterable[str]) -> Iterator[tuple[str, object]]:
    """The keys of a table, with `plan.step.1.sigma` for what TOML reads as a table in a table.

    A table with a key of `ends` is a value.
    """
    for key, value in table.items():
        if isinstance(value, Mapping) and value and not value.keys() & {*ends}:
            for rest, inner in _flattened(value, ends):
                yield f"{key}.{rest}", inner
        else:
            yield key, value


def _fixed(
    command: DeclaredCommand, slots: dict[str, Slot], table: Mapping[str, Any], place: str
) -> dict[str, tuple[str, ...]]:
    """The fixed options and their values."""
    fixed: dict[str, tuple[str, ...]] = {}
    for key, value in _flattened(table, ()):
        name, inside = slots[key]
        each = command.every[name]
        if not inside and _is(each, Flag):
            if not isinstance(value, bool):
                raise Usage(f"{place}: {key} must be true or false", argument=key)
            if value:
                fixed[key] = ("true",)
            continue
        if isinstance(value, list) and (inside or not isinstance(each, Several)):
            message = f"{place}: {key} must be one value; a list of values belongs under [axes]"
            raise Usage(message, argument=key)
        listed = value if isinstance(value, list) else [value]
        fixed[key] = tuple(as_text(each, f"{place}: {key}") for each in listed)
        if "-" in fixed[key] and _is(each, File):
            message = f"{place}: {key} is read again at every point, which standard input can't"
            raise Usage(f"{message} be; name a file", argument=key)
        if not inside:
            read(command, name, fixed[key])  # refuses now what would fail in every row
    return fixed


def _axes(
    command: DeclaredCommand, slots: dict[str, Slot], table: Mapping[str, Any], place: str
) -> tuple[SweepAxis, ...]:
    axes = []
    for key, value in _flattened(table, Spread.parameters):
        name, inside = slots[key]
        setting = f"{place}: {key}"
        if not inside and _is(command.every[name], Flag):
            raise Usage(f"{setting} is a switch, which belongs under [fixed]", argument=key)
        if isinstance(value, list):
            axes.append(SweepAxis(key, tuple(as_text(each, setting) for each in value)))
            continue
        if not isinstance(value, Mapping):
            message = "must be a list of values, or a table with from, to, points and scale"
            raise Usage(f"{setting} {message}", argument=key)
        said, call = texts(value, Spread.parameters, setting)
        with at(setting):
            spread = Spread.read(said, call)
        axes.append(spread.axis(key, whole=_is_whole(command, slots[key])))
    return tuple(axes)


def _tied(table: Mapping[str, Any], axes: set[str], name: str) -> tuple[tuple[str, ...], ...]:
    """The groups of axes that vary together: a list of names, or a list of such lists."""
    listed = table.get("tied", [])
    groups = listed if isinstance(listed, list) else [listed]
    if groups and not any(isinstance(group, list) for group in groups):
        groups = [groups]
    tied = []
    for group in groups:
        members = group if isinstance(group, list) else [group]
        axes_of = tuple(as_text(each, f"{name}: tied") for each in members)
        for each in axes_of:
            if each not in axes:
                message = f"{name}: tied names no axis {shown(each)}{did_you_mean(each, axes)}"
                raise Usage(message, argument="tied")
        if len(axes_of) < 2:
            message = f'{name}: tied must list two axes or more, such as ["sigma", "steps"]'
            raise Usage(message, argument="tied")
        tied.append(axes_of)
    return tuple(tied)


def _outputs(table: Mapping[str, Any], name: str) -> tuple[str, ...]:
    listed = table.get("outputs", [])
    listed = listed if isinstance(listed, list) else [listed]
    outputs = tuple(as_text(each, f"{name}: outputs") for each in listed)
    if len(set(outputs)) < len(outputs):
        raise Usage(f"{name}: outputs names one value twice", argument="outputs")
    return outputs


def _answering(
    asking: Asking, command: DeclaredCommand, wanted: tuple[str, ...]
) -> tuple[Asking, Mapping[str, Any]]:
    """The quickest way to ask that gives all that is wanted, and an answer.

    A command may leave out what takes time when it is asked to be quiet; --json has everything.
    """
    for way in ("quiet", "json"):
        if way in command.declared.parameters:
            asking = replace(asking, way=way)
            body = _probe(asking)
            if {*wanted} <= {*paths(body), str(body.get("quantity"))}:
                break
    return asking, body


def _probe(asking: Asking) -> Mapping[str, Any]:
    """The answer at one point: the first that has one, of a few here and there, then of all.

    Raises what the first of them raised, if none has an answer.
    """
    size = asking.grid.size
    step = max(1, (size - 1) // (_PROBES - 1))
    failed: Exception | None = None
    for row in chain(range(0, size, step), range(size) if step > 1 else ()):
        try:
            return asking.body(asking.grid.point(row))
        except Exception as error:
            failed = failed or error
    raise failed or Usage("the grid is empty", argument="axes")


def _columns(
    body: Mapping[str, Any], wanted: tuple[str, ...], who: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns' names, and the paths into an answer where their values stand."""
    cells = paths(body)
    quantity = str(body["quantity"]) if "safe" in cells and "quantity" in cells else ""
    if not wanted and quantity:
        return (quantity, *_ANSWER), ("safe", *_ANSWER)
    numbers = [path for path, value in cells.items() if isinstance(value, int | float)]
    some = one_of([path for path in numbers if path != "schema"][:8] or ["none"])
    if not wanted:
        message = f"{who} has many outputs; say which to keep, such as {some}"
        raise Usage(message, argument="outputs")
    for path in wanted:
        if path != quantity and path not in cells:
            near = closest(path, [quantity, *cells])
            hint = f"; did you mean {near}?" if near else f"; it has {some}"
            raise Usage(f"{who} has no output {shown(path)}{hint}", argument="outputs")
    return wanted, tuple("safe" if path == quantity else path for path in wanted)

"""Sweep files (docs/sweep.md): a command's parameters over a grid, each point answered by that command."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import click

from dpacct.cli import failure, federated_plan, words
from dpacct.cli.command import DeclaredCommand, File, Value
from dpacct.cli.output import payload
from dpacct.cli.root import load, names
from dpacct.cli.toml_file import contents, file_name, replaced, table_of
from dpacct.cli.words import as_table, as_text, check_keys
from dpacct.declare.domain import Integer, closest, did_you_mean, one_of
from dpacct.declare.number import NotANumber, number, shown
from dpacct.declare.record import Exclusive, Usage
from dpacct.errors import InvalidArgument
from dpacct.sweep.grid import MOST_POINTS, SCALES, Axis, Cell, Grid, Row, spread

_KEYS = ("command", "outputs", "fixed", "axes", "tied")
_SPREAD = ("from", "to", "points", "scale")
_ANSWER = ("lower", "upper", "side", "strength", "method")
_NOT_SWEPT = ("sweep", "completion", "ledger")
_OURS = ("json", "csv", "quiet", "details", "save", "output", "certificate", "help")
_PROBES = 20
_COUNT = Integer(2, MOST_POINTS)


@dataclass(frozen=True)
class Slot:
    """What one key sets.

    Attributes:
        kind: "parameter"; "word", NAME=VALUE behind a parameter that takes words; "inside", a key of a file.
        name: the parameter's, the word's, or the path in the file.
    """

    kind: Literal["parameter", "word", "inside"]
    name: str


@dataclass(frozen=True)
class Asking:
    """What all points of a sweep have in common.

    Attributes:
        command: its name.
        fixed: what stays, each with its values.
        slots: what each axis is.
        outputs: paths into the answer's JSON, such as "value" or "data_dependent.upper".
        way: the switch that says how it shall answer: "quiet", which may be less work, or "json".
    """

    command: str
    fixed: tuple[tuple[Slot, tuple[str, ...]], ...]
    slots: tuple[Slot, ...]
    outputs: tuple[str, ...]
    way: str = "json"

    def __call__(self, point: tuple[str, ...]) -> Row:
        """The row of a point: its outputs, or the sentence and exit code of its failure."""
        try:
            body = self.body(point)
            return Row(tuple(_at(body, path) for path in self.outputs))
        except click.exceptions.Exit as leaving:
            message = f"dpacct {self.command} ended without an answer."
            return Row(error=message, code=leaving.exit_code)
        except Exception as error:
            what = failure.describe(error)
            return Row(error=what.message, code=int(what.status))

    def body(self, point: tuple[str, ...]) -> Mapping[str, Any]:
        """The JSON object that the command would print; raises what the command raises."""
        command = load(self.command)
        params = {param.name: param for param in command.params}
        values: dict[str, Any] = {self.way: True}
        inside, pairs = dict[str, str](), list[str]()
        axes = ((slot, (text,)) for slot, text in zip(self.slots, point, strict=True))
        for slot, texts in chain(self.fixed, axes):
            if slot.kind == "inside":
                inside[slot.name] = texts[0]
            elif slot.kind == "word":
                pairs.append(f"{slot.name}={texts[0]}")
            else:
                values[slot.name] = read(params[slot.name], texts)
        if pairs:
            (name,) = (each for each, param in params.items() if _takes_pairs(param))
            values[str(name)] = (*values.get(str(name), ()), *pairs)
        with replaced(inside):
            result = command.answer(values)
        if result.status:
            raise click.exceptions.Exit(result.status)
        body = payload(self.command, result.body())
        if not isinstance(body, Mapping):
            message = f"dpacct {self.command} gives no single answer to keep"
            raise Usage(message, argument="command")
        if result.answer is None:
            return body
        return {**body, "plan": None, "safe": float(result.answer)}


def read(param: click.Parameter, texts: tuple[str, ...]) -> Any:
    """A parameter's value, or its values where it may have several."""
    if _is_switch(param):
        return True
    values = tuple(param.type.convert(text, param, None) for text in texts)
    return values if _takes_several(param) else values[0]


def _is_switch(param: click.Parameter) -> bool:
    return isinstance(param, click.Option) and param.is_flag


def _takes_several(param: click.Parameter) -> bool:
    return param.nargs != 1 or (isinstance(param, click.Option) and param.multiple)


def _takes_pairs(param: click.Parameter) -> bool:
    return "NAME=VALUE" in str(param.metavar)


# --- the answer's values


def paths(body: Any, before: str = "") -> dict[str, Cell]:
    """Every value of a JSON object by its path, such as "data_dependent.value" or "rates.0.fpr"."""
    if isinstance(body, Mapping):
        items: Iterable[tuple[Any, Any]] = body.items()
    elif isinstance(body, list | tuple):
        items = enumerate(body)
    else:
        return {before: body}
    cells: dict[str, Cell] = {}
    for key, value in items:
        cells |= paths(value, f"{before}.{key}" if before else str(key))
    return cells


def _at(body: Any, path: str) -> Cell:
    """What stands at a path; None where there is nothing, or nothing that JSON could say."""
    for step in path.split("."):
        if isinstance(body, Mapping):
            body = body.get(step)
        elif isinstance(body, list | tuple) and step.isdigit() and int(step) < len(body):
            body = body[int(step)]
        else:
            return None
    if isinstance(body, float):
        return body if math.isfinite(body) else None
    return body if isinstance(body, bool | int) or body is None else str(body)


# --- the file


def read_sweep(path: str) -> tuple[Grid, Asking, str]:
    """The grid of a file, what answers its points, and the method that was taken unasked ("" if none).

    Raises `InvalidArgument` where the file cannot be read or is no sweep; the sentence says where.
    """
    name = file_name(path)
    table = table_of(contents(path), name)
    check_keys(table, _KEYS, name)
    command = _command(table, name)
    fixed = _fixed(command, _part(table, "fixed", name), f"{name}: fixed")
    axes = _axes(command, _part(table, "axes", name), f"{name}: axes")
    if not axes:
        raise Usage(f"{name} has no axes: give one or more under [axes]", argument="axes")
    for slot, axis in axes.items():
        if slot in fixed:
            message = f"{name}: {axis.name} is both fixed and an axis; leave one of them out"
            raise Exclusive(message, argument=axis.name)
    keys = {key: values for key, values in fixed.values()}
    typed = {slot: values for slot, (_, values) in fixed.items()}
    method = _unasked_method(command, {*fixed, *axes})
    if method:
        keys["method"] = typed[Slot("parameter", "method")] = (method,)
    tied = _tied(table, {axis.name for axis in axes.values()}, name)
    asking = Asking(str(command.name), tuple(typed.items()), tuple(axes), ())
    grid = Grid(asking.command, tuple(keys.items()), tuple(axes.values()), (), tied)
    wanted = _outputs(table, name)
    asking, body = _answering(grid, asking, command, wanted)
    columns, where = _columns(body, wanted, f"{name}: dpacct {grid.command}")
    return replace(grid, outputs=columns), replace(asking, outputs=where), method


def files_of(grid: Grid) -> tuple[bytes, ...]:
    """The contents of the files that a sweep's values name: answers depend on them as on the values."""
    settings = [values for _, values in grid.fixed] + [axis.values for axis in grid.axes]
    contents = []
    for value in dict.fromkeys(chain(*settings)):
        with suppress(OSError, ValueError):
            if Path(value).is_file():
                contents.append(Path(value).read_bytes())
    return tuple(contents)


def _part(table: Mapping[str, Any], key: str, name: str) -> Mapping[str, Any]:
    return as_table(table.get(key, {}), f"{name}: {key}")


def _command(table: Mapping[str, Any], name: str) -> DeclaredCommand:
    if "command" not in table:
        message = f'{name} does not say which command it sweeps: command = "eps"'
        raise Usage(message, argument="command")
    word = as_text(table["command"], f"{name}: command")
    if word in _NOT_SWEPT:
        raise Usage(f"{name}: {word} is no command that can be swept", argument="command")
    if word not in names():
        message = f"{name}: dpacct has no command {shown(word)}"
        raise Usage(message + did_you_mean(word, names()), argument="command")
    return load(word)


def _slot(command: DeclaredCommand, key: str, place: str) -> tuple[Slot, click.Parameter | None]:
    """The slot that a key means, and the parameter that it is.

    A key is an option's name without dashes, or an argument's; what follows a file's name and a dot is
    a path in that file; where a command takes NAME=VALUE, any other name is one.
    """
    params = {
        word: param for param in command.params if param.name not in _OURS for word in _words(param)
    }
    wanted = key.replace("_", "-").lower()
    if wanted in params:
        return Slot("parameter", str(params[wanted].name)), params[wanted]
    file, dot, path = key.partition(".")
    holder = params.get(file.replace("_", "-").lower())
    if dot and holder is not None and _reads_a_file(holder):
        return Slot("inside", path), None
    if any(map(_takes_pairs, command.params)):
        return Slot("word", key), None
    near = closest(f"--{wanted}", [f"--{word}" for word in params])
    hint = f"; did you mean {near[2:]}?" if near else ""
    message = f"{place}: dpacct {command.name} has no option {shown(key)}{hint}"
    raise Usage(message, argument=key)


def _words(param: click.Parameter) -> list[str]:
    """How a key may spell a parameter: an argument by its name, or as the help calls it."""
    if isinstance(param, click.Option):
        return [word.lstrip("-").replace("_", "-") for word in param.opts]
    called = str(param.metavar or "").strip("[]").lower()
    return [param.name or "", *([called] if called.isalpha() else [])]


def _reads_a_file(param: click.Parameter) -> bool:
    return isinstance(param.type, Value) and isinstance(param.type.domain, File)


def _is_whole(slot: Slot, param: click.Parameter | None) -> bool:
    """Whether only whole numbers go there."""
    if slot.kind == "inside":
        last = slot.name.rpartition(".")[2]
        return words.is_whole(last) or isinstance(federated_plan.domains().get(last), Integer)
    kind = None if param is None else param.type
    return isinstance(kind, Value) and isinstance(kind.domain, Integer)


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


Fixed = dict[Slot, tuple[str, tuple[str, ...]]]


def _fixed(command: DeclaredCommand, table: Mapping[str, Any], place: str) -> Fixed:
    """What stays: the key and the values of each slot."""
    fixed: Fixed = {}
    for key, value in _flattened(table, ()):
        slot, param = _slot(command, key, place)
        if slot in fixed:
            raise Usage(f"{place}: {fixed[slot][0]} and {key} are one option", argument=key)
        if param is not None and _is_switch(param):
            if not isinstance(value, bool):
                raise Usage(f"{place}: {key} must be true or false", argument=key)
            if value:
                fixed[slot] = (key, ("true",))
            continue
        listed = value if isinstance(value, list) else [value]
        if listed is value and (param is None or not _takes_several(param)):
            message = f"{place}: {key} must be one value; a list of values belongs under [axes]"
            raise Usage(message, argument=key)
        values = tuple(as_text(each, f"{place}: {key}") for each in listed)
        if param is not None:
            if "-" in values and _reads_a_file(param):
                message = f"{place}: {key} is read again at every point, which standard input can't"
                raise Usage(f"{message} be; name a file", argument=key)
            read(param, values)  # refuses now what would fail in every row
        fixed[slot] = (key, values)
    return fixed


def _axes(command: DeclaredCommand, table: Mapping[str, Any], place: str) -> dict[Slot, Axis]:
    axes: dict[Slot, Axis] = {}
    for key, value in _flattened(table, _SPREAD):
        slot, param = _slot(command, key, place)
        if slot in axes:
            raise Usage(f"{place}: {axes[slot].name} and {key} are one option", argument=key)
        if param is not None and _is_switch(param):
            message = f"{place}: {key} is a switch, which belongs under [fixed]"
            raise Usage(message, argument=key)
        setting = f"{place}: {key}"
        if isinstance(value, list):
            axes[slot] = Axis(key, tuple(as_text(each, setting) for each in value))
        else:
            axes[slot] = _spread(key, value, setting, whole=_is_whole(slot, param))
    return axes


def _spread(key: str, value: object, place: str, *, whole: bool) -> Axis:
    if not isinstance(value, Mapping):
        message = f"{place} must be a list of values, or a table with from, to, points and scale"
        raise Usage(message, argument=key)
    check_keys(value, _SPREAD, place)
    for needed in ("from", "to", "points"):
        if needed not in value:
            message = f"{place} needs {needed}: the axis is from, to, points (and scale)"
            raise Usage(message, argument=key)
    scale = as_text(value.get("scale", "linear"), f"{place}: scale")
    if scale not in SCALES:
        message = f"{place}: scale must be {one_of(SCALES)}, got {shown(scale)}"
        raise InvalidArgument(message, argument=key)
    points = _COUNT.check(f"{place}: points", as_text(value["points"], f"{place}: points"))
    start, stop = (_number(value[end], f"{place}: {end}") for end in ("from", "to"))
    return spread(key, start, stop, int(points), scale, whole=whole)


def _number(value: object, place: str) -> Fraction:
    text = as_text(value, place)
    try:
        return number(text)
    except NotANumber as error:
        message = f"{place} must be a number, got {shown(text, 40)}, {error}"
        raise InvalidArgument(message) from None


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


def _unasked_method(command: DeclaredCommand, slots: set[Slot]) -> str:
    """The quick method, where the command proves by default and no method or digits are asked for."""
    method = command.declared.parameters.get("method")
    if method is None or {slot.name for slot in slots} & {"method", "digits"}:
        return ""
    return "exact" if method.default == "auto" else ""


def _outputs(table: Mapping[str, Any], name: str) -> tuple[str, ...]:
    listed = table.get("outputs", [])
    listed = listed if isinstance(listed, list) else [listed]
    outputs = tuple(as_text(each, f"{name}: outputs") for each in listed)
    if len(set(outputs)) < len(outputs):
        raise Usage(f"{name}: outputs names one value twice", argument="outputs")
    return outputs


def _answering(
    grid: Grid, asking: Asking, command: DeclaredCommand, wanted: tuple[str, ...]
) -> tuple[Asking, Mapping[str, Any]]:
    """The quickest way to ask that gives all that is wanted, and an answer.

    A command may leave out what takes time when it is asked to be quiet; --json has everything.
    """
    ways = [way for way in ("quiet", "json") if way in command.declared.parameters]
    for way in ways:
        trial = replace(asking, way=way)
        body = _probe(grid, trial)
        if {*wanted} <= {*paths(body), str(body.get("quantity"))}:
            break
    return trial, body


def _probe(grid: Grid, asking: Asking) -> Mapping[str, Any]:
    """The answer at one point: the first that has one, of a few here and there, then of all.

    Raises what the first of them raised, if none has an answer.
    """
    step = max(1, (grid.size - 1) // (_PROBES - 1))
    failed: Exception = Usage("the grid is empty", argument="axes")
    tried = False
    for row in chain(range(0, grid.size, step), range(grid.size) if step > 1 else ()):
        try:
            return asking.body(grid.point(row))
        except Exception as error:
            failed = failed if tried else error
            tried = True
    raise failed


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
            raise Usage(f"{who} answers no {shown(path)}{hint}", argument="outputs")
    return wanted, tuple("safe" if path == quantity else path for path in wanted)

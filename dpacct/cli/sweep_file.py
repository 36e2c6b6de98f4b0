"""Sweep files: TOML as docs/sweep.md describes it, checked against the command they are about."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import Any

import click

from dpacct.cli.command import DeclaredCommand
from dpacct.cli.refusal import Refusal
from dpacct.cli.sweep_point import Asking, NoAnswer, command_named, paths
from dpacct.cli.sweep_slot import Slot, flattened, is_whole, reads_a_file, slot_of
from dpacct.cli.toml_file import contents, file_name, table_of
from dpacct.cli.words import as_table, as_text, check_keys
from dpacct.declare.domain import Integer, closest, did_you_mean, one_of
from dpacct.declare.number import NotANumber, number, shown
from dpacct.sweep.axis import MOST_POINTS, SCALES, Axis, spread
from dpacct.sweep.grid import Grid

_KEYS = ("command", "outputs", "fixed", "axes", "tied")
_SPREAD = ("from", "to", "points", "scale")
_ANSWER = ("lower", "upper", "side", "strength", "method")
_NOT_SWEPT = ("sweep", "completion", "ledger")
_PROBES = 20
_COUNT = Integer(2, MOST_POINTS)


def read_sweep(path: str) -> tuple[Grid, Asking, str]:
    """The grid of a file, what answers its points, and the method that was taken unasked ("" if none).

    Raises:
        Refusal: the file cannot be read, or is no sweep; the sentence says where.
        InvalidArgument: an axis that cannot be.
    """
    name = file_name(path)
    table = table_of(contents(path), name)
    check_keys(table, _KEYS, name)
    command = _command(table, name)
    fixed = _fixed(command, _part(table, "fixed", name), f"{name}: fixed")
    axes = _axes(command, _part(table, "axes", name), f"{name}: axes")
    if not axes:
        raise Refusal(f"{name} has no axes: give one or more under [axes].", "axes")
    for slot in axes:
        if slot in fixed:
            message = f"{name}: {axes[slot].name} is both fixed and an axis; leave one of them out."
            raise Refusal(message, axes[slot].name, kind="exclusive-options")
    method = _unasked_method(command, {*fixed, *axes})
    told_fixed = {key: values for key, values in fixed.values()}
    typed = {slot: values for slot, (_, values) in fixed.items()}
    if method:
        told_fixed["method"] = typed[Slot("option", "--method")] = (method,)
    names = {option.name for option in command.params}
    ways = [flag for name, flag in (("quiet", "--quiet"), ("json", "--json")) if name in names]
    asking = Asking(command.name or "", tuple(typed.items()), tuple(axes), ())
    tied = _tied(table, {axis.name for axis in axes.values()}, name)
    grid = Grid(asking.command, tuple(told_fixed.items()), tuple(axes.values()), (), tied)
    wanted = _outputs(table, name)
    asking, body = _answering(grid, asking, ways, wanted)
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


def _tied(table: Mapping[str, Any], axes: set[str], name: str) -> tuple[tuple[str, ...], ...]:
    """The groups of axes that vary together: a list of names, or a list of such lists."""
    listed = table.get("tied", [])
    groups = listed if isinstance(listed, list) else [listed]
    if groups and not any(isinstance(group, list) for group in groups):
        groups = [groups]
    tied = []
    for group in groups:
        members = group if isinstance(group, list) else [group]
        names = tuple(as_text(each, f"{name}: tied") for each in members)
        for each in names:
            if each not in axes:
                message = f"{name}: tied names no axis {shown(each)}"
                raise Refusal(message + did_you_mean(each, axes), "tied")
        if len(names) < 2:
            message = f'{name}: tied must list two axes or more, such as ["sigma", "steps"].'
            raise Refusal(message, "tied")
        tied.append(names)
    return tuple(tied)


def _part(table: Mapping[str, Any], key: str, name: str) -> Mapping[str, Any]:
    return as_table(table.get(key, {}), f"{name}: {key}")


def _command(table: Mapping[str, Any], name: str) -> DeclaredCommand:
    if "command" not in table:
        raise Refusal(f'{name} does not say which command it sweeps: command = "eps".', "command")
    word = as_text(table["command"], f"{name}: command")
    if word in _NOT_SWEPT:
        raise Refusal(f"{name}: {word} is no command that can be swept.", "command")
    from dpacct.cli.root import root

    commands = root.list_commands(click.Context(root))
    if word not in commands:
        near = closest(word, commands)
        hint = f"; did you mean {near}?" if near else "."
        raise Refusal(f"{name}: dpacct has no command {shown(word)}{hint}", "command")
    return command_named(word)


Fixed = dict[Slot, tuple[str, tuple[str, ...]]]


def _fixed(command: click.Command, table: Mapping[str, Any], place: str) -> Fixed:
    """What stays: the key and the values of each slot."""
    fixed: Fixed = {}
    for key, value in flattened(table, ()):
        slot, param = slot_of(command, key, place)
        if slot in fixed:
            raise Refusal(f"{place}: {fixed[slot][0]} and {key} are one option.", key)
        if slot.kind == "switch":
            if not isinstance(value, bool):
                raise Refusal(f"{place}: {key} must be true or false.", key)
            if value:
                fixed[slot] = (key, ("true",))
            continue
        if isinstance(value, list):
            if param is None or not (param.nargs != 1 or getattr(param, "multiple", False)):
                message = (
                    f"{place}: {key} must be one value; a list of values belongs under [axes]."
                )
                raise Refusal(message, key)
            values = tuple(as_text(each, f"{place}: {key}") for each in value)
        else:
            values = (as_text(value, f"{place}: {key}"),)
        if param is not None:
            if "-" in values and reads_a_file(param):
                message = (
                    f"{place}: {key} is read again at every point, which standard input can't be"
                )
                raise Refusal(f"{message}; name a file.", key)
            for each in values:
                param.type.convert(each, param, None)  # refuses now what would fail in every row
        fixed[slot] = (key, values)
    return fixed


def _axes(command: click.Command, table: Mapping[str, Any], place: str) -> dict[Slot, Axis]:
    axes: dict[Slot, Axis] = {}
    for key, value in flattened(table, _SPREAD):
        slot, param = slot_of(command, key, place)
        if slot in axes:
            raise Refusal(f"{place}: {axes[slot].name} and {key} are one option.", key)
        if slot.kind == "switch":
            raise Refusal(f"{place}: {key} is a switch, which belongs under [fixed].", key)
        setting = f"{place}: {key}"
        if isinstance(value, list):
            axes[slot] = Axis(key, tuple(as_text(each, setting) for each in value))
        else:
            axes[slot] = _spread(key, value, setting, whole=is_whole(slot, param))
    return axes


def _spread(key: str, value: object, place: str, *, whole: bool) -> Axis:
    if not isinstance(value, Mapping):
        raise Refusal(
            f"{place} must be a list of values, or a table with from, to, points and scale.", key
        )
    check_keys(value, _SPREAD, place)
    for needed in ("from", "to", "points"):
        if needed not in value:
            raise Refusal(f"{place} needs {needed}: the axis is from, to, points (and scale).", key)
    scale = as_text(value.get("scale", "linear"), f"{place}: scale")
    if scale not in SCALES:
        message = f"{place}: scale must be {one_of(SCALES)}, got {shown(scale)}."
        raise Refusal(message, key, kind="invalid-argument")
    points = _COUNT.check(f"{place}: points", as_text(value["points"], f"{place}: points"))
    start, stop = (_number(value[end], f"{place}: {end}") for end in ("from", "to"))
    return spread(key, start, stop, int(points), scale, whole=whole)


def _number(value: object, place: str) -> Fraction:
    text = as_text(value, place)
    try:
        return number(text)
    except NotANumber as error:
        message = f"{place} must be a number, got {shown(text, 40)}, {error}."
        raise Refusal(message, kind="invalid-argument") from None


def _unasked_method(command: DeclaredCommand, slots: set[Slot]) -> str:
    """The quick method, where the command proves by default and no method or digits are asked for."""
    method = command.declared.parameters.get("method")
    if method is None or {slot.name for slot in slots} & {"--method", "--digits"}:
        return ""
    return "exact" if method.default == "auto" else ""


def _outputs(table: Mapping[str, Any], name: str) -> tuple[str, ...]:
    listed = table.get("outputs", [])
    if not isinstance(listed, list):
        listed = [listed]
    outputs = tuple(as_text(each, f"{name}: outputs") for each in listed)
    if len(set(outputs)) < len(outputs):
        raise Refusal(f"{name}: outputs names one value twice.", "outputs")
    return outputs


def _answering(
    grid: Grid, asking: Asking, ways: list[str], wanted: tuple[str, ...]
) -> tuple[Asking, Mapping[str, Any]]:
    """The quickest way to ask that gives all that is wanted, and an answer.

    A command may leave out what takes time when it is asked to be quiet; --json has everything.
    """
    trial_and_body: tuple[Asking, Mapping[str, Any]] | None = None
    for way in ways or [""]:
        trial = replace(asking, way=way)
        try:
            body = _probe(grid, trial)
        except NoAnswer:
            continue
        trial_and_body = trial, body
        if {*wanted} <= {*paths(body), str(body.get("quantity"))}:
            break
    if trial_and_body is None:
        raise NoAnswer(f"dpacct {grid.command} gives no single answer to keep.", "command")
    return trial_and_body


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
        raise Refusal(f"{who} has many outputs; say which to keep, such as {some}.", "outputs")
    where = []
    for path in wanted:
        if path == quantity:
            where.append("safe")
        elif path in cells:
            where.append(path)
        else:
            near = closest(path, [quantity, *cells])
            hint = f"; did you mean {near}?" if near else f"; it has {some}."
            raise Refusal(f"{who} answers no {shown(path)}{hint}", "outputs")
    return wanted, tuple(where)


def _probe(grid: Grid, asking: Asking) -> Mapping[str, Any]:
    """The answer at one point: the first that has one, of a few here and there, then of all.

    Raises:
        Exception: what the first of them raised, if none has an answer.
    """
    step = max(1, (grid.size - 1) // (_PROBES - 1))
    failed: Exception | None = None
    for row in chain(range(0, grid.size, step), range(grid.size) if step > 1 else ()):
        try:
            return asking.body(grid.point(row))
        except NoAnswer:
            raise
        except Exception as error:
            failed = failed or error
    if failed is None:
        raise Refusal("the grid is empty.", "axes")
    raise failed

"""Sweep files: TOML as docs/sweep.md describes it, checked against the command they are about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import chain
from typing import Any

import click

from dpacct.cli.expression import ExpressionError, parse
from dpacct.cli.plan_step import as_table, as_text, check_keys
from dpacct.cli.refusal import Refusal
from dpacct.cli.suggest import closest
from dpacct.cli.sweep_point import Asking, NoAnswer, command_named, paths
from dpacct.cli.toml_file import contents, file_name, table_of
from dpacct.cli.values import Number, one_of, shown
from dpacct.sweep.axis import MOST_POINTS, SCALES, Axis, spread
from dpacct.sweep.grid import Grid

_KEYS = ("command", "outputs", "fixed", "axes")
_SPREAD = ("from", "to", "points", "scale")
_ANSWER = ("lower", "upper", "side", "strength", "method")
_OURS = ("as_json", "as_csv", "quiet", "output", "certificate", "help")
_NOT_SWEPT = ("sweep", "completion", "ledger")
_PROBES = 20
_COUNT = Number(f"a whole number from 2 to {MOST_POINTS}", least=2, most=MOST_POINTS, whole=True)


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
    for option in axes:
        if option in fixed:
            told = f"{name}: {axes[option].name} is both fixed and an axis; leave one of them out."
            raise Refusal(told, axes[option].name, kind="exclusive-options")
    method = _unasked_method(command, {*fixed, *axes})
    told_fixed = {key: values for key, values in fixed.values()}
    words = [word for option, (_, values) in fixed.items() for word in _words(option, values)]
    if method:
        told_fixed["method"] = (method,)
        words.append(f"--method={method}")
    names = {option.name for option in command.params}
    ways = [flag for name, flag in (("quiet", "--quiet"), ("as_json", "--json")) if name in names]
    asking = Asking(
        command.name or "",
        tuple(words),
        tuple(option.opts[0] if isinstance(option, click.Option) else "" for option in axes),
        (),
    )
    grid = Grid(asking.command, tuple(told_fixed.items()), tuple(axes.values()), ())
    wanted = _outputs(table, name)
    asking, body = _answering(grid, asking, ways, wanted)
    columns, where = _columns(body, wanted, f"{name}: dpacct {grid.command}")
    return replace(grid, outputs=columns), replace(asking, outputs=where), method


def _part(table: Mapping[str, Any], key: str, name: str) -> Mapping[str, Any]:
    return as_table(table.get(key, {}), f"{name}: {key}")


def _command(table: Mapping[str, Any], name: str) -> click.Command:
    if "command" not in table:
        raise Refusal(f'{name} does not say which command it sweeps: command = "eps".', "command")
    word = as_text(table["command"], f"{name}: command")
    if word in _NOT_SWEPT:
        raise Refusal(f"{name}: {word} is no command that can be swept.", "command")
    from dpacct.cli.root import root

    known = root.list_commands(click.Context(root))
    if word not in known:
        near = closest(word, known)
        hint = f"; did you mean {near}?" if near else "."
        raise Refusal(f"{name}: dpacct has no command {shown(word)}{hint}", "command")
    return command_named(word)


def _option(command: click.Command, key: str, place: str) -> click.Parameter:
    """The parameter that a key means: an option's name without dashes, or an argument's."""
    wanted = key.replace("_", "-").lower()
    known: dict[str, click.Parameter] = {}
    for param in command.params:
        if param.name in _OURS:
            continue
        spelt = param.opts if isinstance(param, click.Option) else [param.name or ""]
        known |= {word.lstrip("-").replace("_", "-"): param for word in spelt}
    if wanted in known:
        return known[wanted]
    near = closest(f"--{wanted}", [f"--{word}" for word in known])
    hint = f"; did you mean {near[2:]}?" if near else "."
    raise Refusal(f"{place}: dpacct {command.name} has no option {shown(key)}{hint}", key)


def _fixed(
    command: click.Command, table: Mapping[str, Any], place: str
) -> dict[click.Parameter, tuple[str, tuple[str, ...]]]:
    found: dict[click.Parameter, tuple[str, tuple[str, ...]]] = {}
    for key, value in table.items():
        option = _option(command, key, place)
        if option in found:
            raise Refusal(f"{place}: {found[option][0]} and {key} are one option.", key)
        if isinstance(option, click.Option) and option.is_flag:
            if not isinstance(value, bool):
                raise Refusal(f"{place}: {key} must be true or false.", key)
            values: tuple[str, ...] = ("true",) if value else ()
        elif isinstance(value, list):
            if not (option.multiple or option.nargs != 1):
                told = f"{place}: {key} must be one value; a list of values belongs under [axes]."
                raise Refusal(told, key)
            values = tuple(as_text(each, f"{place}: {key}") for each in value)
        else:
            values = (as_text(value, f"{place}: {key}"),)
        if not (isinstance(option, click.Option) and option.is_flag):
            for each in values:
                option.type.convert(each, option, None)  # refuses now what would fail in every row
        found[option] = (key, values)
    return found


def _words(option: click.Parameter, values: tuple[str, ...]) -> list[str]:
    if not isinstance(option, click.Option):
        return list(values)
    if option.is_flag:
        return [option.opts[0]] if values else []
    return [f"{option.opts[0]}={value}" for value in values]


def _axes(
    command: click.Command, table: Mapping[str, Any], place: str
) -> dict[click.Parameter, Axis]:
    found: dict[click.Parameter, Axis] = {}
    for key, value in table.items():
        option = _option(command, key, place)
        if option in found:
            raise Refusal(f"{place}: {found[option].name} and {key} are one option.", key)
        if isinstance(option, click.Option) and option.is_flag:
            raise Refusal(f"{place}: {key} is a switch, which belongs under [fixed].", key)
        here = f"{place}: {key}"
        if isinstance(value, list):
            found[option] = Axis(key, tuple(as_text(each, here) for each in value))
        else:
            whole = isinstance(option.type, Number) and option.type.whole
            found[option] = _spread(key, value, here, whole=whole)
    return found


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
        told = f"{place}: scale must be {one_of(SCALES)}; got {shown(scale)}."
        raise Refusal(told, key, kind="invalid-argument")
    points = _COUNT.read(as_text(value["points"], f"{place}: points"), f"{place}: points")
    start, stop = (_number(value[end], f"{place}: {end}") for end in ("from", "to"))
    return spread(key, start, stop, int(points), scale, whole=whole)


def _number(value: object, place: str) -> Fraction:
    text = as_text(value, place)
    try:
        return parse(text)
    except ExpressionError as error:
        told = f"{place} must be a number; got {shown(text)}, {error}."
        raise Refusal(told, kind="invalid-argument") from None


def _unasked_method(command: click.Command, given: set[click.Parameter]) -> str:
    """The quick method, where the command would prove each number and nobody asked for that."""
    by_name = {option.name: option for option in command.params}
    option = by_name.get("method")
    asked = {name for name in ("method", "digits") if by_name.get(name) in given}
    if not isinstance(option, click.Option) or option.multiple or asked:
        return ""
    choices = getattr(option.type, "choices", ())
    return "exact" if "exact" in choices and option.default == "auto" else ""


def _outputs(table: Mapping[str, Any], name: str) -> tuple[str, ...]:
    listed = table.get("outputs", [])
    if not isinstance(listed, list):
        listed = [listed]
    found = tuple(as_text(each, f"{name}: outputs") for each in listed)
    if len(set(found)) < len(found):
        raise Refusal(f"{name}: outputs names one value twice.", "outputs")
    return found


def _answering(
    grid: Grid, asking: Asking, ways: list[str], wanted: tuple[str, ...]
) -> tuple[Asking, Mapping[str, Any]]:
    """The quickest way to ask that gives all that is wanted, and an answer.

    A command may leave out what takes time when it is asked to be quiet; --json has everything.
    """
    found: tuple[Asking, Mapping[str, Any]] | None = None
    for way in ways or [""]:
        trial = replace(asking, words=(*asking.words, way)) if way else asking
        try:
            body = _probe(grid, trial)
        except NoAnswer:
            continue
        found = trial, body
        if {*wanted} <= {*paths(body), str(body.get("quantity"))}:
            break
    if found is None:
        raise NoAnswer(f"dpacct {grid.command} gives no single answer to keep.", "command")
    return found


def _columns(
    body: Mapping[str, Any], wanted: tuple[str, ...], who: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns' names, and the paths into an answer where their values stand."""
    known = paths(body)
    quantity = str(body["quantity"]) if "safe" in known and "quantity" in known else ""
    if not wanted and quantity:
        return (quantity, *_ANSWER), ("safe", *_ANSWER)
    numbers = [path for path, value in known.items() if isinstance(value, int | float)]
    some = one_of([path for path in numbers if path != "schema"][:8] or ["none"])
    if not wanted:
        raise Refusal(f"{who} has many outputs; say which to keep, such as {some}.", "outputs")
    where = []
    for path in wanted:
        if path == quantity:
            where.append("safe")
        elif path in known:
            where.append(path)
        else:
            near = closest(path, [quantity, *known])
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

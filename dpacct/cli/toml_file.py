"""Files that say what to compute: TOML whose numbers stay as typed, and what a sweep puts in their place."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from dpacct.declare.domain import did_you_mean
from dpacct.declare.number import shown
from dpacct.declare.record import Call, Exclusive, Parameter, Usage
from dpacct.errors import InvalidArgument

MAX_BYTES = 10_000_000
_replaced: ContextVar[Mapping[str, str] | None] = ContextVar("replaced", default=None)


@contextmanager
def replaced(values: Mapping[str, str]) -> Iterator[None]:
    """Read every file as if these values stood in it, each under its path, such as "step.1.sigma"."""
    token = _replaced.set(values)
    try:
        yield
    finally:
        _replaced.reset(token)


def file_name(path: str) -> str:
    """The name of a file in messages."""
    return "standard input" if path == "-" else Path(path).name


def contents(path: str) -> str:
    """The text of a file, or of standard input if the path is "-".

    Raises:
        InvalidArgument: the file cannot be read.
    """
    try:
        if path == "-":
            data = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with Path(path).open("rb") as file:
                data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = getattr(error, "strerror", None) or str(error)
        raise Usage(f"cannot read {path[:80]!r}: {reason.lower()}", argument="PLAN") from None
    if len(data) > MAX_BYTES:
        raise Usage(f"{path!r} is larger than 10 MB, too large for a plan", argument="PLAN")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Usage(f"{path!r} is not text in UTF-8", argument="PLAN") from None


def table_of(text: str, name: str) -> Mapping[str, Any]:
    """The table that the text of a file is; `name` is what sentences call the file.

    Raises:
        InvalidArgument: it is not TOML, or lacks what shall be replaced.
    """
    import tomllib  # some milliseconds that a command without a file has no use for

    try:
        # Numbers stay text until they are read as expressions, so that 0.1 is one tenth.
        table = tomllib.loads(text, parse_float=str)
    except (ValueError, RecursionError) as error:
        # Python itself refuses integers of thousands of digits, and nesting without end.
        syntax = isinstance(error, tomllib.TOMLDecodeError)
        why = str(error) if syntax else "a number is too long or a list too deep"
        raise InvalidArgument(f"{name} is not TOML: {why}", argument="PLAN") from None
    for path, value in (_replaced.get() or {}).items():
        _replace(table, path, value, name)
    return table


def _replace(table: Any, path: str, value: str, name: str) -> None:
    """Put a value where a path leads, from 1 in a list; only the last key may be new."""
    *steps, last = path.split(".")
    for step in steps:
        if isinstance(table, dict) and step in table:
            table = table[step]
        elif isinstance(table, list) and step.isdigit() and 1 <= int(step) <= len(table):
            table = table[int(step) - 1]
        else:
            message = (
                f"{name} has no {shown(step)} on the way to {path}; a path is as in step.1.sigma."
            )
            raise Usage(message, argument=path)
    if not isinstance(table, dict):
        raise Usage(f"{name}: {path} leads to no key; a path is as in step.1.sigma", argument=path)
    table[last] = value


# --- tables


@contextmanager
def at(place: str) -> Iterator[None]:
    """Every refusal within begins with the place, such as "plan.toml: step 2"."""
    try:
        yield
    except InvalidArgument as error:
        raise type(error)(f"{place}: {error.message}", argument=error.argument) from None


def as_table(value: object, place: str) -> Mapping[str, Any]:
    """A TOML table, or a sentence."""
    if isinstance(value, dict):
        return value
    raise Usage(f"{place} must be a table of keys and values")


def as_text(value: object, place: str) -> str:
    """A value as it was typed; lists, tables, dates and booleans are no numbers."""
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    message = f"{place} must be a number or a text, got {str(value).lower()[:40]}"
    raise InvalidArgument(message)


def check_keys(table: Mapping[str, Any], keys: Iterable[str], place: str) -> None:
    """Refuse an unknown key, which would be a setting silently without effect."""
    listed = tuple(keys)
    for key in table:
        if key not in listed:
            hint = did_you_mean(key, listed)
            raise Usage(f"{place}: unknown key {key[:40]!r}{hint}", argument=key)


def texts(
    table: Mapping[str, Any],
    parameters: Mapping[str, Parameter[Any]],
    place: str,
    others: Mapping[str, str] | None = None,
) -> tuple[dict[str, str], Call]:
    """The values of these parameters in a table, and the name of each there.

    A parameter may go by any of its spellings. `others` are further keys, each with the parameter that
    it spells, or "" where somebody else reads it.
    """
    spelled = {also: name for name, each in parameters.items() for also in (name, *each.also)}
    spelled |= others or {}
    check_keys(table, spelled, place)
    typed: dict[str, str] = {}
    for key in table:
        if spelled[key] and typed.setdefault(spelled[key], key) != key:
            message = f"{typed[spelled[key]]} and {key} are one setting; leave one of them out"
            raise Exclusive(f"{place}: {message}", argument=key)
    with at(place):
        said = {name: as_text(table[key], key) for name, key in typed.items()}
    return said, lambda name: typed.get(name, name)

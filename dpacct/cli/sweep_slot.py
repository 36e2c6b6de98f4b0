"""What one key of a sweep file sets: an option, an argument, a word of one, or a value in a plan file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import click

from dpacct.cli import federated_plan, words
from dpacct.cli.command import File, Value
from dpacct.cli.refusal import Refusal
from dpacct.declare.domain import Integer, closest
from dpacct.declare.number import shown

_OURS = ("json", "csv", "quiet", "details", "save", "output", "certificate", "help")


Kind = Literal["option", "switch", "argument", "word", "inside"]


@dataclass(frozen=True)
class Slot:
    """Where a value goes.

    Attributes:
        kind: "option"; "switch", an option without a value; "argument"; "word", NAME=VALUE behind an
            argument; "inside", a key of a file.
        name: the option as it is typed, the argument's or the word's name, or the path in the file.
    """

    kind: Kind
    name: str

    def words(self, values: Iterable[str]) -> Iterator[str]:
        """What is typed for these values; nothing for what stands in a file."""
        # One word, so that a value such as -1 is never taken for an option.
        if self.kind in ("option", "word"):
            yield from (f"{self.name}={value}" for value in values)
        elif self.kind == "argument":
            yield from values
        elif self.kind == "switch":
            yield self.name


def slot_of(command: click.Command, key: str, place: str) -> tuple[Slot, click.Parameter | None]:
    """The slot that a key means, and the parameter that it is.

    A key is an option's name without dashes, or an argument's; what follows a file's name and a dot is
    a path in that file; where a command takes NAME=VALUE, any other name is one.

    Raises:
        Refusal: the command has none of that name.
    """
    params: dict[str, click.Parameter] = {}
    for param in command.params:
        if param.name not in _OURS:
            params |= dict.fromkeys(_names(param), param)
    wanted = key.replace("_", "-").lower()
    if wanted in params:
        param = params[wanted]
        if not isinstance(param, click.Option):
            return Slot("argument", param.name or ""), param
        return Slot("switch" if param.is_flag else "option", param.opts[0]), param
    file, dot, path = key.partition(".")
    holder = params.get(file.replace("_", "-").lower())
    if dot and holder is not None and reads_a_file(holder):
        return Slot("inside", path), None
    if any("NAME=VALUE" in str(param.metavar) for param in command.params):
        return Slot("word", key), None
    near = closest(f"--{wanted}", [f"--{word}" for word in params])
    hint = f"; did you mean {near[2:]}?" if near else "."
    raise Refusal(f"{place}: dpacct {command.name} has no option {shown(key)}{hint}", key)


def _names(param: click.Parameter) -> list[str]:
    """How a key may spell a parameter: an argument by its name, or as the help calls it."""
    if isinstance(param, click.Option):
        return [word.lstrip("-").replace("_", "-") for word in param.opts]
    called = str(param.metavar or "").strip("[]").lower()
    return [param.name or "", *([called] if called.isalpha() else [])]


def reads_a_file(param: click.Parameter) -> bool:
    """Whether its value is the name of a file."""
    return isinstance(param.type, Value) and isinstance(param.type.domain, File)


def is_whole(slot: Slot, param: click.Parameter | None) -> bool:
    """Whether only whole numbers go there."""
    if slot.kind == "inside":
        last = slot.name.rpartition(".")[2]
        return words.is_whole(last) or isinstance(federated_plan.NUMBERS.get(last), Integer)
    kind = None if param is None else param.type
    return isinstance(kind, Value) and isinstance(kind.domain, Integer)


def flattened(table: Mapping[str, object], ends: Iterable[str]) -> Iterator[tuple[str, object]]:
    """The keys of a table, with `plan.step.1.sigma` for what TOML reads as a table in a table.

    A table with a key of `ends` is a value.
    """
    for key, value in table.items():
        if isinstance(value, Mapping) and value and not value.keys() & {*ends}:
            for rest, inner in flattened(value, ends):
                yield f"{key}.{rest}", inner
        else:
            yield key, value

"""One point of a sweep, put to a command's own parser in this process."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import click

from dpacct.cli import failure
from dpacct.cli.exit_status import ExitStatus
from dpacct.cli.output import caught
from dpacct.cli.refusal import Refusal
from dpacct.sweep.row import Cell, Row


class NoAnswer(Refusal):
    """The command printed something that is no JSON object, or several."""


@dataclass(frozen=True)
class Asking:
    """What all points of a sweep have in common.

    Attributes:
        command: its name.
        words: the fixed options and arguments, as they would be typed.
        names: the option that each axis is, such as "--sigma"; "" for a positional argument.
        outputs: paths into the answer's JSON, such as "value" or "data_dependent.upper".
    """

    command: str
    words: tuple[str, ...]
    names: tuple[str, ...]
    outputs: tuple[str, ...]

    def __call__(self, point: tuple[str, ...]) -> Row:
        """The row of a point: its outputs, or the sentence and exit code of its failure."""
        try:
            body = self.body(point)
            return Row(tuple(_at(body, path) for path in self.outputs))
        except click.exceptions.Exit as leaving:
            told = f"dpacct {self.command} ended without an answer."
            return Row(error=told, code=leaving.exit_code or int(ExitStatus.INTERNAL))
        except Exception as error:
            what = failure.describe(error)
            return Row(error=what.message, code=int(what.status))

    def body(self, point: tuple[str, ...]) -> Mapping[str, Any]:
        """The JSON object that the command would print.

        Raises:
            Exception: whatever the command raises.
        """
        command = command_named(self.command)
        words = list(self.words)
        last: list[str] = []
        for name, value in zip(self.names, point, strict=True):
            # One word, so that a value such as -1 is never taken for an option.
            words += [f"{name}={value}"] if name else []
            last += [] if name else [value]
        with caught() as bodies, command.make_context(self.command, [*words, *last]) as context:
            command.invoke(context)
        if len(bodies) != 1:
            raise NoAnswer(f"dpacct {self.command} gives no single answer to keep.", "command")
        return bodies[0]


@cache
def command_named(name: str) -> click.Command:
    """The command of that name; it must exist."""
    from dpacct.cli.root import root

    found = root.get_command(click.Context(root), name)
    if found is None:
        raise Refusal(f"dpacct has no command {name[:40]!r}.", "command")
    return found


def paths(body: Any, before: str = "") -> dict[str, Cell]:
    """Every value of a JSON object by its path, such as "data_dependent.value" or "rates.0.fpr"."""
    if isinstance(body, Mapping):
        items = [(str(key), value) for key, value in body.items()]
    elif isinstance(body, list | tuple):
        items = [(str(place), value) for place, value in enumerate(body)]
    else:
        return {before: body}
    found: dict[str, Cell] = {}
    for key, value in items:
        found |= paths(value, f"{before}.{key}" if before else key)
    return found


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

"""One point of a sweep, put to a command's own parser in this process."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import click

from dpacct.cli import failure
from dpacct.cli.command import DeclaredCommand
from dpacct.cli.exit_status import ExitStatus
from dpacct.cli.output import caught
from dpacct.cli.refusal import Refusal
from dpacct.cli.sweep_slot import Slot
from dpacct.cli.toml_file import replaced
from dpacct.sweep.row import Cell, Row

_ORDER = {"option": 0, "switch": 0, "argument": 1, "word": 2, "inside": 3}


class NoAnswer(Refusal):
    """The command printed something that is no JSON object, or several."""


@dataclass(frozen=True)
class Asking:
    """What all points of a sweep have in common.

    Attributes:
        command: its name.
        fixed: what stays, each with its values.
        slots: what each axis is.
        outputs: paths into the answer's JSON, such as "value" or "data_dependent.upper".
        way: the switch that says how it shall answer, such as "--json"; or "".
    """

    command: str
    fixed: tuple[tuple[Slot, tuple[str, ...]], ...]
    slots: tuple[Slot, ...]
    outputs: tuple[str, ...]
    way: str = ""

    def __call__(self, point: tuple[str, ...]) -> Row:
        """The row of a point: its outputs, or the sentence and exit code of its failure."""
        try:
            body = self.body(point)
            return Row(tuple(_at(body, path) for path in self.outputs))
        except click.exceptions.Exit as leaving:
            message = f"dpacct {self.command} ended without an answer."
            return Row(error=message, code=leaving.exit_code or int(ExitStatus.INTERNAL))
        except Exception as error:
            what = failure.describe(error)
            return Row(error=what.message, code=int(what.status))

    def body(self, point: tuple[str, ...]) -> Mapping[str, Any]:
        """The JSON object that the command would print.

        Raises:
            Exception: whatever the command raises.
        """
        command = command_named(self.command)
        settings = (
            *self.fixed,
            *((slot, (value,)) for slot, value in zip(self.slots, point, strict=True)),
        )
        words = [self.way] if self.way else []
        for slot, values in sorted(settings, key=lambda setting: _ORDER[setting[0].kind]):
            words += slot.words(values)
        inside = {slot.name: values[0] for slot, values in settings if slot.kind == "inside"}
        with (
            caught() as bodies,
            replaced(inside),
            command.make_context(self.command, words) as context,
        ):
            command.invoke(context)
        if len(bodies) != 1:
            raise NoAnswer(f"dpacct {self.command} gives no single answer to keep.", "command")
        return bodies[0]


def command_named(name: str) -> DeclaredCommand:
    """The command of that name; it must exist."""
    from dpacct.cli.root import load

    return load(name)


def paths(body: Any, before: str = "") -> dict[str, Cell]:
    """Every value of a JSON object by its path, such as "data_dependent.value" or "rates.0.fpr"."""
    if isinstance(body, Mapping):
        items = [(str(key), value) for key, value in body.items()]
    elif isinstance(body, list | tuple):
        items = [(str(place), value) for place, value in enumerate(body)]
    else:
        return {before: body}
    cells: dict[str, Cell] = {}
    for key, value in items:
        cells |= paths(value, f"{before}.{key}" if before else key)
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

"""Where an answer goes: words or JSON on stdout, notes and hints on stderr."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpacct.cli.failure import SCHEMA
from dpacct.declare.record import Usage
from dpacct.errors import Unreachable

if TYPE_CHECKING:
    from dpacct.answer import Answer


@dataclass(frozen=True)
class Result:
    """What a command answers; each form is made when it is asked for.

    Attributes:
        body: the JSON object (or list), without schema and command; None where a file has it.
        lines: the words, printed as they come.
        quiet: what --quiet prints.
        answer: the one that it is about, if there is one.
        notes: on stderr, whatever the form.
        status: the exit code.
    """

    body: Callable[[], Any]
    lines: Callable[[], Iterable[str]]
    quiet: Callable[[], Iterable[str]] = tuple
    answer: Answer | None = None
    notes: Sequence[str] = ()
    status: int = 0


def payload(command: str, body: Any) -> Any:
    """The JSON document (schema 1) of a result's body."""
    return {"schema": SCHEMA, "command": command, **body} if isinstance(body, Mapping) else body


def within(answer: Answer) -> dict[str, Any]:
    """The JSON object of an answer inside another one, where schema and plan are stated once."""
    body = replace(answer, alternatives=(), tree=None).to_dict()
    return {key: value for key, value in body.items() if key not in ("schema", "plan")}


def write_json(body: Any) -> None:
    """One JSON document on stdout; NaN and infinity are not JSON and would be a bug of ours."""
    click.echo(json.dumps(body, indent=2, allow_nan=False))


def note(line: str) -> None:
    """Something beside the answer, on stderr."""
    click.echo(line, err=True)


def write_file(data: bytes, path: str, option: str = "--output") -> None:
    """The file, whole or not at all; `option` named it.

    Raises:
        InvalidArgument: the file cannot be written.
    """
    try:
        target = Path(path)
        if not target.is_file() and target.exists():
            target.write_bytes(data)  # a device or a pipe takes what it is given
            return
        half = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            half.write_bytes(data)
            half.replace(target)
        finally:
            half.unlink(missing_ok=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a file name"
        raise Usage(f"{option}: cannot write {path[:80]!r}: {reason}", argument=option) from None


def must_be_finite(answer: Answer) -> Answer:
    """The answer, unless it is infinite: that is no guarantee, so there is nothing to print.

    Raises:
        InvalidArgument: with the exit code of an unreachable target.
    """
    if math.isfinite(float(answer)):
        return answer
    raise Unreachable(f"no finite {answer.quantity} holds for this plan at this target")

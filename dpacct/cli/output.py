"""Where an answer goes: words or JSON on stdout, notes and hints on stderr."""

from __future__ import annotations

import io
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpacct.cli.failure import SCHEMA
from dpacct.declare.record import Usage
from dpacct.errors import Unreachable

if TYPE_CHECKING:
    from dpacct.answer import Answer


_caught: ContextVar[list[dict[str, Any]] | None] = ContextVar("caught", default=None)


@contextmanager
def caught() -> Iterator[list[dict[str, Any]]]:
    """Collect what would be printed, as JSON objects: for a command that asks another one.

    An answer comes without its plan, with its safe end as "safe"; words are not kept.
    """
    bodies: list[dict[str, Any]] = []
    token = _caught.set(bodies)
    nowhere = io.StringIO()
    try:
        with redirect_stdout(nowhere), redirect_stderr(nowhere):
            yield bodies
    finally:
        _caught.reset(token)


def collecting() -> bool:
    """Whether another command runs this one, and takes its answer with all that stands beside it."""
    return _caught.get() is not None


def collected(command: str, answer: Answer, notes: Sequence[str]) -> bool:
    """Hand the answer to the command that runs this one, if any; True if it must not be printed."""
    bodies = _caught.get()
    if bodies is not None:
        bare = replace(answer, tree=None)
        bodies.append({**payload(command, bare, notes), "safe": float(answer)})
    return bodies is not None


def payload(command: str, answer: Answer, notes: Sequence[str] = ()) -> dict[str, Any]:
    """The JSON object of an answer (schema 1)."""
    body: dict[str, Any] = {"schema": SCHEMA, "command": command}
    body |= answer.to_dict()
    return body | ({"notes": list(notes)} if notes else {})


def write_json(body: Mapping[str, Any]) -> None:
    """One JSON document on stdout; NaN and infinity are not JSON and would be a bug of ours."""
    if (bodies := _caught.get()) is not None:
        bodies.append(dict(body))
        return
    click.echo(json.dumps(body, indent=2, allow_nan=False))


def write_lines(lines: Sequence[str]) -> None:
    """Text on stdout."""
    click.echo("\n".join(lines))


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

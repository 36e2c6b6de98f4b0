"""The output of commands: answers on stdout, notes on stderr, and what is written to files."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from dpacct.declare.domain import one_of
from dpacct.declare.record import Usage
from dpacct.errors import Unreachable

if TYPE_CHECKING:
    from pathlib import Path

    from dpacct.answer import Answer
    from dpacct.report.plots.chart import Chart


class ExitStatus:
    """Exit codes; scripts may rely on them, since a code never changes its meaning."""

    OK = 0
    INTERNAL = 1
    USAGE = 2
    OUTSIDE_DOMAIN = 3
    UNREACHABLE = 4
    COUNTER_EXAMPLE = 5
    ASSUMPTION_VIOLATED = 6
    EXTRA_MISSING = 7
    WITHHELD = 8
    EVIDENCE_DAMAGED = 9
    NOT_JUDGED = 10
    CHECK_FAILED = 11
    INTERRUPTED = 130  # 128 + SIGINT, the shell's own convention
    BROKEN_PIPE = 141  # 128 + SIGPIPE: what `cat` and `grep` report in the same place


SCHEMA = 1


class Result(NamedTuple):
    """The result of a command; each output form is made on demand.

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


def document(command: str, body: Any) -> str:
    """The JSON document (schema 1) of a result's body; nothing where a file has it."""
    whole = {"schema": SCHEMA, "command": command, **body} if isinstance(body, Mapping) else body
    return "" if whole is None else as_text(whole)


def within(answer: Answer) -> dict[str, Any]:
    """The JSON object of an answer inside another one, where schema and plan are stated once."""
    from dataclasses import replace

    body = replace(answer, alternatives=(), tree=None).to_dict()
    return {key: value for key, value in body.items() if key not in ("schema", "plan")}


def as_text(body: Any, indent: int | None = 2) -> str:
    """One JSON document; NaN or infinity in it would be a bug."""
    import json

    return json.dumps(body, indent=indent, allow_nan=False)


def note(line: str) -> None:
    """Print a note on stderr."""
    click.echo(line, err=True)


def write_file(content: bytes, path: str, option: str = "--output") -> None:
    """Write a file atomically; raises `Usage` where that is not possible, with the option's name."""
    from pathlib import Path

    try:
        target = Path(path)
        if not target.is_file() and target.exists():
            target.write_bytes(content)  # a device or a pipe takes what it is given
            return
        half = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            half.write_bytes(content)
            half.replace(target)
        finally:
            half.unlink(missing_ok=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a file name"
        raise Usage(f"{option}: cannot write {path[:80]!r}: {reason}", argument=option) from None


def must_be_finite(answer: Answer) -> Answer:
    """The answer; raises `Unreachable` if it is infinite, which is no guarantee."""
    if math.isfinite(answer.value) and answer.upper != math.inf:
        return answer
    raise Unreachable(f"no finite {answer.quantity} holds for this plan at this target")


# --- a chart: a picture, a table, JSON, or the terminal itself

PICTURES = (".png", ".svg", ".pdf")
FILES = (*PICTURES, ".csv", ".json")


def writable(output: str) -> Path:
    """The path; before any work is done, raises `Usage` for another suffix, or a folder that is not there."""
    from pathlib import Path

    path = Path(output)
    if path.suffix.lower() not in FILES:
        message = f"--output must end in {one_of(FILES)}, got {output[:80]!r}"
        raise Usage(message, argument="--output")
    if not path.parent.is_dir() or path.is_dir() or "\0" in output:
        raise Usage(f"--output {output[:80]!r} lies in no folder that exists", argument="--output")
    return path


def write_chart(chart: Chart, command: str, body: Mapping[str, Any], path: Path) -> None:
    """Write a chart in the form that the suffix says: a picture, its CSV, or the command's JSON."""
    suffix = path.suffix.lower()
    if suffix in PICTURES:
        content = chart.to_bytes(suffix)
    else:
        text = chart.to_csv() if suffix == ".csv" else document(command, body) + "\n"
        content = text.encode()
    write_file(content, str(path))


def in_terminal(chart: Chart) -> str:
    """The chart as text for this terminal; "" where there is none, or it has no Unicode."""
    unicode = (sys.stdout.encoding or "").lower().startswith("utf")
    if not sys.stdout.isatty() or os.environ.get("TERM") == "dumb" or not unicode:
        return ""
    import shutil

    from dpacct.report.plots.terminal import text_plot

    columns, rows = shutil.get_terminal_size((80, 24))
    height = max(8, min(rows - 10, 20))
    return text_plot(chart, width=min(columns, 110), height=height)

"""The output of commands: answers on stdout, notes on stderr, errors as a sentence and an exit code."""

from __future__ import annotations

import io
import math
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

import click

from dpacct.cli.command import Command, spelled
from dpacct.declare.domain import did_you_mean, one_of
from dpacct.declare.record import Usage
from dpacct.errors import DpacctError, Unreachable

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


def in_utf8(stream: TextIO | None) -> None:
    """Write UTF-8 into pipes and files on every system; a terminal keeps its encoding."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(encoding=None if stream.isatty() else "utf-8", errors="replace")


SCHEMA = 1


class Failure(NamedTuple):
    """The reason why a command gave no answer."""

    status: int
    kind: str
    message: str
    argument: str | None = None

    def show(self, *, as_json: bool) -> None:
        """Print the failure where it belongs: JSON on stdout, a sentence on stderr."""
        if as_json:
            code, kind, message, argument = self
            body = {"code": code, "kind": kind, "message": message, "argument": argument}
            click.echo(as_text({"schema": SCHEMA, "error": body}, indent=None))
        else:
            plain = not sys.stderr.isatty() or os.environ.get("NO_COLOR")
            error = "error:" if plain else click.style("error:", fg="red", bold=True)
            click.echo(f"{error} {self.message}", err=True)


def describe(error: BaseException) -> Failure:
    """The failure that an exception amounts to; anything unforeseen is an internal error."""
    if isinstance(error, DpacctError):
        return Failure(error.exit_code, error.kind, _sentence(str(error)), error.argument)
    if isinstance(error, click.ClickException):
        return _usage(error)
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return Failure(ExitStatus.INTERRUPTED, "interrupted", "interrupted.")
    return _internal(error)


def _usage(error: click.ClickException) -> Failure:
    context = error.ctx if isinstance(error, click.UsageError) else None
    where = "dpacct" if context is None else context.command_path
    argument, message = None, error.format_message()
    if isinstance(error, click.NoSuchOption) and context is not None:
        argument = error.option_name[:40]
        message = f"{where} has no option {argument}{_meant(argument, context.command)}"
    elif isinstance(error, click.BadOptionUsage):
        argument = error.option_name
        message = f"{argument} needs a value after it"
    elif isinstance(error, click.BadParameter):
        argument = spelled(error.param)
    elif message.startswith("Got "):
        message = f"{where} got {message.removeprefix('Got ')}"
    return Failure(ExitStatus.USAGE, "usage", _sentence(message), argument)


def _meant(option: str, command: click.Command) -> str:
    """The message for an option that a command does not have."""
    if isinstance(command, Command):
        return command.refusal(option)
    options = [word for each in command.params for word in (*each.opts, *each.secondary_opts)]
    return f" before the command's name{did_you_mean(option, [*options, '--help'])}"


def _internal(error: BaseException) -> Failure:
    if os.environ.get("DPACCT_DEBUG") == "1":
        import traceback

        traceback.print_exception(error, file=sys.stderr)
    text = " ".join(str(error).split())[:200]
    return Failure(
        ExitStatus.INTERNAL,
        "internal",
        f"internal error ({type(error).__name__}: {text}), which is a bug in dpacct: please"
        " report this command with the traceback that DPACCT_DEBUG=1 prints.",
    )


def _sentence(message: str) -> str:
    """The message on one line, ending in a full stop."""
    line = " ".join(message.split())
    return line if line.endswith((".", "?", "!")) else line + "."


# --- answers


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


def payload(command: str, body: Any) -> Any:
    """The JSON document (schema 1) of a result's body."""
    return {"schema": SCHEMA, "command": command, **body} if isinstance(body, Mapping) else body


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
    if math.isfinite(float(answer)):
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
        raise Usage(
            f"--output must end in {one_of(FILES)}, got {output[:80]!r}", argument="--output"
        )
    if not path.parent.is_dir() or path.is_dir() or "\0" in output:
        raise Usage(f"--output {output[:80]!r} lies in no folder that exists", argument="--output")
    return path


def write_chart(chart: Chart, body: Mapping[str, Any], path: Path) -> None:
    """Write a chart in the form that the suffix says: a picture, its CSV, or its JSON."""
    suffix = path.suffix.lower()
    if suffix in PICTURES:
        content = chart.to_bytes(suffix)
    elif suffix == ".csv":
        content = chart.to_csv().encode()
    else:
        content = (as_text(body) + "\n").encode()
    write_file(content, str(path))


def shows_pictures() -> bool:
    """Return whether stdout is a terminal that can show pictures."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def in_terminal(chart: Chart) -> str:
    """The chart as text for this terminal: braille where it has Unicode."""
    import shutil

    from dpacct.report.plots.terminal import text_plot

    encoding = (sys.stdout.encoding or "").lower().replace("-", "")
    columns, rows = shutil.get_terminal_size((80, 24))
    return text_plot(
        chart,
        width=min(columns, 110),
        height=max(8, min(rows - 10, 20)),
        braille=encoding.startswith("utf"),
    )

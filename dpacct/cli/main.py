"""The `dpacct` program: a table of commands, and no error ever leaves as a traceback."""

from __future__ import annotations

import errno
import io
import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple

import click

from dpacct.cli.command import Command
from dpacct.cli.output import SCHEMA, ExitStatus, as_text
from dpacct.declare.domain import did_you_mean
from dpacct.declare.record import Usage
from dpacct.errors import DpacctError

COMMANDS = {
    "noise": "The smallest noise that meets a target.",
    "eps": "The epsilon of a plan.",
    "delta": "The delta of a plan.",
    "steps": "The most steps within a budget.",
    "compare": "Every method that applies, side by side.",
    "shuffle": "Amplification by shuffling.",
    "risk": "The privacy of a plan as attack success.",
    "audit": "Lower bounds on epsilon from an attack's scores.",
    "federated": "A federated plan, and what its paper says.",
    "pate": "Voting (PATE): data-dependent and data-independent cost, and the exact one.",
    "curve": "A whole curve: a picture, CSV or JSON.",
    "compose": "A plan of different steps, from a file.",
    "report": "The privacy statement of a plan, for a paper.",
    "check": "Check a plan against limits, its report and its ledger.",
    "cite": "BibTeX of an answer's sources.",
    "theorems": "The papers' statements, and which of them hold.",
    "tables": "The papers' printed numbers, recomputed.",
    "verify": "Search for counter-examples, or prove a certificate again.",
    "ledger": "Keep a privacy budget in a file: init, spend, show, log, check, report.",
}
"""Every command, as `dpacct --help` lists them; each is in the file of its name in `commands`."""
MEANT = dict(epsilon="eps", sigma="noise", calibrate="noise", rounds="steps", plot="curve")
"""Commands by the words of other tools."""

# Errors of writing to stdout; those of writing a file are reported where it is written.
_UNWRITABLE = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)


class Root(click.Group):
    """The group of all commands; a command's module is imported only when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every command in the order of the table."""
        return [*COMMANDS]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Every command with its line of the table; none is imported for that."""
        with formatter.section("Commands"):
            formatter.write_dl([*COMMANDS.items()])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, or None."""
        name = MEANT.get(cmd_name, cmd_name)
        return load(name) if name in COMMANDS else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve a command as click does, but suggest the closest name for an unknown one."""
        if args[0] == "help":  # dpacct help noise is dpacct noise --help
            args = [*args[1:2], "--help"] if args[1:] else ["--help"]
        if args[0] == "--help":
            click.echo(ctx.get_help())
            raise click.exceptions.Exit(0)
        if MEANT.get(args[0], args[0]) not in COMMANDS and not args[0].startswith("-"):
            meant = did_you_mean(args[0], [*COMMANDS, "--help"], MEANT)
            message = f"dpacct has no command {args[0][:40]!r}{meant}"
            raise Usage(message, argument="COMMAND")
        return super().resolve_command(ctx, args)

    def main(self, args: Sequence[str] | None = None, *_: Any, **__: Any) -> Any:
        """Run the program and exit with its code; `run` is the same without exiting."""
        sys.exit(self.run(sys.argv[1:] if args is None else args))

    def run(self, args: Sequence[str]) -> int:
        """Run one command line; returns the exit code."""
        if sys.stdout is None:  # closed by the caller (>&-), who wants no output
            sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
        for stream in (sys.stdout, sys.stderr):  # a terminal keeps its encoding
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(encoding=None if stream.isatty() else "utf-8", errors="replace")
        self._main_shell_completion({}, "dpacct", "_DPACCT_COMPLETE")  # if a shell is asking
        try:
            with warnings.catch_warnings():
                # A warning is for us to read: to the user it is neither answer nor error, but for
                # numpy's: what it warns of may have become part of the answer.
                if os.environ.get("DPACCT_DEBUG") != "1":
                    warnings.simplefilter("ignore")
                warnings.simplefilter("error", RuntimeWarning)
                with self.make_context("dpacct", [*args], terminal_width=_width()) as context:
                    self.invoke(context)
            sys.stdout.flush()
        except click.exceptions.Exit as leaving:
            return leaving.exit_code
        except (Exception, KeyboardInterrupt) as error:
            return _fail(error, as_json="--json" in args)
        return ExitStatus.OK


class Failure(NamedTuple):
    """The reason why a command gave no answer: the code, kind, message and argument of its JSON."""

    code: int
    kind: str
    message: str
    argument: str | None = None

    def show(self, *, as_json: bool) -> int:
        """Print the failure where it belongs, JSON on stdout or a sentence on stderr; return its code."""
        line = " ".join(self.message.split())
        line += "" if line.endswith((".", "?", "!")) else "."
        if as_json:
            error = self._replace(message=line)._asdict()
            click.echo(as_text({"schema": SCHEMA, "error": error}, indent=None))
            sys.stdout.flush()
            return self.code
        coloured = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
        start = click.style("error:", fg="red", bold=True) if coloured else "error:"
        click.echo(f"{start} {line}", err=True)
        return self.code


def describe(error: BaseException) -> Failure:
    """The failure that an exception amounts to; anything unforeseen is an internal error."""
    if isinstance(error, DpacctError):
        return Failure(error.exit_code, error.kind, str(error), error.argument)
    if isinstance(error, click.ClickException):
        return _usage(error)
    if isinstance(error, KeyboardInterrupt):
        return Failure(ExitStatus.INTERRUPTED, "interrupted", "interrupted")
    if os.environ.get("DPACCT_DEBUG") == "1":
        import traceback

        traceback.print_exception(error, file=sys.stderr)
    said = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
    text = f"internal error ({said}), which is a bug in dpacct: please report this command with the"
    return Failure(ExitStatus.INTERNAL, "internal", f"{text} traceback that DPACCT_DEBUG=1 prints")


def _usage(error: click.ClickException) -> Failure:
    """The failure for a line that click refuses, in our words."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    where = "dpacct" if context is None else context.command_path
    argument, message = None, error.format_message()
    if isinstance(error, click.NoSuchOption) and context is not None:
        argument, command = error.option_name[:40], context.command
        if isinstance(command, Command):
            end = command.refusal(argument)
        else:
            words = [word for each in command.params for word in each.opts]
            end = f" before the command's name{did_you_mean(argument, [*words, '--help'])}"
        message = f"{where} has no option {argument}{end}"
    elif isinstance(error, click.BadOptionUsage):
        argument, message = error.option_name, f"{error.option_name} needs a value after it"
    else:
        message = f"{where} {message[:1].lower()}{message[1:]}"
    return Failure(ExitStatus.USAGE, "usage", message, argument)


def _fail(error: BaseException, *, as_json: bool) -> int:
    try:
        if isinstance(error, OSError) and error.errno in _UNWRITABLE:
            raise error
        return describe(error).show(as_json=as_json)
    except OSError as refused:
        # Python flushes stdout once more at exit, which would complain; give it somewhere to write.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(refused, BrokenPipeError):
            return ExitStatus.BROKEN_PIPE  # its reader is gone (`dpacct ... | head -1`): no error
        message = f"cannot write to standard output: {refused.strerror}"
        return Failure(ExitStatus.USAGE, "usage", message).show(as_json=False)


def _width() -> int:
    """The columns of a help text; click would load shutil for it, which takes 2 ms."""
    try:
        columns = int(os.environ.get("COLUMNS") or 0) or os.get_terminal_size(1).columns
    except (ValueError, OSError):
        columns = 80
    return max(min(columns, 100) - 2, 50)


def load(name: str) -> Command:
    """The command of that name."""
    made: Command = import_module(f"dpacct.cli.commands.{name}").main
    return made


@click.group(
    cls=Root,
    no_args_is_help=False,
    invoke_without_command=True,
    context_settings={"help_option_names": ["--help", "-h"]},
)
@click.version_option(None, "--version", "-V", package_name="dpacct", message="dpacct %(version)s")
@click.pass_context
def root(ctx: click.Context) -> None:
    """An exact accountant for differential privacy.

    Each command answers one question about a training plan or a single release. Numbers may be
    written as 1e-5, 256/60000, 1 % or 1000^-1.1; --json answers to a program. Training itself is
    `dpacct-train`.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def main(argv: Sequence[str] | None = None) -> int:
    """Run `dpacct` on a list of words (`sys.argv[1:]` by default) and return its exit code.

    >>> main(["--version"])  # doctest: +ELLIPSIS
    dpacct ...
    0
    """
    return root.run(sys.argv[1:] if argv is None else argv)

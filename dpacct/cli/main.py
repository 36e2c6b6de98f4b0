"""The `dpacct` program: a table of commands, and no error ever leaves as a traceback."""

from __future__ import annotations

import errno
import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from dpacct.cli.output import ExitStatus, Failure, describe, in_utf8
from dpacct.declare.domain import did_you_mean
from dpacct.declare.record import Usage

if TYPE_CHECKING:
    from dpacct.cli.command import Command

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
MEANT = {
    "epsilon": "eps",
    "sigma": "noise",
    "calibrate": "noise",
    "rounds": "steps",
    "plot": "curve",
}
"""Commands by the words of other tools."""
COMPLETE_VARIABLE = "_DPACCT_COMPLETE"

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
        name = args[0]
        if name == "help":  # dpacct help noise is dpacct noise --help
            args = [*args[1:2], "--help"] if args[1:] else []
            if not args:
                click.echo(ctx.get_help())
                raise click.exceptions.Exit(0)
            name = args[0]
        if MEANT.get(name, name) not in COMMANDS and not name.startswith("-"):
            meant = did_you_mean(name, [*COMMANDS, "--help"], MEANT)
            message = f"dpacct has no command {name[:40]!r}{meant}"
            raise Usage(message, argument="COMMAND")
        return super().resolve_command(ctx, args)

    def main(self, args: Sequence[str] | None = None, *_: Any, **__: Any) -> Any:
        """Run the program and exit with its code; `run` is the same without exiting."""
        sys.exit(self.run(sys.argv[1:] if args is None else args))

    def run(self, args: Sequence[str]) -> int:
        """Run one command line; returns the exit code."""
        words = list(args)
        if sys.stdout is None:  # closed by the caller (>&-), who wants no output
            sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
        in_utf8(sys.stdout)
        in_utf8(sys.stderr)
        if COMPLETE_VARIABLE in os.environ:  # a shell is asking what could come next
            self._main_shell_completion({}, "dpacct", COMPLETE_VARIABLE)
        try:
            with warnings.catch_warnings():
                # A warning is for us to read: to the user it is neither answer nor error, but for
                # numpy's: what it warns of may have become part of the answer.
                if os.environ.get("DPACCT_DEBUG") != "1":
                    warnings.simplefilter("ignore")
                warnings.simplefilter("error", RuntimeWarning)
                with self.make_context("dpacct", words, terminal_width=_width()) as context:
                    self.invoke(context)
            sys.stdout.flush()
        except click.exceptions.Exit as leaving:
            return leaving.exit_code
        except (Exception, KeyboardInterrupt) as error:
            return _fail(error, as_json="--json" in args)
        return ExitStatus.OK


def _fail(error: BaseException, *, as_json: bool) -> int:
    try:
        if isinstance(error, OSError) and error.errno in _UNWRITABLE:
            raise error
        what = describe(error)
        what.show(as_json=as_json)
        sys.stdout.flush()
    except OSError as refused:
        return _hang_up(refused)
    return what.status


def _hang_up(error: OSError) -> int:
    """End when stdout cannot be written: its reader is gone (`dpacct ... | head -1`) or a disk is full."""
    # Python flushes stdout once more at exit, which would complain; give it somewhere to write.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return ExitStatus.BROKEN_PIPE  # that is no error to talk about
    message = f"cannot write to standard output: {error.strerror}."
    Failure(ExitStatus.USAGE, "usage", message).show(as_json=False)
    return ExitStatus.USAGE


def _width() -> int:
    """The columns of a help text: those of the terminal, from 50 to 98; click would load shutil for it."""
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
@click.version_option(
    None,
    *("--version", "-V"),
    package_name="dpacct",
    message="%(package)s %(version)s",
    help="Print the version and exit.",
)
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

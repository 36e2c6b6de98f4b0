"""The `dpacct` program: finds its commands by file name, and lets no error out as a traceback."""

from __future__ import annotations

import errno
import importlib
import os
import sys
import warnings
from collections.abc import Sequence
from functools import cache
from typing import Any

import click

from dpacct.cli import commands
from dpacct.cli.command import Command, DeclaredCommand
from dpacct.cli.output import ExitStatus, Failure, describe, in_utf8
from dpacct.declare.domain import did_you_mean
from dpacct.declare.record import Usage

ORDER = (
    *("noise", "eps", "delta", "steps", "compare", "shuffle", "risk", "audit", "federated", "pate"),
    *(
        "curve",
        "compose",
        "report",
        "check",
        "cite",
        "theorems",
        "tables",
        "verify",
        "ledger",
    ),
)
"""The usual commands, as `dpacct --help` lists them."""
SYNONYMS = {
    "epsilon": "eps",
    "sigma": "noise",
    "calibrate": "noise",
    "rounds": "steps",
    "plot": "curve",
    "help": "--help",
}
"""Commands for words that users of other tools type."""
COMPLETE_VARIABLE = "_DPACCT_COMPLETE"

# Errors of writing to stdout; those of writing a file are reported where it is written.
_UNWRITABLE = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)


class Root(click.Group):
    """The group of all commands; a command's module is imported only when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every command: the usual ones in their order, then whatever else there is."""
        there = names()
        return [*(name for name in ORDER if name in there), *sorted({*there} - {*ORDER})]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Every command with the first line of its file, which is not imported for that."""
        lines: dict[str, str] = {}
        for folder in commands.__path__:
            for name in self.list_commands(ctx):
                file = os.path.join(folder, f"{name}.py")
                if os.path.isfile(file):
                    with open(file, encoding="utf-8") as source:
                        lines.setdefault(name, source.readline().strip().strip('"'))
        with formatter.section("Commands"):
            formatter.write_dl([(name, lines[name]) for name in self.list_commands(ctx)])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, or None."""
        return load(cmd_name) if cmd_name in names() else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve a command as click does, but suggest the closest name for an unknown one."""
        name = args[0]
        if name not in names() and not name.startswith("-") and not ctx.resilient_parsing:
            raise Usage(
                f"dpacct has no command {name[:40]!r}"
                + did_you_mean(name, [*names(), "--help"], SYNONYMS),
                argument="COMMAND",
            )
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


def names() -> list[str]:
    """Every command, by the files there are."""
    files = [file for folder in commands.__path__ for file in sorted(os.listdir(folder))]
    return [file[:-3] for file in files if file.endswith(".py") and not file.startswith("_")]


@cache
def load(name: str) -> DeclaredCommand:
    """The command of that name; its file must be there."""
    module = importlib.import_module(f"{commands.__name__}.{name}")
    declared = [
        each
        for each in vars(module).values()
        if isinstance(each, type)
        and issubclass(each, Command)
        and each.__module__ == module.__name__
    ]
    return DeclaredCommand(name, declared[-1])


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
    written as expressions, such as 1e-5, 256/60000 or 1000^-1.1; --json answers to a program.
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

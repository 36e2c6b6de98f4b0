"""The entry point of `dpacct-train`: errors are one sentence and an exit code, as in `dpacct`."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

import click

import dpacct as dp
from dpacct_training.cli.attack import attack
from dpacct_training.cli.audit import audit
from dpacct_training.cli.data import data
from dpacct_training.cli.flower import flower
from dpacct_training.cli.replicate import replicate
from dpacct_training.cli.run import run

root = click.Group(
    "dpacct-train",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Federated training whose executed coins, clips and noise are what dpacct accounts.",
)
click.version_option(dp.__version__, prog_name="dpacct-train")(root)
for _command in (data, run, attack, audit, flower, replicate):
    root.add_command(_command)


def main(argv: Sequence[str] | None = None) -> int:
    """Run `dpacct-train` on a list of words (`sys.argv[1:]` by default); returns its exit code.

    >>> main(["--version"])
    dpacct-train, version ...
    0
    """
    words = list(sys.argv[1:] if argv is None else argv)
    as_json = "--json" in words
    try:
        code = root.main(words, prog_name="dpacct-train", standalone_mode=False)
    except click.ClickException as error:
        message = " ".join(error.format_message().split())
        return _refused(2, "usage", message, None, as_json)
    except (click.Abort, KeyboardInterrupt):
        message = "interrupted; the same command continues"
        return _refused(130, "interrupted", message, None, as_json)
    except OSError as error:
        return _refused(2, "system", str(error), None, as_json)
    except dp.DpacctError as error:
        return _refused(error.exit_code, error.kind, error.message, error.argument, as_json)
    return code if isinstance(code, int) else 0


def _refused(code: int, kind: str, message: str, argument: str | None, as_json: bool) -> int:
    """Print an error as a sentence or as JSON; returns the exit code."""
    if as_json:
        error = {"code": code, "kind": kind, "message": message, "argument": argument}
        click.echo(json.dumps({"schema": 1, "error": error}))
    else:
        click.echo(f"dpacct-train: {message}", err=True)
    return code

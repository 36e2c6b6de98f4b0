"""The entry point of `dpacct-train`: errors are one sentence and an exit code, as in `dpacct`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

import dpacct as dp
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
for _command in (data, run, audit, flower, replicate):
    root.add_command(_command)


def main(argv: Sequence[str] | None = None) -> int:
    """Run `dpacct-train` on a list of words (`sys.argv[1:]` by default); returns its exit code.

    >>> main(["--version"])
    dpacct-train, version ...
    0
    """
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        code = root.main(words, prog_name="dpacct-train", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return 2
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted; the same command continues", err=True)
        return 130
    except OSError as error:
        click.echo(f"dpacct-train: {error}", err=True)
        return 2
    except dp.DpacctError as error:
        click.echo(f"dpacct-train: {error.message}", err=True)
        return error.exit_code
    return code if isinstance(code, int) else 0

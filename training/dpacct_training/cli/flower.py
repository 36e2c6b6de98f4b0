"""`dpacct-train flower`: an experiment as a Flower app."""

from __future__ import annotations

from pathlib import Path

import click

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
    from dpacct import InvalidArgument
    from dpacct_training.accept import positive, whole
    from dpacct_training.cli.run import change
    from dpacct_training.experiment import Experiment
    from dpacct_training.extras import required, torch

    torch()
    required("flwr")
    from dpacct_training.engines.flower.app import write_app

    read = Experiment.read(experiment).changed(dict(change(text) for text in changes))
    folder = out or Path(experiment.stem)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        message = f"out must be a new or an empty folder, got {str(folder)!r}"
        raise InvalidArgument(message, argument="out")
    runs = str((folder / "run").resolve())
    write_app(folder, read, whole("hosts", hosts, 1, 1024), positive("deadline", deadline), runs)
    click.echo(f"flwr run {folder}: the run's folder is {runs}, on the SuperLink's machine")

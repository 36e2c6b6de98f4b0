"""Progress on standard error: bars on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from dpacct_training.data.cache import Progress
from dpacct_training.folder import Row

_PAUSE = 5.0  # seconds between lines where there is no terminal


@contextmanager
def download_bar(name: str) -> Iterator[Progress]:
    """Bytes so far, speed and time left."""
    if not sys.stderr.isatty():
        yield _download_lines(name)
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TimeRemainingColumn, TransferSpeedColumn
    from rich.progress import Progress as Bars

    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Bars("{task.description}", *columns, console=Console(stderr=True)) as bars:
        task = bars.add_task(name, total=None)
        yield lambda got, total: bars.update(task, completed=got, total=total)


def _download_lines(name: str) -> Progress:
    last = [time.monotonic()]

    def update(got: int, total: int | None) -> None:
        if time.monotonic() - last[0] > _PAUSE or got == total:
            last[0] = time.monotonic()
            of = "" if total is None else f" of {total / 1e6:.1f}"
            click.echo(f"{name}: {got / 1e6:.1f}{of} MB", err=True)

    return update


def line(row: Row, rounds: int) -> str:
    """One measurement in words.

    >>> line({"round": 3, "loss": 1.5, "accuracy": 0.5, "seconds": 6.0, "epsilon": 0.25}, 30)
    'round  3/30  accuracy 50.00 %  loss 1.5000  epsilon <= 0.25  54 s left'
    """
    width = len(str(rounds))
    epsilon = f"  epsilon <= {row['epsilon']:.4g}" if "epsilon" in row else ""
    left = row["seconds"] / row["round"] * (rounds - row["round"])
    return (
        f"round {row['round']:>{width}}/{rounds}  accuracy {100 * row['accuracy']:.2f} %"
        f"  loss {row['loss']:.4f}{epsilon}  {left:.0f} s left"
    )


@contextmanager
def live(quiet: bool, total: int, describe: Callable[..., str]) -> Iterator[Callable[..., None]]:
    """A progress callback for steps; `describe` puts them into words."""
    if quiet:
        yield lambda *update: None
        return
    if not sys.stderr.isatty():
        yield lambda *update: click.echo(describe(*update), err=True)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TimeElapsedColumn

    with Progress(
        BarColumn(), TimeElapsedColumn(), "{task.description}", console=Console(stderr=True)
    ) as bar:
        task = bar.add_task("", total=total)

        def step(*update: Any) -> None:
            done = update[0]["round"] if isinstance(update[0], dict) else None
            bar.update(
                task, description=describe(*update), completed=done, advance=None if done else 1
            )

        yield step


@contextmanager
def portions(quiet: bool, name: str) -> Iterator[Callable[[int, int], None]]:
    """A progress callback for (done, total); it prints every tenth."""
    shown = -1
    with live(quiet, 100, lambda row, name: f"{name}  {row['round']} %") as step:

        def watch(done: int, of: int) -> None:
            nonlocal shown
            if (share := 10 * (10 * done // of)) > shown:
                shown = share
                step({"round": share}, name)

        yield watch

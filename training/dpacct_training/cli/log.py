"""`dpacct-train run --log`: each measurement goes to a CSV file, TensorBoard or Weights & Biases as well."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

from dpacct_training.accept import one_of
from dpacct_training.extras import library
from dpacct_training.folder import Row

Log = Callable[[Row, int], None]
"""Told each measurement, and how many rounds there are."""
COLUMNS = ("round", "accuracy", "loss", "epsilon", "clients", "missing", "seconds")


def to_csv(folder: Path, name: str) -> Log:
    """Append rows to metrics.csv, with a head where the file is new."""
    path = folder / "metrics.csv"
    path.parent.mkdir(parents=True, exist_ok=True)

    def write(row: Row, rounds: int) -> None:
        fresh = not path.exists()
        with path.open("a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, COLUMNS, restval="", extrasaction="ignore")
            if fresh:
                writer.writeheader()
            writer.writerow(row)

    return write


def to_tensorboard(folder: Path, name: str) -> Log:
    """Write event files where `tensorboard --logdir FOLDER` finds them."""
    library("tensorboard", "tensorboard")
    writer = library("torch.utils.tensorboard", "tensorboard").SummaryWriter(folder / "tensorboard")

    def write(row: Row, rounds: int) -> None:
        for key in COLUMNS[1:-1]:
            if key in row:
                writer.add_scalar(key, row[key], row["round"])
        writer.flush()

    return write


def to_wandb(folder: Path, name: str) -> Log:
    """Send rows to the run of the folder's name; WANDB_MODE, WANDB_PROJECT and the like apply."""
    run = library("wandb", "wandb").init(dir=str(folder), name=name, resume="allow")

    def write(row: Row, rounds: int) -> None:
        run.log({key: row[key] for key in COLUMNS[1:] if key in row}, step=row["round"])

    return write


KINDS = {"csv": to_csv, "tensorboard": to_tensorboard, "wandb": to_wandb}


def log(kind: str, folder: Path, name: str) -> Log:
    """The log of this kind. Raises `InvalidArgument`, `MissingExtra`."""
    return KINDS[one_of("log", kind, KINDS)](folder, name)

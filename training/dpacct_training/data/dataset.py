"""Samples with labels and their division among clients; synthetic ones for tests."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpacct import InvalidArgument
from dpacct_training.accept import one_of, positive, whole

SCALINGS = ("unit", "symmetric", "none", "boxes")
SIDE = 8
"""Height and width of what "boxes" makes of a picture."""


@dataclass(frozen=True)
class Dataset:
    """`x`: one sample per row, pixels as bytes or character codes; `y`: class numbers.

    `roles`: who each sample belongs to, where the data know (None: they do not). Raises `InvalidArgument`.
    """

    name: str
    x: NDArray[Any]
    y: NDArray[np.int64]
    classes: int
    roles: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        if len(self.x) != len(self.y) or self.y.ndim != 1:
            message = f"y must be one class number for each of the {len(self.x)} samples"
            raise InvalidArgument(f"{message}, got the shape {self.y.shape}", argument="y")
        if len(self.y) and not 0 <= self.y.min() <= self.y.max() < self.classes:
            message = f"y must be from 0 to {self.classes - 1}"
            raise InvalidArgument(f"{message}, got {self.y.min()} to {self.y.max()}", argument="y")

    def __len__(self) -> int:
        return len(self.y)

    def part(self, rows: NDArray[np.int64] | slice) -> Dataset:
        """A subset of the samples."""
        roles = None if self.roles is None else self.roles[rows]
        return Dataset(self.name, self.x[rows], self.y[rows], self.classes, roles)

    def scaled(self, scaling: str) -> NDArray[Any]:
        """The samples as a model reads them.

        "unit": pixels in [0, 1]; "symmetric": in [-1, 1]; "none": as they are; "boxes": each picture by
        itself cut to its ink, in 8 x 8 shares of ink, the same for pictures of every size.
        """
        one_of("scaling", scaling, SCALINGS)
        if scaling == "none":
            return self.x
        if scaling == "boxes":
            return boxes(self.x)
        pixels: NDArray[Any] = np.divide(self.x, np.float32(255.0), dtype=np.float32)
        if scaling == "symmetric":  # in place: new memory costs more than the arithmetic
            pixels *= np.float32(2.0)
            pixels -= np.float32(1.0)
        return pixels


def boxes(x: NDArray[Any]) -> NDArray[np.float32]:
    """Grey pictures of bytes, each cut to the square around its ink and averaged into `SIDE` x `SIDE`.

    The largest share of ink in a picture becomes 1, so that pens of all strengths look alike.
    """
    if x.ndim != 4 or x.shape[1] != 1:
        message = "scaling must be unit, symmetric or none for what is no grey picture"
        raise InvalidArgument(f"{message}, got 'boxes'", argument="scaling")
    small = np.zeros((len(x), 1, SIDE, SIDE), np.float32)
    for row, (picture,) in zip(small, x, strict=True):
        high, wide = (np.flatnonzero(picture.any(axis=axis)) for axis in (1, 0))
        if not len(high):
            continue
        ink = picture[high[0] : high[-1] + 1, wide[0] : wide[-1] + 1].astype(np.float32)
        missing = ink.shape[0] - ink.shape[1]
        ink = np.pad(ink, [(k // 2, k - k // 2) for k in (max(0, -missing), max(0, missing))])
        shares = _shares(len(ink))
        row[0] = shares @ ink @ shares.T
        row /= row.max()
    return small


@cache
def _shares(side: int) -> NDArray[np.float32]:
    """(SIDE, side): how much of each old place lies in each new one, over the new one's size."""
    ends = np.arange(SIDE + 1) * (side / SIDE)
    first, last = ends[:-1, None], ends[1:, None]
    place = np.arange(side)
    overlap = np.minimum(last, place + 1) - np.maximum(first, place)
    shares: NDArray[np.float32] = (np.clip(overlap, 0.0, None) * (SIDE / side)).astype(np.float32)
    return shares


@dataclass(frozen=True)
class DataParts:
    """The parts of a data set: training and test samples."""

    train: Dataset
    test: Dataset


@dataclass(frozen=True)
class Federation:
    """Training samples with the rows that each client holds, and what the model is judged by.

    `public`: samples that the server may look at, or None. `read`: data sets as models read them, kept
    once for all runs on this federation.
    """

    train: Dataset
    clients: tuple[NDArray[np.int64], ...]
    validation: Dataset
    test: Dataset
    scaling: str = "unit"
    public: Dataset | None = None
    read: dict[int, Any] = field(default_factory=dict, repr=False, compare=False)
    sizes: tuple[int, ...] = ()
    """The samples of each client, counted, also of clients whose rows are elsewhere."""

    def __post_init__(self) -> None:
        taken = np.concatenate([np.empty(0, np.int64), *self.clients])
        if len(np.unique(taken)) != len(taken):
            message = "clients must hold disjoint rows: a shared sample belongs to several"
            raise InvalidArgument(message, argument="clients")
        if not self.sizes:
            object.__setattr__(self, "sizes", tuple(len(rows) for rows in self.clients))
        if min(self.sizes) == 0:
            raise InvalidArgument("every client must hold a sample", argument="clients")

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one sample as a model reads it."""
        return (1, SIDE, SIDE) if self.scaling == "boxes" else self.train.x.shape[1:]

    def of_clients(self, kept: Collection[int]) -> Federation:
        """The part that the host of these clients needs: their samples, and what is public."""
        nothing: NDArray[np.int64] = np.empty(0, np.int64)
        places = np.concatenate([nothing, *(self.clients[client] for client in kept)])
        train, first, rows = self.train.part(places), 0, [nothing] * len(self.clients)
        for client in kept:
            rows[client] = np.arange(first, first + self.sizes[client])
            first += self.sizes[client]
        return replace(self, train=train, clients=tuple(rows), read={})

    def fingerprint(self) -> str:
        """A checksum of all data: replaying noise over other data would reveal both."""
        mark = hashlib.sha256()
        parts = [self.train, self.validation, self.test]
        if self.public is not None and self.public is not self.validation:
            parts.append(self.public)
        for part in parts:
            for array in (part.x, part.y):
                mark.update(f"{array.dtype}{array.shape}".encode())
                mark.update(np.ascontiguousarray(array).data)
        mark.update(repr(self.sizes).encode())
        for rows in self.clients:
            mark.update(len(rows).to_bytes(8, "little") + rows.astype("<i8").tobytes())
        mark.update(self.scaling.encode())
        return mark.hexdigest()


def synth(
    *,
    samples: int = 2000,
    side: int = 8,
    classes: int = 4,
    noise: float = 40.0,
    seed: int = 0,
) -> DataParts:
    """Grey images of `side` x `side` bytes; a fifth more samples, drawn alike, are the test set."""
    count = whole("samples", samples, 1)
    rng = np.random.default_rng(whole("seed", seed))
    grid = np.linspace(0.0, np.pi, whole("side", side, 2, 1024))
    kinds = whole("classes", classes, 2, 1000)
    waves = rng.normal(size=(kinds, 3, 3))
    basis = np.cos(np.arange(3)[:, None] * grid)
    shapes = np.einsum("kij,ix,jy->kxy", waves, basis, basis)
    shapes /= np.abs(shapes).max(axis=(1, 2), keepdims=True)
    y = rng.integers(kinds, size=count + max(1, count // 5))
    x = 127.5 + 80.0 * shapes[y] + rng.normal(size=(len(y), side, side)) * positive("noise", noise)
    pixels = np.clip(np.round(x), 0, 255).astype(np.uint8)[:, None]
    whole_set = Dataset(f"synth({count}, {side}, {kinds}, {noise:g}, {seed})", pixels, y, kinds)
    return DataParts(whole_set.part(slice(0, count)), whole_set.part(slice(count, None)))

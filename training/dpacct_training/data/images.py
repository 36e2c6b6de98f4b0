"""Pictures: MNIST, Fashion-MNIST, CIFAR-10, byte for byte, digits of other hands; the formats idx and PNG.

The other digits are what agents that learned on MNIST's meet at a server (AE-DPFL). Of every ten the first
seven are for training, as AE-DPFL divides a server's domain: 70 % are public samples without labels, 30 %
are for testing.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import math
import struct
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpacct import InvalidArgument
from dpacct_training.data import cache, sources
from dpacct_training.data.sources import Arrays, PinnedPackage
from dpacct_training.extras import required

Images = tuple[NDArray[np.uint8], NDArray[np.int64]]


def divided(x: NDArray[np.uint8], y: NDArray[np.int64]) -> Arrays:
    """Seven of every ten for training, three for testing: the sets are ordered by class or writer."""
    train = np.arange(len(y)) % 10 < 7
    parts = {"train": train, "test": ~train}
    arrays = {f"x_{name}": x[rows][:, None] for name, rows in parts.items()}
    return arrays | {f"y_{name}": y[rows] for name, rows in parts.items()}


def _cells(lines: Iterable[str]) -> NDArray[np.int64]:
    return np.array([line.split(",") for line in lines], np.float64).astype(np.int64)


def optdigits(content: bytes) -> Images:
    """1,797 digits of 8 x 8 shares of ink, 0 to 16; the label comes last."""
    cells = _cells(gzip.decompress(content).decode().split())
    ink = np.rint(cells[:, :-1] * (255 / 16)).astype(np.uint8)
    return ink.reshape(-1, 8, 8), cells[:, -1]


def mfeat(content: bytes) -> Images:
    """2,000 digits of 16 x 15 shares of ink, 0 to 6, under a line of names; the label comes last."""
    cells = _cells(content.decode().split()[1:])
    ink = np.rint(cells[:, :-1] * (255 / 6)).astype(np.uint8)
    return ink.reshape(-1, 16, 15), cells[:, -1]


def opencv(content: bytes) -> Images:
    """5,000 digits of 20 x 20 in one picture, a hundred a row and five rows a digit."""
    picture = read_png("digits.png", content, colours=1)
    tiles = picture.reshape(50, 20, 100, 20).transpose(0, 2, 1, 3).reshape(-1, 20, 20)
    return tiles, np.repeat(np.arange(10), 500)


def _digits(
    name: str,
    members: Callable[[bytes, list[str]], Any],
    images: Callable[[bytes], Images],
) -> PinnedPackage:
    """Digits out of one pinned file of a package."""

    def read(content: bytes) -> Arrays:
        (held,) = cache.pinned(content, sources.files(name), members).values()
        return divided(*images(held))

    return sources.pinned(name, read)


DIGITS = (
    _digits("optdigits", cache.from_zip, optdigits),
    _digits("mfeat", cache.from_zip, mfeat),
    _digits("opencv-digits", cache.from_deb, opencv),
)


# --- formats


def read_idx(name: str, content: bytes) -> NDArray[np.uint8]:
    """An array of bytes: magic 00 00 08 n, then n sizes, then the values; gzip is undone.

    >>> read_idx("x", bytes([0, 0, 8, 1, 0, 0, 0, 2, 7, 9])).tolist()
    [7, 9]
    """
    if content[:2] == b"\x1f\x8b":
        content = gzip.decompress(content)
    if len(content) < 4 or content[:3] != b"\0\0\x08" or not 1 <= content[3] <= 4:
        message = f"{name} must be an idx file of bytes, got {content[:4]!r}"
        raise InvalidArgument(message, argument="path")
    ndim = content[3]
    head = 4 + 4 * ndim
    shape = struct.unpack(f">{ndim}I", content[4:head]) if len(content) >= head else (1,)
    values = np.frombuffer(content, np.uint8)[head:]
    if values.size != math.prod(shape):
        message = f"{name} must hold {math.prod(shape)} values, got {values.size}"
        raise InvalidArgument(message, argument="path")
    return values.reshape(shape)


def read_png(name: str, content: bytes, colours: int = 3) -> NDArray[np.uint8]:
    """(height, width, colours) of 8-bit red, green and blue, or of grey (1). Raises `InvalidArgument`."""
    image = required("PIL.Image")
    try:
        picture = image.open(io.BytesIO(content), formats=["PNG"])
        values = np.asarray(picture)
    except (OSError, SyntaxError, ValueError) as error:
        raise InvalidArgument(f"{name} must be a PNG: {error}", argument="path") from None
    values = values[..., None] if values.ndim == 2 else values
    if values.shape[2] != colours or values.dtype != np.uint8:
        got = f"got the shape {values.shape} of {values.dtype}"
        message = f"{name} must hold {colours} numbers of 8 bits a place, {got}"
        raise InvalidArgument(message, argument="path")
    return values


def idx_source(name: str, members: Callable[[bytes, list[str]], Any]) -> PinnedPackage:
    """60,000 and 10,000 images of 28 x 28 in four idx files, each pinned."""
    files = sources.files(name)

    def read(content: bytes) -> Arrays:
        held = cache.pinned(content, files, members)
        arrays = {part: read_idx(files[part][0], held[part]) for part in files}
        return {part: v[:, None] if part.startswith("x") else v for part, v in arrays.items()}

    return sources.pinned(name, read)


MNIST = idx_source("mnist", cache.from_tar)
FASHION = idx_source("fashion-mnist", cache.from_deb)

# --- CIFAR-10: the package keeps each batch as one picture with an image in every row. Written out in
# the layout of the official binary version, the bytes have the official checksums; they are checked.

_ROWS = 10_000
OFFICIAL = dict(sources.files("cifar10").values())
"""The sha256 of each picture file: data_batch_1.bin .. data_batch_5.bin and test_batch.bin."""
LABELS = ("package/train_lables.json", "package/test_lables.json")  # as the package spells them


def official(x: NDArray[np.uint8], y: NDArray[np.int64]) -> bytes:
    """A batch in the layout of the official binary version: label, then red, green, blue."""
    rows = np.concatenate([y.astype(np.uint8)[:, None], x.reshape(len(x), -1)], axis=1)
    return rows.tobytes()


def read_cifar10(content: bytes) -> Arrays:
    """50,000 and 10,000 colour images of 32 x 32."""
    held = cache.from_tar(content, [*OFFICIAL, *LABELS])
    train, test = (np.array(json.loads(held[name]), np.int64) for name in LABELS)
    labels = [*np.split(train, 5), test]
    batches = []
    for name, y, sha256 in zip(OFFICIAL, labels, OFFICIAL.values(), strict=True):
        pixels = read_png(name, held.pop(name)).reshape(_ROWS, 1024, 3)
        x = np.ascontiguousarray(pixels.transpose(0, 2, 1)).reshape(_ROWS, 3, 32, 32)
        if hashlib.sha256(official(x, y)).hexdigest() != sha256:
            message = f"{name} must rebuild the official batch, and its checksum differs"
            raise InvalidArgument(message, argument="sha256")
        batches.append(x)
    return {
        "x_train": np.concatenate(batches[:5]),
        "y_train": train,
        "x_test": batches[5],
        "y_test": test,
    }


CIFAR10 = sources.pinned("cifar10", read_cifar10)
SOURCES = (MNIST, FASHION, CIFAR10, *DIGITS)

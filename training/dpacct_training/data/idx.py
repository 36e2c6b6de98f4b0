"""The idx format of MNIST and its relatives."""

from __future__ import annotations

import gzip
import math
import struct
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from dpacct import InvalidArgument
from dpacct_training.data import cache


def read(name: str, content: bytes) -> NDArray[np.uint8]:
    """An array of bytes: magic 00 00 08 n, then n sizes, then the values; gzip is undone.

    >>> read("x", bytes([0, 0, 8, 1, 0, 0, 0, 2, 7, 9])).tolist()
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


def files(pattern: str, *hashes: str) -> dict[str, tuple[str, str]]:
    """{name: (path, SHA-256)} of images and labels for training, then for testing."""
    parts = ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1")
    names = ("x_train", "y_train", "x_test", "y_test")
    return {
        name: (pattern.format(part), sha256)
        for name, part, sha256 in zip(names, parts, hashes, strict=True)
    }


def pinned(
    content: bytes,
    files: Mapping[str, tuple[str, str]],
    members: Callable[[bytes, list[str]], Mapping[str, bytes]],
) -> dict[str, NDArray[np.uint8]]:
    """Arrays of an archive's idx files, {name: (path, SHA-256)}; images get their one channel."""
    held = members(content, [path for path, _ in files.values()])
    result = {
        name: read(path, cache.check(path, held[path], sha256))
        for name, (path, sha256) in files.items()
    }
    return {name: v[:, None] if name.startswith("x") else v for name, v in result.items()}

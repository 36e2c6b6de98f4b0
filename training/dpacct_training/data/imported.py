"""Data sets that a user holds: copied into the cache as plain arrays."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpacct import DpacctError, InvalidArgument
from dpacct_training.data import cache
from dpacct_training.data.dataset import DataParts
from dpacct_training.data.images import read_idx
from dpacct_training.data.sources import Arrays, by_name, pieces
from dpacct_training.extras import required

_NEEDED = ("x_train", "y_train", "x_test", "y_test")
_IDX = {
    "x_train": "*train*images*idx3*",
    "y_train": "*train*labels*idx1*",
    "x_test": "*t*[es][0-9s]*images*idx3*",
    "y_test": "*t*[es][0-9s]*labels*idx1*",
}


def _folder() -> Path:
    return cache.folder() / "imported"


def names() -> list[str]:
    """List the imported data sets."""
    return sorted(path.stem for path in _folder().glob("*.npz"))


def load(name: str) -> DataParts:
    """An imported data set."""
    with np.load(_folder() / f"{name}.npz", allow_pickle=False) as held:
        arrays = dict(held)
    classes = int(max(arrays["y_train"].max(), arrays["y_test"].max())) + 1
    return pieces(name, arrays, classes)


def bring(path: Path, name: str) -> Path:
    """Copy the data at `path` into the cache; returns the new file.

    A .npz with x_train, y_train, x_test, y_test (and roles_train, roles_test); a folder of idx files
    (EMNIST, USPS); or one with train_32x32.mat and test_32x32.mat (SVHN). Pickles are refused.
    Raises `InvalidArgument`.
    """
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,40}", name) or name in {*by_name(), "synth"}:
        message = "name must be lower-case letters, digits, - and _, and not that of a built-in set"
        raise InvalidArgument(f"{message}, got {name!r:.60}", argument="name")
    if not path.exists():
        raise InvalidArgument(f"path must exist, got {str(path)!r}", argument="path")
    return keep(name, _checked(_read(path)))


def keep(name: str, arrays: Arrays) -> Path:
    """Arrays as a data set in the cache. Raises `InvalidArgument`."""
    pieces(name, arrays, int(max(arrays["y_train"].max(), arrays["y_test"].max())) + 1)
    return cache.write(_folder() / f"{name}.npz", arrays)


def _read(path: Path) -> Arrays:
    try:
        if path.is_dir():
            return _folder_of(path)
        with path.open("rb") as file, np.load(file, allow_pickle=False) as held:
            return dict(held)
    except DpacctError:
        raise
    except Exception as error:  # NumPy, zipfile and SciPy raise their own kinds over a broken file
        message = f"path must be a .npz of plain arrays or a folder, got {str(path)!r} ({error})"
        raise InvalidArgument(message[:300], argument="path") from None


def _folder_of(path: Path) -> Arrays:
    if (path / "train_32x32.mat").exists() and (path / "test_32x32.mat").exists():
        return _svhn(path)
    arrays = {}
    for name, pattern in _IDX.items():
        files = sorted(path.glob(pattern))
        if len(files) != 1:
            message = f"the folder must hold one file like {pattern}, got {len(files)}"
            raise InvalidArgument(message, argument="path")
        arrays[name] = read_idx(files[0].name, files[0].read_bytes())
    return arrays


def _svhn(path: Path) -> Arrays:
    """Images (32, 32, 3, n) and labels 1..10, where 10 stands for the digit 0."""
    read = required("scipy.io").loadmat
    arrays: Arrays = {}
    for part in ("train", "test"):
        held = read(path / f"{part}_32x32.mat")
        arrays[f"x_{part}"] = np.ascontiguousarray(held["X"].transpose(3, 2, 0, 1))
        arrays[f"y_{part}"] = held["y"].ravel() % 10
    return arrays


def _checked(arrays: Arrays) -> Arrays:
    for name in _NEEDED:
        if name not in arrays:
            held = ", ".join(sorted(arrays)) or "nothing"
            raise InvalidArgument(f"the data must hold {name}, got {held}", argument="path")
    checked: Arrays = {}
    for name, values in arrays.items():
        if values.dtype.kind not in "uif":
            message = f"{name} must be numbers, got {values.dtype}"
            raise InvalidArgument(message, argument="path")
        if not values.size or not np.isfinite(values).all():
            message = f"{name} must be finite numbers, and some of them"
            raise InvalidArgument(f"{message}, got nan, inf or nothing", argument="path")
        if not name.startswith("x_") and (values != np.floor(values)).any():
            raise InvalidArgument(f"{name} must be whole numbers", argument="path")
        checked[name] = _images(values) if name.startswith("x_") else values.astype(np.int64)
    return checked


def _images(values: NDArray[Any]) -> NDArray[Any]:
    """(samples, height, width) gets its one channel."""
    return values[:, None] if values.ndim == 3 else values

"""Data sets that a user holds: copied into the cache as plain arrays."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from dpacct import InvalidArgument
from dpacct_training.data import cache
from dpacct_training.data.dataset import DataParts
from dpacct_training.data.sources import Arrays, by_name, pieces

_NEEDED = ("x_train", "y_train", "x_test", "y_test")


def _folder() -> Path:
    return cache.folder() / "imported"


def names() -> list[str]:
    """List the imported data sets."""
    return sorted(path.stem for path in _folder().glob("*.npz"))


def load(name: str) -> DataParts:
    """An imported data set."""
    with np.load(_folder() / f"{name}.npz", allow_pickle=False) as held:
        return _pieces(name, dict(held))


def _pieces(name: str, arrays: Arrays) -> DataParts:
    return pieces(name, arrays, int(max(arrays["y_train"].max(), arrays["y_test"].max())) + 1)


def bring(path: Path, name: str) -> Path:
    """Copy a .npz with x_train, y_train, x_test, y_test (and roles_train) into the cache; its new path.

    Pickles are refused. Raises `InvalidArgument`.
    """
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,40}", name) or name in {*by_name(), "synth"}:
        message = "name must be lower-case letters, digits, - and _, and not that of a built-in set"
        raise InvalidArgument(f"{message}, got {name!r:.60}", argument="name")
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as held:
            arrays = dict(held)
    except Exception as error:  # NumPy and zipfile raise their own kinds over a broken file
        message = f"path must be a .npz of plain arrays, got {str(path)!r} ({error})"
        raise InvalidArgument(message[:300], argument="path") from None
    return keep(name, _checked(arrays))


def keep(name: str, arrays: Arrays) -> Path:
    """Arrays as a data set in the cache. Raises `InvalidArgument`."""
    _pieces(name, arrays)
    return cache.write(_folder() / f"{name}.npz", arrays)


def _checked(arrays: Arrays) -> Arrays:
    for name in _NEEDED:
        if name not in arrays:
            held = ", ".join(sorted(arrays)) or "nothing"
            raise InvalidArgument(f"the data must hold {name}, got {held}", argument="path")
    checked: Arrays = {}
    for name, values in arrays.items():
        fine = values.dtype.kind in "uif" and values.size and np.isfinite(values).all()
        if not fine or (not name.startswith("x_") and (values != np.floor(values)).any()):
            kind = "finite" if name.startswith("x_") else "whole"
            message = f"{name} must be {kind} numbers, and some of them"
            raise InvalidArgument(f"{message}, got others", argument="path")
        if name.startswith("x_"):  # (samples, height, width) gets its one channel
            checked[name] = values[:, None] if values.ndim == 3 else values
        else:
            checked[name] = values.astype(np.int64)
    return checked

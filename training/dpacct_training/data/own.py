"""Data that live apart: each client's samples in a file of its own, read by the host that has the client.

A folder has `client-0.npz`, `client-1.npz`, ... with arrays x and y, and on the server's machine `test.npz`.
In its place a function "package.module:load" gives (x, y) for a client's number, and for "test". A host
reads its own clients and nothing else; the server reads the test samples only. Every client has the number
of samples that the experiment declares public ([data] each): more are left out, fewer are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpacct import InvalidArgument
from dpacct_training.data.dataset import DataParts, Dataset

Load = Callable[[Any], tuple[NDArray[Any], NDArray[Any]]]
"""The samples and labels of a client, by its number, or of "test"."""
TEST = "test"


def imported_function(where: str, argument: str) -> Any:
    """The function of "package.module:function". Raises `InvalidArgument`."""
    module, _, name = where.partition(":")
    try:
        return vars(import_module(module))[name]
    except (ImportError, KeyError) as error:
        message = f"{argument} must name a function, package.module:function, got {where!r:.80}"
        raise InvalidArgument(f"{message} ({error})", argument=argument) from None


def loader(where: str) -> Load:
    """The function that reads a folder, or the one of that name."""
    if ":" in where and not Path(where).exists():
        function: Load = imported_function(where, "path")
        return function
    folder = Path(where)
    if not folder.is_dir():
        message = f"path must be a folder of client-0.npz, client-1.npz, ..., got {where!r:.80}"
        raise InvalidArgument(message, argument="path")

    def load(who: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        path = folder / (f"{TEST}.npz" if who == TEST else f"client-{who}.npz")
        try:
            with np.load(path, allow_pickle=False) as held:
                return held["x"], held["y"]
        except (OSError, KeyError, ValueError) as error:
            message = f"the data of {who} must be x and y in {str(path)!r} ({error})"
            raise InvalidArgument(message[:300], argument="path") from None

    return load


def read(
    where: str, clients: Collection[int], each: int, classes: int, tested: bool
) -> tuple[DataParts, dict[int, NDArray[np.int64]]]:
    """(samples of these clients one after the other, and test samples; the rows of each client).

    `tested`: whether there are test samples here. Raises `InvalidArgument`.
    """
    load = loader(where)
    xs, ys = [], []
    for client in clients:
        x, y = _checked(load(client), f"client {client}", classes)
        if len(y) < each:
            message = f"client {client} must have the {each} samples that are declared"
            raise InvalidArgument(f"{message}, got {len(y)}", argument="each")
        xs.append(x[:each])
        ys.append(y[:each])
    test = _checked(load(TEST), TEST, classes) if tested else (xs[0][:0], ys[0][:0])
    nothing = (test[0][:0], test[1][:0])
    try:
        x, y = np.concatenate([nothing[0], *xs]), np.concatenate([nothing[1], *ys])
    except ValueError as error:
        message = f"samples of all clients must have one shape ({error})"
        raise InvalidArgument(message[:300], argument="path") from None
    rows = {client: np.arange(i * each, (i + 1) * each) for i, client in enumerate(clients)}
    return DataParts(Dataset("own", x, y, classes), Dataset("own", *test, classes)), rows


def _checked(held: Any, who: str, classes: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    x, y = (np.asarray(array) for array in held)
    if len(x) != len(y) or y.ndim != 1 or y.dtype.kind not in "iu" or x.dtype.kind not in "iuf":
        message = f"the data of {who} must be numbers x and whole labels y, as many of them"
        raise InvalidArgument(f"{message}, got the shapes {x.shape} and {y.shape}", argument="path")
    if len(y) and not 0 <= y.min() <= y.max() < classes:
        message = f"labels of {who} must be from 0 to {classes - 1}"
        raise InvalidArgument(f"{message}, got {y.min()} to {y.max()}", argument="classes")
    if not np.isfinite(x).all():
        raise InvalidArgument(f"the data of {who} must be finite", argument="path")
    return (x[:, None] if x.ndim == 3 else x), y.astype(np.int64)

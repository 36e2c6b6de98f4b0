"""People in tables: UCI Adult, as bytes that models read as pixels.

No number is looked up in the data: numbers are shares of a public largest value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from dpacct_training.data import cache, sources
from dpacct_training.data.sources import Arrays

Table = list[list[str]]


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
    places: dict[int, dict[str, int]] = {}
    for column in words:
        vocabulary = sorted({row[column] for table in tables.values() for row in table})
        places[column] = {word: place for place, word in enumerate(vocabulary)}
    result: Arrays = {}
    for part, table in tables.items():
        shares = np.array([[float(row[c]) / most for c, most in numbers.items()] for row in table])
        pieces = [np.floor(np.clip(shares, 0.0, 1.0) * 255.0 + 0.5).astype(np.uint8)]
        for column, place in places.items():
            full = np.eye(len(place), dtype=np.uint8) * np.uint8(255)
            pieces.append(full[[place[row[column]] for row in table]])
        result[f"x_{part}"] = np.hstack(pieces)
        result[f"y_{part}"] = np.array([positive(row) for row in table], np.int64)
    return result


# --- UCI Adult (census income, 1994): who earns above 50,000 dollars

ADULT = sources.files("adult")
ADULT_NUMBERS = {0: 100.0, 4: 16.0, 10: 99_999.0, 11: 4_356.0, 12: 99.0}
"""Age, years of education, gain, loss, hours: columns with the largest value that the census codes."""
ADULT_WORDS = (1, 3, 5, 6, 7, 8, 9, 13)
"""Employer, education, marriage, occupation, relationship, race, sex, country; the weight is left out."""


def _cells(text: str, columns: int) -> Table:
    """Lines of so many columns; the last may end in a full stop, and others are remarks."""
    lines = [line.rstrip(".") for line in text.splitlines() if line.count(",") == columns - 1]
    return [[cell.strip() for cell in line.split(",")] for line in lines]


def read_adult(content: bytes) -> Arrays:
    """32,561 and 16,281 people as the census divides them."""
    files = cache.pinned(content, ADULT, cache.from_zip)
    tables = {part: _cells(text.decode(), 15) for part, text in files.items()}
    return arrays(tables, ADULT_NUMBERS, ADULT_WORDS, lambda row: row[14] == ">50K")


SOURCES = (sources.pinned("adult", read_adult),)

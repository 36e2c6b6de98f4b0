"""People in tables: UCI Adult, as bytes that models read as pixels.

No number is looked up in the data: numbers are shares of a public largest value.
"""

from __future__ import annotations

import numpy as np

from dpacct_training.data import cache, sources
from dpacct_training.data.sources import Arrays

ADULT = sources.files("adult")
NUMBERS = {0: 100.0, 4: 16.0, 10: 99_999.0, 11: 4_356.0, 12: 99.0}
"""Age, years of education, gain, loss, hours: columns with the largest value that the census codes."""
WORDS = (1, 3, 5, 6, 7, 8, 9, 13)
"""Employer, education, marriage, occupation, relationship, race, sex, country; the weight is left out."""
_COLUMNS = 15


def read_adult(content: bytes) -> Arrays:
    """32,561 and 16,281 people as the census divides them (1994): who earns above 50,000 dollars.

    Numbers are shares of their largest value, words a place each: those of both parts, in alphabetical
    order. Both are bytes, 255 for 1. Lines of the test file end in a full stop, and others are remarks.
    """
    tables = {}
    for part, text in cache.pinned(content, ADULT, cache.from_zip).items():
        lines = [line.rstrip(".").split(",") for line in text.decode().splitlines()]
        tables[part] = [[cell.strip() for cell in line] for line in lines if len(line) == _COLUMNS]
    arrays: Arrays = {}
    for part, table in tables.items():
        shares = np.array([[float(row[c]) / most for c, most in NUMBERS.items()] for row in table])
        pieces = [np.floor(np.clip(shares, 0.0, 1.0) * 255.0 + 0.5).astype(np.uint8)]
        for column in WORDS:
            words = sorted({row[column] for rows in tables.values() for row in rows})
            full = np.eye(len(words), dtype=np.uint8) * np.uint8(255)
            pieces.append(full[[words.index(row[column]) for row in table]])
        arrays[f"x_{part}"] = np.hstack(pieces)
        arrays[f"y_{part}"] = np.array([row[14] == ">50K" for row in table], np.int64)
    return arrays


SOURCES = (sources.pinned("adult", read_adult),)

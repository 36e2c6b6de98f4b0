"""People in tables: UCI Adult, COMPAS and the KDD census, as bytes that models read as pixels.

No number is looked up in the data: numbers are shares of a public largest value.
"""

from __future__ import annotations

import csv
import io
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


# --- COMPAS (ProPublica 2016): who is arrested again within two years

COMPAS = sources.files("compas")
COMPAS_NUMBERS = {
    "age": 100.0,
    "priors_count": 40.0,
    "juv_fel_count": 20.0,
    "juv_misd_count": 20.0,
}
COMPAS_WORDS = ("sex", "race", "c_charge_degree")


def kept(row: dict[str, str]) -> bool:
    """ProPublica's own filter: a score within thirty days of an arrest, and a known charge and end."""
    days = row["days_b_screening_arrest"]
    return (
        days != ""
        and -30 <= int(days) <= 30
        and row["is_recid"] != "-1"
        and row["c_charge_degree"] != "O"
        and row["score_text"] != "N/A"
    )


def read_compas(content: bytes) -> Arrays:
    """6,172 people; every fifth is for testing."""
    (text,) = cache.pinned(content, COMPAS, cache.from_zip).values()
    names = [*COMPAS_NUMBERS, *COMPAS_WORDS, "two_year_recid"]
    people = csv.DictReader(io.StringIO(text.decode()))
    rows = [[row[n] for n in names] for row in people if kept(row)]
    tables = {
        "train": [row for place, row in enumerate(rows) if place % 5],
        "test": [row for place, row in enumerate(rows) if place % 5 == 0],
    }
    numbers = dict(enumerate(COMPAS_NUMBERS.values()))
    words = range(len(COMPAS_NUMBERS), len(names) - 1)
    return arrays(tables, numbers, words, lambda row: row[-1] == "1")


# --- KDD Census-Income (1994 and 1995): who earns above 50,000 dollars

KDD = sources.files("kdd-census")
KDD_NUMBERS = {0: 90.0, 5: 9_999.0, 16: 99_999.0, 17: 4_608.0, 18: 99_999.0, 30: 6.0, 39: 52.0}
"""Age, hourly wage, gain, loss, dividends, size of the employer, weeks worked."""
_KDD_WEIGHT, _KDD_INCOME = 24, 41


def read_kdd(content: bytes) -> Arrays:
    """199,523 and 99,762 people; all other columns are codes or words, and the weight is left out."""
    files = cache.pinned(content, KDD, cache.from_tar)
    tables = {part: _cells(text.decode(), 42) for part, text in files.items()}
    words = [c for c in range(_KDD_INCOME) if c not in KDD_NUMBERS and c != _KDD_WEIGHT]
    return arrays(tables, KDD_NUMBERS, words, lambda row: row[_KDD_INCOME] == "50000+")


SOURCES = (
    sources.pinned("adult", read_adult),
    sources.pinned("compas", read_compas),
    sources.pinned("kdd-census", read_kdd),
)

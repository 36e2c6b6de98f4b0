"""The stored long search covers the corrected statements as they stand; a part of it runs here."""

from __future__ import annotations

import pytest

from dpacct.papers.page import Statement
from tests.papers.long_search import POINTS, corrected, fingerprint, run, stored

CORRECTED = corrected()
WAITING = {e.id for e in CORRECTED} - stored().keys()
"""Not searched at length yet: more points of these are judged here."""


@pytest.mark.parametrize(
    "statement", [e for e in CORRECTED if e.id not in WAITING], ids=lambda e: e.id
)
def test_it_survived(statement: Statement) -> None:
    """`python -m tests.papers.long_search` searches again what has changed."""
    result = stored()[statement.id]
    assert result["formula"] == fingerprint(statement), "changed since it was searched"
    assert result["points"] >= POINTS and not result["violated"]


def test_none_waits() -> None:
    assert not WAITING, "python -m tests.papers.long_search"


@pytest.mark.parametrize("statement", CORRECTED, ids=lambda e: e.id)
def test_a_part_of_it(statement: Statement) -> None:
    assert not run(statement, 120 if statement.id in WAITING else 12)["violated"]

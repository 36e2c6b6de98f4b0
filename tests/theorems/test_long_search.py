"""The stored long search covers the corrected statements as they stand; a part of it runs here."""

from __future__ import annotations

import pytest

from dpacct.theorems.entry import Entry
from tests.theorems.long_search import POINTS, corrected, fingerprint, run, stored

CORRECTED = corrected()
WAITING = {e.id for e in CORRECTED} - stored().keys()
"""Not searched at length yet: more points of these are judged here."""


@pytest.mark.parametrize("entry", [e for e in CORRECTED if e.id not in WAITING], ids=lambda e: e.id)
def test_it_survived(entry: Entry) -> None:
    """`python -m tests.theorems.long_search` searches again what has changed."""
    result = stored()[entry.id]
    assert result["formula"] == fingerprint(entry), "changed since it was searched"
    assert result["points"] >= POINTS and not result["violated"]


def test_none_waits() -> None:
    assert not WAITING, "python -m tests.theorems.long_search"


@pytest.mark.parametrize("entry", CORRECTED, ids=lambda e: e.id)
def test_a_part_of_it(entry: Entry) -> None:
    assert not run(entry, 120 if entry.id in WAITING else 12)["violated"]

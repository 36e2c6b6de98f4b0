"""The stored long search covers every corrected statement as it stands; a part of it runs here."""

from __future__ import annotations

import pytest

from dpacct.theorems.entry import Entry
from tests.theorems.long_search import POINTS, corrected, fingerprint, run, stored

CORRECTED = corrected()


@pytest.mark.parametrize("entry", CORRECTED, ids=lambda e: e.id)
def test_it_survived(entry: Entry) -> None:
    """`python -m tests.theorems.long_search` searches again what has changed."""
    result = stored().get(entry.id)
    assert result is not None, "not searched"
    assert result["formula"] == fingerprint(entry), "changed since it was searched"
    assert result["points"] >= POINTS and not result["violated"]


@pytest.mark.parametrize("entry", CORRECTED[:: max(1, len(CORRECTED) // 8)], ids=lambda e: e.id)
def test_a_part_of_it(entry: Entry) -> None:
    assert not run(entry, 25)["violated"]

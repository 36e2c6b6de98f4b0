"""docs/theorems is what the entries say today."""

from __future__ import annotations

from dpacct.theorems.page import pages
from tests.structure.project import ROOT

FOLDER = ROOT / "docs" / "theorems"
HAND_WRITTEN = {"mutation.md", "search.md"}


def test_the_pages_are_fresh() -> None:
    """`dpacct theorems pages docs/theorems` makes them anew."""
    made = pages(FOLDER)
    there = {path.name for path in FOLDER.glob("*.md")} - HAND_WRITTEN
    assert there == set(made)
    stale = [name for name, text in made.items() if (FOLDER / name).read_text("utf-8") != text]
    assert not stale, f"run: dpacct theorems pages docs/theorems ({stale[:3]})"

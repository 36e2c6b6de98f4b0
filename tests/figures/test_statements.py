"""The pictures on the statements' pages are drawn from their table, and the table from the code."""

from __future__ import annotations

import math
from itertools import groupby

import pytest

from dpacct.papers.registry import get, statements
from figures.record import Row, from_csv
from figures.statements.make import PICTURES, TABLE, pictures
from figures.statements.sweep import compared, must_judge, stored

ROWS = from_csv(TABLE.read_text(encoding="utf-8"))
BY_ID = {name: list(rows) for name, rows in groupby(ROWS, key=lambda row: str(row["id"]))}
WITHIN = 1e-6
POINTS = 5  # of each statement that are computed again, both ends among them


def test_pictures_are_drawn_from_the_table() -> None:
    """To the byte: `python figures/make.py --draw statements` draws them anew."""
    drawn = pictures(ROWS)
    assert set(PICTURES.iterdir()) == set(drawn)
    stale = [p.name for p, text in drawn.items() if p.read_text(encoding="utf-8") != text]
    assert not stale


def test_every_refuted_number_is_seen_to_be_violated() -> None:
    """Each refuted statement that has a judge and a picture shows where the truth is against it."""
    refuted = {statement.id for statement in statements() if statement.evidence == "refuted"}
    shown = refuted & set(BY_ID)
    assert len(shown) > 35
    assert not [name for name in shown if not any(row["violated"] == 1 for row in BY_ID[name])]
    others = set(BY_ID) - refuted
    assert not [name for name in others if any(row["violated"] == 1 for row in BY_ID[name])]


@pytest.mark.parametrize("name", sorted(BY_ID))
def test_points_of_the_table_are_computed_again(name: str) -> None:
    rows: list[Row] = BY_ID[name]
    statement = get(name)
    base = stored(statement)
    assert base is not None
    argument = str(rows[0]["argument"])
    kind = type(base[argument])
    within = max(WITHIN, 2 * must_judge(statement).within)
    for place in range(POINTS):
        row = rows[place * (len(rows) - 1) // (POINTS - 1)]
        again = compared(statement, {**base, argument: kind(row["x"])})
        assert again is not None
        for column in ("claimed", "lower", "upper"):
            now, then = getattr(again, column), float(row[column])
            assert math.isclose(now, then, rel_tol=within, abs_tol=1e-12), (column, row["x"])

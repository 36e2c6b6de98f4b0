"""Every printed number that a calculator can produce comes out; the exceptions are named."""

from __future__ import annotations

import math

import pytest

from dpacct.errors import InvalidArgument
from dpacct.theorems.cell import Cell
from dpacct.theorems.registry import papers
from dpacct.verify.printed import cells, rows, truth_of
from tests.cli.runner import line

ROWS = list(rows(exact=False))
# 27.2476 is printed cut off; any further exception needs a reason in its note.
NOT_REPRODUCED = {("dp_fed_ls", "Table 3", "27.24")}


def test_the_numbers_come_out() -> None:
    missed = {(r.cell.paper, r.cell.table, r.cell.printed) for r in ROWS if not r.matches}
    explained = {(r.cell.paper, r.cell.table, r.cell.printed) for r in ROWS if r.cell.note}
    assert missed & {c for c in missed if c[0] == "dp_fed_ls"} == NOT_REPRODUCED
    assert missed <= explained


def test_each_cell_belongs_to_a_paper() -> None:
    assert {cell.paper for cell in cells()} <= set(papers())
    assert len({(c.paper, c.table, c.cell) for c in cells()}) == len(cells())


@pytest.mark.parametrize("table", sorted({(c.paper, c.table, c.truth or "") for c in cells()}))
def test_the_truth_has_two_ends(table: tuple[str, str, str]) -> None:
    """One cell of each table and kind: all of them are computed by `dpacct tables`."""
    cell = next(c for c in cells() if (c.paper, c.table, c.truth or "") == table)
    truth = truth_of(cell)
    if truth is not None:
        lower, upper = truth(**cell.inputs)
        assert 0.0 <= lower <= upper < math.inf


def test_the_tables_of_dp_fed_ls() -> None:
    done = line("tables dp_fed_ls --no-truth --json")
    assert done.code == 0 and len(done.json) == 24
    assert sum(row["matches_printed"] for row in done.json) == 23
    assert set(done.json[0]) == {
        *("paper", "table", "cell", "inputs", "printed", "computed", "matches_printed"),
        *("exact", "note"),
    }


def test_rounding_is_to_the_printed_digits() -> None:
    cell = Cell(paper="x", table="t", cell="c", inputs={}, printed="2.50", formula=lambda: 2.5)
    assert cell.matches(2.4951) and not cell.matches(2.49)


def test_an_unknown_paper_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="paper must be one of"):
        cells("dp_fed_l")
    assert line("tables dp_fed_l").code == 2

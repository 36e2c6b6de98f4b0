"""Every stored value that cites tests/papers/fifty.py is what it computes; none cites what nobody has."""

from __future__ import annotations

import re

import mpmath as mp
import pytest

from dpacct.papers.page import Reference, Statement
from tests.papers import fifty
from tests.papers.statements import ALL
from tests.structure.project import ROOT

CITED = [(s, row) for s in ALL for row in s.values if fifty.CITED in row.source]
# Where a number can be checked: a script here, a command, a table of the paper, or plain arithmetic.
CHECKABLE = re.compile(r"tests/papers/fifty\.py|`dpacct |printed in |by hand")
FLOOR = mp.mpf(10) ** -300


def close(value: mp.mpf, stored: str, within: float) -> bool:
    wanted = mp.mpf(stored)
    return bool(value == wanted or abs(value - wanted) <= within * abs(wanted) + FLOOR)


@pytest.mark.parametrize(
    ("statement", "row"), CITED, ids=lambda x: getattr(x, "id", None) or x.line
)
def test_the_script_computes_it(statement: Statement, row: Reference) -> None:
    at = f"{statement.path}:{row.line}"
    if row.formula:
        value = fifty.formula(statement, row)
        assert close(value, row.formula, row.tolerance), (at, mp.nstr(value, 20))
    if row.truth:
        true = fifty.true_value(statement, row)
        assert close(true, row.truth, row.tolerance), (at, mp.nstr(true, 20))


def test_every_value_says_where_it_can_be_checked() -> None:
    vague = [
        f"{s.path}:{r.line} {r.source}"
        for s in ALL
        for r in s.values
        if not CHECKABLE.search(r.source)
    ]
    assert not vague
    assert (ROOT / fifty.CITED).is_file()

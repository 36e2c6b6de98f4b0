"""Every stored value that cites tests/papers/fifty.py is what it computes; none cites what nobody has."""

import re

import mpmath as mp
import pytest

from dpacct.papers.page import Reference, Statement
from dpacct.papers.registry import PAGES
from tests.papers import fifty
from tests.papers.statements import ALL
from tests.structure.project import ROOT

CITED = [(s, row) for s in ALL for row in s.values if fifty.CITED in row.source]
# Where a number can be checked: plain arithmetic, the script here, or a command; and what it is besides.
CHECKABLE = re.compile(
    r"(by hand|(by hand; )?tests/papers/fifty\.py(; .+)?|`dpacct [^`]+`(, (upper end|lower end|weak))?)"
)
# What a stranger has not: notes of the project that are no part of the repository.
ELSEWHERE = re.compile(r"errata|research|prototype|issue \d|/work/|our notes", re.IGNORECASE)
FILE = re.compile(r"\b(?:tests|docs|dpacct)/[\w/.]+\.\w+")
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
        if not CHECKABLE.fullmatch(r.source)
    ]
    assert not vague
    assert (ROOT / fifty.CITED).is_file()


def test_no_page_cites_what_is_not_here() -> None:
    lines = [
        (path.relative_to(ROOT), number, line)
        for path in sorted(PAGES.glob("*/*.md"))
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
    ]
    assert [each for each in lines if ELSEWHERE.search(each[2])] == []
    cited = {(p, n, name) for p, n, line in lines for name in FILE.findall(line)}
    assert [each for each in sorted(cited) if not (ROOT / each[2]).is_file()] == []


@pytest.mark.parametrize("source", ["our errata of the papers", "by hand, see our errata", ""])
def test_a_vague_source_is_seen(source: str) -> None:
    assert not CHECKABLE.fullmatch(source)

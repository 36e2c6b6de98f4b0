"""The words of the table in docs/theory/certificate.md, held against the code."""

import re

import pytest

from tests.proof.make_table import COLUMNS, MECHANISMS, cell
from tests.structure.project import ROOT, sources

PAGE = ROOT / "docs/theory/certificate.md"
# cheap ones, and one at least of each word
ASKED = (
    ("Gaussian", "plain"),
    ("Gaussian", "Poisson"),
    ("Gaussian", "fixed size"),
    ("exponential", "Poisson, replace-one"),
    ("randomized response", "Poisson"),
    ("randomized response", "fixed size"),
    ("staircase", "Poisson"),
    ("approximate DP", "Poisson, replace-one"),
    ("discrete Gaussian", "plain"),
    ("zCDP", "plain"),
    ("zCDP", "Poisson"),
    ("custom tables", "plain"),
    ("custom tables", "fixed size"),
)


def rows() -> dict[str, list[str]]:
    """Mechanism -> its cells as they are printed."""
    results = {}
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        first, *others = (part.strip() for part in line.strip("|").split("|"))
        if first in MECHANISMS and len(others) == len(COLUMNS):
            results[first] = others
    return results


def test_the_table_has_every_mechanism_and_only_these_words() -> None:
    table = rows()
    assert list(table) == list(MECHANISMS)
    words = {printed.split()[0] for cells in table.values() for printed in cells}
    assert words == {"proved", "bracket", "bound", "refused"}


@pytest.mark.parametrize(("mechanism", "sampling"), ASKED)
def test_a_word_is_what_the_code_answers(mechanism: str, sampling: str) -> None:
    printed = rows()[mechanism][COLUMNS.index(sampling)]
    result = cell(mechanism, sampling)
    assert printed.split()[0] == result.word
    if result.word == "proved":  # no wider than it is printed, but for its rounding to one digit
        assert float(result.width) <= 1.2 * float(printed.split()[1].rstrip(","))


def test_every_equation_that_is_cited_is_there_once() -> None:
    tags = [int(tag) for tag in re.findall(r"\\tag\{(\d+)\}", PAGE.read_text(encoding="utf-8"))]
    assert len(tags) == len(set(tags))
    for path in sources("dpacct/proof"):
        for cited in re.findall(
            r"[Ee]q\. ((?:\(\d+\)(?:,| to| and| or)? ?)+)", path.read_text("utf-8")
        ):
            assert {int(number) for number in re.findall(r"\d+", cited)} <= set(tags), path

"""Pages are written as pages are: header, sections, tables, formulas, links; errors name file and line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from dpacct.papers import errata, registry
from dpacct.papers.page import PageError, Statement, header_of, parse
from dpacct.papers.show import prose, rendered
from dpacct.papers.tex import unicode
from tests.papers.statements import ALL, edited

PATHS = sorted(registry.PAGES.glob("*/*.md"))
HEADED = [path for path in PATHS if path.stem != "tables"]


def test_every_page_is_listed_once() -> None:
    for key, paper in registry.papers().items():
        path = registry.PAGES / key / "paper.md"
        pages = [p.stem for p in path.parent.glob("*.md") if p.stem not in registry.OTHERS]
        assert sorted(paper.listed) == sorted(pages), f"{path}:1: not listed, or listed in vain"
        text = path.read_text(encoding="utf-8")
        for s in registry.statements(key):
            assert f"- [{s.locus}]({s.name}.md)\n" in text, f"{path}:1: not the title of {s.path}"


@pytest.mark.parametrize("statement", ALL, ids=lambda s: s.id)
def test_it_can_be_read_whole(statement: Statement) -> None:
    _ = statement.claim, statement.values, statement.witness, statement.domain
    for other in (*statement.relies_on, statement.corrected_by or statement.id):
        assert other in registry.ids(), f"{statement.path}:2: {other} is no statement"


@pytest.mark.parametrize("path", HEADED, ids=lambda p: f"{p.parent.name}.{p.stem}")
def test_the_header_is_yaml_that_everyone_reads_alike(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    loaded = yaml.load(text.split("\n---\n")[0], Loader=yaml.BaseLoader)
    assert loaded == header_of(text, path)[1]


@pytest.mark.parametrize("statement", ALL, ids=lambda s: s.id)
def test_it_can_be_read_in_a_terminal(statement: Statement) -> None:
    """Every formula is rendered: no command, brace or dollar is left, and nothing is cut off."""
    lines = rendered(statement, 100)
    text = "\n".join(lines)
    assert statement.id == lines[0] and statement.verdict.upper() in text
    assert not re.search(r"\\|\$|\{[a-z]+\}", text), text
    assert statement.maths in "\n".join(rendered(statement, 10_000, latex=True))


@pytest.mark.parametrize("path", PATHS, ids=lambda p: f"{p.parent.name}.{p.stem}")
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", path.read_text(encoding="utf-8")):
        assert (path.parent / target).is_file(), target


@pytest.mark.parametrize("statement", [s for s in ALL if s.values], ids=lambda s: s.id)
def test_every_stored_value_says_where_it_is_from(statement: Statement) -> None:
    assert all(row.source and (row.formula or row.truth) for row in statement.values)


GOOD = registry.get("dp_fed_ls.lemma2")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("verdict: proof-gap", "verdict: maybe"), r"lemma2\.md:2: verdict must be one of holds"),
        (("evidence: searched", "evidence: felt"), r"lemma2\.md:2: evidence must be one of"),
        (("verdict: ", "colour: red\nverdict: "), r"lemma2\.md:2: the header has no key"),
        (("verdict: ", "verdict:"), r"lemma2\.md:2: a header line is `key: text`"),
        (("---\n", "***\n"), r"lemma2\.md:1: a page begins with a header"),
        (("# Lemma 2\n", "Lemma 2\n"), r"lemma2\.md:\d+: a title"),
        (("## Why", "## Because"), r"lemma2\.md:\d+: no section is called 'Because'"),
        (("| tau |", "| tau | tau |"), r"lemma2\.md:\d+: a row has \d+ cells for \d+ columns"),
        (("| `tau` | (0,", "| `tau` | {0,"), r"lemma2\.md:\d+: tau: a range must be like"),
    ],
)
def test_what_is_wrong_is_said_with_file_and_line(change: tuple[str, str], message: str) -> None:
    text = GOOD.path.read_text(encoding="utf-8")
    assert change[0] in text
    with pytest.raises(PageError, match=message):
        page = parse(text.replace(change[0], change[1], 1), GOOD.id, GOOD.path)
        _ = page.locus, page.sections, page.values, page.domain


def test_a_command_of_latex_that_nobody_knows_is_refused() -> None:
    with pytest.raises(ValueError, match=r"\\nosuch"):
        unicode(r"a\nosuch b")


@pytest.mark.parametrize(
    ("latex", "shown"),
    [
        (r"\frac1{\alpha-1}", "1/(α − 1)"),
        (r"e^{\epsilon}\delta", "e^ε δ"),
        (r"\min_\lambda\frac{a}{b}\sqrt c", "min_λ (a/b) √c"),
        (r"\sqrt2c", "√2 c"),
        (r"\tfrac1{\tau\alpha(1+\nu^2)}", "1/(τα(1 + ν²))"),
        (r"\left(\frac{a+b}{c}\right)^2", "((a + b)/c)²"),
        (r"\sum_{j=3}^\alpha\tau^j\binom\alpha j", "Σ_(j=3)^α τʲ C(α, j)"),
        (r"-\frac{x}{2}\log\frac{1}{y}", "−(x/2) log(1/y)"),
    ],
)
def test_formulas_say_the_same_in_unicode(latex: str, shown: str) -> None:
    assert unicode(latex) == shown


def test_lines_of_prose_do_not_end_inside_a_formula() -> None:
    lines = prose(r"so that $a + b + c + d + e$ is small", 22)
    assert any("a + b + c + d + e" in line for line in lines)


def test_the_errata_name_every_false_statement() -> None:
    page = errata.page()
    for s in ALL:
        if s.verdict in ("false", "ill-posed", "unread"):
            assert f"dpacct theorems show {s.id}}}" in page
        if s.verdict == "false" and s.corrected_by:
            assert f"`{s.corrected_by}`" in page


def test_the_errata_follow_the_pages() -> None:
    s = registry.get("dp_fed_ls.eq15")
    assert s.section("Why") in errata.page()
    assert edited(s, ("## Why", "## Note")).section("Why") == ""

"""The HTML page: valid in structure, complete, self-contained, and safe for whatever it is told."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

import dpacct as dp
from dpacct.report.about import About
from dpacct.report.assumptions import read_declared, rows
from tests.report.plans import DELTA, ONE, example, report
from tests.report.plots.charts import contrast

VOID = {"meta", "br", "hr", "img", "link", "input", "circle", "path"}
SECTIONS = [
    "Numbers",
    "Pictures",
    "Mechanism",
    "Assumptions",
    "What is not covered",
    "Theorems and works used",
    "How to reproduce this",
]


class Page(HTMLParser):
    """Reads a page strictly: every element that opens closes, in order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.headings: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), (tag, names)
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1] == tag, (tag, self.open)
        self.open.pop()

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.text.append(data)
        if self.open and self.open[-1] in ("h1", "h2"):
            self.headings.append(data)

    @property
    def words(self) -> str:
        return " ".join("".join(self.text).replace("\u00a0", " ").split())


def test_structure_and_sections() -> None:
    source = example().to_html()
    page = Page(source)
    assert source.startswith("<!DOCTYPE html>")
    assert page.headings == ["Privacy report: Next-word model", *SECTIONS]
    names = [tag for tag, _ in page.tags]
    assert [names.count(tag) for tag in ("html", "head", "body", "main", "h1", "title")] == [1] * 6
    assert ("html", {"lang": "en"}) in page.tags
    assert ("meta", {"charset": "utf-8"}) in page.tags
    viewport = {"name": "viewport", "content": "width=device-width, initial-scale=1"}
    assert ("meta", viewport) in page.tags
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids)) > len(SECTIONS)
    labelled = [attrs["aria-labelledby"] for tag, attrs in page.tags if tag == "section"]
    assert labelled == [name for name in ids if str(name).startswith("section-")]


def test_nothing_is_fetched_and_nothing_runs() -> None:
    source = example().to_html()
    page = Page(source)
    assert not {"script", "link", "img", "iframe", "object", "base"} & {tag for tag, _ in page.tags}
    for _, attrs in page.tags:
        assert not {"src", "href", "srcset"} & set(attrs)
        assert str(attrs.get("xlink:href", "#")).startswith("#")  # a marker of the same picture
        assert not [name for name in attrs if name.startswith("on")]
    assert "@import" not in source and source.count("url(") == source.count("url(#")
    assert source.count("://") == source.count('="http://www.w3.org/')  # the names of SVG and XLink


def test_pictures_have_words_and_lie_in_their_frame() -> None:
    page = Page(example().to_html())
    pictures = [attrs for tag, attrs in page.tags if tag == "svg"]
    assert len(pictures) == 2
    for attrs in pictures:
        assert attrs["role"] == "img" and len(attrs["aria-label"] or "") > 30
    assert "ε = 1.805 at δ = 1e-6" in page.words
    assert len([tag for tag, _ in page.tags if tag == "figcaption"]) == 2


def test_every_cell_says_its_column() -> None:
    page = Page(example().to_html())
    cells = [attrs for tag, attrs in page.tags if tag == "td"]
    assert len(cells) > 60 and all(attrs.get("data-label") for attrs in cells)
    heads = [attrs for tag, attrs in page.tags if tag == "th"]
    assert all(attrs.get("scope") in ("row", "col") for attrs in heads)


def test_numbers_statement_and_assumptions_are_there() -> None:
    result = example()
    page = Page(result.to_html())
    assert result.statement in page.words
    for row in result.assumptions:
        assert row.text in page.words and row.evidence in page.words
    for work in ("Optimal Accounting of Differential Privacy", "Arb: Efficient"):
        assert work in page.words
    statuses = {str(row.status) for row in result.assumptions}
    classes = " ".join(attrs.get("class") or "" for _, attrs in page.tags)
    assert all(f"status {status}" in classes for status in statuses)


def test_a_status_is_not_told_by_colour_alone() -> None:
    bad = dp.Report.of(ONE, delta=DELTA, assumptions={"sampling": "violated", "noise": "held"})
    source = bad.to_html()
    for word, sign in (("violated", "✗"), ("held", "✓"), ("unknown", "?"), ("declared", "•")):
        assert f'<span aria-hidden="true">{sign}</span> {word}</span>' in source
    assert 'role="alert"' in source


@pytest.mark.parametrize(
    "nasty",
    [
        "<script>alert(1)</script>",
        '" onload="alert(1)',
        "</style></head><h1>x</h1>",
        "a & b < c > d 'e'",
        "Zürich — 東京 🦊",
        "]]> --> <!-- x",
    ],
)
def test_whatever_the_plan_says_is_text(nasty: str) -> None:
    about = {key: nasty for key in ("name", "output", "unit", "viewer", "tuning", "unprotected")}
    results = {
        "sampling": {"status": "held", "evidence": nasty},
        "x": {"status": "held", "text": nasty},
    }
    without = replace(report("ONE"), risks=())  # nor pictures: this is about what is written
    assumptions = rows(ONE, without.answer.assumptions, declared=read_declared(results))
    result = replace(without, about=About.of_table(about), assumptions=assumptions, command=nasty)
    page = Page(result.to_html())
    plain = Page(without.to_html())
    # the same elements as without it, and one more row in the table of assumptions
    row = ["tr", "th", "td", "span", "span", "td", "td", "td"]
    assert sorted(t for t, _ in page.tags) == sorted([*(t for t, _ in plain.tags), *row])
    assert page.words.count(" ".join(nasty.split())) >= 5


def test_light_dark_print_and_phone() -> None:
    css = re.search(r"<style>(.*?)</style>", report("ONE").to_html(), re.S)
    assert css is not None
    for rule in ("prefers-color-scheme: dark", "@media print", "max-width: 44rem", "color-scheme"):
        assert rule in css.group(1)
    assert css.group(1).count("{") == css.group(1).count("}")


def test_text_has_contrast_in_every_mode() -> None:
    """WCAG 2.1, 1.4.3: at least 4.5 to 1."""
    page = dp.ReportDocument(title="t").to_html()
    blocks = [
        dict(re.findall(r"--([\w-]+): (#[0-9A-Fa-f]{6})", block)) for block in page.split(":root")
    ]
    modes = [block for block in blocks if "paper" in block]
    assert len(modes) == 3
    for mode in modes:
        for ink in ("ink", "faint", "held", "declared", "unknown", "violated"):
            for ground in ("paper", "card"):
                assert contrast(mode[ink], mode[ground]) >= 4.5, (ink, ground, mode)
        assert contrast(mode["violated"], mode["alert"]) >= 4.5
        assert contrast(mode["ink"], mode["alert"]) >= 4.5

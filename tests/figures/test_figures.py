"""No figure is older than its script, and its table is what the code computes today."""

from __future__ import annotations

import json
import math
import re
from html import unescape

import pytest

from figures.make import APPARATUS, records
from figures.record import FOLDER, Record, signed, to_csv
from tests.structure import console

RECORDS = records()
# What two processors, or two versions of scipy, may disagree by; a wrong figure is off by more.
WITHIN = 1e-6
# Routes of which a line takes a tenth of a second or more: of these every eighth is computed again.
SLOW = {"noise_by_method": ("rdp", "exact")}
FEW = 8
# Sweeps whose neighbouring points run the same code: every third is computed again.
SMOOTH = ("clt_prifedsync", "lemma_domains", "noise_kinds", "promised_delivered", "shuffle_bounds")

each = pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name)


def test_a_figure_is_a_script_a_table_and_a_picture() -> None:
    """All of one name, nothing else lies there, and the page about them lists each."""
    names = {record.name for record in RECORDS}
    assert {p.stem for p in FOLDER.glob("*.csv")} == names
    assert {p.stem for p in FOLDER.glob("*.svg")} == names
    assert {p.stem for p in FOLDER.glob("*.py")} == names | APPARATUS
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\((\w+)\.svg\)", text)) == names


@each
def test_it_is_drawn_from_what_lies_there(record: Record) -> None:
    """`python figures/make.py --draw NAME` draws it anew."""
    picture = record.file(".svg").read_text(encoding="utf-8")
    assert f"<desc>{record.mark()}</desc>" in picture, (
        "the picture is older than its script or table"
    )


@each
def test_the_sentence_above_it_is_what_the_table_says(record: Record) -> None:
    _, title = record.draw(record.table())
    picture = record.file(".svg").read_text(encoding="utf-8")
    match = re.search("<title>(.*?)</title>", picture)
    assert match and unescape(match.group(1)) == title


@each
def test_its_table_is_computed_by_the_code_of_today(record: Record) -> None:
    """Every line is there, in order, and what it says is what comes out where it is computed again."""
    points, table = record.points(), record.table()
    assert len(points) == len(table)
    for place, (point, stored) in enumerate(zip(points, table, strict=True)):
        computed = point
        every = FEW if point.get("route") in SLOW.get(record.name, ()) else 1
        every *= 3 if record.name in SMOOTH else 1
        if place % every == every // 2:
            computed = record.row(point)
            assert list(computed) == list(stored)
        for name, value in computed.items():
            assert same(value, stored[name]), (name, dict(point))


def same(computed: float | str, stored: float | str) -> bool:
    """Equal, up to what machines disagree by; a gap only equals a gap."""
    if isinstance(computed, str) or isinstance(stored, str):
        return computed == stored
    if math.isnan(computed) or math.isnan(stored):
        return math.isnan(computed) and math.isnan(stored)
    return math.isclose(computed, stored, rel_tol=WITHIN, abs_tol=1e-300)


def test_the_certificate_that_is_drawn_still_proves() -> None:
    output = console.run("dpacct verify --certificate figures/certificate.json --json")
    assert json.loads(output)["holds"] is True


def test_a_picture_that_is_older_is_seen() -> None:
    """The mark changes with the script and with the table."""
    record = RECORDS[0]
    picture = signed("<?xml?><svg a='b'>\n</svg>", "one < two", record.mark())
    assert "<title>one &lt; two</title>" in picture
    assert record.mark() != RECORDS[1].mark()
    assert to_csv([{"a": 1.5, "b": "x"}, {"a": math.nan, "b": ""}]) == "a,b\n1.5,x\n,\n"

"""No figure is older than its script, and its table is what the code computes today."""

import json
import math
import re
from html import unescape
from itertools import groupby

import pytest

from dpacct.papers.registry import get, statements
from figures.make import APPARATUS, records
from figures.record import FOLDER, Record, Row, from_csv, signed, to_csv
from figures.statements.draw import chart
from figures.statements.make import PICTURES, TABLE, pictures
from figures.statements.sweep import compared, must_judge, stored
from tests.structure import console

RECORDS = records()
# What two ends of the bracket, or two processors, may disagree by; a wrong figure is off by more.
WITHIN = 1e-4
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
    match = re.search('aria-label="(.*?)"', picture)
    assert match and unescape(match.group(1)) == title


@each
def test_its_table_is_computed_by_the_code_of_today(record: Record) -> None:
    """Every line is there, in order, and what it says is what comes out where it is computed again."""
    points, table = record.points(), record.table()
    assert len(points) == len(table)
    for place, (point, kept) in enumerate(zip(points, table, strict=True)):
        computed = point
        every = FEW if point.get("route") in SLOW.get(record.name, ()) else 1
        every *= 3 if record.name in SMOOTH else 1
        if place % every == every // 2:
            computed = record.row(point)
            assert list(computed) == list(kept)
        for name, value in computed.items():
            assert same(value, kept[name]), (name, dict(point))


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
    assert f"<desc>{record.mark()}</desc>" in signed("<svg a='b'>\n</svg>", record.mark())
    assert record.mark() != RECORDS[1].mark()
    assert to_csv([{"a": 1.5, "b": "x"}, {"a": math.nan, "b": ""}]) == "a,b\n1.5,x\n,\n"


# --- The pictures on the statements' pages are drawn from their table, and the table from the code.


ROWS = from_csv(TABLE.read_text(encoding="utf-8"))
BY_ID = {name: list(rows) for name, rows in groupby(ROWS, key=lambda row: str(row["id"]))}
POINTS = 5  # of each statement that are computed again, both ends among them


def test_pictures_are_drawn_from_the_table() -> None:
    """To the byte: `python figures/make.py --draw statements` draws them anew."""
    drawn = pictures(ROWS)
    assert set(PICTURES.iterdir()) == set(drawn)
    stale = [p.name for p, text in drawn.items() if p.read_text(encoding="utf-8") != text]
    assert not stale


def test_a_picture_shows_a_refuted_number_violated() -> None:
    """At most 40; one that shows two flat lines, or nothing that the one before it doesn't, is none."""
    refuted = {statement.id for statement in statements() if statement.evidence == "refuted"}
    assert set(BY_ID) <= refuted and 35 <= len(BY_ID) <= 40
    assert not [name for name, rows in BY_ID.items() if not any(r["violated"] == 1 for r in rows)]
    for name, rows in BY_ID.items():
        title = chart(rows).title
        assert re.fullmatch(r"(Printed|Claimed delta) .+, true .+ at .+", title), (name, title)


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

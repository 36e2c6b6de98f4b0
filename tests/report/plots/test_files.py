"""Every kind in every format; equal charts are equal bytes, whatever the machine's settings."""

import hashlib
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpacct as dp
from dpacct.report.plots.chart import Axis, Chart, Line
from dpacct.report.plots.draw import draw
from dpacct.report.plots.style import FORMATS, save, to_bytes
from dpacct.report.plots.terminal import text_plot
from tests.cli.runner import line
from tests.report.plots.charts import KINDS, chart
from tests.report.plots.doc_pictures import FOLDER, PAGES, Picture, pictures, title
from tests.structure.project import ROOT

BEGINS = {".svg": b"<svg", ".pdf": b"%PDF", ".png": b"\x89PNG"}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_in_every_format(kind: str, tmp_path: Path) -> None:
    figure = draw(chart(kind))
    data = {suffix: to_bytes(figure, suffix) for suffix in FORMATS}
    for suffix, begin in BEGINS.items():
        assert data[suffix].startswith(begin) and len(data[suffix]) > 5000
    assert b"<text" in data[".svg"], "text is text: it can be searched, copied and read out"
    assert b"sans-serif" in data[".svg"] and b"prefers-color-scheme: dark" in data[".svg"]
    assert b"<dc:date>" not in data[".svg"]
    assert b"/FontFile2" in data[".pdf"], "the font is embedded, as TrueType"
    assert b"/CreationDate" not in data[".pdf"]
    save(figure, tmp_path / "again.svg")
    assert (tmp_path / "again.svg").read_bytes() == data[".svg"]


ELSEWHERE = """
import hashlib
import dpacct as dp
run = dp.Poisson(0.01)(dp.Gaussian(sigma=1.1)) * 1000
picture = dp.plots.profile(run, epsilons=[0, 1, 2], methods=("auto", "clt"))
for suffix in (".svg", ".pdf"):
    print(hashlib.sha256(dp.plots.to_bytes(picture, suffix)).hexdigest())
"""


def test_bytes_do_not_depend_on_the_user_s_settings(tmp_path: Path) -> None:
    run = dp.Poisson(0.01)(dp.Gaussian(sigma=1.1)) * 1000
    picture = dp.plots.profile(run, epsilons=[0, 1, 2], methods=("auto", "clt"))
    digests = [hashlib.sha256(dp.plots.to_bytes(picture, s)).hexdigest() for s in (".svg", ".pdf")]
    settings = "font.size: 30\nlines.linewidth: 9\naxes.grid: False\nsvg.fonttype: path\n"
    (tmp_path / "matplotlibrc").write_text(settings)
    there = subprocess.run(
        [sys.executable, "-c", ELSEWHERE],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env=os.environ | {"PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo", "LC_ALL": "C"},
    )
    assert there.stdout.split() == digests


def test_another_suffix_is_refused() -> None:
    with pytest.raises(ValueError, match=r"suffix must be one of \.svg, \.pdf, \.png"):
        save(draw(chart("profile")), "x.jpg")


# --- Charts in a terminal: inside its width, true to the numbers, plain where it must be.


PLAN = "curve --sigma 1.1 --rate 0.01 --steps 1000 --points 9"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("width", [40, 80, 110])
def test_it_fits(kind: str, width: int) -> None:
    rows = text_plot(chart(kind), width=width).splitlines()
    assert max(map(len, rows)) <= width
    assert "".join("".join(rows).split()) and len(rows) > 18


def straight(values: list[float], *, log: bool = False) -> Chart:
    """A chart of one line."""
    x = np.arange(1.0, len(values) + 1)
    lines = (Line("y", "y", np.array(values)),)
    return Chart("profile", Axis("x", "x"), Axis("y", "y", log), x, lines, "t", "p", "a")


def test_a_diagonal_is_a_diagonal() -> None:
    """Braille dots (i, i): decoded from the text by the Unicode chart's own bit order."""
    text = text_plot(straight([float(i) for i in range(10)]), width=60, height=10)
    rows = [row.split("┤" if "┤" in row else "│", 1)[1] for row in text.splitlines()[3:13]]
    bits = [
        (0, 0),
        (0, 1),
        (0, 2),
        (1, 0),
        (1, 1),
        (1, 2),
        (0, 3),
        (1, 3),
    ]  # dots 1 to 8: column, row
    dots = {
        (2 * column + x, 4 * row + y)
        for row, cells in enumerate(rows)
        for column, cell in enumerate(cells)
        if cell != " "
        for bit, (x, y) in enumerate(bits)
        if (ord(cell) - 0x2800) >> bit & 1
    }
    right, bottom = max(x for x, _ in dots), max(y for _, y in dots)
    assert bottom == 39 and right >= 100
    for x, y in dots:
        assert abs(x / right - (1 - y / bottom)) < 0.03


@given(
    st.lists(
        st.one_of(st.floats(allow_nan=True, allow_infinity=False, width=32), st.just(0.0)),
        min_size=1,
        max_size=30,
    ),
    st.booleans(),
    st.integers(40, 120),
)
def test_any_numbers(values: list[float], log: bool, width: int) -> None:
    text = text_plot(straight(values, log=log), width=width)
    assert max(map(len, text.splitlines())) <= width
    assert "nan" not in text and "inf" not in text


def on_a_terminal(*words: str, **environment: str) -> str:
    """What the command prints when stdout is a terminal."""
    leader, follower = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "dpacct", *words],
        stdout=follower,
        stdin=subprocess.DEVNULL,
        env=os.environ
        | {"TERM": "xterm", "PYTHONUTF8": "1", "COLUMNS": "90", "LINES": "30"}
        | environment,
    ) as child:
        os.close(follower)
        said = b""
        while True:
            try:
                block = os.read(leader, 65536)
            except OSError:  # the other end was closed
                break
            if not block:
                break
            said += block
        assert child.wait() == 0
    os.close(leader)
    return said.decode().replace("\r\n", "\n")


def test_a_terminal_gets_a_picture_and_a_pipe_gets_csv() -> None:
    piped = line(PLAN).stdout
    assert piped.startswith("epsilon,delta\n")
    shown = on_a_terminal(*PLAN.split())
    assert "At delta 1e-5 the exact epsilon is 1.516" in shown
    assert any(0x2800 <= ord(letter) < 0x2900 for letter in shown)


@pytest.mark.parametrize(
    "environment", [{"TERM": "dumb"}, {"PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}]
)
def test_a_terminal_without_unicode_gets_csv(environment: dict[str, str]) -> None:
    assert on_a_terminal(*PLAN.split(), **environment) == line(PLAN).stdout


# --- The pictures in the docs say what their commands find today.


@pytest.mark.parametrize("picture", pictures(), ids=lambda p: p.file)
def test_a_picture_is_up_to_date(picture: Picture, tmp_path: Path) -> None:
    assert picture.finding(tmp_path) == title(FOLDER / picture.file), (
        "python -m tests.report.plots.doc_pictures makes them again"
    )


def test_every_picture_has_its_command() -> None:
    shown = {name for page in PAGES for name in re.findall(r"pictures/([\w-]+\.svg)", text(page))}
    assert shown == {picture.file for picture in pictures()} == {f.name for f in FOLDER.iterdir()}


def text(page: str) -> str:
    return (ROOT / "docs" / page).read_text(encoding="utf-8")

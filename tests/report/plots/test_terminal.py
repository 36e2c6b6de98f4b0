"""Charts in a terminal: inside its width, true to the numbers, plain where it must be."""

import os
import pty
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpacct.report.plots.chart import Axis, Chart, Line
from dpacct.report.plots.terminal import text_plot
from tests.cli.runner import line
from tests.report.plots.charts import KINDS, chart

PLAN = "curve --sigma 1.1 --rate 0.01 --steps 1000 --points 9"


@pytest.mark.parametrize("braille", [True, False])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("width", [40, 80, 110])
def test_it_fits(kind: str, width: int, braille: bool) -> None:
    rows = text_plot(chart(kind), width=width, braille=braille).splitlines()
    assert max(map(len, rows)) <= width
    assert braille or "\n".join(rows).isascii()
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
    st.booleans(),
    st.integers(40, 120),
)
def test_any_numbers(values: list[float], log: bool, braille: bool, width: int) -> None:
    text = text_plot(straight(values, log=log), width=width, braille=braille)
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
    assert on_a_terminal(*PLAN.split(), "--csv") == piped


def test_a_dumb_terminal_gets_csv_and_one_without_unicode_plain_characters() -> None:
    assert on_a_terminal(*PLAN.split(), TERM="dumb") == line(PLAN).stdout
    plain = on_a_terminal(*PLAN.split(), PYTHONUTF8="0", PYTHONIOENCODING="ascii")
    assert plain.isascii() and "epsilon (eps)" in plain and "*" in plain

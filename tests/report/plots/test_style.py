"""Print, grey and colour-blind readers; no text on another, none outside."""

from itertools import combinations

import numpy as np
import pytest

import dpacct as dp
from dpacct.report.plots import style
from dpacct.report.plots.draw import draw
from dpacct.report.plots.style import (
    ALARM,
    FAINT,
    INK,
    LINES,
    LOOKS,
    SIZE,
    WARNING,
    look_of,
)
from dpacct.vocabulary import Strength
from tests.report.plots.charts import KINDS, chart, contrast, no_text_on_another

# Machado, Oliveira and Fernandes 2009, table 1, severity 1.0: what a dichromat sees, in linear RGB.
EYES = {
    "normal": np.eye(3),
    "protan": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deutan": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritan": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def lab(colour: str, eye: object) -> np.ndarray:
    """CIE L*a*b* (D65) of a colour as that eye sees it."""
    rgb = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.asarray(eye) @ linear, 0, 1)
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    x, y, z = np.array(to_xyz) @ seen / [0.9505, 1, 1.089]
    f = [np.cbrt(v) if v > 0.008856 else 7.787 * v + 16 / 116 for v in (x, y, z)]
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("eye", EYES)
def test_every_reader_tells_the_looks_apart(eye: str) -> None:
    """By colour (a difference of 10 is plain to see), and by the marker in any case."""
    for first, second in combinations(LOOKS, 2):
        assert first.marker != second.marker
        distance = np.linalg.norm(lab(first.colour, EYES[eye]) - lab(second.colour, EYES[eye]))
        assert distance > 10, (first, second)


def test_compared_methods_look_different() -> None:
    compared = ("exact", "bracket", "rdp", "rdp-mironov", "clt", "dp_fed_ls.theorem1")
    assert len({look_of(name) for name in compared}) == len(compared)


@pytest.mark.parametrize("kind", KINDS)
def test_estimates_are_dashed_and_called_so(kind: str) -> None:
    made = chart(kind)
    (axes,) = draw(made).axes
    by_label = {line.get_label(): line for line in axes.lines}
    for line in made.lines:
        weak = line.strength is Strength.ESTIMATE
        drawn = by_label[f"{line.label} (estimate)" if weak else line.label]
        assert (drawn.get_linestyle() == "--") == (line.strength < Strength.CONVERGED)
        assert weak == (line.method == "clt")
    assert LINES[Strength.ESTIMATE] not in [
        LINES[s] for s in Strength if s is not Strength.ESTIMATE
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_no_text_on_another(kind: str) -> None:
    no_text_on_another(draw(chart(kind)))


@pytest.mark.parametrize("kind", KINDS)
def test_text_is_large_enough_to_print(kind: str) -> None:
    drawn = draw(chart(kind))
    assert drawn.get_figwidth() <= 6.3
    assert min(t.get_fontsize() for a in drawn.axes for t in a.texts + drawn.texts) >= SIZE - 1.5


# --- Words can be read on the grounds that they stand on, on a light page and on a dark one (WCAG 2.1, AA).


PAPER = "#ffffff"
DARK = {light.lower(): dark for light, dark in style.DARK.items()}


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize(
    ("words", "ground"),
    [(INK, PAPER), (FAINT, PAPER), (INK, ALARM), (FAINT, ALARM), (WARNING, ALARM)],
)
def test_words_on_grounds(words: str, ground: str, dark: bool) -> None:
    if dark:
        words, ground = DARK[words.lower()], DARK[ground.lower()]
    assert contrast(words, ground) >= 4.5


@pytest.mark.parametrize("ground", [PAPER, DARK[PAPER]])
def test_lines_on_the_page(ground: str) -> None:
    """Orange, sky and purple are light: on paper their markers tell them apart too."""
    light = {style.ORANGE, style.SKY, style.PURPLE} if ground == PAPER else set()
    for look in LOOKS:
        colour = DARK.get(look.colour.lower(), look.colour) if ground != PAPER else look.colour
        assert contrast(colour, ground) >= (1.9 if look.colour in light else 3.0), look


def test_the_style_sheet_has_the_same_colours() -> None:
    with style.style():
        import matplotlib as mpl

        cycle = mpl.rcParams["axes.prop_cycle"].by_key()["color"]
    assert cycle == [look.colour for look in LOOKS]


def test_a_report_s_dark_page_is_the_picture_s() -> None:
    page = dp.ReportDocument(title="t").to_html()
    assert f"--paper: {DARK[PAPER]}" in page

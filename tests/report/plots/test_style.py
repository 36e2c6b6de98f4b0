"""Print, grey and colour-blind readers; no text on another, none outside."""

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


def test_looks_differ_by_marker_too() -> None:
    """Okabe and Ito's colours are told apart by every reader; in print the markers are."""
    assert (
        len({look.marker for look in LOOKS}) == len({look.colour for look in LOOKS}) == len(LOOKS)
    )


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

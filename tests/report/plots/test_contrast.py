"""Words can be read on the grounds that they stand on, on a light page and on a dark one (WCAG 2.1, AA)."""

import pytest

from dpacct.report.plots import style
from dpacct.report.plots.style import ALARM, FAINT, INK, LOOKS, ON_DARK, ON_LIGHT, WARNING

PAPER = "#ffffff"
DARK = {light.lower(): dark for light, dark in style._DARK.items()}


def luminance(colour: str) -> float:
    """WCAG's relative luminance."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    darker, lighter = sorted((luminance(first), luminance(second)))
    return (lighter + 0.05) / (darker + 0.05)


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


def test_what_stands_on_colours_that_stay_stays() -> None:
    """On a dark page the words in a heat map's cells took the page's ink, on yellow too."""
    assert not {ON_DARK.lower(), ON_LIGHT.lower()} & set(DARK)

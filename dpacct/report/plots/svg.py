"""A chart as one SVG element, drawn with the page's own ink: light, dark and print alike.

Nothing is imported to draw, so a report is made in milliseconds. Colours and dashes are those of `style`.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from dpacct.report.plots.style import ALARM, FAINT, FONTS, INK, LINES, LOOKS, RULE, dark, labelled

if TYPE_CHECKING:
    from dpacct.report.plots.chart import Chart
    from dpacct.vocabulary import Strength

_PAGE, _FILE = 420.0, 620.0  # widths
_LEFT, _RIGHT, _TALL = 62.0, 24.0, 214.0  # margins and height of what lies between the axes
_SIZE = 13
_LETTER = 0.6  # width of a letter over its size, in the fonts of `style`
Place = tuple[float, float]


def svg(chart: Chart, *, standalone: bool = False) -> str:
    """The SVG element; what is no finite number is left out."""
    width = _FILE if standalone else _PAGE
    ink = INK if standalone else "currentColor"
    rule = RULE if standalone else f"var(--rule, {RULE})"
    looks = [look.colour for look in LOOKS]
    inks = [c if standalone else f"var(--line-{i}, {c})" for i, c in enumerate(looks, start=1)]
    parts: list[str] = []
    down = 0.0

    def write(text: str, size: int, more: str = "") -> None:
        nonlocal down
        for row in textwrap.wrap(text, int((width - 8) / (_LETTER * size))):
            down += 1.3 * size
            parts.append(_text(8, down, row, f' font-size="{size}"{more}'))

    if standalone:
        write(chart.title, 14, ' font-weight="bold"')
        for fact in chart.subtitle:
            write(fact, 11, f' fill="{FAINT}"')
        down += 6
    write(chart.y.label, _SIZE)
    down = _key(chart, inks, parts, down, width - _RIGHT) + 12
    top, bottom, right = down, down + _TALL, width - _RIGHT
    across, upward = chart.scales()

    def at(spot: Place) -> Place:
        return _LEFT + spot[0] * (right - _LEFT), bottom - spot[1] * _TALL

    for stretch in chart.stretches:
        start, end = (at((across.place(x), 1.0))[0] for x in (stretch.start, stretch.end))
        parts.append(_rectangle(start, top, end - start, _TALL, f'fill="{ALARM}"'))
    for value in across.ticks():
        x, _ = at((across.place(value), 0.0))
        parts.append(_path([(x, top), (x, bottom)], rule, 1))
        parts.append(_text(x, bottom + 17, across.label(value), ' text-anchor="middle"'))
    for value in upward.ticks():
        _, y = at((0.0, upward.place(value)))
        parts.append(_path([(_LEFT, y), (right, y)], rule, 1))
        parts.append(_text(_LEFT - 6, y + 4, upward.label(value), ' text-anchor="end"'))
    for band in chart.bands:
        there, back = ([at(spot) for spot in chart.spots(e)] for e in (band.high, band.low))
        parts.append(_path([*there, *reversed(back)], "none", 0, _shade(band.colour, inks)))
    for line, colour in zip(chart.lines, _cycled(inks, len(chart.lines)), strict=True):
        spots = [at(spot) for spot in chart.spots(line.values)]
        parts.append(_path(spots, colour, 2, dash=_dash(line.strength)))
    for mark in chart.marks:
        x, y = at((across.place(mark.x), upward.place(mark.y)))
        parts.append(_path([(_LEFT, y), (x, y), (x, bottom)], ink, 1, dash="2 3"))
        ring = f'r="4.5" fill="none" stroke="{ink}" stroke-width="1.5"'
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" {ring}/>')
        left = x > 0.6 * width
        beside = x - 10 if left else x + 10, y + 18 if left or y < top + 24 else y - 10
        side = ' text-anchor="end"' if left else ""
        parts.append(_text(*beside, mark.text.replace("\n", " "), f'{side} font-weight="600"'))
    down = bottom + 22
    for row in textwrap.wrap(chart.x.label, int(width / (_LETTER * _SIZE))):
        down += 1.3 * _SIZE
        parts.append(_text((_LEFT + right) / 2, down, row, ' text-anchor="middle"'))
    height = down + 10
    font = FONTS if standalone else "inherit"
    alone = f'xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
    head = (
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" {alone if standalone else ""}role="img" '
        f'aria-label="{escape(chart.title)}" font-family="{font}" font-size="{_SIZE}" fill="{ink}">'
    )
    if not standalone:
        return "\n".join([head, *parts, "</svg>"])
    title = f"<title>{escape(chart.title, quote=False)}</title>"
    ground = _rectangle(0, 0, width, height, 'fill="#ffffff"')
    return dark("\n".join([head, title, ground, *parts, "</svg>"])) + "\n"


def _key(chart: Chart, inks: Sequence[str], parts: list[str], down: float, right: float) -> float:
    """The names of what is drawn, in rows below `down`; where the last row lies."""
    entries: list[tuple[str, str, str | None]] = [  # without dashes: a shaded region
        (labelled(line.label, line.strength), colour, _dash(line.strength))
        for line, colour in zip(chart.lines, _cycled(inks, len(chart.lines)), strict=True)
    ]
    entries += [(band.label, _shade(band.colour, inks), None) for band in chart.bands if band.label]
    regions = dict.fromkeys(stretch.label for stretch in chart.stretches)
    entries += [(label, f'fill="{ALARM}"', None) for label in regions]
    if len(entries) < 2:
        return down
    x, down = _LEFT, down + 20
    for label, colour, dash in entries:
        wide = 48 + _LETTER * _SIZE * len(label)
        if x + wide > right and x > _LEFT:
            x, down = _LEFT, down + 18
        if dash is None:
            parts.append(_rectangle(x, down - 10, 26, 12, colour))
        else:
            parts.append(_path([(x, down - 4), (x + 26, down - 4)], colour, 2, dash=dash))
        parts.append(_text(x + 32, down, label))
        x += wide
    return down


def _shade(colour: str, inks: Sequence[str]) -> str:
    """The page's ink for one of the colours of `LOOKS`; any other is vermilion."""
    place = next((i for i, look in enumerate(LOOKS) if look.colour == colour), 1)
    return f'fill="{inks[place]}" fill-opacity="0.15"'


def _cycled(inks: Sequence[str], count: int) -> list[str]:
    return [inks[i % len(inks)] for i in range(count)]


def _dash(strength: Strength) -> str:
    """The dashes of a grade, as in every other picture."""
    line = LINES[strength]
    return "" if line == "-" else " ".join(f"{2 * part:g}" for part in line[1])


def _path(
    spots: Iterable[Place], ink: str, width: float, fill: str = 'fill="none"', *, dash: str = ""
) -> str:
    outline = " L".join(f"{x:.1f} {y:.1f}" for x, y in spots)
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<path d="M{outline}" stroke="{ink}" stroke-width="{width}" {fill}{dashes}/>'
        if outline
        else ""
    )


def _rectangle(x: float, y: float, width: float, height: float, fill: str) -> str:
    size = f'width="{width:.1f}" height="{height:.1f}"'
    return f'<rect x="{x:.1f}" y="{y:.1f}" {size} {fill}/>'


def _text(x: float, y: float, label: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}"{more}>{escape(label, quote=False)}</text>'

"""A chart as one SVG element, drawn with the page's own ink: light, dark and print alike.

Nothing is imported to draw, so a report is made in milliseconds. Colours are those of `style`; a
dashed line is an estimate, or what is compared with.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING

from dpacct.report.plots.style import FONTS, INK, dark
from dpacct.vocabulary import Strength

if TYPE_CHECKING:
    from dpacct.report.plots.chart import Axis, Chart

_WIDTH, _HEIGHT = 420.0, 290.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 62.0, 406.0, 30.0, 244.0
_KEY = 178.0  # width of the key
_INK = ("var(--line-1, #0072B2)", "var(--line-2, #D55E00)", "var(--line-3, #009E73)")
_RULE = "var(--rule, #d9d9d9)"
Place = tuple[float, float]


def svg(chart: Chart, *, standalone: bool = False) -> str:
    """The SVG element; what is no finite number is left out."""
    xs, ys = chart.points.tolist(), [line.values.tolist() for line in chart.lines]
    across, right = _scale(chart.x, xs, _LEFT, _RIGHT)
    upward, high = _scale(chart.y, [y for values in ys for y in values], _BOTTOM, _TOP, zero=True)

    def places(values: Sequence[float]) -> list[Place]:
        pairs = zip(xs, values, strict=True)
        drawable = [(x, y) for x, y in pairs if _fits(chart.x, x) and _fits(chart.y, y)]
        return [(across(x), upward(y)) for x, y in drawable]

    lines = [places(values) for values in ys]
    space = '<svg xmlns="http://www.w3.org/2000/svg" ' if standalone else "<svg "
    parts = [
        f'{space}viewBox="0 0 {_WIDTH:.0f} {_HEIGHT:.0f}" role="img" '
        f'aria-label="{escape(chart.title)}" font-family="inherit" font-size="13" '
        'fill="currentColor">'
    ]
    for x in right:
        parts.append(_path([(across(x), _TOP), (across(x), _BOTTOM)], _RULE, 1))
        parts.append(_text(across(x), _BOTTOM + 17, _number(chart.x, x), "middle"))
    for y in high:
        parts.append(_path([(_LEFT, upward(y)), (_RIGHT, upward(y))], _RULE, 1))
        parts.append(_text(_LEFT - 6, upward(y) + 4, _number(chart.y, y), "end"))
    parts.append(_text((_LEFT + _RIGHT) / 2, _HEIGHT - 8, escape(chart.x.label), "middle"))
    parts.append(_text(4, 14, escape(chart.y.label), "start"))
    for band in chart.bands:
        outline = [*places(band.high.tolist()), *reversed(places(band.low.tolist()))]
        parts.append(_path(outline, "none", 0, f'fill="{_INK[1]}" fill-opacity="0.12"'))
    dashed = [line.strength <= Strength.ESTIMATE for line in chart.lines]
    inks = [_INK[i % len(_INK)] for i in range(len(lines))]
    for ink, spots, dash in zip(inks, lines, dashed, strict=True):
        parts += [_path(spots, ink, 2, dash="5 4" if dash else "")] if spots else []
    if len(lines) > 1:
        y = _free_corner(lines)
        for line, ink, dash in zip(chart.lines, inks, dashed, strict=True):
            left = _RIGHT - _KEY
            parts.append(_path([(left, y - 4), (left + 24, y - 4)], ink, 2, dash="5 4" * dash))
            parts.append(_text(left + 30, y, escape(line.label), "start"))
            y += 18
    for mark in chart.marks:
        parts += _mark(across(mark.x), upward(mark.y), escape(mark.text))
    picture = "\n".join([*parts, "</svg>"])
    return _alone(picture) if standalone else picture


def _alone(picture: str) -> str:
    """As a file: a ground, ink and letters of its own, in place of those of a page."""
    ground = f'<rect width="{_WIDTH:.0f}" height="{_HEIGHT:.0f}" fill="#ffffff"/>'
    end = picture.index(">") + 1
    picture = f"{picture[:end]}\n{ground}{picture[end:]}"
    picture = re.sub(r"var\(--[\w-]+, (#\w+)\)", r"\1", picture)
    picture = picture.replace("currentColor", INK).replace('"inherit"', f'"{FONTS}"')
    return dark(picture)


def _fits(axis: Axis, value: float) -> bool:
    return math.isfinite(value) and (value > 0 or not axis.log)


def _scale(
    axis: Axis, values: Sequence[float], first: float, last: float, *, zero: bool = False
) -> tuple[Callable[[float], float], list[float]]:
    """(where a value lies on the paper, the values that have a label)."""
    finite = [value for value in values if _fits(axis, value)] or [0.1, 1.0]
    if axis.log:
        low, high = math.floor(math.log10(min(finite))), math.ceil(math.log10(max(finite)))
        high = max(high, low + 1)
        step = max(1, math.ceil((high - low) / 6))
        labels = [10.0**power for power in range(high, low - 1, -step)]
        return lambda v: first + (math.log10(v) - low) / (high - low) * (last - first), labels
    start, stop = _spread(min(finite + [0.0] * zero), max(finite + [0.0] * zero))
    return lambda v: first + (v - start) / (stop - start) * (last - first), _ticks(start, stop)


def _spread(low: float, high: float) -> tuple[float, float]:
    """The ends of an axis, far enough apart to have ticks between them."""
    size = max(abs(low), abs(high))
    if high - low > max(1e-9 * size, 1e-250):
        return low, high
    return low - max(0.5 * size, 0.5), high + max(0.5 * size, 0.5)


def _ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round numbers along an axis.

    >>> _ticks(0.0, 1.0)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    raw = (high - low) / count
    power = 10.0 ** math.floor(math.log10(raw))
    step = min((m * power for m in (1, 2, 5, 10)), key=lambda s: abs(math.log(s / raw)))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(i * step, 12) for i in range(first, last + 1)]


def _number(axis: Axis, value: float) -> str:
    if not axis.log:
        return f"{value:.6g}".replace("-", "−")
    power = round(math.log10(value))
    return f'10<tspan dy="-5" font-size="9">{power}</tspan>' if power else "1"


def _free_corner(lines: Sequence[Sequence[Place]]) -> float:
    """Where the key begins: at the top on the right, or at the bottom if fewer points lie there."""
    tall = 18.0 * len(lines) + 12
    right = [up for spots in lines for x, up in spots if x > _RIGHT - _KEY - 8]
    above = sum(up < _TOP + tall for up in right)
    below = sum(up > _BOTTOM - tall for up in right)
    return _TOP + 16 if above <= below else _BOTTOM - tall + 16


def _mark(at: float, up: float, label: str) -> list[str]:
    """A dot, thin lines from it to both axes, and its words where there is room."""
    ink, left = _INK[1], at > _WIDTH * 0.6
    corner = [(_LEFT, up), (at, up), (at, _BOTTOM)]
    side = (at - 10, up + 18) if left else (at + 10, up - 10)
    return [
        _path(corner, ink, 1.2, dash="2 3"),
        f'<circle cx="{at:.1f}" cy="{up:.1f}" r="4.5" fill="{ink}"/>',
        _text(*side, label, "end" if left else "start", ' font-weight="600"'),
    ]


def _path(
    spots: Sequence[Place], ink: str, width: float, fill: str = 'fill="none"', *, dash: str = ""
) -> str:
    outline = "M" + " L".join(f"{x:.1f} {y:.1f}" for x, y in spots)
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<path d="{outline}" stroke="{ink}" stroke-width="{width}" {fill}{dashes}/>'


def _text(x: float, y: float, label: str, anchor: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{label}</text>'

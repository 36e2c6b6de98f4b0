"""A line chart as one SVG element, drawn with the page's own ink: light, dark and print alike.

Colours and line styles are those of `report.plots.style` (blue for the strongest answer; dashed is an
estimate or a reference), but nothing is imported to draw: a report is made in milliseconds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_WIDTH, _HEIGHT = 420.0, 290.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 62.0, 14.0, 30.0, 46.0
_INK = ("var(--line-1, #0072B2)", "var(--line-2, #D55E00)", "var(--line-3, #009E73)")
_RULE = "var(--rule, #d9d9d9)"
_KEY = 178.0  # width of the key
_DASH = ' stroke-dasharray="5 4"'


@dataclass(frozen=True)
class ReportLine:
    """One line of a chart; `dashed` for what is no guarantee, `shaded` down to the line before it.

    >>> ReportLine("guessing", [0, 1], [0, 1], dashed=True).label
    'guessing'
    """

    label: str
    x: Sequence[float]
    y: Sequence[float]
    dashed: bool = False
    shaded: bool = False


@dataclass(frozen=True, kw_only=True)
class ReportChart:
    """Lines over one axis; `mark` is a point to be pointed at, with what to write beside it.

    >>> chart = ReportChart(x="round", y="accuracy / %", lines=(ReportLine("test", [1, 2], [50, 80]),))
    >>> chart.to_svg().startswith("<svg ")
    True
    """

    x: str
    y: str
    lines: tuple[ReportLine, ...]
    logarithmic: bool = False
    mark: tuple[float, float, str] | None = None
    about: str = ""

    def to_svg(self, *, standalone: bool = False) -> str:
        """The SVG element, for a page; `standalone` with what a file of its own needs."""
        drawn = _Drawing(self).svg()
        space = '<svg xmlns="http://www.w3.org/2000/svg" color="#222222" '
        return drawn.replace("<svg ", space, 1) if standalone else drawn


class _Drawing:
    """A chart with its scales fixed."""

    def __init__(self, chart: ReportChart) -> None:
        self.chart = chart
        points = [self._kept(line) for line in chart.lines]
        xs = [x for line in points for x, _ in line] or [0.0, 1.0]
        ys = [y for line in points for _, y in line] or [0.1, 1.0]
        self.points = points
        self.xs = _spread(min(xs), max(xs))
        if chart.logarithmic:
            bottom, top = math.floor(math.log10(min(ys))), math.ceil(math.log10(max(ys)))
            self.ys = (float(bottom), float(max(top, bottom + 1)))
        else:
            self.ys = _spread(min(0.0, *ys), max(ys))

    def _kept(self, line: ReportLine) -> list[tuple[float, float]]:
        """The points that can be drawn."""
        points = [(float(x), float(y)) for x, y in zip(line.x, line.y, strict=True)]
        points = [(x, y) for x, y in points if math.isfinite(x) and math.isfinite(y)]
        return [(x, y) for x, y in points if y > 0] if self.chart.logarithmic else points

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Where a point lies on the paper."""
        high = math.log10(y) if self.chart.logarithmic else y
        across = (x - self.xs[0]) / (self.xs[1] - self.xs[0])
        up = (high - self.ys[0]) / (self.ys[1] - self.ys[0])
        return (
            _LEFT + across * (_WIDTH - _LEFT - _RIGHT),
            _HEIGHT - _BOTTOM - up * (_HEIGHT - _TOP - _BOTTOM),
        )

    def svg(self) -> str:
        chart = self.chart
        description = escape(chart.about or f"{chart.y} over {chart.x}", quote=True)
        parts = [
            f'<svg viewBox="0 0 {_WIDTH:.0f} {_HEIGHT:.0f}" '
            f'role="img" aria-label="{description}" font-family="inherit" font-size="13" '
            'fill="currentColor">'
        ]
        parts += self._axes()
        for i, line in enumerate(chart.lines):
            parts += self._line(i, line)
        parts += self._key()
        if chart.mark is not None:
            parts += self._mark(*chart.mark)
        return "\n".join([*parts, "</svg>"])

    def _axes(self) -> list[str]:
        chart, elements = self.chart, []
        for x in _ticks(*self.xs):
            at, bottom = self.at(x, self._lowest())
            elements.append(_rule(at, _TOP, at, bottom))
            elements.append(_text(at, bottom + 17, _shown(x), "middle"))
        for y in self._heights():
            left, at = self.at(self.xs[0], y)
            elements.append(_rule(left, at, _WIDTH - _RIGHT, at))
            if chart.logarithmic:
                power = round(math.log10(y))
                label = f'10<tspan dy="-5" font-size="9">{power}</tspan>' if power else "1"
                elements.append(_text(left - 6, at + 4, label, "end"))
            else:
                elements.append(_text(left - 6, at + 4, _shown(y), "end"))
        middle = (_LEFT + _WIDTH - _RIGHT) / 2
        elements.append(_text(middle, _HEIGHT - 8, escape(chart.x), "middle"))
        elements.append(_text(4, 14, escape(chart.y), "start"))
        return elements

    def _lowest(self) -> float:
        return 10.0 ** self.ys[0] if self.chart.logarithmic else self.ys[0]

    def _heights(self) -> list[float]:
        if not self.chart.logarithmic:
            return _ticks(*self.ys)
        bottom, top = round(self.ys[0]), round(self.ys[1])
        step = max(1, math.ceil((top - bottom) / 6))
        return [10.0**power for power in range(top, bottom - 1, -step)]

    def _line(self, i: int, line: ReportLine) -> list[str]:
        places = [self.at(x, y) for x, y in self.points[i]]
        if not places:
            return []
        ink, elements = _INK[i % len(_INK)], []
        if line.shaded and i:
            below = [self.at(x, y) for x, y in self.points[i - 1]]
            outline = _path([*places, *reversed(below)])
            elements.append(f'<path d="{outline} Z" fill="{ink}" fill-opacity="0.12"/>')
        dash = _DASH if line.dashed else ""
        elements.append(
            f'<path d="{_path(places)}" fill="none" stroke="{ink}" stroke-width="2" '
            f'stroke-linejoin="round"{dash}/>'
        )
        return elements

    def _key(self) -> list[str]:
        """What the lines are, where there is more than one."""
        elements: list[str] = []
        if len(self.chart.lines) < 2:
            return elements
        y = self._free_corner()
        for i, line in enumerate(self.chart.lines):
            ink, dash = _INK[i % len(_INK)], _DASH if line.dashed else ""
            left = _WIDTH - _RIGHT - _KEY
            elements.append(
                f'<path d="M{left:.1f} {y - 4:.1f} H{left + 24:.1f}" stroke="{ink}" '
                f'stroke-width="2" fill="none"{dash}/>'
            )
            elements.append(_text(left + 30, y, escape(line.label), "start"))
            y += 18
        return elements

    def _free_corner(self) -> float:
        """Where the key begins: at the top on the right, or at the bottom if fewer points lie there."""
        tall, low = 18.0 * len(self.chart.lines) + 12, _HEIGHT - _BOTTOM
        places = [self.at(x, y) for line in self.points for x, y in line]
        right = [up for x, up in places if x > _WIDTH - _RIGHT - _KEY - 8]
        above = sum(up < _TOP + tall for up in right)
        below = sum(up > low - tall for up in right)
        return _TOP + 16 if above <= below else low - tall + 16

    def _mark(self, x: float, y: float, label: str) -> list[str]:
        at, up = self.at(x, y)
        ink = _INK[1]
        left = at > _WIDTH * 0.6
        corner = self.at(self.xs[0], y)[0], _HEIGHT - _BOTTOM
        return [
            f'<path d="M{corner[0]:.1f} {up:.1f} H{at:.1f} V{corner[1]:.1f}" fill="none" '
            f'stroke="{ink}" stroke-width="1.2" stroke-dasharray="2 3"/>',
            f'<circle cx="{at:.1f}" cy="{up:.1f}" r="4.5" fill="{ink}"/>',
            _text(
                at + (-10 if left else 10),
                up + 18 if left else up - 10,
                escape(label),
                "end" if left else "start",
                bold=True,
            ),
        ]


def _path(places: Sequence[tuple[float, float]]) -> str:
    return "M" + " L".join(f"{x:.1f} {y:.1f}" for x, y in places)


def _rule(x1: float, y1: float, x2: float, y2: float) -> str:
    d = f"M{x1:.1f} {y1:.1f} L{x2:.1f} {y2:.1f}"
    return f'<path d="{d}" stroke="{_RULE}" stroke-width="1" fill="none"/>'


def _text(x: float, y: float, label: str, anchor: str, *, bold: bool = False) -> str:
    weight = ' font-weight="600"' if bold else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{weight}>{label}</text>'


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


def _shown(value: float) -> str:
    return f"{value:.6g}".replace("-", "−")

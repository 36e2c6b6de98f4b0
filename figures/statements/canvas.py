"""A small drawing of lines over one axis, as SVG of a few kilobytes that is the same on every machine."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape

from dpacct.report.plots import style

WIDTH, HEIGHT = 620, 332
LEFT, RIGHT, TOP, BOTTOM = 62, 14, 58, 72
INK, FAINT, RULE, ALARM = "#222222", "#595959", "#D9D9D9", "#F6E3D8"
DECADES = 12.0  # what is smaller than the largest value by more is not told apart


@dataclass(frozen=True)
class Scale:
    """From values to places; logarithmic or linear."""

    low: float
    high: float
    start: float
    end: float
    log: bool

    def __call__(self, value: float) -> float:
        """The place of a value, which is kept inside of the frame."""
        value = min(max(value, self.low), self.high)
        if self.log:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Round values, about five."""
        if not self.log:
            return steps(self.low, self.high)
        first, last = math.ceil(math.log10(self.low)), math.floor(math.log10(self.high))
        every = max(1, math.ceil((last - first + 1) / 6))
        results = [10.0**k for k in range(first, last + 1, every)]
        if len(results) >= 3:
            return results
        fine = [m * 10.0**k for k in range(first - 1, last + 1) for m in (1, 2, 5)]
        inside = [value for value in fine if self.low <= value <= self.high]
        return inside if len(inside) >= 3 else steps(self.low, self.high)


def steps(low: float, high: float) -> list[float]:
    """Round values at equal distances."""
    raw = (high - low) / 4
    unit = 10.0 ** math.floor(math.log10(raw))
    step = min((m * unit for m in (1, 2, 2.5, 5, 10)), key=lambda s: abs(s - raw))
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]


def scale(values: Sequence[float], start: float, end: float, log: bool) -> Scale:
    """The scale that holds all values; logarithmic where asked and where all are positive."""
    high = max(values)
    positive = [v for v in values if v > 0]
    if log and len(positive) == len(values):
        low = max(min(values), high * 10.0**-DECADES)
        if high <= low * 1.001:
            low, high = low / 2, high * 2
        return Scale(low / 1.15, high * 1.15, start, end, True)
    low = min(values)
    room = (high - low) * 0.06 or abs(high) * 0.5 or 1.0
    return Scale(low - (0 if low == 0 else room), high + room, start, end, False)


@dataclass
class Canvas:
    """What is drawn so far; x and y are the scales."""

    x: Scale
    y: Scale
    parts: list[str] = field(default_factory=list)

    def band(self, left: float, right: float) -> None:
        """A region of the horizontal axis, shaded."""
        a, b = self.x(left), self.x(right)
        self.parts.append(
            f'<rect x="{a:.1f}" y="{TOP}" width="{b - a:.1f}" '
            f'height="{HEIGHT - TOP - BOTTOM}" fill="{ALARM}"/>'
        )

    def frame(self, label: str, quantity: str, fixed: str) -> None:
        """Rules, ticks, what either axis shows, and the parameters that are held."""
        bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
        for value in self.y.ticks():
            at = self.y(value)
            self.parts.append(f'<path d="M{LEFT} {at:.1f}H{right}" stroke="{RULE}"/>')
            self.text(LEFT - 6, at + 4, number(value), anchor="end")
        for value in self.x.ticks():
            at = self.x(value)
            self.parts.append(f'<path d="M{at:.1f} {TOP}V{bottom}" stroke="{RULE}"/>')
            self.text(at, bottom + 16, number(value), anchor="middle")
        self.parts.append(
            f'<path d="M{LEFT} {TOP}V{bottom}H{right}" fill="none" stroke="{FAINT}"/>'
        )
        lines = (f"across: {label}", f"up: {quantity}", f"held: {fixed}" if fixed else "")
        for place, line in enumerate(lines):
            self.text(8, HEIGHT - 36 + 15 * place, shortened(line), size=11)

    def between(
        self, x: Sequence[float], low: Sequence[float], high: Sequence[float], colour: str
    ) -> None:
        """The area between two lines."""
        there = [f"{self.x(a):.1f} {self.y(b):.1f}" for a, b in zip(x, low, strict=True)]
        back = [f"{self.x(a):.1f} {self.y(b):.1f}" for a, b in zip(x, high, strict=True)]
        path = "M" + "L".join(there + back[::-1]) + "Z"
        self.parts.append(f'<path d="{path}" fill="{colour}" fill-opacity="0.25"/>')

    def line(self, x: Sequence[float], y: Sequence[float], colour: str, dashes: str) -> None:
        """A line through points."""
        path = "M" + "L".join(f"{self.x(a):.1f} {self.y(b):.1f}" for a, b in zip(x, y, strict=True))
        dash = f' stroke-dasharray="{dashes}"' if dashes else ""
        self.parts.append(
            f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2.2"{dash}/>'
        )

    def pointer(self, x: float) -> None:
        """A vertical line at the point that is spoken of."""
        at = self.x(x)
        self.parts.append(
            f'<path d="M{at:.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="{INK}" stroke-dasharray="3 3"/>'
        )

    def dot(self, x: float, y: float, colour: str) -> None:
        """A point."""
        self.parts.append(
            f'<circle cx="{self.x(x):.1f}" cy="{self.y(y):.1f}" r="4" fill="{colour}"/>'
        )

    def text(
        self,
        x: float,
        y: float,
        told: str,
        *,
        anchor: str = "start",
        size: int = 12,
        bold: bool = False,
    ) -> None:
        """Words at a place."""
        weight = ' font-weight="bold"' if bold else ""
        self.parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"{weight}>'
            f"{escape(told, quote=False)}</text>"
        )

    def legend(self, entries: Sequence[tuple[str, str, str]]) -> None:
        """Names of the lines in a row under the title: (name, colour, dashes)."""
        at = float(LEFT)
        for name, colour, dashes in entries:
            if dashes == "area":
                self.parts.append(f'<rect x="{at}" y="33" width="26" height="12" fill="{colour}"/>')
            else:
                dash = f' stroke-dasharray="{dashes}"' if dashes else ""
                self.parts.append(
                    f'<path d="M{at} 39h26" stroke="{colour}" stroke-width="2.2"{dash}/>'
                )
            self.text(at + 32, 43, name)
            at += 52 + 6.6 * len(name)

    def svg(self, title: str) -> str:
        """The whole picture."""
        self.text(8, 18, title, size=14, bold=True)
        return style.dark(
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
            f'width="{WIDTH}" height="{HEIGHT}" '
            'font-family="DejaVu Sans, Verdana, Helvetica, sans-serif" '
            f'fill="{INK}">\n<title>{escape(title, quote=False)}</title>\n'
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>\n'
            + "\n".join(self.parts)
            + "\n</svg>\n"
        )


def shortened(line: str, most: int = 104) -> str:
    """As much of a line as is seen."""
    return line if len(line) <= most else f"{line[: most - 1]}…"


def number(value: float) -> str:
    """A tick.

    >>> number(0.5), number(1e-9), number(2000000.0)
    ('0.5', '1e-9', '2e6')
    """
    if value and not 1e-3 <= abs(value) < 1e5:
        mantissa, _, exponent = f"{value:.1e}".partition("e")
        return f"{mantissa.removesuffix('.0')}e{int(exponent)}"
    return f"{value:.6g}"


def runs(
    flags: Sequence[bool], x: Sequence[float], middle: Callable[[float, float], float]
) -> list[tuple[float, float]]:
    """The stretches in which all flags are up, to half-way to their neighbours."""
    results = []
    begin: float | None = None
    for i, flag in enumerate(flags):
        if flag and begin is None:
            begin = x[i] if i == 0 else middle(x[i - 1], x[i])
        if begin is not None and (not flag or i == len(flags) - 1):
            results.append((begin, x[i] if flag else middle(x[i - 1], x[i])))
            begin = None
    return results

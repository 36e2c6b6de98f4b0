"""A chart as data: what a picture, a page, a terminal plot, a CSV file and JSON are all made from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dpacct.declare.number import rounded
from dpacct.vocabulary import Strength

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.float64]


@dataclass(frozen=True)
class Axis:
    """One axis: the name of its column, what a reader sees, and its scale."""

    column: str
    label: str
    log: bool = False


_TINY, _HUGE = 1e-300, 1e300  # what lies beyond is not drawn


@dataclass(frozen=True)
class Scale:
    """The positions of values along an axis: from 0 at its start to 1 at its end.

    >>> scale = Scale.of(Axis("x", "x", log=True), [0.01, 3.0])
    >>> scale.place(0.01), [scale.label(tick) for tick in scale.ticks()]
    (0.0, ['0.01', '0.1', '1'])
    """

    low: float
    high: float
    log: bool = False

    @classmethod
    def of(cls, axis: Axis, values: Iterable[float], *, zero: bool = False) -> Scale:
        """The scale that just holds the values, of those that the axis can show.

        `zero`: a linear one begins at 0 where that leaves the values half of it.
        """
        least = _TINY if axis.log else -_HUGE
        shown = [v for v in values if least <= v <= _HUGE] or [0.1, 1.0]
        low, high = min(shown), max(shown)
        if axis.log:
            low, high = (low, high) if high > 1.001 * low else (low / 2, 2 * high)
        elif high - low <= max(1e-9 * max(abs(low), abs(high)), 1e-250):
            slack = max(abs(low), abs(high), 1.0) / 2
            low, high = low - slack, high + slack
        elif zero and 0 < low <= high / 2:
            low = 0.0
        return cls(low, high, axis.log)

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def place(self, value: float) -> float:
        """The place of a value; one beyond an end lies at that end."""
        value = min(max(value, self.low), self.high)
        if self.log:
            start = math.log10(self.low)
            return (math.log10(value) - start) / (math.log10(self.high) - start)
        return (value - self.low) / (self.high - self.low)

    def ticks(self, most: int = 6) -> list[float]:
        """Round values along the axis, about so many."""
        if self.log:
            first, last = math.ceil(math.log10(self.low)), math.floor(math.log10(self.high))
            every = max(1, math.ceil((last - first + 1) / most))
            powers = [10.0**power for power in range(first, last + 1, every)]
            between = [m * 10.0**k for k in range(first - 1, last + 1) for m in (1, 2, 5)]
            for ticks in (powers, [tick for tick in between if tick in self]):
                if len(ticks) >= 3:
                    return ticks
        distance = (self.high - self.low) / (most - 1)
        unit = 10.0 ** math.floor(math.log10(distance))
        step = min((m * unit for m in (1, 2, 5, 10)), key=lambda s: abs(math.log(s / distance)))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [k * step for k in range(first, last + 1)]

    def label(self, value: float) -> str:
        """Return a tick's label."""
        return rounded(value, "nearest", 6, largest=6)


@dataclass(frozen=True)
class Line:
    """Values over the horizontal axis; nan where there is no answer.

    `column` is its name in CSV and JSON, `label` that in the legend; `strengths` are of each value, or
    one for all of them, the weakest of which gives the dashes; `method` gives the colour.
    """

    column: str
    label: str
    values: Column
    strengths: Strength | tuple[Strength, ...] = Strength.CONVERGED
    method: str = ""

    @property
    def grades(self) -> tuple[Strength, ...]:
        """The strength of each value."""
        if isinstance(self.strengths, Strength):
            return (self.strengths,) * len(self.values)
        return self.strengths

    @property
    def strength(self) -> Strength:
        """The weakest strength of its values."""
        return Strength.weakest(self.grades)


@dataclass(frozen=True)
class Mark:
    """A point that the title speaks of.

    Its words stand beside it; `away` moves them off, so many points right and up, and a thin line
    then leads to them.
    """

    x: float
    y: float
    text: str
    away: tuple[float, float] | None = None


@dataclass(frozen=True)
class ReferenceLine:
    """A horizontal line to compare with."""

    y: float
    text: str


@dataclass(frozen=True)
class Stretch:
    """A shaded part of the horizontal axis."""

    start: float
    end: float
    label: str


@dataclass(frozen=True)
class Band:
    """A shaded region between two curves over the horizontal axis."""

    low: Column
    high: Column
    label: str
    colour: str


@dataclass(frozen=True, repr=False)
class Chart:
    """Everything that one picture shows.

    `kind` is "profile", "tradeoff", "rdp" or "audit", or "" of any other; `points`, which never decrease,
    are where the lines are known. The `title` says what was found as a sentence with its numbers; `plan`
    is the plan in words, as it would be typed, and `saved` as JSON values. `square`: both axes have one
    scale, from 0 to 1. `top` is where the vertical axis ends at the latest; what lies above says nothing.

    >>> chart = Chart.simple("round", "accuracy / %", [1, 2], [50.0, 80.0], title="Accuracy by round")
    >>> chart.to_svg()[:56]
    '<svg role="img" aria-label="Accuracy by round" xmlns:xli'
    """

    kind: str
    x: Axis
    y: Axis
    points: Column
    lines: tuple[Line, ...]
    title: str
    plan: str = ""
    adjacency: str = ""
    facts: tuple[str, ...] = ()
    marks: tuple[Mark, ...] = ()
    levels: tuple[ReferenceLine, ...] = ()
    bands: tuple[Band, ...] = ()
    stretches: tuple[Stretch, ...] = ()
    saved: Any = None
    square: bool = False
    top: float | None = None

    @classmethod
    def simple(
        cls, x: str, y: str, points: Sequence[float], values: Sequence[float], *, title: str
    ) -> Chart:
        """One line of numbers, such as the accuracy of a run by round."""
        import numpy as np

        line = Line(y, y, np.array(values, dtype=float))
        return cls("", Axis(x, x), Axis(y, y), np.array(points, dtype=float), (line,), title)

    @property
    def columns(self) -> dict[str, Column]:
        """Name to values, the horizontal axis first."""
        return {self.x.column: self.points} | {line.column: line.values for line in self.lines}

    @property
    def subtitle(self) -> tuple[str, ...]:
        """The lines under the title."""
        plan = self.plan if len(self.plan) <= 300 else f"{self.plan[:296]} ..."
        adjacency = [f"adjacency {self.adjacency}"] if self.adjacency else []
        return tuple(part for part in (plan, ", ".join([*adjacency, *self.facts])) if part)

    def scales(self) -> tuple[Scale, Scale]:
        """The horizontal and the vertical one, which hold all lines."""
        if self.square:
            return Scale(0.0, 1.0), Scale(0.0, 1.0)
        heights = [value for line in self.lines for value in line.values.tolist()]
        upward = Scale.of(self.y, heights, zero=True)
        if self.top is not None and self.top in upward:
            upward = replace(upward, high=self.top)
        return Scale.of(self.x, self.points.tolist()), upward

    def spots(self, values: Column) -> list[tuple[float, float]]:
        """The places of what lies within both scales, such as a line's values."""
        across, upward = self.scales()
        return [
            (across.place(x), upward.place(y))
            for x, y in zip(self.points.tolist(), values.tolist(), strict=True)
            if x in across and y in upward
        ]

    @property
    def infinite(self) -> str | None:
        """The first column that is infinite somewhere: it would be drawn as nothing."""
        columns = self.columns.items()
        return next((name for name, column in columns if any(map(math.isinf, column))), None)

    def __repr__(self) -> str:
        return f"<Chart: {self.title}>"

    def _repr_svg_(self) -> str:
        """Show the picture in a notebook."""
        return self.to_svg()

    def __html__(self) -> str:
        """The picture, where a template asks for the chart."""
        return self.to_svg()

    def to_svg(self) -> str:
        """An SVG element, for a page of HTML or as a file; it follows the reader's dark mode."""
        return self.to_bytes(".svg").decode()

    def to_bytes(self, suffix: str) -> bytes:
        """The picture as ".svg", ".pdf" or ".png"; equal charts are equal bytes."""
        from dpacct.report.plots.draw import draw
        from dpacct.report.plots.style import to_bytes

        return to_bytes(draw(self), suffix)

    def to_csv(self) -> str:
        """A header and a line for each point; numbers read back to the same floats, a gap is empty."""
        lines = [",".join(self.columns)]
        lines += [
            ",".join("" if math.isnan(value) else repr(float(value)) for value in row)
            for row in zip(*self.columns.values(), strict=True)
        ]
        return "\n".join(lines) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """The JSON object, without the command's name; a gap is null."""
        weak = sorted(line.column for line in self.lines if line.strength <= Strength.ESTIMATE)
        return {
            "kind": self.kind,
            "title": self.title,
            "adjacency": self.adjacency,
            "columns": {
                name: [None if math.isnan(v) else float(v) for v in column]
                for name, column in self.columns.items()
            },
            "strengths": {line.column: list(map(str, line.grades)) for line in self.lines},
            "estimates": weak,
            "plan": self.saved,
        }

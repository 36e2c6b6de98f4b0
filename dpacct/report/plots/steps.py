"""Epsilon against the number of steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dpacct.report.plots.chart import Axis, Chart, Line
from dpacct.report.plots.methods import lines_by_method, span_of
from dpacct.report.plots.words import listed, near, up
from dpacct.vocabulary import Strength

if TYPE_CHECKING:
    from dpacct.declare.number import Number
    from dpacct.tree import Node


def steps(
    step: Node,
    *,
    counts: Sequence[int] | None = None,
    delta: Number = "1e-5",
    methods: Sequence[str] | None = None,
) -> Chart:
    """Epsilon at `delta` of `step` repeated so many times, by one or more methods."""
    import numpy as np

    from dpacct.tree import resolve_adjacency

    whole = whole_counts(1, 10_000, 41) if counts is None else [int(count) for count in counts]
    lines = lines_by_method(
        "epsilon",
        whole,
        lambda count, method: (step * count).epsilon(delta=delta, method=method),
        methods,
    )
    return Chart(
        "steps",
        Axis("steps", "number of steps (T)", log=True),
        Axis("epsilon", "epsilon (ε)", log=True),
        np.array(whole, dtype=float),
        lines,
        _title(whole, lines, delta),
        f"{step} * steps",
        str(resolve_adjacency(step)),
        facts=(f"delta {near(float(delta))}",),
    )


def whole_counts(first: int, last: int, points: int) -> list[int]:
    """Whole numbers from `first` to `last`, evenly on a logarithmic scale, each once.

    >>> whole_counts(1, 1000, 4)
    [1, 10, 100, 1000]
    """
    import numpy as np

    counts = {round(count) for count in np.geomspace(first, last, points).tolist()}
    return sorted({min(max(count, first), last) for count in counts})


def _title(counts: list[int], lines: tuple[Line, ...], delta: Number) -> str:
    import numpy as np

    main = lines[0]
    finite = np.flatnonzero(np.isfinite(main.values))
    low, high = int(finite[0]), int(finite[-1])
    number = near if main.strength <= Strength.ESTIMATE else up
    title = (
        f"At delta {near(float(delta))} the {main.label} epsilon grows from"
        f" {number(float(main.values[low]))} ({_so_many(counts[low])})"
        f" to {number(float(main.values[high]))} ({_so_many(counts[high])})"
    )
    distances = [words for line in lines[1:] if (words := span_of(line, main))]
    return f"{title}; {listed(distances)}" if distances else title


def _so_many(count: int) -> str:
    return "1 step" if count == 1 else f"{count:,} steps"

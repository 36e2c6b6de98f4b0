"""The noise that an epsilon asks for, by method."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from dpacct.report.plots.chart import Axis, Chart, Mark
from dpacct.report.plots.methods import asked, lines_by_method
from dpacct.report.plots.profile import title_of_methods
from dpacct.report.plots.words import near, up
from dpacct.vocabulary import Strength

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpacct.answer import Answer
    from dpacct.declare.number import Number
    from dpacct.tree import Node

_LABELS = {
    "sigma": "noise (σ = standard deviation / sensitivity)",
    "b": "noise (b = scale / sensitivity)",
}


def noise(
    plan: Callable[[float | Fraction], Node],
    *,
    epsilons: ArrayLike | None = None,
    delta: Number = "1e-5",
    epsilon: Number = 1,
    methods: Sequence[str] | None = None,
    name: str = "sigma",
    ask: Callable[[Number, str], Answer] | None = None,
) -> Chart:
    """The smallest noise over epsilon, by one or more methods.

    Args:
        plan: the plan as a function of its noise, as for `calibrate`.
        epsilons: where to ask; all above 0.
        delta: of the guarantee.
        epsilon: the one that the title speaks of.
        methods: their names; None for exact, RDP and the central limit where they apply.
        name: of the noise parameter.
        ask: the noise for an epsilon by a method; default: `calibrate`.
    """
    import numpy as np

    from dpacct.answer.calibration import calibrate
    from dpacct.tree import resolve_adjacency

    def calibrated(target: Number, method: str) -> Answer:
        return calibrate(plan, epsilon=target, delta=delta, method=method, name=name)

    find = ask or calibrated
    points = np.atleast_1d(np.asarray(np.geomspace(0.1, 10, 25) if epsilons is None else epsilons))
    points = points.astype(float)
    lines = lines_by_method(name, points.tolist(), find, methods)
    at = asked(lambda method: find(epsilon, method), [line.method for line in lines])
    first = next(iter(at.values()), None)
    marks = []
    if first is not None and points[0] <= float(epsilon) <= points[-1]:
        number = near if first.strength <= Strength.ESTIMATE else up
        marks.append(
            Mark(float(epsilon), float(first), f"{name} {number(float(first))}", (-30, -40))
        )
    example = plan(1.0)
    return Chart(
        "noise",
        Axis("epsilon", "epsilon (ε)", log=True),
        Axis(name, _LABELS.get(name, f"noise ({name})"), log=True),
        points,
        lines,
        title_of_methods(
            at, f"For epsilon {near(float(epsilon))} at delta {near(float(delta))}", name
        ),
        re.sub(rf"\b{name}=1\b", f"{name}={name}", str(example)),
        str(resolve_adjacency(example)),
        facts=(f"delta {near(float(delta))}",),
        marks=tuple(marks),
    )

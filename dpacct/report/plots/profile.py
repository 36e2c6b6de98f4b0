"""The privacy profile: delta over epsilon."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dpacct.report.plots.chart import Axis, Chart, Line, Mark
from dpacct.report.plots.methods import asked, compared, lines_by_method, method_name
from dpacct.report.plots.words import listed, near, up
from dpacct.vocabulary import Strength

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpacct.answer import Answer
    from dpacct.declare.number import Number
    from dpacct.tree import Node

_NEGLIGIBLE = (1e-10, 1e-8, 1e-6, 1e-4, 1e-2)
_WIDEST = 10.0  # epsilon


def profile(
    plan: Node,
    *,
    epsilons: ArrayLike | None = None,
    methods: Sequence[str] = ("auto",),
    delta: Number = "1e-5",
) -> Chart:
    """Delta over epsilon, by one or more methods; `delta` is the one the title speaks of.

    The method "auto" is the whole exact profile at once; others are asked point by point.
    """
    import numpy as np

    from dpacct.compose.questions import fast_method
    from dpacct.tree import resolve_adjacency

    if epsilons is None:
        epsilons = np.linspace(0.0, usual_end(plan), 101)
    points = np.atleast_1d(np.asarray(epsilons, dtype=float))
    strongest = fast_method(plan)
    lines: list[Line] = []
    for method in dict.fromkeys(methods):
        if method == "auto":
            values = np.asarray(plan.profile(points), dtype=float)
            grade = plan.delta(epsilon=float(points[len(points) // 2]), method=strongest).strength
            lines.append(Line("delta", method_name(strongest), values, grade, strongest))
        else:
            lines += lines_by_method(
                "delta",
                points.tolist(),
                lambda epsilon, name: plan.delta(epsilon=epsilon, method=name),
                (method,),
            )
    at = asked(
        lambda name: plan.epsilon(delta=delta, method=name),
        list(dict.fromkeys(strongest if name == "auto" else name for name in methods)),
    )
    first = next(iter(at.values()), None)
    marks = []
    # A profile falls, so there is room below it; between several of them there is none.
    away = (-30.0, -50.0) if len(lines) > 1 else None
    if first is not None and points[0] <= float(first) <= points[-1]:
        marks.append(Mark(float(first), float(delta), f"epsilon {up(float(first))}", away))
    return Chart(
        "profile",
        Axis("epsilon", "epsilon (ε)"),
        Axis("delta", "delta (δ)", log=True),
        points,
        tuple(lines),
        title_of_methods(at, f"At delta {near(float(delta))}", "epsilon"),
        str(plan),
        str(resolve_adjacency(plan)),
        marks=tuple(marks),
        saved=plan.to_dict(),
    )


def usual_end(plan: Node) -> float:
    """The epsilon at which a profile ends by default: delta is negligible there.

    A plan that may fail outright has no epsilon at the smallest deltas; larger ones are tried.
    """
    from dpacct.compose.questions import fast_method

    method = fast_method(plan)
    ends = (float(plan.epsilon(delta=delta, method=method)) for delta in _NEGLIGIBLE)
    return next((end for end in ends if 0 < end < math.inf), _WIDEST)


def title_of_methods(answers: dict[str, Answer], where: str, quantity: str) -> str:
    """`At delta 1e-5 the exact epsilon is 1.516; RDP asks 13 % more`."""
    if not answers:
        return f"{where} no finite {quantity} holds"
    (method, first), *others = answers.items()
    safe = float(first)
    whose = f"the {method_name(method)} {quantity}"
    verb = "is" if first.strength >= Strength.CONVERGED else "is at most"
    if first.strength <= Strength.ESTIMATE:
        title = f"{where} {whose} is an estimate of {near(safe)}"
    else:
        title = f"{where} {whose} {verb} {up(safe)}"
    comparisons = [compared(name, answer, safe) for name, answer in others] if safe > 0 else []
    return f"{title}; {listed(comparisons)}" if comparisons else title

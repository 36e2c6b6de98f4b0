"""Renyi differential privacy over its order, with the order that is best for a delta."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from dpacct.errors import OutsideDomain, Unsupported
from dpacct.report.plots.chart import Axis, Chart, Level, Line, Mark
from dpacct.report.plots.words import compared_to, near, up
from dpacct.vocabulary import Strength

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpacct.declare.number import Number
    from dpacct.tree import Node


def rdp(
    plan: Node, *, orders: ArrayLike | None = None, delta: Number = "1e-5", count: int = 101
) -> Chart:
    """Renyi DP over its order, and the epsilon that each order gives at `delta`.

    Without `orders` there are `count` of them, from 1.1 to four times the best one.

    Raises:
        Unsupported: the plan has no finite Renyi divergence.
    """
    import numpy as np

    from dpacct.compose.questions import fast_method
    from dpacct.declare.domain import DELTA
    from dpacct.declare.number import ln
    from dpacct.pld import conversions
    from dpacct.tree import resolve_adjacency

    log_delta = ln(DELTA.check("delta", delta))

    def at_order(order: float, divergence: float) -> float:
        # Canonne, Kamath and Steinke 2020, Proposition 12; s = order - 1, log moment = s * RDP
        s = order - 1.0
        return max(0.0, conversions.epsilon(s * divergence, s, log_delta))

    best, order = best_order(plan, at_order)
    if not math.isfinite(best):
        message = f"no Renyi order gives {plan} a finite epsilon at delta {near(float(delta))}"
        raise Unsupported(message, argument="plan")
    if orders is None:
        orders = np.geomspace(1.1, max(16.0, 4 * order), count)
    points = np.atleast_1d(np.asarray(orders, dtype=float))
    curve = np.asarray(plan.rdp(points), dtype=float)
    converted = np.array([at_order(*pair) for pair in zip(points, curve, strict=True)])
    strongest = fast_method(plan)
    title = f"At delta {near(float(delta))} order {near(order, 3)} is best: RDP gives epsilon"
    title += f" {up(best)}"
    levels = []
    if strongest != "rdp":
        exact = float(plan.epsilon(delta=delta, method=strongest))
        if exact > 0:
            title += f", {compared_to(best / exact - 1)} the exact {up(exact)}"
            levels.append(Level(exact, f"exact epsilon {up(exact)}"))
    inside = points[0] <= order <= points[-1]
    return Chart(
        "rdp",
        Axis("order", "Rényi order (α)", log=True),
        Axis("epsilon", "epsilon (ε)", log=True),
        points,
        (
            Line("epsilon", "Rényi divergence", curve, Strength.CONVERGED, "exact"),
            Line(
                "epsilon_at_delta",
                f"epsilon it gives at delta {near(float(delta))}",
                converted,
                Strength.BOUND,
                "rdp",
            ),
        ),
        title,
        str(plan),
        str(resolve_adjacency(plan)),
        marks=(Mark(order, best, f"order {near(order, 3)}", (-8, 48)),) if inside else (),
        top=1000 * best,
        levels=tuple(levels),
        saved=plan.to_dict(),
    )


def best_order(plan: Node, at_order: Callable[[float, float], float]) -> tuple[float, float]:
    """The least epsilon over all orders, and the order that gives it."""
    from dpacct.pld.roots import minimum

    best, order = math.inf, math.nan

    def bound(log_s: float) -> float:
        nonlocal best, order
        trial = 1.0 + math.exp(log_s)
        try:
            value = at_order(trial, float(plan.rdp(trial)))
        except OutsideDomain:  # an order far outside the useful range
            return math.inf
        if value < best:
            best, order = value, trial
        return value if math.isfinite(value) else math.inf

    minimum(bound, math.log(1e-3), math.log(1e9))
    return best, order

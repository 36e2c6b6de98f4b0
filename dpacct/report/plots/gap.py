"""How far other methods are from the exact epsilon, over delta."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dpacct.errors import Unsupported
from dpacct.report.plots.chart import Axis, Chart, Level
from dpacct.report.plots.methods import lines_by_method, span_of
from dpacct.report.plots.words import listed, near

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpacct.report.plots.chart import Column
    from dpacct.tree import Node

_VAST = 1000.0  # per cent, beyond which a linear axis would show the largest gap alone


def gap(
    plan: Node, *, deltas: ArrayLike | None = None, methods: Sequence[str] | None = None
) -> Chart:
    """The relative distance of each method's epsilon to the exact one, in per cent, over delta.

    Above 0 a method asks for more epsilon than is spent; below 0 it promises more privacy than
    there is.

    Raises:
        Unsupported: the plan has no exact epsilon, or no other method applies to it.
    """
    import numpy as np

    from dpacct.tree import resolve_adjacency

    points = np.atleast_1d(
        np.asarray(np.geomspace(1e-12, 0.01, 41) if deltas is None else deltas, dtype=float)
    )
    named = None if methods is None else tuple(dict.fromkeys(("exact", *methods)))
    exact, *others = lines_by_method(
        "epsilon",
        points.tolist(),
        lambda delta, method: plan.epsilon(delta=delta, method=method),
        named,
    )
    if exact.method != "exact" or not others:
        raise Unsupported(f"no method can be compared with the exact one for {plan}")
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = [
            np.where(exact.values > 0, 100 * (line.values / exact.values - 1), np.nan)
            for line in others
        ]
    distances = [words for line in others if (words := span_of(line, exact))]
    if not distances:
        raise Unsupported(f"no other method has an epsilon for {plan} where the exact one has")
    ends = f"from delta {near(float(points[0]))} to {near(float(points[-1]))}"
    return Chart(
        "gap",
        Axis("delta", "delta (δ)", log=True),
        Axis("gap", "epsilon above the exact one (%)", signed=_vast(shares)),
        points,
        tuple(
            replace(line, column=f"gap_{line.method}", values=share)
            for line, share in zip(others, shares, strict=True)
        ),
        f"Against the exact epsilon {listed(distances)}, {ends}",
        str(plan),
        str(resolve_adjacency(plan)),
        levels=(Level(0.0, "exact; below it: too optimistic"),),
        saved=plan.to_dict(),
    )


def _vast(shares: Sequence[Column]) -> bool:
    return any(bool((abs(share[share == share]) > _VAST).any()) for share in shares)

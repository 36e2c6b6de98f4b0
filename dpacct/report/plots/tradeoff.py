"""The trade-off curve: the least type II error of any test, over its type I error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpacct.report.plots.chart import Axis, Band, Chart, Line, Mark
from dpacct.report.plots.style import VERMILION
from dpacct.report.plots.words import down, near, up
from dpacct.vocabulary import Strength

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpacct.declare.number import Number
    from dpacct.tree import Node


def tradeoff(plan: Node, *, alphas: ArrayLike | None = None, alarm: Number = "0.01") -> Chart:
    """The trade-off curve with the region that attacks can reach.

    The title speaks of the attack with false positive rate `alarm`. The curve is a lower bound of
    the true one, so the region contains every attack.
    """
    import numpy as np

    from dpacct.tree import resolve_adjacency

    points = np.atleast_1d(np.asarray(np.linspace(0, 1, 101) if alphas is None else alphas))
    points = points.astype(float)
    at = float(alarm)
    *rest, least, further = np.asarray(plan.tradeoff([*points, at, 0.2]), dtype=float).tolist()
    missed = np.array(rest)
    caught = float(min(1.0, np.nextafter(1.0 - least, 2.0)))
    times = f", {near(caught / at, 2)} times what guessing finds" if caught > 1.05 * at else ""
    return Chart(
        "tradeoff",
        Axis("alpha", "false positive rate (type I error, α)"),
        Axis("beta", "false negative rate (type II error, β)"),
        points,
        (Line("beta", "best possible attack (bound)", missed, Strength.BOUND, "exact"),),
        f"An attack with {near(100 * at)} % false alarms finds at most {up(100 * caught, 3)} %"
        f" of the members{times}",
        str(plan),
        str(resolve_adjacency(plan)),
        marks=(
            Mark(
                at,
                least,
                f"{near(100 * at)} % false alarms:\nmisses at least {down(100 * least, 3)} %",
                # Below the curve no attack gets, so there is room; unless it hugs the axes.
                (8, -185) if further > 0.4 else (70, -30),
            ),
        ),
        bands=(
            Band(missed, np.maximum(missed, 1 - points), "attacks better than guessing", VERMILION),
        ),
        saved=plan.to_dict(),
        square=True,
    )

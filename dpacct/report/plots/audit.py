"""What an attack reached, and what a plan's trade-off curve forbids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpacct.declare.number import down, up
from dpacct.mechanisms.laws import knots
from dpacct.report.plots.chart import Axis, Band, Chart, Line
from dpacct.report.plots.style import VERMILION
from dpacct.vocabulary import Strength

if TYPE_CHECKING:
    from dpacct.auditing.audit import Audit


def audit_chart(audit: Audit) -> Chart:
    """The rates of all thresholds, the curve that holds with confidence, and what is proven impossible.

    The curve with confidence is the upper edge of what is left: the line through the points of two
    worlds, or the Gaussian curve of the mu that one run refutes.
    """
    import numpy as np
    from scipy.special import ndtr, ndtri

    alphas = np.linspace(0.0, 1.0, 201)
    thresholds = np.unique(np.quantile(audit.scores.values, alphas, method="lower"))
    ins, outs = audit.scores.sizes
    positives, negatives = audit.scores.errors(thresholds)
    reached_at = np.concatenate(([1.0], np.array(positives) / outs))[::-1]
    reached = np.concatenate(([0.0], np.array(negatives) / ins))[::-1]
    lines = [
        Line("reached", "these scores", np.interp(alphas, reached_at, reached), Strength.ESTIMATE)
    ]
    if audit.points:
        corners = knots.hull(sorted({(0.0, 1.0), (1.0, 0.0), *audit.points}))
        x, y = zip(*corners, strict=True)
        name = "the truth: on or below, with confidence"
        lines.append(Line("shown", name, np.interp(alphas, x, y), Strength.BOUND))
    for mu in [bound.mu for bound in audit.bounds if bound.mu and not audit.points]:
        name = f"mu = {mu:.3g}, the largest refuted"
        lines.append(Line("shown", name, ndtr(-ndtri(alphas) - mu), Strength.BOUND))
    bands: tuple[Band, ...] = ()
    if audit.curve is not None:
        least = np.array([audit.curve.at(1.0 - alpha) for alpha in alphas.tolist()])
        lines.append(
            Line("proven", "no attack gets below (the plan)", least, Strength.BOUND, "exact")
        )
        bands = (Band(np.zeros(alphas.size), least, "proven impossible", VERMILION),)
    return Chart(
        "audit",
        Axis("alpha", "false positive rate (type I error, α)"),
        Axis("beta", "false negative rate (type II error, β)"),
        alphas,
        tuple(lines),
        f"The scores show an epsilon of at least {down(audit.epsilon)} at delta {audit.delta:g}"
        + ("" if audit.proven is None else f"; proven: at most {up(float(audit.proven))}"),
        "" if audit.plan is None else str(audit.plan),
        str(audit.adjacency or "not stated"),
        facts=(f"confidence {audit.confidence:g}", audit.design),
        bands=bands,
        saved=None if audit.plan is None else audit.plan.to_dict(),
        square=True,
    )

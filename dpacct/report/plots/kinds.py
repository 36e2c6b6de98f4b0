"""The kinds of charts, whose titles state what was found."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dpacct.declare.domain import DELTA, one_of
from dpacct.declare.number import down, ln, near, up
from dpacct.errors import DpacctError, OutsideDomain, Unsupported
from dpacct.mechanisms.laws import knots
from dpacct.plan.node import resolve_adjacency
from dpacct.plan.routes import fast_method
from dpacct.pld import conversions
from dpacct.pld.roots import minimum
from dpacct.report.plots.chart import Axis, Band, Chart, Line, Mark, ReferenceLine
from dpacct.report.plots.style import VERMILION, method_name
from dpacct.vocabulary import Strength

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpacct.answer import Answer
    from dpacct.auditing.audit import Audit
    from dpacct.declare.number import Number
    from dpacct.plan.node import Node
    from dpacct.report.plots.chart import Column

_NEGLIGIBLE = (1e-10, 1e-8, 1e-6, 1e-4, 1e-2)
_WIDEST = 10.0  # epsilon


def profile(
    plan: Node,
    *,
    epsilons: ArrayLike | None = None,
    methods: Sequence[str] = ("auto",),
    delta: Number = "1e-5",
) -> Chart:
    """Delta over epsilon, by one or more methods; the title speaks of the `delta` in (0, 1).

    `epsilons` go from 0 to where delta is 1e-10 by default; `methods` are those of `Node.delta`, "auto"
    being the whole exact profile at once.
    Raises `InvalidArgument` for a value outside its range, `Unsupported` for a method that does not apply.

    >>> import dpacct as dp
    >>> run = dp.Poisson(0.01)(dp.Gaussian(sigma=1.1)) * 1000
    >>> picture = dp.plots.profile(run, methods=("auto", "rdp"))
    >>> picture.texts[0].get_text()
    'At delta 1e-5 the exact epsilon is 1.516; RDP gives 13 % more'
    """
    points = _points(epsilons, lambda: np.linspace(0.0, usual_end(plan), 101))
    strongest = fast_method(plan)
    lines: list[Line] = []
    for method in dict.fromkeys(methods):
        if method == "auto":
            values = np.asarray(plan.profile(points), dtype=float)
            grade = plan.delta(epsilon=float(points[len(points) // 2]), method=strongest).strength
            lines.append(Line("delta", method_name(strongest), values, grade, strongest))
        else:
            lines.append(_line(plan, points, method))
    names = dict.fromkeys(strongest if name == "auto" else name for name in methods)
    at = _answers(plan, delta, names)
    # A profile falls, so there is room above it; beside several of them below.
    away = (-30.0, -50.0) if len(lines) > 1 else (24.0, 20.0)
    marks = [
        Mark(float(first), float(delta), f"epsilon {up(float(first))}", away)
        for first in at[:1]
        if points[0] <= float(first) <= points[-1]
    ]
    return _chart(
        "profile",
        plan,
        Axis("epsilon", "epsilon (ε)"),
        Axis("delta", "delta (δ)", log=True),
        points,
        lines=tuple(lines),
        title=f"At delta {up(float(delta))} {_compared(at)}",
        marks=tuple(marks),
    )


def usual_end(plan: Node) -> float:
    """The epsilon at which a profile ends by default: delta is negligible there.

    A plan that may fail outright has no epsilon at the smallest deltas; larger ones are tried.
    """
    method = fast_method(plan)
    ends = (float(plan.epsilon(delta=delta, method=method)) for delta in _NEGLIGIBLE)
    return next((end for end in ends if 0 < end < math.inf), _WIDEST)


def tradeoff(
    plan: Node,
    *,
    alphas: ArrayLike | None = None,
    alarm: Number = "0.01",
) -> Chart:
    """The least type II error of any test over its type I error, and the region of attacks.

    The title speaks of the attack with false positive rate `alarm`. The curve is a lower bound of
    the true one, so the region contains every attack.

    Raises what the plan's own questions raise.

    >>> import dpacct as dp
    >>> picture = dp.plots.tradeoff(dp.Gaussian(sigma=2))
    >>> picture.texts[0].get_text().splitlines()[0]
    'An attack with 1 % false alarms finds at most'
    """
    points = _points(alphas, lambda: np.linspace(0, 1, 101))
    at = float(alarm)
    *rest, least, further = np.asarray(plan.tradeoff([*points, at, 0.2]), dtype=float).tolist()
    missed = np.array(rest)
    caught = float(min(1.0, np.nextafter(1.0 - least, 2.0)))
    times = f", {near(caught / at, 2)} times what guessing finds" if caught > 1.05 * at else ""
    alarms = f"{near(100 * at)} % false alarms"
    # Below the curve no attack gets, so there is room; unless it hugs the axes.
    away = (8, -170) if further > 0.4 else (70, -30)
    return _chart(
        "tradeoff",
        plan,
        Axis("alpha", "false positive rate (type I error, α)"),
        Axis("beta", "false negative rate (type II error, β)"),
        points,
        lines=(Line("beta", "best possible attack (bound)", missed, Strength.BOUND, "exact"),),
        title=f"An attack with {alarms} finds at most {up(100 * caught, 3)} % of the members{times}",
        marks=(Mark(at, least, f"{alarms}:\nmisses at least {down(100 * least, 3)} %", away),),
        bands=(
            Band(missed, np.maximum(missed, 1 - points), "attacks better than guessing", VERMILION),
        ),
        square=True,
    )


def rdp(
    plan: Node,
    *,
    orders: ArrayLike | None = None,
    delta: Number = "1e-5",
    count: int = 101,
) -> Chart:
    """Renyi DP over its order, and the epsilon that each order gives at `delta`; the best is marked.

    Without `orders` there are `count` of them, from 1.1 to four times the best one.

    Raises `Unsupported` where the plan has no finite Renyi divergence.

    >>> import dpacct as dp
    >>> picture = dp.plots.rdp(dp.Gaussian(sigma=2) * 8, delta=1e-6)
    """
    log_delta = ln(DELTA.check("delta", delta))

    def at_order(order: float, divergence: float) -> float:
        # Canonne, Kamath and Steinke 2020, Proposition 12; s = order - 1, log moment = s * RDP
        s = order - 1.0
        return max(0.0, conversions.epsilon(s * divergence, s, log_delta))

    best, order = _best_order(plan, at_order)
    if not math.isfinite(best):
        message = f"no Renyi order gives {plan} a finite epsilon at delta {near(float(delta))}"
        raise Unsupported(message, argument="plan")
    points = _points(orders, lambda: np.geomspace(1.1, max(16.0, 4 * order), count))
    curve = np.asarray(plan.rdp(points), dtype=float)
    converted = np.array([at_order(*pair) for pair in zip(points, curve, strict=True)])
    strongest = fast_method(plan)
    of_delta = f"delta {up(float(delta))}"
    title = f"At {of_delta} order {near(order, 3)} is best: RDP gives epsilon {up(best)}"
    levels = []
    if strongest != "rdp":
        exact = float(plan.epsilon(delta=delta, method=strongest))
        if exact > 0:
            title += f"; the exact one is {up(exact)}"
            levels.append(ReferenceLine(exact, f"exact epsilon {up(exact)}"))
    inside = points[0] <= order <= points[-1]
    label = f"epsilon it gives at {of_delta}"
    return _chart(
        "rdp",
        plan,
        Axis("order", "Rényi order (α)", log=True),
        Axis("epsilon", "epsilon (ε)", log=True),
        points,
        lines=(
            Line("epsilon", "Rényi divergence", curve, Strength.CONVERGED, "exact"),
            Line("epsilon_at_delta", label, converted, Strength.BOUND, "rdp"),
        ),
        title=title,
        marks=(Mark(order, best, f"order {near(order, 3)}", (-8, 48)),) if inside else (),
        top=1000 * best,
        levels=tuple(levels),
    )


def _best_order(plan: Node, at_order: Callable[[float, float], float]) -> tuple[float, float]:
    """The least epsilon over all orders, and the order that gives it."""
    tried = {math.inf: math.nan}  # order by epsilon

    def bound(log_s: float) -> float:
        order = 1.0 + math.exp(log_s)
        try:
            value = at_order(order, float(plan.rdp(order)))
        except OutsideDomain:  # an order far outside the useful range
            return math.inf
        if math.isfinite(value):
            tried.setdefault(value, order)
        return value if math.isfinite(value) else math.inf

    minimum(bound, math.log(1e-3), math.log(1e9))
    return min(tried.items())


def _chart(kind: str, plan: Node, x: Axis, y: Axis, points: Column, **more: Any) -> Chart:
    """A chart about a plan."""
    adjacency = str(resolve_adjacency(plan))
    return Chart(
        kind, x, y, points, plan=str(plan), adjacency=adjacency, saved=plan.to_dict(), **more
    )


def _points(where: ArrayLike | None, usual: Callable[[], Column]) -> Column:
    return np.atleast_1d(np.asarray(usual() if where is None else where, dtype=float))


# --- methods, compared


def _line(plan: Node, points: Column, method: str) -> Line:
    """Delta at each epsilon, by one method."""
    answers = [plan.delta(epsilon=point, method=method) for point in points.tolist()]
    values, grades = np.array(list(map(float, answers))), tuple(each.strength for each in answers)
    return Line(f"delta_{method}", method_name(method), values, grades, method)


def spoken(method: str) -> str:
    """A method's name inside a sentence.

    >>> spoken("clt"), spoken("rdp")
    ('the central limit', 'RDP')
    """
    return f"the {method_name(method)}" if method in ("clt", "bracket") else method_name(method)


def _verb(strength: Strength) -> str:
    return "estimates" if strength <= Strength.ESTIMATE else "gives"


def _answers(plan: Node, delta: Number, methods: Iterable[str]) -> list[Answer]:
    """The finite epsilons of these methods, without those that can't answer."""
    answers = []
    for method in methods:
        try:
            answers.append(plan.epsilon(delta=delta, method=method))
        except DpacctError:
            continue
    return [answer for answer in answers if math.isfinite(float(answer))]


def _compared(answers: Sequence[Answer]) -> str:
    """Return a sentence: `the exact epsilon is 1.516; RDP gives 13 % more`."""
    if not answers:
        return "no finite epsilon holds"
    first, *others = answers
    safe = float(first)
    verb = "is" if first.strength >= Strength.CONVERGED else "is at most"
    number = f"{verb} {up(safe)}"
    if first.strength <= Strength.ESTIMATE:
        number = f"is an estimate of {near(safe)}"
    comparisons = [
        f"{spoken(each.method)} {_verb(each.strength)} {more_or_less(float(each) / safe - 1)}"
        for each in others
        if safe > 0
    ]
    title = f"the {method_name(first.method)} epsilon {number}"
    return f"{title}; {one_of(comparisons, 'and')}" if comparisons else title


# --- an audit


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


# --- differences in words


def percent(share: float) -> str:
    """The size of a share in per cent, two digits.

    >>> percent(0.12953), percent(-0.0241), percent(1.4), percent(2e-6)
    ('13 %', '2.4 %', '140 %', '0.0002 %')
    """
    return f"{near(100 * abs(share), 2)} %"


def more_or_less(share: float) -> str:
    """A relative difference in words: "13 % more".

    >>> more_or_less(0.12953), more_or_less(-0.0241), more_or_less(0.0), more_or_less(7.0)
    ('13 % more', '2.4 % less', 'the same', '8 times as much')
    """
    if abs(share) < 5e-7:
        return "the same"
    if share >= 4:
        return f"{near(1 + share, 2)} times as much"
    return f"{percent(share)} {'more' if share > 0 else 'less'}"

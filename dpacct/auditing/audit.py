"""dp.audit: leakage shown by scores or guesses, compared with what is proven about a plan."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpacct.auditing import bounds, scores
from dpacct.auditing.bounds import Curve
from dpacct.auditing.scores import Guessed, Rates, Scores
from dpacct.citations import (
    CLOPPER_PEARSON,
    MAHLOUJIFAR,
    NASR,
    STEINKE,
    Citation,
)
from dpacct.declare.domain import PURE_DELTA, Real, Word
from dpacct.declare.number import Number, down, shown, up
from dpacct.declare.record import Exclusive, Usage
from dpacct.display import Displayed, Facts
from dpacct.errors import InvalidArgument
from dpacct.vocabulary import Adjacency, Assumption

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpacct.answer import Answer
    from dpacct.plan.node import Node
    from dpacct.report.plots.chart import Chart

DESIGN = Word("one-run", "two-worlds")
SHARE = Real(0, 1, "right")
SHARES = {"two-worlds": (0.001, 0.01, 0.1), "one-run": (1.0, 0.25, 0.05, 0.01)}
_ROUNDING = 1e-9

_WORLDS = Assumption("the scores are of independent runs, each with or without the canary")
_COINS = Assumption(
    "each canary was included by its own fair coin, and a score depends on the coins by the release only"
)
_COUNTED = Assumption("how many canaries are guessed was fixed before the release was seen")
_GAUSSIAN = Assumption("the trade-off curve is a Gaussian's; of any other only mu-GDP is refuted")
_KNOWN: Mapping[tuple[str, str], tuple[tuple[Assumption, ...], Citation]] = {
    ("two-worlds", "clopper-pearson"): ((_WORLDS,), CLOPPER_PEARSON),
    ("two-worlds", "gdp"): ((_WORLDS, _GAUSSIAN), NASR),
    ("one-run", "one-run"): ((_COINS,), STEINKE),
    ("one-run", "gdp"): ((_COINS, _GAUSSIAN), MAHLOUJIFAR),
}


@dataclass(frozen=True)
class AuditBound:
    """A lower bound on epsilon at the audit's delta, and its assumptions.

    All bounds hold together with the audit's confidence. `mu` is that of mu-GDP where there is one; `counts`
    are those of the threshold that said most.

    >>> import dpacct as dp
    >>> audit = dp.audit(guesses=[1] * 60 + [-1] * 60, included=[1] * 60 + [0] * 60, delta=0)
    >>> bound = audit["one-run"]
    >>> f"{bound.epsilon:.4f}"  # p^120 = 0.05
    '3.6778'
    """

    method: str
    epsilon: float
    mu: float | None
    basis: Citation
    assumptions: tuple[Assumption, ...]
    counts: Mapping[str, int]

    @property
    def general(self) -> bool:
        """Return whether it holds for any mechanism."""
        return _GAUSSIAN not in self.assumptions

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of it."""
        return vars(self) | {"assumptions": [each.text for each in self.assumptions]}


@dataclass(frozen=True, repr=False)
class Audit(Displayed):
    """The result of an audit; made by `dp.audit`.

    Attributes:
        thresholds: how they were set, in words.
        looks: the counts at each threshold.
        bounds: lower bounds on epsilon; `audit["gdp"]` is the one of that method.
        curve: the plan's trade-off curve, from below.
        proven: the plan's epsilon at this delta, if it has one.
        p_value: of one run beside a plan: so many right guesses are at most this likely if the plan holds.
        findings: each way in which the scores contradict what is proven about the plan.

    >>> import dpacct as dp
    >>> audit = dp.audit([3.0] * 500, [1.0] * 500, delta=1e-5, against=dp.Gaussian(sigma=4))
    >>> audit.alarm, f"{audit.epsilon:.2f} {float(audit.proven):.2f}"
    (True, '5.43 0.93')
    """

    design: str
    thresholds: str
    delta: float
    confidence: float
    scores: Scores
    looks: tuple[Rates | Guessed, ...]
    bounds: tuple[AuditBound, ...]
    plan: Node | None = None
    adjacency: Adjacency | None = None
    curve: Curve | None = None
    proven: Answer | None = None
    p_value: float | None = None
    findings: tuple[str, ...] = ()

    def __getitem__(self, method: str) -> AuditBound:
        """The bound of a method; raises `InvalidArgument`."""
        by_name = {bound.method: bound for bound in self.bounds}
        return by_name[Word(*by_name).check("method", method)]

    @property
    def epsilon(self) -> float:
        """The largest lower bound that holds for any mechanism."""
        return max(bound.epsilon for bound in self.bounds if bound.general)

    @property
    def points(self) -> tuple[tuple[float, float], ...]:
        """(alpha, beta) in two worlds: with confidence, the trade-off curve lies on or below each."""
        return tuple((look.alpha, look.beta) for look in self.looks if isinstance(look, Rates))

    @property
    def alarm(self) -> bool:
        """Return whether the attack exceeds a proven bound, so that code or an assumption must be wrong."""
        return bool(self.findings)

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of it."""
        names = ("design", "thresholds", "delta", "confidence", "p_value", "findings")
        ins, outs = self.scores.sizes
        body: dict[str, Any] = {name: vars(self)[name] for name in names}
        body |= {"epsilon": self.epsilon, "alarm": self.alarm, "included": ins, "left_out": outs}
        body |= {"bounds": [bound.to_dict() for bound in self.bounds], "points": self.points}
        if self.plan is not None:
            body |= {"adjacency": self.adjacency, "unit": self.plan.unit}
            answer = self.proven and replace(self.proven, alternatives=(), tree=None).to_dict()
            body |= {"proven": answer, "plan": self.plan.to_dict()}
        return body

    def chart(self) -> Chart:
        """The chart: error rates reached, bounds shown, and the region that is proven impossible."""
        from dpacct.report.plots.kinds import audit_chart

        return audit_chart(self)

    def __repr__(self) -> str:
        return f"<Audit: {self}>"

    def heading_shown(self) -> str:
        """The line shown by `print`."""
        return str(self)

    def facts_shown(self) -> Facts:
        """Every bound."""
        return {
            f"by {bound.method}": f"epsilon at least {down(bound.epsilon)}" for bound in self.bounds
        }

    def __str__(self) -> str:
        shown = f"epsilon at least {down(self.epsilon)} at delta {self.delta:g}"
        proven = "" if self.proven is None else f", proven at most {up(float(self.proven))}"
        sure = f" (confidence {self.confidence:g}, {self.scores.included.size} scores){proven}"
        return "; ".join((shown + sure, *self.findings))


def audit(
    scores_in: ArrayLike | None = None,
    scores_out: ArrayLike | None = None,
    *,
    included: ArrayLike | None = None,
    guesses: ArrayLike | None = None,
    delta: Number,
    confidence: Number = 0.95,
    design: str = "one-run",
    thresholds: str | float | Sequence[float] = "ranks",
    shares: Sequence[Number] | None = None,
    against: Node | None = None,
    adjacency: Adjacency | str | None = None,
) -> Audit:
    """Lower bounds on epsilon and on the trade-off curve, from scores or guesses of any framework.

    Args:
        scores_in: scores of canaries that were included; a higher score says "in".
        scores_out: of those left out. Or all scores in `scores_in`, and `included`.
        included: for each score or guess, whether the canary was included: 0 or 1.
        guesses: instead of scores: 1 "in", -1 "out", 0 no guess.
        delta: at which epsilon is bounded, in [0, 1); at 0 there is no "gdp".
        confidence: of all bounds of that kind together; one-sided.
        design: "one-run": canaries of a single run, each included by its own fair coin; "two-worlds":
            scores of independent runs.
        thresholds: "ranks", fixed by `shares`; or a number or several, fixed beforehand.
        shares: in two worlds, which part of one kind's scores lies beyond a threshold (default 0.001, 0.01
            and 0.1, of each kind); in one run, which part of the canaries is guessed (default 1, 0.25, 0.05
            and 0.01). They must not be chosen by looking at the scores, and divide the error.
        against: a plan; its proven epsilon and its whole trade-off curve are held against the scores.
        adjacency: of the plan, where it does not fix one.

    Raises:
        InvalidArgument: NaN, flags other than 0 and 1, canaries of one kind only, numbers out of range.
        AssumptionViolated: the coins of one run cannot have been fair.

    >>> import numpy as np, dpacct as dp
    >>> rng = np.random.default_rng(0)
    >>> ins, outs = rng.normal(size=2000) + 1, rng.normal(size=2000)
    >>> audit = dp.audit(ins, outs, delta=1e-5, design="two-worlds", against=dp.Gaussian(sigma=1))
    >>> f"{audit.epsilon:.3f} {audit['gdp'].mu:.3f} {float(audit.proven):.3f} {audit.alarm}"
    '1.313 0.857 4.377 False'
    """
    design = DESIGN.check("design", design)
    lost = float(PURE_DELTA.check("delta", delta))
    word = None if adjacency is None else Adjacency.parse(adjacency, argument="adjacency")
    sure = float(bounds.CONFIDENCE.check("confidence", confidence))
    made = _scores(scores_in, scores_out, included, guesses)
    how, numbers = _thresholds(thresholds, guesses is not None)
    if how == "ranks":
        numbers = [float(SHARE.check("shares", share)) for share in shares or SHARES[design]]
    elif shares is not None:
        raise Exclusive(
            f"shares must be left out: they are for thresholds = ranks, not for {how}",
            argument="shares",
        )
    looks = _looks(made, design, how, numbers, 1.0 - sure)
    values = [look.values(lost, 1.0 - (1.0 - sure) / len(looks)) for look in looks]
    lower_bounds = []
    for method in values[0]:
        if method == "gdp" and lost == 0.0:  # no mu is a finite epsilon
            continue
        best = int(np.argmax([each[method] for each in values]))
        value, mu = values[best][method], None
        if method == "gdp":
            value, mu = bounds.epsilon_of_mu(value, lost), value
        assumed, basis = _KNOWN[design, method]
        if how == "guesses":
            assumed = (*assumed, _COUNTED)
        lower_bounds.append(AuditBound(method, value, mu, basis, assumed, looks[best].counts))
    said = _said(how, numbers, len(looks))
    result = Audit(design, said, lost, sure, made, tuple(looks), tuple(lower_bounds))
    return result if against is None else _beside(result, against, word)


def _scores(
    scores_in: ArrayLike | None,
    scores_out: ArrayLike | None,
    included: ArrayLike | None,
    guesses: ArrayLike | None,
) -> Scores:
    if guesses is None and scores_in is not None and included is None and scores_out is not None:
        return Scores.of_worlds(scores_in, scores_out)
    if guesses is None and scores_in is not None and included is not None and scores_out is None:
        return Scores.read(scores_in, included)
    if guesses is None or included is None or scores_in is not None or scores_out is not None:
        message = "audit takes scores_in and scores_out, or scores_in and included, or guesses and included"
        raise Usage(message, argument="scores_in")
    made = Scores.read(guesses, included, "guesses")
    odd = np.setdiff1d(made.values, (-1.0, 0.0, 1.0))
    if odd.size:
        message = f"guesses must be 1 (in), -1 (out) or 0 (no guess), got {odd[0]:g}"
        raise InvalidArgument(message, argument="guesses")
    return made


def _thresholds(said: str | float | Sequence[float], guessed: bool) -> tuple[str, list[float]]:
    """The rule for the thresholds, and the thresholds given as numbers."""
    if isinstance(said, str) and said == "ranks":
        return "guesses" if guessed else "ranks", []
    try:
        numbers = np.atleast_1d(np.asarray(said, dtype=np.float64)).tolist()
    except ValueError:
        numbers = []
    if not numbers or not all(math.isfinite(number) for number in numbers):
        message = f"thresholds must be ranks, or finite numbers, got {shown(said)}"
        raise InvalidArgument(message, argument="thresholds")
    return "fixed", numbers


def _looks(
    made: Scores, design: str, how: str, numbers: Sequence[float], error: float
) -> Sequence[Rates] | Sequence[Guessed]:
    """The counts at each threshold."""
    if design == "two-worlds":
        if how == "ranks":
            return scores.at_ranks(made, numbers, error)
        return scores.at_values(made, numbers or (-0.5, 0.5), error)
    made.fair()
    if how == "ranks":
        return scores.guessed(made, numbers)
    return scores.guessed_at(made, numbers) if numbers else scores.guessed_as_said(made)


def _said(how: str, numbers: Sequence[float], count: int) -> str:
    """The rule for the thresholds, in words."""
    listed = ", ".join(f"{number:g}" for number in numbers)
    shared = f", error divided among {count}" if count > 1 else ""
    return {
        "ranks": f"ranks fixed beforehand ({listed}){shared}",
        "fixed": f"numbers fixed beforehand ({listed}){shared}",
        "guesses": f"the guesses as they are{shared}",
    }[how]


def _beside(made: Audit, plan: Node, adjacency: Adjacency | None) -> Audit:
    """The audit beside what is proven about a plan."""
    from dpacct.plan.node import resolve_adjacency

    resolved = resolve_adjacency(plan, adjacency)
    proven, p_value = _proven(plan, resolved, made.delta), None
    curve = Curve.of_plan(plan, adjacency=resolved)
    most = math.inf if proven is None else float(proven)
    findings = [
        f"{bound.method} shows an epsilon of at least {down(bound.epsilon)}, proven is at most {up(most)}"
        for bound in made.bounds
        if bound.general and bound.epsilon > most + _ROUNDING
    ]
    for alpha, beta in made.points:
        least = curve.at(1.0 - alpha)
        if beta < least - _ROUNDING:
            findings.append(
                f"error rates of at most {up(alpha)} and {up(beta)} are shown, and with the first the"
                f" second is proven to be at least {down(least)}"
            )
            break
    if not made.points:
        chances = [bounds.one_run_f_p_value(curve, **look.counts) for look in made.looks]
        p_value = min(1.0, min(chances) * len(chances))
        if p_value < 1.0 - made.confidence:
            findings.append(
                f"so many right guesses have a chance of at most {up(p_value, 3)} by the plan's trade-off"
                " curve"
            )
    return replace(
        made,
        plan=plan,
        adjacency=resolved,
        curve=curve,
        proven=proven,
        p_value=p_value,
        findings=tuple(findings),
    )


def _proven(plan: Node, adjacency: Adjacency, delta: float) -> Answer | None:
    """The plan's epsilon at this delta; None if it is infinite, as it can be at delta 0."""
    answer = plan.epsilon(delta=delta, adjacency=adjacency)
    return answer if delta > 0.0 or math.isfinite(answer.value) else None

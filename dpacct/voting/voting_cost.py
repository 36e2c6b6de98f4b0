"""What a voting run costs: whatever the votes are, by the theorems about agreement, and exactly."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from dpacct.answer import Answer
from dpacct.citations import CONVERSION, COUNTS, LABELS, SPREAD, Citation
from dpacct.declare.domain import DELTA
from dpacct.declare.number import Number, ln, near
from dpacct.declare.record import Displayed, Facts
from dpacct.vocabulary import Assumption, Side, Strength
from dpacct.voting.bounds import ONE_WAY, Bounds
from dpacct.voting.exact import MOST_COMPOSED, Exact, ExactCost, converted
from dpacct.voting.histograms import Histograms
from dpacct.voting.level import Level
from dpacct.voting.per_query import PerQuery
from dpacct.voting.votes import Votes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpacct.pld.stable import Floats
    from dpacct.voting.aggregator import Aggregator

_ORDERS = 1.0 + np.geomspace(0.02, 1e6, 140)
_FINER = 13
_WORK = 1.2e9  # about what three seconds of quadrature and divergences amount to
_COMPOSED, _ADDED = 200.0, 600.0  # of a neighbour's class: at a few orders, or at all of them
_LEAST = 5

FIXED = Assumption(
    "the queries were fixed beforehand: none was chosen after seeing another's label"
)
PRIVATE = (
    "a data-dependent epsilon is computed from the votes and is itself private: publish the"
    " data-independent one, or a sanitized one"
)


@dataclass(frozen=True)
class Line:
    """One way to account for the same run; `one_way`: only from the votes to their neighbours."""

    name: str
    answer: Answer
    one_way: bool = False


@dataclass(frozen=True, repr=False)
class VotingCost(Displayed):
    """The answers at one delta, and what they were made from.

    `data_independent` holds whatever the votes are, also for queries chosen adaptively. `data_dependent`
    is the best bound for these votes, in both orders of the two data sets, and `exact` brackets the truth
    of what it bounds (None where it was left out; `why` says why). Both are private. `lines` are all
    methods side by side; `answered` is the expected number of answers; `order` is the Renyi order at
    which single queries are compared.
    """

    aggregator: Aggregator
    votes: Votes
    delta: Fraction
    data_independent: Answer
    data_dependent: Answer
    exact: Answer | None
    why: str
    lines: tuple[Line, ...]
    answered: float
    order: float
    bounds: Bounds = field(repr=False)
    exact_each: Floats | None = field(repr=False)

    def facts_shown(self) -> Facts:
        """The votes' shape, and epsilon in each way."""
        votes = f"{self.votes.queries} queries, {self.votes.classes} classes"
        ways = {"data-independent": self.data_independent, "data-dependent": self.data_dependent}
        answers = ways | ({} if self.exact is None else {"exact": self.exact})
        epsilons = {f"epsilon {name}": f"{answer:.4f}" for name, answer in answers.items()}
        return {"votes": votes, **epsilons, "delta": near(self.delta, 12)}

    @property
    def private(self) -> bool:
        """True: the data-dependent and exact numbers reveal something of the votes."""
        return True

    @cached_property
    def per_query(self) -> PerQuery:
        """Columns with one entry a query."""
        return PerQuery.of(self)

    def costliest(self, count: int) -> NDArray[np.intp]:
        """The places of the queries with the largest bounds, the largest first."""
        cost = self.per_query.cost
        count = min(count, cost.size)
        places = np.argpartition(-cost, count - 1)[:count] if count else np.empty(0, dtype=np.intp)
        exact = np.nan_to_num(self.per_query.exact[places])
        return places[np.lexsort((places, -exact, -cost[places]))]


def voting_cost(
    aggregator: Aggregator,
    votes: Votes,
    baseline: Floats | None,
    delta: Number,
    *,
    exact: bool | int = True,
    progress: Callable[[str], None] | None = None,
) -> VotingCost:
    """See `Aggregator.cost`."""
    target = DELTA.check("delta", delta)
    log_delta = ln(target)
    tell = progress or (lambda _: None)
    level, screening = aggregator.neighbouring, aggregator.screening
    started = time.perf_counter()
    whose = protected(aggregator)
    plan = aggregator.plan(votes.queries).epsilon(delta=target)
    plain = replace(
        plan,
        value=float(plan),
        lower=None,
        side=Side.UPPER,
        method="data-independent",
        basis=(*plan.basis, COUNTS),
        assumptions=(whose,),
        alternatives=(),
    )
    start = replace(plain, tree=None, seconds=0.0, strength=Strength.BOUND)

    def answer(epsilon: float, method: str, *basis: Citation) -> Answer:
        return replace(
            start,
            value=epsilon,
            upper=epsilon,
            method=method,
            basis=basis,
            assumptions=(whose, FIXED),
        )

    tell("bounds")
    histograms = Histograms.of(votes.counts, baseline, level.shares)
    bounds = Bounds(histograms, level, aggregator.noise, screening)
    names = bounds.theorems
    least, order = _optimised(bounds.total, log_delta)
    bound = answer(least, "data-dependent", *names, CONVERSION)
    bound = replace(bound, seconds=time.perf_counter() - started)
    if least > float(plain):  # what holds whatever the votes are holds for these
        bound = replace(bound, value=plain.value, upper=plain.value, basis=plain.basis)
    whatever, _ = _optimised(lambda orders: votes.queries * bounds.plain(orders), log_delta)
    lines = [Line("data-independent, Renyi", answer(whatever, "rdp", CONVERSION))]
    for name in names:
        epsilon, _ = _optimised(partial(bounds.total, theorem=name), log_delta)
        lines.append(Line(f"{name}, either way", answer(epsilon, name, name, CONVERSION)))
        if name in ONE_WAY and screening is None:
            forward = partial(bounds.total, theorem=name, one_way=True)
            epsilon, _ = _optimised(forward, log_delta)
            lines.append(Line(name, answer(epsilon, name, name, CONVERSION), one_way=True))
    outcome, why, each = None, "it was not asked for", None
    if exact is not False:
        tell("exact laws")
        result, why, each = _exact(bounds, log_delta, order, None if exact is True else int(exact))
        if result is not None:
            # where bounds stand in for some queries, or all cost the most they can, the bound may be less
            upper = min(result.upper, float(bound))
            basis = (LABELS,) if level.proven else (LABELS, SPREAD)
            if result.lower is None:
                outcome = answer(upper, "exact-rdp", LABELS, *names, CONVERSION, *basis[1:])
            else:
                outcome = answer(upper, "exact", *basis)
                outcome = replace(outcome, lower=min(result.lower, upper), side=Side.TWO_SIDED)
            forward_upper = min(result.one_way, upper)
            one_way = answer(forward_upper, outcome.method, *outcome.basis)
            lines.append(Line("exact", one_way, one_way=True))
    answered = float(votes.queries)
    if screening is not None:
        answered = float(np.exp(screening.log_passes(histograms.top)[1]).sum())
    return VotingCost(
        aggregator,
        votes,
        target,
        plain,
        bound,
        outcome,
        why,
        tuple(lines),
        answered,
        order,
        bounds,
        each,
    )


def protected(aggregator: Aggregator) -> Assumption:
    """Whose votes may change."""
    return Assumption(aggregator.neighbouring.sentence, source=f"{aggregator.level} level")


def _optimised(total: Callable[[Floats], Floats], log_delta: float) -> tuple[float, float]:
    """The least epsilon over Renyi orders, and the order that gives it."""
    orders = _ORDERS
    for _ in range(2):
        each = converted(total(orders), orders, log_delta)
        best = int(np.argmin(each))
        low, high = orders[max(best - 1, 0)], orders[min(best + 1, orders.size - 1)]
        least, order = float(each[best]), float(orders[best])
        orders = np.append(1.0 + np.geomspace(low - 1.0, high - 1.0, _FINER), order)
    return least, order


def _exact(
    bounds: Bounds, log_delta: float, order: float, most: int | None
) -> tuple[ExactCost | None, str, Floats | None]:
    """The exact cost of as many kinds of query as time allows, the costliest first; else why not."""
    first, which, count = bounds.histograms.alike()
    kinds = bounds.histograms.rows(first)
    near = bounds.noise.reach(bounds.level.step) >= kinds.margins[:, -1]
    if not near.any():
        text = "the noise is too small beside the margins to integrate"
        return None, text, None
    chosen = np.flatnonzero(near)
    work = _work(kinds, bounds.level, _COMPOSED)[chosen].sum()
    few = chosen.size == first.size <= MOST_COMPOSED
    if (most is None and not (few and work <= _WORK)) or (most is not None and chosen.size > most):
        cost = count[chosen] * bounds.each(order)[first[chosen]]
        by_cost = chosen[np.argsort(-cost, kind="stable")]
        taken = np.cumsum(_work(kinds, bounds.level, _ADDED)[by_cost])
        affordable = max(_LEAST, int((taken <= _WORK).sum())) if most is None else most
        chosen = np.sort(by_cost[:affordable])
    rest = None
    if chosen.size < first.size:
        left = np.ones(first.size, dtype=bool)
        left[chosen] = False
        rest = bounds.among(left[which])
    exact = Exact(kinds.rows(chosen), bounds.level, bounds.noise, bounds.screening)
    result = exact.cost(count[chosen].astype(np.float64), log_delta, order, rest)
    values = np.full(first.size, np.nan)
    values[chosen] = result.renyi
    why = ""
    if rest is not None:
        why = f"exact for {chosen.size} of {first.size} kinds of query, bounds for the others"
    elif count.size > MOST_COMPOSED:
        why = "exact Renyi divergences, added"
    return result, why, values[which]


def _work(kinds: Histograms, level: Level, divergence: float) -> Floats:
    """About how long each kind takes, in arbitrary units: its integrals, and its neighbours' divergences."""
    classes = kinds.counts.shape[1]
    apart = np.full(kinds.counts.shape[0], float(classes))
    if kinds.residual is None:
        apart = 1.0 + (np.diff(kinds.counts, axis=1) != 0).sum(axis=1)
    neighbours = 2.0 * apart if level.is_agent else np.square(apart)
    points = 130.0 * (1.0 + classes**0.5 / 3.0)
    return np.asarray(points * classes * (classes + neighbours) + divergence * classes * neighbours)

"""The cost of a voting run: for any votes, by the theorems about agreement, and exactly; and of each query.

The theorems' Rényi bounds depend on the votes through one number, an upper bound of the probability that
another class than the leader wins (and, with screening, the largest count). They grow with that number; so
where there are very many different ones they are rounded up to a fine grid, and each grid point is computed
once: fast for millions of queries.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from dpacct.answer import Answer
from dpacct.citations import CONVERSION, COUNTS, LABELS, Citation, statement
from dpacct.declare.domain import DELTA
from dpacct.declare.number import Number, ln, near
from dpacct.display import Displayed, Facts
from dpacct.pld.stable import Floats
from dpacct.vocabulary import Assumption, Side, Strength
from dpacct.voting.argmax import CountNoise, Screening
from dpacct.voting.exact import MOST_COMPOSED, ExactCost, ExactLabels
from dpacct.voting.votes import Histograms, Level, Votes, alike

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpacct.voting.aggregator import Aggregator


MOST_KINDS = 2_000
"""Up to so many different queries nothing is rounded."""
_CELLS = 2_000_000
ONE_WAY = "papernot2018.theorem6", "papernot2017.theorem3"
"""Theorems stated with q at the data itself, for the divergence from the data to its neighbours."""


@dataclass(frozen=True)
class Bounds:
    """Renyi bounds of all queries of a voting run."""

    histograms: Histograms
    level: Level
    noise: CountNoise
    screening: Screening | None = None

    @cached_property
    def log_q(self) -> Floats:
        """Log of the chance of another label than the leader's, at most, for each query."""
        return self.noise.log_mismatch(self.histograms.margins.astype(np.float64))

    @cached_property
    def log_q_near(self) -> Floats:
        """Bound log q at the worst neighbour: with every margin reduced by its largest change."""
        return self.noise.log_mismatch(
            (self.histograms.margins - self.level.margin).astype(np.float64)
        )

    @cached_property
    def _near(self) -> Kinds:
        top = None if self.screening is None else self.histograms.top
        return Kinds.of(self.log_q_near, top)

    @cached_property
    def _leading(self) -> Kinds:
        return Kinds.of(self.log_q, None)

    def plain(self, orders: Floats) -> Floats:
        """One query's cost for any votes, at each order."""
        result = self.noise.data_independent(orders, self.level)
        if self.screening is not None:
            result = result + self.screening.data_independent(orders, self.level)
        return np.asarray(result)

    def table(self, kinds: Kinds, orders: Floats, theorem: str | None = None) -> Floats:
        """Bounds of each kind of query (row) at each order, by one theorem or the best of all."""
        tables = self.noise.tables(kinds.log_q, orders, self.level)
        chosen = list(tables.values()) if theorem is None else [tables[theorem]]
        answer: Floats = np.minimum.reduce(chosen)
        if self.screening is None or kinds.top is None:
            return answer
        both = self.screening.with_answer(kinds.top, answer, orders, self.level)
        return np.asarray(np.minimum(both, self.plain(orders)[None, :]))

    def total(self, orders: Floats, theorem: str | None = None, *, one_way: bool = False) -> Floats:
        """The sum over all queries, at each order; `one_way`: from the votes to their neighbours only."""
        return self._sum(self._leading if one_way else self._near, orders, theorem)

    def _sum(self, kinds: Kinds, orders: Floats, theorem: str | None = None) -> Floats:
        values = np.zeros(orders.size)
        for part in kinds.parts(max(1, _CELLS // orders.size)):
            values += part.count @ self.table(part, orders, theorem)
        return values

    def each(self, order: float) -> Floats:
        """Every query's bound at one order, either way."""
        orders = np.array([order])
        values = [self.table(part, orders)[:, 0] for part in self._near.parts(_CELLS)]
        return np.concatenate(values)[self._near.which]

    @property
    def theorems(self) -> tuple[Citation, ...]:
        """The theorems that are used, by their ids."""
        return tuple(
            map(statement, self.noise.tables(np.array([-1.0]), np.array([2.0]), self.level))
        )


@dataclass(frozen=True)
class Kinds:
    """Different queries: log q (and the largest count), how many of each, and the kind of each query."""

    log_q: Floats
    top: Floats | None
    count: Floats
    which: NDArray[np.intp]

    @classmethod
    def of(cls, log_q: Floats, top: Floats | None) -> Kinds:
        """Queries of one kind together; log q rounded up where there are too many kinds."""
        made = cls._grouped(log_q, top)
        for fineness in (1e-3, 1e-2):
            if made.count.size <= MOST_KINDS * (1 if top is None else 5):
                break
            made = cls._grouped(_rounded_up(log_q, fineness), top)
        return made

    @classmethod
    def _grouped(cls, log_q: Floats, top: Floats | None) -> Kinds:
        columns = (log_q,) if top is None else (log_q, top)
        first, which, count = alike(np.stack(columns, axis=1).view(np.int64))
        tops = None if top is None else top[first]
        return cls(log_q[first], tops, count.astype(np.float64), which)

    def parts(self, size: int) -> Iterator[Kinds]:
        """Some kinds at a time."""
        for start in range(0, self.count.size, size):
            part = slice(start, start + size)
            top = None if self.top is None else self.top[part]
            yield Kinds(self.log_q[part], top, self.count[part], self.which)


def _rounded_up(log_q: Floats, fineness: float) -> Floats:
    """log q on a grid, from above: absolute below e^-64, and in proportion beyond.

    >>> _rounded_up(np.array([-1.00049, -100.3]), 1e-3).round(9).tolist()
    [-1.0, -100.288]
    """
    step = fineness * np.exp2(np.maximum(0.0, np.ceil(np.log2(np.maximum(-log_q, 64.0)) - 6.0)))
    step = np.where(step > fineness, 16.0 * step, step)
    return np.asarray(np.ceil(log_q / step) * step)


# --- each query


@dataclass(frozen=True)
class PerQuery:
    """Columns with one entry a query, in the order of the votes.

    `label`: the winner without noise (0 is the first class); `votes` and `margin`: its votes, and how many
    more than the next, in votes; `wrong_at_most`: the chance of another label; `answered`: of an answer;
    `cost`: the Renyi bound at the run's order, and `share`, its part of all; `exact`: the exact Renyi
    divergence at that order, NaN where it was not computed.
    """

    label: NDArray[np.intp]
    votes: Floats
    margin: Floats
    wrong_at_most: Floats
    answered: Floats
    cost: Floats
    share: Floats
    exact: Floats

    @classmethod
    def of(cls, priced: VotingCost) -> PerQuery:
        """The columns of a voting run."""
        bounds, shares = priced.bounds, priced.aggregator.neighbours
        ready = bounds.histograms
        cost = bounds.each(priced.order)
        whole = float(cost.sum())
        answered = np.ones(cost.size)
        if bounds.screening is not None:
            answered = np.exp(bounds.screening.log_passes(ready.top)[1])
        return cls(
            priced.votes.labels,
            ready.counts[:, 0] / shares,
            ready.margins[:, 0] / shares,
            np.minimum(np.exp(bounds.log_q), 1.0),
            answered,
            cost,
            cost / whole if whole > 0.0 else np.zeros(cost.size),
            np.full(cost.size, np.nan) if priced.exact_each is None else priced.exact_each,
        )

    def columns(self) -> list[NDArray[Any]]:
        """Return the columns in the order of `COLUMNS`; queries count from 1."""
        return [np.arange(1, self.cost.size + 1), *(vars(self)[name] for name in COLUMNS[1:])]

    def rows(self, places: Iterable[int]) -> list[dict[str, float | int | None]]:
        """Some rows, by the names of `COLUMNS`; queries count from 1."""
        columns = self.columns()
        results: list[dict[str, float | int | None]] = []
        for place in places:
            values = [column[place].item() for column in columns]
            numbers = [None if value != value else value for value in values]
            results.append(dict(zip(COLUMNS, numbers, strict=True)))
        return results

    def write_csv(self, target: str | Path | TextIO) -> None:
        """All rows as CSV, with a heading."""
        if isinstance(target, str | Path):
            with Path(target).open("w", newline="", encoding="utf-8") as file:
                self.write_csv(file)
            return
        writer = csv.writer(target, lineterminator="\n")
        writer.writerow(COLUMNS)
        lists = [column.tolist() for column in self.columns()]
        for row in zip(*lists, strict=True):
            writer.writerow([repr(value) if value == value else "" for value in row])


COLUMNS = ("query", *(each.name for each in fields(PerQuery)))


# --- a whole run

_ORDERS = 1.0 + np.geomspace(0.02, 1e6, 140)
_FINER = 13
_WORK = 1.2e9  # about what three seconds of quadrature and divergences amount to

FIXED = Assumption(
    "the queries were fixed beforehand: none was chosen after seeing another's label"
)
PRIVATE = (
    "a data-dependent epsilon is computed from the votes and is itself private: publish the"
    " data-independent one"
)


@dataclass(frozen=True)
class CostLine:
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
    lines: tuple[CostLine, ...]
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
    delta: Number,
    *,
    exact: bool = True,
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
    # the decimals of its proof are not those of the answers made from it
    start = replace(plain, tree=None, seconds=0.0, strength=Strength.BOUND, extra={})

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
    histograms = Histograms.of(votes.counts)
    bounds = Bounds(histograms, level, aggregator.noise, screening)
    names = bounds.theorems
    least, order = _optimised(bounds.total, log_delta)
    bound = answer(least, "data-dependent", *names, CONVERSION)
    bound = replace(bound, seconds=time.perf_counter() - started)
    if least > float(plain):  # what holds whatever the votes are holds for these
        bound = replace(bound, value=plain.value, upper=plain.value, basis=plain.basis)
    independent, _ = _optimised(lambda orders: votes.queries * bounds.plain(orders), log_delta)
    lines = [CostLine("data-independent, Renyi", answer(independent, "rdp", CONVERSION))]
    for name in names:
        epsilon, _ = _optimised(partial(bounds.total, theorem=name), log_delta)
        lines.append(CostLine(f"{name}, either way", answer(epsilon, name, name, CONVERSION)))
        if name in ONE_WAY and screening is None:
            forward = partial(bounds.total, theorem=name, one_way=True)
            epsilon, _ = _optimised(forward, log_delta)
            lines.append(CostLine(name, answer(epsilon, name, name, CONVERSION), one_way=True))
    outcome, why, each = None, "it was not asked for", None
    if exact:
        tell("exact laws")
        result, why, each = _exact(bounds, log_delta, order)
        if result is not None:
            upper = min(result.upper, float(bound))  # the bound may be less where all cost the most
            outcome = answer(upper, "exact", LABELS)
            outcome = replace(outcome, lower=min(result.lower, upper), side=Side.TWO_SIDED)
            one_way = answer(min(result.one_way, upper), "exact", LABELS)
            lines.append(CostLine("exact", one_way, one_way=True))
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
    """State whose votes may change."""
    return Assumption(aggregator.neighbouring.sentence, source=f"{aggregator.level} level")


def _optimised(total: Callable[[Floats], Floats], log_delta: float) -> tuple[float, float]:
    """The least epsilon over Renyi orders, and the order that gives it."""
    orders = _ORDERS
    for _ in range(2):
        each = _converted(total(orders), orders, log_delta)
        best = int(np.argmin(each))
        low, high = orders[max(best - 1, 0)], orders[min(best + 1, orders.size - 1)]
        least, order = float(each[best]), float(orders[best])
        orders = np.append(1.0 + np.geomspace(low - 1.0, high - 1.0, _FINER), order)
    return least, order


def _converted(divergences: Floats, orders: Floats, log_delta: float) -> Floats:
    """Epsilon by each Renyi divergence at its order (`conversions.epsilon`); rounded up."""
    s = orders - 1.0
    log_peak = -np.log1p(s) - s * np.log1p(1.0 / s)
    values = np.maximum(divergences + (log_peak - log_delta) / s, 0.0) * (1.0 + 1e-13)
    return np.asarray(np.where(np.isfinite(divergences), values, np.inf))


def _exact(
    bounds: Bounds, log_delta: float, order: float
) -> tuple[ExactCost | None, str, Floats | None]:
    """The exact cost, and that of each query; else why there is none."""
    if not bounds.level.proven:
        return None, "a voter of several neighbours may spread its vote over classes", None
    first, which, count = bounds.histograms.alike()
    kinds = bounds.histograms.rows(first)
    if bounds.noise.reach(bounds.level.step) < int(kinds.margins[:, -1].max()):
        return None, "the noise is too small beside the margins to integrate", None
    if first.size > MOST_COMPOSED or _work(kinds, bounds.level) > _WORK:
        return (
            None,
            f"{first.size:,} different queries of these sizes are too many to compose",
            None,
        )
    exact = ExactLabels(kinds, bounds.level, bounds.noise, bounds.screening)
    result = exact.cost(count.astype(np.float64), log_delta, order)
    return result, "", result.renyi[which]


def _work(kinds: Histograms, level: Level) -> float:
    """About how long all kinds take, in arbitrary units: integrals, and neighbours' divergences."""
    classes = kinds.counts.shape[1]
    apart = 1.0 + (np.diff(kinds.counts, axis=1) != 0).sum(axis=1)
    neighbours = 2.0 * apart if level.is_agent else np.square(apart)
    points = 130.0 * (1.0 + classes**0.5 / 3.0)
    return float(np.sum(points * classes * (classes + neighbours) + 200.0 * classes * neighbours))

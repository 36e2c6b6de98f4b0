"""Laws of a voting run's cost."""

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

import dpacct as dp
from dpacct.vocabulary import Side
from dpacct.voting.argmax import laws
from dpacct.voting.cost import Bounds, VotingCost
from dpacct.voting.exact import ExactLabels
from dpacct.voting.votes import Histograms

LEVELS = st.sampled_from(["agent", "instance"])


@st.composite
def runs(draw: st.DrawFn) -> Any:
    """An aggregator and some votes."""
    classes, queries = draw(st.integers(2, 5)), draw(st.integers(1, 6))
    row = st.lists(st.integers(0, 60), min_size=classes, max_size=classes).filter(any)
    votes = draw(st.lists(row, min_size=queries, max_size=queries))
    level, scale = draw(LEVELS), draw(st.floats(1.0, 60.0))
    kind = draw(st.sampled_from(["gnmax", "confident", "lnmax"]))
    if kind == "lnmax":
        return dp.LNMax(b=scale, level=level), votes
    if kind == "gnmax":
        return dp.GNMax(sigma=scale, level=level), votes
    threshold = draw(st.integers(0, 60))
    return dp.GNMax(
        sigma=scale, level=level, threshold=threshold, threshold_sigma=1.5 * scale
    ), votes


def upper(answer: dp.Answer | None) -> float:
    assert answer is not None and answer.upper is not None
    return answer.upper


def near(first: float, second: float, room: float = 1e-7) -> bool:
    return first == pytest.approx(second, rel=room, abs=1e-9)


@settings(max_examples=15)
@given(runs())
def test_the_truth_is_below_every_bound(run: Any) -> None:
    aggregator, votes = run
    cost: VotingCost = aggregator.cost(votes, 1e-5)
    exact = cost.exact
    assert exact is not None and exact.side is Side.TWO_SIDED and exact.lower is not None
    assert exact.lower <= upper(exact) <= upper(cost.data_dependent) * (1 + 1e-9) + 1e-6
    assert upper(cost.data_dependent) <= upper(cost.data_independent)
    for line in cost.lines:
        if line.one_way and line.name != "exact":
            truth = next(item for item in cost.lines if item.name == "exact")
            assert upper(truth.answer) <= upper(line.answer) * (1 + 1e-9) + 1e-6
        elif not line.one_way:
            assert exact.lower <= upper(line.answer) * (1 + 1e-9) + 1e-6


@settings(max_examples=6)
@given(runs(), st.randoms(use_true_random=False))
def test_names_and_order_do_not_matter(run: Any, random: Any) -> None:
    aggregator, votes = run
    classes = list(range(len(votes[0])))
    random.shuffle(classes)
    changed = [[row[place] for place in classes] for row in votes]
    random.shuffle(changed)
    cost, reordered = aggregator.cost(votes, 1e-5), aggregator.cost(changed, 1e-5)
    assert near(upper(cost.data_dependent), upper(reordered.data_dependent))
    assert near(upper(cost.exact), upper(reordered.exact))


@settings(max_examples=6)
@given(runs(), st.integers(2, 4))
def test_queries_add_up(run: Any, times: int) -> None:
    """The same queries several times: Renyi costs are that many times as large, at every order."""
    aggregator, votes = run
    orders = np.array([1.3, 4.0, 20.0])
    level = aggregator.neighbouring
    tables = []
    for rows in (votes, votes * times):
        ready = Histograms.of(np.array(rows))
        first, _, count = ready.alike()
        exact = ExactLabels(ready.rows(first), level, aggregator.noise, aggregator.screening)
        sums = [count @ exact.renyi(order) for order in orders.tolist()]
        tables.append((np.array(sums), aggregator.cost(rows, 1e-5)))
    assert tables[1][0] == pytest.approx(times * tables[0][0], rel=1e-9)
    assert tables[1][1].bounds.total(orders) == pytest.approx(
        times * tables[0][1].bounds.total(orders), rel=1e-9
    )
    assert upper(tables[1][1].exact) >= upper(tables[0][1].exact) * (1 - 1e-6)


@settings(max_examples=6)
@given(runs(), st.floats(1.1, 3.0))
def test_more_noise_costs_no_more_whatever_the_votes(run: Any, factor: float) -> None:
    """The data-independent cost falls; of one binary choice so does the exact one."""
    aggregator, votes = run
    if not isinstance(aggregator, dp.GNMax) or aggregator.screening is not None:
        return
    sigma = float(aggregator.sigma)
    quiet, loud = (dp.GNMax(sigma=s, level=aggregator.level) for s in (sigma, factor * sigma))
    costs = [each.cost(votes, 1e-5, exact=False) for each in (quiet, loud)]
    assert upper(costs[1].data_independent) <= upper(costs[0].data_independent)
    tie = [[10, 10]]
    assert loud.renyi(tie, 4)[0] <= quiet.renyi(tie, 4)[0] * (1 + 1e-9)


def test_more_noise_can_cost_more_for_given_votes() -> None:
    """Where voters agree, noise is what makes the label uncertain: the exact cost is not monotone."""
    votes = [[60, 5, 5]]
    quiet, loud = (float(dp.GNMax(sigma=s, level="agent").renyi(votes, 4)[0]) for s in (4, 15))
    assert quiet < 1e-15 < loud


def test_screening_by_hand() -> None:
    """One query of a confident aggregator: all outcomes added up, for every neighbour."""

    votes, sigma, threshold, spread = (7, 4), 2.0, 8.0, 3.0
    gnmax = dp.GNMax(sigma=2, level="instance", threshold=8, threshold_sigma=3)

    def law(counts: tuple[int, ...]) -> np.ndarray:
        answered = ndtr((max(counts) - threshold) / spread)
        first = ndtr((counts[0] - counts[1]) / (math.sqrt(2.0) * sigma))
        return np.array([1 - answered, answered * first, answered * (1 - first)])

    worst = 0.0
    for other in ((6, 5), (8, 3)):
        for p, q in ((law(votes), law(other)), (law(other), law(votes))):
            worst = max(worst, math.log(float((p**5 * q**-4.0).sum())) / 4.0)
    assert gnmax.renyi([votes], 5)[0] == pytest.approx(worst, rel=1e-10)
    plain = gnmax.cost([votes] * 10, 1e-5)
    assert plain.answered == pytest.approx(10 * float(ndtr(-1 / 3)))


def test_expected_cost_of_screening_is_no_bound() -> None:
    """Adding the second step's cost times the chance of an answer can fall below the truth.

    tensorflow/privacy's tables do so (and say "E[eps]"); here the Renyi divergence is of both steps.
    """
    gnmax = dp.GNMax(sigma=1, level="agent", threshold=14, threshold_sigma=1)
    votes, order = [[10, 10]], 8.0
    answer = float(dp.GNMax(sigma=1, level="agent").renyi(votes, order)[0])
    from scipy.special import log_ndtr

    logs = {top: (log_ndtr(14.0 - top), log_ndtr(top - 14.0)) for top in (10.0, 11.0)}
    first = max(
        float(np.logaddexp(*(order * a + (1 - order) * b for a, b in zip(p, q, strict=True))))
        for p, q in ((logs[10.0], logs[11.0]), (logs[11.0], logs[10.0]))
    ) / (order - 1)
    expected = first + math.exp(logs[11.0][1]) * answer
    assert float(gnmax.renyi(votes, order)[0]) > expected


def test_many_kinds_are_bounded_from_above(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond what is composed the bound stands; log q is rounded up, by little."""
    from dpacct.voting import cost

    rng = np.random.default_rng(5)
    votes = rng.multinomial(200, rng.dirichlet(np.ones(6) * 0.3, size=800))
    gnmax = dp.GNMax(sigma=20)
    whole = gnmax.cost(votes, 1e-5)
    assert upper(whole.exact) < upper(whole.data_dependent)
    monkeypatch.setattr(cost, "MOST_COMPOSED", 100)
    part = gnmax.cost(votes, 1e-5)
    assert part.exact is None and "different queries" in part.why
    monkeypatch.setattr(cost, "MOST_KINDS", 10)
    orders = np.array([2.0, 10.0])
    rough = cost.Bounds(part.bounds.histograms, part.bounds.level, part.bounds.noise)
    total, fine = rough.total(orders), whole.bounds.total(orders)
    assert (fine <= total * (1 + 1e-12)).all() and (total <= fine * 1.02).all()


@settings(max_examples=20)
@given(
    st.lists(st.integers(0, 9), min_size=3, max_size=3).filter(any),
    st.sampled_from(["agent", "instance"]),
)
def test_screening_by_brute_force(votes: list[int], level: str) -> None:
    """Every neighbour's chance of an answer and of each label, joined by hand."""
    from scipy.special import log_ndtr

    gnmax = dp.GNMax(sigma=2, level=level, threshold=4, threshold_sigma=1.5)
    plain = dp.GNMax(sigma=2, level=level)

    def law(counts: np.ndarray) -> np.ndarray:
        order = np.argsort(-counts, kind="stable")
        log_p = np.empty(3)
        log_p[order] = laws(counts[order][None, :], plain.neighbouring, plain.noise).base[0]
        z = float(counts.max() - 4) / 1.5
        return np.concatenate(([log_ndtr(-z)], log_ndtr(z) + log_p))

    counts, eye = np.array(votes), np.eye(3, dtype=np.int64)
    changes = (
        [*eye, *-eye] if level == "agent" else [a - b for a in eye for b in eye if (a != b).any()]
    )
    worst = 0.0
    for change in changes:
        if (counts + change).min() < 0:
            continue
        for p, q in ((counts, counts + change), (counts + change, counts)):
            worst = max(worst, float(np.logaddexp.reduce(3.0 * law(p) - 2.0 * law(q))) / 2.0)
    ready = Histograms.of(counts[None, :])
    exact = ExactLabels(ready, gnmax.neighbouring, gnmax.noise, gnmax.screening)
    value = float(exact.renyi(3.0).max())
    assert value == pytest.approx(worst, rel=1e-9, abs=1e-12)
    bounds = Bounds(ready, gnmax.neighbouring, gnmax.noise, gnmax.screening)
    assert value <= float(bounds.total(np.array([3.0]))[0]) * (1 + 1e-9)


# --- Given votes as a release of a plan: against enumeration, beside other releases, and its refusals.

VOTES = [[9, 4, 2], [5, 5, 1]]


def neighbours(made: dp.GNMax, row: list[int]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(P, Q) of one query's label, of the votes and each neighbour's, either way."""
    ready = Histograms.of(np.array([row]))
    result = laws(ready.counts, made.neighbouring, made.noise)
    for other in result.other:
        pair = np.exp(result.base[0]), np.exp(other)
        yield pair
        yield pair[::-1]


def composed(made: dp.GNMax, delta: Callable[[float], float]) -> float:
    """The largest delta over a choice of neighbour per query; `delta`: of what a loss leaves of epsilon."""
    worst = 0.0
    for (p, q), (r, s) in itertools.product(*(list(neighbours(made, row)) for row in VOTES)):
        joint, losses = np.outer(p, r), np.add.outer(np.log(p / q), np.log(r / s))
        total = sum(x * delta(float(loss)) for x, loss in zip(joint.flat, losses.flat, strict=True))
        worst = max(worst, total)
    return worst

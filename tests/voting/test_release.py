"""What is published: the smooth sensitivity by brute force, and the release's promises."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpacct as dp
from dpacct.voting import sanitized
from dpacct.voting.argmax import GaussianNoise, LaplaceNoise
from dpacct.voting.published import publication
from dpacct.voting.sanitized import QueryCosts, reach, smooth_sensitivity
from dpacct.voting.votes import Histograms, Level


def cost(steps: QueryCosts, votes: tuple[int, ...]) -> float:
    ready = Histograms.of(np.array([votes]))
    near = (ready.margins - steps.level.margin).astype(float)
    return float(steps.cost[0, steps.at(np.minimum(steps.noise.log_mismatch(near), 0.0))][0])


def neighbours(votes: tuple[int, ...], level: Level) -> set[tuple[int, ...]]:
    distinct = set()
    for i, j in itertools.permutations(range(len(votes)), 2):
        for minus, plus in ((1, 1),) if not level.is_agent else ((1, 0), (0, 1)):
            other = list(votes)
            other[i] -= minus * level.step
            other[j] += plus * level.step
            if min(other) >= 0 and sum(other) > 0:
                distinct.add(tuple(other))
    return distinct


@settings(max_examples=12)
@given(
    st.lists(st.integers(0, 8), min_size=2, max_size=3).filter(any),
    st.sampled_from(["agent", "instance"]),
    st.sampled_from(
        [GaussianNoise(Fraction(1)), GaussianNoise(Fraction(3)), LaplaceNoise(Fraction(1))]
    ),
    st.floats(1.5, 12.0),
)
def test_local_sensitivity_covers_every_data_set_near(
    votes: list[int], level: str, noise: GaussianNoise | LaplaceNoise, order: float
) -> None:
    """All data sets up to three neighbours away, and all of theirs."""
    steps = QueryCosts(noise, Level(level), order, len(votes))
    margins = Histograms.of(np.array([votes])).margins.astype(float)
    allowed = []
    for distance in range(4):
        low, high = (int(steps.at(end)[0]) for end in reach(steps, margins, distance))
        allowed.append(steps.local[0, low : high + 1].max())
    ring = {tuple(votes)}
    for distance in range(4):
        for counts in ring:
            base = cost(steps, counts)
            change = max(
                (abs(base - cost(steps, o)) for o in neighbours(counts, steps.level)), default=0
            )
            assert change <= allowed[distance] * (1 + 1e-12) + 1e-300
        ring = ring | {other for counts in ring for other in neighbours(counts, steps.level)}


@settings(max_examples=12)
@given(
    st.lists(
        st.lists(st.integers(0, 30), min_size=3, max_size=3).filter(any), min_size=1, max_size=4
    ),
    st.floats(0.002, 0.3),
    st.integers(0, 10**6),
    st.sampled_from(["agent", "instance"]),
    st.booleans(),
)
def test_it_is_smooth(
    votes: list[list[int]], beta: float, seed: int, name: str, many: bool
) -> None:
    """S of a neighbour is at most e^beta S, and both bound the change of the whole cost."""
    level = Level(name)
    steps = QueryCosts(GaussianNoise(Fraction(3)), level, 4.0, 3)
    rng = np.random.default_rng(seed)
    changed = []
    for row in votes:
        near = sorted(neighbours(tuple(row), level))
        changed.append(list(near[int(rng.integers(len(near)))]) if near else row)

    def cost_and_smooth(rows: list[list[int]]) -> tuple[float, float]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sanitized, "_MANY", 0 if many else 10**9)
            ready = Histograms.of(np.array(rows))
            smooth = smooth_sensitivity(steps, ready, np.ones(len(rows)), beta)
        return sum(cost(steps, tuple(row)) for row in rows), smooth

    (total, smooth_total), (changed_total, smooth_changed) = (
        cost_and_smooth(votes),
        cost_and_smooth(changed),
    )
    assert abs(total - changed_total) <= min(smooth_total, smooth_changed) * (1 + 1e-9)
    assert smooth_changed <= math.exp(beta) * smooth_total * (1 + 1e-9)
    assert smooth_total <= math.exp(beta) * smooth_changed * (1 + 1e-9)


@pytest.mark.parametrize("raised", [0.0, 1.6448536269514722])
@pytest.mark.parametrize("sigma", [0.5, 5.0, 40.0])
def test_publication_is_the_worst_gaussian_divergence(raised: float, sigma: float) -> None:
    """At all ratios of the two noises, by the closed form of two normal laws (Gil et al. 2013)."""
    order, beta = 12.0, 0.025
    worst = 0.0
    for ratio in np.exp(np.linspace(-beta, beta, 201)).tolist():
        mean = min(1.0, ratio) + raised * sigma * abs(1.0 - ratio)
        mixed = (1.0 - order) * sigma**2 + order * (sigma * ratio) ** 2
        divergence = math.log(ratio) + math.log((sigma * ratio) ** 2 / mixed) / (2 * (order - 1))
        worst = max(worst, divergence + order * mean**2 / (2 * mixed))
    ours = publication(order, beta, sigma, raised)
    assert worst * (1 - 1e-9) <= ours <= worst * (1.05 if raised else 1 + 1e-9)


def votes_of(queries: int) -> Any:
    rng = np.random.default_rng(7)
    return rng.multinomial(250, rng.dirichlet(np.ones(10) * 0.05, size=queries))


def test_it_is_worth_something() -> None:
    """Where voters agree, what may be published is well below the data-independent cost."""
    votes = votes_of(2000)
    gnmax = dp.GNMax(sigma=40, level="agent")
    whatever = gnmax.plan(2000).epsilon(delta=1e-5).upper
    results = [gnmax.sanitized(votes, 1e-5, seed=seed) for seed in range(5)]
    private = gnmax.cost(votes, 1e-5, exact=False).data_dependent.upper
    assert whatever is not None and private is not None
    for result in results:
        assert result.answer.upper is not None and private < result.answer.upper < whatever
        assert result.seeded and not result.private and 2 * result.order * result.beta < 1
    assert len({result.answer.upper for result in results}) == 5


def test_its_parameters_do_not_depend_on_the_votes() -> None:
    gnmax = dp.GNMax(sigma=40)
    clear, narrow = (gnmax.sanitized(v, 1e-5) for v in ([[200, 50]] * 30, [[126, 124]] * 30))
    names = ("order", "beta", "noise", "publication", "confidence")
    assert [getattr(clear, n) for n in names] == [getattr(narrow, n) for n in names]
    assert not clear.seeded


def test_it_hides_the_private_value_as_often_as_it_says() -> None:
    """Over 150 seeds the published cost is below the private one about as often as it may be."""
    votes = votes_of(50)
    lnmax = dp.LNMax(b=20, level="agent")
    order, delta = 5.0, 1e-5
    steps = QueryCosts(lnmax.noise, lnmax.neighbouring, order, 10)
    private = sum(cost(steps, tuple(row)) for row in votes.tolist())
    below = 0
    for seed in range(150):
        result = lnmax.sanitized(votes, delta, order=order, noise=2, confidence="0.9", seed=seed)
        s = order - 1.0
        conversion = math.log(1 / order) + s * math.log(1 - 1 / order) - math.log(delta)
        value = float(result.answer) - conversion / s - result.publication
        below += value < private * (1 - 1e-9)
    assert 0.04 < below / 150 < 0.18


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"beta": 0.2, "order": 4}, r"beta must be below 1/\(2 order\) = 0.125, got 0.2"),
        ({"order": 1}, "order must be"),
        ({"confidence": 0.4}, "confidence must be"),
        ({"confidence": 1}, "confidence must be"),
        ({"noise": 0}, "noise must be"),
        ({"beta": -1}, "beta must be"),
    ],
)
def test_parameters_are_checked(wrong: dict[str, float], message: str) -> None:
    with pytest.raises(dp.InvalidArgument, match=message):
        dp.GNMax(sigma=4).sanitized([[3, 1]], 1e-5, **wrong)


@settings(max_examples=20)
@given(
    st.lists(
        st.lists(st.integers(0, 12), min_size=3, max_size=3).filter(any), min_size=1, max_size=3
    ),
    st.floats(0.15, 0.6),
    st.sampled_from([("agent", 1), ("instance", 1), ("instance", 3), ("agent", 3)]),
    st.booleans(),
    st.sampled_from([7, 60]),
    st.integers(0, 10**6),
)
def test_with_a_threshold_it_is_smooth_too(
    votes: list[list[int]],
    beta: float,
    level: tuple[str, int],
    interactive: bool,
    threshold: int,
    seed: int,
) -> None:
    """The cost steps are bounds, neighbours change them by no more than S, and S is smooth."""
    name, shares = level
    votes = [[shares * n for n in row] for row in votes]  # in shares; whole voters
    run = dp.GNMax(
        sigma=1.5, level=name, neighbours=shares, threshold=threshold, threshold_sigma="1.25"
    )
    steps = QueryCosts(run.noise, run.neighbouring, 4.0, 3, 0.5)
    assert run.screening is not None
    with pytest.MonkeyPatch.context() as patch:  # coarser cells, the same claims
        patch.setattr(sanitized, "_REAL_ROWS", 80)
        table = replace(steps, screening=run.screening, whole=not interactive)
        assert table.cost.shape == table.local.shape
    rng = np.random.default_rng(seed)
    shape = (len(votes), 3)
    baseline = rng.uniform(0.0, 8.0, shape) if interactive else np.zeros(shape)
    baseline -= float(threshold > 10) * 50.0  # far from the threshold otherwise
    changed = []
    for row in votes:
        near = sorted(neighbours(tuple(row), steps.level))
        changed.append(list(near[int(rng.integers(len(near)))]) if near else row)

    def both(rows: list[list[int]]) -> tuple[float, float]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sanitized, "_REAL_ROWS", 80)
            return judged(rows)

    def judged(rows: list[list[int]]) -> tuple[float, float]:
        baselines = baseline if interactive else None
        ready = Histograms.of(np.array(rows), baselines, shares)
        near = (ready.margins - steps.level.margin).astype(float)
        column = steps.at(np.minimum(steps.noise.log_mismatch(near), 0.0))
        costs = table.cost[table.row(ready.top), column]
        true = run.renyi(rows, 4, baseline=baselines)
        assert (true <= costs * (1 + 1e-9) + 1e-12).all()
        smooth = smooth_sensitivity(table, ready, np.ones(len(rows)), beta)
        return float(costs.sum()), smooth

    (total, smooth_total), (changed_total, smooth_changed) = both(votes), both(changed)
    assert abs(total - changed_total) <= min(smooth_total, smooth_changed) * (1 + 1e-9)
    assert smooth_changed <= math.exp(beta) * smooth_total * (1 + 1e-9)
    assert smooth_total <= math.exp(beta) * smooth_changed * (1 + 1e-9)


def test_what_lies_below_all_cells_costs_no_more_than_their_edge() -> None:
    """Far under the threshold, at any distance, both orders: less than the first row is charged."""
    for order in (1.5, 6.0, 40.0):
        run = dp.GNMax(sigma=2, level="agent", threshold=400, threshold_sigma=2)
        steps = QueryCosts(run.noise, run.neighbouring, order, 3, 0.5)
        assert run.screening is not None
        table = replace(steps, screening=run.screening)
        assert table.first > 0.0
        charged = table._below(run.screening, np.array([0.0, 5.0]))
        for away in (0.0, 0.5, 3.0, 30.0, 200.0):
            true = run.screening.with_answer(
                np.full(2, table.first - away),
                np.array([[0.0], [5.0]]),
                np.array([order]),
                steps.level,
            )
            assert (true[:, 0] <= charged * (1 + 1e-9)).all()


def test_windows_are_what_they_say() -> None:
    """Against all entries, for runs that grow as distances do."""
    rng = np.random.default_rng(3)
    table = rng.random((23, 40))
    for per_step in (0.3, 1.0, 1.7):
        windows = sanitized._Windows(table)
        place = rng.uniform(0.0, 23.0, 30)
        low = rng.integers(0, 40, 30)
        high = np.minimum(low + rng.integers(0, 40, 30), 39)
        for distance in range(30):
            first, last = (
                np.clip(np.floor(place + way * per_step * distance), 0, 22).astype(np.intp)
                for way in (-1.0, 1.0)
            )
            result = windows.largest(first, last, low, high)
            for i, value in enumerate(result.tolist()):
                assert value == table[first[i] : last[i] + 1, low[i] : high[i] + 1].max()


def test_a_confident_run_can_be_published() -> None:
    votes = votes_of(2000)
    gnmax = dp.GNMax(sigma=40, level="agent", threshold=150, threshold_sigma=50)
    result = gnmax.sanitized(votes, 1e-5, seed=1)
    private = gnmax.cost(votes, 1e-5, exact=False).data_dependent.upper
    whatever = gnmax.plan(2000).epsilon(delta=1e-5).upper
    assert private is not None and whatever is not None and result.answer.upper is not None
    assert private < result.answer.upper < whatever


@pytest.mark.parametrize(
    ("level", "neighbours"), [("agent", 1), ("instance", 5)], ids=["interactive", "knn"]
)
def test_interactive_and_neighbourly_runs_can_be_published(
    level: str, neighbours: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    votes = votes_of(500)
    near = neighbours > 1
    gnmax = dp.GNMax(
        sigma=20,
        level=level,
        neighbours=neighbours,
        threshold=60 if not near else 30,
        threshold_sigma=30 if not near else 15,
    )
    baseline = None if near else 0.4 * votes
    monkeypatch.setattr(sanitized, "_REAL_ROWS", 200)  # coarser cells, the same claims
    result = gnmax.sanitized(votes, 1e-5, baseline=baseline, seed=1)
    private = gnmax.cost(votes, 1e-5, baseline=baseline, exact=False).data_dependent.upper
    whatever = gnmax.plan(500).epsilon(delta=1e-5).upper
    assert private is not None and whatever is not None and result.answer.upper is not None
    assert private < result.answer.upper < whatever

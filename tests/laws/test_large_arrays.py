"""Every method that takes an array takes 10^5 points, in bounded memory, and says what it says of one.

Of most plans a part of them is asked for, within as many bytes a point; all of it in a long search.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

import dpacct as dp
from dpacct.pld.budget import WORK, metered
from tests.work import calls

COUNT, SOME = 100_000, 10_000
LIMIT = 2 * 10**9
"""Bytes for all of COUNT points."""
PLANS: dict[str, Callable[[], dp.Node]] = {
    "Gaussian": lambda: dp.Gaussian(sigma=1),
    "sampled Gaussian": lambda: dp.Poisson("0.01")(dp.Gaussian(sigma="1.1")) * 1000,
    "fixed size": lambda: dp.WithoutReplacement("0.05")(dp.Gaussian(sigma=1)) * 10,
    "Laplace": lambda: dp.Laplace(b=1),
    "answers": lambda: dp.RandomizedResponse(eps0=1) * 10,
    "mixed": lambda: dp.Gaussian(sigma=3) * 4 + dp.PureDP(epsilon="0.1"),
    "zCDP": lambda: dp.ZCDP(rho="0.1") * 3,
}
QUESTIONS = {"rdp": (1.01, 64.0, 1e-10), "profile": (0.0, 8.0, 1e-5), "tradeoff": (0.0, 1.0, 0.0)}
"""From where to where, and how far a point among many may be from itself alone."""

CASES = [
    *((name, "rdp") for name in PLANS),
    *((name, "tradeoff") for name in PLANS if name != "fixed size"),
    *((name, "profile") for name in PLANS if name != "fixed size"),
]


def agree(name: str, question: str, points: np.ndarray, values: np.ndarray) -> None:
    """Among many a point is what it is alone."""
    plan, (_, _, within) = PLANS[name](), QUESTIONS[question]
    assert values.shape == points.shape and not np.isnan(values).any()
    places = [1, points.size // 3, points.size - 2]
    alone = [float(np.asarray(getattr(plan, question)(float(points[k]))).item()) for k in places]
    # a lower bound of a curve may be nearer to it among many, and never much farther
    assert np.all(values[places] >= np.array(alone) * (1 - within) - 2e-6)
    assert np.allclose(values[places], alone, rtol=within, atol=1e-5 if within == 0.0 else 1e-12)


@pytest.mark.parametrize(
    ("name", "question", "count"),
    [
        *((*case, SOME) for case in CASES if case != ("sampled Gaussian", "tradeoff")),
        ("Gaussian", "tradeoff", COUNT),
        *(pytest.param(*case, COUNT, marks=pytest.mark.search) for case in CASES),
    ],
)
def test_arrays(name: str, question: str, count: int) -> None:
    plan, (low, high, _) = PLANS[name](), QUESTIONS[question]
    points = np.linspace(low, high, count)
    tracemalloc.start()
    try:
        values = np.asarray(getattr(plan, question)(points))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < LIMIT * count / COUNT
    agree(name, question, points, values)


@pytest.mark.parametrize(("name", "question"), CASES)
def test_the_work_of_a_point(name: str, question: str) -> None:
    """100 calls a point at most: 10^5 points, at less than half a microsecond a call, take 5 s of CPU."""
    low, high, _ = QUESTIONS[question]
    plan = PLANS[name]()
    # curves have work that points share
    points = np.linspace(low, high, COUNT if question == "tradeoff" else SOME)
    results: list[np.ndarray] = []
    work = calls(lambda: results.append(np.asarray(getattr(plan, question)(points))))
    assert work < 100 * points.size
    agree(name, question, points, results[0])


def test_plans_of_slow_readings() -> None:
    """Once an hour: each point of a profile was composed by itself."""
    plan, epsilons = PLANS["fixed size"](), np.linspace(1.0, 1.5, COUNT)
    with metered() as work:
        deltas = plan.profile(epsilons)
    assert work.spent < 0.2 * WORK
    assert np.all(np.diff(deltas) <= 0.0)
    middle = plan.delta(epsilon=float(epsilons[COUNT // 2]), method="exact")
    assert middle.lower is not None and middle.lower <= deltas[COUNT // 2]
    assert deltas[COUNT // 2] == pytest.approx(middle.value, rel=1e-8)
    with metered() as work:
        curve = np.asarray(plan.tradeoff(np.linspace(0.3, 0.4, COUNT)))
    assert work.spent < WORK
    line = 1.0 - float(deltas[0]) - np.e * 0.35  # the supporting line of epsilon 1
    assert curve[COUNT // 2] >= line - 1e-9


def test_orders_of_all_sizes() -> None:
    """Orders far apart, out of order, and twice."""
    plan = dp.Poisson("0.01")(dp.Gaussian(sigma="1.1"))
    orders = np.concatenate(
        (np.geomspace(1 + 1e-9, 300, 90), [2.0, 2.0], np.geomspace(50, 1.1, 40))
    )
    alone = [plan.rdp(float(order)) for order in orders]
    assert np.allclose(plan.rdp(orders), alone, rtol=1e-10, atol=0)


def test_a_long_tradeoff_lies_on_the_curve() -> None:
    """G_mu in closed form: never above it, and near it."""
    from statistics import NormalDist

    normal = NormalDist()
    alphas = np.linspace(0.0, 1.0, 5001)
    values = np.asarray(dp.Gaussian(sigma=1).tradeoff(alphas))
    exact = [1.0, *(normal.cdf(normal.inv_cdf(1 - a) - 1) for a in alphas[1:-1].tolist()), 0.0]
    assert np.all(values <= np.array(exact) + 1e-12)
    assert np.all(values >= np.array(exact) - 1e-6)


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_tables_of_100_000_rows(adjacency: str) -> None:
    """Two geometric laws cut off: delta(0) is the total variation of the tables."""
    draw = np.random.default_rng(1)
    p, q = draw.exponential(size=(2, COUNT))
    tables = (np.round(p / p.sum(), 12).tolist(), np.round(q / q.sum(), 12).tolist())
    plan = dp.Custom(tables=tables)
    distance = 0.5 * float(np.abs(np.array(tables[0]) - np.array(tables[1])).sum())
    answer = plan.delta(epsilon=0, method="exact", adjacency=adjacency)
    assert float(answer) == pytest.approx(distance, rel=1e-6)
    assert float(answer) >= distance * (1 - 1e-9)


def test_rows_are_made_to_sum_to_one() -> None:
    short = Fraction(1, 10**10)
    loose = dp.Custom(tables=(["0.75", Fraction(1, 4) - short], ["0.25", "0.75"]))
    assert sum(loose.p) == 1 == sum(loose.q)
    assert dp.from_json(loose.to_json()) == loose


def test_tables_under_exchange_keep_small_deltas() -> None:
    """Between two losses the profile is a sum of positive terms: (p - e^eps q)_+ at 1e-14 of a mass."""
    p, q = [1 - 3e-14, 1e-14, 2e-14], [1 - 2e-14, 1.5e-14, 0.5e-14]
    plan = dp.Custom(tables=(p, q)).under("replace-one")
    exact = [Fraction(repr(x)) for x in p], [Fraction(repr(x)) for x in q]
    first, second = ([x / sum(row) for x in row] for row in exact)
    wanted = max(
        sum(max(a - b * 2, Fraction(0)) for a, b in zip(*pair, strict=True))
        for pair in ((first, second), (second, first))
    )
    answer = plan.delta(epsilon=float(np.log(2)), method="exact")
    assert float(answer) == pytest.approx(float(wanted), rel=1e-6)

"""The best of a random number of runs: exact laws of small selections, the peer's numbers, special cases."""

import math
import random
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import pytest
from dp_accounting import dp_event
from dp_accounting.rdp import rdp_privacy_accountant

import dpacct as dp
from dpacct.plan.selection import _gamma

RUN = dp.Poisson("0.01")(dp.Gaussian(sigma="1.1")) * 1000
SHAPES: list[float | str] = [0, 0.5, 1, 3, "poisson"]


def generating(mean: float, shape: float | str) -> Callable[[float], float]:
    """E[x^K]."""
    if isinstance(shape, str):
        return lambda x: math.exp(mean * (x - 1.0))
    gamma = _gamma(mean, shape)
    if not shape:
        return lambda x: math.log1p(-(1 - gamma) * x) / math.log(gamma)
    return lambda x: ((1 - (1 - gamma) * x) ** -shape - 1) / (gamma**-shape - 1)


def selected(law: list[float], mean: float, shape: float | str) -> list[float]:
    """The law of the best of the runs: outcomes in rising order, and nothing where K = 0."""
    of, below = generating(mean, shape), [math.fsum(law[: k + 1]) for k in range(len(law))]
    ends = [of(0.0), *(of(min(1.0, x)) for x in below)]
    return [ends[0], *(b - a for a, b in pairwise(ends))]


def renyi(p: list[float], q: list[float], order: float) -> float:
    moment = math.fsum(a**order * b ** (1 - order) for a, b in zip(p, q, strict=True) if a > 0)
    return math.log(moment) / (order - 1)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(3))
def test_no_selection_of_four_outcomes_exceeds_the_bound(shape: float | str, seed: int) -> None:
    draw = random.Random(seed)
    rows = [[draw.uniform(0.1, 1) for _ in range(4)] for _ in range(2)]
    p, q = ([x / sum(row) for x in row] for row in rows)
    mean = draw.choice([1.5, 4.0, 30.0])
    plan = dp.RepeatAndSelect(dp.Custom(tables=(p, q)), mean=mean, shape=shape)
    best = selected(p, mean, shape), selected(q, mean, shape)
    for order in (1.3, 2.0, 5.0, 20.0):
        found = max(renyi(*best, order), renyi(*best[::-1], order))
        assert found <= plan.rdp(order) * (1 + 1e-9)


@pytest.mark.parametrize(
    ("mean", "shape"), [(1, 1), (10, 0), (40, 1), (1000, 0.5), (40, "poisson")]
)
def test_it_is_within_what_dp_accounting_says(mean: float, shape: float | str) -> None:
    """Its orders are a list, and its delta of one run comes from them."""
    step = dp_event.PoissonSampledDpEvent(0.01, dp_event.GaussianDpEvent(1.1))
    theirs = dp_event.RepeatAndSelectDpEvent(
        dp_event.SelfComposedDpEvent(step, 1000), mean, math.inf if shape == "poisson" else shape
    )
    expected = rdp_privacy_accountant.RdpAccountant().compose(theirs).get_epsilon(1e-5)
    ours = float(dp.RepeatAndSelect(RUN, mean=mean, shape=shape).epsilon(1e-5))
    assert ours <= expected
    assert shape == "poisson" or ours == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("shape", [0, 0.3, 1, 7])
@pytest.mark.parametrize("mean", [1.0, 1.5, 40.0, 1e9])
def test_gamma_has_this_mean(mean: float, shape: float) -> None:
    gamma = _gamma(mean, shape)
    if mean == 1:
        assert gamma == 1
    elif shape:
        assert shape * (1 - gamma) / (gamma * (1 - gamma**shape)) == pytest.approx(mean, rel=1e-9)
    else:
        assert (1 / gamma - 1) / math.log(1 / gamma) == pytest.approx(mean, rel=1e-9)


def test_one_run_costs_what_it_costs_and_more_cost_more() -> None:
    once = dp.RepeatAndSelect(RUN, mean=1, shape=2)
    assert once.rdp(8.0) == pytest.approx(RUN.rdp(8.0), rel=1e-6)
    cost = [
        float(dp.RepeatAndSelect(RUN, mean=mean, shape=0).epsilon(1e-5)) for mean in (1, 3, 10, 100)
    ]
    assert cost == sorted(cost)


def test_a_pure_run_stays_pure() -> None:
    """Papernot and Steinke 2022, Corollary 3."""
    tuned = dp.RepeatAndSelect(dp.PureDP("0.1") * 3, mean=100, shape="0.5")
    assert tuned.pure_epsilon(dp.Adjacency.ADD_REMOVE) == Fraction(75, 100)
    assert float(tuned.epsilon(0)) == pytest.approx(0.75, rel=1e-12)


def test_it_is_a_plan_like_any_other() -> None:
    plan = dp.RepeatAndSelect(RUN, mean=10, shape=1)
    for each in (
        plan,
        dp.RepeatAndSelect(RUN, mean="2.5", shape="poisson") * 3 + dp.Gaussian(sigma=5),
    ):
        assert dp.from_json(each.to_json()) == each
    names = {name: getattr(dp, name) for name in ("RepeatAndSelect", "Poisson", "Gaussian")}
    assert eval(repr(plan), names) == plan
    assert plan.rdp(4.0) + dp.Gaussian(sigma=5).rdp(4.0) == pytest.approx(
        (plan + dp.Gaussian(sigma=5)).rdp(4.0), rel=1e-9
    )
    noise = dp.calibrate(
        lambda s: dp.RepeatAndSelect(
            dp.Poisson("0.01")(dp.Gaussian(sigma=s)) * 1000, mean=10, shape=1
        ),
        epsilon=2,
        delta=1e-5,
    )
    assert 1.5 < float(noise) < 1.6


@pytest.mark.parametrize(
    ("mean", "shape", "message"),
    [
        (0.5, 1, "mean must be a number from 1"),
        (3, -1, "shape must be a number of at least 0"),
        (3, "gaussian", "shape must be a number of at least 0"),
        (math.nan, 1, "mean must be a number from 1"),
    ],
)
def test_wrong_numbers_are_refused(mean: float, shape: float | str, message: str) -> None:
    with pytest.raises(dp.InvalidArgument, match=message):
        dp.RepeatAndSelect(RUN, mean=mean, shape=shape)


def test_it_is_not_sampled() -> None:
    with pytest.raises(dp.Unsupported, match="no dominating pair"):
        dp.Poisson("0.1")(dp.RepeatAndSelect(RUN, mean=3)).epsilon(1e-5)

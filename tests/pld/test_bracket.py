"""Compositions: brackets against closed forms, exact sums and the contour engine; rare losses; limits."""

import json
import math
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pytest

import dpacct as dp
from dpacct.plan.composition import Composition, Direction
from dpacct.plan.node import Node
from dpacct.plan.routes import Bracket, RouteQuestion
from dpacct.pld import bracket, contour
from dpacct.pld.bracket.search import DirectionSearch
from dpacct.pld.loss import LossDistribution, gaussian
from dpacct.pld.pieces import Cut
from tests.pld.make_brackets import width
from tests.pld.random_plans import random_plan
from tests.work import calls, memory

ROWS = json.loads((Path(__file__).parent / "brackets.json").read_text())


def log_delta(mu: float, epsilon: float) -> float:
    """log delta of N(mu, 1) against N(0, 1) (Balle, Wang 2018), in 60 digits."""
    with mpmath.workdps(60):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        value = mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)
        return float(mpmath.log(value))


@pytest.mark.parametrize(
    ("mu", "count", "epsilon"),
    [(1.0, 1, 2.0), (0.1, 100, 4.0), (0.001, 10**6, 4.0), (100.0, 1, 5300.0)],
)
def test_gaussians_compose_to_one(mu: float, count: int, epsilon: float) -> None:
    exact = log_delta(mu * math.sqrt(count), epsilon)
    result = bracket.log_delta([(normal(mu), float(count))], epsilon)
    assert result.lower <= exact <= result.upper
    assert result.upper - result.lower <= 1e-4 and result.resolved


@pytest.mark.parametrize(("width", "target"), [(1e-4, -11.5), (1e-6, -11.5), (1e-4, -138.2)])
def test_the_width_is_what_is_asked(width: float, target: float) -> None:
    """Also at delta 1e-60."""
    answer = bracket.epsilon([(normal(0.1), 100.0)], target, width)
    assert 0.0 < answer.upper - answer.lower <= width * answer.upper
    assert log_delta(1.0, answer.lower) >= target >= log_delta(1.0, answer.upper)


def normal(mu: float) -> Cut:
    """One Gaussian release."""
    return Cut(gaussian(mu))


def multinomial(p: list[Fraction], q: list[Fraction], count: int, epsilon: float) -> float:
    """log of the sum over all outcomes of count draws, in 50 digits."""
    with mpmath.workdps(50):
        gamma = mpmath.exp(mpmath.mpf(epsilon))
        fs = [(mpmath.mpf(a.numerator) / a.denominator) for a in p]
        gs = [(mpmath.mpf(a.numerator) / a.denominator) for a in q]
        total = mpmath.mpf(0)
        for i in range(count + 1):
            for j in range(count + 1 - i):
                counts = (i, j, count - i - j)
                many = mpmath.factorial(count)
                a = b = many / mpmath.fprod(mpmath.factorial(n) for n in counts)
                for n, f, g in zip(counts, fs, gs, strict=True):
                    a, b = a * f**n, b * g**n
                total += max(a - gamma * b, 0)
        return float(mpmath.log(total))


@pytest.mark.parametrize(
    ("p", "q"),
    [
        # on a lattice, off any lattice, and with an outcome that only one of them has
        (["4/7", "2/7", "1/7"], ["1/7", "2/7", "4/7"]),
        (["1/2", "3/10", "1/5"], ["1/5", "3/10", "1/2"]),
        (["1/2", "1/3", "1/6"], ["1/4", "1/3", "5/12"]),
        (["1/1000", "666/1000", "333/1000"], ["0", "1/2", "1/2"]),
    ],
)
def test_three_outcomes(p: list[str], q: list[str]) -> None:
    first, second = ([Fraction(x) for x in side] for side in (p, q))
    both = [(a, b) for a, b in zip(first, second, strict=True) if b > 0]
    source = Cut(
        LossDistribution(
            np.array([math.log(a / b) for a, b in both]),
            np.array([math.log(b) for _, b in both]),
            infinite=float(sum(a for a, b in zip(first, second, strict=True) if b == 0)),
        )
    )
    for count, epsilon in ((1, 0.1), (7, 0.5), (40, 1.5)):
        exact = multinomial(first, second, count, epsilon)
        result = bracket.log_delta([(source, float(count))], epsilon)
        assert result.lower <= exact <= result.upper


def test_randomised_response_is_near() -> None:
    run = dp.RandomizedResponse(eps0=0.1) * 1000
    answer, other = (
        run.epsilon(delta=1e-6, method="bracket"),
        run.epsilon(delta=1e-6, method="exact"),
    )
    assert str(answer.strength) == "bracketed"
    assert answer.lower is not None and answer.upper is not None
    assert answer.upper - answer.lower < 1e-6 * answer.upper
    assert answer.value == pytest.approx(other.value, rel=1e-6)
    # a thousand answers: the binomial sum in 40 digits
    with mpmath.workdps(40):
        e0, eps = mpmath.mpf("0.1"), mpmath.mpf(answer.value)
        share = mpmath.exp(e0) / (1 + mpmath.exp(e0))
        total = mpmath.mpf(0)
        for k in range(500, 1001):
            loss = (2 * k - 1000) * e0
            if loss > eps:
                mass = mpmath.binomial(1000, k) * share**k * (1 - share) ** (1000 - k)
                total += mass * (1 - mpmath.exp(eps - loss))
        assert float(total) == pytest.approx(1e-6, rel=1e-4)


def contains(answer: dp.Answer, lower: float, upper: float) -> bool:
    assert answer.lower is not None and answer.upper is not None
    below, above = lower * (1 + 1e-9) + 1e-11, upper * (1 - 1e-9) - 1e-11
    return answer.lower <= below and answer.upper >= above


@pytest.mark.parametrize("row", ROWS[::20], ids=lambda row: str(row["index"]))
def test_brackets_hold_what_the_contour_says(row: dict[str, object]) -> None:
    """Some of the 500 again; the intervals of the contour engine are those that were written down."""
    plan, delta = random_plan(int(str(row["index"])))
    assert repr(plan) == row["plan"] and delta == row["delta"]
    lower, _, upper = row["exact"]  # type: ignore[misc]
    answer = plan.epsilon(delta=delta, method="bracket")
    assert contains(answer, lower, upper) and width(answer.value, answer.upper) <= 1e-4


def test_all_brackets_that_were_written_down() -> None:
    """Each held the contour's interval when `make_brackets` ran, at the width and in the time promised."""
    assert len(ROWS) >= 500
    for row in ROWS:
        (lower, _, upper), (low, _, high) = row["exact"], row["bracket"]
        assert low <= lower * (1 + 1e-9) + 1e-11 and high >= upper * (1 - 1e-9) - 1e-11
        assert low >= lower * (1 - 1e-4) - 1e-11
        assert row["width"] <= 1e-4 and row["cpu"] <= 1.0


def test_many_point_losses_beside_one_smooth_step() -> None:
    """Plan 216, on which the contour engine was off by 2e-5: a binomial sum of one-step profiles."""
    plan, delta = random_plan(216)
    way = Composition(plan, dp.Adjacency.ADD_REMOVE).upper[0]
    (points, count), (smooth, once) = way.parts
    assert once == 1.0
    order = np.argsort(points.losses)
    losses, logs = points.losses[order], points.log_p[order]
    answer = plan.epsilon(delta=delta, method="bracket@1e-6")
    assert answer.lower is not None and answer.upper is not None

    def truth(epsilon: float) -> float:
        total = 0.0
        for k in range(int(count) + 1):
            log_mass = math.lgamma(count + 1) - math.lgamma(k + 1) - math.lgamma(count - k + 1)
            log_mass += k * logs[1] + (count - k) * logs[0]
            rest = epsilon - k * losses[1] - (count - k) * losses[0]
            if log_mass > -80.0 and rest < 20.0:
                reading = contour.log_delta([(smooth, 1)], rest)
                total += math.exp(log_mass + reading.value)
        return total

    assert truth(answer.upper) <= float(delta) * (1 + 1e-10)
    assert truth(answer.lower) >= float(delta) * (1 - 1e-10)


def test_rare_hits_are_resolved() -> None:
    """T q < 1: no contour did. Truth: the chance of one hit and of two, to 1e-8 of delta."""
    run = dp.Poisson("1e-5")(dp.Gaussian(sigma="0.5")) * 1000
    answer = run.epsilon(delta=1e-8, method="bracket")
    assert answer.lower is not None and answer.upper is not None
    assert 0.468 < answer.lower <= answer.upper < 0.4683
    assert (answer.upper - answer.lower) / answer.upper < 1e-4
    auto = run.epsilon(delta=1e-8)
    assert auto.lower is not None and auto.upper is not None
    assert auto.lower <= answer.upper and answer.lower <= auto.upper
    assert (auto.upper - auto.lower) / auto.upper < 1e-4


@pytest.mark.parametrize("count", [1000.0, 50000.0])
@pytest.mark.parametrize("remove", [True, False])
@pytest.mark.parametrize(("sigma", "rate"), [(53.0, 1e-7), (5.0, 1e-7), (53.0, 1e-3)])
def test_tiny_losses_keep_their_digits(
    sigma: float, rate: float, remove: bool, count: float
) -> None:
    """Losses of 1e-9: P- and Q-mass of a cell agree to as many digits, and their difference decides."""
    law = gaussian(1.0 / sigma).sampled(rate)
    source = Cut(law if remove else law.reversed())
    epsilon = 5.0 * rate / sigma * math.sqrt(count)
    exact = Direction([(source, count)]).log_delta(epsilon)
    result = bracket.log_delta([(source, count)], epsilon, 1e-6)
    assert exact.resolved == (rate > 1e-7)
    assert not exact.resolved or result.lower <= exact.value <= result.upper
    assert result.upper - result.lower <= 1.1e-6


@pytest.mark.parametrize("sigma", [0.5, 1.0, 3.0])
@pytest.mark.parametrize(("rate", "count"), [("1e-4", 3), ("0.001", 200), ("0.01", 5)])
@pytest.mark.parametrize("delta", ["1e-5", "1e-10"])
def test_rare_hits_are_narrow(sigma: float, rate: str, count: int, delta: str) -> None:
    """As narrow as asked, and at a tenth of that they agree."""
    run = dp.Poisson(rate)(dp.Gaussian(sigma=sigma)) * count
    answer = run.epsilon(delta=delta, method="bracket@1e-5")
    assert answer.lower is not None and answer.upper is not None
    assert 0.0 <= answer.upper - answer.lower <= 1.01e-5 * answer.upper
    finer = run.epsilon(delta=delta, method="bracket@1e-6")
    assert finer.lower is not None and finer.upper is not None
    assert answer.lower <= finer.upper and finer.lower <= answer.upper


@pytest.mark.parametrize("sigma", [0.6, 1.0])
def test_a_million_steps(sigma: float) -> None:
    run = dp.Poisson("0.001")(dp.Gaussian(sigma=sigma)) * 10**6
    few = dp.Poisson("0.001")(dp.Gaussian(sigma=sigma)) * 1000
    less = calls(lambda: few.epsilon(delta=1e-6, method="bracket"))
    assert calls(lambda: run.epsilon(delta=1e-6, method="bracket")) < 6 * less
    assert memory(lambda: run.epsilon(delta="1.1e-6", method="bracket")) < 4e7  # bytes
    answer = run.epsilon(delta=1e-6, method="bracket")
    exact = run.epsilon(delta=1e-6, method="exact")
    assert exact.lower is not None and exact.upper is not None
    assert answer.lower is not None and answer.upper is not None
    assert contains(answer, exact.lower, exact.upper)
    assert (answer.upper - answer.lower) / answer.upper <= 1e-4


def test_questions_all_have_answers_without_a_contour() -> None:
    run = dp.Poisson("0.1")(dp.Laplace(b=2) * 3) * 10
    assert not Composition(run, dp.Adjacency.ADD_REMOVE).has_contour
    epsilon = run.epsilon(delta=1e-5)
    back = run.delta(epsilon=epsilon.value)
    assert float(back) == pytest.approx(1e-5, rel=1e-3)
    assert run.rdp(2.0) > 0.0
    assert float(run.epsilon(delta=1e-5, method="rdp")) >= float(epsilon)


def test_what_has_no_pair_is_refused() -> None:
    with pytest.raises(dp.Unsupported, match=r"bracket.* needs a dominating pair"):
        dp.ZCDP(rho=1).epsilon(delta=1e-5, method="bracket")


def test_open_failures_are_part_of_delta() -> None:
    run: Node = dp.ApproxDP(epsilon="0.1", delta="1e-7") * 10
    assert run.epsilon(delta=1e-7, method="bracket").value == math.inf
    answer = run.delta(epsilon=1.0, method="bracket")
    assert float(answer) == pytest.approx(1e-6, rel=1e-3)
    plan = Composition(run, dp.Adjacency.ADD_REMOVE)
    fine = Bracket(width=1e-6).answer(plan, RouteQuestion(False, 0.3))
    assert fine.lower is not None and fine.upper is not None and fine.upper - fine.lower < 1e-6


def test_what_has_no_lower_end_at_one_epsilon_tells_nothing_of_others() -> None:
    """Next to the largest loss there is but an upper end, which once stood for all smaller epsilons."""
    eps0 = 0.1
    points = np.linspace(0.0, eps0, 1001).tolist()
    step = dp.Custom(
        profile=[(e, math.expm1((e - eps0) / 2) ** 2 / -math.expm1(-eps0)) for e in points]
    )
    plan = dp.WithoutReplacement(1)(step) * 10
    epsilons = np.array([1.0, 0.1129, 0.001])
    together = plan.profile(epsilons, adjacency="replace-one")
    alone = [float(plan.delta(float(e), adjacency="replace-one").upper or 1.0) for e in epsilons]
    assert together == pytest.approx(alone, rel=1e-4)


def test_ends_that_a_finer_grid_exchanges_are_left() -> None:
    """A lower end of 3e48 beside an upper one of 5,773: the answer could not be made."""
    plan = dp.RecordsPerUser(10, "6.07e-6")(dp.Gaussian(sigma="0.08781")) * 7968
    answer = plan.epsilon("7.865e-49", method="exact")
    assert answer.lower is not None and answer.upper is not None
    assert 0.0 <= answer.lower <= answer.value <= answer.upper < 7000.0


@pytest.mark.parametrize("rate", ["0.1", "3.489e-11"])
@pytest.mark.parametrize("delta", ["7.264e-186", "1e-250"])
def test_losses_with_next_to_no_q_mass_are_not_set_apart(rate: str, delta: str) -> None:
    """What was set apart had a Q-mass below all floats, and delta was said to be its whole P-mass.

    Truth: one step in closed form, the rate times delta of the Gaussian at the loss before sampling.
    """
    step = dp.Poisson(rate)(dp.Gaussian(sigma="0.07526"))
    lattice = step.epsilon(delta=delta, method="bracket")
    assert lattice.lower is not None and lattice.upper is not None
    with mpmath.workdps(60):
        mu = 1 / mpmath.mpf("0.07526")
        log_deltas = []
        for epsilon in (lattice.lower, lattice.upper):
            loss = mpmath.log1p(mpmath.expm1(mpmath.mpf(epsilon)) / mpmath.mpf(rate))
            above = mpmath.ncdf(mu / 2 - loss / mu) - mpmath.exp(loss) * mpmath.ncdf(
                -mu / 2 - loss / mu
            )
            log_deltas.append(mpmath.log(mpmath.mpf(rate) * above))
        target = mpmath.log(mpmath.mpf(delta))
    assert log_deltas[1] <= target <= log_deltas[0] <= target + mpmath.mpf("0.1")


def test_a_search_without_a_bound_to_begin_with(monkeypatch: pytest.MonkeyPatch) -> None:
    """The epsilon it began at, 10, was once taken for enough."""
    sources = [(Cut(gaussian(0.7).sampled(0.5)), 200.0)]
    known = bracket.epsilon(sources, math.log(1e-6))
    monkeypatch.setattr(DirectionSearch, "chernoff_epsilon", lambda self, log_delta: math.inf)
    result = bracket.epsilon(sources, math.log(1e-6))
    assert 15.0 < known.lower <= result.upper and result.lower <= known.upper
    assert result.upper - result.lower <= 2e-5 * result.upper

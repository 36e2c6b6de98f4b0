"""A plan on one sample: against quadrature, sampling, and the one case with a closed form."""

import math

import numpy as np
import pytest
from scipy.special import ndtr

import dpacct as dp
from dpacct.plan.composition import Composition
from dpacct.plan.routes import sources
from dpacct.pld import bracket
from dpacct.pld.bracket.nested import Nested
from dpacct.pld.derived import backwards, mirrored, sampled
from dpacct.pld.loss import gaussian
from dpacct.pld.pieces import Cut, Source
from dpacct.vocabulary import Adjacency

STEP = dp.Gaussian(sigma=1)


def ends(answer: dp.Answer) -> tuple[float, float]:
    assert answer.lower is not None and answer.upper is not None
    return answer.lower, answer.upper


def client_coin(epsilon: float, rate: float, mu: float) -> float:
    """Delta of one coin around a Gaussian of this mu, by quadrature over the sufficient statistic."""
    x = np.linspace(-12.0, mu + 12.0, 400_001)
    density = np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)
    shifted = np.exp(-0.5 * (x - mu) ** 2) / math.sqrt(2.0 * math.pi)
    gap = (1.0 - rate - math.exp(epsilon)) * density + rate * shifted
    return float(np.maximum(gap, 0.0).sum() * (x[1] - x[0]))


def test_one_client_coin_around_fifty_local_steps() -> None:
    """48.2, and not the 5.1 of fifty coins."""
    run = dp.Poisson("0.1")(STEP * 50)
    answer = run.epsilon(delta=1e-5)
    assert 48.19 < float(answer) < 48.20
    assert client_coin(float(answer), 0.1, math.sqrt(50.0)) == pytest.approx(1e-5, rel=1e-5)
    wrong = (dp.Poisson("0.1")(STEP) * 50).epsilon(delta=1e-5)
    assert float(wrong) < 11.0  # 5.1 with the rates of both levels multiplied
    # a million draws from the truth: delta as the mean of a bounded variable
    rng = np.random.default_rng(50)
    mu = math.sqrt(50.0)
    x = rng.normal(size=10**6) + mu  # the coin fell; otherwise the loss is negative here
    log_ratio = np.logaddexp(math.log(0.9), math.log(0.1) + mu * x - 0.5 * mu * mu)
    for epsilon in (20.0, 30.0):
        draws = 0.1 * np.maximum(-np.expm1(epsilon - log_ratio), 0.0)
        error = float(draws.std()) / 1e3
        lower, upper = ends(run.delta(epsilon=epsilon, method="bracket"))
        assert lower - 5 * error - 1e-6 <= float(draws.mean()) <= upper + 5 * error + 1e-6


def amplified(source: Source, way: str) -> Source:
    """On a sample of rate 0.2."""
    if way == "mirrored":
        return mirrored(source, 0.2)
    on_sample = sampled(source, 0.2)
    return backwards(on_sample) if way == "add" else on_sample


@pytest.mark.parametrize("way", ["remove", "add", "mirrored"])
@pytest.mark.parametrize(("rounds", "log_delta"), [(1, -11.5), (7, -25.0)])
def test_the_composed_source_is_the_closed_form(way: str, rounds: int, log_delta: float) -> None:
    """Gaussians are their own composition: the general way must find what the closed one does."""
    inner = Nested(((Cut(gaussian(0.3)), 20),))
    closed = Cut(gaussian(0.3 * math.sqrt(20.0)))
    answer = bracket.epsilon([(amplified(inner, way), float(rounds))], log_delta)
    exact = bracket.epsilon([(amplified(closed, way), float(rounds))], log_delta, 1e-5)
    assert answer.lower <= exact.upper and exact.lower <= answer.upper
    assert answer.upper - answer.lower <= 1.5e-4 * answer.upper


def two_level(epsilon: float, draws: int) -> tuple[tuple[float, float], tuple[float, float]]:
    """(mean, standard error) of delta, remove and add, of a coin of 0.1 around ten sampled steps."""
    rng = np.random.default_rng(7)
    loss = np.zeros(draws)
    for _ in range(10):
        x = rng.normal(size=draws)
        loss += np.log1p(0.3 * np.expm1(x - 0.5))
    ratio = 1.0 + 0.1 * np.expm1(loss)
    remove = np.maximum(ratio - math.exp(epsilon), 0.0)
    add = np.maximum(1.0 - math.exp(epsilon) * ratio, 0.0)
    root = math.sqrt(draws)
    return (remove.mean(), remove.std() / root), (add.mean(), add.std() / root)


def test_two_levels_of_sampling() -> None:
    """Client coins around local steps that draw their own records: brute force."""
    run = dp.Poisson("0.1")(dp.Poisson("0.3")(STEP) * 10)
    directions = Composition(run, Adjacency.ADD_REMOVE).upper
    for epsilon in (0.05, 0.2):
        for direction, (mean, error) in zip(directions, two_level(epsilon, 10**6), strict=True):
            log_delta = bracket.log_delta(sources(direction), epsilon)
            low, high = math.exp(log_delta.lower), math.exp(log_delta.upper)
            assert low - 5.0 * error <= mean <= high + 5.0 * error + 1e-300
            assert high - low <= 1.2e-4 * high + 1e-300


def participation(epsilon: float, rate: float, mu: float, rounds: int) -> float:
    """Delta where each of some rounds runs a Gaussian step with this probability, and says so."""
    total = 0.0
    for ran in range(1, rounds + 1):
        share = math.comb(rounds, ran) * rate**ran * (1.0 - rate) ** (rounds - ran)
        m = mu * math.sqrt(ran)
        total += share * float(
            ndtr(0.5 * m - epsilon / m) - math.exp(epsilon) * ndtr(-0.5 * m - epsilon / m)
        )
    return total


def test_participation_is_a_coin_in_the_open() -> None:
    """Federated f-DP, Theorem 1 corrected: (1 - p) delta_0 + p PLD(f) per round."""
    run = dp.Participation("0.25")(STEP * 2) * 6
    for epsilon in (1.0, 4.0):
        lower, upper = ends(run.delta(epsilon=epsilon))
        exact = participation(epsilon, 0.25, math.sqrt(2.0), 6)
        assert lower <= exact <= upper and upper - lower <= 1e-4 * upper
    assert dp.Participation(1)(STEP).releases() == STEP.releases()


def test_rounds_cost_nothing() -> None:
    """The whole law is computed once: a thousand rounds are a power of it."""
    round_of_steps = dp.Poisson("0.01")(dp.Laplace(b=5) * 3)
    few, many = (round_of_steps * n for n in (10, 10**4))
    assert len(many.releases()) == len(few.releases()) == 1
    lower, upper = ends(many.epsilon(delta=1e-6))
    assert 0.0 < lower < upper and upper - lower < 1e-3 * upper


def test_fixed_size_samples_of_a_composition() -> None:
    """C_q of randomised response twice: three losses, by enumeration."""
    run = dp.WithoutReplacement("0.5")(dp.PureDP(epsilon=1) * 2)
    share = math.e / (1.0 + math.e)
    p = np.array([share**2, 2 * share * (1 - share), (1 - share) ** 2])
    q = p[::-1]
    mixed = 0.5 * p + 0.5 * q
    for epsilon in (0.0, 0.3):
        exact = float(np.maximum(mixed - math.exp(epsilon) * q, 0.0).sum())
        lower, upper = ends(run.delta(epsilon=epsilon))
        assert lower <= exact * (1 + 1e-9) and exact * (1 - 1e-9) <= upper
        assert upper <= exact * (1 + 2e-4)


def test_a_sample_of_more_outcomes_than_nodes_can_meet() -> None:
    """Far apart, and gathered on the grid: delta 0.7225 was said, where the record is touched with 0.073."""
    plan = dp.Poisson("0.03716")(dp.RandomizedResponse(eps0="1.257", k=5) * 40) * 2
    share = 1.0 / (1.0 + 4.0 * math.exp(-1.257))
    logs = np.log([share, 1.0 - share * (1.0 + math.exp(-1.257)), share * math.exp(-1.257)])
    often = np.array([(i, 40 - i - j, j) for i in range(41) for j in range(41 - i)], float)
    many = np.array(
        [math.factorial(40) / math.prod(math.factorial(int(k)) for k in row) for row in often]
    )
    before = 1.257 * (often[:, 0] - often[:, 2])
    loss = np.log1p(0.03716 * np.expm1(before))
    mass = np.exp(np.log(many) + often @ logs - before + loss)
    sums, masses = np.add.outer(loss, loss), np.multiply.outer(mass, mass)
    for epsilon in (1.0, 5.0, 31.2):
        exact = float((masses * np.maximum(-np.expm1(epsilon - sums), 0.0)).sum())
        answer = plan.delta(epsilon=epsilon, method="exact")
        assert answer.lower is not None and answer.upper is not None
        assert answer.lower <= exact <= answer.upper <= 1.001 * answer.lower

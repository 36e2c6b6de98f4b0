"""Every bound of a shuffle lies above shuffles that are enumerated; lower ends lie below them."""

import math
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import dpacct as dp
from dpacct.papers.formulas import feldman2020, feldman2022
from dpacct.shuffling import bounds
from dpacct.shuffling.count import Count, Inputs, TiltedCounts
from dpacct.shuffling.letters import Letters, hidden_log_delta, mixture
from tests.shuffling.enumeration import delta, histogram, random_rows, response
from tests.shuffling.search import search

CASES = [(1, 1.0), (2, 0.5), (3, 2.0), (7, 1.0), (12, 3.0), (30, 0.2)]


def test_a_smaller_search_finds_none_either() -> None:
    result = search(800, seed=7)
    assert min(result["least_log_ratio"].values()) > 0.0
    # the search comes close: one client alone is the bound, to its rounding
    assert result["least_log_ratio"]["feldman2022.clones"] < 1e-9


def test_the_search_would_see_a_bound_with_one_client_more() -> None:
    rng, seen = Random(5), 0
    for _ in range(300):
        rows = response(2, 1.0)
        clients = rng.randint(2, 5)
        others = [rows[0]] * (clients - 1)
        true = delta(rows[0], rows[1], others, 0.3)
        bound = bounds.numeric(Letters(clients + 2, 1.0, 2), upper=True).log_delta(0.3)
        seen += bound < math.log(true)
    assert seen > 0


@pytest.mark.parametrize(("clients", "eps0"), CASES)
def test_clone_pairs_are_the_definition(clients: int, eps0: float) -> None:
    """The counted pair against the statement of the theorem, summed coin by coin."""
    for epsilon in (0.1 * eps0, 0.4 * eps0, 0.8 * eps0):
        for letters, stated in (
            (Letters(clients, eps0), feldman2022.clones),
            (Letters(clients, eps0, clones=True), feldman2020.clones),
        ):
            exact = stated(epsilon, eps0, clients)
            for upper in (True, False):
                result = math.exp(
                    hidden_log_delta(mixture(letters, upper, 1000), epsilon, upper=upper)
                )
                assert result == pytest.approx(exact, rel=1e-9, abs=1e-80)
                assert (result >= exact * (1 - 1e-13)) if upper else (result <= exact * (1 + 1e-13))


@pytest.mark.parametrize("k", [3, 4])
@pytest.mark.parametrize("rate", [1.0, 0.4])
def test_realised_response_is_enumerated(k: int, rate: float) -> None:
    """The lower end is the shuffle of k-ary response whose others all hold a third answer."""
    for clients, eps0 in ((2, 1.0), (4, 0.7), (6, 2.0)):
        rows = [[rate * x for x in row] + [1.0 - rate] for row in response(k, eps0)]
        for epsilon in (0.1 * eps0, 0.5 * eps0):
            true = delta(rows[0], rows[1], [rows[2]] * (clients - 1), epsilon)
            letters = Letters(clients, eps0, k, rate, realised=True)
            low = math.exp(bounds.numeric(letters, upper=False).log_delta(epsilon))
            high = math.exp(bounds.numeric(letters, upper=True).log_delta(epsilon))
            assert low <= true * (1 + 1e-12) and true <= high * (1 + 1e-12)
            if k == 3 and rate == 1.0:
                assert low == pytest.approx(true, rel=1e-8)


def test_binary_response_in_exact_fractions() -> None:
    """e^eps0 = 3 and e^eps = 3/2 are rational, so is everything else."""
    honest, growth = Fraction(3, 4), Fraction(3, 2)
    rows = [[honest, 1 - honest], [1 - honest, honest]]
    for clients in (1, 2, 3, 5, 8):
        worst = Fraction(0)
        for ones in range(clients):
            others = [rows[1]] * ones + [rows[0]] * (clients - 1 - ones)
            laws = [histogram([*others, rows[i]], 2) for i in (0, 1)]
            for p, q in (laws, laws[::-1]):
                worst = max(worst, sum(max(Fraction(0), p[h] - growth * q[h]) for h in p))
        low, high = map(math.exp, Inputs(clients, math.log(3)).log_delta(math.log(1.5)))
        assert low <= float(worst) * (1 + 1e-15) and float(worst) <= high * (1 + 1e-15)
        assert high - low < 1e-10
        answer = dp.Shuffle(eps0=math.log(3), clients=clients, k=2).delta(epsilon=math.log(1.5))
        assert answer.value == pytest.approx(float(worst), rel=1e-9)


def test_a_count_is_the_shuffle_of_one_against_none() -> None:
    rows = response(2, 1.3)
    for clients in (2, 5, 9):
        true = delta(rows[1], rows[0], [rows[0]] * (clients - 1), 0.4)
        assert math.exp(Count(clients, 1.3).log_delta(0.4)) == pytest.approx(true, rel=1e-9)


def test_random_randomisers_are_private() -> None:
    rng = Random(11)
    for _ in range(200):
        eps0 = rng.uniform(0.05, 3.0)
        rows = random_rows(rng, 3, 3, eps0)
        for row in rows:
            assert math.fsum(row) == pytest.approx(1.0, rel=1e-12)
            for other in rows:
                ratio = max(x / y for x, y in zip(row, other, strict=True) if x > 0.0)
                assert ratio <= math.exp(eps0) * (1 + 1e-9)


# --- Shuffled binary response at its worst inputs: against convolutions, 40 digits, and itself.


def _binomial(n: int, p: float) -> NDArray[np.float64]:
    law = np.ones(1)
    for _ in range(n):
        law = np.convolve(law, [1.0 - p, p])
    return law


def _convolved(n: int, eps0: float, ones: int, epsilon: float) -> float:
    """Delta with so many ones among the others, one client at a time; one of the two directions."""
    lie = 1.0 / (1.0 + math.exp(eps0))
    law = np.convolve(_binomial(ones, 1.0 - lie), _binomial(n - 1 - ones, lie))
    more, less = np.convolve(law, [lie, 1.0 - lie]), np.convolve(law, [1.0 - lie, lie])
    return float(np.maximum(more - math.exp(epsilon) * less, 0.0).sum())


@pytest.mark.parametrize(
    ("n", "eps0"), [(1, 1.0), (2, 0.3), (9, 6.0), (60, 2.0), (200, 0.05), (150, 9.0)]
)
def test_each_number_of_ones_is_the_convolution(n: int, eps0: float) -> None:
    ones = np.unique(np.linspace(0, n - 1, 7).astype(int))
    for share in (0.0, 0.01, 0.2, 0.7, 0.999):
        others = np.full(ones.size, n - 1.0)
        low, high = TiltedCounts(eps0, share * eps0, others, ones.astype(float)).ends()
        for i, h in enumerate(ones.tolist()):
            true = _convolved(n, eps0, h, share * eps0)
            assert math.exp(low[i]) <= true + 2e-14 and true - 2e-14 <= math.exp(high[i])
            if true > 1e-4:
                assert high[i] - low[i] < 1e-11


@pytest.mark.parametrize(
    ("n", "eps0", "epsilon"),
    [(10**5, 4.0, 0.1), (10**7, 12.0, 1.0), (10**8, 0.5, 2e-4), (10**8, 1e-3, 3e-7)],
)
def test_one_among_zeros_in_forty_digits(n: int, eps0: float, epsilon: float) -> None:
    """Bin(n-1, l) and one response more: a threshold's two sums, term by term."""
    from mpmath import exp, floor, log, loggamma, mp, mpf

    with mp.workdps(40):
        fall, growth = exp(-mpf(eps0)), exp(mpf(epsilon))
        lie, others = fall / (1 + fall), n - 1
        gain = (1 - fall * growth) / (1 + fall)
        kappa = (growth - fall) / (1 - fall * growth)
        tilted = others * lie * kappa / (1 - lie + lie * kappa)
        best = mpf(0)
        for t in (int(floor(tilted)) + 1, int(floor(tilted)) + 2):
            first = loggamma(others + 1) - loggamma(t) - loggamma(others - t + 2)
            first = exp(first + (t - 1) * log(lie) + (others - t + 1) * log(1 - lie))
            above, term, k = mpf(0), first, t - 1
            while term > mpf(10) ** -22 * first and k < others:
                term = term * (others - k) / (k + 1) * lie / (1 - lie)
                k += 1
                above += term
            best = max(best, gain * first - (growth - 1) * above)
        low, high = TiltedCounts(eps0, epsilon, np.array([others * 1.0]), np.zeros(1)).ends()
        assert low[0] <= log(best) <= high[0]
        assert high[0] - low[0] < 2e-9


def test_fewer_others_bound_an_interval_of_inputs() -> None:
    """What cutting rests on: all numbers of ones from a to b lie below N - (b - a) others, a of them ones."""
    n, eps0 = 60, 1.0
    for epsilon in (0.0, 0.1, 0.3):
        each = [_convolved(n, eps0, h, epsilon) for h in range(n)]
        for a, b in ((0, 3), (0, 59), (10, 30), (50, 59)):
            bound = TiltedCounts(eps0, epsilon, np.array([n - 1.0 - (b - a)]), np.array([a * 1.0]))
            assert math.exp(bound.ends()[1][0]) >= max(each[a : b + 1])


@pytest.mark.parametrize(("n", "eps0"), [(80, 3.0), (333, 0.4), (1500, 1.5)])
def test_the_worst_inputs_are_found(n: int, eps0: float) -> None:
    ones = np.arange(float(n))
    for share in (0.0, 0.003, 0.02, 0.1):
        _, highs = TiltedCounts(eps0, share * eps0, np.full(n, n - 1.0), ones).ends()
        low, high = Inputs(n, eps0).log_delta(share * eps0)
        assert low <= highs.max() <= high and high - low < 1.1e-6


def test_one_among_zeros_is_not_always_the_worst() -> None:
    """At epsilon 0 the least skewed count tells more, by a part in n."""
    ends = TiltedCounts(1.0, 0.0, np.full(2, 2000.0), np.array([0.0, 1000.0])).ends()
    assert ends[0][1] > ends[1][0]


@pytest.mark.parametrize("n", [10**4, 10**6, 10**9])
@pytest.mark.parametrize("delta", [1e-6, 1e-12])
def test_ends_of_epsilon_are_one_number(n: int, delta: float) -> None:
    answer = dp.Shuffle(eps0=4, clients=n, k=2).epsilon(delta=delta)
    assert answer.method == "count" and answer.lower is not None and answer.upper is not None
    assert answer.upper - answer.lower < 1e-6 * answer.upper
    # at least what one client among zeros tells, and below every randomiser's bound
    assert Count(n, 4.0).log_delta(answer.upper) <= math.log(delta) * (1 - 1e-9)
    assert answer.upper < float(dp.Shuffle(eps0=4, clients=n).epsilon(delta=delta))


@settings(max_examples=30)
@given(
    n=st.integers(1, 3000),
    eps0=st.floats(1e-3, 15.0),
    log_delta=st.floats(-60.0, -0.5),
)
def test_epsilon_meets_its_delta(n: int, eps0: float, log_delta: float) -> None:
    inputs = Inputs(n, eps0)
    low, high = inputs.epsilon(log_delta)
    assert 0.0 <= low <= high <= eps0
    assert inputs.log_delta(high)[1] <= log_delta
    if low > 0.0:
        assert inputs.log_delta(low * (1.0 - 1e-9))[1] >= log_delta

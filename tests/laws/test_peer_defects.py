"""Defects D1-D13 reproduced in other accountants, each as a law here.

`test_d13` is tests/structure/test_readme.py: every command and example of the README runs as a test.
"""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy.integrate import simpson
from scipy.special import log_ndtr, ndtr

import dpacct as dp
from dpacct.pld.budget import WORK, metered
from dpacct.vocabulary import Side, Strength
from tests.laws.catalogue import (
    DISTINCT,
    Combination,
    converged,
    deltas,
    ends,
    law,
    limited,
    not_more,
    over,
    powers,
    same,
    total,
)
from tests.work import memory


def test_d01_repeated_randomised_response_counts_its_repetitions() -> None:
    """dp-accounting's PLD accountant forgot the count of a repeated randomised response."""
    step = dp.PureDP(epsilon=math.log(3))
    repeated, listed = step * 20, total([step] * 20)
    assert repeated.epsilon(delta=1e-6).value == listed.epsilon(delta=1e-6).value
    assert repeated.epsilon(delta=1e-6).value > 10 * step.epsilon(delta=1e-6).value


@over(DISTINCT)
@law(data=st.data(), delta=deltas)
def test_d02_every_count_counts(cell: Combination, data: st.DataObject, delta: float) -> None:
    """dp-accounting's RDP accountant forgot the count of a repeated exponential mechanism."""
    drawn = data.draw(cell.plans()).hit(100)
    step = drawn.step
    for method in (drawn.method, "rdp") if cell.kind.settled else ("rdp",):
        listed = total([step * 7, *[step] * 93])
        single, hundred, counted = (
            plan.epsilon(delta=delta, method=method, adjacency=cell.adjacency)
            for plan in (step, step * 100, listed)
        )
        not_more(single, hundred)
        assert hundred.value == counted.value


@law(share=0.2, multiplier=powers(-0.3, 1), steps=st.integers(1, 500), delta=deltas)
def test_d03_all_routes_use_the_same_sensitivity(
    multiplier: float, steps: int, delta: float
) -> None:
    """dp-accounting's RDP and PLD accountants differ by 2 in it under replace-one."""
    plan = dp.Gaussian(noise_multiplier=multiplier, clip=3) * steps
    for adjacency, factor in (("add-remove", 1), ("zero-out", 1), ("replace-one", 2)):
        truth = (dp.Gaussian(sigma=multiplier / factor) * steps).epsilon(
            delta=delta, method="exact"
        )
        methods = ("exact", "rdp", "rdp-mironov")
        answers = [plan.epsilon(delta=delta, method=m, adjacency=adjacency) for m in methods]
        for answer in answers:
            assert ends(truth)[0] <= ends(answer)[1]
        exact, sharp, _ = answers
        same(exact, truth)
        assert ends(sharp)[1] <= 2 * ends(truth)[1] + 2  # of the same order: no lost factor


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, np.nan, "nan", "inf"])
def test_d04_what_is_not_finite_is_an_error(bad: float | str) -> None:
    """dp-accounting's RDP accountant said epsilon 0 for a NaN sigma."""
    for make in (
        lambda: dp.Gaussian(sigma=bad),
        lambda: dp.Laplace(b=bad),
        lambda: dp.PureDP(epsilon=bad),
        lambda: dp.ZCDP(rho=bad),
        lambda: dp.Poisson(bad),
    ):
        with pytest.raises(dp.InvalidArgument):
            make()


@pytest.mark.parametrize("bad", [2, -1, 1, 1.5, "1", "-1e-5"])
def test_d05_delta_lies_in_its_range(bad: float | str) -> None:
    """dp-accounting took delta = 2 (epsilon 0) and -1 (infinite)."""
    plan = dp.Poisson(0.1)(dp.Gaussian(sigma=1)) * 10
    for method in ("auto", "rdp", "clt"):
        with pytest.raises(dp.InvalidArgument, match="delta"):
            plan.epsilon(delta=bad, method=method)
    assert math.isinf(float(plan.epsilon(delta=0)))


def test_d05_delta_zero_is_infinite_for_gaussian_noise() -> None:
    """Pure privacy: no finite epsilon, and no number from a method that has none at delta 0."""
    plan = dp.Poisson(0.1)(dp.Gaussian(sigma=1)) * 10
    assert plan.epsilon(delta=0).upper == math.inf
    for method in ("rdp", "clt"):
        with pytest.raises(dp.InvalidArgument, match="delta 0"):
            plan.epsilon(delta=0, method=method)


@law(share=0.2, b=powers(-0.5, 1.5), rate=powers(-2, -0.3), delta=powers(-9, -2))
def test_d06_laplace_falls_with_its_scale_and_with_the_rate(
    b: float, rate: float, delta: float
) -> None:
    """pfl's PRV accountant inverted the scale and ignored the sampling."""

    def once(b: float, rate: float) -> dp.Answer:
        return dp.Poisson(rate)(dp.Laplace(b=b)).epsilon(delta=delta)

    not_more(once(2 * b, rate), once(b, rate))
    not_more(once(b, rate), once(b, 1))
    if once(b, rate).value > 0:
        assert ends(once(b, rate))[1] < ends(once(b, 1))[0]
        assert ends(once(2 * b, rate))[1] < ends(once(b, rate))[0]


@law(share=0.2, epsilon=powers(-0.5, 1), rate=powers(-2, 0), steps=st.integers(1, 3000))
def test_d07_calibration_never_overshoots(epsilon: float, rate: float, steps: int) -> None:
    """pfl's calibration returned a sigma that spends 2.00003 of 2."""
    sigma = dp.noise_multiplier(epsilon=epsilon, delta=1e-6, sample_rate=rate, steps=steps)
    plan = dp.Poisson(rate)(dp.Gaussian(noise_multiplier=sigma, clip=1)) * steps
    assert ends(plan.delta(epsilon=epsilon))[1] <= 1e-6
    assert plan.epsilon(delta=1e-6).value <= epsilon * (1 + 1e-9)


@law(share=0.3, eps0=powers(-2, 0.5), delta0=powers(-8, -3), count=st.integers(2, 200))
def test_d08_composition_agrees_with_the_published_form(
    eps0: float, delta0: float, count: int
) -> None:
    """SmartNoise mistranscribed Kairouz, Oh, Viswanath 2015, Theorem 3.4, which bounds theorem 3.3.

    With x = eps0 and a slack d: eps = min(T x, a + x sqrt(2T log(e + x sqrt(T)/d)),
    a + x sqrt(2T log 1/d)), a = T x (e^x - 1)/(e^x + 1), at delta 1 - (1 - delta0)^T (1 - d).
    """
    slack = 1e-6
    total = -math.expm1(count * math.log1p(-delta0) + math.log1p(-slack))
    drift = count * eps0 * math.expm1(eps0) / (math.exp(eps0) + 1)
    spread = eps0 * math.sqrt(2 * count)
    first = drift + spread * math.sqrt(math.log(math.e + eps0 * math.sqrt(count) / slack))
    second = drift + spread * math.sqrt(math.log(1 / slack))
    published = min(count * eps0, first, second)
    answer = (dp.ApproxDP(epsilon=eps0, delta=delta0) * count).epsilon(delta=total)
    assert ends(answer)[0] <= published * (1 + 1e-9)


@law(share=0.2, sigma=powers(0, 1), rate=powers(-1.5, -0.3), inner=st.integers(2, 30))
def test_d09_a_coin_held_over_local_steps_is_not_a_coin_per_step(
    sigma: float, rate: float, inner: int
) -> None:
    """FL4Health multiplied the rates: 5.1 where the coin per round costs 48.2."""
    rounds, delta = 20, 1e-5
    held = (dp.Poisson(rate)(dp.Gaussian(sigma=sigma) * inner) * rounds).epsilon(delta=delta)
    flat = dp.Poisson(rate)(dp.Gaussian(sigma=sigma / math.sqrt(inner))) * rounds
    same(held, flat.epsilon(delta=delta))
    fresh = (dp.Poisson(rate)(dp.Gaussian(sigma=sigma)) * (inner * rounds)).epsilon(delta=delta)
    not_more(fresh, held)
    if converged(held) and held.value > 0.01:
        assert ends(fresh)[1] < ends(held)[0]


def test_d10_the_limit_is_never_a_bound() -> None:
    """The Gaussian limit said 4.07 where the truth is 6.09, as if it were a bound."""
    plan = dp.Poisson("0.0042")(dp.Gaussian(sigma="0.6")) * 1500
    limit, exact = plan.epsilon(delta=1e-6, method="clt"), plan.epsilon(delta=1e-6)
    assert limit.value < 0.9 * ends(exact)[0]  # it can lie far below the truth ...
    assert limit.strength is Strength.ESTIMATE  # ... so it has no side,
    assert limit.side is Side.NONE
    assert limit.upper is None
    assert "~" in str(limit)
    assert plan.epsilon(delta=1e-6).method == "exact"  # and is nobody's default


def test_d11_the_classical_gaussian_formula_is_nobody_s_default() -> None:
    """Flower's sigma = sqrt(2 log(1.25/delta))/eps is proved for eps < 1, and fails from 8.42."""
    for epsilon in (2.0, 8.42, 20.0, 100.0):
        classical = math.sqrt(2 * math.log(1.25 / 1e-5)) / epsilon
        sigma = dp.noise_multiplier(epsilon=epsilon, delta=1e-5, sampling="none")
        assert ends(dp.Gaussian(sigma=sigma).delta(epsilon=epsilon))[1] <= 1e-5
        private = ends(dp.Gaussian(sigma=classical).delta(epsilon=epsilon))[1] <= 1e-5
        assert private == (sigma <= classical)
    # here it isn't private, and the accountant sees it
    classical = math.sqrt(2 * math.log(1.25 / 1e-5)) / 8.5
    assert ends(dp.Gaussian(sigma=classical).delta(epsilon=8.5))[0] > 1e-5


def test_d12_no_floor_and_no_hang() -> None:
    """Opacus' epsilon never falls below 0.1029, a grid of orders being all it looks at."""
    with limited():
        for method in ("auto", "rdp"):
            previous = math.inf
            for sigma in (10, 100, 1000, 10**4, 10**6):
                plan = dp.Poisson(0.01)(dp.Gaussian(sigma=sigma)) * 1000
                answer = plan.epsilon(delta=1e-5, method=method)
                assert ends(answer)[1] < previous
                previous = ends(answer)[1] + 1e-300
            assert previous < 1e-5


def test_d13_the_readme_is_a_test() -> None:
    """prv_accountant's README does not run. Ours does, in tests/structure."""
    tests = Path(__file__).parents[1] / "structure" / "test_readme.py"
    assert "README" in tests.read_text()


# --- Plans that once were answered wrongly, crashed or hung: against the truth, and within an answer's work.


def test_nothing_happens_to_a_record_that_is_hardly_ever_drawn() -> None:
    """delta(0) is at most 6 q: once epsilon was called the largest loss, 6.1e-7, converged."""
    plan = dp.Poisson("9.728e-10")(dp.DiscreteGaussian(scale="21.47")) * 6
    answer = plan.epsilon(delta="3.251e-4", method="exact")
    assert (answer.lower, answer.upper) == (0.0, 0.0)


def test_delta_of_epsilon_zero_gives_it_back() -> None:
    """tanh(1/2) is the total variation of a pure release of epsilon 1: once a crash."""
    answer = dp.PureDP(epsilon=1).epsilon(delta=math.tanh(0.5), method="exact")
    assert answer.lower == 0.0 and answer.upper is not None and answer.upper < 1e-12


def test_sums_of_99_different_answers() -> None:
    """Losses are multiples of a hundredth: all of them by one convolution of positive numbers."""
    steps = range(10, 109)
    plan: dp.Node = dp.RandomizedResponse(eps0="0.1")
    masses = np.ones(1)
    for k in steps:
        if k > 10:
            plan = plan + dp.RandomizedResponse(eps0=f"{k / 100:.2f}")
        most = 1.0 / (1.0 + math.exp(-k / 100))
        spread = np.zeros(masses.size + 2 * k)
        spread[: masses.size] += (1.0 - most) * masses
        spread[2 * k :] += most * masses
        masses = spread
    losses = (np.arange(masses.size) - sum(steps)) / 100.0
    epsilon = 42.5
    exact = float(-np.expm1(np.minimum(epsilon - losses, 0.0)) @ masses)
    answer = plan.delta(epsilon="42.5", method="exact")
    assert answer.lower is not None and answer.upper is not None
    assert answer.lower <= exact * (1.0 + 1e-12) and exact * (1.0 - 1e-12) <= answer.upper
    assert answer.upper <= exact * (1.0 + 1e-4)


@pytest.mark.parametrize("scale", ["1e-2", "1e-3"])
def test_hardly_any_noise(scale: str) -> None:
    """The number of samples that a record is in decides: once a search of minutes."""
    plan = dp.Poisson("0.3")(dp.Laplace(b=scale)) * 100
    with metered() as work:
        answer = plan.epsilon(delta="1e-9", method="exact")
    assert work.spent < WORK
    assert answer.lower is not None and answer.upper is not None
    # each hit loses 1/b + log 0.3 but for the tail of its noise, so the hits of the quantile decide
    hits, left = 100, 0.0
    while left + (last := math.comb(100, hits) * 0.3**hits * 0.7 ** (100 - hits)) < 1e-9:
        hits, left = hits - 1, left + last
    top = 1.0 / float(scale) + math.log(0.3)
    assert answer.lower <= (hits + 1) * top and (hits - 1) * top < answer.upper < (hits + 1) * top


@pytest.mark.parametrize(
    ("plan", "epsilon"),
    [
        (dp.Poisson("3.902e-10")(dp.DiscreteGaussian(scale=14560, sensitivity=3)) * 111, "0.44"),
        (dp.WithoutReplacement("6.37e-10")(dp.Gaussian(sigma=4212)) * 36, "26.06"),
    ],
)
def test_a_delta_of_nothing_at_all_is_bounded(plan: dp.Node, epsilon: str) -> None:
    """e^-256000 and less: once worked out to twelve digits, in 7 s and 3.6 GB."""
    results: list[dp.Answer] = []
    most = memory(lambda: results.append(plan.delta(epsilon=epsilon, method="exact")))
    (answer,) = results
    assert answer.upper is not None and answer.upper < 1e-30
    assert most < 50 << 20


def test_an_epsilon_at_a_kink_is_off_by_the_rounding_of_all_losses() -> None:
    """Eleven losses of .004236 decide; 1e7 steps round that by 4e-12: 1e-11 too much was called low.

    The truth is the root of the trinomial sum in 80 digits, 6e-14 below those eleven.
    """
    plan = (
        dp.Participation("6.134e-12")(dp.RandomizedResponse(eps0="0.004236", k=202800000))
        * 10930000
    )
    answer = plan.epsilon(delta="8.278e-159", method="exact")
    assert answer.lower is not None and answer.upper is not None
    assert answer.lower < 0.04659599999993893953 < answer.upper


def test_a_proof_of_more_bits_than_there_are_is_refused_before_it_ends_the_process() -> None:
    """Delta is e^-29000000000: flint wanted 530 TB for its numbers, and aborted."""
    plan = dp.WithoutReplacement("0.0001778")(dp.Gaussian(sigma="293.8")) * 306700000
    answer = plan.delta(epsilon="8.248e5")
    assert answer.upper is not None and answer.upper < 1e-30


def test_a_density_is_a_difference_of_large_logs_where_there_is_little_noise() -> None:
    """Nearly all of .997, of which 5e-13 was missing at the upper end."""
    plan = dp.Participation("0.997")(dp.Gaussian(sigma="0.008273"))
    answer = plan.delta(epsilon="0.2956", method="exact")
    assert answer.lower is not None and answer.upper is not None
    assert answer.lower <= 0.997 <= answer.upper <= 0.997 * (1 + 1e-10)


def test_ends_enclose_the_value_where_a_rule_rounds_either_way() -> None:
    plan = dp.Poisson("7.503e-12")(dp.Laplace(b=3420))
    for epsilon in ("1e-12", "1e-10", "1e-8", "1e-6", "1e-4"):
        assert plan.delta(epsilon=epsilon, method="exact").upper is not None


def _hits(steps: int, rate: float) -> list[tuple[int, float]]:
    """So many of the steps have the record in them, and how probable that is."""
    return [
        (k, math.comb(steps, k) * rate**k * (1.0 - rate) ** (steps - k))
        for k in range(1, steps + 1)
    ]


@pytest.mark.parametrize(
    ("sigma", "rate", "steps", "delta"),
    [
        ("0.02012", "0.4089", 29, "0.04533"),
        ("0.02", "0.5", 40, "1e-4"),
        ("0.05", "0.2", 120, "1e-6"),
        ("0.01054", "0.03701", 372, "1.432e-59"),
    ],
)
def test_losses_near_multiples_of_a_hit(sigma: str, rate: str, steps: int, delta: str) -> None:
    """The transform falls to nothing and comes back: a contour that ended in the valley was 1 % off.

    To e^-50, a step with the record loses log(rate) + N(mu^2/2, mu^2), mu = 1/sigma, any other log(1 - rate).
    """
    answer = (dp.Poisson(rate)(dp.Gaussian(sigma=sigma)) * steps).epsilon(
        delta=delta, method="exact"
    )
    q, mu = float(rate), 1.0 / float(sigma)

    def truth(epsilon: float) -> float:
        total = 0.0
        for k, probability in _hits(steps, q):
            rest = epsilon - k * math.log(q) - (steps - k) * math.log1p(-q)
            # a Gaussian of mean m^2/2, m = mu sqrt(k): Balle and Wang (2018), theorem 8
            m = mu * math.sqrt(k)
            above, below = 0.5 * m - rest / m, -0.5 * m - rest / m
            total += probability * (ndtr(above) - math.exp(rest + float(log_ndtr(below))))
        return total

    assert answer.lower is not None and answer.upper is not None
    assert truth(answer.upper) <= float(delta) * (1.0 + 1e-9)
    assert truth(answer.lower) >= float(delta) * (1.0 - 1e-9)


@pytest.mark.parametrize(
    ("b", "rate", "steps", "delta"),
    [("0.006014", "0.1531", 369, "7.928e-29"), ("0.01", "0.05", 200, "1e-6")],
)
def test_losses_near_multiples_of_the_largest(b: str, rate: str, steps: int, delta: str) -> None:
    """The same of Laplace noise: a hit loses log(rate) + 1/b, at times less an exponential of mean 2."""
    answer = (dp.Poisson(rate)(dp.Laplace(b=b)) * steps).epsilon(delta=delta, method="exact")
    q = float(rate)

    def truth(epsilon: float) -> float:
        total = 0.0
        for k, probability in _hits(steps, q):
            gap = k * (math.log(q) + 1.0 / float(b)) + (steps - k) * math.log1p(-q) - epsilon
            if gap <= 0.0:
                continue
            # with j exponentials: E[(1 - e^{2G - gap})_+], G of the law Gamma(j)
            for j in range(k + 1):
                share = probability * math.comb(k, j) / 2.0**k
                if j == 0:
                    total -= share * math.expm1(-gap)
                elif share > 1e-12 * float(delta):
                    grid = np.linspace(0.0, 0.5 * gap, 4001)
                    log_density = (
                        (j - 1.0) * np.log(np.maximum(grid, 1e-300)) - grid - math.lgamma(j)
                    )
                    total += share * simpson(
                        -np.expm1(2.0 * grid - gap) * np.exp(log_density), x=grid
                    )
        return total

    assert answer.lower is not None and answer.upper is not None
    assert truth(answer.upper) <= float(delta) * (1.0 + 1e-6)
    assert truth(answer.lower) >= float(delta) * (1.0 - 1e-6)

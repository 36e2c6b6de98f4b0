"""Confidence bounds against high-precision sums and the laws of counts."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import binom

import dpacct as dp
from dpacct.auditing.bounds import Curve


@dataclass(frozen=True)
class Counted:
    """All of `canaries` are guessed; `law[k]` is the chance that k guesses are right, whatever the coins.

    Which ones are right is uniform. Flipping a coin turns a right guess among k into a wrong one among
    k - 1, so the pair of neighbours is known exactly.
    """

    law: Sequence[float]

    @property
    def canaries(self) -> int:
        return len(self.law) - 1

    def delta(self, epsilon: float) -> float:
        """sum over guesses t of (P(t) - e^eps Q(t))_+, one coin flipped."""
        m, growth = self.canaries, math.exp(epsilon)
        each = [mass / math.comb(m, k) for k, mass in enumerate(self.law)]
        right = (
            math.comb(m - 1, k - 1) * max(0.0, each[k] - growth * each[k - 1])
            for k in range(1, m + 1)
        )
        wrong = (math.comb(m - 1, k) * max(0.0, each[k] - growth * each[k + 1]) for k in range(m))
        return math.fsum([*right, *wrong])

    def tail(self, right: int) -> float:
        """The chance of so many right guesses."""
        return math.fsum(self.law[right:])


def drawn(seed: int) -> Counted:
    """A law of up to twelve canaries, now smooth, now with a leap somewhere."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 13))
    chance = rng.uniform(0.3, 0.95)
    law = np.array([math.comb(m, k) * chance**k * (1 - chance) ** (m - k) for k in range(m + 1)])
    law *= np.exp(rng.normal(size=m + 1) * rng.choice([0.0, 0.1, 1.0]))
    law[int(rng.integers(m + 1))] += rng.choice([0.0, 0.01, 0.3])
    return Counted((law / law.sum()).tolist())


# --- Each bound against another way to get it: mpmath, enumeration, linear programs, exact coverage.


A = dp.auditing
mp.mp.dps = 50


# --- two worlds


@pytest.mark.parametrize(
    ("events", "trials"), [(0, 10), (3, 10), (50, 1000), (900, 1000), (10, 10**6)]
)
@pytest.mark.parametrize("confidence", ["0.5", "0.95", "0.999999999"])
def test_clopper_and_pearson_at_50_digits(events: int, trials: int, confidence: str) -> None:
    rate = A.upper_rate(events, trials, confidence)
    # the chance of at most `events` events at that rate
    below = mp.betainc(trials - events, events + 1, 0, 1 - mp.mpf(rate), regularized=True)
    wanted = 1 - mp.mpf(confidence)
    assert below <= wanted
    assert abs(below / wanted - 1) < 1e-5


def test_every_event_is_no_bound() -> None:
    assert A.upper_rate(7, 7, 0.95) == 1.0


@pytest.mark.parametrize("delta", [0, "1e-5", "0.1"])
def test_epsilon_of_rates_is_the_border_of_what_dp_allows(delta: float | str) -> None:
    lost = float(delta)
    for alpha, beta in [(0.01, 0.3), (0.3, 0.01), (0.2, 0.2), (0.4, 0.7)]:
        epsilon = A.epsilon_of_rates(alpha, beta, delta)
        tradeoff = dp.TradeOff.approximate(epsilon, delta)
        assert tradeoff(alpha) <= beta + 1e-12
        if epsilon > 0:
            assert tradeoff(alpha) == pytest.approx(beta, abs=1e-12)
        else:
            assert alpha + beta >= 1 - lost


@pytest.mark.parametrize("mu", [0.1, 1.0, 3.0])
def test_mu_of_rates_is_on_the_gaussian_curve(mu: float) -> None:
    for alpha in (1e-6, 0.01, 0.5):
        assert A.mu_of_rates(alpha, dp.TradeOff.gaussian(mu)(alpha)) == pytest.approx(mu, rel=1e-9)
    answer = dp.Gaussian(sigma=1 / mu).epsilon(1e-5, method="exact")
    assert A.epsilon_of_mu(mu, 1e-5) == pytest.approx(answer.value, rel=1e-8)


# --- one run


def binomial(guesses: int, epsilon: float) -> list[mp.mpf]:
    chance = 1 / (1 + mp.e ** -mp.mpf(epsilon))
    return [
        mp.binomial(guesses, k) * chance**k * (1 - chance) ** (guesses - k)
        for k in range(guesses + 1)
    ]


@pytest.mark.parametrize("delta", [0, 1e-6, 1e-3])
def test_the_one_run_chance_at_50_digits(delta: float) -> None:
    for canaries, guesses, right in [(50, 20, 13), (50, 50, 50), (400, 400, 260), (400, 30, 1)]:
        for epsilon in (0.0, 0.7, 3.0):
            law = binomial(guesses, epsilon)
            beta = mp.fsum(law[right:])
            wanted = beta + canaries * mp.mpf(delta) * beta * (1 - beta) / (right * law[right])
            result = A.one_run_p_value(canaries, guesses, right, epsilon, delta)
            assert result == pytest.approx(float(min(mp.mpf(1), wanted)), rel=1e-9)


def test_beyond_floats_the_delta_term_is_safe() -> None:
    """beta is below 1e-1000; its ratio to the binomial's mass is not."""
    canaries, right, delta = 3000, 2990, 1e-6
    beta = mp.fsum(binomial(canaries, 0.0)[right:])
    mass = mp.binomial(canaries, right) / mp.mpf(2) ** canaries
    wanted = float(canaries * delta * beta / (right * mass))
    result = A.one_run_p_value(canaries, canaries, right, 0, delta)
    assert wanted <= result <= 1.01 * wanted


def test_the_delta_term_is_below_the_printed_one() -> None:
    """Theorem 5.2 prints 2 m delta max_i (P[B >= v - i] - P[B >= v])/i; wherever a bound could refute."""
    for guesses in (1, 7, 60, 1000):
        for epsilon in (0.0, 1.0, 4.0):
            chance = 1 / (1 + math.exp(-epsilon))
            tails = binom.sf(np.arange(-1, guesses), guesses, chance)
            for right in {guesses // 2, int(chance * guesses) + 1, guesses - 1, guesses} - {0}:
                if tails[right] > 0.5:
                    continue
                i = np.arange(1, right + 1)
                slope = float(((tails[right - i] - tails[right]) / i).max())
                printed = min(1.0, float(tails[right]) + 2 * 1000 * 1e-4 * slope)
                assert A.one_run_p_value(1000, guesses, right, epsilon, 1e-4) <= printed * (
                    1 + 1e-9
                )


@pytest.mark.parametrize("seed", range(40))
def test_no_run_beats_its_own_epsilon_and_delta(seed: int) -> None:
    """Laws of counts whose delta at each epsilon is enumerated: the chance is never above the bound."""
    run = drawn(seed)
    m = run.canaries
    for epsilon in (0.0, 0.3, 1.0, 2.0, 4.0):
        delta = run.delta(epsilon)
        for right in range(1, m + 1):
            bound = A.one_run_p_value(
                m, m, right, epsilon, 0 if delta < 1e-300 else min(delta, 0.999)
            )
            assert run.tail(right) <= bound + 1e-9


@pytest.mark.parametrize("delta", [1e-3, 0.2])
def test_the_delta_term_is_attained(delta: float) -> None:
    """With chance delta all coins are told, else each is randomised: of m right ones nothing is lost."""
    m, epsilon = 9, 1.0
    chance = math.e / (1 + math.e)
    law = (1 - delta) * binom.pmf(np.arange(m + 1), m, chance)
    law[m] += delta
    run = Counted(law.tolist())
    assert run.delta(epsilon) <= delta + 1e-12
    assert run.tail(m) == pytest.approx(A.one_run_p_value(m, m, m, epsilon, delta), rel=1e-12)


def curve_of(run: Counted) -> Curve:
    epsilons = np.linspace(0.0, 12.0, 400)
    return Curve(epsilons, np.array([run.delta(epsilon) for epsilon in epsilons]))


@pytest.mark.parametrize("seed", range(25))
def test_no_run_beats_its_own_curve(seed: int) -> None:
    run = drawn(seed)
    curve, m = curve_of(run), run.canaries
    for right in range(1, m + 1):
        assert run.tail(right) <= A.one_run_f_p_value(curve, m, m, right) + 1e-9


@pytest.mark.parametrize(
    ("mu", "canaries", "guesses", "right"),
    [(1, 10, 10, 9), (1, 20, 8, 8), (0.5, 12, 12, 10), (2, 9, 6, 6)],
)
def test_the_recursion_is_the_best_of_a_linear_program(
    mu: float, canaries: int, guesses: int, right: int
) -> None:
    """The largest P[X >= v] over all laws with H_{u-1} >= f(1 - R_u) for every u."""
    epsilons = mu * np.linspace(0.0, 0.5 * mu + 6.0, 25)
    curve = Curve(
        epsilons, np.array([float(dp.Gaussian(sigma=1 / mu).delta(epsilon=e)) for e in epsilons])
    )
    growth = np.exp(epsilons)
    lines = [(0.0, 0.0), *zip(-curve.deltas / growth, 1 / growth, strict=True)]
    lines += [*zip(1 - curve.deltas - growth, growth, strict=True)]
    k = np.arange(guesses + 1)
    rows, ends = [], []
    for u in range(1, guesses + 1):
        hits = np.where(k >= u, k, 0) / canaries
        misses = np.where(k >= u - 1, guesses - k, 0) / canaries
        rows += [slope * hits - misses for _, slope in lines]
        ends += [-height for height, _ in lines]
    best = linprog(
        -(k >= right).astype(float),
        A_ub=np.array(rows),
        b_ub=ends,
        A_eq=np.ones((1, k.size)),
        b_eq=[1.0],
    )
    result = A.one_run_f_p_value(curve, canaries, guesses, right)
    assert result == pytest.approx(-best.fun, rel=1e-5)


@pytest.mark.parametrize(
    ("mu", "canaries", "guesses", "right"), [(1, 30, 30, 28), (0.6, 100, 20, 19), (2, 40, 40, 40)]
)
def test_the_recursion_at_50_digits(mu: float, canaries: int, guesses: int, right: int) -> None:
    """With the Gaussian curve itself, not lines below it."""

    def refuted(chance: mp.mpf) -> bool:
        hits, misses = chance * right / canaries, chance * (guesses - right) / canaries
        for count in range(right - 1, -1, -1):
            quantile = mp.sqrt(2) * mp.erfinv(2 * hits - 1)
            least = max(misses, mp.ncdf(quantile - mu))
            hits += mp.mpf(count) / (guesses - count) * (least - misses)
            misses = least
            if hits + misses > mp.mpf(guesses) / canaries:
                return True
        return False

    result = A.one_run_f_p_value(Curve.gaussian(mu), canaries, guesses, right)
    assert refuted(mp.mpf(result) * (1 + mp.mpf("1e-3")))
    assert not refuted(mp.mpf(result) * (1 - mp.mpf("1e-3")))


@pytest.mark.parametrize("mu", [0.3, 1.0, 4.0])
def test_a_curve_of_lines_lies_below_and_close(mu: float) -> None:
    exact, plan = dp.TradeOff.gaussian(mu), Curve.of_plan(dp.Gaussian(sigma=1 / mu))
    for x in (1e-9, 1e-4, 0.1, 0.5, 0.9, 0.999):
        truth = (
            float(exact(1 - x))
            if x > 1e-6
            else float(mp.ncdf(mp.sqrt(2) * mp.erfinv(2 * mp.mpf(x) - 1) - mu))
        )
        assert truth * (1 - 1e-4) - 1e-13 <= Curve.gaussian(mu).at(x) <= truth * (1 + 1e-9)
        assert truth * (1 - 1e-2) - 1e-13 <= plan.at(x) <= truth * (1 + 1e-9)


# --- coverage, counted and not simulated


@pytest.mark.parametrize("confidence", [0.8, 0.95])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_randomised_response_is_covered_in_one_run(epsilon: float, confidence: float) -> None:
    """The chance of a bound above the truth, over all numbers of right guesses."""
    guesses, chance = 120, 1 / (1 + math.exp(-epsilon))
    wrong = [
        right
        for right in range(guesses + 1)
        if A.one_run_epsilon(guesses, guesses, right, 0, confidence) > epsilon
    ]
    error = binom.sf(min(wrong) - 1, guesses, chance)
    assert wrong == [*range(min(wrong), guesses + 1)]
    assert 0.3 * (1 - confidence) < error <= 1 - confidence


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_randomised_response_is_covered_in_two_worlds(epsilon: float) -> None:
    """The same over all pairs of counts, at a threshold fixed beforehand."""
    trials, lie = 40, 1 / (1 + math.exp(epsilon))
    rates = [A.upper_rate(events, trials, 0.975) for events in range(trials + 1)]
    masses = binom.pmf(np.arange(trials + 1), trials, lie)
    error = math.fsum(
        masses[i] * masses[j]
        for i in range(trials + 1)
        for j in range(trials + 1)
        if A.epsilon_of_rates(rates[i], rates[j], 0) > epsilon
    )
    assert error <= 0.05


# --- limits and refusals


def test_perfect_guesses_refute_what_their_number_allows() -> None:
    chance = 0.05 ** (1 / 1000)
    wanted = math.log(chance / (1 - chance))
    assert A.one_run_epsilon(1000, 1000, 1000, 0, 0.95) == pytest.approx(wanted, rel=1e-6)
    assert A.one_run_epsilon(1000, 1000, 500, 0, 0.95) == 0.0
    assert A.one_run_mu(1000, 1000, 500, 0.95) == 0.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: A.upper_rate(11, 10, 0.95), "events <= trials must hold, got 11, 10"),
        (
            lambda: A.upper_rate(1, 10, 1),
            "confidence must be a number strictly between 0 and 1, got 1",
        ),
        (
            lambda: A.one_run_p_value(10, 5, 6, 1, 0),
            "right <= guesses <= canaries must hold, got 6, 5, 10",
        ),
        (
            lambda: A.one_run_epsilon(10, 5, 5, 1.5, 0.9),
            "delta must be a number strictly between 0 and 1",
        ),
        (
            lambda: A.one_run_mu(10, 11, 5, 0.9),
            "right <= guesses <= canaries must hold, got 5, 11, 10",
        ),
    ],
)
def test_nonsense_is_refused(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(dp.InvalidArgument) as refused:
        call()
    assert message in refused.value.message


@pytest.mark.parametrize("seed", range(10))
def test_a_curve_is_the_highest_of_its_lines(seed: int) -> None:
    """Also where a few deltas are safe, but too large: one of them must not hide what follows."""
    rng = np.random.default_rng(seed)
    exact = Curve.gaussian(rng.uniform(0.2, 3.0))
    deltas = exact.deltas.copy()
    some = rng.choice(len(deltas), 40, replace=False)
    deltas[some] = np.minimum(1.0, deltas[some] + 10.0 ** rng.uniform(-14, -3, 40))
    curve, growth = Curve(exact.epsilons, deltas), np.exp(exact.epsilons)
    for x in (1e-6, 1e-3, 0.1, 0.5, 0.9, 0.999):
        lines = [(x - deltas) / growth, 1.0 - deltas - growth * (1.0 - x)]
        assert curve.at(x) == pytest.approx(max(0.0, np.max(lines)), abs=1e-12)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -0.1, 1.5, "junk"])
@pytest.mark.parametrize(
    "call",
    [
        lambda x: A.epsilon_of_rates(x, 0.1, 0),
        lambda x: A.epsilon_of_rates(0.1, x, 0),
        lambda x: A.epsilon_of_rates(0.1, 0.1, x),
        lambda x: A.mu_of_rates(x, 0.1),
        lambda x: A.mu_of_rates(0.1, x),
        lambda x: A.epsilon_of_mu(1, x),
        lambda x: A.upper_rate(1, 10, x),
        lambda x: A.Curve.gaussian(1).at(x),
    ],
)
def test_a_share_out_of_range_is_refused(call: Callable[[Any], float], bad: object) -> None:
    """Once rates of 1.5 were answered 0, and nan with nan."""
    with pytest.raises(dp.InvalidArgument, match="must be"):
        call(bad)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -1, "junk"])
@pytest.mark.parametrize("call", [A.Curve.gaussian, lambda x: A.epsilon_of_mu(x, 1e-5)])
def test_a_mu_that_is_no_number_is_refused(call: Callable[[Any], object], bad: object) -> None:
    with pytest.raises(dp.InvalidArgument, match="mu must be"):
        call(bad)

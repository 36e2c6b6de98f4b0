"""Answers against the truth where that is easy to have: one or two releases, and coins."""

import math
from collections.abc import Callable

import mpmath as mp
import pytest
from hypothesis import assume
from hypothesis import strategies as st

import dpacct as dp
from dpacct.answer import Answer
from tests.laws.catalogue import converged, deltas, ends, epsilons, law, powers
from tests.laws.two_steps import LEAST, Base, Gaussian, Laplace, Pure
from tests.laws.two_steps import deltas as truths

Maker = Callable[[str], tuple[dp.Node, Base]]
MAKERS: dict[str, Maker] = {
    "gaussian": lambda x: (dp.Gaussian(sigma=x), Gaussian(1 / mp.mpf(x))),
    "laplace": lambda x: (dp.Laplace(b=x), Laplace(1 / mp.mpf(x))),
    "pure-dp": lambda x: (dp.PureDP(epsilon=x), Pure(mp.mpf(x))),
}
ROUNDING = 4e-15
"""What rounding the inputs to floats may move a delta by, relative, where it isn't steep."""


def holds(answer: Answer, truth: mp.mpf, slack: float = ROUNDING) -> None:
    lower, upper = ends(answer)
    inside = lower * (1 - slack) <= truth <= upper * (1 + slack) + 1e-300
    assert inside, f"{mp.nstr(truth, 20)} is not in [{lower!r}, {upper!r}]"
    if converged(answer) and truth > 1e-290:
        assert abs(answer.value / truth - 1) <= 1e-9 + slack, f"{answer}, not {mp.nstr(truth, 20)}"


def of(name: str, value: float, rate: str) -> tuple[dp.Node, tuple[Base, mp.mpf]]:
    with mp.workdps(40):
        node, base = MAKERS[name](repr(value))
        return (node if rate == "1" else dp.Poisson(rate)(node)), (base, mp.mpf(rate))


sizes = powers(-0.5, 1)
some_rates = st.sampled_from(("1", "0.9", "0.5", "0.1", "0.01", "0.001"))


@pytest.mark.parametrize("name", MAKERS)
@law(share=0.6, value=sizes, rate=some_rates, epsilon=epsilons)
def test_one_release(name: str, value: float, rate: str, epsilon: float) -> None:
    node, step = of(name, value, rate)
    truth = max(truths([step], repr(epsilon)))
    answer = node.delta(epsilon=epsilon)
    if name != "gaussian" and truth < LEAST:  # the digits of the largest loss less epsilon cancel
        assert ends(answer)[1] <= 2 * LEAST
        return
    slope = 1 + epsilon * value**2 * 10 + epsilon * 10 + 2 / value  # generous
    holds(answer, truth, ROUNDING * (1 + slope**2))


@pytest.mark.parametrize("name", MAKERS)
@law(share=0.2, value=sizes, rate=some_rates, epsilon=powers(-2, 1))
def test_the_same_release_twice(name: str, value: float, rate: str, epsilon: float) -> None:
    node, step = of(name, value, rate)
    truth = max(truths([step, step], repr(epsilon)))
    assume(truth > LEAST)
    slope = 1 + epsilon * value**2 * 10 + epsilon * 10 + 2 / value
    holds((node * 2).delta(epsilon=epsilon), truth, ROUNDING * (1 + slope**2))


@pytest.mark.parametrize(
    "names",
    [("gaussian", "laplace"), ("laplace", "pure-dp"), ("gaussian", "pure-dp")],
    ids="+".join,
)
@law(
    share=0.1,
    values=st.tuples(sizes, sizes),
    rates=st.tuples(some_rates, some_rates),
    epsilon=powers(-2, 1),
)
def test_two_different_releases(
    names: tuple[str, str], values: tuple[float, float], rates: tuple[str, str], epsilon: float
) -> None:
    (release, first), (other_release, second) = map(of, names, values, rates)
    truth = max(truths([first, second], repr(epsilon)))
    assume(truth > LEAST)
    slope = 1 + epsilon * 10 + sum(10 * epsilon * v**2 + 2 / v for v in values)
    holds((release + other_release).delta(epsilon=epsilon), truth, ROUNDING * (1 + slope**2))


def coins(epsilon: mp.mpf, rate: mp.mpf, count: int, at: mp.mpf) -> mp.mpf:
    """delta of `count` Poisson-sampled randomised responses: a binomial sum, worse direction."""
    high = 1 / (1 + mp.exp(-epsilon))
    low = 1 - high
    mixed = rate * high + (1 - rate) * low, rate * low + (1 - rate) * high
    results = []
    for p, q in ((mixed, (low, high)), ((low, high), mixed)):
        gaps = [
            p[0] ** k * p[1] ** (count - k) - mp.exp(at) * q[0] ** k * q[1] ** (count - k)
            for k in range(count + 1)
        ]
        results.append(
            mp.fsum(mp.binomial(count, k) * gap for k, gap in enumerate(gaps) if gap > 0)
        )
    return max(results)


@law(
    share=0.5,
    eps0=powers(-2, 0.7),
    rate=some_rates,
    count=st.integers(1, 150),
    part=st.just(0.0) | st.floats(0.001, 0.95),
)
def test_composed_pure_dp_is_a_binomial_sum(
    eps0: float, rate: str, count: int, part: float
) -> None:
    with mp.workdps(60):
        top = mp.log1p(mp.mpf(rate) * mp.expm1(mp.mpf(repr(eps0)))) * count
        epsilon = float(f"{float(top) * part:.6g}")
        truth = coins(mp.mpf(repr(eps0)), mp.mpf(rate), count, mp.mpf(repr(epsilon)))
        node = dp.PureDP(epsilon=eps0)
        plan = (node if rate == "1" else dp.Poisson(rate)(node)) * count
        slope = 1 + epsilon / (1 - part) ** 2 + count * eps0
        holds(plan.delta(epsilon=epsilon), truth, ROUNDING * (1 + slope**2))


@law(
    share=0.5,
    eps0=powers(-2, 0.5),
    count=st.integers(200, 6000),
    deviations=st.floats(-12, 12),
)
def test_thousands_of_coins(eps0: float, count: int, deviations: float) -> None:
    """Far below the mean loss, and far above, where delta is 1 and where it is tiny."""
    mean = count * eps0 * math.tanh(eps0 / 2)
    epsilon = float(f"{mean + deviations * eps0 * math.sqrt(count) / math.cosh(eps0 / 2):.6g}")
    assume(0 <= epsilon < 0.9 * count * eps0)
    plan = dp.PureDP(epsilon=eps0) * count
    with mp.workdps(40):
        high = 1 / (1 + mp.exp(-mp.mpf(repr(eps0))))
        first = int(mp.floor((mp.mpf(repr(epsilon)) / mp.mpf(repr(eps0)) + count) / 2)) + 1
        term = mp.binomial(count, first) * high**first * (1 - high) ** (count - first)
        truth = mp.mpf(0)
        for k in range(first, count + 1):
            truth -= term * mp.expm1(mp.mpf(repr(epsilon)) - (2 * k - count) * mp.mpf(repr(eps0)))
            term *= mp.mpf(count - k) / (k + 1) * high / (1 - high)
        slope = 1 + epsilon * abs(deviations) + count * eps0
        holds(plan.delta(epsilon=epsilon), truth, ROUNDING * (1 + slope**2))
        top = plan.profile([0.5 * epsilon, epsilon, epsilon * 1.01 + 0.1])[1]
        assert top == pytest.approx(plan.delta(epsilon=epsilon).upper, rel=1e-4)


@law(share=0.4, eps0=powers(-2, 0.7), delta0=powers(-9, -1), count=st.integers(1, 60))
def test_composed_approximate_dp(eps0: float, delta0: float, count: int) -> None:
    """1 - (1 - d)^T (1 - delta of the pure part) (Kairouz, Oh, Viswanath 2015, Theorem 3.3)."""
    with mp.workdps(60):
        epsilon = float(f"{0.4 * count * eps0:.6g}")
        pure = coins(mp.mpf(repr(eps0)), mp.mpf(1), count, mp.mpf(repr(epsilon)))
        truth = 1 - (1 - mp.mpf(repr(delta0))) ** count * (1 - pure)
        plan = dp.ApproxDP(epsilon=eps0, delta=delta0) * count
        slope = 1 + epsilon + count * eps0
        holds(plan.delta(epsilon=epsilon), truth, 10 * ROUNDING * (1 + slope**2))


@law(
    share=0.2,
    eps0=powers(-1, 0.7),
    delta0=powers(-9, -2),
    rate=st.sampled_from(("0.9", "0.3", "0.03")),
    count=st.integers(20, 70),
    part=st.floats(0.001, 0.9),
)
def test_composed_approximate_dp_on_samples(
    eps0: float, delta0: float, rate: str, count: int, part: float
) -> None:
    """A sum over the multinomial counts of four outcomes, of which two give the loss away."""
    with mp.workdps(40):
        q, fail, growth = mp.mpf(rate), mp.mpf(repr(delta0)), mp.exp(mp.mpf(repr(eps0)))
        high = (1 - fail) * growth / (1 + growth)
        present, absent = (high, high / growth, fail, 0), (high / growth, high, 0, fail)
        mixed = [q * p + (1 - q) * a for p, a in zip(present, absent, strict=True)]
        epsilon = float(f"{float(mp.log1p(q * (growth - 1))) * count * part:.6g}")
        results = []
        for first, second in ((mixed, absent), (absent, mixed)):
            giving_away = fail * (q if first is mixed else 0)
            three = [k for k in range(4) if second[k] > 0 and first[k] > 0]
            logs = [(mp.log(first[k]), mp.log(second[k])) for k in three]
            gaps = []
            for i in range(count + 1):
                for j in range(count + 1 - i):
                    counts = (i, j, count - i - j)
                    log_p, log_q = (
                        mp.fsum(map(mp.fmul, counts, side)) for side in zip(*logs, strict=True)
                    )
                    if log_p - log_q > epsilon:
                        ways = mp.binomial(count, i) * mp.binomial(count - i, j)
                        gaps.append(ways * (mp.exp(log_p) - mp.exp(epsilon + log_q)))
            results.append(1 - (1 - giving_away) ** count + mp.fsum(gaps))
        plan = dp.Poisson(rate)(dp.ApproxDP(epsilon=eps0, delta=delta0)) * count
        slope = 1 + epsilon / (1 - part) + count * eps0
        holds(plan.delta(epsilon=epsilon), max(results), 10 * ROUNDING * (1 + slope**2))


@law(share=0.5, eps0=powers(-2, 0.7), delta0=powers(-9, -1), count=st.integers(1, 10**4))
def test_no_epsilon_below_the_failure_mass(eps0: float, delta0: float, count: int) -> None:
    lost = -math.expm1(count * math.log1p(-delta0))
    plan = dp.ApproxDP(epsilon=eps0, delta=delta0) * count
    below = plan.epsilon(delta=0.999 * lost)
    assert below.value == math.inf
    assert float(below) == math.inf
    assert plan.delta(epsilon=1e4 * eps0 * count).value == pytest.approx(lost, rel=1e-9)
    if 1.001 * lost < 0.99:
        assert plan.epsilon(delta=1.001 * lost).value <= count * eps0 * (1 + 1e-9)


@law(share=0.5, b=powers(-1, 3), delta=powers(-12, -0.6))
def test_laplace_once_has_a_closed_form(b: float, delta: float) -> None:
    """epsilon = 1/b + 2 log(1 - delta)."""
    with mp.workdps(30):
        truth = max(mp.mpf(0), 1 / mp.mpf(repr(b)) + 2 * mp.log1p(-mp.mpf(repr(delta))))
        answer = dp.Laplace(b=b).epsilon(delta=delta)
        holds(answer, truth, 1e-14 * (1 + 1 / (b * max(float(truth), 1e-9))))


@law(share=0.4, sigma=powers(-0.5, 1), rate=powers(-3, 0), delta=deltas)
def test_one_sample_without_replacement_is_known(sigma: float, rate: float, delta: float) -> None:
    """C_q agrees with the realisable pair for one release: the bracket closes."""
    answer = dp.WithoutReplacement(rate)(dp.Gaussian(sigma=sigma)).epsilon(delta=delta)
    poisson = dp.Poisson(rate)(dp.Gaussian(sigma=sigma)).epsilon(delta=delta)
    assert answer.upper == pytest.approx(poisson.value, rel=1e-9, abs=1e-12)
    assert answer.lower == pytest.approx(poisson.value, rel=1e-9, abs=1e-12)


def test_sampling_without_replacement_brackets_its_neighbours() -> None:
    """Jax-privacy's PLD value is the realisable pair's, its RDP value lies between."""
    plan = dp.WithoutReplacement("0.05")(dp.Gaussian(sigma=1)) * 200
    answer = plan.epsilon(delta=2000**-1.1)
    lower, upper = ends(answer)
    assert lower == pytest.approx(3.7005284, abs=1e-6)
    assert lower <= 3.7005285 <= 4.29525 <= upper < 7.70352
    assert plan.delta(epsilon=5).value == pytest.approx(3.40104090796e-05, rel=1e-9)


def test_delta_is_nothing_from_the_sum_of_all_guarantees_on() -> None:
    """In exact numbers: 3 * 0.404 is 1.212, though not in floats."""
    plan = dp.PureDP(epsilon="0.404") * 3
    answer = plan.delta(epsilon="1.212", method="exact")
    assert (answer.value, answer.lower) == (0.0, 0.0)
    assert answer.upper is not None
    assert answer.upper <= 5e-324
    assert ends(plan.delta(epsilon="1.2119", method="exact"))[0] > 0.0

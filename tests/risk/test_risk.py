"""Attack success against closed forms, brute force over all tests, and what must always hold."""

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri

import dpacct as dp
from tests.cli.runner import line, run

RATES = st.floats(1e-4, 0.6)
PRIORS = st.floats(0.01, 0.99)


def coins(epsilon: float, count: int) -> tuple[list[float], list[float]]:
    """All outcomes of randomised responses, under either neighbour."""
    yes = 1 / (1 + math.exp(-epsilon))
    outcomes = list(itertools.product((True, False), repeat=count))
    first = [math.prod(yes if bit else 1 - yes for bit in bits) for bits in outcomes]
    second = [math.prod(1 - yes if bit else yes for bit in bits) for bits in outcomes]
    return first, second


@given(mu=st.floats(0.05, 3), alarms=RATES)
@settings(max_examples=20)
def test_gaussian_power(mu: float, alarms: float) -> None:
    """The best test of N(mu, 1) against N(0, 1): Phi(Phi^-1(alpha) + mu) (Neyman, Pearson)."""
    risk = dp.Risk(dp.Gaussian(sigma=1 / mu))
    truth = float(ndtr(ndtri(alarms) + mu))
    value = float(risk.true_positive_rate(alarms))
    assert truth - 1e-12 <= value <= truth + 2e-5
    assert float(risk.reconstruction(alarms)) == value
    assert float(risk.advantage()) == pytest.approx(2 * float(ndtr(mu / 2)) - 1, rel=1e-9)


@given(
    b=st.floats(0.05, 50),
    alarms=st.floats(1e-6, 1).map(lambda share: 0.5 * share),
)
def test_laplace_power_is_exact_at_few_alarms(b: float, alarms: float) -> None:
    """Below e^(-1/b)/2 the best test looks for the largest loss, 1/b, alone: e^(1/b) hits an alarm."""
    rate = alarms * math.exp(-1 / b)
    hits = dp.Risk(dp.Laplace(b=b)).true_positive_rate(rate).upper
    # 1 - f is a difference of numbers near 1
    assert hits == pytest.approx(math.exp(1 / b) * rate, rel=1e-12, abs=1e-12)


@given(mu=st.floats(0.05, 3), prior=PRIORS)
@settings(max_examples=20)
def test_gaussian_accuracy(mu: float, prior: float) -> None:
    """Bayes: a record is called a member where the posterior exceeds one half."""
    cut = math.log((1 - prior) / prior) / mu + mu / 2
    truth = prior * float(ndtr(mu - cut)) + (1 - prior) * float(ndtr(cut))
    answer = dp.Risk(dp.Gaussian(sigma=1 / mu)).accuracy(prior)
    assert answer.lower is not None and answer.upper is not None
    assert answer.lower - 1e-12 <= truth <= answer.upper + 1e-12
    assert float(answer) == pytest.approx(truth, rel=1e-9)


@given(epsilon=st.floats(0.1, 2), count=st.integers(1, 6), prior=PRIORS)
@settings(max_examples=20)
def test_every_test_of_coins(epsilon: float, count: int, prior: float) -> None:
    """Over all outcomes: the accuracy of the best call for each, and the total variation."""
    first, second = coins(epsilon, count)
    risk = dp.Risk(dp.RandomizedResponse(eps0=epsilon) * count)
    right = math.fsum(max(prior * p, (1 - prior) * q) for p, q in zip(first, second, strict=True))
    assert float(risk.accuracy(prior)) == pytest.approx(right, rel=1e-3)
    apart = 0.5 * math.fsum(abs(p - q) for p, q in zip(first, second, strict=True))
    assert float(risk.advantage()) == pytest.approx(apart, rel=1e-3)


@given(sigma=st.floats(0.7, 5), alarms=RATES, prior=PRIORS)
@settings(max_examples=15)
def test_orders(sigma: float, alarms: float, prior: float) -> None:
    """No attack beats one with more to go on; guessing is always there."""
    less, more = (dp.Risk(dp.Poisson(0.1)(dp.Gaussian(sigma=s)) * 20) for s in (sigma, 2 * sigma))
    hits = float(less.true_positive_rate(alarms))
    assert (
        alarms <= float(more.true_positive_rate(alarms)) <= hits * (1 + 2e-3)
    )  # the bracket's curves
    assert hits <= alarms + float(less.advantage()) * (1 + 2e-3)
    assert max(prior, 1 - prior) <= float(less.accuracy(prior)) <= 1.0
    assert prior <= float(less.precision(alarms, prior)) <= 1.0


@pytest.mark.parametrize(("hits", "alarms"), [(0.01, 0.001), (0.5, 0.1), (1e-4, 1e-5)])
def test_calibrated_noise_meets_the_target(hits: float, alarms: float) -> None:
    def plan(sigma: float) -> dp.Node:
        return dp.Poisson(0.01)(dp.Gaussian(sigma=sigma)) * 1000

    sigma = float(
        dp.calibrate_risk(plan, true_positive_rate=hits, false_positive_rate=alarms, name="sigma")
    )
    assert float(dp.Risk(plan(sigma)).true_positive_rate(alarms)) <= hits
    assert float(dp.Risk(plan(sigma * 0.999)).true_positive_rate(alarms)) > hits


def test_a_target_below_guessing_is_unreachable() -> None:
    with pytest.raises(dp.Unreachable, match="attained by guessing"):
        dp.calibrate_risk(
            lambda sigma: dp.Gaussian(sigma=sigma), true_positive_rate=0.01, false_positive_rate=0.1
        )


@pytest.mark.parametrize("wrong", [0, 1, -0.1, 1.5, math.nan, math.inf, "x", None])
def test_wrong_rates_are_refused(wrong: object) -> None:
    risk = dp.Risk(dp.Gaussian(sigma=1))
    for ask in (risk.true_positive_rate, risk.reconstruction, risk.accuracy):
        with pytest.raises(dp.InvalidArgument, match="must be a number"):
            ask(wrong)  # type: ignore[arg-type, operator]


def test_command() -> None:
    document = run("risk", "--sigma", "1", "--fpr", "0.01", "--json").json
    assert document["command"] == "risk"
    assert document["advantage"]["value"] == pytest.approx(2 * float(ndtr(0.5)) - 1, rel=1e-9)
    (rate,) = document["rates"]
    truth = float(ndtr(ndtri(0.01) + 1))
    assert truth <= rate["true_positive_rate"]["upper"] <= truth + 1e-5
    assert rate["true_positive_rate"]["side"] == "upper"


@pytest.mark.parametrize(
    "command",
    ["risk --sigma 1 --fpr 0", "risk --sigma 1 --prior 1", "risk --sigma 1 --baseline nan", "risk"],
)
def test_nonsense(command: str) -> None:
    result = line(command)
    assert result.code == 2
    assert result.stderr.startswith(("error", "Error")) and "Traceback" not in result.stderr


def test_noise_for_attacks() -> None:
    """An advantage is the delta at epsilon 0."""
    document = run("noise", "--eps", "0", "--delta", "0.1", "--json").json
    assert document["upper"] == pytest.approx(0.5 / float(ndtri(0.55)), rel=1e-9)


@pytest.mark.parametrize("sigma", ["1e4", "1e6", "1e9"])
def test_noise_that_hides_nearly_all(sigma: str) -> None:
    """Losses far below the rounding of a rate: tests no better than guessing, and no crash."""
    risk = dp.Risk(dp.Poisson("0.1")(dp.Gaussian(sigma=sigma)))
    mu = 1.0 / float(sigma)
    advantage = risk.advantage()
    assert float(advantage) == pytest.approx(0.1 * math.erf(mu / math.sqrt(8.0)), rel=1e-6)
    assert 0.01 <= float(risk.true_positive_rate(0.01)) <= 0.01 + 2.0 * float(advantage)

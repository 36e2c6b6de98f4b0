"""Trade-off functions as values: against closed forms, and against tests on tables by brute force."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri

import dpacct as dp

F = dp.TradeOff
ALPHAS = np.array([1e-4, 0.01, 0.05, 0.2, 0.4, 0.6, 0.9])


def neyman_pearson(p: np.ndarray, q: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Least type II error of tests between tables, by the likelihood ratio, randomised at the edge."""
    order = np.argsort(-(q / p))
    alphas = np.concatenate(([0.0], np.cumsum(p[order])))
    betas = np.concatenate(([1.0], 1.0 - np.cumsum(q[order])))
    return lambda alpha: np.interp(alpha, alphas, betas)


def response(epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    p = np.array([math.exp(epsilon), 1.0]) / (1 + math.exp(epsilon))
    return p, p[::-1]


def product(*pairs: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    p, q = np.ones(1), np.ones(1)
    for a, b in pairs:
        p, q = np.outer(p, a).ravel(), np.outer(q, b).ravel()
    return p, q


FORMS = {
    "gaussian": F.gaussian(1),
    "approximate": F.approximate(1, "0.01"),
    "pure": F.pure("0.5"),
    "points": F.points([(0, 0.9), (0.3, 0.3), (0.9, 0)]),
    "plan": F.of(dp.Poisson("0.2")(dp.Gaussian(sigma=1)) * 20),
    "rdp": F.of(dp.Custom(rdp=lambda order: order / 8)),
    "profile": F.of(dp.Custom(profile=[(0, 0.2), (1, 1e-3)])),
}
each = pytest.mark.parametrize("name", FORMS)


@each
def test_it_is_a_trade_off_function(name: str) -> None:
    f = FORMS[name]
    grid = np.linspace(0, 1, 41)
    values = np.asarray(f(grid))
    assert (values >= 0).all()
    assert (values <= 1 - grid + 1e-15).all()
    assert (np.diff(values) <= 1e-9).all()
    assert (np.diff(values, 2) >= -1e-6).all()


@each
def test_values_and_profile_are_two_sides_of_one_thing(name: str) -> None:
    """No line of the profile lies above f, and no value of f allows more than the profile."""
    f = FORMS[name]
    for epsilon in (0.0, 0.3, 1.0, 2.5):
        delta = float(f.profile(epsilon))
        grid = np.concatenate((np.geomspace(1e-6, 0.1, 80), np.linspace(0.1, 1, 120)))
        best = float(np.max(1 - np.asarray(f(grid)) - math.exp(epsilon) * grid))
        # a value of f that is a lower bound may allow more than the profile, by its own error
        assert best <= delta + 5e-4
        if name not in ("plan", "rdp"):
            assert best >= delta - 6e-3


@each
def test_the_engine_s_answer_is_no_less(name: str) -> None:
    """What is composed is at least what the function says of one release."""
    f = FORMS[name]
    for epsilon in (0.2, 1.0):
        answer = f.delta(epsilon=epsilon)
        if name != "hull":  # whose inverse is larger, and holds as well
            assert answer.upper >= float(f.profile(epsilon)) - 1e-3
        assert answer.upper <= float(f.profile(epsilon)) * 1.02 + 1e-3


def test_gaussian_is_closed_form() -> None:
    truth = ndtr(ndtri(1 - ALPHAS) - 1.5)
    np.testing.assert_allclose(F.gaussian("1.5")(ALPHAS), truth, rtol=1e-13)
    assert F.gaussian(1).profile(1.0) == pytest.approx(0.12693673750664, rel=1e-12)


@given(
    eps=st.floats(0, 6, allow_subnormal=False),
    delta=st.floats(0, 0.99, allow_subnormal=False),
    alpha=st.floats(0, 1),
)
def test_approximate_dp_is_closed_form(eps: float, delta: float, alpha: float) -> None:
    growth = math.exp(eps)
    truth = max(0.0, 1 - delta - growth * alpha, (1 - delta - alpha) / growth)
    f = F.approximate(eps, delta)
    assert f(alpha) == pytest.approx(truth, abs=1e-12)
    assert f.profile(eps) == pytest.approx(delta, abs=1e-12)


def test_tensor_of_gaussians_is_gaussian() -> None:
    values = np.asarray(F.gaussian(3).tensor(F.gaussian(4))(ALPHAS))
    truth = np.asarray(F.gaussian(5)(ALPHAS))
    assert (values <= truth + 1e-12).all()
    np.testing.assert_allclose(values, truth, rtol=1e-3, atol=1e-9)


@pytest.mark.parametrize(
    "parts", [(0.5, 0.5), (0.5, 1.0), (0.3, 0.3, 0.3), (1.0, 0.7, 0.2)], ids=str
)
def test_tensor_is_the_best_test_on_all_outcomes(parts: tuple[float, ...]) -> None:
    truth = neyman_pearson(*product(*map(response, parts)))(ALPHAS)
    f = F.pure(parts[0])
    for epsilon in parts[1:]:
        f = f.tensor(F.pure(epsilon))
    values = np.asarray(f(ALPHAS))
    assert (values <= truth + 1e-9).all()
    np.testing.assert_allclose(values, truth, atol=2e-3)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_gdp_of_pure_dp_is_closed_form(epsilon: float) -> None:
    answer = F.pure(epsilon).gdp()
    assert answer.value == pytest.approx(-2 * ndtri(1 / (1 + math.exp(epsilon))), rel=1e-4)
    assert answer.value >= -2 * ndtri(1 / (1 + math.exp(epsilon))) * (1 - 1e-12)
    assert str(answer.side) == "upper"


@pytest.mark.parametrize(
    "f",
    [
        F.points([(0, 1), (0.1, 0.5), (0.5, 0.1), (1, 0)]),
        F.of(dp.Staircase(eps0="0.7", nu="0.2") * 3),
        F.of(dp.Poisson("0.1")(dp.Gaussian(sigma=1)) * 30),
    ],
    ids=repr,
)
def test_gdp_holds_everywhere_and_less_does_not(f: dp.TradeOff) -> None:
    slack = 0.0 if math.isfinite(f.forms.largest) else 1e-10
    mu = f.gdp(slack=slack).value
    epsilons = np.linspace(0, 12, 240)

    def above(value: float) -> np.ndarray:
        truth = ndtr(value / 2 - epsilons / value) - np.exp(epsilons) * ndtr(
            -value / 2 - epsilons / value
        )
        return truth + slack - f.profile(epsilons)

    assert (above(mu) >= -1e-13).all()
    assert (above(mu * 0.998) < 0.0).any()


def test_gdp_says_where_it_needs_a_slack() -> None:
    run = F.of(dp.Poisson("0.01")(dp.Gaussian(sigma=1)) * 100)
    with pytest.raises(dp.Unsupported, match="needs a slack"):
        run.gdp()
    with pytest.raises(dp.Unsupported, match="slack"):
        F.approximate(1, 1e-5).gdp()
    assert F.approximate(1, 1e-5).gdp(slack=1e-5).value == pytest.approx(1.232, abs=1e-3)
    # a Gaussian limit that is only an estimate lies below what is sure
    assert run.gdp(slack=1e-12).value > 0.01 * math.sqrt(100 * (math.e - 1))


def test_renyi_dp_gives_bounds() -> None:
    from_rdp, exact = F.of(dp.Custom(rdp=lambda order: order / 2)), F.gaussian(1)
    assert (np.asarray(from_rdp(ALPHAS)) <= np.asarray(exact(ALPHAS))).all()
    assert from_rdp.profile(2.0) >= exact.profile(2.0)
    assert exact.node().rdp(4) == pytest.approx(2.0, rel=1e-12)
    assert str(from_rdp.side) == "lower"


@pytest.mark.parametrize(
    ("wrong", "argument"),
    [
        (lambda: F.gaussian(0), "mu"),
        (lambda: F.approximate(-1, 0), "epsilon"),
        (lambda: F.approximate(1, 2), "delta"),
        (lambda: F.gaussian(1)(1.5), "alpha"),
        (lambda: F.gaussian(1)(math.nan), "alpha"),
        (lambda: F.gaussian(1).profile(-1), "epsilon"),
        (lambda: F.gaussian(1).tensor(3), "other"),
        (lambda: F.gaussian(1).power(0), "times"),
        (lambda: F.points([(0, 2)]), "tradeoff"),
        (lambda: F.of(3), "plan"),
        (lambda: F.pure(1).gdp(slack=-1), "slack"),
    ],
)
def test_wrong_use_gets_one_sentence(wrong: Callable[[], Any], argument: str) -> None:
    with pytest.raises(dp.InvalidArgument) as caught:
        wrong()
    assert caught.value.argument == argument
    assert "\n" not in str(caught.value)

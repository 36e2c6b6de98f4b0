"""Every charge decides somewhere: pieces, windows and transforms that are off by just what they admit.

Each case has a truth outside the code, and would fail without the charge that it names.
"""

import math
from itertools import product

import mpmath
import numpy as np
import pytest

import dpacct as dp
from dpacct.plan.routes import _power
from dpacct.pld import contour
from dpacct.pld.loss import gaussian
from dpacct.pld.outcomes import Outcomes
from dpacct.pld.pieces import Pieces
from dpacct.pld.stable import Floats

EPSILONS = np.linspace(-1.5, 1.5, 31)


BY = 1e-5
# two of them are taken to be on a node, and are not: one is above it, one below
LOSSES = np.array([-1.3, -0.25 - BY, 0.11, 0.5 + BY, 0.8, 1.21])
MASSES = np.array([0.05, 0.2, 0.25, 0.2, 0.2, 0.1])


def truth(epsilon: float) -> float:
    return float(MASSES @ np.maximum(-np.expm1(epsilon - LOSSES), 0.0))


def log_delta(losses: Floats, masses: Floats, epsilon: float) -> float:
    with mpmath.workdps(40):
        terms = [
            mpmath.mpf(m) * (1 - mpmath.exp(mpmath.mpf(epsilon) - mpmath.mpf(x)))
            for x, m in zip(losses.tolist(), masses.tolist(), strict=True)
            if x > epsilon
        ]
        return float(mpmath.log(mpmath.fsum(terms)))


@pytest.mark.parametrize("kind", ["slack", "unsure"])
def test_listed_outcomes_may_be_off_by_what_they_admit(kind: str) -> None:
    by, none = np.full(LOSSES.shape, 1e-6), np.zeros(LOSSES.shape)
    slack, unsure = (by, none) if kind == "slack" else (none, by)
    for sign, upper in ((-1.0, True), (1.0, False)):
        listed = Outcomes(LOSSES + sign * unsure, np.log(MASSES) + sign * slack, slack, unsure, 0.0)
        for epsilon in EPSILONS[EPSILONS < 1.2].tolist():
            read = listed.log_delta(epsilon, upper=upper)
            exact = math.log(truth(epsilon))
            assert read >= exact - 1e-15 if upper else read <= exact + 1e-15


def test_a_mirror_image_has_no_more_than_all_mass() -> None:
    """An upper law may have moved what has no evidence to just above it, where it would count twice."""
    favoured = Pieces.points(np.array([1e-3, 1.0]), np.log(np.array([0.6, 0.1])))
    both = favoured.mirrored(upper=True)
    assert float(np.exp(both.log_p).sum()) == pytest.approx(1.0, abs=1e-12)
    assert float(np.exp(both.log_q).sum()) == pytest.approx(1.0, abs=1e-12)
    # the profile above the point that the rest was put at is as it was
    above = both.loss > 0.5
    assert float(np.exp(both.log_p[above]).sum()) == pytest.approx(0.1, rel=1e-12)


def test_next_to_the_largest_loss_epsilon_s_own_rounding_is_charged() -> None:
    """Laplace noise, a few units of the last place below its largest loss: sampled, and not."""
    with mpmath.workdps(40):
        for b, rate, away in product(("0.1", "0.3", "0.07"), ("1", "0.3", "1e-9"), range(12, 16)):
            top, r = 1 / mpmath.mpf(b), mpmath.mpf(rate)
            largest = mpmath.log1p(r * mpmath.expm1(top))
            asked = mpmath.nstr(largest * (1 - mpmath.mpf(10) ** -away), 17)
            before = mpmath.log1p(mpmath.expm1(mpmath.mpf(asked)) / r)
            exact = -r * mpmath.expm1((before - top) / 2)
            answer = dp.Poisson(rate)(dp.Laplace(b=b)).delta(epsilon=asked, method="exact")
            assert answer.lower is not None and answer.upper is not None
            assert answer.lower <= exact <= answer.upper, (b, rate, asked)


@pytest.mark.parametrize("method", ["exact", "bracket"])
@pytest.mark.parametrize(
    ("large", "rate"), [("33.614", "8.636e-17"), ("49.97", "3e-23"), ("499.7", "1e-219")]
)
def test_a_large_loss_that_sampling_made_small_keeps_its_rounding(
    large: str, rate: str, method: str
) -> None:
    """The loss is r e^x about, and a float of x is off by x times as much as one of that."""
    with mpmath.workdps(40):
        r, x = mpmath.mpf(rate), mpmath.mpf(large)
        for away in (7.7, 11, 13, 14.5):
            asked = mpmath.nstr(
                mpmath.log1p(r * mpmath.expm1(x)) * (1 - mpmath.mpf(10) ** -away), 17
            )
            grown = 1 + mpmath.expm1(mpmath.mpf(asked)) / r
            exact = r * max(0, mpmath.exp(x) - grown) / (1 + mpmath.exp(x))
            plan = dp.Poisson(rate)(dp.PureDP(epsilon=large))
            answer = plan.delta(epsilon=asked, method=method)
            assert answer.lower is not None and answer.upper is not None
            assert answer.lower <= exact <= answer.upper


@pytest.mark.parametrize("steps", [1, 3])
def test_an_epsilon_below_the_largest_loss_by_less_than_a_float_tells(steps: int) -> None:
    """Delta is about 2^-steps times the gap, and was called 0."""
    gap = mpmath.mpf("1e-18")
    asked = f"{steps * 3 - 1}.999999999999999999"
    answer = (dp.Laplace(b="1/3") * steps).delta(epsilon=asked, method="exact")
    assert answer.lower is not None and answer.upper is not None
    assert answer.lower <= gap / 2**steps * (1 - gap) < answer.upper < 1e-13
    at = (dp.Laplace(b="1/3") * steps).delta(epsilon=3 * steps, method="exact")
    assert at.upper is not None and at.upper < 1e-300


def test_what_is_left_of_all_mass_is_charged_for_its_rounding() -> None:
    """C_q: the mass without evidence is one minus a sum, a little more above and a little less below."""
    draw = np.random.default_rng(3)
    moved = 0
    for _ in range(40):
        share = draw.dirichlet(np.ones(30))[:-1]
        losses = draw.uniform(0.01, 2.0, share.size)
        favoured = Pieces.points(losses, np.log(share / (1.0 + np.exp(-losses))))
        with mpmath.workdps(40):
            rest = 1 - mpmath.fsum(map(mpmath.exp, map(mpmath.mpf, favoured.log_p.tolist())))
            rest -= mpmath.fsum(map(mpmath.exp, map(mpmath.mpf, favoured.log_q.tolist())))
        ends = []
        for upper in (False, True):
            both = favoured.mirrored(upper=upper)
            at_zero = float(np.exp(both.log_p[both.loss == 0.0]).sum())
            ends.append(at_zero)
        assert ends[0] <= rest <= ends[1]
        plain = 1.0 - float(np.exp(favoured.log_p).sum()) - float(np.exp(favoured.log_q).sum())
        moved += not ends[0] <= plain <= ends[1] or plain != float(rest)
    assert moved  # the margin decides: the plain difference is no end


def test_a_probability_is_more_than_its_logarithm_tells() -> None:
    """A float of the logarithm is many units of the last place of the value."""
    apart = 0
    for value in (
        np.random.default_rng(1).uniform(0.1, 1.0, 300) * 10.0 ** -np.arange(300)
    ).tolist():
        log_value = math.log(value)
        low, high = _power(log_value, down=True), _power(log_value, up=True)
        assert low is not None and high is not None
        assert low <= value <= high
        bare = math.exp(log_value)
        apart += not math.nextafter(bare, 0.0) <= value <= math.nextafter(bare, 1.0)
    assert apart > 100  # and one unit of the last place is not enough


def test_one_step_is_read_with_its_rounding() -> None:
    """Of some of these readings the float is below the truth, and only its error is not."""
    epsilons = np.linspace(0.05, 6.0, 60)
    values, errors = contour.one_step(gaussian(1.0), epsilons)
    below = 0
    with mpmath.workdps(40):
        for epsilon, value, error in zip(epsilons, values, errors, strict=True):
            e = mpmath.mpf(float(epsilon))
            above, shifted = mpmath.ncdf(mpmath.mpf(0.5) - e), mpmath.ncdf(mpmath.mpf(-0.5) - e)
            exact = mpmath.log(above - mpmath.exp(e) * shifted)
            below += mpmath.mpf(float(value)) < exact
            assert mpmath.mpf(float(value)) + mpmath.log1p(float(error)) >= exact
    assert below


@pytest.mark.parametrize("steps", [1, 4])
def test_an_epsilon_at_the_largest_loss_is_charged_for_that_loss_s_rounding(steps: int) -> None:
    """Of an atom that sampling made small the float may be too large, and the lower end was."""
    decided = 0
    for scale, rate in (
        ("1.313", "2.704e-8"),
        ("0.61", "3.3e-13"),
        ("2.2", "1e-4"),
        ("1", "7e-10"),
    ):
        plan = dp.Poisson(rate)(dp.DiscreteLaplace(scale=scale, sensitivity=15)) * steps
        answer = plan.epsilon(delta="6.55e-157", method="exact")
        assert answer.lower is not None and answer.upper is not None
        with mpmath.workdps(40):
            grown = mpmath.expm1(15 / mpmath.mpf(scale))
            largest = steps * mpmath.log1p(mpmath.mpf(rate) * grown)
            assert answer.lower <= largest <= answer.upper
            decided += answer.value * (1.0 - 2.5e-16) > largest
    assert decided


def test_products_below_all_floats_are_charged() -> None:
    """Sums of products that are 0 in floats; the truth is Theorem 8 of Balle, Barthe, Gaboardi 2018."""
    plan = dp.Poisson("0.01052")(dp.Gaussian(sigma="27.28"))
    with mpmath.workdps(60):
        rate, sigma, epsilon = map(mpmath.mpf, ("0.01052", "27.28", "0.03156"))
        inner = mpmath.log1p(mpmath.expm1(epsilon) / rate)
        ends = (mpmath.erfc((inner * sigma + s / sigma / 2) / mpmath.sqrt(2)) / 2 for s in (-1, 1))
        truth = rate * (next(ends) - mpmath.exp(inner) * next(ends))
    answer = plan.delta("0.03156", method="exact")
    assert answer.lower is not None and answer.upper is not None
    assert answer.lower <= truth <= answer.upper < 1e-300
    values, errors = contour.one_step(gaussian(1 / 27.28).sampled(0.01052), np.array([0.03156]))
    assert values[0] + math.log1p(errors[0]) >= float(mpmath.log(truth))

"""The loss distribution against closed forms and mpmath at 50 digits; the laws of its operators."""

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dpacct.pld import budget, stable
from dpacct.pld.loss import Branch, LossDistribution, between, gaussian
from dpacct.pld.operators import Blended

mpmath.mp.dps = 50


def laplace(lam: float) -> LossDistribution:
    """Under Q: 1/2 at -lam, e^-lam/2 at lam, density e^{-(lam+l)/2}/4 between."""
    half = math.log(2.0)
    branch = between(-lam, lam, -0.5 * lam - 2.0 * half)
    return LossDistribution(np.array([lam, -lam]), np.array([-lam - half, -half]), (branch,))


def randomised_response(eps: float) -> LossDistribution:
    share = 1.0 / (1.0 + math.exp(-eps))
    return LossDistribution.of_outcomes([eps, -eps], [share, share * math.exp(-eps)])


def approximate(eps: float, delta: float) -> LossDistribution:
    share = (1.0 - delta) / (1.0 + math.exp(-eps))
    listed = LossDistribution.of_outcomes([eps, -eps], [share, share * math.exp(-eps)])
    return LossDistribution(listed.losses, listed.log_q, infinite=delta, lost=delta)


BASES = {
    "gaussian": gaussian(0.9),
    "narrow": gaussian(8.0),
    "wide": gaussian(0.003),
    "laplace": laplace(0.7),
    "laplace-steep": laplace(12.0),
    "response": randomised_response(1.3),
    "approximate": approximate(0.4, 1e-3),
}
RATES = (1.0, 0.3, 1e-3)


def all_laws() -> dict[str, LossDistribution]:
    laws = {}
    for name, base in BASES.items():
        for rate in RATES:
            remove = base.sampled(rate)
            laws[f"{name}-{rate}-remove"] = remove
            laws[f"{name}-{rate}-add"] = remove.reversed()
            laws[f"{name}-{rate}-exchange"] = remove.mirrored()
            laws[f"{name}-{rate}-coin"] = base.thinned(rate)
    return laws


LAWS = all_laws()
every_law = pytest.mark.parametrize("law", LAWS.values(), ids=LAWS.keys())


def mass(law: LossDistribution) -> float:
    return float(np.exp(law.log_p).sum()) + sum(b.mass() for b in law.branches) + law.infinite


@every_law
def test_either_side_has_mass_one(law: LossDistribution) -> None:
    assert mass(law) == pytest.approx(1.0, abs=2e-14)
    assert mass(law.reversed()) == pytest.approx(1.0, abs=2e-14)


@every_law
def test_reversed_twice_is_the_law_itself(law: LossDistribution) -> None:
    again = law.reversed().reversed()
    assert again.branches == law.branches
    assert (again.infinite, again.lost) == (law.infinite, law.lost)
    np.testing.assert_array_equal(again.losses, law.losses)
    np.testing.assert_allclose(again.log_q, law.log_q, rtol=0, atol=1e-14)


@every_law
def test_profile_of_the_reverse_is_the_mirror(law: LossDistribution) -> None:
    """P(L > e) - e^e Q(L > e) of (Q, P) at -e, times e^e, exceeds that of (P, Q) by e^e - 1."""
    for eps in (-0.3, 0.0, 0.2, 1.0):
        there = float(law.profile(np.array([eps]))[0][0]) + law.infinite
        back = float(law.reversed().profile(np.array([-eps]))[0][0]) + law.lost
        assert there - math.exp(eps) * back == pytest.approx(-math.expm1(eps), abs=3e-14)


@every_law
def test_cells_add_up_to_the_law(law: LossDistribution) -> None:
    low, high = (max(min(e, 120.0), -120.0) for e in law.range)
    edges = np.linspace(low - 1.0, high + 1.0, 3001)
    p = [np.exp(law.log_p)]
    q = [np.exp(law.log_q)]
    for branch in law.branches:
        ends, x, mass, loss = branch.cells(edges)
        assert (np.diff(ends) >= 0.0).all() and (branch.sign * np.diff(x) >= 0.0).all()
        assert (ends[:-1] <= loss).all() and (loss <= ends[1:]).all()
        p.append(np.exp(mass))
        q.append(np.exp(mass - loss))
    assert np.concatenate(p).sum() + law.infinite == pytest.approx(1.0, abs=1e-13)
    assert np.concatenate(q).sum() + law.lost == pytest.approx(1.0, abs=1e-12)


@every_law
def test_where_inverts_the_loss(law: LossDistribution) -> None:
    for branch in law.branches:
        low, high = (max(min(e, 5.0), -5.0) for e in (branch.low, branch.high))
        x = np.linspace(low, high, 33)
        loss, _ = branch.at(x)
        # where the loss is flat along the axis, rounding of a loss is a long way on it
        flat = np.abs(np.gradient(loss, x))
        holds = flat > 1e-9
        apart = np.abs(branch.where(loss) - x)[holds]
        assert (apart <= 1e-12 + 1e-14 * (1e-3 + np.abs(loss[holds])) / flat[holds]).all()


@every_law
def test_loss_is_analytic_where_it_says(law: LossDistribution) -> None:
    """The mean over a small circle is the value at its centre, for the loss and for log q."""
    circle = np.exp(2j * math.pi * np.arange(64) / 64)
    for branch in law.branches:
        middle = 0.5 * (max(branch.low, -3.0) + min(branch.high, 3.0))
        height = min(branch.smooth, 1.35 / branch.steep)
        around = branch.at(middle + 0.5 * (0.2 if branch.curve else height) * circle)
        centre = branch.at(np.array([middle]))
        for ring, value in zip(around, centre, strict=True):
            assert abs(complex(np.mean(ring)) - float(value[0])) < 1e-12 * (1.0 + abs(value[0]))


def test_equal_laws_are_equal_and_hash_alike() -> None:
    first, second = gaussian(0.9).sampled(0.01), gaussian(0.9).sampled(0.01)
    assert first == second and hash(first) == hash(second)
    assert first != gaussian(0.9).sampled(0.02)
    assert first != first.reversed()
    assert len({first, second, first.reversed().reversed()}) == 1
    assert laplace(1.0).sampled(0.1).mirrored() == laplace(1.0).sampled(0.1).mirrored()


def test_only_the_plain_gaussian_is_gaussian() -> None:
    assert gaussian(0.7).gaussian == 0.7
    assert gaussian(0.7).reversed().gaussian == 0.7
    for law in (gaussian(0.7).sampled(0.5), gaussian(0.7).thinned(0.5), laplace(1.0)):
        assert law.gaussian is None


def phi(x: Any) -> Any:
    return mpmath.ncdf(x)


@pytest.mark.parametrize("mu", [0.01, 0.5, 1.0, 5.0, 40.0])
@pytest.mark.parametrize("eps", [-1.0, 0.0, 0.3, 2.0, 30.0])
def test_profile_of_a_gaussian(mu: float, eps: float) -> None:
    m, e = mpmath.mpf(mu), mpmath.mpf(eps)
    truth = phi(m / 2 - e / m) - mpmath.exp(e) * phi(-m / 2 - e / m)
    value, slope = gaussian(mu).profile(np.array([eps]))
    if truth > mpmath.mpf(10) ** -290:
        assert float(value[0]) == pytest.approx(float(truth), rel=2e-13)
        fall = mpmath.exp(e) * phi(-m / 2 - e / m)
        assert float(slope[0]) == pytest.approx(float(fall), rel=2e-13)


@pytest.mark.parametrize(("mu", "rate"), [(0.9, 0.01), (0.25, 0.3), (3.0, 1e-6), (20.0, 0.1)])
@pytest.mark.parametrize("eps", [0.001, 0.1, 1.0, 6.0])
def test_profile_of_a_sampled_gaussian(mu: float, rate: float, eps: float) -> None:
    """Removal: q delta_base(log(1 + (e^eps - 1)/q)), Gaussian delta; addition by its own integral."""
    m, q, e = (mpmath.mpf(v) for v in (mu, rate, eps))
    inner = mpmath.log1p(mpmath.expm1(e) / q)
    truth = q * (phi(m / 2 - inner / m) - mpmath.exp(inner) * phi(-m / 2 - inner / m))
    remove = gaussian(mu).sampled(rate)
    if truth > mpmath.mpf(10) ** -290:
        assert float(remove.profile(np.array([eps]))[0][0]) == pytest.approx(
            float(truth), rel=1e-12
        )
    left = -math.log1p(-rate)
    add = float(remove.reversed().profile(np.array([eps]))[0][0])
    if eps >= left:
        assert add == 0.0
    else:
        x = mpmath.log1p(mpmath.expm1(-e) / q) / m + m / 2
        lower = (1 - (1 - q) * mpmath.exp(e)) * phi(x) - q * mpmath.exp(e) * phi(x - m)
        assert add == pytest.approx(float(lower), rel=1e-11, abs=1e-300)


@pytest.mark.parametrize("lam", [0.01, 1.0, 30.0, 1e5])
def test_profile_of_laplace(lam: float) -> None:
    for part in (0.1, 0.5, 0.999):
        eps = lam * part
        truth = -mpmath.expm1((mpmath.mpf(eps) - mpmath.mpf(lam)) / 2)
        assert float(laplace(lam).profile(np.array([eps]))[0][0]) == pytest.approx(
            float(truth), rel=1e-11
        )


def test_sampled_twice_is_sampled_once_at_the_product() -> None:
    law = laplace(1.0)
    twice, once = law.sampled(0.5).sampled(0.25), law.sampled(0.125)
    assert twice.branches == once.branches
    np.testing.assert_allclose(twice.losses, once.losses, rtol=1e-15)


def test_sampling_turns_lost_mass_into_an_atom() -> None:
    law = approximate(0.4, 1e-3).sampled(0.25)
    assert law.lost == 0.0 and law.infinite == 0.25e-3
    assert math.log1p(-0.25) == law.range[0]


@given(
    rate=st.floats(1e-12, 1.0 - 1e-9),
    loss=st.floats(-700.0, 1500.0),
)
@example(rate=0.99999, loss=-11.0)
def test_mixed_loss_against_mpmath(rate: float, loss: float) -> None:
    truth = mpmath.log1p(mpmath.mpf(rate) * mpmath.expm1(mpmath.mpf(loss)))
    value = float(stable.mixed_loss(rate, np.array([loss]))[0])
    assert value == pytest.approx(float(truth), rel=4e-15 / min(1.0, 1.0 - rate), abs=1e-300)
    turned = complex(stable.mixed_loss(rate, np.array([complex(loss, 1.0)]))[0])
    exact = mpmath.log1p(mpmath.mpf(rate) * mpmath.expm1(mpmath.mpc(loss, 1.0)))
    assert abs(turned - complex(exact)) <= 1e-13 * (abs(complex(exact)) + rate)


@given(rate=st.floats(1e-9, 0.999), loss=st.floats(1e-6, 1200.0))
def test_unmixed_loss_is_the_inverse(rate: float, loss: float) -> None:
    back = stable.unmixed_loss(rate, stable.mixed_loss(rate, np.array([loss])))
    assert float(back[0]) == pytest.approx(loss, rel=1e-12, abs=1e-15 / rate)


def test_elementary_functions_against_mpmath() -> None:
    for u in (1e-9, 0.01, 0.149, 0.151, 3.0, -0.1, -5.0):
        exact = mpmath.expm1(mpmath.mpf(u)) - mpmath.mpf(u)
        assert float(stable.expm1_linear(np.array([u]))[0]) == pytest.approx(
            float(exact), rel=2e-14
        )
        sine = mpmath.sin(mpmath.mpf(u)) - mpmath.mpf(u)
        assert float(stable.sin_linear(np.array([u]))[0]) == pytest.approx(float(sine), rel=2e-14)
        z = mpmath.mpc(0.3 * u, u)
        turned = complex(stable.expm1_linear(np.array([complex(0.3 * u, u)]))[0])
        assert abs(turned - complex(mpmath.exp(z) - 1 - z)) < 2e-13 * abs(turned)


# a user with up to three records, each in the sample with probability 0.2
_SQUARE = 0.9**2
BLEND = tuple(
    (math.comb(3, j) * 0.2**j * 0.8 ** (3 - j), float(j), 0.5 * j * (j - 1) * _SQUARE)
    for j in range(4)
)


@pytest.mark.parametrize("eps", [0.05, 0.5, 2.0])
def test_blend_of_shifted_gaussians(eps: float) -> None:
    """sum_j w_j N(j mu, 1) against N(0, 1), by mpmath."""
    law = gaussian(0.9).through(Blended(BLEND))
    edge = law.branches[0].where(eps)
    ratio = sum(
        mpmath.mpf(w) * mpmath.exp(k * 0.9 * mpmath.mpf(float(edge)) - (k * 0.9) ** 2 / 2)
        for w, k, _ in BLEND
    )
    assert float(mpmath.log(ratio)) == pytest.approx(eps, rel=1e-12)
    x = mpmath.mpf(float(edge))
    p = sum(mpmath.mpf(w) * phi(mpmath.mpf("0.9") * k - x) for w, k, _ in BLEND)
    truth = p - mpmath.exp(mpmath.mpf(eps)) * phi(-x)
    assert float(law.profile(np.array([eps]))[0][0]) == pytest.approx(float(truth), rel=1e-11)
    assert mass(law) == pytest.approx(1.0, abs=1e-13)
    assert mass(law.reversed()) == pytest.approx(1.0, abs=1e-13)


def test_blends_know_their_range() -> None:
    """It was nan: an infinite loss is none to the term of no record in the sample."""
    blend = gaussian(2.0).through(Blended(((0.25, 0.0, 0.0), (0.5, 1.0, 0.0), (0.25, 2.0, 4.0))))
    assert blend.range == (pytest.approx(math.log(0.25)), math.inf)
    assert blend.reversed().range == (-math.inf, pytest.approx(-math.log(0.25)))


def test_blend_of_one_is_sampling() -> None:
    terms = ((0.75, 0.0, 0.0), (0.25, 1.0, 0.0))
    loss = np.linspace(-3.0, 3.0, 41)
    np.testing.assert_allclose(
        stable.blended_loss(terms, loss), stable.mixed_loss(0.25, loss), rtol=1e-13, atol=1e-16
    )
    np.testing.assert_allclose(
        stable.unblended_loss(terms, stable.blended_loss(terms, loss)), loss, atol=1e-12
    )


def test_a_blend_of_hardly_any_rest_keeps_its_digits() -> None:
    """1 - 1 + 1e-26 was 0, and its logarithm infinite: 26 records, of which each is nearly always there."""
    rate, places = mpmath.mpf("0.9017"), np.array([-30.0, -20.0, -3.0, 0.0, 0.4, 5.0])
    terms = tuple(
        (float(math.comb(26, j) * rate**j * (1 - rate) ** (26 - j)), float(j), 0.16 * j * (j - 1))
        for j in range(27)
    )
    for loss, value in zip(places, stable.blended_loss(terms, places), strict=True):
        exponents = [(w, k * mpmath.mpf(float(loss)) - drop) for w, k, drop in terms]
        truth = mpmath.log(mpmath.fsum(mpmath.mpf(w) * mpmath.exp(y) for w, y in exponents))
        assert value == pytest.approx(float(truth), rel=1e-13)


def test_the_inverse_of_a_mixture_ends_at_the_rounding_of_its_logs() -> None:
    """A step near loss 0 is never small beside the loss: Newton took all of its 60, at 1.2 s a law."""
    terms = tuple(
        (math.comb(7, j) * 0.01**j * 0.99 ** (7 - j), j, j * (j - 1) / 9.0) for j in range(8)
    )
    losses = np.linspace(-1e-6, 1e-6, 10_001)
    with budget.metered() as meter:
        before = stable.unblended_loss(terms, losses)
    np.testing.assert_allclose(stable.blended_loss(terms, before), losses, atol=2e-15)
    assert meter.spent < 0.1


def test_rates_of_a_chain_stay_exact() -> None:
    from fractions import Fraction

    law = gaussian(1.0).sampled(Fraction(1, 3))
    assert law.branches[0].chain[0].rate == Fraction(1, 3)  # type: ignore[attr-defined]
    assert isinstance(law.branches[0], Branch)


@pytest.mark.parametrize("rate", [0.5772, 0.001, 1e-9])
def test_an_edge_a_rounding_from_an_end_makes_a_cell_of_no_width(rate: float) -> None:
    """log(1 - q + q e^l) is as good as log(1 - q) far out, and its place beyond all floats."""
    (branch,) = gaussian(1.5).sampled(rate).branches
    low, high = np.sort(branch.at(np.array(branch.extent))[0])
    edges = np.array([np.nextafter(low, high), np.nextafter(low, high) + 1e-16, 0.5 * high])
    _, x, log_p, loss = branch.cells(edges)
    assert np.isfinite(x).all() and np.isfinite(loss).all()
    assert np.exp(log_p).sum() == pytest.approx(branch.mass(), rel=1e-12)

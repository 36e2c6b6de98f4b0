"""Staircase: every claim from the density itself, in fifty digits."""

import itertools
import math

import flint
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

import dpacct as dp
from dpacct.mechanisms.laws import staircase
from dpacct.mechanisms.laws.staircase import mean_size, unmoved
from dpacct.pld import contour
from dpacct.pld.loss import LossDistribution
from dpacct.pld.moments import prepare
from tests.mechanisms import oracle

ORDERS = st.floats(1.05, 60)
LAMBDAS = st.floats(0.01, 12)
SHARES = st.floats(0, 1, allow_subnormal=False)
SHIFTS = st.floats(0.01, 1)
ERRATA = [
    (2, "1", "0.3", 0.690920695311578),
    (2, "1", "0.7", 0.650610307534420),
    (3.5, "0.5", "0.5", 0.329804146957454),
    (8, "2", None, 1.970961859996575),
]


def density(lam: mpf, nu: mpf) -> oracle.Density:
    fall = mp.exp(-lam)
    height = (1 - fall) / (2 * (nu + fall * (1 - nu)))

    def at(x: mpf) -> mpf:
        size = abs(x)
        level = 0 if size < nu else int(mp.floor(size - nu)) + 1
        return height * fall**level

    return at


def integrated(order: mpf, lam: mpf, nu: mpf, shift: mpf) -> mpf:
    """Renyi divergence of the noise moved by `shift` from the noise, from the two densities.

    Both are constant between their steps; beyond three steps on either side both fall by the same
    factor from one step to the next, so the rest is a geometric series.
    """
    f = density(lam, nu)
    ends = sorted(
        {move + sign * (k + nu) for k in range(5) for sign in (1, -1) for move in (mpf(0), shift)}
        | {mpf(0), shift}
    )

    def piece(a: mpf, b: mpf) -> mpf:
        x = (a + b) / 2
        return (b - a) * f(x - shift) ** order * f(x) ** (1 - order)

    low, high = -2 - nu, 2 + nu + shift  # from here on the pattern repeats
    cuts = [low, *(e for e in ends if low < e < high), high]
    middle = mp.fsum(piece(a, b) for a, b in itertools.pairwise(cuts))

    def period(start: mpf) -> mpf:
        inside = sorted({start, start + 1, *(e for e in ends if start < e < start + 1)})
        return mp.fsum(piece(a, b) for a, b in itertools.pairwise(inside))

    far = (period(high) + period(low - 1)) / (1 - mp.exp(-lam))
    return mp.log(middle + far) / (order - 1)


def rdp_at(law: LossDistribution, order: float) -> float:
    s = order - 1.0
    return prepare(law, s, s).cumulants(s).log_moment / s


@given(order=ORDERS, lam=LAMBDAS, nu=SHARES, shift=SHIFTS)
def test_renyi_is_the_integral_at_every_shift(
    order: float, lam: float, nu: float, shift: float
) -> None:
    truth = integrated(mpf(order), mpf(lam), mpf(nu), mpf(shift))
    assert abs(rdp_at(staircase.moved(lam, nu, shift), order) - float(truth)) <= 1e-12 * max(
        1.0, abs(float(truth))
    )


@given(order=ORDERS, lam=LAMBDAS, nu=SHARES)
def test_renyi_of_the_mechanism_is_that_at_the_full_shift(
    order: float, lam: float, nu: float
) -> None:
    mechanism = dp.Staircase(eps0=lam, nu=nu)
    truth = integrated(mpf(order), mpf(str(lam)), mpf(str(nu)), mpf(1))
    assert oracle.agrees(mechanism.rdp(order), truth, 1e-12) or float(truth) < 1e-12


@given(lam=LAMBDAS, nu=SHARES, near=SHIFTS, far=SHIFTS, epsilon=st.floats(0, 12))
def test_a_larger_shift_is_worse_for_every_epsilon(
    lam: float, nu: float, near: float, far: float, epsilon: float
) -> None:
    near, far = sorted((near, far))
    assert unmoved(lam, nu, far) <= unmoved(lam, nu, near) * (1 + 1e-12) + 1e-15
    less, more = (
        contour.log_delta([(staircase.moved(lam, nu, shift), 1)], epsilon) for shift in (near, far)
    )
    assert less.resolved and more.resolved
    assert less.value <= more.value + 1e-9


@given(order=ORDERS, lam=st.floats(0.01, 6), nu=SHARES)
def test_renyi_of_a_clipped_sum_is_the_integral_at_two_steps(
    order: float, lam: float, nu: float
) -> None:
    clipped = dp.Staircase(eps0=lam, nu=nu, clip=3)
    for adjacency, shift in (("add-remove", 1), ("zero-out", 1), ("replace-one", 2)):
        truth = integrated(mpf(order), mpf(str(lam)), mpf(str(nu)), mpf(shift))
        divergence = clipped.rdp(order, adjacency=adjacency)
        assert oracle.agrees(divergence, truth, 1e-12) or float(truth) < 1e-12


def moved(lam: mpf, nu: mpf, shift: mpf, epsilon: mpf) -> mpf:
    """The hockey-stick divergence of the noise from itself moved by `shift`, piece by piece."""
    f = density(lam, nu)
    far = 60  # beyond, less than e^(-60 lam) is left
    ends = {move + sign * (k + nu) for k in range(far) for sign in (1, -1) for move in (0, shift)}
    pieces = itertools.pairwise(sorted(ends | {mpf(0), shift}))
    total = mpf(0)
    for a, b in pieces:
        x = (a + b) / 2
        total += (b - a) * max(mpf(0), f(x) - mp.exp(epsilon) * f(x - shift))
    return total


@pytest.mark.parametrize("nu", ["0", "0.2", "0.5", "0.8", "1"])
@pytest.mark.parametrize("epsilon", ["0", "0.4", "1.1", "1.9", "2.3"])
def test_a_move_by_two_steps_dominates_every_shorter_one(nu: str, epsilon: str) -> None:
    """From the density, for a clipped sum whose unit moves it by any distance up to two clips."""
    lam, at = mpf(1), mpf(epsilon)
    by_distance = [moved(lam, mpf(nu), mpf(k) / 8, at) for k in range(1, 17)]
    assert all(near <= far + mpf(10) ** -40 for near, far in itertools.pairwise(by_distance))
    run = dp.Staircase(eps0=1, nu=nu, clip=1)
    answer = run.delta(epsilon=epsilon, method="exact", adjacency="replace-one")
    assert answer.value == pytest.approx(float(by_distance[-1]), rel=1e-12, abs=1e-16)


def test_a_clip_allows_what_two_steps_of_it_may_cost() -> None:
    assert dp.Staircase(eps0=250, clip=1).pure_epsilon(dp.Adjacency.REPLACE_ONE) == 500
    with pytest.raises(dp.InvalidArgument, match=r"eps0 must be a number above 0 and at most 250"):
        dp.Staircase(eps0="250.1", clip=1)
    with pytest.raises(dp.InvalidArgument, match="clip must be a number"):
        dp.Staircase(eps0=1, clip=0)


@pytest.mark.parametrize(("order", "lam", "nu", "printed"), ERRATA)
def test_values_worked_out_before(order: float, lam: str, nu: str | None, printed: float) -> None:
    assert dp.Staircase(eps0=lam, nu=nu).rdp(order) == pytest.approx(printed, rel=1e-14)


def table(lam: str, nu: str) -> oracle.Table:
    """(P, Q) of the losses lam, 0, -lam, from the lengths of the pieces of [0, 1] and beyond."""
    f = density(mpf(lam), mpf(nu))
    cuts = sorted({mpf(0), mpf(nu), 1 - mpf(nu), mpf(1)})
    up = zero = down = mpf(0)
    for a, b in itertools.pairwise(cuts):
        x = (a + b) / 2
        p, q = f(x) * (b - a), f(x - 1) * (b - a)
        up, zero, down = up + (p > q) * p, zero + (p == q) * p, down + (p < q) * p
    outside = mpf(1) / 2  # x < 0 under P: all of it is one level nearer
    up += outside
    down = 1 - up - zero
    fall = mp.exp(-mpf(lam))
    return [up, zero, down], [up * fall, zero, down / fall]


PLANS = [("1", "0.3", 1), ("1", "0.7", 7), ("0.1", "0.5", 60), ("3", "0.2", 25), ("0.5", "1", 40)]


@pytest.mark.parametrize(("lam", "nu", "steps"), PLANS)
def test_composition_is_the_multinomial_sum(lam: str, nu: str, steps: int) -> None:
    run = dp.Staircase(eps0=lam, nu=nu) * steps
    for share in ("0.05", "0.4", "0.9"):
        epsilon = mpf(share) * mpf(lam) * steps
        truth = oracle.delta(table(lam, nu), steps, epsilon)
        answer = run.delta(epsilon=mp.nstr(epsilon, 30))
        assert oracle.agrees(answer.value, truth, 1e-10)
        assert answer.lower <= truth <= answer.upper


@pytest.mark.parametrize(("lam", "nu", "steps"), [("0.1", "0.3", 1000), ("0.02", "0.9", 4000)])
def test_a_thousand_steps_are_the_power_of_a_polynomial(lam: str, nu: str, steps: int) -> None:
    """The trinomial (P+ x^2 + P0 x + P-)^T in 250-bit balls: every coefficient, then the sum."""
    before, flint.ctx.prec = flint.ctx.prec, 250
    try:
        p, _ = table(lam, nu)
        base = flint.arb_poly([flint.arb(mp.nstr(x, 60)) for x in reversed(p)])
        chances = (base**steps).coeffs()
        step = flint.arb(lam)
        for share in ("0.05", "0.2"):
            epsilon = flint.arb(lam) * steps * flint.arb(share)
            truth = sum(
                (
                    chance * (1 - (epsilon - step * (k - steps)).exp())
                    for k, chance in enumerate(chances)
                    if step * (k - steps) > epsilon
                ),
                flint.arb(0),
            )
            value = str(float(share) * float(lam) * steps)
            answer = (dp.Staircase(eps0=lam, nu=nu) * steps).delta(epsilon=value)
            assert oracle.agrees(answer.value, mpf(truth.str(40, radius=False)), 1e-8)
    finally:
        flint.ctx.prec = before


@pytest.mark.parametrize("steps", [1, 2, 9])
@pytest.mark.parametrize("rate", ["0.1", "0.7"])
def test_sampled_composition_is_the_multinomial_sum(rate: str, steps: int) -> None:
    step, plain = dp.Staircase(eps0="1.5", nu="0.3"), table("1.5", "0.3")
    run, pair = dp.Poisson(rate)(step) * steps, oracle.poisson(plain, mpf(rate))
    fixed, thinned = (
        dp.WithoutReplacement(rate)(step) * steps,
        oracle.symmetric_thinned(plain, mpf(rate)),
    )
    for epsilon in ("0.05", "0.3"):
        truth = oracle.two_sided(pair, steps, mpf(epsilon))
        assert oracle.agrees(run.delta(epsilon=epsilon).value, truth, 1e-10)
        truth = oracle.delta(thinned, steps, mpf(epsilon))
        assert oracle.agrees(fixed.delta(epsilon=epsilon).value, truth, 1e-9)


@given(lam=LAMBDAS, nu=SHARES)
def test_the_default_nu_is_the_best(lam: float, nu: float) -> None:
    best = dp.Staircase(eps0=lam)
    assert best.mean_size <= mean_size(lam, nu) * (1 + 1e-12)
    assert best.mean_size == pytest.approx(0.5 / math.sinh(0.5 * lam), rel=1e-12)


@given(lam=LAMBDAS, nu=SHARES)
def test_moments_of_the_noise_are_those_of_the_density(lam: float, nu: float) -> None:
    fall = mp.exp(-mpf(lam))
    height = (1 - fall) / (2 * (mpf(nu) + fall * (1 - mpf(nu))))

    def moment(power: int) -> mpf:
        def level(k: int) -> mpf:
            ends = (mpf(k) - 1 + mpf(nu), mpf(k) + mpf(nu))
            return fall**k * (ends[1] ** (power + 1) - ends[0] ** (power + 1)) / (power + 1)

        inner = mpf(nu) ** (power + 1) / (power + 1)
        return 2 * height * (inner + mp.nsum(lambda k: level(int(k)), [1, mp.inf]))

    if lam < 0.3:  # the series is slow there, and the formula the same
        return
    mechanism = dp.Staircase(eps0=lam, nu=nu)
    assert oracle.agrees(mechanism.mean_size, moment(1), 1e-10)
    assert oracle.agrees(mechanism.std**2, moment(2), 1e-10)


@pytest.mark.parametrize(
    ("coordinates", "printed"), [(1, 0.9552483741), (2, 1.7128108585), (10, 6.2790), (100, 31.40)]
)
def test_one_number_s_noise_on_each_coordinate_is_not_enough(
    coordinates: int, printed: float
) -> None:
    """An l1 shift of 1 split over coordinates costs more than at one of them (UDP-FL assumes not)."""
    split = coordinates * rdp_at(staircase.moved(1.0, 0.5, 1.0 / coordinates), 8.0)
    assert split == pytest.approx(printed, rel=2e-4)


def test_half_is_randomised_response() -> None:
    run, pure = dp.Staircase(eps0=1, nu="1/2") * 12, dp.PureDP(epsilon=1) * 12
    assert run.epsilon(delta=1e-5).value == pytest.approx(pure.epsilon(delta=1e-5).value, rel=1e-12)


def test_it_is_pure_and_says_so() -> None:
    answer = dp.Staircase(eps0="0.7").delta(epsilon="0.7")
    assert answer.value == 0.0
    assert "one number" in str(answer.assumptions[0])
    assert dp.from_json(dp.Staircase(eps0=1, nu="1/3").to_json()) == dp.Staircase(eps0=1, nu="1/3")
    assert dp.from_json(dp.Staircase(eps0=1).to_json()).nu is None

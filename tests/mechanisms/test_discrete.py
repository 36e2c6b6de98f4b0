"""Randomised response, discrete Laplace and Gaussian: against their probability tables, in fifty digits."""

from itertools import pairwise
from typing import Any

import flint
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

import dpacct as dp
from tests.mechanisms import oracle


def response(eps0: str, k: int) -> oracle.Table:
    """All k answers, for true answers 0 and 1."""
    lie = 1 / (mp.exp(mpf(eps0)) + k - 1)
    true = mp.exp(mpf(eps0)) * lie
    return [true, *[lie] * (k - 1)], [lie, true, *[lie] * (k - 2)]


def laplace(scale: str, shift: int, reach: int) -> oracle.Table:
    """Every whole number up to `reach` on either side, and all beyond as one outcome each."""
    fall = mp.exp(-1 / mpf(scale))
    peak = (1 - fall) / (1 + fall)

    def row(centre: int) -> list[mpf]:
        inside = [peak * fall ** abs(x - centre) for x in range(-reach, reach + shift + 1)]
        beyond = [fall ** (reach + centre + 1), fall ** (reach + shift - centre + 1)]
        return [*inside, *(part / (1 + fall) for part in beyond)]

    return row(0), row(shift)


def gaussian(scale: str, shift: int, reach: int) -> oracle.Table:
    """Every whole number of weight that matters; weights beyond 16 deviations sum to less than 1e-54."""
    far = max(reach, int(16 * float(scale)) + 16) + shift
    weights = [mp.exp(-(x**2) / (2 * mpf(scale) ** 2)) for x in range(far + 1)]
    total = weights[0] + 2 * mp.fsum(weights[1:])

    def row(centre: int) -> list[mpf]:
        return [weights[abs(x - centre)] / total for x in range(-reach, reach + shift + 1)]

    return row(shift), row(0)


CASES = [
    (dp.RandomizedResponse(eps0="1.2"), response("1.2", 2)),
    (dp.RandomizedResponse(eps0="0.1", k=5), response("0.1", 5)),
    (dp.RandomizedResponse(eps0=4, k=7), response("4", 7)),
    (dp.LocalRandomizer(eps0="0.7"), response("0.7", 2)),
    (dp.DiscreteLaplace(scale=2), laplace("2", 1, 1)),
    (dp.DiscreteLaplace(scale="1.5", sensitivity=4), laplace("1.5", 4, 0)),
    (dp.DiscreteLaplace(scale="0.3", sensitivity=3), laplace("0.3", 3, 0)),
    (dp.DiscreteGaussian(scale="0.6"), gaussian("0.6", 1, 16)),
    (dp.DiscreteGaussian(scale="1.1", sensitivity=2), gaussian("1.1", 2, 28)),
]
IDS = [repr(mechanism) for mechanism, _ in CASES]


@pytest.mark.parametrize(("mechanism", "table"), CASES, ids=IDS)
@pytest.mark.parametrize("epsilon", ["0.03", "0.5", "2"])
def test_one_release(mechanism: dp.Node, table: oracle.Table, epsilon: str) -> None:
    truth = oracle.two_sided(table, 1, mpf(epsilon))
    answer = mechanism.delta(epsilon=epsilon)
    if truth < mpf("1e-45"):  # epsilon is the largest loss, and the truth rounding
        assert answer.value == 0.0
        return
    assert oracle.agrees(answer.value, truth, 1e-12)
    rate = "0.3"
    truth = oracle.two_sided(oracle.poisson(table, mpf(rate)), 1, mpf(epsilon))
    assert oracle.agrees(dp.Poisson(rate)(mechanism).delta(epsilon=epsilon).value, truth, 1e-12)
    truth = oracle.delta(oracle.symmetric_thinned(table, mpf(rate)), 1, mpf(epsilon))
    fixed = dp.WithoutReplacement(rate)(mechanism).delta(epsilon=epsilon)
    assert oracle.agrees(fixed.value, truth, 1e-12)


@pytest.mark.parametrize(("mechanism", "table"), CASES, ids=IDS)
def test_two_releases_lie_in_the_bracket(mechanism: dp.Node, table: oracle.Table) -> None:
    truth = oracle.two_sided(table, 2, mpf("0.5"))
    answer = (mechanism * 2).delta(epsilon="0.5")
    assert answer.lower <= truth <= answer.upper


@pytest.mark.parametrize(("mechanism", "table"), CASES, ids=IDS)
@pytest.mark.parametrize("order", [1.3, 2, 7.5])
def test_renyi(mechanism: dp.Node, table: oracle.Table, order: float) -> None:
    truth = oracle.renyi(table, mpf(order))
    assert oracle.agrees(float(mechanism.rdp(order)), truth, 1e-12)
    mixed = oracle.poisson(table, mpf("0.2"))
    truth = max(oracle.renyi(mixed, mpf(order)), oracle.renyi(mixed[::-1], mpf(order)))
    assert oracle.agrees(float(dp.Poisson("0.2")(mechanism).rdp(order)), truth, 1e-11)


@pytest.mark.parametrize(("sampler"), [None, dp.Poisson("0.3"), dp.WithoutReplacement("0.3")])
@pytest.mark.parametrize(("mechanism", "table"), CASES[:3], ids=IDS[:3])
def test_many_responses_are_the_multinomial_sum(
    sampler: Any, mechanism: dp.Node, table: oracle.Table
) -> None:
    # answers that lie alike are one outcome
    merged = [[row[0], row[1], mp.fsum(row[2:])] for row in table]
    pair: oracle.Table = (merged[0], merged[1])
    node = mechanism
    if isinstance(sampler, dp.Poisson):
        pair, node = oracle.poisson(pair, mpf("0.3")), sampler(mechanism)
    elif sampler is not None:
        pair, node = oracle.symmetric_thinned(pair, mpf("0.3")), sampler(mechanism)
    truth = oracle.two_sided(pair, 8, mpf("0.4"))
    assert oracle.agrees((node * 8).delta(epsilon="0.4").value, truth, 1e-10)


@pytest.mark.parametrize(
    ("finer", "coarser"),
    [
        (dp.DiscreteGaussian(scale=8, sensitivity=8), dp.Gaussian(sigma=1)),
        (dp.DiscreteGaussian(scale=40), dp.Gaussian(sigma=40)),
        (dp.DiscreteLaplace(scale=2000, sensitivity=1000), dp.Laplace(b=2)),
    ],
)
def test_fine_noise_tends_to_the_continuous(finer: dp.Node, coarser: dp.Node) -> None:
    fine, coarse = finer.epsilon(delta=1e-5).value, coarser.epsilon(delta=1e-5).value
    assert fine == pytest.approx(coarse, rel=0.02)
    assert finer.rdp(5) == pytest.approx(coarser.rdp(5), rel=1e-3)


@given(scale=st.floats(0.6, 30), shift=st.integers(1, 12), order=st.floats(1.01, 100))
def test_the_discrete_gaussian_is_as_concentrated_as_the_continuous(
    scale: float, shift: int, order: float
) -> None:
    """Canonne, Kamath, Steinke 2020, Proposition 5: (shift/scale)^2/2-zCDP."""
    rdp = dp.DiscreteGaussian(scale=scale, sensitivity=shift).rdp(order)
    assert rdp <= order * (shift / scale) ** 2 / 2 * (1 + 1e-11)


@given(eps0=st.floats(0.01, 10), k=st.integers(2, 1000))
def test_more_answers_are_less_telling(eps0: float, k: int) -> None:
    few, many = dp.RandomizedResponse(eps0=eps0, k=k), dp.RandomizedResponse(eps0=eps0, k=k + 1)
    epsilon = eps0 / 2
    assert many.delta(epsilon=epsilon).value <= few.delta(epsilon=epsilon).value * (1 + 1e-12)
    assert few.delta(epsilon=eps0).value == 0.0


@pytest.mark.parametrize(
    ("make", "argument", "message"),
    [
        (lambda: dp.DiscreteGaussian(scale=1, sensitivity=90), "scale", "at least 0.05"),
        (lambda: dp.DiscreteLaplace(scale=1, sensitivity=900), "scale", "scale / sensitivity"),
    ],
)
def test_wrong_use_gets_one_sentence(make: Any, argument: str, message: str) -> None:
    with pytest.raises(dp.InvalidArgument, match=message) as caught:
        make()
    assert caught.value.argument == argument
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("mechanism", "table", "steps"),
    [
        (dp.DiscreteGaussian(scale="1.1", sensitivity=2), gaussian("1.1", 2, 14), 30),
        (dp.DiscreteGaussian(scale=3), gaussian("3", 1, 36), 200),
        (dp.DiscreteLaplace(scale="1.5", sensitivity=4), laplace("1.5", 4, 0), 60),
    ],
    ids=["gaussian-coarse", "gaussian", "laplace"],
)
def test_many_releases_are_the_power_of_a_polynomial(
    mechanism: dp.Node, table: oracle.Table, steps: int
) -> None:
    """Losses lie on a lattice, so the masses of the sum are the coefficients of a power, in balls."""
    merged: dict[int, mpf] = {}
    losses = [mp.log(a / b) for a, b in zip(*table, strict=True)]
    ordered = sorted(losses)
    spacing = min(b - a for a, b in pairwise(ordered) if b - a > mpf("1e-20"))
    for loss, p in zip(losses, table[0], strict=True):
        place = int(mp.nint((loss - ordered[0]) / spacing))
        merged[place] = merged.get(place, mpf(0)) + p
    before, flint.ctx.prec = flint.ctx.prec, 300
    try:
        rows = [flint.arb(mp.nstr(merged.get(k, mpf(0)), 60)) for k in range(max(merged) + 1)]
        chances = [mpf(c.str(50, radius=False)) for c in (flint.arb_poly(rows) ** steps).coeffs()]
    finally:
        flint.ctx.prec = before
    run = mechanism * steps
    for epsilon in (2, 6):
        truth = mp.fsum(
            chance * (1 - mp.exp(epsilon - loss))
            for k, chance in enumerate(chances)
            if (loss := steps * ordered[0] + k * spacing) > epsilon
        )
        answer = run.delta(epsilon=epsilon)
        assert answer.lower <= truth <= answer.upper <= truth * (1 + 1e-4) + 1e-30


def test_more_discrete_gaussian_noise_can_be_less_private() -> None:
    """So no law says otherwise, and calibration promises only that its answer meets the target."""
    delta = {s: dp.DiscreteGaussian(scale=s).delta(epsilon=3).value for s in ("0.72", "0.8")}
    for scale, value in delta.items():
        truth = oracle.delta(gaussian(scale, 1, 20), 1, mpf(3))
        assert oracle.agrees(value, truth, 1e-12)
    assert delta["0.8"] > 1.3 * delta["0.72"]
    calibrated = dp.calibrate(lambda s: dp.DiscreteGaussian(scale=s), epsilon=3, delta=0.012)
    assert dp.DiscreteGaussian(scale=float(calibrated)).delta(epsilon=3).upper <= 0.012

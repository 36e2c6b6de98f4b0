"""Laplace steps sorted by their draws, eq. (26) to (28), against truths with other code."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from flint import arb, arb_poly

import dpacct as dp
from dpacct.plan import certified
from dpacct.proof import between
from dpacct.proof.balls import precision
from dpacct.proof.between import Spaced, _ends, _fitted, _sticks, by_draws, residues
from dpacct.proof.check import check
from dpacct.proof.closed import repeated
from dpacct.proof.law import add, exchange, remove
from dpacct.proof.line import Contour, LessAtoms
from dpacct.proof.plan import Step
from tests.proof.plans import NAMES, panels, prepared, spaced

KINDS = [pytest.param(how, id=NAMES[how]) for how in (remove, add, exchange)]
How = Callable[..., Any]


def delta(how: How, b: int, rate: Fraction, steps: int, epsilon: float) -> arb:
    result = repeated(spaced(b, rate, how), steps, arb(epsilon))
    assert result is not None
    return result


@pytest.mark.parametrize(("steps", "epsilon"), [(1, 0.1), (3, 0.3), (10, 1.0)])
def test_at_rate_1_it_is_the_sum_of_residues_eq_11(steps: int, epsilon: float) -> None:
    with precision(200):
        result = by_draws(spaced(5, 1, remove), steps, arb(epsilon))
        exact = residues(steps, Fraction(5), arb(epsilon))
        assert result is not None
        assert result.overlaps(exact)
        assert result.rel_accuracy_bits() > 55


@pytest.mark.parametrize("kind", KINDS)
def test_one_step_is_the_closed_form(kind: How) -> None:
    law = spaced(4, Fraction(3, 10), kind)
    with precision(150):
        for epsilon in (0.01, 0.03, 0.06, 0.07):
            result, exact = repeated(law, 1, arb(epsilon)), law.one_step(arb(epsilon))
            assert result is not None
            assert result.overlaps(exact)
            assert result.rad() <= arb(1e-18)


@pytest.mark.parametrize("kind", KINDS)
def test_many_steps_are_the_contour_less_its_atoms(kind: How) -> None:
    law = spaced(2, Fraction(3, 5), kind)
    with precision(160):
        moments = prepared(law, 4, panels(law, 60, 40, 3.0))
        line = LessAtoms([(moments, 6)], Contour(4.0, 0.35, 700, 3.0, 3.0, 0))
        exact, answer = line.delta(arb("0.7")), delta(kind, 2, Fraction(3, 5), 6, 0.7)
        assert answer.overlaps(exact)
        assert exact.rad() < exact * 1e-5
        assert answer.rad() < answer * 1e-15


@pytest.mark.parametrize(
    ("b", "share", "at"),
    [
        pytest.param(3, Fraction(2, 5), "0.11", id="one polynomial"),
        pytest.param(1, Fraction(3, 10), "0.5", id="several"),
    ],
)
def test_two_steps_by_integrals(b: int, share: Fraction, at: str) -> None:
    """mpmath, from the densities alone: atoms and the part between, convolved."""
    rate, epsilon = mpmath.mpf(share.numerator) / share.denominator, mpmath.mpf(at)
    lam = mpmath.mpf(1) / b

    def loss(x: Any) -> Any:
        return mpmath.log(1 - rate + rate * mpmath.exp(x))

    def draws(weigh: Callable[[Any], Any]) -> Any:
        """A mean over one draw of x under the sampled P."""
        ends = ((lam, mpmath.exp(-lam) / 2), (-lam, mpmath.mpf(1) / 2))
        total = sum(m * mpmath.exp(loss(x)) * weigh(x) for x, m in ends)
        return total + mpmath.quad(
            lambda x: mpmath.exp(-(x + lam) / 2 + loss(x)) / 4 * weigh(x), [-lam, 0, lam]
        )

    with mpmath.workdps(25):

        def inner(x: Any) -> Any:
            gap = epsilon - loss(x)
            if gap >= loss(lam):
                return mpmath.mpf(0)
            start = -lam if gap <= loss(-lam) else mpmath.log((mpmath.exp(gap) - 1 + rate) / rate)
            top = mpmath.exp(-lam) / 2 * mpmath.exp(loss(lam)) * (1 - mpmath.exp(gap - loss(lam)))
            low = mpmath.exp(loss(-lam)) / 2 * max(0, 1 - mpmath.exp(gap - loss(-lam)))
            return (
                top
                + low
                + mpmath.quad(
                    lambda y: (
                        mpmath.exp(-(y + lam) / 2 + loss(y)) / 4 * (1 - mpmath.exp(gap - loss(y)))
                    ),
                    [start, lam],
                )
            )

        kink = mpmath.log((mpmath.exp(epsilon - loss(lam)) - 1 + rate) / rate)
        assert -lam < kink < lam
        ends = ((lam, mpmath.exp(-lam) / 2), (-lam, mpmath.mpf(1) / 2))
        truth = sum(m * mpmath.exp(loss(x)) * inner(x) for x, m in ends)
        truth += mpmath.quad(
            lambda x: mpmath.exp(-(x + lam) / 2 + loss(x)) / 4 * inner(x), [-lam, kink, lam]
        )
        outcome = mpmath.nstr(truth, 18)
    with precision(150 if b == 3 else 300):
        result = repeated(spaced(b, share, remove), 2, arb(at))
        assert result is not None
        assert abs(result - arb(outcome)) < 1e-14


@pytest.mark.parametrize(("b", "parts"), [(3, 1), (1, 8)])
@pytest.mark.parametrize("kind", KINDS)
def test_the_polynomial_is_within_its_error_eq_28(kind: How, b: int, parts: int) -> None:
    with precision(120):
        step = Spaced.of(spaced(b, Fraction(2, 5), kind), parts)
        for part in step.smooth:
            fit = _fitted(step, part, 8)
            assert fit is not None
            shape, half, error = fit
            worst = arb(0)
            for j in range(-50, 51):
                u = half * j / 50
                y = (part.low + part.high) / 2 + u
                x = (y.expm1() / step.rate).log1p()
                exact = (3 * (y - x) / 2 - step.lam / 2).exp() / (4 * step.rate)
                worst = max(worst, abs(shape(u) / exact - 1))
            assert worst <= error
            assert worst > 0
            assert error < 0.05


def test_the_sticks_are_the_inverse_transforms() -> None:
    """The integral over [0, d] of 2 sinh((d - u)/2) u^{p-1}/(p-1)!, p > 0."""
    with precision(120):
        for d in (2, 17):
            result = _sticks(arb(d), 0, 9)
            assert abs(result[0] / (2 * (arb(d) / 2).sinh()) - 1) < 1e-13
            for p in range(1, 9):
                exact = mpmath.quad(
                    lambda u, p=p, d=d: (
                        2 * mpmath.sinh((d - u) / 2) * u ** (p - 1) / mpmath.factorial(p - 1)
                    ),
                    [0, d],
                )
                assert abs(result[p] / arb(float(exact)) - 1) < 1e-13
                (alone,) = _sticks(arb(d), p, p + 1)
                assert alone.overlaps(result[p])
                assert alone.rel_accuracy_bits() > 100
        assert _sticks(arb(-1), 0, 3) == [0, 0, 0]
        assert all(value.contains(arb(0)) for value in _sticks(arb(0, 0.1), 0, 3))


HARD: Step = spaced(100, Fraction(1, 2), remove)


def hard(bits: int = 130) -> arb:
    with precision(bits):
        result = repeated(HARD, 60, arb("0.25"))
    assert result is not None
    return result


def test_without_the_polynomial_s_error_the_truth_is_missed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Eq. (28) dropped, with a polynomial of low degree."""
    exact = hard(400)

    def coarse(step: Any, part: Any, bits: int) -> Any:
        fit = _fitted(step, part, 8)
        assert fit is not None
        return fit

    monkeypatch.setattr(between, "_fitted", coarse)
    assert hard().overlaps(exact)

    def exactly(step: Any, part: Any, bits: int) -> Any:
        shape, half, _ = coarse(step, part, bits)
        return shape, half, arb(0)

    monkeypatch.setattr(between, "_fitted", exactly)
    assert not hard().overlaps(exact)


def test_without_the_rest_the_truth_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eq. (25) dropped: the numbers beyond the last one are left out."""
    exact = hard(400)
    assert hard().overlaps(exact)
    monkeypatch.setattr(between, "payoff_peak", lambda c: arb(0))
    assert not hard().overlaps(exact)


def test_without_one_end_of_the_density_the_truth_is_missed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    exact = hard(400)

    def cut(step: Any, bits: int) -> Any:
        result = _ends(step, bits)
        assert result is not None
        return [result[0][0], arb_poly([0])], result[1]

    monkeypatch.setattr(between, "_ends", cut)
    assert not hard().overlaps(exact)


@pytest.mark.parametrize(
    ("node", "epsilon"),
    [
        (dp.Poisson("0.002967")(dp.Laplace(b="521.3")) * 1050, "0.00469842"),
        (dp.WithoutReplacement("0.006942")(dp.Laplace(b=3140)) * 1320, "0.00227999"),
    ],
)
def test_what_no_contour_had_is_proven_and_checked(node: dp.Node, epsilon: str) -> None:
    answer = certified.delta(node, epsilon=epsilon, digits=9)
    assert all(holds for _, holds in check(answer.certificate))
    assert {claim["evidence"]["form"] for claim in answer.certificate["claims"]} == {"closed"}

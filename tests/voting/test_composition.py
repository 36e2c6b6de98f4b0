"""Many different laws composed: against enumeration, and against the general lattice engine."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpacct.pld import bracket, contour
from dpacct.pld.loss import LossDistribution, gaussian
from dpacct.pld.pieces import Cut
from dpacct.pld.rows import compose, epsilon, least
from dpacct.pld.stack import Stack
from dpacct.voting.exact import hulls

Pair = tuple[np.ndarray, np.ndarray]


def pairs(seed: int, count: int, spread: float = 0.3) -> list[Pair]:
    rng = np.random.default_rng(seed)
    results = []
    for _ in range(count):
        p = rng.dirichlet(np.ones(3))
        q = p * np.exp(rng.normal(0.0, spread, 3))
        results.append((p, q / q.sum()))
    return results


def laws(rows: list[Pair]) -> Stack:
    return Stack.of([(np.log(p / q), np.log(p), 0.0) for p, q in rows], np.ones(len(rows)))


def best_tilt(stack: Stack, delta: float) -> float:
    return stack.tilt_for_epsilon(math.log(delta), 4.0)


@pytest.mark.parametrize("at", [0.0, 0.5, 1.5])
def test_against_all_outcomes(at: float) -> None:
    """Six different laws of three outcomes: 729 products, added up."""
    rows = pairs(1, 6)
    exact = 0.0
    for outcome in itertools.product(range(3), repeat=6):
        p = math.prod(row[0][k] for row, k in zip(rows, outcome, strict=True))
        q = math.prod(row[1][k] for row, k in zip(rows, outcome, strict=True))
        exact += max(0.0, p - math.exp(at) * q)
    for c in (0.5, 3.0):
        ours = math.exp(compose(laws(rows), c).log_delta(at, upper=True))
        assert exact * (1.0 - 1e-12) <= ours <= exact * (1.0 + 1e-6)
    # far from the saddle: still from above
    assert math.exp(compose(laws(rows), 20.0).log_delta(at, upper=True)) >= exact


def test_against_the_general_engine() -> None:
    rows = pairs(2, 8, 0.1)
    ours = laws(rows)
    for delta in (1e-2, 1e-6):
        answer = least(compose(ours, best_tilt(ours, delta)), math.log(delta))
        sources = [(Cut(LossDistribution.of_outcomes(np.log(p / q), p)), 1.0) for p, q in rows]
        ends = bracket.epsilon(sources, math.log(delta), 1e-4)
        assert ends.lower <= answer <= ends.upper * (1.0 + 1e-5)


def test_more_points_are_nearer_and_never_below() -> None:
    ours = laws(pairs(3, 300, 0.02))
    c = best_tilt(ours, 1e-6)
    results = [least(compose(ours, c, 1 << k), math.log(1e-6)) for k in (13, 14, 15)]
    assert results[0] > results[1] > results[2]
    assert (results[0] - results[1]) / (results[1] - results[2]) == pytest.approx(5.0, abs=1.5)


@pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-10])
def test_a_contour_is_what_finer_lattices_come_to(delta: float) -> None:
    """Of hundreds of laws no transform is needed: the lattice's excess falls by four with each halving."""
    ours = laws(pairs(3, 500, 0.05))
    tilt = best_tilt(ours, delta)
    answer = contour.epsilon([(ours, 1.0)], math.log(delta))
    assert answer.error < 1e-9
    again = contour.log_delta([(ours, 1.0)], answer.value)
    assert again.value == pytest.approx(math.log(delta), abs=1e-8)
    excess = [
        least(compose(ours, tilt, 1 << k), math.log(delta)) - answer.value for k in (13, 14, 15)
    ]
    assert excess[0] > excess[1] > excess[2] > 0.0
    assert excess[1] / excess[2] == pytest.approx(4.0, abs=1.0)


def test_few_laws_are_left_to_the_lattice() -> None:
    """Their moment function comes back: no contour would settle."""
    ours = laws(pairs(4, 3))
    assert not contour.epsilon([(ours, 1.0)], math.log(1e-6)).resolved
    assert not contour.log_delta([(ours, 1.0)], 0.5).resolved


def test_a_stack_beside_noise_is_its_laws_one_by_one() -> None:
    """Few laws have no contour of their own; noise beside them damps what comes back."""
    drawn = pairs(4, 5)
    beside = [(gaussian(0.5), 1.0)]
    together = contour.epsilon([(laws(drawn), 1.0), *beside], math.log(1e-5))
    each = [(LossDistribution.of_outcomes(np.log(p / q), p), 1.0) for p, q in drawn]
    apart = contour.epsilon([*each, *beside], math.log(1e-5))
    assert together.value == pytest.approx(apart.value, rel=1e-9)


def test_one_law_is_exact() -> None:
    ((p, q),) = pairs(5, 1)
    answer = epsilon(laws([(p, q)]), math.log(1e-3), 3.0)
    delta = float(np.maximum(p - math.exp(answer.value) * q, 0.0).sum())
    assert delta == pytest.approx(1e-3, rel=1e-9)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(2, 10), st.floats(-6.0, 1.0), st.floats(-2.0, 3.0))
def test_moments_at_fifty_digits(seed: int, rows: int, spread: float, tilt: float) -> None:
    """log M keeps its digits however small the losses are."""
    ours, c = laws(pairs(seed, rows, 10.0**spread)), 10.0**tilt
    with mpmath.workdps(50):
        exact = mpmath.mpf(0)
        for losses, log_p in zip(ours.rows, ours.masses, strict=True):
            # both masses are one but for their last digits, which cancel
            p = [mpmath.exp(mpmath.mpf(float(x))) for x in log_p]
            q = [x * mpmath.exp(-mpmath.mpf(float(y))) for x, y in zip(p, losses, strict=True)]
            moment = sum(
                x * mpmath.expm1(c * mpmath.mpf(float(y))) for x, y in zip(p, losses, strict=True)
            )
            moment += c * (sum(q) - sum(p))
            exact += mpmath.log1p(moment)
    assert ours.log_moment(c) == pytest.approx(float(exact), rel=1e-11, abs=1e-300)


@given(st.integers(0, 10**6), st.integers(1, 5))
def test_a_hull_dominates_and_no_more(seed: int, count: int) -> None:
    """Its delta is the largest of the neighbours', at every epsilon."""
    rows = pairs(seed, count, 0.7)
    log_p, log_q = (np.log(np.array([row[k] for row in rows])) for k in (0, 1))
    losses, log_p, _ = hulls(log_p, log_q, np.zeros(count, dtype=int), 1)
    for at in np.linspace(-3.0, 3.0, 25).tolist():
        largest = max(float(np.maximum(p - math.exp(at) * q, 0.0).sum()) for p, q in rows)
        gap = np.exp(log_p) * np.maximum(0.0, -np.expm1(np.minimum(at - losses, 0.0)))
        assert float(gap.sum()) == pytest.approx(largest, abs=1e-12)

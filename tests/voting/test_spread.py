"""Agents of Private-kNN-FL may spread their votes: the box's pair lies above every way to do so."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import dpacct as dp
from dpacct.voting.argmax import GaussianNoise, LaplaceNoise, Screening, laws
from dpacct.voting.exact import Exact, box_pair
from dpacct.voting.votes import Histograms, Level

Floats = NDArray[np.float64]


def delta(log_p: Floats, log_q: Floats, epsilon: float) -> float:
    return float(np.maximum(np.exp(log_p) - math.exp(epsilon) * np.exp(log_q), 0.0).sum())


def spread_votes(shares: int, classes: int) -> list[tuple[int, ...]]:
    return [u for u in product(range(shares + 1), repeat=classes) if sum(u) == shares]


@settings(max_examples=80)
@given(
    votes=st.lists(st.integers(0, 14), min_size=3, max_size=3).filter(lambda v: sum(v) >= 3),
    sigma=st.sampled_from([1, 3, 8]),
    laplace=st.booleans(),
    threshold=st.sampled_from([None, 6]),
)
@example(votes=[0, 0, 9], sigma=1, laplace=False, threshold=None)
def test_every_way_to_spread_lies_below(
    votes: list[int], sigma: int, laplace: bool, threshold: int | None
) -> None:
    """All 10 ways of 3 shares, joining and leaving, both orders, at epsilons of all sizes."""
    level = Level("agent", 3)
    noise = LaplaceNoise(Fraction(sigma)) if laplace else GaussianNoise(Fraction(sigma))
    screening = None if threshold is None else Screening(Fraction(threshold), Fraction(2))
    ready = Histograms.of(np.array([sorted(votes, reverse=True)]))
    sides = Exact(ready, level, noise, screening, spread=True).sides()
    joins, leaves = sides[:2], sides[2:]

    def law(counts: Floats) -> Floats:
        order = np.argsort(-counts, kind="stable")
        table = np.empty(3)
        table[order] = laws(counts[order][None, :].astype(np.int64), level, noise).base[0]
        if screening is None:
            return table
        return screening.joined(np.array([counts.max()]), table[None, :])[0]

    base = ready.counts[0].astype(float)
    base_law = law(base)
    for pairs, way in ((joins, 1), (leaves, -1)):
        for spread in spread_votes(3, 3):
            other = base + way * np.array(spread)
            if other.min() < 0 or other.sum() == 0:
                continue
            theirs = law(other)
            for epsilon in (0.0, 0.05, 0.3, 1.0, 3.0):
                for side, (p, q) in zip(
                    pairs, ((base_law, theirs), (theirs, base_law)), strict=True
                ):
                    true = delta(p, q, epsilon)
                    bound = delta(side.log_p[0], side.log_q[0], epsilon)
                    assert true <= bound * (1 + 1e-9) + 1e-12


def test_two_classes_leave_no_room() -> None:
    """One probability is all there is, so the box is an interval and its pair is attained."""
    level, noise = Level("agent", 4), GaussianNoise(Fraction(5))
    ready = Histograms.of(np.array([[20, 12]]))
    real = Exact(ready, level, noise).sides()
    granted = Exact(ready, level, noise, spread=True).sides()
    for listed, boxed in zip(real, granted, strict=True):
        for epsilon in (0.0, 0.1, 0.5):
            worst = max(
                delta(p, q, epsilon) for p, q in zip(listed.log_p, listed.log_q, strict=True)
            )
            assert delta(boxed.log_p[0], boxed.log_q[0], epsilon) == pytest.approx(
                worst, rel=1e-9, abs=1e-14
            )


@pytest.mark.parametrize("classes", [2, 5, 14])  # the last has too many sets to try them all
def test_the_pair_is_a_pair_of_laws(classes: int) -> None:
    rng = np.random.default_rng(5)
    for _ in range(50):
        base, first, second = np.log(rng.dirichlet(np.ones(classes), 3))
        p, q = box_pair(base, np.minimum(first, second), np.maximum(first, second))
        assert np.exp(p).sum() == pytest.approx(1.0, abs=1e-12)
        assert np.exp(q).sum() == pytest.approx(1.0, abs=1e-12)
        for epsilon in (0.0, 0.4, 2.0):
            for law in (first, second):
                assert delta(law, base, epsilon) <= delta(p, q, epsilon) + 1e-12


@pytest.mark.parametrize("threshold", [None, 12])
def test_agents_with_neighbours_have_two_ends(threshold: int | None) -> None:
    rng = np.random.default_rng(2)
    votes = 5 * rng.multinomial(30, rng.dirichlet(np.ones(6) * 0.3, size=30))
    screened = {} if threshold is None else {"threshold": threshold, "threshold_sigma": 4}
    result = dp.GNMax(sigma=6, level="agent", neighbours=5, **screened).cost(votes, 1e-5)  # type: ignore[arg-type]
    assert result.exact is not None
    lower, upper = result.exact.lower, result.exact.upper
    assert lower is not None and upper is not None and result.data_dependent.upper is not None
    assert 0.0 < lower <= upper <= result.data_dependent.upper

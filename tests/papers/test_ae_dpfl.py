"""AE-DPFL: the corrected data-dependent bounds against each other and against the plain ones."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpacct.papers.formulas.ae_dpfl import (
    theorem11_agent,
    theorem11_instance,
    theorem11_knn_tight,
    theorem14_corrected,
    theorem14_corrected_instance,
    theorem14_corrected_knn,
)
from dpacct.voting.published import event_bound, gaussian_votes, voting_rdp

VOTES = st.lists(st.integers(0, 80), min_size=2, max_size=6)
SIGMA = st.floats(0.2, 20.0)
ALPHA = st.floats(1.1, 60.0)


@given(VOTES, SIGMA, ALPHA)
def test_never_above_the_plain_cost(votes: list[int], sigma: float, alpha: float) -> None:
    agent = theorem14_corrected(votes, sigma, alpha)
    instance = theorem14_corrected_instance(votes, sigma, alpha)
    assert 0.0 <= agent <= theorem11_agent(alpha, 1, sigma) * (1 + 1e-12)
    assert agent <= instance <= theorem11_instance(alpha, 1, sigma) * (1 + 1e-12)


@given(VOTES, SIGMA, ALPHA)
def test_the_order_of_the_classes_does_not_matter(
    votes: list[int], sigma: float, alpha: float
) -> None:
    same = {theorem14_corrected(v, sigma, alpha) for v in (votes, votes[::-1])}
    assert max(same) == pytest.approx(min(same), rel=1e-12)


@given(VOTES, SIGMA, ALPHA)
def test_a_class_far_behind_costs_nothing(votes: list[int], sigma: float, alpha: float) -> None:
    """The bound for three classes is that for two, where nobody votes for the third."""
    far = [v + 10_000 for v in votes]
    fewer, more = (theorem14_corrected(v, sigma, alpha) for v in (far, [*far, 0]))
    assert more == pytest.approx(fewer, rel=1e-12)


@given(VOTES, st.integers(1, 20), SIGMA, ALPHA)
def test_more_neighbours_cost_less(votes: list[int], k: int, sigma: float, alpha: float) -> None:
    each, all_k = (theorem14_corrected_knn([n * v for v in votes], n, sigma, alpha) for n in (1, k))
    assert all_k <= each * (1 + 1e-12)
    assert all_k <= theorem11_knn_tight(alpha, 1, sigma, k) * (1 + 1e-12)


@given(st.floats(-2000.0, -1e-3), ALPHA, SIGMA)
def test_no_log_q_breaks_it(log_q: float, alpha: float, sigma: float) -> None:
    ours = voting_rdp(log_q, alpha, sigma, math.sqrt(2.0))
    theirs = gaussian_votes(log_q, alpha, sigma, math.sqrt(2.0))
    for value in (ours, theirs):
        assert 0.0 <= value <= alpha / sigma**2 * (1 + 1e-12)


@pytest.mark.parametrize("alpha", [1.5, 4.0, 30.0])
def test_q_below_the_range_of_floats(alpha: float) -> None:
    """The bound goes on falling as the logarithm of q does, far below 1e-308."""
    values = [event_bound(log_q, alpha, 0.5) for log_q in (-50.0, -200.0, -700.0, -900.0)]
    assert values == sorted(values, reverse=True) and values[0] > values[1] > 0.0

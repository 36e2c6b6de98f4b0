"""DP-FedSAM: budgets against each other, composition against the optimum, and Table 2."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpacct.papers.formulas import kairouz2015, mironov2019
from dpacct.papers.formulas.dong2019 import c_p_renyi
from dpacct.papers.formulas.dp_fedsam import (
    best_order,
    eq17_corrected,
    lemma5_corrected,
    lemma5_epsilon,
    rounds_within,
    spent,
    theorem2_corrected,
    theorem2_without_replacement,
    within_budget,
)
from dpacct.papers.tables import Cell, cells


@given(st.integers(2, 60), st.floats(0.01, 1.0), st.floats(0.4, 10.0))
def test_the_integral_is_the_binomial_sum(alpha: int, rate: float, sigma: float) -> None:
    wanted = mironov2019.integer(alpha, rate, sigma)
    assert eq17_corrected(float(alpha), rate, sigma, 1) == pytest.approx(
        wanted, rel=1e-9, abs=1e-15
    )


@given(st.floats(1.1, 60.0), st.floats(0.3, 10.0))
def test_everyone_sampled_is_the_plain_gaussian(alpha: float, sigma: float) -> None:
    wanted = alpha / (2.0 * sigma**2)
    assert eq17_corrected(alpha, 1.0, sigma, 1) == pytest.approx(wanted, rel=1e-9)
    assert c_p_renyi(1.0 / sigma, 1.0, alpha) == pytest.approx(wanted, rel=1e-9)


@given(st.floats(1.1, 60.0), st.floats(0.01, 1.0), st.floats(0.4, 10.0))
def test_a_fixed_size_costs_more_than_coins(alpha: float, rate: float, sigma: float) -> None:
    fixed = c_p_renyi(1.0 / sigma, rate, alpha)
    assert eq17_corrected(alpha, rate, sigma, 1) <= fixed * (1.0 + 1e-9) + 1e-15
    assert fixed <= alpha / (2.0 * sigma**2) * (1.0 + 1e-9)


@given(st.integers(1, 150), st.floats(0.01, 2.0), st.floats(0.0, 0.01), st.floats(1e-9, 0.9))
def test_no_bound_beats_the_optimum(steps: int, epsilon: float, delta: float, slack: float) -> None:
    total = lemma5_epsilon(steps, epsilon, delta, slack)
    best = kairouz2015.theorem3_3(epsilon, delta, steps, total)
    bound = lemma5_corrected(steps, epsilon, delta, slack)
    allowed = 1.0 - (1.0 - delta) ** steps * (1.0 - slack)
    assert best <= bound * (1.0 + 1e-9) + 1e-15
    assert bound <= allowed * (1.0 + 1e-9) + 1e-15


def test_more_rounds_cost_more() -> None:
    for account in (theorem2_corrected, theorem2_without_replacement):
        costs = [account(0.1, 0.95, rounds, 0.002) for rounds in (20, 100, 300)]
        assert costs == sorted(costs)


def test_the_best_order_is_the_best_of_many() -> None:
    def height(alpha: float) -> float:
        return 0.3 * alpha + 7.0 / (alpha - 1.0)

    tried = min(height(1.0 + 0.01 * k) for k in range(1, 3000))
    assert best_order(height) == pytest.approx(tried, rel=1e-5)


@pytest.mark.parametrize("cell", list(cells("dp_fedsam")), ids=lambda cell: cell.cell)
def test_a_budget_is_spent_and_not_more(cell: Cell) -> None:
    budget = float(cell.inputs["budget"])
    after = theorem2_corrected(0.1, 0.95, rounds_within(budget) + 1, 0.002)
    assert spent(budget) <= budget < after


def test_the_budgets_are_passed_several_times_over() -> None:
    lower, upper = within_budget(8.0)
    assert 4.0 * 8.0 < lower < upper

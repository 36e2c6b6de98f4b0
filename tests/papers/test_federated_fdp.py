"""Federated f-DP: the tables, and what the corrected forms must agree on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpacct.errors import OutsideDomain
from dpacct.papers.formulas.federated_fdp import (
    equivalent_mu,
    theorem1,
    theorem1_gaussian,
    theorem1_strong,
    theorem2,
    theorem2_thinned,
)
from dpacct.papers.registry import get
from dpacct.papers.tables import Cell, cells

CELLS = list(cells("federated_fdp"))
MU = [cell for cell in CELLS if cell.cell.endswith("mu_max")]


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: f"{cell.table}, {cell.cell}")
def test_the_printed_digits_come_out(cell: Cell) -> None:
    assert cell.matches(cell.computed())


def test_all_twenty_one_privacy_parameters_are_there() -> None:
    assert len(MU) == 21
    assert len(CELLS) == 21 + 12 + 3


def test_the_limit_over_reports_on_every_printed_row() -> None:
    for cell in MU[:9]:
        lower, upper = equivalent_mu(**cell.arguments())
        assert lower < upper < cell.computed()


@given(st.floats(0.01, 1.0), st.integers(1, 5))
def test_clients_that_hide_nothing_give_the_closed_form(rate: float, rounds: int) -> None:
    exact = 1.0 - (1.0 - rate**2) ** rounds
    assert theorem1(rate, rounds, (1.0, 0.0)) == pytest.approx(exact, rel=1e-9)
    assert theorem1(rate, rounds, (0.0, 0.0, 1.0)) == pytest.approx(exact, rel=1e-9)


LAWS = st.lists(st.floats(0.01, 1.0), min_size=2, max_size=5)


@given(st.floats(0.01, 1.0), LAWS)
def test_one_round_hides_by_sampling_or_by_training(rate: float, law: list[float]) -> None:
    """At the largest alpha + beta, max(f, 1 - alpha - p^2) is the one that hides more."""
    apart = sum(abs(a - b) for a, b in zip(law, reversed(law), strict=True)) / (2.0 * sum(law))
    assert theorem1(rate, 1, law) == pytest.approx(min(apart, rate**2), abs=1e-12)


@given(st.integers(1, 4), LAWS)
def test_all_clients_in_all_rounds_are_plain_composition(rounds: int, law: list[float]) -> None:
    first, second = [1.0], [1.0]
    for _ in range(rounds):
        first = [a * b for a in first for b in law]
        second = [a * b for a in second for b in reversed(law)]
    apart = sum(abs(a - b) for a, b in zip(first, second, strict=True)) / (2.0 * sum(first))
    assert theorem1(1.0, rounds, law) == pytest.approx(apart, abs=1e-12)
    assert theorem1_strong(1.0, 2, rounds, law) == pytest.approx(apart, abs=1e-12)


def test_a_law_of_nothing_is_refused() -> None:
    point = {"rate": 0.5, "rounds": 2, "law": [0, 0]}
    with pytest.raises(OutsideDomain, match="law must have a positive number in it, got"):
        get("federated_fdp.theorem1").evaluate(point, as_printed=True)


@given(st.floats(0.1, 2.0), st.integers(1, 30), st.floats(0.1, 4.0))
def test_more_coins_cost_more(mu: float, rounds: int, epsilon: float) -> None:
    rates = [theorem1_gaussian(mu, rate, rounds, epsilon) for rate in (0.1, 0.5, 1.0)]
    assert rates == sorted(rates)


def test_a_certain_client_is_the_plain_composition() -> None:
    assert theorem2_thinned(1.0, 0.1, 1.0, 5, 8, 1.0) == pytest.approx(theorem2(0.1, 1.0, 40, 1.0))

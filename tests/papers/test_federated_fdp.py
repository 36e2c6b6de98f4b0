"""Federated f-DP: the tables, and what the corrected forms must agree on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpacct.papers.formulas.federated_fdp import (
    equivalent_mu,
    theorem1_gaussian,
    theorem2,
    theorem2_thinned,
)
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


@given(st.floats(0.1, 2.0), st.integers(1, 30), st.floats(0.1, 4.0))
def test_more_coins_cost_more(mu: float, rounds: int, epsilon: float) -> None:
    rates = [theorem1_gaussian(mu, rate, rounds, epsilon) for rate in (0.1, 0.5, 1.0)]
    assert rates == sorted(rates)


def test_a_certain_client_is_the_plain_composition() -> None:
    assert theorem2_thinned(1.0, 0.1, 1.0, 5, 8, 1.0) == pytest.approx(theorem2(0.1, 1.0, 40, 1.0))

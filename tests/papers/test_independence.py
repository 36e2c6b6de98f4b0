"""No oracle reaches code that its formula reaches, so that neither can hide the other's error."""

from __future__ import annotations

import math

import pytest

from dpacct.mechanisms.laws import staircase
from dpacct.papers import truths
from dpacct.papers.formulas import dp_fedsam, mironov2017, udp_fl
from dpacct.papers.oracle import oracle_of
from dpacct.papers.page import Statement
from tests.papers.calls import reached
from tests.papers.statements import ALL

PAIRS = [s for s in ALL if s.formula is not None and oracle_of(s) is not None]


@pytest.mark.parametrize("statement", PAIRS, ids=lambda s: s.id)
def test_formula_and_oracle_share_no_code(statement: Statement) -> None:
    judge = oracle_of(statement)
    assert statement.formula is not None and judge is not None
    assert not reached(statement.formula) & reached(judge.judge)


def test_no_formula_asks_the_engine() -> None:
    """Nor what the oracles share."""
    for statement in PAIRS:
        assert statement.formula is not None
        asked = {name.rpartition(".")[0] for name in reached(statement.formula)}
        engine = {f"dpacct.pld.{name}" for name in ("contour", "brackets", "rare", "pair")}
        engine |= {f"dpacct.plan.{name}" for name in ("node", "combine", "facts", "saved")}
        assert not asked & engine
        assert truths.__name__ not in asked, statement.id


def direct(alpha: float, rho: float, delta: float) -> float:
    return mironov2017.proposition3(alpha, rho, delta)


def inside_a_lambda(alpha: float) -> float:
    return sum(map(lambda x: staircase.renyi(alpha, x, 0.5), (1.0, 2.0)))


def late(alpha: float) -> float:
    from dpacct.plan.sampled_renyi import by_quadrature

    return math.sqrt(by_quadrature(alpha, 0.1, 1.0))


@pytest.mark.parametrize(
    ("oracle", "formula"),
    [
        (direct, mironov2017.proposition3),
        (inside_a_lambda, udp_fl.theorem2_corrected),
        (late, dp_fedsam.eq17),
    ],
)
def test_a_common_function_is_seen(oracle: object, formula: object) -> None:
    assert callable(oracle) and callable(formula)
    assert reached(oracle) & reached(formula)

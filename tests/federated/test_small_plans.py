"""Theorem 1 against Algorithm 1 run through all its outcomes."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpacct as dp
from dpacct.papers.formulas.federated_fdp import theorem1, theorem1_corrected
from tests.federated.small_plans import SmallPlan


def test_the_witness_of_theorem_1() -> None:
    """Federated f-DP, Theorem 1: p = 1/2, R = 2, eta = 1/2, an exact release: 0.5 against 0.4375."""
    plan = SmallPlan(2, 2, 0.5, 0.5, 40.0, 0.0)
    assert plan.truth(strong=False) == pytest.approx(0.5, abs=1e-12)
    assert (
        plan.printed(strong=False)
        == pytest.approx(theorem1(0.5, 2, [1.0, 0.0]))
        == pytest.approx(0.4375)
    )
    assert (
        plan.two_level()
        == pytest.approx(theorem1_corrected(0.5, 2, (1.0, 0.0)))
        == pytest.approx(0.75)
    )
    assert plan.last_sync() == pytest.approx(0.5, abs=1e-12)
    # with eta = 1 nothing is remembered, but a third client relays
    forgetful = SmallPlan(2, 2, 0.5, 1.0, 40.0, 0.0)
    assert forgetful.truth(strong=False) <= forgetful.printed(strong=False)
    relayed = SmallPlan(3, 3, 0.5, 1.0, 40.0, 0.0)
    assert relayed.truth(strong=False) > SmallPlan(2, 3, 0.5, 1.0, 40.0, 0.0).truth(strong=False)


@pytest.mark.parametrize("strong", [False, True])
@settings(max_examples=60)
@given(seed=st.integers(0, 10**9))
def test_no_observer_sees_more_than_two_levels(strong: bool, seed: int) -> None:
    plan = SmallPlan.draw(Random(seed))
    assert plan.truth(strong=strong) <= plan.two_level() + 1e-12
    assert plan.truth(strong=False) <= plan.last_sync() + 1e-12 <= plan.two_level() + 2e-12
    assert plan.truth(strong=False) <= plan.truth(strong=True) + 1e-12


def test_two_levels_are_what_the_engine_says() -> None:
    """The small plans' bound by dpacct's own tree of answers by randomised response."""
    for seed in range(6):
        plan = SmallPlan.draw(Random(seed))
        if plan.step > 20.0 or plan.epsilon == 0.0:
            continue
        answer = dp.RandomizedResponse(eps0=plan.step)
        run = dp.Participation(plan.rate)(answer) * plan.rounds
        result = run.delta(epsilon=plan.epsilon, method="bracket")
        assert result.lower is not None and result.upper is not None
        assert result.lower * (1 - 1e-9) - 1e-15 <= plan.two_level() <= result.upper * (1 + 1e-9)

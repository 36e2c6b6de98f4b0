"""Theorem 1 against Algorithm 1 run through all its outcomes, and the stored search over such plans."""

import json
import math
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpacct as dp
from dpacct.federated import PriFedSync
from dpacct.papers.formulas.federated_fdp import theorem1, theorem1_corrected
from tests.federated import search
from tests.federated.small_plans import SmallPlan

STORED = json.loads(search.STORED.read_text(encoding="utf-8"))


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


def test_the_witness_through_the_route() -> None:
    """At delta = 0.45 the printed theorem says epsilon = 0, and the truth is 1/2 there: no epsilon at all."""
    plan = PriFedSync(
        clients=2,
        client_rate="0.5",
        batch_size=60,
        records=60,
        local_steps=1,
        rounds=2,
        sigma="0.2",
    )
    rows = list(plan.rows(delta="0.45"))
    printed = {row.printed.theorem: row for row in rows if row.printed}
    wrong = printed["federated_fdp.theorem1"]
    assert wrong.printed is not None and wrong.printed.status == "refuted"
    assert wrong.printed.value == 0.0
    assert wrong.answer == rows[0].answer and float(wrong.answer) > 0.0  # the truth in its place
    truth = SmallPlan(2, 2, 0.5, 0.5, 40.0, 0.0).truth(strong=False) * math.erf(
        0.5 * 5.0 / math.sqrt(2.0)
    )
    assert truth > 0.45


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


def test_the_stored_search_found_no_plan_beyond_a_corrected_bound() -> None:
    outcomes, gaussian = STORED["outcomes"], STORED["gaussian"]
    assert STORED["seed"] == search.SEED
    assert outcomes["draws"] == gaussian["draws"] == 10**5
    noisy = STORED["noisy_sgd"]
    assert noisy["draws"] == 10**5 and noisy["missed"] == 0
    assert noisy["most_above_truth"] < 1.001
    assert STORED["steps"]["draws"] >= 1000
    assert STORED["steps"]["missed"] == gaussian["missed"] == 0
    for name in ("two_level_weak", "two_level_strong", "last_sync"):
        assert outcomes["missed"][name] == 0
        assert outcomes["largest_share"][name] == pytest.approx(1.0, abs=1e-9)  # attained
    for name in ("printed_weak", "printed_strong"):  # and the same search finds what is false
        assert outcomes["missed"][name] > 10_000


def test_the_head_of_the_search_is_todays() -> None:
    fresh = search.outcomes(1500)
    assert fresh["missed"]["two_level_weak"] == fresh["missed"]["last_sync"] == 0
    assert fresh["missed"]["two_level_strong"] == 0
    assert fresh["first"] == STORED["outcomes"]["first"]
    assert search.gaussian(60)["missed"] == 0
    assert search.steps(8)["missed"] == 0


def test_a_head_of_noisy_plans_and_what_the_judge_can_see() -> None:
    """Tables of other plans are told apart from the answers by the judge."""
    assert search.noisy_sgd(8)["missed"] == 0
    rng, seen = Random(9), 0
    for _ in range(6):
        plan, truth, epsilon = search.noisy_plan(rng)
        answer = plan.tree().delta(epsilon=epsilon, method="exact")
        louder = replace(truth, sigma=0.98 * truth.sigma)  # two percent less noise
        seen += answer.upper < louder.deltas(np.array([epsilon]))[0][0]
    assert seen >= 4

"""What an answer claims about itself: ends, grade, saved form; and that it never is nothing."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import strategies as st

import dpacct as dp
from dpacct.answer import Answer
from dpacct.vocabulary import Side, Strength
from tests.laws.brought import Brought
from tests.laws.catalogue import (
    DISTINCT,
    OFFERED,
    PAIRED,
    SEARCH,
    Combination,
    converged,
    deltas,
    ends,
    epsilons,
    law,
    over,
    powers,
    relative_width,
)

WIDEST = 2e-9
"""Relative width of a converged bracket, at most: 1e-9 to either side."""


def is_sound(answer: Answer, *, exact: bool) -> None:
    lower, upper = ends(answer)
    numbers = (answer.value, lower, upper, float(answer))
    assert not any(math.isnan(number) for number in numbers)
    assert 0.0 <= lower <= answer.value <= upper
    assert float(answer) == upper or answer.upper is None
    if answer.quantity == "delta":
        assert answer.value <= 1.0
        # a value that has left the range of floats has its logarithm, unless it is zero itself
        if answer.log_value is not None and answer.value > 1e-300:
            assert math.isclose(
                math.log(answer.value), answer.log_value, rel_tol=1e-9, abs_tol=1e-9
            )
    if exact and answer.side is Side.TWO_SIDED and converged(answer):
        narrow = math.isinf(answer.value) or upper < 1e-300 or relative_width(answer) <= WIDEST
        assert narrow, f"{answer} is not as narrow as it claims"
    json.dumps(answer.to_dict(), allow_nan=False)


@over(DISTINCT)
@law(data=st.data(), delta=deltas, epsilon=epsilons)
def test_every_answer_is_sound(
    cell: Combination, data: st.DataObject, delta: float, epsilon: float
) -> None:
    plan = data.draw(cell.plans())
    is_sound(plan.epsilon(delta), exact=cell.exact)
    is_sound(plan.delta(epsilon), exact=cell.exact)
    is_sound(plan.delta(0), exact=cell.exact)


@over(PAIRED)
@law(data=st.data(), delta=deltas)
def test_common_plans_converge(cell: Combination, data: st.DataObject, delta: float) -> None:
    """Where T q >= 1 or T = 1 the exact route reaches its 1e-9, or says that it doesn't."""
    plan = data.draw(cell.plans(common=True))
    answer = plan.epsilon(delta)
    assert answer.strength >= Strength.BOUND
    assert answer.side is Side.TWO_SIDED
    if cell.kind.settled or (plan.steps == 1 and cell.kind.closed):
        assert converged(answer)


@over(OFFERED)
@law(data=st.data(), delta=deltas)
def test_json_round_trip_gives_the_same_answer(
    cell: Combination, data: st.DataObject, delta: float
) -> None:
    plan = data.draw(cell.plans())
    node = plan.node.under(plan.adjacency)
    if isinstance(cell.kind.make, Brought) and cell.kind.make.form != "tables":
        with pytest.raises(dp.Unsupported, match="made of a function cannot be saved"):
            node.to_json()
        return
    again = dp.from_json(node.to_json())
    assert again == node
    assert dp.from_dict(json.loads(json.dumps(node.to_dict()))) == node
    first, second = (x.epsilon(delta=delta, method=plan.method) for x in (node, again))
    assert (first.value, first.lower, first.upper) == (second.value, second.lower, second.upper)
    assert first.adjacency is second.adjacency is plan.adjacency


@over(DISTINCT)
@law(data=st.data(), asked=st.lists(epsilons, min_size=1, max_size=5 if SEARCH else 2))
def test_the_profile_is_delta(cell: Combination, data: st.DataObject, asked: list[float]) -> None:
    """The same upper ends, in the order asked, and 0 among them."""
    plan = data.draw(cell.plans(common=True))
    profile = plan.node.profile([*asked, 0.0], adjacency=plan.adjacency)
    assert profile.shape == (len(asked) + 1,)
    assert not np.isnan(profile).any()
    for epsilon, value in zip([*asked, 0.0], profile.tolist(), strict=True):
        answer = plan.delta(epsilon)
        lower, upper = ends(answer)
        assert lower * (1 - 1e-9) <= value, f"profile {value} below {answer} at {epsilon}"
        # a lattice that serves many epsilons is as wide as three that are asked one by one
        most = 1e-8 if converged(answer) else 3e-4
        assert value <= upper * (1 + most) + 1e-300, f"profile {value} above {answer} at {epsilon}"


@over(tuple(cell for cell in DISTINCT if cell.sampler is None))
@law(data=st.data(), delta=powers(-12, -1))
def test_compare_lists_the_strongest_first(
    cell: Combination, data: st.DataObject, delta: float
) -> None:
    plan = data.draw(cell.plans(common=True))
    plan = plan.but(steps=min(plan.steps, 3))
    answers = plan.node.compare(delta=delta, adjacency=plan.adjacency)
    assert answers[0].strength is max(answer.strength for answer in answers)
    methods = [answer.method for answer in answers]
    assert len(set(methods)) == len(methods)
    (engine,) = (answer for answer in answers if answer.method == plan.method)
    assert engine.value == plan.epsilon(delta).value
    for answer in answers:
        assert answer.seconds >= 0.0
        assert (answer.method == "clt") == (answer.strength is Strength.ESTIMATE)
        if answer.strength > Strength.ESTIMATE:
            assert ends(engine)[0] <= ends(answer)[1]

"""Plans as users run them: what was judged by an earlier dpacct, and a few again by a second method."""

import json

import pytest

import dpacct as dp
from tests.searches.users_plans import STORE, question

STORED = json.loads(STORE.read_text())
NAMES = {name: getattr(dp, name) for name in dp.__all__}


def test_no_stored_answer_was_outside() -> None:
    users = STORED["users"]
    counts = users["counts"]["auto"]
    assert counts["inside"] >= 1000 and set(counts) <= {"inside", "not judged", "refused"}
    assert counts.get("refused", 0) <= 1e-3 * counts["inside"]
    assert users["wider than 1e-4"]["auto"] <= 0.01 * counts["inside"]


@pytest.mark.parametrize("first", [0, 10, 20, 30])
def test_two_methods_meet(first: int) -> None:
    for n in range(first, first + 10):
        text, delta, adjacency = question(n)
        plan = eval(text, dict(NAMES))
        ours, other = (
            plan.epsilon(delta, method=method, adjacency=adjacency)
            for method in ("auto", "bracket")
        )
        for a, b in ((ours, other), (other, ours)):
            low = 0.0 if a.lower is None else a.lower
            assert low <= b.upper * (1 + 1e-9) + 1e-12, text


def test_where_an_earlier_dpacct_was_wrong() -> None:
    """Case 1805 of the extremes: 52db4043 says at most 2.10028, which five of its releases alone exceed."""
    wrong = STORED["extreme"]["counts"]["auto"].pop("52db4043 wrong")
    assert wrong == 1 and set(STORED["extreme"]["counts"]["auto"]) <= {
        "inside",
        "not judged",
        "refused",
    }
    noise = dp.DiscreteGaussian(scale="7.145") * 5
    plan = dp.Poisson("2.91e-09")(dp.Gaussian(sigma="1.297")) * 4_343_045 + noise
    alone = 2.10046166856773  # the sum over whole numbers at 40 digits
    for each in (noise, plan):
        answer = each.epsilon("1.221e-12", adjacency="replace-one")
        assert answer.lower is not None and answer.lower <= alone * (1 + 1e-7)
        assert float(answer) >= alone

"""Guarantees sampled under replace-one: the proof realises fewer directions than the engine."""

import pytest

import dpacct as dp


@pytest.mark.parametrize("steps", [1, 10])
@pytest.mark.parametrize(
    "release", [dp.PureDP(epsilon=1), dp.ApproxDP(epsilon=1, delta=1e-6)], ids=repr
)
def test_both_ways_meet(release: dp.Node, steps: int) -> None:
    plan = dp.Poisson("0.1")(release) * steps
    proven = plan.epsilon(delta=1e-4, adjacency="replace-one")
    answer = plan.epsilon(delta=1e-4, adjacency="replace-one", method="exact")
    assert proven.method == "certified"
    assert proven.lower is not None and answer.upper is not None
    assert proven.lower <= answer.upper
    assert proven.upper == pytest.approx(answer.upper, rel=1e-9)

"""What a line is made of must not be seen in the answer."""

from __future__ import annotations

import dpacct as dp


def test_a_line_does_not_depend_on_its_nodes() -> None:
    """Found when the blocks of a line changed: the tail of C_q was cut where the tilt still lived."""
    plan = dp.WithoutReplacement(0.01683)(dp.Gaussian(sigma=3.598)) * 118
    answer = plan.epsilon(delta=2.274e-39, method="exact")
    truth = 0.79294346431512686  # tests/golden/plans.json
    assert truth <= answer.upper <= truth * 1.001

"""The jump expansion must not depend on where the bulk ends, nor on how the line's nodes are grouped.

Every edge is a different split into bulk and pieces, so the agreement is a check from a second
method: a rule too coarse for one piece shows as a scatter that its claimed error does not cover.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import dpacct as dp
from dpacct.compose.composition import Composition
from dpacct.engine.jumps import JumpExpansion, valley
from dpacct.vocabulary import Adjacency

#: sigma, rate, steps, delta, about epsilon, the uncut law's tilt.
PLANS = [
    (1.4760996411924638, 1.2040846265906905e-08, 4022053927, 4.968974839263498e-125, 0.13883, 75.0),
    (0.57361, 1.80408e-7, 9536846148, 9.5603e-7, 0.30773, 12.0),
    (1.0, 1e-3, 1000, 1e-5, 0.1489, 20.0),
]


@pytest.mark.parametrize(("sigma", "rate", "steps", "delta", "near", "tilt"), PLANS)
def test_any_cut_gives_the_same(
    sigma: float, rate: float, steps: int, delta: float, near: float, tilt: float
) -> None:
    plan = Composition(dp.Poisson(rate)(dp.Gaussian(sigma=sigma)) * steps, Adjacency.ADD_REMOVE)
    (law,) = (law for way in plan.upper for law, _ in way.laws if law.cuttable is not None)
    cut = law.cuttable
    assert cut is not None
    found = []
    for factor in (2.5, 5.0, 12.0, 60.0):
        edge = valley(cut, tilt * factor)
        for shift in (0.0, 0.2) if edge is not None else ():
            expansion = JumpExpansion(cut, float(steps), (edge or 0.0) + shift, tilt)
            solved = expansion.solve(math.log(delta), 0.3 * near, 3.0 * near)
            if solved is not None:
                found.append(solved)
    assert len(found) >= 2
    values, margins = np.array(found).T
    assert np.all(margins <= 1e-9 * values)
    middle = float(np.median(values))
    assert np.all(np.abs(values - middle) <= 2.0 * margins), (values, margins)


def test_a_line_does_not_depend_on_its_nodes() -> None:
    """Found when the blocks of a line changed: the tail of C_q was cut where the tilt still lived."""
    plan = dp.WithoutReplacement(0.01683)(dp.Gaussian(sigma=3.598)) * 118
    answer = plan.epsilon(delta=2.274e-39, method="exact")
    truth = 0.79294346431512686  # tests/golden/plans.json
    assert truth <= answer.upper <= truth * 1.001

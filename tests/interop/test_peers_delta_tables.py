"""dp_accounting's own tables of delta, for sampling, both directions and replace-one, against our laws.

Their test classes are imported from what is installed; delta is ours, their assertions judge it.
"""

import math
import unittest
from typing import Any
from unittest import mock

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_mechanism as theirs
from dp_accounting.pld import privacy_loss_mechanism_test as tables

import dpacct as dp
from dpacct.plan.composition import Composition
from dpacct.vocabulary import Adjacency

KINDS = {
    "gaussian": (theirs.GaussianPrivacyLoss, tables.GaussianPrivacyLossTest, 42),
    "laplace": (theirs.LaplacePrivacyLoss, tables.LaplacePrivacyLossTest, 30),
    "discrete_laplace": (
        theirs.DiscreteLaplacePrivacyLoss,
        tables.DiscreteLaplacePrivacyLossDistributionTest,
        27,
    ),
    "discrete_gaussian": (
        theirs.DiscreteGaussianPrivacyLoss,
        tables.DiscreteGaussianPrivacyLossTest,
        16,
    ),
}


def mechanism(kind: str, law: Any) -> dp.Node:
    """The noise of their law; a discrete Gaussian of theirs is cut off, so it is a table."""
    if kind == "gaussian":
        return dp.Gaussian(noise_multiplier=law._standard_deviation / law.sensitivity, clip=1)
    if kind == "laplace":
        return dp.Laplace(b=law.parameter / law.sensitivity)
    if kind == "discrete_laplace":
        return dp.DiscreteLaplace(scale=1 / law.parameter, sensitivity=int(law.sensitivity))
    far = law._truncation_bound
    mass = np.exp(-(np.arange(-far, far + 1) ** 2) / (2 * law._sigma**2))
    nothing = np.zeros(int(law.sensitivity))
    rows = np.concatenate([mass, nothing]), np.concatenate([nothing, mass])
    return dp.Custom(tables=tuple((row / mass.sum()).tolist() for row in rows))


def deltas(kind: str, law: Any, epsilon: float) -> list[float]:
    """Delta in each direction; at a negative epsilon by that of the other direction."""
    node, rate = mechanism(kind, law), law.sampling_prob
    both = law.adjacency_type is theirs.AdjacencyType.REPLACE
    adjacency = Adjacency.REPLACE_ONE if both else Adjacency.ADD_REMOVE
    plan = Composition(dp.Poisson(rate)(node) if rate < 1 else node, adjacency)
    beyond = [math.exp(way.log_delta(abs(epsilon)).upper) for way in plan.upper]
    if epsilon >= 0:
        return beyond
    return [1 - math.exp(epsilon) + math.exp(epsilon) * delta for delta in beyond]


@pytest.mark.parametrize("kind", KINDS)
def test_their_table_of_deltas(kind: str) -> None:
    law, case, rows = KINDS[kind]
    their_delta = law.get_delta_for_epsilon

    def ours(self: Any, epsilon: Any) -> Any:
        told = np.atleast_1d(their_delta(self, epsilon))  # it says which direction is meant
        found = [
            min(deltas(kind, self, float(e)), key=lambda delta: abs(delta - near))
            for e, near in zip(np.atleast_1d(epsilon), told, strict=True)
        ]
        return found if np.ndim(epsilon) else found[0]

    names = unittest.TestLoader().getTestCaseNames(case)
    suite = unittest.TestSuite(case(name) for name in names if "get_delta_for_epsilon" in name)
    result = unittest.TestResult()
    with mock.patch.object(law, "get_delta_for_epsilon", ours):
        suite.run(result)
    assert not result.errors and not result.failures, [*result.errors, *result.failures]
    assert result.testsRun == rows

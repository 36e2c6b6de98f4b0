"""What builds a plan, or stands in one, keeps the laws of plans: votes, shuffles, rounds, nested samples."""

from __future__ import annotations

import math

import pytest

import dpacct as dp
from dpacct.plan.node import Node, resolve_adjacency
from tests.laws.catalogue import COMPOSITES

DELTA = 1e-5
each = pytest.mark.parametrize("node", COMPOSITES.values(), ids=COMPOSITES.keys())


@each
def test_it_is_saved_and_read_back(node: Node) -> None:
    again = dp.from_json(node.to_json())
    assert again == node and hash(again) == hash(node) and repr(again) == repr(node)
    assert dp.from_json((node * 3).to_json()) == node * 3


@each
def test_it_composes(node: Node) -> None:
    """More releases cost more, and no more than as much again; equal neighbours merge."""
    once, twice = (float(plan.epsilon(DELTA, method="exact")) for plan in (node, node * 2))
    assert 0.0 < once < twice
    assert node + node == node * 2 and (node + node).releases() == (node * 2).releases()
    halves = float(node.epsilon(DELTA / 2, method="exact"))
    assert twice <= 2.0 * halves * (1.0 + 1e-9)
    other = dp.Gaussian(sigma=4).under(resolve_adjacency(node))
    mixed = float((node + other).epsilon(DELTA, method="exact"))
    assert max(once, float(other.epsilon(DELTA, method="exact"))) < mixed


@each
def test_epsilon_and_delta_invert_each_other(node: Node) -> None:
    plan = node * 2
    answer = plan.epsilon(DELTA, method="exact")
    assert answer.lower is not None and answer.upper is not None
    assert plan.delta(answer.upper * (1 + 1e-9), method="exact").lower <= DELTA * (1 + 1e-6)
    assert plan.delta(answer.lower * (1 - 1e-9), method="exact").upper >= DELTA * (1 - 1e-6)


@each
def test_its_renyi_divergence_bounds_it(node: Node) -> None:
    plan = node * 2
    orders = [1.5, 4.0, 16.0]
    moments = [float(plan.rdp(order)) for order in orders]
    assert moments == sorted(moments) and moments[0] > 0.0
    rdp = plan.epsilon(DELTA, method="rdp")
    assert float(plan.epsilon(DELTA, method="exact").lower or 0.0) <= float(rdp)
    # Canonne, Kamath, Steinke 2020, Proposition 12, at an order of no importance
    by_hand = moments[1] + math.log1p(-1 / 4.0) - (math.log(DELTA) + math.log(4.0)) / 3.0
    assert float(rdp) <= by_hand * (1 + 1e-9)


@each
def test_adaptive_use_counts_it(node: Node) -> None:
    """A filter and an odometer take it like any release, and cost more than a plan fixed in advance."""
    adjacency, unit = resolve_adjacency(node), node.unit
    budget = dp.Filter(epsilon=50, delta=DELTA, adjacency=adjacency, unit=unit)
    odometer = dp.Odometer(delta=DELTA, adjacency=adjacency, unit=unit)
    for _ in range(2):
        budget.spend(node)
        odometer.spend(node)
    assert 0.0 < budget.spent() < 1.0
    assert float(odometer.spent()) >= float((node * 2).epsilon(DELTA, method="exact").lower or 0.0)


@each
def test_a_group_of_two_loses_more(node: Node) -> None:
    alone = float(node.epsilon(DELTA, method="exact"))
    pair = dp.Group(node, size=2)
    assert float(pair.epsilon(delta=DELTA)) > alone
    assert dp.Group(node, size=1).releases() == node.releases()

"""Tally: log moments and open failures that adaptively chosen releases have added up to.

For one direction of the neighbouring relation and one s = order - 1, with L_n the loss of the first
n releases and m_n the sum of their log moments (each bounded given what came before),

    e^{s L_n - m_n}   is a supermartingale under P, of mean at most 1,

however the releases were chosen (Feldman, Zrnic 2021). Filter and odometer both rest on it. An
outcome that is impossible under Q counts apart, as in the approximate zCDP of Whitehouse et al. 2023.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TypeVar

import numpy as np

from dpacct.compose.composition import Composition
from dpacct.declare.domain import Real
from dpacct.declare.number import Number, exact, shown
from dpacct.errors import InvalidArgument
from dpacct.pld.pair import Moments
from dpacct.pld.stable import TooFine
from dpacct.tree import Node, resolve_adjacency
from dpacct.vocabulary import Adjacency

_Told = TypeVar("_Told")

ORDER = Real(1, math.inf, typical=(1.1, 64))
"""A Renyi order."""
ORDERS = (1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 64.0, 128.0)
"""Orders used where none are named: a plan near the budget has its best order among them or close by."""
SLACK = 1e-12
"""Relative rounding that every sum of moments is widened by."""


@dataclass(frozen=True)
class Cost:
    """What one plan adds, for each direction: log moments per order, and the mass of open failures."""

    log_moments: tuple[tuple[float, ...], ...]
    failures: tuple[float, ...]

    def __add__(self, other: Cost) -> Cost:
        return total([(self, 1), (other, 1)])


def total(costs: Sequence[tuple[Cost, int]]) -> Cost:
    """What several plans add, each so often; the same in whichever order they come."""
    # a plan of one direction costs the same in both
    ways = range(max(len(cost.failures) for cost, _ in costs))
    orders = range(len(costs[0][0].log_moments[0]))
    moments = tuple(
        tuple(math.fsum(n * _of(cost.log_moments, k)[i] for cost, n in costs) for i in orders)
        for k in ways
    )
    return Cost(
        moments, tuple(math.fsum(n * _of(cost.failures, k) for cost, n in costs) for k in ways)
    )


def _of(told: Sequence[_Told], k: int) -> _Told:
    return told[min(k, len(told) - 1)]


def nothing(orders: Sequence[float]) -> Cost:
    """The cost of no release."""
    return Cost(((0.0,) * len(orders),), (0.0,))


@lru_cache(maxsize=1024)  # a loop, or a ledger that is read again, asks for the same step each time
def cost(node: Node, orders: tuple[float, ...], adjacency: Adjacency) -> Cost:
    """What a plan adds at these orders; raises `Unsupported` where nothing is known."""
    plan = Composition(node, resolve_adjacency(node, adjacency))
    tilts = np.array(orders) - 1.0
    moments, failures = [], []
    for way in plan.moments:
        moments.append(tuple(_log_moment(way, tilt) for tilt in tilts.tolist()))
        failed = sum(n * each.infinite for each, n in way)
        failures.append(min(1.0, failed * (1.0 + SLACK)))
    return Cost(tuple(moments), tuple(failures))


def _log_moment(way: Sequence[tuple[Moments, int]], s: float) -> float:
    """log E[e^{sL}] under P given that nothing failed openly, against all of Q; never below 0."""
    total = 0.0
    try:
        for moments, n in way:
            # with P divided by 1 - f, so that the loss is -log(1 - f) more
            kept = -(1.0 + s) * math.log1p(-moments.infinite)
            total += n * (float(moments.log_moments(np.array([s]))[0]) + kept)
    except TooFine:
        return math.inf
    return math.inf if math.isnan(total) else max(0.0, total) * (1.0 + SLACK)


def checked_orders(orders: Sequence[Number] | None) -> tuple[float, ...]:
    """Orders above 1, increasing; raises `InvalidArgument` for none, and for bad ones."""
    if orders is None:
        return ORDERS
    if isinstance(orders, str) or not isinstance(orders, Sequence) or not orders:
        message = f"orders must be a list of numbers above 1, got {shown(orders)}"
        raise InvalidArgument(message, argument="orders")
    return tuple(sorted({float(ORDER.check("orders", order)) for order in orders}))


def kept_failures(failures: Number, delta: Fraction) -> Fraction:
    """The part of delta kept for open failures; raises `InvalidArgument` unless in [0, delta)."""
    part = exact(failures)
    if part is None or not 0 <= part < delta * (1 - Fraction(1, 10**6)):
        message = f"failures must be a number of at least 0 and below delta, got {shown(failures)}"
        raise InvalidArgument(message, argument="failures")
    return part


def checked_plan(node: object) -> Node:
    """A plan, or one sentence."""
    if isinstance(node, Node):
        return node
    message = f"what is spent must be a plan such as Gaussian(sigma=1), got {shown(node)}"
    raise InvalidArgument(message, argument="plan")

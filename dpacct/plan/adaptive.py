"""Privacy filters: guarantees for releases chosen adaptively.

Composition theorems fix the plan in advance. A filter only fixes (epsilon, delta): each release may depend
on all earlier outputs, and what would break the budget is refused. It tallies log moments and open
failures. For one direction of the neighbouring relation and one s = order - 1, with L_n the loss of the first
n releases and m_n the sum of their log moments (each bounded given what came before),

    e^{s L_n - m_n}   is a supermartingale under P, of mean at most 1,

however the releases were chosen (Feldman, Zrnic 2021). A filter has a share of delta for each order, so
that whichever order is still within its budget at the end bounds its part of delta: docs/theory/adaptive.md
has the proof. An outcome that is impossible under Q counts apart (Whitehouse et al. 2023).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TypeVar

import numpy as np

from dpacct.answer import Answer
from dpacct.citations import CONVERSION, OPEN_FAILURES, RENYI_FILTER
from dpacct.declare.domain import DELTA, EPSILON, ORDER, Integer
from dpacct.declare.number import Number, exact, ln, near, shown, text
from dpacct.display import Displayed, Facts
from dpacct.errors import BudgetExceeded, InvalidArgument
from dpacct.plan.composition import Composition
from dpacct.plan.node import Node, resolve_adjacency
from dpacct.pld import conversions, roots
from dpacct.pld.pair import PairMoments
from dpacct.pld.stable import TooFine
from dpacct.vocabulary import Adjacency, Assumption, Side, Strength, Unit

_COUNT = Integer(0, 10**15)
"""The number of releases of a plan."""
# failures may exceed their part by the rounding of their sum, which the rest of delta pays for
_ROUNDED = 1 + Fraction(1, 10**9)

_Way = TypeVar("_Way")

ORDERS = (1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 64.0, 128.0)
"""Orders used where none are named: a plan near the budget has its best order among them or close by."""
SLACK = 1e-12
"""Relative rounding that every sum of moments is widened by."""


@dataclass(frozen=True)
class Cost:
    """The cost of a plan, per direction: log moments at each order, and the mass of open failures."""

    log_moments: tuple[tuple[float, ...], ...]
    failures: tuple[float, ...]

    def __add__(self, other: Cost) -> Cost:
        return total([(self, 1), (other, 1)])


def total(costs: Sequence[tuple[Cost, int]]) -> Cost:
    """The total cost of plans with their counts, in whatever order."""
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


def _of(ways: Sequence[_Way], k: int) -> _Way:
    return ways[min(k, len(ways) - 1)]


def nothing(orders: Sequence[float]) -> Cost:
    """The cost of no release."""
    return Cost(((0.0,) * len(orders),), (0.0,))


@lru_cache(maxsize=1024)  # a loop, or a ledger that is read again, asks for the same step each time
def cost(node: Node, orders: tuple[float, ...], adjacency: Adjacency) -> Cost:
    """The cost of a plan at these orders; raises `Unsupported` if none is known."""
    plan = Composition(node, resolve_adjacency(node, adjacency))
    tilts = np.array(orders) - 1.0
    moments, failures = [], []
    for way in plan.moments:
        moments.append(tuple(_log_moment(way, tilt) for tilt in tilts.tolist()))
        failed = sum(n * each.infinite for each, n in way)
        failures.append(min(1.0, failed * (1.0 + SLACK)))
    return Cost(tuple(moments), tuple(failures))


def _log_moment(way: Sequence[tuple[PairMoments, int]], s: float) -> float:
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


class Filter(Displayed):
    """A privacy budget for adaptively chosen releases.

    `epsilon` > 0 and `delta` in (0, 1) are the budget, under one `adjacency` (add-remove unless
    said). `orders` are the Renyi orders, fixed in advance; or `expecting` is a plan, and the one
    order that lets it be repeated most often is used, which is tighter for runs like it. `failures`
    is the part of delta kept for open failures (of `ApproxDP` releases); where it is 0 these are
    refused. Raises `InvalidArgument`.

    >>> import dpacct as dp
    >>> budget = Filter(epsilon=2, delta=1e-6, expecting=dp.Gaussian(sigma=20))
    >>> budget.spend(dp.Gaussian(sigma=20) * 40)
    >>> budget.would_exceed(dp.Gaussian(sigma=5)), budget.would_exceed(dp.Gaussian(sigma=1))
    (False, True)
    >>> f"{budget.spent():.2f}", budget.at_most(dp.Gaussian(sigma=20))
    ('0.57', 30)
    """

    def __init__(
        self,
        *,
        epsilon: Number,
        delta: Number,
        adjacency: Adjacency | str | None = None,
        orders: Sequence[Number] | None = None,
        expecting: Node | None = None,
        failures: Number = 0,
        unit: Unit | str = Unit.RECORD,
    ) -> None:
        self.epsilon = EPSILON.check("epsilon", epsilon)
        if not self.epsilon:
            raise InvalidArgument("epsilon of a filter must be above 0, got 0", argument="epsilon")
        if orders is not None and expecting is not None:
            message = "a filter takes either orders or expecting, got both"
            raise InvalidArgument(message, argument="orders")
        self.delta = DELTA.check("delta", delta)
        word = Adjacency.ADD_REMOVE if adjacency is None else adjacency
        self.adjacency = Adjacency.parse(word, argument="adjacency")
        self.unit = Unit.parse(unit, argument="unit")
        self.failures = self._kept(failures)
        self.orders = self._ordered(orders)
        self._spent = nothing(self.orders)
        self.plan: Node | None = None
        if expecting is not None:
            self.orders = (self._best_order(Node.checked(expecting)),)
            self._spent = nothing(self.orders)
        self._budgets = tuple(self._budget(order, len(self.orders)) for order in self.orders)
        if max(self._budgets) <= 0.0:
            message = f"epsilon = {text(self.epsilon)} leaves no budget at any of the orders"
            raise InvalidArgument(f"{message} {list(self.orders)}", argument="epsilon")

    def _kept(self, failures: Number) -> Fraction:
        part = exact(failures)
        if part is None or not 0 <= part < self.delta * (1 - Fraction(1, 10**6)):
            message = (
                f"failures must be a number of at least 0 and below delta, got {shown(failures)}"
            )
            raise InvalidArgument(message, argument="failures")
        return part

    @staticmethod
    def _ordered(orders: Sequence[Number] | None) -> tuple[float, ...]:
        if orders is None:
            return ORDERS
        if isinstance(orders, str) or not isinstance(orders, Sequence) or not orders:
            message = f"orders must be a list of numbers above 1, got {shown(orders)}"
            raise InvalidArgument(message, argument="orders")
        return tuple(sorted({float(ORDER.check("orders", order)) for order in orders}))

    def _budget(self, order: float, share: int) -> float:
        """The log moment up to which this order's share of delta suffices at epsilon."""
        s = order - 1.0
        # failures may exceed their part by the rounding of their sum, which this part pays for
        log_share = ln(self.delta - self.failures * _ROUNDED) - math.log(share)
        budget: float = log_share - conversions.log_delta(0.0, s, float(self.epsilon))
        return budget - 1e-13 * (1.0 + abs(log_share) + s * float(self.epsilon))

    def _best_order(self, plan: Node) -> float:
        """The order at which the budget admits the plan most often."""

        def price(s: float) -> float:
            budget = self._budget(1.0 + s, 1)
            if budget <= 0.0:
                return math.inf
            moments = cost(plan, (1.0 + s,), self.adjacency).log_moments
            return max(moment for (moment,) in moments) / budget

        low, high, points = 1e-2, 1e5, 43
        for _ in range(2):  # the valley is flat: a part in fifty is near enough
            grid = [low * (high / low) ** (i / (points - 1)) for i in range(points)]
            best: float = min(grid, key=price)
            low, high, points = best / 1.5, best * 1.5, 41
        if not math.isfinite(price(best)):
            message = f"expecting must be a plan of finite Renyi DP, got {shown(plan)}"
            raise InvalidArgument(message, argument="expecting")
        return 1.0 + best

    def share(self, spent: Cost) -> float:
        """The part of the budget used by this cost: at the best order, in the worse direction.

        Above 1 it is too much: see `tally`.
        """

        def of(moments: tuple[float, ...]) -> float:
            parts = zip(moments, self._budgets, strict=True)
            return min((m / budget for m, budget in parts if budget > 0.0), default=math.inf)

        shares = [of(moments) for moments in spent.log_moments]
        failed = max(spent.failures)
        if failed > 0.0:
            kept = float(self.failures * _ROUNDED)
            shares.append(failed / kept if kept > 0.0 else math.inf)
        return max(shares)

    def tally(self, steps: Mapping[Node, int], spent: Cost | None = None) -> Cost:
        """The cost of these plans, each released so often, on top of what was spent; of them alone if None.

        Raises `InvalidArgument`.
        """
        costs = (
            (cost(Node.checked(node), self.orders, self.adjacency), _COUNT.check("steps", n))
            for node, n in steps.items()
        )
        return total([(spent or nothing(self.orders), 1), *costs])

    def would_exceed(self, node: Node) -> bool:
        """Return whether the plan no longer fits; it isn't recorded. Raises as the plan's own questions do.

        >>> import dpacct as dp
        >>> dp.Filter(epsilon=1, delta=1e-5).would_exceed(dp.Gaussian(sigma=1))
        True
        """
        return self.share(self.tally({node: 1}, self._spent)) > 1

    def spend(self, node: Node) -> None:
        """Record a release, before it is made; raises `BudgetExceeded` if it does not fit.

        >>> import dpacct as dp
        >>> budget = dp.Filter(epsilon=2, delta=1e-6)
        >>> budget.spend(dp.Gaussian(sigma=20))
        >>> f"{budget.spent():.4f}"
        '0.0172'
        """
        after = self.tally({node: 1}, self._spent)
        if self.share(after) > 1.0:
            message = "this release must fit into what is left of the budget of epsilon = "
            message += f"{text(self.epsilon)}, {1.0 - self.spent():.3g} of it, got {shown(node)}"
            if max(after.failures) > self.failures * _ROUNDED:
                message += f" (failures keeps {text(self.failures)} of delta for open failures)"
            raise BudgetExceeded(message, argument="plan")
        self._spent = after
        self.plan = node if self.plan is None else self.plan + node

    def spent(self) -> float:
        """The share of the budget that is used, from 0 to 1."""
        return self.share(self._spent)

    def at_most(self, node: Node, steps: Mapping[Node, int] | None = None) -> int:
        """Return how often the plan still fits (10^15 at most), after `steps` of a fresh budget if given.

        Raises `InvalidArgument`.

        >>> import dpacct as dp
        >>> dp.Filter(epsilon=1, delta=1e-5).at_most(dp.Gaussian(sigma=20))
        19
        """
        spent = self._spent if steps is None else self.tally(steps)

        def excess(times: int) -> float:
            return self.share(self.tally({node: times}, spent)) - 1.0

        return int(roots.whole(excess, 1, (10**15))[0] or 0)

    def facts_shown(self) -> Facts:
        """The budget, and how much of it is used."""
        budget = (
            f"epsilon {near(self.epsilon, 12)} at delta {near(self.delta, 12)}, {self.adjacency}"
        )
        return {"budget": budget, "used": f"{near(100 * self.spent(), 3)} %"}

    def guarantee(self) -> Answer:
        """The budget as an answer: an upper bound, however the releases are chosen."""
        value = float(self.epsilon)
        value = value if value >= self.epsilon else math.nextafter(value, math.inf)
        rule = "each release is recorded with spend before it is made, and none that is refused is"
        taken = () if self.plan is None else self.plan.assumptions(self.adjacency)
        return Answer(
            quantity="epsilon",
            value=value,
            upper=value,
            side=Side.UPPER,
            strength=Strength.BOUND,
            method="renyi-filter",
            basis=(RENYI_FILTER, *((OPEN_FAILURES,) if self.failures else ()), CONVERSION),
            assumptions=(Assumption(rule), *taken),
            adjacency=self.adjacency,
            unit=self.unit,
            tree=self.plan,
            extra={"delta": text(self.delta)},
        )

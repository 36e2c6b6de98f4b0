"""Filter: a budget that holds whatever is released next, chosen from what was released before.

Composition theorems fix the plan in advance. A filter only fixes (epsilon, delta): each release may
depend on all earlier outputs, and what would break the budget is refused. docs/theory/adaptive.md
has the proof; it is the Renyi filter of Feldman and Zrnic at each order, and a share of delta per
order, so that whichever order is still within its budget at the end bounds its part of delta.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from dpacct.answer import Answer
from dpacct.compose.tally import (
    Cost,
    checked_orders,
    checked_plan,
    cost,
    kept_failures,
    nothing,
    total,
)
from dpacct.declare.domain import DELTA, EPSILON
from dpacct.declare.number import Number, ln, shown, text
from dpacct.errors import BudgetExceeded, InvalidArgument
from dpacct.pld import conversions
from dpacct.vocabulary import Adjacency, Assumption, Side, Strength, Unit

if TYPE_CHECKING:
    from dpacct.tree import Node

_FELDMAN_ZRNIC = (
    "Feldman, Zrnic. Individual Privacy Accounting via a Renyi Filter. NeurIPS 2021: fully "
    "adaptive composition at a fixed order; a share of delta for each order used"
)
_WHITEHOUSE = (
    "Whitehouse, Ramdas, Rogers, Wu. Fully-Adaptive Composition in Differential Privacy. ICML "
    "2023: open failures count apart"
)
_CONVERSION = "Canonne, Kamath, Steinke 2020, Proposition 12"
_MOST_REPEATS = 10**15
_ROUNDED = 1 + Fraction(1, 10**9)


class Filter:
    """A privacy budget for releases that are chosen as one goes.

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
        self.delta = DELTA.check("delta", delta)
        word = Adjacency.ADD_REMOVE if adjacency is None else adjacency
        self.adjacency = Adjacency.parse(word, argument="adjacency")
        self.unit = Unit.parse(unit, argument="unit")
        self.failures = kept_failures(failures, self.delta)
        if orders is not None and expecting is not None:
            message = "a filter takes either orders or expecting, got both"
            raise InvalidArgument(message, argument="orders")
        self.orders = checked_orders(orders)
        if expecting is not None:
            self.orders = (self._best_order(checked_plan(expecting)),)
        self._budgets = tuple(self._budget(order, len(self.orders)) for order in self.orders)
        if max(self._budgets) <= 0.0:
            message = f"epsilon = {text(self.epsilon)} leaves no budget at any of the orders"
            raise InvalidArgument(f"{message} {list(self.orders)}", argument="epsilon")
        self._spent: Cost = nothing(self.orders)
        self.plan: Node | None = None

    def _budget(self, order: float, share: int) -> float:
        """The log moment up to which this order's share of delta suffices at epsilon."""
        s = order - 1.0
        # failures may exceed their part by the rounding of their sum, which this part pays for
        log_share = ln(self.delta - self.failures * _ROUNDED) - math.log(share)
        budget: float = log_share - conversions.log_delta(0.0, s, float(self.epsilon))
        return budget - 1e-13 * (1.0 + abs(log_share) + s * float(self.epsilon))

    def _best_order(self, plan: Node) -> float:
        """The order whose budget holds the plan most often."""

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

    def _share(self, spent: Cost) -> float:
        """The part of the budget that this is: the best order's, in the worse direction."""

        def of(moments: tuple[float, ...]) -> float:
            parts = zip(moments, self._budgets, strict=True)
            return min((m / budget for m, budget in parts if budget > 0.0), default=math.inf)

        shares = [of(moments) for moments in spent.log_moments]
        failed = max(spent.failures)
        if failed > 0.0:
            kept = float(self.failures * _ROUNDED)
            shares.append(failed / kept if kept > 0.0 else math.inf)
        return max(shares)

    def share(self, steps: Mapping[Node, int]) -> float:
        """The part of a fresh budget that these plans use, each released so often; above 1 it is too much."""
        return self._share(self._after(nothing(self.orders), steps))

    def _after(self, spent: Cost, steps: Mapping[Node, int]) -> Cost:
        costs = (
            (cost(checked_plan(node), self.orders, self.adjacency), n) for node, n in steps.items()
        )
        return total([(spent, 1), *costs])

    def would_exceed(self, node: Node) -> bool:
        """Whether the plan no longer fits; it isn't recorded. Raises as the plan's own questions do."""
        return self._share(self._after(self._spent, {node: 1})) > 1

    def spend(self, node: Node) -> None:
        """Record a release, before it is made; raises `BudgetExceeded` if it does not fit."""
        after = self._after(self._spent, {node: 1})
        if self._share(after) > 1.0:
            message = "this release must fit into what is left of the budget of epsilon = "
            message += f"{text(self.epsilon)}, {1.0 - self.spent():.3g} of it, got {shown(node)}"
            if max(after.failures) > self.failures * _ROUNDED:
                message += f" (failures keeps {text(self.failures)} of delta for open failures)"
            raise BudgetExceeded(message, argument="plan")
        self._spent = after
        self.plan = node if self.plan is None else self.plan + node

    def spent(self) -> float:
        """The share of the budget that is used, from 0 to 1."""
        return self._share(self._spent)

    def at_most(self, node: Node, steps: Mapping[Node, int] | None = None) -> int:
        """How often the plan still fits (10^15 at most); after `steps` of a fresh budget, if given."""
        spent = self._spent if steps is None else self._after(nothing(self.orders), steps)

        def fits(times: int) -> bool:
            return self._share(self._after(spent, {node: times})) <= 1.0

        low, high = 0, 1
        while fits(high):
            if high >= _MOST_REPEATS:
                return _MOST_REPEATS
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if fits(middle) else (low, middle)
        return low

    def guarantee(self) -> Answer:
        """The budget as an answer: an upper bound, however the releases are chosen."""
        value = float(self.epsilon)
        value = value if value >= self.epsilon else math.nextafter(value, math.inf)
        rule = "each release is recorded with spend before it is made, and none that is refused is"
        results = () if self.plan is None else self.plan.assumptions(self.adjacency)
        return Answer(
            quantity="epsilon",
            value=value,
            upper=value,
            side=Side.UPPER,
            strength=Strength.BOUND,
            method="renyi-filter",
            basis=(_FELDMAN_ZRNIC, *((_WHITEHOUSE,) if self.failures else ()), _CONVERSION),
            assumptions=(Assumption(rule), *results),
            adjacency=self.adjacency,
            unit=self.unit,
            tree=self.plan,
            extra={"delta": text(self.delta)},
        )

"""Odometer: what has been spent so far, a bound that holds at all times at once.

There is no budget. By Ville's inequality the supermartingale e^{sL_n - m_n} of `tally` exceeds k/delta
at any time with probability at most delta/k. So with probability 1 - delta, for each of k orders
and every n at once, L_n <= (m_n + log(k/delta)) / s: the reading is the least of these.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
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
)
from dpacct.declare.domain import DELTA
from dpacct.declare.number import Number, ln, shown, text
from dpacct.errors import BudgetExceeded
from dpacct.vocabulary import Adjacency, Assumption, Side, Strength, Unit

if TYPE_CHECKING:
    from dpacct.tree import Node

_BASIS = (
    "Ville's inequality for the Renyi supermartingale (Feldman, Zrnic 2021), a share of delta for "
    "each order",
    "Rogers, Roth, Ullman, Vadhan. Privacy Odometers and Filters. NeurIPS 2016: what an odometer "
    "is; Whitehouse, Ramdas, Rogers, Wu, ICML 2023: time-uniform, open failures apart",
)

# failures may exceed their part by the rounding of their sum, which the rest of delta pays for
_ROUNDED = 1 + Fraction(1, 10**9)


class Odometer:
    """A running bound of the privacy loss of releases that are chosen as one goes.

    With probability at least 1 - `delta` the loss is below the reading at all times at once, so a
    run may be stopped because of what the odometer says. `orders`, `failures`, `adjacency` and
    `unit` are as in `Filter`. Raises `InvalidArgument`.

    >>> import dpacct as dp
    >>> odometer = Odometer(delta=1e-6)
    >>> odometer.spend(dp.Gaussian(sigma=20) * 40)
    >>> odometer.spent().value < 2.2
    True
    """

    def __init__(
        self,
        *,
        delta: Number,
        adjacency: Adjacency | str | None = None,
        orders: Sequence[Number] | None = None,
        failures: Number = 0,
        unit: Unit | str = Unit.RECORD,
    ) -> None:
        self.delta = DELTA.check("delta", delta)
        word = Adjacency.ADD_REMOVE if adjacency is None else adjacency
        self.adjacency = Adjacency.parse(word, argument="adjacency")
        self.unit = Unit.parse(unit, argument="unit")
        self.failures = kept_failures(failures, self.delta)
        self.orders = checked_orders(orders)
        self._spent: Cost = nothing(self.orders)
        self.plan: Node | None = None

    def spend(self, node: Node) -> None:
        """Record a release; raises `BudgetExceeded` for more open failures than are kept for."""
        total = self._spent + cost(checked_plan(node), self.orders, self.adjacency)
        if max(total.failures) > self.failures * _ROUNDED:
            message = (
                f"open failures must add up to at most {text(self.failures)} (the part of delta "
            )
            raise BudgetExceeded(
                f"{message}that failures keeps), got {shown(node)}", argument="plan"
            )
        self._spent = total
        self.plan = node if self.plan is None else self.plan + node

    def spent(self) -> Answer:
        """Epsilon now, an upper bound of the loss so far that held at all earlier times too."""
        log_inverse = math.log(len(self.orders)) - ln(self.delta - self.failures * _ROUNDED)

        def reading(moments: tuple[float, ...]) -> float:
            pairs = zip(moments, self.orders, strict=True)
            return min((m + log_inverse) / (order - 1.0) for m, order in pairs)

        value = 0.0
        if self.plan is not None:
            value = max(reading(moments) for moments in self._spent.log_moments) * (1.0 + 1e-13)
        rule = "each release is recorded with spend, in the order in which they were made"
        results = () if self.plan is None else self.plan.assumptions(self.adjacency)
        return Answer(
            quantity="epsilon",
            value=value,
            upper=value,
            side=Side.UPPER,
            strength=Strength.BOUND,
            method="renyi-odometer",
            basis=_BASIS,
            assumptions=(Assumption(rule), *results),
            adjacency=self.adjacency,
            unit=self.unit,
            tree=self.plan,
            extra={"delta": text(self.delta)},
        )

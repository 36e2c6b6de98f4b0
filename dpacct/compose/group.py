"""Group privacy: what a plan that protects one unit says about several units at once."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from dpacct.answer import Answer
from dpacct.compose.composition import Composition
from dpacct.declare.domain import DELTA, EPSILON, Integer
from dpacct.declare.number import Number, ln, shown
from dpacct.errors import InvalidArgument, Unsupported
from dpacct.tree import Node, resolve_adjacency
from dpacct.vocabulary import Adjacency, Side, Strength

SIZE = Integer(1, 10**6)
"""Units in a group."""
_PROFILE = (
    "group privacy of a profile: delta_k(eps) <= (e^eps - 1)/(e^{eps/k} - 1) delta(eps/k) (Vadhan, "
    "The Complexity of Differential Privacy, 2017, Lemma 2.2)"
)
_GAUSSIAN = "mu-GDP of one unit is k mu-GDP of k (Dong, Roth, Su 2022, Theorem 2.14), and attained"
_ZCDP = "rho-zCDP of one unit is k^2 rho of k (Bun, Steinke 2016, Proposition 1.9)"


class Group:
    """A plan as seen by a group of `size` units that change together, 1 to 10^6.

    Plain Gaussian plans are exact: the distance grows to `size` times the sensitivity. Others are
    bounded through the profile, and plans of zCDP through k^2 rho. Raises `InvalidArgument`.

    >>> import dpacct as dp
    >>> pair = Group(dp.Gaussian(sigma=4), size=2)
    >>> round(pair.epsilon(delta=1e-5).value, 9), pair.epsilon(delta=1e-5).side
    (1.993091404, <Side.TWO_SIDED: 'two-sided'>)
    """

    def __init__(self, plan: Node, *, size: int, adjacency: Adjacency | str | None = None) -> None:
        given: object = plan
        if not isinstance(given, Node):
            told = f"a group must be given a plan such as Gaussian(sigma=1), got {shown(given)}"
            raise InvalidArgument(told, argument="plan")
        self.size = SIZE.check("size", size)
        self.plan = plan
        self.adjacency = resolve_adjacency(plan, adjacency)

    def _mu(self) -> float | None:
        """Mu of a plain Gaussian plan, else None."""
        composed = Composition(self.plan, self.adjacency)
        return None if composed.renyi_only else composed.gaussian_mu

    def rho(self) -> float | None:
        """k^2 rho, where all of the plan is zCDP; else None."""
        from dpacct.mechanisms.opaque import ZCDP

        parts = self.plan.releases()
        rhos = [float(leaf.rho) * n for leaf, n in parts if isinstance(leaf, ZCDP)]
        return self.size**2 * math.fsum(rhos) if len(rhos) == len(parts) else None

    def _equivalent(self) -> Node | None:
        """A plan of one unit with the group's cost, where there is one."""
        from dpacct.mechanisms.gaussian import Gaussian
        from dpacct.mechanisms.opaque import ZCDP

        if self.size == 1:
            return self.plan
        mu, rho = self._mu(), self.rho()
        if mu is not None:
            return Gaussian(sigma=1.0 / (self.size * mu))
        return None if rho is None else ZCDP(rho=rho * (1.0 + 1e-15))

    def rdp(self, order: float) -> float:
        """Renyi DP of the group at an order above 1, an upper bound; exact for plain Gaussians.

        For groups of 2^c it is 3^c times that of the order 2^c `order` (Mironov 2017, Proposition 2),
        for order >= 2; other sizes count as the next power of two. Raises `InvalidArgument`.
        """
        known = self._equivalent()
        if known is not None:
            return float(known.rdp(order))
        if not order >= 2:
            told = f"order must be at least 2 for the group of this plan, got {shown(order)}"
            raise InvalidArgument(told, argument="order")
        doublings = (self.size - 1).bit_length()
        return float(3**doublings * self.plan.rdp(order * 2**doublings))

    def _above(self, epsilon: float) -> float:
        """log of an upper bound of delta."""
        from dpacct.compose.questions import log_profile

        share = epsilon / self.size
        # sum of e^{i eps/k}, i < k
        if share == 0.0:
            factor = math.log(self.size)
        else:
            factor = epsilon - share + math.log(math.expm1(-epsilon) / math.expm1(-share))
        found = float(log_profile(Composition(self.plan, self.adjacency), np.array([share]))[0])
        return found + factor + 1e-13 * (1.0 + abs(factor))

    def delta(self, *, epsilon: Number) -> Answer:
        """Delta of the group at this epsilon >= 0. Raises `InvalidArgument`."""
        at = EPSILON.check("epsilon", epsilon)
        known = self._equivalent()
        if known is not None:
            return self._told(known.delta(epsilon=at, adjacency=None))
        value = min(1.0, math.exp(min(0.0, self._above(float(at)))))
        return self._bound("delta", value)

    def epsilon(self, *, delta: Number) -> Answer:
        """Epsilon of the group at this delta. Raises `InvalidArgument`, `Unsupported` if there is none."""
        log_target = ln(DELTA.check("delta", delta))
        known = self._equivalent()
        if known is not None:
            return self._told(known.epsilon(delta=delta))
        # the factor grows with epsilon, so the bound may rise again: take the first crossing
        step, high = 0.25 * self.size, 0.0
        while self._above(high) > log_target:
            high += step
            step *= 1.3
            if high > 600.0 * self.size:
                told = f"no epsilon gives the group of {self.size} this delta by its profile"
                raise Unsupported(told, argument="delta")
        if high == 0.0:
            return self._bound("epsilon", 0.0)
        low = 0.0
        while high - low > 1e-9 * high:
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self._above(middle) > log_target else (low, middle)
        return self._bound("epsilon", high)

    def _bound(self, quantity: str, value: float) -> Answer:
        return Answer(
            quantity=quantity,
            value=value,
            upper=value,
            side=Side.UPPER,
            strength=Strength.BOUND,
            method="group",
            basis=(_PROFILE,),
            assumptions=self.plan.assumptions(self.adjacency),
            adjacency=self.adjacency,
            unit=self.plan.unit,
            tree=self.plan,
            extra={"group_size": self.size},
        )

    def _told(self, answer: Answer) -> Answer:
        """The answer of the plan that the group amounts to, as one about the group."""
        basis = (_GAUSSIAN if self._mu() is not None else _ZCDP) if self.size > 1 else None
        return replace(
            answer,
            basis=answer.basis if basis is None else (basis, *answer.basis),
            assumptions=self.plan.assumptions(self.adjacency),
            adjacency=self.adjacency,
            unit=self.plan.unit,
            tree=self.plan,
            extra={"group_size": self.size},
        )

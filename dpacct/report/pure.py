"""Pure differential privacy: the epsilon at delta 0 is the largest loss that any output can show."""

from __future__ import annotations

import math
import time
from fractions import Fraction
from typing import TYPE_CHECKING

from dpacct.answer import Answer
from dpacct.errors import Unreachable
from dpacct.mechanisms.mechanism import Mechanism
from dpacct.sampling.sampled import SampledRelease
from dpacct.vocabulary import Adjacency, Side, Strength

if TYPE_CHECKING:
    from dpacct.tree import Leaf, Node

_BASIS = (
    "Dwork, McSherry, Nissim, Smith 2006: the largest losses of single releases",
    "largest losses add up under composition",
)
_SAMPLED = ("poisson", "without-replacement")
_ROUNDING = Fraction(1, 10**12)
"""Relative: far above the rounding of a sampled loss, which is a few operations on floats."""


def pure_epsilon(plan: Node) -> Answer:
    """The epsilon at which a plan is differentially private with delta 0, an upper end.

    Raises `Unreachable` where some output has no bounded loss, as with Gaussian noise.

    >>> import dpacct as dp
    >>> print(pure_epsilon(dp.Laplace(b=2) * 3 + dp.RandomizedResponse(eps0="0.5")))
    epsilon <= 2 upper, bound (pure), add-remove
    >>> pure_epsilon(dp.Gaussian(sigma=2))  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    dpacct.errors.Unreachable: no finite epsilon is known to hold at delta 0 ...
    """
    from dpacct.tree import resolve_adjacency

    started = time.perf_counter()
    adjacency = resolve_adjacency(plan)
    total = Fraction(0)
    for leaf, count in plan.releases():
        loss = _largest_loss(leaf, adjacency)
        if loss is None:
            reason = f"no finite epsilon is known to hold at delta 0: {str(leaf)[:80]} has outputs without"
            raise Unreachable(
                f"{reason} a bound on their privacy loss; give a delta above 0", argument="delta"
            )
        total += count * loss
    value = _upward(total)
    return Answer(
        quantity="epsilon",
        value=value,
        upper=value,
        side=Side.UPPER,
        strength=Strength.BOUND,
        method="pure",
        basis=_BASIS,
        assumptions=plan.assumptions(adjacency),
        adjacency=adjacency,
        unit=plan.unit,
        tree=plan,
        seconds=time.perf_counter() - started,
    )


def _largest_loss(leaf: Leaf, adjacency: Adjacency) -> Fraction | None:
    """Of one release, in the worse direction; None where no bound is known."""
    if isinstance(leaf, Mechanism):
        return leaf.pure_epsilon(adjacency)
    if not isinstance(leaf, SampledRelease) or leaf.kind not in _SAMPLED:
        return None
    if leaf.node.pure_epsilon(adjacency) is None:
        return None
    losses = [source.ceiling for source in leaf.pairs(adjacency).upper]
    return Fraction(max(losses)) * (1 + _ROUNDING)


def _upward(total: Fraction) -> float:
    """The float whose decimal digits, as Python prints them, are not below the number."""
    value = float(total)
    return value if Fraction(repr(value)) >= total else math.nextafter(value, math.inf)

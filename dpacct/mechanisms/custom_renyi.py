"""A mechanism known only by its Rényi divergences."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NoReturn

from dpacct.declare.number import shown
from dpacct.errors import InvalidArgument, Unsupported
from dpacct.mechanisms.custom import Custom, called
from dpacct.plan.node import Leaf
from dpacct.vocabulary import Adjacency

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# orders at which a curve is checked when it is brought
_TRIED = [1.0 + 10.0 ** (k / 4.0) for k in range(-16, 17)]
_ROUNDING = 1e-9
Point = tuple[float, float]


def _slack(order: float, value: float) -> float:
    """The tolerance for rounding, since order - 1 can be as small as the rounding of 1."""
    return _ROUNDING * (1.0 + abs(value)) + 1e-15 / (order - 1.0)


def _is_convex(*points: Point) -> bool:
    """Whether (order - 1) * rdp at the middle one of three orders is below the chord."""
    (a0, _), (a1, r1), (a2, _) = points
    if not all(value < math.inf for _, value in points):
        return True
    first, middle, last = ((order - 1.0) * value for order, value in points)
    chord = first + (last - first) * (a1 - a0) / (a2 - a0)
    return middle <= chord + 10.0 * _slack(a1, r1) * (a1 - 1.0)


@dataclass(frozen=True, init=False, repr=False)
class CustomRenyi(Custom, kind="custom-renyi"):
    """Renyi DP from a function; see `Custom`. Infinite values are allowed at large orders."""

    function: Callable[[float], float]
    form: str
    _seen: list[Point] = field(compare=False)

    what = "Renyi curve"
    instead = "profile or tables"
    has_pairs = False

    def __init__(
        self,
        *,
        rdp: Callable[[float], float] | None = None,
        moment: Callable[[float], float] | None = None,
    ) -> None:
        form, function = ("rdp", rdp) if rdp is not None else ("moment", moment)
        if not callable(function):
            message = f"{form} must be a function of one number, got {shown(function)}"
            raise InvalidArgument(message, argument=form)
        object.__setattr__(self, "function", function)
        object.__setattr__(self, "form", form)
        object.__setattr__(self, "_seen", [])
        for order in _TRIED:
            if not self._at(order) < math.inf:
                break
        if not self._seen[0][1] < math.inf:
            message = f"{form} must be finite at order {_TRIED[0]:g}, got inf: nothing is promised"
            raise InvalidArgument(message, argument=form)

    def _at(self, order: float) -> float:
        """Renyi DP at this order, checked against what it was at others."""
        value = self._read(order)
        message = f"{self.form} must give a Renyi divergence"
        if value < 0.0:
            raise InvalidArgument(
                f"{message} of at least 0, got {value!r} at order {order:g}", argument=self.form
            )
        place = bisect_left(self._seen, (order, value))
        before, after = self._seen[max(0, place - 2) : place], self._seen[place : place + 2]
        for (left, at_one), (right, at_two) in pairwise([*before[-1:], (order, value), *after[:1]]):
            if at_two < at_one - _slack(left, at_one):
                got = f"got {at_two!r} at order {right:g} after {at_one!r} at {left:g}"
                raise InvalidArgument(
                    f"{message} that never falls with the order, {got}", argument=self.form
                )
        near = [*before, (order, value), *after]
        for triple in zip(near, near[1:], near[2:], strict=False):
            if not _is_convex(*triple):
                message = f"{self.form} must make (order - 1) * rdp convex in the order"
                raise InvalidArgument(
                    f"{message}, which fails at order {triple[1][0]:g}", argument=self.form
                )
        if value < math.inf and not (after and after[0][0] == order):
            self._seen.insert(place, (order, value))
        elif not self._seen:
            self._seen.append((order, value))
        return value

    def _read(self, order: float) -> float:
        if self.form == "rdp":
            return called(self.function, order, "rdp")
        s = order - 1.0
        value = called(self.function, s, "moment")
        if not value >= 1.0 - _ROUNDING:
            message = (
                f"moment must be at least 1 (it is E[e^(sL)], L a privacy loss), got {value!r}"
            )
            raise InvalidArgument(f"{message} at s = {s:g}", argument="moment")
        return math.log(max(1.0, value)) / s if value < math.inf else math.inf

    def pair(self, adjacency: Adjacency) -> NoReturn:
        """Raises `Unsupported`: no pair is known."""
        message = f"{self!r} has no dominating pair: use only method='rdp'"
        raise Unsupported(message, argument="method")

    def renyi(
        self, orders: NDArray[np.floating[Any]], adjacency: Adjacency
    ) -> NDArray[np.floating[Any]]:
        """The function, at each order."""
        import numpy as np

        return np.array([self._at(order) for order in orders.tolist()])

    def in_sample(self, sampler: Any) -> Leaf:
        """Amplification by sampling needs more than moments: raises `Unsupported`."""
        if sampler.rate == 1:
            return self
        message = (
            f"{self!r} cannot be amplified by sampling: moments alone give no bound for a sample"
        )
        raise Unsupported(message, argument="plan")

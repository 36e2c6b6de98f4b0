"""A mechanism of which only moments are known: Renyi DP at every order."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from dpacct.domain import shown
from dpacct.errors import InvalidArgument, Unsupported
from dpacct.mechanisms.custom import Custom, called, unsaved
from dpacct.tree.node import Fields, Leaf
from dpacct.vocabulary import Adjacency

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# orders at which a curve is checked when it is brought
_TRIED = [1.0 + 10.0 ** (k / 4.0) for k in range(-16, 17)]
_ROUNDING = 1e-9


@dataclass(frozen=True, init=False, repr=False)
class CustomRenyi(Custom, kind="custom-renyi"):
    """Renyi DP from a function; see `Custom`. Infinite values are allowed at large orders."""

    function: Callable[[float], float]
    form: str

    what = "Renyi curve"
    has_pairs = False

    def __init__(
        self,
        *,
        rdp: Callable[[float], float] | None = None,
        moment: Callable[[float], float] | None = None,
    ) -> None:
        form, function = ("rdp", rdp) if rdp is not None else ("moment", moment)
        if not callable(function):
            told = f"{form} must be a function of one number, got {shown(function)}"
            raise InvalidArgument(told, argument=form)
        object.__setattr__(self, "function", function)
        object.__setattr__(self, "form", form)
        self._check()

    def _at(self, order: float) -> float:
        """Renyi DP at this order."""
        if self.form == "rdp":
            return called(self.function, order, "rdp")
        s = order - 1.0
        value = called(self.function, s, "moment")
        if not value >= 1.0 - _ROUNDING:
            told = f"moment must be at least 1 (it is E[e^(sL)], L a privacy loss), got {value!r}"
            raise InvalidArgument(f"{told} at s = {s:g}", argument="moment")
        return math.log(max(1.0, value)) / s if value < math.inf else math.inf

    def _check(self) -> None:
        """Refuse what no mechanism has: below 0, falling, or (order - 1) rdp not convex."""
        previous, slope_before, before = 0.0, -math.inf, 1.0
        level = 0.0  # (order - 1) * rdp
        for order in _TRIED:
            value = self._at(order)
            if value < 0.0:
                told = f"{self.form} must give a Renyi divergence of at least 0, got {value!r}"
                raise InvalidArgument(f"{told} at order {order:g}", argument=self.form)
            # s = order - 1 can be as small as the rounding of 1: what is compared has that much slack
            slack = _ROUNDING * (1.0 + abs(value)) + 1e-15 / (order - 1.0)
            if value < previous - slack:
                told = f"{self.form} must give a Renyi divergence that never falls with the order"
                raise InvalidArgument(
                    f"{told}, got {value!r} at order {order:g} after {previous!r}",
                    argument=self.form,
                )
            if not value < math.inf:
                return
            slope = ((order - 1.0) * value - level) / (order - before)
            if slope < slope_before - slack * 10.0:
                told = f"{self.form} must make (order - 1) * rdp convex in the order"
                raise InvalidArgument(f"{told}, which fails at order {order:g}", argument=self.form)
            previous, slope_before, before = value, slope, order
            level = (order - 1.0) * value

    def base(self, adjacency: Adjacency) -> NoReturn:
        """There is none: raises `Unsupported`."""
        told = f"{self!r} has no dominating pair: use only method='rdp'"
        raise Unsupported(told, argument="method")

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
        told = f"{self!r} cannot be amplified by sampling: moments alone give no bound for a sample"
        raise Unsupported(told, argument="plan")

    def saved(self) -> Fields:
        """There is nothing to save: raises `Unsupported`."""
        raise unsaved("profile or tables")

    @classmethod
    def from_fields(cls, fields: Fields) -> NoReturn:
        """Nothing is ever saved under this name: raises `Unsupported`."""
        raise unsaved("profile or tables")

"""New trade-off functions from old ones; each is a lower bound as far as its parts are."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dpacct.fdp.forms import ROUNDING, ByProfile, polygon_below
from dpacct.fdp.tradeoff import TradeOff
from dpacct.mechanisms.laws import knots

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpacct.tree import Node

    Floats = NDArray[np.floating[Any]]

# log growth at which profiles are compared where their corners are not known
_EPSILONS = np.concatenate(([0.0], np.geomspace(1e-5, 60.0, 900)))


class _Combined(ByProfile):
    """Known by a profile that is cheap to read."""

    def node(self) -> Node:
        """See `TradeOff.node`."""
        return _by_points(self)


def _by_points(function: TradeOff) -> Node:
    """A plan of one release: the chords between points lie above a convex profile, the safe side."""
    from dpacct.mechanisms.custom import Custom

    deltas = np.clip(function._profile(_EPSILONS), 0.0, 1.0)
    return Custom(profile=[*zip(_EPSILONS.tolist(), deltas.tolist(), strict=True)])


class Larger(TradeOff):
    """max(f, g)."""

    def __init__(self, one: TradeOff, other: TradeOff) -> None:
        self.one, self.other = one, other
        self.side = one.side.meet(other.side)

    def _values(self, alpha: Floats) -> Floats:
        return np.maximum(self.one._values(alpha), self.other._values(alpha))

    def _largest(self) -> float:
        return min(self.one._largest(), self.other._largest())

    @cached_property
    def _hull(self) -> tuple[Floats, Floats]:
        """(e^eps, delta): the hull of the lesser profile at many epsilons, both ways."""
        epsilons = np.concatenate((-_EPSILONS[:0:-1], _EPSILONS))
        lesser = np.minimum(self.one._profile(epsilons), self.other._profile(epsilons))
        points = [(0.0, 1.0), *zip(np.exp(epsilons).tolist(), lesser.tolist(), strict=True)]
        x, y = zip(*knots.hull(points), strict=True)
        return np.array(x), np.array(y)

    def _profile(self, epsilons: Floats) -> Floats:
        growth, deltas = self._hull
        hull = np.interp(np.exp(np.minimum(epsilons, 700.0)), growth, deltas)
        each = np.minimum(self.one._profile(epsilons), self.other._profile(epsilons))
        return np.minimum(hull, each) * (1.0 + 1e-14)

    def node(self) -> Node:
        """See `TradeOff.node`."""
        return _by_points(self)


class Smaller(_Combined):
    """min(f, g)**: the larger profile."""

    def __init__(self, one: TradeOff, other: TradeOff) -> None:
        self.one, self.other = one, other

    def _above(self, epsilons: Floats) -> Floats:
        return np.maximum(self.one._profile(epsilons), self.other._profile(epsilons))

    def _largest(self) -> float:
        return max(self.one._largest(), self.other._largest())


class Mixed(_Combined):
    """One of two, by a coin that is seen: profiles average."""

    def __init__(self, one: TradeOff, other: TradeOff, weight: Fraction) -> None:
        self.one, self.other, self.weight = one, other, float(weight)

    def _above(self, epsilons: Floats) -> Floats:
        rest = 1.0 - self.weight
        return self.weight * self.one._profile(epsilons) + rest * self.other._profile(epsilons)

    def _largest(self) -> float:
        return max(self.one._largest(), self.other._largest())


class Subsampled(_Combined):
    """C_rate(f): delta = rate delta_f(eps'), e^{eps'} = (e^eps - 1 + rate)/rate, at eps >= 0."""

    def __init__(self, one: TradeOff, rate: Fraction) -> None:
        self.one, self.rate = one, float(rate)

    def _above(self, epsilons: Floats) -> Floats:
        if self.rate == 0.0:
            return np.zeros(epsilons.shape)
        inner = np.log1p(np.expm1(np.minimum(epsilons, 700.0)) / self.rate)
        return self.rate * self.one._profile(inner)

    def _largest(self) -> float:
        return math.log1p(self.rate * math.expm1(min(self.one._largest(), 700.0)))


class Grouped(TradeOff):
    """1 - (1 - f) composed with itself."""

    def __init__(self, one: TradeOff, size: int) -> None:
        self.one, self.size = one, size
        self.side = one.side

    def _values(self, alpha: Floats) -> Floats:
        power = alpha
        for _ in range(self.size):
            power = 1.0 - np.clip(self.one._values(power), 0.0, 1.0 - power)
            if bool((power >= 1.0).all()):
                break
        return 1.0 - power

    @cached_property
    def _polygon(self) -> knots.Polygon:
        return polygon_below(self)

    def _profile(self, epsilons: Floats) -> Floats:
        return np.asarray(self._polygon.profile(epsilons)) + ROUNDING

    def _largest(self) -> float:
        return self.size * self.one._largest()

    def node(self) -> Node:
        """See `TradeOff.node`."""
        from dpacct.fdp.forms import GaussianTradeOff
        from dpacct.mechanisms.custom import Custom

        if isinstance(self.one, GaussianTradeOff):
            return TradeOff.gaussian(self.one.mu * self.size).node()
        return Custom(tradeoff=list(self._polygon.corners))

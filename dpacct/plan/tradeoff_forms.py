"""The trade-off functions that others are made of, and those that are made of others.

Each is a lower bound as far as its parts are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dpacct.declare.domain import EPSILON, POSITIVE
from dpacct.declare.number import Number
from dpacct.errors import InvalidArgument
from dpacct.mechanisms.custom import Custom, called, pairs_of_numbers
from dpacct.mechanisms.laws import knots
from dpacct.plan.curve import curve
from dpacct.plan.tradeoff import SHARE, TradeOff, mirrored
from dpacct.pld.conversions import gaussian_log_delta
from dpacct.vocabulary import Adjacency, Side

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpacct.plan.node import Node

    Floats = NDArray[np.floating[Any]]
    Read = Callable[[Floats], Floats]

# relative, of an upper end of delta that supports a curve
_TOLERANCE = 1e-6
# what rounding may add to a probability near 1
ROUNDING = 1e-15
_GRID = np.unique(
    np.concatenate(
        (
            [0.0],
            np.geomspace(1e-13, 0.1, 400),
            np.linspace(0.1, 0.9, 600),
            1.0 - np.geomspace(1e-13, 0.1, 400),
            [1.0],
        )
    )
)
# log growth at which profiles are compared where their corners are not known
_FARTHEST = 700.0
_EPSILONS = np.concatenate(([0.0], np.geomspace(1e-5, 60.0, 900)))


class GaussianTradeOff(TradeOff):
    """G_mu(a) = Phi(Phi^-1(1 - a) - mu)."""

    side = Side.TWO_SIDED

    def __init__(self, mu: Number) -> None:
        self.mu = POSITIVE.check("mu", mu)

    def _values(self, alpha: Floats) -> Floats:
        from scipy.special import ndtr, ndtri

        return np.asarray(ndtr(-ndtri(alpha) - float(self.mu)))

    def _profile(self, epsilons: Floats) -> Floats:
        def above(sizes: Floats) -> Floats:
            results = [gaussian_log_delta(float(self.mu), e) for e in sizes.tolist()]
            return np.exp([value + math.log1p(min(error, 1.0)) for value, error in results])

        return mirrored(above, epsilons)

    def _largest(self) -> float:
        return math.inf

    def node(self) -> Node:
        """See `TradeOff.node`."""
        from dpacct.mechanisms.gaussian import Gaussian

        return Gaussian(sigma=1 / self.mu)

    def _grouped(self, size: int) -> TradeOff:
        return GaussianTradeOff(self.mu * size)

    def heading_shown(self) -> str:
        """How it is made."""
        return f"TradeOff.gaussian({float(self.mu):g})"

    def __repr__(self) -> str:
        return self.heading_shown()


# -- polygons, and functions that are read --------------------------------------------------------


class PolygonTradeOff(TradeOff):
    """A line through corners, and a plan that has it."""

    def __init__(
        self, polygon: knots.Polygon, node: Callable[[], Node], *, side: Side = Side.TWO_SIDED
    ) -> None:
        self.polygon, self._node, self.side = polygon, node, side

    def _values(self, alpha: Floats) -> Floats:
        return self.polygon(alpha)

    def _profile(self, epsilons: Floats) -> Floats:
        return np.asarray(self.polygon.profile(epsilons))

    def _largest(self) -> float:
        return steepest(self.polygon)

    def node(self) -> Node:
        """See `TradeOff.node`."""
        return self._node()

    def heading_shown(self) -> str:
        """How many corners."""
        return f"trade-off of {len(self.polygon.corners)} corners"

    def __repr__(self) -> str:
        return f"<{self.heading_shown()}>"


def steepest(polygon: knots.Polygon) -> float:
    """Log of the steepest slope: delta is 0 from there on, if the function starts at 1."""
    (x0, y0), (x1, y1) = polygon.corners[:2]
    return math.log((y0 - y1) / (x1 - x0)) if y0 >= 1.0 and y1 < y0 else math.inf


def approximate(epsilon: Number, delta: Number) -> TradeOff:
    """See `TradeOff.approximate`."""
    eps, lost = EPSILON.check("epsilon", epsilon), SHARE.check("delta", delta)
    growth, kept = math.exp(float(eps)), float(1 - lost)
    corner = kept / (1.0 + growth)
    corners = [(0.0, kept), (corner, corner), (kept, 0.0)]
    polygon = knots.Polygon(tuple(dict.fromkeys(corners)))

    def node() -> Node:
        from dpacct.mechanisms.opaque import ApproxDP, PureDP

        if 0 < lost < 1:
            return ApproxDP(epsilon=eps, delta=lost)
        return PureDP(epsilon=eps) if eps and not lost else Custom(profile=[(0.0, float(lost))])

    return PolygonTradeOff(polygon, node)


def through(points: Sequence[tuple[float, float]], *, side: Side = Side.TWO_SIDED) -> TradeOff:
    """See `TradeOff.points`."""
    rows = sorted(set(pairs_of_numbers(points, "points")))
    custom = Custom(tradeoff=rows)
    # (0, 1) is on every trade-off function or above it, (1, 0) on every one
    whole = [*rows, (0.0, 1.0)] if rows[0][0] > 0.0 else rows
    alphas, betas = zip(*sorted(whole), strict=True)
    return PolygonTradeOff(knots.through(alphas, betas), lambda: custom, side=side)


def conjugated_twice(function: Callable[[float], float]) -> TradeOff:
    """f** of a falling function, from below: between two points f is at least its value at the right."""
    values = [min(called(function, a, "tradeoff"), 1.0 - a) for a in _GRID.tolist()]
    for a, before, after in zip(_GRID[1:].tolist(), values, values[1:], strict=False):
        if not 0.0 <= after <= before + ROUNDING:
            message = "tradeoff must fall from at most 1 to 0 and never rise, got "
            raise InvalidArgument(
                f"{message}{after!r} at {a:g} after {before!r}", argument="tradeoff"
            )
    return through([*zip(_GRID[:-1].tolist(), values[1:], strict=True)], side=Side.LOWER)


class ReadTradeOff(TradeOff):
    """A convex function that can be read anywhere; its profile is that of a polygon below it.

    `node`: a plan of one release, by that polygon. `largest`: see `TradeOff._largest`; None: the polygon's.
    """

    def __init__(
        self,
        read: Read,
        node: Callable[[knots.Polygon], Node],
        *,
        side: Side,
        largest: float | None = None,
    ) -> None:
        self._read, self._node, self.side, self._stated = read, node, side, largest

    def _values(self, alpha: Floats) -> Floats:
        return self._read(alpha)

    @cached_property
    def polygon(self) -> knots.Polygon:
        """A polygon below the function."""
        values = np.clip(self._values(_GRID), 0.0, 1.0 - _GRID)
        return knots.below(_GRID.tolist(), values.tolist())

    def _profile(self, epsilons: Floats) -> Floats:
        return np.asarray(self.polygon.profile(epsilons)) + ROUNDING

    def _largest(self) -> float:
        return steepest(self.polygon) if self._stated is None else self._stated

    def node(self) -> Node:
        """See `TradeOff.node`."""
        return self._node(self.polygon)


def numeric(function: Callable[[float], float]) -> TradeOff:
    """A function of the user's, checked to be a trade-off function where it is read."""
    custom = Custom(tradeoff=function)
    return ReadTradeOff(
        lambda alpha: np.array([called(function, a, "tradeoff") for a in alpha.tolist()]),
        lambda _: custom,
        side=Side.TWO_SIDED,
    )


def grouped(curve: TradeOff, size: int) -> TradeOff:
    """1 - (1 - f) composed with itself."""

    def read(alpha: Floats) -> Floats:
        power = alpha
        for _ in range(size):
            power = 1.0 - np.clip(curve._values(power), 0.0, 1.0 - power)
            if bool((power >= 1.0).all()):
                break
        return 1.0 - power

    return ReadTradeOff(
        read,
        lambda polygon: Custom(tradeoff=list(polygon.corners)),
        side=curve.side,
        largest=size * curve._largest(),
    )


# -- by profiles ----------------------------------------------------------------------------------


def _by_points(function: TradeOff) -> Node:
    """A plan of one release: the chords between points lie above a convex profile, the safe side."""
    deltas = np.clip(function._profile(_EPSILONS), 0.0, 1.0)
    return Custom(profile=[*zip(_EPSILONS.tolist(), deltas.tolist(), strict=True)])


class Combined(TradeOff):
    """By the profiles of others: `above` at epsilons >= 0, and nothing from `largest` on."""

    def __init__(self, above: Read, largest: float) -> None:
        self._above, self._end = above, largest

    def _values(self, alpha: Floats) -> Floats:
        """The upper edge of the lines that delta gives."""

        def log_profile(epsilons: Floats) -> Floats:
            with np.errstate(divide="ignore"):
                return np.asarray(np.log(self._above(epsilons)))

        kept = 1.0 - float(self._above(np.array([_FARTHEST]))[0])
        return curve(
            log_profile, alpha, finite_mass=kept, scale=1.0, kinked=False, largest=[self._end]
        )

    def _profile(self, epsilons: Floats) -> Floats:
        return mirrored(self._above, epsilons)

    def _largest(self) -> float:
        return self._end

    def node(self) -> Node:
        """See `TradeOff.node`."""
        return _by_points(self)


class Larger(TradeOff):
    """max(f, g): the hull of the lesser profile."""

    def __init__(self, first: TradeOff, second: TradeOff) -> None:
        self.first, self.second = first, second
        self.side = first.side.meet(second.side)

    def _values(self, alpha: Floats) -> Floats:
        return np.maximum(self.first._values(alpha), self.second._values(alpha))

    def _largest(self) -> float:
        return min(self.first._largest(), self.second._largest())

    def _lesser(self, epsilons: Floats) -> Floats:
        return np.minimum(self.first._profile(epsilons), self.second._profile(epsilons))

    @cached_property
    def _hull(self) -> tuple[Floats, Floats]:
        """(e^eps, delta): the hull of the lesser profile at many epsilons, both ways."""
        epsilons = np.concatenate((-_EPSILONS[:0:-1], _EPSILONS))
        lesser = self._lesser(epsilons).tolist()
        x, y = zip(
            *knots.hull([(0.0, 1.0), *zip(np.exp(epsilons).tolist(), lesser, strict=True)]),
            strict=True,
        )
        return np.array(x), np.array(y)

    def _profile(self, epsilons: Floats) -> Floats:
        hull = np.interp(np.exp(np.minimum(epsilons, 700.0)), *self._hull)
        return np.minimum(hull, self._lesser(epsilons)) * (1.0 + 1e-14)

    def node(self) -> Node:
        """See `TradeOff.node`."""
        return _by_points(self)


class PlanTradeOff(TradeOff):
    """What the engine says about a plan, which is composed once."""

    def __init__(self, plan: Node, adjacency: str | None = None) -> None:
        from dpacct.plan.composition import Composition
        from dpacct.plan.node import Node, resolve_adjacency

        anything: object = plan
        if not isinstance(anything, Node):
            message = f"a trade-off function must be of a plan such as Gaussian(sigma=1), got {plan!r:.60}"
            raise InvalidArgument(message, argument="plan")
        self.plan = plan
        self.adjacency: Adjacency = resolve_adjacency(plan, adjacency)
        self._composed = Composition(plan, self.adjacency)

    def _values(self, alpha: Floats) -> Floats:
        from dpacct.plan.curve import curve_of

        return curve_of(self._composed, alpha)

    def _profile(self, epsilons: Floats) -> Floats:
        from dpacct.plan.curve import log_profile

        return mirrored(
            lambda at: np.exp(log_profile(self._composed, at, _TOLERANCE)) * (1.0 + 1e-12), epsilons
        )

    def _largest(self) -> float:
        if self._composed.renyi_only:
            return math.inf
        ends = (
            math.inf if direction.log_kept < 0.0 else direction.ceiling
            for direction in self._composed.upper
        )
        return max(0.0, *ends, 0.0)

    def node(self) -> Node:
        """See `TradeOff.node`."""
        return self.plan.under(self.adjacency)

    def heading_shown(self) -> str:
        """How it is made."""
        return f"TradeOff.of({self.plan!r})"

    def __repr__(self) -> str:
        return self.heading_shown()

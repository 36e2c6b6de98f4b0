"""The trade-off functions: Gaussian, polygons, and that of a plan; and the Gaussian one below another."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dpacct.answer import Answer
from dpacct.citations import GDP, REGRET
from dpacct.declare.domain import EPSILON, POSITIVE, Real
from dpacct.declare.number import Number
from dpacct.errors import Unsupported
from dpacct.mechanisms.custom import Custom, pairs_of_numbers
from dpacct.mechanisms.laws import knots
from dpacct.plan.tradeoff import SHARE, TradeOff, mirrored
from dpacct.pld.conversions import gaussian_log_delta
from dpacct.pld.roots import first_miss, halved
from dpacct.vocabulary import Adjacency, Side, Strength

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpacct.plan.node import Node

    Floats = NDArray[np.floating[Any]]
    Read = Callable[[Floats], Floats]

# relative, of an upper end of delta that supports a curve
_TOLERANCE = 1e-6


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

    def heading_shown(self) -> str:
        """Return the call that makes it."""
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
        """Return the number of corners."""
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


class PlanTradeOff(TradeOff):
    """The trade-off function of a plan, which is composed once."""

    def __init__(self, plan: Node, adjacency: str | None = None) -> None:
        from dpacct.plan.composition import Composition
        from dpacct.plan.node import Node, resolve_adjacency

        self.plan = Node.checked(plan, "a trade-off function must be of")
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
        """Return the call that makes it."""
        return f"TradeOff.of({self.plan!r})"

    def __repr__(self) -> str:
        return self.heading_shown()


# -- the smallest mu of a Gaussian below --------------------------------------------------------
#
# The smallest mu for which a Gaussian trade-off function lies below a given one, and its regret.
#
# G_mu <= f everywhere means delta_f(eps) <= delta_mu(eps) at every eps >= 0 (both are symmetric). In t =
# e^eps both are convex; between two points f's lies below its chord, and delta_mu less a line of slope m
# is least where its own slope -Phi(-mu/2 - eps/mu) is m, in closed form. So finitely many points decide
# it for all eps between them. Beyond the last point delta_f must be 0, or at most `slack`.
#
# The regret is how far G_mu could be moved towards f: the least k with f(a + k) - k <= G_mu(a) for all a
# (Gomez, Kulynych, Kaissis, Calmon, Hayes, Balle, Honkela: (epsilon, delta) Considered Harmful, 2025).

SLACK = Real(0, 1, "left")
_WIDTH = 1e-7
_LEAST, _MOST = 1e-9, 1e6  # nothing is learnt, or hardly anything; and everything
_SHARES = np.concatenate(([0.0], np.geomspace(1e-3, 1.0, 32)))
_GDP_ROUNDS = 5
_TIGHT = 1e-4


def _gdp_delta(mu: float, epsilons: Floats) -> Floats:
    """delta of G_mu, from below (it is compared with what lies above)."""
    from scipy.special import log_ndtr

    first, second = 0.5 * mu - epsilons / mu, -0.5 * mu - epsilons / mu
    high, low = np.exp(log_ndtr(first)), np.exp(epsilons + log_ndtr(second))
    value: Floats = np.maximum(high - low, 0.0) - 4e-16 * (high + low)
    return value


def _misses(mu: float, epsilons: Floats, deltas: Floats) -> NDArray[np.bool_]:
    """Return for each interval whether delta_mu is below these deltas, or the chord between them."""
    from scipy.special import ndtri

    short = _gdp_delta(mu, epsilons) < deltas
    growth = np.exp(epsilons)
    rise = np.diff(growth)  # 0 where two epsilons are one to rounding: no chord, only its ends
    slope = np.divide(np.diff(deltas), rise, out=np.zeros(rise.size), where=rise > 0.0)
    with np.errstate(invalid="ignore"):
        # where delta_mu falls as fast as the chord
        touch = -mu * (ndtri(np.clip(-slope, 0.0, 1.0)) + 0.5 * mu)
    inside = (touch > epsilons[:-1]) & (touch < epsilons[1:])
    at = np.where(inside, touch, epsilons[:-1])
    chord = deltas[:-1] + slope * (np.exp(at) - growth[:-1])
    return np.asarray((inside & (_gdp_delta(mu, at) < chord)) | short[1:] | short[:-1])


def _least(epsilons: Floats, deltas: Floats) -> float:
    """The least mu that misses no interval."""

    def misses(mu: float) -> bool:
        return bool(_misses(mu, epsilons, deltas).any())

    if not misses(_LEAST):
        return _LEAST
    low, high = first_miss(misses, 1.0, most=_MOST) if misses(1.0) else (_LEAST, 1.0)
    if high == math.inf:
        message = "no mu-GDP holds for a mechanism that fails openly; give a slack that covers it"
        raise Unsupported(message, argument="slack")
    return halved(misses, low, high, _WIDTH)[1]


def _last(function: TradeOff, slack: float) -> float:
    """An epsilon beyond which delta is at most the slack; not far beyond, so that a grid lies well."""
    largest = function._largest()
    if slack == 0.0:
        if largest < 690.0:
            return max(largest, 1e-9)
        message = "mu-GDP of unbounded losses (or losses beyond 690) needs a slack, by which delta"
        message += " may exceed that of G_mu, such as slack=1e-12"
        raise Unsupported(message, argument="slack")

    def over(epsilon: float) -> bool:
        return float(function._profile(np.array([epsilon]))[0]) > slack

    low, high = first_miss(over, 0.5, 1.5, 690.0) if over(0.5) else (0.0, 0.5)
    if high == math.inf:
        message = "slack must be above delta at epsilon = 690, where a grid of doubles ends, got "
        raise Unsupported(f"{message}{slack:g}", argument="slack")
    return halved(over, low, high, 0.02)[1]


def gdp(function: TradeOff, *, slack: Number = 0) -> Answer:
    """The least mu (to 1e-7) for which delta_f(eps) <= delta_mu(eps) + slack is sure at every eps >= 0.

    `slack` in [0, 1): 0 is G_mu <= f. The answer's `extra` has the regret. Raises `Unsupported` where
    the losses have no end and the slack is 0, and where no mu will do.
    """
    room = float(SLACK.check("slack", slack))
    if isinstance(function, GaussianTradeOff):
        exact = float(function.mu)
        return _gdp_answer(exact, exact, 0.0, room)
    end = _last(function, room)

    def read(epsilons: Floats) -> Floats:
        deltas = np.maximum(np.asarray(function._profile(epsilons)) - room, 0.0)
        return np.where(epsilons >= end, 0.0, deltas)

    epsilons = np.unique(np.concatenate((_SHARES * end, end * (1.0 - _SHARES[1:-1]))))
    deltas = read(epsilons)
    mu = _least(epsilons, deltas)
    for _ in range(_GDP_ROUNDS):
        # finer where a slightly smaller mu would fail
        tight = np.flatnonzero(_misses(mu * (1.0 - _TIGHT), epsilons, deltas))
        parts = [np.linspace(epsilons[i], epsilons[i + 1], 6)[1:-1] for i in tight[:12]]
        if not parts:
            break
        more = np.concatenate(parts)
        order = np.argsort(np.concatenate((epsilons, more)))
        deltas = np.concatenate((deltas, read(more)))[order]
        epsilons = np.concatenate((epsilons, more))[order]
        before, mu = mu, _least(epsilons, deltas)
        if mu > before * (1.0 - 1e-6):
            break
    return _gdp_answer(mu, None, regret(epsilons, deltas, mu), room)


def _gdp_answer(mu: float, lower: float | None, lost: float, slack: float) -> Answer:
    return Answer(
        quantity="mu",
        value=mu,
        lower=lower,
        upper=mu,
        side=Side.UPPER if lower is None else Side.TWO_SIDED,
        strength=Strength.BOUND if lower is None else Strength.CONVERGED,
        method="gdp",
        basis=(GDP, REGRET),
        extra={"regret": lost, "slack": slack},
    )


def regret(epsilons: Floats, deltas: Floats, mu: float) -> float:
    """Return the least k with f(a + k) - k <= G_mu(a) over a grid of a: how far G_mu lies below f.

    f is the upper edge of the lines that the deltas give.
    """
    gaussian = GaussianTradeOff(mu)
    alphas = np.concatenate((np.geomspace(1e-9, 0.05, 60), np.linspace(0.05, 0.99, 120)))
    below, growth = gaussian._values(alphas), np.exp(epsilons)

    def f(at: Floats) -> Floats:
        # Dong, Roth, Su, eq. 3
        room = 1.0 - deltas
        steep = room - np.multiply.outer(at, growth)
        flat = (room - at[:, None]) / growth
        edge: Floats = np.maximum(steep, flat).max(axis=1)
        return np.maximum(edge, 0.0)

    low, high = np.zeros(alphas.shape), np.minimum(1.0 - alphas, 0.5)
    for _ in range(30):
        middle = 0.5 * (low + high)
        covered = f(alphas + middle) - middle <= below
        low, high = np.where(covered, low, middle), np.where(covered, middle, high)
    return float(high.max())

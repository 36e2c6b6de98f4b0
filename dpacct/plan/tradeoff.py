"""TradeOff: the least type II error f(alpha) of any test of type I error alpha, as a value.

Dong, Roth, Su, Gaussian Differential Privacy (J. R. Stat. Soc. B 2022). A guarantee "f-DP" says that
the trade-off of every two neighbours lies on or above f, so what is computed falls below f where it
cannot be exact, and the profile delta(eps) = sup_a 1 - f(a) - e^eps a above it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from dpacct.declare.domain import DELTA, EPSILON, POSITIVE, STEPS, Real
from dpacct.declare.number import Number, down, shown
from dpacct.display import Displayed, Facts
from dpacct.errors import InvalidArgument
from dpacct.plan.node import Node, resolve_adjacency
from dpacct.vocabulary import Side

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from dpacct.answer import Answer
    from dpacct.mechanisms.laws.knots import Polygon

    Floats = NDArray[np.floating[Any]]
    Read = Callable[[Floats], Floats]

ALPHA = Real(0, 1, "both", as_float=False)
SHARE = Real(0, 1, "both")


class Forms(NamedTuple):
    """f, upper ends of delta at epsilon >= 0, and an epsilon from which on that is 0 (inf: none known)."""

    values: Read
    profile: Read
    largest: float = math.inf


class TradeOff(Displayed):
    """A trade-off function: convex, falling, f(alpha) <= 1 - alpha.

    `side` is two-sided where its values are the function itself to rounding, and lower where they
    are a lower bound of it (the safe side: what they promise is true). Made by `gaussian`,
    `approximate`, `pure`, `points`, and `of` a plan. As a guarantee it holds for both orders of two
    neighbours; where f is not its own inverse, the engine therefore composes the larger of f and its
    inverse.

    >>> f = TradeOff.gaussian(1)
    >>> round(f(0.05), 6), round(f.power(4)(0.05), 4), round(TradeOff.gaussian(2)(0.05), 4)
    (0.740489, 0.3612, 0.3612)
    """

    side: Side = Side.LOWER

    def __init__(self, plan: Node, heading: str, closed: Forms | None = None) -> None:
        self._plan, self._heading, self._closed = plan, heading, closed
        if closed is not None:
            self.side = Side.TWO_SIDED

    # --- showing

    def heading_shown(self) -> str:
        """Return the call that makes it, or the number of corners."""
        return self._heading

    def facts_shown(self) -> Facts:
        """Show the values, from below, at which attacks are reported."""
        sign = "=" if self.side is Side.TWO_SIDED else ">="
        read = ((alpha, self(alpha)) for alpha in (0.001, 0.01, 0.1, 0.5))
        return {f"f({alpha:g}) {sign}": down(float(beta), 4) for alpha, beta in read}

    def __repr__(self) -> str:
        return self._heading

    # --- making

    @staticmethod
    def gaussian(mu: Number) -> TradeOff:
        """G_mu, the trade-off of N(0, 1) and N(mu, 1), mu > 0.

        Raises `InvalidArgument`.

        >>> round(TradeOff.gaussian(1)(0.05), 4)
        0.7405
        """
        from dpacct.mechanisms.gaussian import Gaussian

        size = POSITIVE.check("mu", mu)
        forms = Forms(
            lambda alphas: gaussian_values(float(size), alphas),
            lambda epsilons: _gaussian_profile(float(size), epsilons),
        )
        return TradeOff(Gaussian(sigma=1 / size), f"TradeOff.gaussian({float(size):g})", forms)

    @staticmethod
    def approximate(epsilon: Number, delta: Number) -> TradeOff:
        """max(0, 1 - delta - e^epsilon a, e^-epsilon (1 - delta - a)): (epsilon, delta)-DP.

        `epsilon` >= 0, `delta` in [0, 1].

        Raises `InvalidArgument`.

        >>> TradeOff.approximate(0, "0.25")(0.5)
        0.25
        """
        from dpacct.mechanisms.custom import Custom
        from dpacct.mechanisms.laws.knots import Polygon
        from dpacct.mechanisms.opaque import ApproxDP, PureDP

        eps, lost = EPSILON.check("epsilon", epsilon), SHARE.check("delta", delta)
        kept = float(1 - lost)
        corner = kept / (1.0 + math.exp(float(eps)))
        corners = dict.fromkeys([(0.0, kept), (corner, corner), (kept, 0.0)])
        if 0 < lost < 1:
            plan: Node = ApproxDP(epsilon=eps, delta=lost)
        else:
            plan = PureDP(epsilon=eps) if eps and not lost else Custom(profile=[(0, float(lost))])
        return _of_polygon(Polygon(tuple(corners)), plan)

    @staticmethod
    def pure(epsilon: Number) -> TradeOff:
        """Epsilon-DP, `epsilon` >= 0; at 0 nothing is learnt.

        Raises `InvalidArgument`.

        >>> TradeOff.pure(0)(0.25)
        0.75
        """
        return TradeOff.approximate(epsilon, 0)

    @staticmethod
    def points(points: Sequence[tuple[float, float]]) -> TradeOff:
        """The line through (alpha, beta) points, or the hull (double conjugate) where it bends up.

        Raises `InvalidArgument` for what is not in [0, 1].

        >>> TradeOff.points([(0, 1), (0.5, 0.25), (1, 0)])(0.25)
        0.625
        """
        from dpacct.mechanisms.custom import Custom, pairs_of_numbers
        from dpacct.mechanisms.laws import knots

        rows = sorted(set(pairs_of_numbers(points, "points")))
        plan = Custom(tradeoff=rows)
        # (0, 1) is on every trade-off function or above it, (1, 0) on every one
        whole = [*rows, (0.0, 1.0)] if rows[0][0] > 0.0 else rows
        alphas, betas = zip(*sorted(whole), strict=True)
        return _of_polygon(knots.through(alphas, betas), plan)

    @staticmethod
    def of(plan: Node, *, adjacency: str | None = None) -> TradeOff:
        """The trade-off function of a plan, by the engine: a lower bound.

        Where it is read, it raises what the plan's questions raise.

        >>> import dpacct as dp
        >>> round(TradeOff.of(dp.Gaussian(sigma=1))(0.05), 4)
        0.7405
        """
        plan = Node.checked(plan, "a trade-off function must be of")
        return TradeOff(plan.under(resolve_adjacency(plan, adjacency)), f"TradeOff.of({plan!r})")

    # --- reading

    @property
    def forms(self) -> Forms:
        """Its values and its profile, in closed form or by the engine."""
        if self._closed is None:
            self._closed = _of_plan(self._plan)
        return self._closed

    def __call__(self, alpha: ArrayLike) -> float | Floats:
        """f at each alpha in [0, 1]. Raises `InvalidArgument`."""
        import numpy as np

        array = np.asarray(alpha, dtype=np.float64)
        for error in array.ravel().tolist():
            ALPHA.check("alpha", error)
        result = np.clip(self.forms.values(array.ravel()), 0.0, 1.0 - array.ravel())
        return float(result[0]) if array.ndim == 0 else np.reshape(result, array.shape)

    def node(self) -> Node:
        """A plan of one release with this trade-off: what the engine composes."""
        return self._plan

    def profile(self, epsilons: ArrayLike) -> float | Floats:
        """Delta at each epsilon >= 0: the upper end. Raises `InvalidArgument`.

        >>> round(TradeOff.gaussian(1).profile(1.0), 4)
        0.1269
        """
        import numpy as np

        array = np.asarray(epsilons, dtype=np.float64)
        for bound in array.ravel().tolist():
            EPSILON.check("epsilon", bound)
        result = np.clip(self.forms.profile(array.ravel()), 0.0, 1.0)
        return float(result[0]) if array.ndim == 0 else np.reshape(result, array.shape)

    def epsilon(self, *, delta: Number) -> Answer:
        """The smallest epsilon at this delta; see `Node.epsilon`, which also says what is raised.

        >>> round(float(TradeOff.gaussian(1).epsilon(delta=1e-5)), 4)
        4.3772
        """
        return self.node().epsilon(delta=DELTA.check("delta", delta))

    def delta(self, *, epsilon: Number) -> Answer:
        """The smallest delta at this epsilon; see `Node.delta`, which also says what is raised.

        >>> round(float(TradeOff.gaussian(1).delta(epsilon=1)), 4)
        0.1269
        """
        return self.node().delta(epsilon=EPSILON.check("epsilon", epsilon))

    def gdp(self, *, slack: Number = 0) -> Answer:
        """The smallest mu of which G_mu <= f is sure; see `dpacct.plan.gdp`.

        Raises `InvalidArgument` for a slack outside [0, 1].

        >>> answer = TradeOff.pure(1).gdp()
        >>> f"{answer.value:.4f} {answer.side}"
        '1.2320 upper'
        """
        from dpacct.plan.gdp import gdp

        return gdp(self.forms, slack=slack)

    # --- combining

    def tensor(self, other: TradeOff) -> TradeOff:
        """Composition, f (x) g: both are released; each may be chosen after the other's outcome.

        Raises `InvalidArgument`.

        >>> f, g = TradeOff.gaussian(1), TradeOff.gaussian(1)
        >>> round(f.tensor(g)(0.05), 4)  # as of one with mu = sqrt(2)
        0.5912
        """
        given: object = other
        if not isinstance(given, TradeOff):
            message = f"a trade-off function must be combined with another, got {shown(other)}"
            raise InvalidArgument(message, argument="other")
        return TradeOff.of(self.node() + given.node())

    def power(self, times: int) -> TradeOff:
        """Composition of so many of them, a whole number.

        Raises `InvalidArgument`.

        >>> round(TradeOff.gaussian(1).power(4)(0.05), 4)  # as of one with mu = 2
        0.3612
        """
        return TradeOff.of(self.node() * STEPS.check("times", times))


# --- the forms


def gaussian_values(mu: float, alphas: Floats) -> Floats:
    """G_mu(a) = Phi(Phi^-1(1 - a) - mu) (Dong, Roth, Su 2022, eq. 6)."""
    from scipy.special import ndtr, ndtri

    values: Floats = ndtr(-ndtri(alphas) - mu)
    return values


def _gaussian_profile(mu: float, epsilons: Floats) -> Floats:
    import numpy as np

    from dpacct.pld.conversions import gaussian_log_delta

    results = [gaussian_log_delta(mu, epsilon) for epsilon in epsilons.tolist()]
    return np.exp([value + math.log1p(min(error, 1.0)) for value, error in results])


def _of_polygon(polygon: Polygon, plan: Node) -> TradeOff:
    (x0, y0), (x1, y1) = polygon.corners[:2]
    # delta is 0 from the log of the steepest slope on, if the function starts at 1
    largest = math.log((y0 - y1) / (x1 - x0)) if y0 >= 1.0 and y1 < y0 else math.inf
    heading = f"<trade-off of {len(polygon.corners)} corners>"
    return TradeOff(plan, heading, Forms(polygon, polygon.profile, largest))


def _of_plan(plan: Node) -> Forms:
    """Read the plan's curves, which are composed once."""
    import numpy as np

    from dpacct.plan.composition import Composition
    from dpacct.plan.curve import curve_of, log_profile

    composed, largest = Composition(plan, resolve_adjacency(plan)), math.inf
    if not composed.renyi_only:
        failing = any(direction.log_kept < 0.0 for direction in composed.upper)
        ends = [0.0, *(direction.ceiling for direction in composed.upper)]
        largest = math.inf if failing else max(ends)
    return Forms(
        lambda alphas: curve_of(composed, alphas),
        lambda epsilons: np.exp(log_profile(composed, epsilons)),
        largest,
    )

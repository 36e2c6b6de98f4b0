"""TradeOff: the least type II error f(alpha) of any test of type I error alpha, as a value.

Dong, Roth, Su, Gaussian Differential Privacy (J. R. Stat. Soc. B 2022). A guarantee "f-DP" says that
the trade-off of every two neighbours lies on or above f, so what is computed falls below f where it
cannot be exact, and the profile delta(eps) = sup_a 1 - f(a) - e^eps a above it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dpacct.declare.domain import DELTA, EPSILON, STEPS, Real
from dpacct.declare.number import Number, down, shown
from dpacct.display import Displayed, Facts
from dpacct.errors import InvalidArgument
from dpacct.vocabulary import Side

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from dpacct.answer import Answer
    from dpacct.plan.node import Node

    Floats = NDArray[np.floating[Any]]

ALPHA = Real(0, 1, "both", as_float=False)
SHARE = Real(0, 1, "both")
_ALPHAS = (0.001, 0.01, 0.1, 0.5)


class TradeOff(Displayed, ABC):
    """A trade-off function: convex, falling, f(alpha) <= 1 - alpha.

    `side` is two-sided where its values are the function itself to rounding, and lower where they
    are a lower bound of it (the safe side: what they promise is true). Made by `gaussian`,
    `approximate`, `pure`, `points`, `from_profile`, `from_rdp`, and `of` a plan. As a
    guarantee it holds for both orders of two neighbours; where f is not its own inverse, the engine
    therefore composes the larger of f and its inverse.

    >>> f = TradeOff.gaussian(1)
    >>> round(f(0.05), 6), round(f.power(4)(0.05), 4), round(TradeOff.gaussian(2)(0.05), 4)
    (0.740489, 0.3612, 0.3612)
    """

    side: Side = Side.LOWER

    # --- showing

    def heading_shown(self) -> str:
        """Return the field's word for it."""
        return "trade-off function"

    def facts_shown(self) -> Facts:
        """Show the values, from below, at which attacks are reported."""
        read = ((alpha, self(alpha)) for alpha in _ALPHAS)
        return {f"f({alpha:g}) {self._relation}": down(float(beta), 4) for alpha, beta in read}

    @property
    def _relation(self) -> str:
        return "=" if self.side is Side.TWO_SIDED else ">="

    # --- making

    @staticmethod
    def gaussian(mu: Number) -> TradeOff:
        """G_mu, the trade-off of N(0, 1) and N(mu, 1), mu > 0.

        Raises `InvalidArgument`.

        >>> round(TradeOff.gaussian(1)(0.05), 4)
        0.7405
        """
        from dpacct.plan.tradeoff_forms import GaussianTradeOff

        return GaussianTradeOff(mu)

    @staticmethod
    def approximate(epsilon: Number, delta: Number) -> TradeOff:
        """max(0, 1 - delta - e^epsilon a, e^-epsilon (1 - delta - a)): (epsilon, delta)-DP.

        `epsilon` >= 0, `delta` in [0, 1].

        Raises `InvalidArgument`.

        >>> TradeOff.approximate(0, "0.25")(0.5)
        0.25
        """
        from dpacct.plan.tradeoff_forms import approximate

        return approximate(epsilon, delta)

    @staticmethod
    def pure(epsilon: Number) -> TradeOff:
        """Epsilon-DP, `epsilon` >= 0.

        Raises `InvalidArgument`.

        >>> TradeOff.pure(0)(0.25)
        0.75
        """
        return TradeOff.approximate(epsilon, 0)

    @staticmethod
    def perfect() -> TradeOff:
        """Id(alpha) = 1 - alpha: nothing is learnt.

        >>> TradeOff.perfect()(0.25)
        0.75
        """
        return TradeOff.approximate(0, 0)

    @staticmethod
    def points(points: Sequence[tuple[float, float]]) -> TradeOff:
        """The line through (alpha, beta) points, or the hull (double conjugate) where it bends up.

        Raises `InvalidArgument` for what is not in [0, 1].

        >>> TradeOff.points([(0, 1), (0.5, 0.25), (1, 0)])(0.25)
        0.625
        """
        from dpacct.plan.tradeoff_forms import through

        return through(points)

    @staticmethod
    def from_profile(profile: Callable[[float], float] | Sequence[tuple[float, float]]) -> TradeOff:
        """The lowest trade-off that delta by epsilon allows: a lower bound, or exact for points.

        Raises `InvalidArgument`.

        >>> round(TradeOff.from_profile([(0, 0.5), (1, 0)])(0.25), 4)
        0.3204
        """
        from dpacct.mechanisms.custom import Custom

        return TradeOff.of(Custom(profile=profile))

    @staticmethod
    def from_rdp(rdp: Callable[[float], float]) -> TradeOff:
        """A lower bound from Renyi DP by order (through Canonne, Kamath, Steinke 2020, Prop. 12).

        Raises `InvalidArgument`.

        >>> 0 < TradeOff.from_rdp(lambda order: 0.5 * order)(0.05) < 0.7405
        True
        """
        from dpacct.mechanisms.custom import Custom

        return TradeOff.of(Custom(rdp=rdp))

    @staticmethod
    def of(plan: Node, *, adjacency: str | None = None) -> TradeOff:
        """The trade-off function of a plan, by the engine: a lower bound.

        Where it is read, it raises what the plan's questions raise.

        >>> import dpacct as dp
        >>> round(TradeOff.of(dp.Gaussian(sigma=1))(0.05), 4)
        0.7405
        """
        from dpacct.plan.tradeoff_forms import PlanTradeOff

        return PlanTradeOff(plan, adjacency)

    # --- reading

    def __call__(self, alpha: ArrayLike) -> float | Floats:
        """f at each alpha in [0, 1]. Raises `InvalidArgument`."""
        import numpy as np

        array = np.asarray(alpha, dtype=np.float64)
        for error in array.ravel().tolist():
            ALPHA.check("alpha", error)
        result = np.clip(self._values(array.ravel()), 0.0, 1.0 - array.ravel())
        return float(result[0]) if array.ndim == 0 else np.reshape(result, array.shape)

    @abstractmethod
    def _values(self, alpha: Floats) -> Floats:
        """f at alphas in [0, 1]."""

    @abstractmethod
    def _profile(self, epsilons: Floats) -> Floats:
        """Upper ends of delta, at any real epsilon."""

    @abstractmethod
    def _largest(self) -> float:
        """An epsilon from which on delta is 0; inf where there is none, or none is known."""

    @abstractmethod
    def node(self) -> Node:
        """A plan of one release with this trade-off: what the engine composes."""

    def profile(self, epsilons: ArrayLike) -> float | Floats:
        """Delta at each epsilon >= 0: the upper end. Raises `InvalidArgument`.

        >>> round(TradeOff.gaussian(1).profile(1.0), 4)
        0.1269
        """
        import numpy as np

        array = np.asarray(epsilons, dtype=np.float64)
        for bound in array.ravel().tolist():
            EPSILON.check("epsilon", bound)
        result = np.clip(self._profile(array.ravel()), 0.0, 1.0)
        return float(result[0]) if array.ndim == 0 else np.reshape(result, array.shape)

    def epsilon(self, *, delta: Number) -> Answer:
        """The smallest epsilon at this delta; see `Node.epsilon`.

        Raises what `Node.epsilon` raises.

        >>> round(float(TradeOff.gaussian(1).epsilon(delta=1e-5)), 4)
        4.3772
        """
        return self.node().epsilon(delta=DELTA.check("delta", delta))

    def delta(self, *, epsilon: Number) -> Answer:
        """The smallest delta at this epsilon; see `Node.delta`.

        Raises what `Node.delta` raises.

        >>> round(float(TradeOff.gaussian(1).delta(epsilon=1)), 4)
        0.1269
        """
        return self.node().delta(epsilon=EPSILON.check("epsilon", epsilon))

    def rdp(self, order: ArrayLike) -> float | Floats:
        """Renyi DP at an order above 1: an upper bound, infinite where f(0) < 1.

        Raises `InvalidArgument`.

        >>> round(TradeOff.gaussian(1).rdp(2), 4)
        1.0
        """
        return self.node().rdp(order)

    def gdp(self, *, slack: Number = 0) -> Answer:
        """The smallest mu of which G_mu <= f is sure; see `tradeoff_forms.gdp`.

        Raises `InvalidArgument` for a slack outside [0, 1].

        >>> answer = TradeOff.pure(1).gdp()
        >>> f"{answer.value:.4f} {answer.side}"
        '1.2320 upper'
        """
        from dpacct.plan.tradeoff_forms import gdp

        return gdp(self, slack=slack)

    # --- combining

    def tensor(self, other: TradeOff) -> TradeOff:
        """Composition, f (x) g: both are released; each may be chosen after the other's outcome.

        Raises `InvalidArgument`.

        >>> f, g = TradeOff.gaussian(1), TradeOff.gaussian(1)
        >>> round(f.tensor(g)(0.05), 4)  # as of one with mu = sqrt(2)
        0.5912
        """
        return TradeOff.of(self.node() + _checked(other).node())

    def power(self, times: int) -> TradeOff:
        """Composition of so many of them, a whole number.

        Raises `InvalidArgument`.

        >>> round(TradeOff.gaussian(1).power(4)(0.05), 4)  # as of one with mu = 2
        0.3612
        """
        return TradeOff.of(self.node() * STEPS.check("times", times))


def _checked(other: object) -> TradeOff:
    if isinstance(other, TradeOff):
        return other
    message = f"a trade-off function must be combined with another, got {shown(other)}"
    raise InvalidArgument(message, argument="other")


def mirrored(function: Callable[[Floats], Floats], epsilons: Floats) -> Floats:
    """A symmetric profile, known at epsilons >= 0, at any: H(-e) = 1 - e^-e (1 - H(e))."""
    import numpy as np

    size = np.abs(epsilons)
    above = function(size)
    below = 1.0 - np.exp(-size) * (1.0 - above)
    return np.where(epsilons < 0.0, below, above)

"""Mechanisms known only by a guarantee: pure DP, approximate DP, zero-concentrated DP."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpacct.citations import STEP
from dpacct.declare.domain import EPSILON, Real
from dpacct.declare.record import Parameter
from dpacct.mechanisms.mechanism import Mechanism
from dpacct.vocabulary import Adjacency, Assumption

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dpacct.pld.pair import Stated


GUARANTEE = Real(0, typical=(1e-2, 10))
"""A guarantee's epsilon or rho: positive."""
FAILURE = Real(0, 1)
"""A guarantee's delta."""


class _Opaque(Mechanism):
    """A guarantee taken on trust."""

    from_reals = False

    def assumptions(self, adjacency: Adjacency) -> tuple[Assumption, ...]:
        """The assumption that the guarantee holds for the adjacency of the question."""
        return (
            Assumption(f"{self!r} holds under {adjacency} for each release", id="stated-guarantee"),
        )


class PureDP(_Opaque, kind="pure-dp"):
    """Any epsilon-DP mechanism, `epsilon` > 0: the worst is randomised response on one bit.

    Raises `InvalidArgument` out of range.

    >>> PureDP(epsilon=0.1)
    PureDP(epsilon=0.1)
    """

    label = "a mechanism known only by its epsilon"
    # the attribute `epsilon` is the question that every plan answers
    eps0: Parameter[Fraction] = Parameter(
        GUARANTEE, "epsilon of one release", alias="epsilon", kw_only=False
    )
    references = ("kairouz2015composition",)

    def pure_epsilon(self, adjacency: Adjacency) -> Fraction:
        """The epsilon that was stated: every adjacency has the same."""
        return self.eps0

    def stated(self, adjacency: Adjacency) -> Stated:
        """Randomised response: log-likelihood ratios of +epsilon and -epsilon."""
        from dpacct.pld.pair import Stated, guarantee

        return Stated(guarantee, (self.eps0,), STEP, self.eps0)


class ApproxDP(_Opaque, kind="approx-dp"):
    """Any (epsilon, delta)-DP mechanism, `epsilon` >= 0, `delta` in (0, 1).

    The worst fails openly with probability delta, and is randomised response otherwise. Raises
    `InvalidArgument` out of range.

    >>> ApproxDP(epsilon=0.1, delta=1e-6)
    ApproxDP(epsilon=0.1, delta=1e-6)
    """

    label = "a mechanism known only by its epsilon and delta"
    eps0: Parameter[Fraction] = Parameter(EPSILON, "epsilon of one release", alias="epsilon")
    delta0: Parameter[Fraction] = Parameter(FAILURE, "delta of one release", alias="delta")
    references = ("kairouz2015composition",)

    def largest_loss(self, adjacency: Adjacency) -> Fraction:
        """The guarantee's epsilon; only the failure lies beyond it."""
        return self.eps0

    @property
    def promises(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """The stated (epsilon, delta)."""
        return ((self.eps0, self.delta0),)

    def stated(self, adjacency: Adjacency) -> Stated:
        """Randomised response beside two atoms of infinite loss, of mass delta each way."""
        from dpacct.pld.pair import Stated, guarantee

        return Stated(guarantee, (self.eps0, self.delta0), STEP, self.eps0)


class ZCDP(_Opaque, kind="zcdp"):
    """Any rho-zero-concentrated DP mechanism, `rho` > 0: Renyi DP at order a is at most a * rho.

    No single pair dominates all of them, so only the Renyi route applies. Raises
    `InvalidArgument` out of range.

    >>> ZCDP(rho=0.1)
    ZCDP(rho=0.1)
    """

    label = "a mechanism known only by its zero-concentrated DP"
    rho: Parameter[Fraction] = Parameter(GUARANTEE, "rho of one release", kw_only=False)
    references = ("bun2016concentrated",)
    has_pairs = False

    def renyi(
        self, orders: NDArray[np.floating[Any]], adjacency: Adjacency
    ) -> NDArray[np.floating[Any]]:
        """Rho * order (Bun-Steinke, Definition 1.1)."""
        return float(self.rho) * orders

    def grouped(self, size: int) -> ZCDP:
        """k^2 rho (Bun-Steinke, Proposition 1.9)."""
        return ZCDP(rho=size**2 * self.rho)

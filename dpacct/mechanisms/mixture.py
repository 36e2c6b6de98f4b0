"""Gaussian noise on a sum that one unit moves by a random amount."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpacct.declare.domain import POSITIVE, Domain, Real
from dpacct.declare.number import Number, shown
from dpacct.declare.record import Parameter
from dpacct.errors import InvalidArgument, Unsupported
from dpacct.mechanisms.custom import listed
from dpacct.mechanisms.mechanism import Mechanism
from dpacct.vocabulary import Adjacency, Assumption

if TYPE_CHECKING:
    from dpacct.pld.pair import Pair

_MOST = 1000


class Numbers(Domain[tuple[Fraction, ...]]):
    """Up to 1,000 numbers, each of one domain."""

    def __init__(self, each: Real) -> None:
        self._each = each
        self.words = f"a list of at most {_MOST} entries, each {each.words}"

    def check(self, name: str, value: object) -> tuple[Fraction, ...]:
        """The numbers, made exact."""
        entries = listed(value)
        if not entries or len(entries) > _MOST:
            raise self.refusal(name, value)
        return tuple(self._each.check(name, entry) for entry in entries)


class NumberList(Parameter[tuple[Fraction, ...]]):
    """A parameter that is a list of numbers."""

    if TYPE_CHECKING:

        def __set__(self, record: Any, value: Number | Sequence[Number] | None) -> None:
            raise AttributeError(self.name)


class GaussianMixture(Mechanism, kind="gaussian-mixture"):
    """Normal noise of standard deviation `sigma` on a sum that a unit moves by one of `moves`, at random.

    `moves` (numbers of at least 0, in the units of sigma) are bounds of the l2 norm of what the unit adds,
    each with its chance in `weights`, which add up to 1: independent of the data and hidden, as the number of
    a user's records in a batch. A unit is there or not: not under replace-one. With moves (0, 1) and weights
    (1 - q, q) it is a Gaussian under Poisson sampling. Raises `InvalidArgument`.

    >>> step = GaussianMixture(sigma=1, moves=[0, 1, 2], weights=[0.2, 0.6, 0.2])
    >>> step, round(float((step * 3).epsilon(1e-6)), 4)
    (GaussianMixture(sigma=1, moves=[0, 1, 2], weights=[0.2, 0.6, 0.2]), 14.551)
    """

    label = "Gaussian noise on random moves"
    in_files = False  # its parameters are lists
    sigma: Parameter[Fraction] = Parameter(POSITIVE, "standard deviation of the noise", "S")
    moves: NumberList = NumberList(Numbers(Real(0, 10**6, "both")), "how far a unit moves the sum")
    weights: NumberList = NumberList(Numbers(Real(0, 1, "right")), "the chance of each move")
    references = ("choquette2024privacy", "ganesh2024tight")

    def _complaint(self) -> InvalidArgument | None:
        # Weights that were typed as floats may miss 1 together by this much.
        rounded = Fraction(1, 10**9)
        moves, weights = self.moves, self.weights
        if len(moves) != len(weights):
            message = f"weights must be {len(moves)} numbers, one for each move, got {len(weights)}"
            return InvalidArgument(message, argument="weights")
        if not -rounded <= sum(weights) - 1 <= rounded:
            message = f"weights must add up to 1, got {shown(float(sum(weights)))}"
            return InvalidArgument(message, argument="weights")
        if not any(moves):
            return InvalidArgument("moves must not all be 0", argument="moves")
        return None

    def pair(self, adjacency: Adjacency) -> Pair:
        """sum_j w_j N(m_j, sigma^2) against N(0, sigma^2), and back.

        With l the loss of the largest move m against none and k = m_j / m, N(m_j) has the loss
        k l - k (k - 1) m^2 / (2 sigma^2).
        """
        from dpacct.citations import MIXTURE
        from dpacct.pld.loss import gaussian
        from dpacct.pld.operators import Blended
        from dpacct.pld.pair import Pair
        from dpacct.pld.pieces import Cut

        if adjacency is Adjacency.REPLACE_ONE:
            message = "GaussianMixture has a known pair under add-remove and zero-out only"
            raise Unsupported(f"{message}, got {adjacency}", argument="adjacency")
        largest = max(self.moves)
        mu, terms = float(largest / self.sigma), []
        for move, weight in self._weighed().items():
            k = float(move / largest)
            terms.append((float(weight), k, 0.5 * k * (k - 1.0) * mu * mu))
        law = gaussian(mu)
        if len(terms) > 1:
            law = law.through(Blended(tuple(terms)))
        return Pair((Cut(law), Cut(law.reversed())), (MIXTURE,))

    def _weighed(self) -> dict[Fraction, Fraction]:
        """The weight of each move; what rounding left is the largest move's, or the smallest one's less."""
        weighed: dict[Fraction, Fraction] = {}
        for move, weight in zip(self.moves, self.weights, strict=True):
            weighed[move] = weighed.get(move, Fraction(0)) + weight
        rest = 1 - sum(weighed.values())
        weighed[max(weighed) if rest > 0 else min(weighed)] += rest
        return {move: weight for move, weight in weighed.items() if weight > 0}

    def grouped(self, size: int) -> None:
        """None: how a group's moves depend on each other is not stated."""
        return

    def assumptions(self, adjacency: Adjacency) -> tuple[Assumption, ...]:
        """The moves and their chances, which the accountant cannot see."""
        text = "a unit adds at most one of the moves, drawn afresh with the stated weights and kept secret"
        return (Assumption(text, id="sensitivity"),)

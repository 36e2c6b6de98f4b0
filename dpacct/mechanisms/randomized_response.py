"""Randomised response, which dominates every local randomiser of the same epsilon."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpacct.citations import STEP, TWO_ANSWERS
from dpacct.declare.domain import Integer
from dpacct.declare.number import shown
from dpacct.declare.record import Parameter
from dpacct.errors import InvalidArgument
from dpacct.mechanisms.mechanism import Mechanism
from dpacct.mechanisms.staircase import EPS0
from dpacct.pld.scalar import exp
from dpacct.vocabulary import Adjacency, Assumption

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dpacct.pld.loss import LossDistribution
    from dpacct.pld.pair import Stated


class RandomizedResponse(Mechanism, kind="randomized-response"):
    """One of `k` answers: the true one e^eps0 times as likely as each other one.

    `eps0` in (0, 500], `k` a whole number from 2 to 10^9. Raises `InvalidArgument`.

    >>> RandomizedResponse(eps0=1, k=4)
    RandomizedResponse(eps0=1, k=4)
    """

    from_reals = False
    label = "randomized response"
    sought, between = "eps0", (1e-6, 500.0)
    trust = "each {unit} answers once a step, with coins of its own"
    eps0: Parameter[Fraction] = Parameter(EPS0, "epsilon of one answer", "L", kw_only=False)
    k: Parameter[int] = Parameter(Integer(2, 10**9), "number of possible answers", "K", default=2)
    references = ("warner1965randomized", "kairouz2016discrete")

    def pure_epsilon(self, adjacency: Adjacency) -> Fraction:
        """The epsilon that was stated: every adjacency has the same."""
        return self.eps0

    def stated(self, adjacency: Adjacency) -> Stated:
        """Two true answers: losses eps0, -eps0, and 0 for every other answer."""
        from dpacct.pld.pair import Stated

        return Stated(_answers, (self.eps0, self.k), TWO_ANSWERS, self.eps0)

    def assumptions(self, adjacency: Adjacency) -> tuple[Assumption, ...]:
        """The assumption about whose answer is randomised."""
        return (Assumption("each unit's one answer is randomised on its own", id="local"),)

    def sample(self, answers: object, *, rng: object = None) -> NDArray[np.integer[Any]]:
        """Randomised answers for true ones from 0 to k - 1, from exact coins.

        `rng` is a seed, random.Random, numpy Generator, or None: the system's entropy, the choice for
        a release. Raises `InvalidArgument`.

        >>> RandomizedResponse(eps0=20, k=3).sample([0, 1, 2], rng=1)
        array([0, 1, 2])
        """
        import numpy as np

        from dpacct.mechanisms.laws.draw import below, enclosed_coin, honesty

        true, k = np.asarray(answers), int(self.k)
        if true.dtype.kind not in "iu" or (true.size and not 0 <= true.min() <= true.max() < k):
            message = f"answers must be whole numbers in [0, {k - 1}], got {shown(answers)}"
            raise InvalidArgument(message, argument="answers")
        uniform, honest = below(rng), honesty(self.eps0, k)
        drawn = [
            answer if enclosed_coin(honest, uniform) else (answer + 1 + uniform(k - 1)) % k
            for answer in true.ravel().tolist()
        ]
        return np.array(drawn, dtype=true.dtype).reshape(true.shape)


def _answers(eps0: Any, k: int) -> LossDistribution:
    """One of k answers, k >= 2."""
    from dpacct.pld.pair import symmetric

    fall = exp(-eps0)
    lie = fall / (1.0 + (k - 1) * fall)  # the probability of each answer that is not true
    return symmetric((eps0, 0.0), (lie, 0.5 * (k - 2) * lie))


class LocalRandomizer(Mechanism, kind="local-randomizer"):
    """Any eps0-locally-DP randomiser of one unit's value, eps0 in (0, 500]; nothing else is known.

    The worst is randomised response on one bit. Raises `InvalidArgument`.

    >>> LocalRandomizer(eps0=0.5)
    LocalRandomizer(eps0=0.5)
    """

    from_reals = False
    label = "a local randomizer"
    sought, between = "eps0", (1e-6, 500.0)
    trust = "each {unit} reports once a step, by a randomizer that is eps0-DP in its value"
    eps0: Parameter[Fraction] = Parameter(EPS0, "epsilon of one report", "L", kw_only=False)
    references = ("kasiviswanathan2008what", "kairouz2015composition")

    def pure_epsilon(self, adjacency: Adjacency) -> Fraction:
        """The epsilon that was stated: every adjacency has the same."""
        return self.eps0

    def stated(self, adjacency: Adjacency) -> Stated:
        """Randomised response at eps0."""
        from dpacct.pld.pair import Stated, guarantee

        return Stated(guarantee, (self.eps0,), STEP, self.eps0)

    def assumptions(self, adjacency: Adjacency) -> tuple[Assumption, ...]:
        """The assumption that the randomiser is eps0-locally-DP."""
        return (
            Assumption(f"{self!r} sees one unit's value only, and is eps0-DP in it", id="local"),
        )

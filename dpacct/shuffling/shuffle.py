"""Shuffle: randomised messages of many clients in a random order."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpacct.declare.domain import RATE, Integer
from dpacct.declare.number import Number
from dpacct.declare.record import Parameter
from dpacct.errors import OutsideDomain
from dpacct.mechanisms.mechanism import Mechanism
from dpacct.mechanisms.staircase import EPS0
from dpacct.plan.node import Facts, resolve_adjacency
from dpacct.vocabulary import Adjacency, Assumption, Unit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from dpacct.answer import Answer
    from dpacct.shuffling.pair import ShufflePair

CLIENTS = Integer(1, 10**9, typical=(10, 10**6))
"""Messages in one shuffle."""
ANSWERS = Integer(2, 10**9, typical=(2, 100))
"""Answers of a randomised response."""


class Shuffle(Mechanism, kind="shuffle"):
    """One shuffle of `clients` messages, each made by the same `eps0`-DP randomiser from one client's value.

    `eps0` in (0, 500], `clients` a whole number from 1 to 10^9. `k` says that the randomiser is randomised
    response on k answers; without it, it may be any that is eps0-DP, purely: a Renyi or (eps, delta)
    guarantee of the randomiser is none of those (`Shuffle.of` says so). Each client takes part with
    probability `rate` in (0, 1], by its own secret coin. Neighbours differ in one client's value; rounds
    are `Shuffle(...) * rounds`, each with fresh coins and a fresh shuffle. Raises `InvalidArgument`.

    >>> Shuffle(eps0=4, clients=10**5)
    Shuffle(eps0=4, clients=100000, rate=1)
    >>> f"{float(Shuffle(eps0=4, clients=10**5).epsilon(delta=1e-6)):.5f}"
    '0.11815'
    """

    label = "a shuffle of messages"
    eps0: Parameter[Fraction] = Parameter(EPS0, "epsilon of each client's message")
    clients: Parameter[int] = Parameter(CLIENTS, "number of clients")
    k: Parameter[int | None] = Parameter(
        ANSWERS, "number of answers of randomised response", default=None
    )
    rate: Parameter[Fraction] = Parameter(
        RATE, "probability that a client takes part", default=Fraction(1)
    )
    in_files = False
    facts = Facts(fixed=Adjacency.REPLACE_ONE, unit=Unit.CLIENT)
    references = ("feldman2022", "balle2019")

    @staticmethod
    def of(randomizer: Mechanism, *, clients: Number, rate: Number = 1) -> Shuffle:
        """The shuffle of this randomiser's messages.

        Raises `OutsideDomain` for a randomiser that is not purely eps0-DP: Gaussian noise, a zCDP or
        approximate guarantee.

        >>> import dpacct as dp
        >>> Shuffle.of(dp.RandomizedResponse(eps0=1, k=4), clients=1000)
        Shuffle(eps0=1, clients=1000, k=4, rate=1)
        """
        eps0 = randomizer.pure_epsilon(Adjacency.REPLACE_ONE)
        if eps0 is None:
            message = (
                f"a shuffled randomizer must be purely eps0-DP, got {randomizer!r}: amplification by "
                "shuffling takes its largest privacy loss, and a Renyi or (eps, delta) guarantee bounds none"
            )
            raise OutsideDomain(message, argument="randomizer")
        return Shuffle(eps0=eps0, clients=clients, k=getattr(randomizer, "k", None), rate=rate)

    def pair(self, adjacency: Adjacency) -> ShufflePair:
        """The pair of the reduction, and what randomised response realises."""
        from dpacct.citations import BLANKET, CLONES, REALISED
        from dpacct.shuffling.count import Count
        from dpacct.shuffling.letters import Letters
        from dpacct.shuffling.pair import ShufflePair

        n, eps0, rate = int(self.clients), float(self.eps0), float(self.rate)
        answers = int(self.k or 0)
        letters = Letters(n, eps0, answers, rate)
        least = None if answers == 2 else Letters(n, eps0, answers, rate, realised=True)
        count = Count(n, eps0, rate) if answers == 2 else None
        basis = (BLANKET if answers else CLONES, REALISED)
        return ShufflePair.of_letters(letters, least, count, basis)

    def assumptions(self, adjacency: Adjacency) -> tuple[Assumption, ...]:
        """The assumptions about clients and shuffler."""
        kind = (
            f"randomised response on {self.k} answers" if self.k else "one and the same randomiser"
        )
        results = [
            f"every client's message is made by {kind}, eps0-DP in its value, with coins of its own",
            "the shuffler drops who sent what, permutes uniformly, and colludes with nobody",
        ]
        if self.rate < 1:
            results.append("whether a client takes part is its own coin, and stays secret")
        ids = ("local", "shuffler", "sampling")
        return tuple(Assumption(text, id=each) for text, each in zip(results, ids, strict=False))

    # --- questions: one shuffle has sharper answers than a composition of one

    def sharper(
        self, quantity: str, at: Fraction, method: str, adjacency: Adjacency | None
    ) -> Answer | None:
        """Answer by a bound for one shuffle, its name or auto; "exact" and "rdp" are a composition's.

        >>> Shuffle(eps0=1, clients=1000).epsilon(delta=1e-6).method
        'feldman2022.clones'
        >>> Shuffle(eps0=1, clients=1000).delta(epsilon=1).value
        0.0
        """
        from dpacct.shuffling.bounds import sharper

        return sharper(self, quantity, at, method, adjacency)

    def sharper_repeated(
        self, times: int, quantity: str, at: Fraction, method: str, adjacency: Adjacency | None
    ) -> Answer | None:
        """The smallest of all bounds over rounds, composed or each of a theorem's own."""
        from dpacct.shuffling.bounds import of_rounds

        resolve_adjacency(self, adjacency)
        return of_rounds(self, times, quantity, at)[0] if method == "auto" else None

    def profile(
        self, epsilons: ArrayLike, *, adjacency: Adjacency | str | None = None
    ) -> NDArray[np.floating[Any]]:
        """The upper end of delta at each of many epsilons >= 0.

        >>> [f"{delta:.1e}" for delta in Shuffle(eps0=1, clients=1000).profile([0, 0.1, 0.2])]
        ['1.6e-02', '8.2e-05', '2.3e-09']
        """
        from dpacct.shuffling.bounds import profile

        return profile(self, epsilons, adjacency)

    def compare(self, **question: Any) -> tuple[Answer, ...]:
        """Every bound that applies, the smallest first, then what any composition offers.

        >>> len(Shuffle(eps0=1, clients=10**5).compare(delta=1e-6)) > 6
        True
        """
        from dpacct.shuffling.bounds import compare

        return (*compare(self, **question), *super().compare(**question))

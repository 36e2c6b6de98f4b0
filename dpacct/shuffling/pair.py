"""The dominating pairs of a shuffle, as the composition asks for them."""

from __future__ import annotations

from dataclasses import dataclass

from dpacct.errors import Unsupported
from dpacct.pld.derived import backwards, sampled
from dpacct.pld.pair import Pair, Pairs, Ways
from dpacct.vocabulary import Adjacency

from .count import Count
from .letters import Letters
from .source import ShuffleSource

GENERIC = (
    "Feldman, McMillan, Talwar 2022: a response among Bin(n-1, 2/(e^eps0+1)) fair coins "
    "(docs/theory/shuffling.md)"
)
BLANKET = (
    "privacy blanket (Balle, Bell, Gascon, Nissim 2019) of randomised response, its telling answers "
    "counted exactly (docs/theory/shuffling.md)"
)
REALISED = "below: shuffled randomised response, the others' answers fixed"


@dataclass(frozen=True)
class ShufflePair(Pair):
    """Upper: the letters of the reduction. Lower: randomised response, the others' inputs fixed."""

    @classmethod
    def of_letters(
        cls, letters: Letters, least: Letters | None, count: Count | None, basis: tuple[str, ...]
    ) -> ShufflePair:
        """Every client's message is in the shuffle, or is by its own coin."""

        def below(rate: float) -> Ways:
            if rate < 1.0:
                # one client holds a one and all others zero, against all zero: no trace if not sampled
                seen = ShuffleSource(Count(letters.clients, letters.eps0), upper=False)
                remove = sampled(seen, rate)
                return remove, backwards(remove)
            results = [] if least is None else [ShuffleSource(least, upper=False)]
            ways = () if count is None else (count, count.reverse)
            return (*results, *(ShuffleSource(way, upper=False) for way in ways))

        return cls((ShuffleSource(letters, upper=True),), basis, below=below)

    def poisson(self, rate: float, adjacency: Adjacency) -> Pairs:
        """A sample of unknown size is no shuffle of this many: raises `Unsupported`."""
        message = "a shuffle has a fixed number of clients: clients that take part by their own coins are "
        raise Unsupported(f"{message}Shuffle(..., rate=q)", argument="plan")

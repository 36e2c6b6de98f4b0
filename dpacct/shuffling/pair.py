"""The dominating pairs of a shuffle, as the composition asks for them."""

from __future__ import annotations

from dataclasses import dataclass

from dpacct.curves.pairs import FIXED_SIZE, Pairs
from dpacct.curves.source_law import SourceLaw
from dpacct.errors import Unsupported
from dpacct.pld.derived import backwards, mirrored, sampled
from dpacct.vocabulary import Adjacency

from .count import Count
from .law import ShuffleLaw
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
class ShufflePair:
    """Upper: the letters of the reduction. Lower: randomised response, the others' inputs fixed."""

    letters: Letters
    least: Letters | None
    count: Count | None
    basis: tuple[str, ...]

    def plain(self) -> Pairs:
        """Every client's message is in the shuffle, or is by its own coin."""
        upper = ShuffleLaw(ShuffleSource(self.letters, upper=True))
        below: list[ShuffleSource] = []
        if self.least is not None:
            below.append(ShuffleSource(self.least, upper=False))
        if self.count is not None:
            below += [ShuffleSource(way, upper=False) for way in (self.count, self.count.reverse)]
        lower = tuple(ShuffleLaw(source) for source in below)
        return Pairs((upper,), self.basis, lower, clt_mu_squared=upper.variance_hint)

    def poisson(self, rate: float, adjacency: Adjacency) -> Pairs:
        """A sample of unknown size is no shuffle of this many: raises `Unsupported`."""
        told = "a shuffle has a fixed number of clients: clients that take part by their own coins are "
        raise Unsupported(f"{told}Shuffle(..., rate=q)", argument="plan")

    def without_replacement(self, rate: float, adjacency: Adjacency) -> Pairs:
        """A uniform subset of the clients is shuffled; its size is what the shuffle is given."""
        if rate == 1.0:
            return self.plain()
        base = ShuffleSource(self.letters, upper=True)
        upper = SourceLaw(mirrored(base, rate))
        # one client holds a one and all others zero, against all zero: not sampled, it leaves no trace
        seen = ShuffleSource(Count(self.letters.clients, self.letters.eps0), upper=False)
        remove = sampled(seen, rate)
        lower = SourceLaw(remove), SourceLaw(backwards(remove))
        return Pairs((upper,), (*self.basis, FIXED_SIZE), lower, upper.variance_hint)

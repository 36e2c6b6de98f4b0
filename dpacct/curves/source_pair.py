"""A mechanism's pair given by sources alone, plain and sampled."""

from __future__ import annotations

from dataclasses import dataclass

from dpacct.curves.pairs import FIXED_SIZE, POISSON, Pairs
from dpacct.errors import Unsupported
from dpacct.pld.derived import backwards, mirrored, sampled
from dpacct.pld.pieces import Source
from dpacct.vocabulary import Adjacency

from .source_law import SourceLaw


@dataclass(frozen=True)
class DiscretePair:
    """The pair (P, Q) = (with the unit, without it) of one release.

    `source` is the law of log dP/dQ under P. `reverse` is the source of (Q, P), where it differs;
    None: the pair is its own mirror image, (Q, P) has the same profile as (P, Q).
    """

    source: Source
    basis: tuple[str, ...]
    reverse: Source | None = None

    def _pairs(self, sources: tuple[Source, ...], *basis: str) -> Pairs:
        laws = tuple(SourceLaw(source) for source in sources)
        spread = max(law.variance_hint for law in laws)
        return Pairs(laws, (*self.basis, *basis), clt_mu_squared=spread)

    def plain(self) -> Pairs:
        """One release without sampling."""
        both = (self.source,) if self.reverse is None else (self.source, self.reverse)
        return self._pairs(both)

    def poisson(self, rate: float, adjacency: Adjacency) -> Pairs:
        """One release on a Poisson sample."""
        if adjacency is Adjacency.REPLACE_ONE:
            return self.without_replacement(rate, adjacency)
        if rate == 1.0:
            return self.plain()
        remove = sampled(self.source, rate)
        return self._pairs((remove, backwards(remove)), POISSON)

    def without_replacement(self, rate: float, adjacency: Adjacency) -> Pairs:
        """One release on a sample of fixed size; raises `Unsupported` for a pair without symmetry."""
        if self.reverse is not None:
            told = "sampling under replace-one needs a pair that is its own mirror image"
            raise Unsupported(f"{told}, and this one is not", argument="plan")
        if rate == 1.0:
            return self.plain()
        upper = SourceLaw(mirrored(self.source, rate))
        remove = sampled(self.source, rate)
        lower = SourceLaw(remove), SourceLaw(backwards(remove))
        basis = (*self.basis, FIXED_SIZE)
        return Pairs((upper,), basis, lower, upper.variance_hint)

"""The dominating pairs of one release, as the laws of their privacy losses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from dpacct.engine.law import Law
from dpacct.vocabulary import Adjacency

POISSON = "Zhu, Dong, Wang 2022, Theorem 11: Poisson sampling of a dominating pair"
FIXED_SIZE = "Dong, Roth, Su 2022, Theorem 4.2: C_rate of the trade-off function"


@dataclass(frozen=True)
class Pairs:
    """Loss laws of one step, one per direction of the neighbouring relation.

    `upper` dominates the step (adaptively, under composition); `lower` is realised by some
    neighbouring data sets. None: `upper` itself is realised, so the answer is exact.
    """

    upper: tuple[Law, ...]
    basis: tuple[str, ...]
    lower: tuple[Law, ...] | None = None
    clt_mu_squared: float = 0.0  # mu^2 of one step in the Gaussian limit
    gaussian_mu: float | None = None  # mu, where the step is a plain Gaussian


class BasePair(Protocol):
    """The pair of a mechanism before sampling; symmetric under exchange of its two distributions."""

    def plain(self) -> Pairs: ...

    def poisson(self, rate: float, adjacency: Adjacency) -> Pairs: ...

    def without_replacement(self, rate: float, adjacency: Adjacency) -> Pairs: ...

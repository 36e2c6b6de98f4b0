"""Which clients take part in a round, and which records in a step: the coins, and what counts them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

import dpacct as dp
from dpacct_training.keys import Stream

SCHEMES = ("poisson", "uniform", "none")


@dataclass(frozen=True)
class Sample:
    """The clients of one round, ascending, and how many coins were tossed to find them."""

    clients: NDArray[np.int64]
    coins: int

    @property
    def size(self) -> int:
        """How many take part; may be 0 under Poisson sampling."""
        return len(self.clients)


def poisson(population: int, rate: Fraction, stream: Stream) -> Sample:
    """One coin for each client.

    The threshold is rounded down to a multiple of 2^-64: the rate that runs is at most the one that
    is accounted.
    """
    words = stream.words(population)
    if rate == 1:
        return Sample(np.arange(population), population)
    threshold = np.uint64(rate.numerator * 2**64 // rate.denominator)
    return Sample(np.flatnonzero(words < threshold), population)


def fixed_size(population: int, size: int, stream: Stream) -> Sample:
    """A subset of `size` clients, each equally likely: those with the smallest random words.

    Equal words (chance below population^2 / 2^65) are all drawn again, so that no order is favoured.
    """
    words = stream.words(population)
    while len(np.unique(words)) < population:
        words = stream.words(population)
    return Sample(np.sort(np.argpartition(words, size - 1)[:size]), 0)


def drawn(scheme: str, population: int, rate: Fraction, stream: Stream) -> Sample:
    """A sample: "poisson" (a coin each), "uniform" (a subset of fixed size) or "none" (all of them)."""
    if scheme == "none":
        return Sample(np.arange(population), 0)
    if scheme == "poisson":
        return poisson(population, rate, stream)
    return fixed_size(population, int(rate * population), stream)


def accounted(node: dp.Node, scheme: str, rate: Fraction) -> dp.Node:
    """`node` on such a sample."""
    if scheme == "none":
        return node
    sampled: dp.Node = (
        dp.Poisson(rate)(node) if scheme == "poisson" else dp.WithoutReplacement(rate)(node)
    )
    return sampled

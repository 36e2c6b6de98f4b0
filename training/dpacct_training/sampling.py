"""Which clients take part in a round: the coins that the accountant counts."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

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


def everyone(population: int) -> Sample:
    """All clients."""
    return Sample(np.arange(population), 0)

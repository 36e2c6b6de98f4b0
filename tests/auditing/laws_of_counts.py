"""Runs of which everything is known: guesses depend on the coins by the number of right ones alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Counted:
    """All of `canaries` are guessed; `law[k]` is the chance that k guesses are right, whatever the coins.

    Which ones are right is uniform. Flipping a coin turns a right guess among k into a wrong one among
    k - 1, so the pair of neighbours is known exactly.
    """

    law: Sequence[float]

    @property
    def canaries(self) -> int:
        return len(self.law) - 1

    def delta(self, epsilon: float) -> float:
        """sum over guesses t of (P(t) - e^eps Q(t))_+, one coin flipped."""
        m, growth = self.canaries, math.exp(epsilon)
        each = [mass / math.comb(m, k) for k, mass in enumerate(self.law)]
        right = (
            math.comb(m - 1, k - 1) * max(0.0, each[k] - growth * each[k - 1])
            for k in range(1, m + 1)
        )
        wrong = (math.comb(m - 1, k) * max(0.0, each[k] - growth * each[k + 1]) for k in range(m))
        return math.fsum([*right, *wrong])

    def tail(self, right: int) -> float:
        """The chance of so many right guesses."""
        return math.fsum(self.law[right:])


def drawn(seed: int) -> Counted:
    """A law of up to twelve canaries, now smooth, now with a leap somewhere."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 13))
    chance = rng.uniform(0.3, 0.95)
    law = np.array([math.comb(m, k) * chance**k * (1 - chance) ** (m - k) for k in range(m + 1)])
    law *= np.exp(rng.normal(size=m + 1) * rng.choice([0.0, 0.1, 1.0]))
    law[int(rng.integers(m + 1))] += rng.choice([0.0, 0.01, 0.3])
    return Counted((law / law.sum()).tolist())

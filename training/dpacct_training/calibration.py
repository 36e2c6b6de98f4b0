"""How much noise a run gets: asked of dpacct by target, named by a theorem, or given."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import dpacct as dp
from dpacct_training.accept import positive


@dataclass(frozen=True)
class Target:
    """What must hold at the end: (epsilon, delta), and how the noise is to be found.

    `noise` is "exact" (the least noise that dpacct's exact accountant allows), the id of a theorem
    ("dp_fed_ls.theorem1": what the paper asks for), "none", or a number: the standard deviation of
    the noise in the sum.
    """

    epsilon: float
    delta: Fraction
    noise: str | float = "exact"

    def multiplier(self, *, rate: Fraction, rounds: int, scheme: str, clip: float) -> float:
        """Standard deviation over clip. Raises `Unreachable`, `InvalidArgument`, `OutsideDomain`.

        >>> target = Target(7, Fraction("0.000501187"))
        >>> run = dict(rate=Fraction(1, 20), rounds=30, clip=0.3)
        >>> round(target.multiplier(scheme="poisson", **run) * 0.3, 4)
        0.1568
        """
        if self.noise == "none":
            return 0.0
        if not isinstance(self.noise, str):
            # Rounded downwards: the run adds at least the noise that is accounted.
            return math.nextafter(positive("noise", self.noise) / clip, 0.0)
        return _least(self.epsilon, self.delta, rate, rounds, scheme, self.noise)


@lru_cache(maxsize=256)
def _least(
    epsilon: float, delta: Fraction, rate: Fraction, rounds: int, scheme: str, noise: str
) -> float:
    """Asked once for each target: the runs of a sweep share it."""
    found = dp.noise_multiplier(
        epsilon=epsilon,
        delta=delta,
        sample_rate=rate,
        steps=rounds,
        sampling=scheme,
        method="auto" if noise == "exact" else noise,
    )
    return float(found)

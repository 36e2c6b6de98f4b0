"""Shuffled binary randomised response: the number of ones of one client with a one among zeros."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from dpacct.pld.binomial import log_pmf, reach
from dpacct.pld.stable import Floats


@dataclass(frozen=True)
class Count:
    """The number of ones if one client holds one and all others zero, against all zero.

    A client takes part with probability `rate`. `swapped` exchanges the two. The number of zeros, which a
    shuffle shows as well, is left out for rates below 1: what is computed is realised, and a lower bound of
    the shuffle's.
    """

    clients: int
    eps0: float
    rate: float = 1.0
    swapped: bool = False

    rounding = 3e-11

    @property
    def reverse(self) -> Count:
        """Return the count with the two data sets exchanged."""
        return replace(self, swapped=not self.swapped)

    @property
    def largest_loss(self) -> float:
        """The largest loss: no outcome reveals more than one unshuffled answer."""
        return self.eps0

    def outcomes(self) -> tuple[Floats, Floats, Floats]:
        """(losses, P-masses, Q-masses), in order of the losses."""
        n, fall = self.clients, math.exp(-self.eps0)
        lie = self.rate * fall / (1.0 + fall)  # a zero that is sent as a one
        share = Fraction(lie)
        first, last = reach(n, share)
        ones = np.arange(first, last + 1, dtype=np.float64)
        q = np.exp(log_pmf(ones, n, share))
        # P / Q is a mean over the messages: e^eps0 for a one, and this for anything else
        beside = (1.0 - self.rate + lie) / (1.0 - self.rate + self.rate / (1.0 + fall))
        ratio = (ones * math.exp(self.eps0) + (n - ones) * beside) / n
        losses, p = np.log(ratio), q * ratio
        if not self.swapped:
            return losses, p, q
        return -losses[::-1], q[::-1], p[::-1]

    def log_delta(self, epsilon: float) -> float:
        """log of a lower bound of delta(epsilon): the worse direction, rounding included."""
        growth, best = math.exp(epsilon), 0.0
        for losses, p, q in self._ways:
            beyond = losses > epsilon
            gained, paid = float(p[beyond].sum()), growth * float(q[beyond].sum())
            best = max(best, gained - paid - self.rounding * (gained + paid))
        return math.log(best) if best > 0.0 else -math.inf

    @cached_property
    def _ways(self) -> list[tuple[Floats, Floats, Floats]]:
        losses, p, q = self.outcomes()
        return [(losses, p, q), (-losses, q, p)]

"""Shuffled binary randomised response: the number of ones, exactly, for inputs that are named."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from dpacct.engine.stable import Floats

from .binomial import log_pmf, reach

MOST = 1000
"""Clients up to which every choice of the others' inputs is tried."""


@dataclass(frozen=True)
class Count:
    """One client answers one, and all the others zero, against all zero: the law of the ones.

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
        """The other direction."""
        return replace(self, swapped=not self.swapped)

    @property
    def largest_loss(self) -> float:
        """No outcome tells more than one answer does."""
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

    def epsilon(self, log_target: float) -> float:
        """An epsilon at which delta is still above the target, near the largest; 0 if there is none."""
        low, high = 0.0, self.eps0
        while high - low > 1e-12 * high:
            middle = 0.5 * (low + high)
            if not low < middle < high:
                break
            low, high = (middle, high) if self.log_delta(middle) > log_target else (low, middle)
        return low

    @cached_property
    def _ways(self) -> list[tuple[Floats, Floats, Floats]]:
        losses, p, q = self.outcomes()
        return [(losses, p, q), (-losses, q, p)]


def worst_delta(clients: int, eps0: float, epsilon: float) -> tuple[float, float, int]:
    """(lower, upper, ones among the others): delta of shuffled binary response at the worst of all inputs.

    Every number of ones among the other clients is tried, both directions; memory and time (once, for all
    epsilons) grow with the square and the cube of `clients`. The ends differ by rounding.

    >>> low, high, ones = worst_delta(2, 1.0, 0.0)
    >>> round(low, 9), round(high, 9), ones
    (0.337834712, 0.337834712, 0)
    """
    p, q = _laws(clients, eps0)
    growth = math.exp(epsilon)
    best, least, where = 0.0, 0.0, 0
    for first, second in ((p, q), (q, p)):
        excess = np.maximum(first - growth * second, 0.0)
        deltas = excess.sum(axis=1)
        paid = np.where(excess > 0.0, first, 0.0).sum(axis=1)
        off = 4e-12 * paid + 1e-300
        i = int(np.argmax(deltas + off))
        if float(deltas[i] + off[i]) > best:
            best, where = float(deltas[i] + off[i]), i
        least = max(least, float((deltas - off).max()))
    return least, min(best, 1.0), where


@lru_cache(maxsize=4)
def _laws(clients: int, eps0: float) -> tuple[Floats, Floats]:
    """The law of the count with and without the differing client's one, a row per number of other ones."""
    lie = math.exp(-eps0) / (1.0 + math.exp(-eps0))
    rows = []
    for ones in range(clients):
        truth, lies = _binomial(ones, 1.0 - lie), _binomial(clients - 1 - ones, lie)
        rows.append(np.convolve(truth, lies))
    law = np.array(rows)
    more, none = np.pad(law, ((0, 0), (1, 0))), np.pad(law, ((0, 0), (0, 1)))
    honest = 1.0 / (1.0 + math.exp(-eps0))
    return none * lie + more * honest, none * honest + more * lie


def _binomial(n: int, p: float) -> Floats:
    return np.exp(log_pmf(np.arange(n + 1.0), n, Fraction(p)))

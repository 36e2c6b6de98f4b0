"""Shuffled binary response at the worst inputs of the other clients.

Clients whose inputs are not known are left out: to show their messages is post-processing backwards. So
delta with fewer others bounds all numbers of ones of an interval, and intervals are cut until the bound is
as good as that of one number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpacct.pld.roots import crossing
from dpacct.pld.stable import Floats

from .tilted import Tilted

_FIRST, _PARTS = 32, 4
BUDGET = 40_000
"""Intervals that one question may take."""
_TIGHT = 1e-6  # relative distance of the ends of delta at which cutting stops
_LOOKS = 8


@dataclass(frozen=True)
class Inputs:
    """`clients` shuffled binary responses of `eps0`, everybody taking part."""

    clients: int
    eps0: float

    def log_delta(self, epsilon: float, budget: int = BUDGET) -> tuple[float, float]:
        """Logs of (lower, upper) of delta at the worst inputs, for epsilon >= 0; rounding included.

        >>> low, high = Inputs(2, 1.0).log_delta(0.0)
        >>> round(math.exp(low), 9), round(math.exp(high), 9)
        (0.337834712, 0.337834712)
        """
        lower, upper, _ = self._worst(epsilon, self._likely, budget)
        return lower, upper

    def epsilon(self, log_target: float) -> tuple[float, float]:
        """(lower, upper) of the epsilon at which delta meets the target."""
        low = 0.0
        ones: Floats = self._likely
        for _ in range(_LOOKS):
            low = self._first_below(log_target, ones, low)
            lower_log, upper_log, worst = self._worst(low, ones, BUDGET)
            if upper_log <= log_target:
                return low, low
            if lower_log <= log_target + 1e-9 or worst in ones:
                break
            ones = np.append(ones, worst)  # a number of ones that tells more than those tried
        upper = low
        for look in range(_LOOKS):
            ahead = upper + 1e-4 * (self.eps0 - upper)
            if ahead <= upper:  # eps0, to its last digits
                break
            fall = (self._at(upper, ones) - self._at(ahead, ones)) / (ahead - upper)
            step = 2.0**look * (upper_log - log_target) / fall if fall > 0.0 else ahead - upper
            upper = min(upper + max(1.001 * step, 1e-13 * self.eps0), self.eps0)
            _, upper_log, _ = self._worst(upper, ones, BUDGET)
            if upper_log <= log_target:
                return low, upper
        return low, self.eps0

    @property
    def _likely(self) -> Floats:
        """Candidates for the worst number of ones, up to the rounding of thresholds."""
        others = self.clients - 1
        return np.array([0.0, others // 2, others])

    def _worst(self, epsilon: float, ones: Floats, budget: int) -> tuple[float, float, float]:
        """(lower, upper, the ones among the others of the former); `ones` are tried in any case."""
        if epsilon >= self.eps0:
            return -math.inf, -math.inf, 0.0
        others = self.clients - 1
        edges = np.unique(np.floor(np.linspace(0.0, others + 1.0, _FIRST + 1)))
        first: Floats = edges[:-1]
        last: Floats = edges[1:] - 1.0
        tried = self._each(epsilon, ones)
        lower, worst = float(tried.max()), float(ones[int(np.argmax(tried))])
        closed, spent = -math.inf, 0
        while first.size:
            spent += first.size
            low, high = Tilted(self.eps0, epsilon, others - (last - first), first).ends()
            single = first == last
            done = single | (high <= max(lower, float(low[single].max(initial=-math.inf))) + _TIGHT)
            at = int(np.argmax(high))
            ends = np.array([first[at], last[at]])
            tried = self._each(epsilon, ends)
            if float(tried.max()) > lower:
                lower, worst = float(tried.max()), float(ends[int(np.argmax(tried))])
            closed = max(closed, float(high[done].max(initial=-math.inf)))
            first, last, high = first[~done], last[~done], high[~done]
            if spent + _PARTS * first.size > budget:
                return lower, max(closed, float(high.max())), worst
            first, last = _cut(first, last)
        return lower, closed, worst

    def _each(self, epsilon: float, ones: Floats) -> Floats:
        """Logs of lower bounds of delta with these numbers of ones among the others."""
        if epsilon >= self.eps0:
            return np.full(ones.shape, -np.inf)
        others = np.full(ones.shape, self.clients - 1.0)
        return Tilted(self.eps0, epsilon, others, ones).ends()[0]

    def _at(self, epsilon: float, ones: Floats) -> float:
        return float(self._each(epsilon, ones).max())

    def _first_below(self, log_target: float, ones: Floats, low: float) -> float:
        """Where delta with the worst of these ones meets the target; from below."""
        return crossing(lambda e: self._at(e, ones) - log_target, self.eps0, low)[0]


def _cut(first: Floats, last: Floats) -> tuple[Floats, Floats]:
    """Each interval in `_PARTS` parts, or in as many as it has numbers."""
    size = last - first + 1.0
    marks = [first + np.floor(size * part / _PARTS) for part in range(_PARTS + 1)]
    starts, ends = np.concatenate(marks[:-1]), np.concatenate(marks[1:]) - 1.0
    kept = ends >= starts
    return starts[kept], ends[kept]

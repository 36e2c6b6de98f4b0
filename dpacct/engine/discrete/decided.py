"""Steps whose loss alone settles that the sum lies beyond epsilon: counted, not composed.

If each loss above theta leaves the sum above epsilon whatever the other steps do, then on the event
that there is one, E[(1 - e^{eps - S})_+] = P(event) - e^eps Q(event): two products, exact. The
lattice then ends at theta, and no tilt is led by what lies far beyond epsilon (docs/theory/lattice.md,
Decisive losses). Below, the same holds at every epsilon, as (1 - x)_+ >= 1 - x; above, what is left out,
E[(e^{eps - S} - 1)_+], is bounded and charged.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .window import Laws, Sum

# of log delta's room that may be charged, and of the steps that may be set apart
_MOST_P = 0.1
_ROUNDING = 4e-15


@dataclass(frozen=True)
class Spill:
    """Bounds of E[(e^{eps - S} - 1)_+] where some step is above `edge`, by Q-mass of at most `q`.

    limit: no such sum lies below it. chernoff: y and log E_Q[e^{-y S}] - y edge, for one y > 0.
    """

    limit: float
    q: float
    chernoff: tuple[float, float]

    def bound(self, epsilon: float, p: float) -> float:
        beyond = epsilon - self.limit
        if beyond <= 0.0 or self.q == 0.0:
            return 0.0
        y, level = self.chernoff
        soft = epsilon + math.log(self.q) + min(0.0, level + y * epsilon)
        hard = p * math.expm1(beyond) if beyond < 700.0 else math.inf
        return min(hard, math.exp(min(soft, 700.0)))


@dataclass(frozen=True)
class Decided:
    """P- and Q-mass of at least one decisive step, and what an upper end is charged."""

    p: float
    q: float
    spill: Spill | None

    def ends(self, epsilon: float) -> tuple[float, float]:
        """(below, above): what decisive steps add to delta."""
        if self.p == 0.0:
            return 0.0, 0.0
        lost = self.q * math.exp(min(epsilon, 700.0))
        value, rounding = self.p - lost, _ROUNDING * (self.p + lost)
        above = self.spill.bound(epsilon, self.p) if self.spill is not None else math.inf
        return value - rounding, value + rounding + above


def decided(laws: Laws, spill: Spill | None) -> Decided:
    """What the decisive steps of a composition come to."""
    with np.errstate(divide="ignore"):
        p, q = (
            -math.expm1(sum(n * float(np.log1p(-law.decided[side])) for law, n in laws))
            for side in (0, 1)
        )
    return Decided(p, q, spill)


def with_alone(log_finite: float, alone: Decided, epsilon: float) -> float:
    """About log delta at this epsilon, with what decisive steps add."""
    added = alone.p - math.exp(min(epsilon, 700.0)) * alone.q
    return float(np.logaddexp(log_finite, math.log(added))) if added > 0.0 else log_finite


class Threshold:
    """Where decisive losses may begin, told from upper laws on any grid that covers all losses."""

    def __init__(self, laws: Laws, below: Sum, least: float) -> None:
        """`below`: the composition tilted by -1 (so under Q). `least`: the least loss of all but one step."""
        self._laws = laws
        self._least = least
        deviation = math.sqrt(max(below.variance, 1e-300))
        self._ys = np.geomspace(0.1, 50.0, 12) / deviation
        self._moments = np.zeros(self._ys.shape)
        for law, count in laws:
            # decisive losses of the last round are above the last node, where e^{-yL} is smaller still
            top = law.decided[1] + law.infinite * math.exp(-max(float(law.losses[-1]), 0.0))
            with np.errstate(divide="ignore"):
                spent = np.log(top) - np.minimum(self._ys * float(law.losses[-1]), 700.0)
                self._moments += count * np.logaddexp(law.log_moments(-1.0 - self._ys), spent)
        self._q = [np.cumsum((law.masses * np.exp(-law.losses))[::-1])[::-1] for law, _ in laws]
        self._p = [np.cumsum(law.masses[::-1])[::-1] for law, _ in laws]

    def _above(self, edge: float) -> tuple[float, float]:
        """Expected number of steps above the edge under P and under Q, a little more."""
        p = q = 0.0
        for (law, count), above_p, above_q in zip(self._laws, self._p, self._q, strict=True):
            first = int(np.searchsorted(law.losses, edge))
            rest_p, rest_q = law.decided[0] + law.infinite, law.decided[1]
            if first < law.losses.size:
                rest_p, rest_q = rest_p + float(above_p[first]), rest_q + float(above_q[first])
            p, q = p + count * rest_p, q + count * rest_q
        return p, q

    def reached(self, epsilon: float) -> Spill:
        """The bounds for what these laws have set apart."""
        edge = min(float(law.losses[-1]) for law, _ in self._laws)
        q = sum(count * law.decided[1] for law, count in self._laws)
        return self.spill(edge - 1e-12 * abs(edge), epsilon, q)

    def spill(self, edge: float, epsilon: float, q: float) -> Spill:
        """The bounds for decisive losses above this edge, sharp near this epsilon."""
        levels = self._moments - self._ys * edge
        best = int(np.argmin(levels + self._ys * epsilon))
        # an edge may be a node away, and moments a rounding
        level = float(levels[best]) + 1e-9 * (1.0 + abs(float(levels[best])))
        return Spill(edge + self._least, 1.01 * q, (float(self._ys[best]), level))

    def edge(self, epsilon: float, log_room: float) -> float:
        """The least edge that spills at most e^log_room at this epsilon, and is rarely exceeded."""
        low, high = epsilon, epsilon - self._least

        def fits(edge: float) -> bool:
            p, q = self._above(edge)
            if p > _MOST_P:
                return False
            found = self.spill(edge, epsilon, q)
            charged = found.bound(epsilon, p)
            return charged == 0.0 or math.log(charged) <= log_room

        for _ in range(40):
            if fits(high):
                break
            high += 0.5 * (high - low) + 0.5
        for _ in range(14):
            middle = 0.5 * (low + high)
            if fits(middle):
                high = middle
            else:
                low = middle
        return high

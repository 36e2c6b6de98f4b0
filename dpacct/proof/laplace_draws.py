"""Plain Laplace steps of a large scale: sorted by how many losses lie between the two atoms, eq. (26).

With T/b small few do. Each number k of them is a sum over the atoms of the law of k uniform losses,
tilted by e^{x/2}: finite sums again, with no contour that would have to outlast the atoms.
"""

from __future__ import annotations

import math
from fractions import Fraction

from flint import arb, ctx

from .balls import ball
from .effort import spend, sum_cost
from .line import payoff_peak

MOST_BETWEEN = 20.0
"""Losses between the atoms that are expected at most, where this form is used."""


def _moments(lam: float, c: float) -> tuple[float, float]:
    """log M(c), and the tilted share of losses between the atoms."""
    rise, fall = math.exp(min(lam * c, 600.0)) / 2.0, math.exp(-lam * (c + 1.0)) / 2.0
    between = math.exp(-lam / 2.0) * math.sinh(min(lam * (c + 0.5), 600.0)) / (2.0 * (c + 0.5))
    whole = rise + fall + between
    return math.log(whole), between / whole


def tilt(count: int, b: Fraction, epsilon: float) -> float:
    """About the c > 0 with the least moment bound; any is valid."""
    lam = float(1 / b)
    tilts = [10.0 ** (0.05 * k) / lam for k in range(-120, 55)]
    heights = [count * _moments(lam, c)[0] - c * epsilon for c in tilts]
    best: float = tilts[heights.index(min(heights))]
    return best


def expected(count: int, b: Fraction, epsilon: float) -> float:
    """About how many losses between the atoms matter."""
    return count * _moments(float(1 / b), tilt(count, b, epsilon))[1]


class _Between:
    """Integrals over the law of k uniform losses, tilted: inclusion and exclusion of its pieces."""

    def __init__(self, k: int, lam: arb, highest: arb) -> None:
        self.k, self._lam, self._highest = k, lam, highest
        self._known: dict[int, arb] = {}
        self._weights = [
            (-1) ** i * arb(k).bin(i) * ((2 * i - k) * lam / 2).exp() for i in range(k + 1)
        ]

    def _integral(self, beta: arb, d: arb) -> arb:
        """int_0^d e^{beta x} x^{k-1}/(k-1)! dx."""
        k = arb(self.k)
        return d**self.k / k.fac() * (beta * d).hypgeom_1f1(k, k + 1)

    def piece(self, n: int) -> arb:
        """int_0^d (1 - e^{d-x}) e^{x/2} x^{k-1}/(k-1)! dx at d = 2 lam n - highest, 0 if d <= 0."""
        if n not in self._known:
            d, half = 2 * self._lam * n - self._highest, arb(1) / 2
            if d <= 0:
                value = arb(0)
            elif d > 0:
                value = self._integral(half, d) - d.exp() * self._integral(-half, d)
            else:  # eps at a lattice point: 0 there, and no less than this a little beyond
                end = d.upper()
                most = end.expm1() * (end / 2).exp() * end**self.k / arb(self.k).fac()
                value = arb(0).union(-most)
            self._known[n] = value
        return self._known[n]

    def below(self, j: int) -> arb:
        """int_{-k lam}^a (1 - e^{a-x}) e^{x/2} dU_k(x), a = eps - lam (T - k - 2j)."""
        total = arb(0)
        for i, weight in enumerate(self._weights):
            total += weight * self.piece(self.k + j - i)
        return total


def by_draws(count: int, b: Fraction, epsilon: arb) -> arb:
    """Delta of so many plain steps of scale b: number by number, until the rest is negligible."""
    lam = 1 / ball(b)
    highest = lam * count - epsilon
    if highest <= 0:
        return arb(0)
    c = arb(tilt(count, b, float(epsilon.mid())))
    between = (-lam / 2).exp() * (lam * (c + arb(1) / 2)).sinh() / (2 * (c + arb(1) / 2))
    whole = between + (lam * c).exp() / 2 + (-lam * (c + 1)).exp() / 2
    factor = (-c * epsilon).exp() * payoff_peak(c)
    last = min(count, int(float((highest / (2 * lam)).upper())) + 1)  # j beyond adds nothing
    total, fine = arb(0), arb(2) ** -max(48, ctx.prec // 3)
    for k in range(count + 1):
        spend(sum_cost(last + 40 * k + k * k, ctx.prec))
        total += _number(count, k, lam, epsilon, last)
        rest = arb(count).bin(k + 1) * between ** (k + 1) * whole ** (count - k - 1) * factor
        # where balls have become too wide, more terms do not help
        if rest < total * fine or rest < total.rad():
            return total.union(total + rest)
    return total


def _number(count: int, k: int, lam: arb, epsilon: arb, last: int) -> arb:
    """What exactly k losses between the atoms contribute."""
    atoms = count - k
    law = _Between(k, lam, lam * count - epsilon)
    whole = (4 * (lam / 2).sinh()) ** k
    total, share = arb(0), arb(1)
    fall, rise = (-lam).exp(), (2 * lam).exp()
    growth = (epsilon - lam * atoms).exp()  # e^a
    for j in range(min(last, atoms) + 1):
        a = epsilon - lam * (atoms - 2 * j)
        if k == 0:
            value = arb(0) if a >= 0 else (1 - growth).max(arb(0)) if not a < 0 else 1 - growth
        elif a >= k * lam:
            break
        elif a <= -k * lam:
            value = whole * (1 - growth)
        else:
            value = whole * (1 - growth) - law.below(j)
        total += share * value
        share = share * (atoms - j) / (j + 1) * fall
        growth = growth * rise
    ways = arb(count).bin(k) * arb(2) ** (-atoms) * arb(4) ** (-k) * (-lam * k / 2).exp()
    return ways * total

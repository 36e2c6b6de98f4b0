"""Compositions of finitely many outcomes: every way to share the draws, eq. (18)."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

from flint import arb

from dpacct.errors import NotCertified

from .balls import demand
from .effort import OUTCOME, spend_on

MOST_POINTS = 400_000
Point = tuple[arb, arb]
"""(loss, mass)."""


def stick(gap: arb) -> arb:
    """(1 - e^gap)_+, the hockey stick at gap = eps - loss.

    >>> bool(stick(arb(1)) == 0), bool(stick(arb(-5)) < 1)
    (True, True)
    """
    if gap >= 0:
        return arb(0)
    value = -gap.expm1()
    return value if gap < 0 else value.max(arb(0))


def folded(points: Sequence[Point], count: int) -> list[Point]:
    """The law of the sum of `count` draws: multinomial, one point for each way to share."""
    size = 1
    for k in range(1, len(points)):
        size = size * (count + k) // k
        if size > MOST_POINTS:
            raise NotCertified(
                f"{count} draws from {len(points)} point masses have more than {MOST_POINTS}"
                " outcomes"
            )
    if len(points) == 1:
        return [(count * points[0][0], points[0][1] ** count)]
    # all outcomes but the last fill rows of 0 .. count draws, and these have as many terms as the result
    spend_on(OUTCOME, 2 * size)
    ways = arb(count).fac()
    return [(loss, mass * ways) for loss, mass in _shares(points, count)]


def _powers(mass: arb, count: int) -> list[arb]:
    """mass^k/k!, k = 0 .. count."""
    powers = [arb(1)]
    for k in range(1, count + 1):
        powers.append(powers[-1] * mass / k)
    return powers


def _shares(points: Sequence[Point], count: int) -> list[Point]:
    """Sum of losses, product of mass^k/k!, over all k_1 + ... + k_m = count."""
    (loss, mass), *others = points
    # rows by the number of draws so far: the first outcome fills each row with one term
    sums = [[(k * loss, power)] for k, power in enumerate(_powers(mass, count))]
    for place, (loss, mass) in enumerate(others, start=2):
        powers = _powers(mass, count)
        # only the full row is read after the last outcome, so two outcomes cost O(count)
        for drawn in range(count, count - 1 if place == len(points) else 0, -1):
            for k in range(1, drawn + 1):
                sums[drawn] += [(k * loss + x, powers[k] * m) for x, m in sums[drawn - k]]
    return sums[count]


def count_outcomes(sizes: Sequence[tuple[int, int]]) -> int:
    """Return the number of points in compositions of (outcomes, draws), no two taken for one."""
    return math.prod(math.comb(draws + outcomes - 1, draws) for outcomes, draws in sizes)


class SumsOfOutcomes:
    """All sums of losses, sorted, and what P and Q have of the larger ones: good for every epsilon."""

    def __init__(self, laws: Sequence[tuple[Sequence[Point], int]]) -> None:
        points: list[Point] = [(arb(0), arb(1))]
        for atoms, count in laws:
            more = folded(atoms, count)
            if len(points) * len(more) > MOST_POINTS:
                message = f"the plan has more than {MOST_POINTS} outcomes"
                raise NotCertified(message)
            spend_on(OUTCOME, len(points) * len(more))
            points = [(x + y, p * m) for x, p in points for y, m in more]
        points.sort(key=lambda point: -float(point[0].mid()))
        self._points = points
        self._falling = [-float(loss.mid()) for loss, _ in points]
        self._blur = max(float(loss.rad()) for loss, _ in points)
        nothing = arb(0)
        self._p = [nothing, *accumulate(mass for _, mass in points)]
        self._q = [nothing, *accumulate(mass * (-loss).exp() for loss, mass in points)]

    def delta(self, epsilon: arb) -> arb:
        """sum of mass (1 - e^{eps - loss})_+; points too near to epsilon to be told apart one by one."""
        at = float(epsilon.mid())
        # a float of a loss is off by its rounding and by the ball's radius
        near = 1e-9 * (1.0 + abs(at)) + 2.0 * (self._blur + float(epsilon.rad()))
        first, end = (bisect_left(self._falling, -at - side) for side in (near, -near))
        total: arb = self._p[first] - epsilon.exp() * self._q[first]
        for loss, mass in self._points[first:end]:
            total += mass * stick(epsilon - loss)
        return total


class _Tails:
    """sum_{j >= J} b^j/j! a^{n-j}/(n-j)! for n = 0, 1, ... and J that falls: sums of positive terms only."""

    def __init__(self, a: arb, b: arb, count: int) -> None:
        self._a, self._b = _powers(a, count), _powers(b, count)
        self._n, self._from, self._value = 0, 1, arb(0)

    def _term(self, j: int) -> arb:
        return self._b[j] * self._a[self._n - j] if 0 <= j <= self._n else arb(0)

    def grow(self) -> None:
        """One draw more: the next j comes from a j, or from the one below it."""
        more = self._b[1] * self._term(self._from - 1)
        self._n += 1
        self._value = ((self._a[1] + self._b[1]) * self._value + more) / self._n

    def lower(self, start: int) -> None:
        """J = start, which is no larger than before, or beyond all of this n."""
        if start > self._n:
            self._from, self._value = self._n + 1, arb(0)
        demand(min(start, self._n + 1) <= self._from, "losses too near to each other")
        while self._from > start:
            self._from -= 1
            self._value += self._term(self._from)

    def value(self, start: int) -> arb:
        """The sum from start on, J or a little less."""
        return self._value + sum((self._term(j) for j in range(start, self._from)), arb(0))


def three_losses(points: Sequence[Point], count: int, epsilon: arb) -> arb:
    """E[(1 - e^{eps - L})_+] of `count` draws from three point masses, eq. (30).

    Summed over how often the least is drawn. The rest are n draws from two losses, of which j take the
    larger; j > t gives a sum above epsilon, and t falls as n grows, so that the sums over j, under P and
    under Q, grow by a few terms at each n.
    """
    spend_on(OUTCOME, 4 * count)
    (least, c), (low, a), (high, b) = sorted(points, key=lambda point: float(point[0].mid()))
    demand(bool(least < low) and bool(low < high), "losses that cannot be told apart")
    falls = [(-loss).exp() for loss in (least, low, high)]
    draws = _powers(c, count), _powers(c * falls[0], count)
    sums = _Tails(a, b, count), _Tails(a * falls[1], b * falls[2], count)
    total, growth = arb(0), epsilon.exp()
    for n in range(count + 1):
        t = (epsilon - (count - n) * least - n * low) / (high - low)
        # where a sum of losses cannot be told from epsilon it is taken in and left out
        first, last = (max(0, int(end.floor().fmpz()) + 1) for end in (t.lower(), t.upper()))
        for tails in sums:
            if n:
                tails.grow()
            tails.lower(last)

        def reading(start: int, k: int = count - n) -> arb:
            p, q = (row[k] * tails.value(start) for row, tails in zip(draws, sums, strict=True))
            return p - growth * q

        value = reading(last)
        for start in range(first, min(last, n + 1)):
            value = value.union(reading(start))
        total += value
    return total * arb(count).fac()

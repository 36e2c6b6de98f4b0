"""Compositions of finitely many outcomes: every way to share the draws, eq. (18)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

from flint import arb, ctx

from dpacct.errors import NotCertified

from .effort import spend, sum_cost

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
                " outcomes: the value is withheld"
            )
    if len(points) == 1:
        return [(count * points[0][0], points[0][1] ** count)]
    spend(sum_cost(size, ctx.prec))
    return [(loss, mass * arb(count).fac()) for loss, mass in _shares(points, count)]


def _powers(mass: arb, count: int) -> list[arb]:
    """mass^k/k!, k = 0 .. count."""
    found = [arb(1)]
    for k in range(1, count + 1):
        found.append(found[-1] * mass / k)
    return found


def _shares(points: Sequence[Point], count: int) -> list[Point]:
    """Sum of losses, product of mass^k/k!, over all k_1 + ... + k_m = count."""
    loss, mass = points[-1]
    powers = _powers(mass, count)
    if len(points) == 1:
        return [(count * loss, powers[count])]
    if len(points) == 2:
        other, others = points[0][0], _powers(points[0][1], count)
        return [
            (k * loss + (count - k) * other, powers[k] * others[count - k])
            for k in range(count + 1)
        ]
    return [
        (k * loss + x, powers[k] * m)
        for k in range(count + 1)
        for x, m in _shares(points[:-1], count - k)
    ]


def count_outcomes(sizes: Sequence[tuple[int, int]]) -> int:
    """How many points compositions of (outcomes, draws) have, no two taken for one."""
    total = 1
    for outcomes, draws in sizes:
        for k in range(1, outcomes):
            total *= draws + k
        for k in range(1, outcomes):
            total //= k
    return total


class Composition:
    """All sums of losses, sorted, and what P and Q have of the larger ones: good for every epsilon."""

    def __init__(self, laws: Sequence[tuple[Sequence[Point], int]]) -> None:
        points: list[Point] = [(arb(0), arb(1))]
        for one, count in laws:
            more = folded(one, count)
            if len(points) * len(more) > MOST_POINTS:
                told = f"the plan has more than {MOST_POINTS} outcomes: the value is withheld"
                raise NotCertified(told)
            spend(sum_cost(len(points) * len(more), ctx.prec))
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

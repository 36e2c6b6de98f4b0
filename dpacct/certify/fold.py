"""Sums of independent point masses: the exact law of a composition of finitely many outcomes."""

from __future__ import annotations

from collections.abc import Sequence

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

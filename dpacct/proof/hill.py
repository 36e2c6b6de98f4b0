"""A normal density times a power of r, far out: pieces of the axis, and the top on each, eq. (6)."""

from __future__ import annotations

import math
from collections.abc import Iterator

from flint import arb

from .balls import larger
from .choices import Unsound
from .effort import PIECE, spend

MOST_PIECES = 20_000


def piece_width(a: float, power: float, mu: float) -> float:
    """Width of a piece from a: the chord of power * log r is off by at most power (mu w)^2/32."""
    return max(min(0.02 * a + 0.25, 4.0 / (mu * math.sqrt(power + 1.0))), 0.004 * a)


def hill_pieces(start: arb, power: arb, mu: arb) -> Iterator[tuple[arb, arb | None]]:
    """Pieces [a, b] from start until a > power mu + 1, and then (a, None).

    Widths are found in floats: any widths are valid, and the ends are exact. Raises `Unsound` where the
    axis is not cut from right of 0, or there is no end to it.
    """
    a, times, slope = start, float(power.mid()), float(mu.mid())
    if a > 0:
        for _ in range(MOST_PIECES):
            spend(PIECE)
            if a > power * mu + 1:
                yield a, None
                return
            b = (a + arb(piece_width(float(a.mid()), times, slope))).mid()
            yield a, b
            a = b
    raise Unsound("a hill too far out to be bounded: the value is withheld")


def hill_top(a: arb, b: arb, at_a: arb, at_b: arb) -> arb:
    """Largest -x^2/2 + chord(x) on [a, b], 0 < a < b: above -x^2/2 + g for g convex, g(a), g(b) given.

    >>> bool(hill_top(arb(1), arb(2), arb(0), arb(0)) >= -0.5)
    True
    """
    slope = (at_b - at_a) / (b - a)
    ends = larger(at_a - a * a / 2, at_b - b * b / 2)
    if slope < a or slope > b:  # the parabola peaks outside
        return ends
    # its peak, whether inside or not, is above everything
    return at_a - a * slope + slope * slope / 2

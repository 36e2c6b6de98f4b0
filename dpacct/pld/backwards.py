"""Q against P beside a question about P against Q: whether its delta is smaller, without its own contour.

    M'(s) = E_Q[e^{-sL}] = M(-1 - s)

so the nodes that one direction was searched with have Chernoff's bound for the other. Where that is not
enough, a line of some twenty frequencies tells delta to a part in 10^5 or so.
"""

from __future__ import annotations

import math

import numpy as np

from .lines import many_broad_jumps, rough_line
from .loss import LossDistribution
from .moments import Parts, SummedMoments, Tilted
from .saddle import Saddle, Totals
from .stable import Floats, log_peak, quiet

_FAN = np.geomspace(0.4, 6.0, 9)
_LESS = 1e-3  # what is granted to a coarse rule, in Chernoff's bound
_NATS = 30.0  # below the peak at which its nodes must end
TOLERANCE = 1e-8
"""The tolerance of a rough line's step and end."""
# what a rule may be off by, and a line in a reading; and what is granted beside
_OFF, _ERROR, _GRANTED = 1e-7, 1e-6, 1e-7


def exchanged(parts: Parts, others: Parts) -> bool:
    """Return whether each law of one list is that of the other with P and Q exchanged, and as often."""
    return len(parts) == len(others) and all(
        isinstance(a, LossDistribution) and a.reversed() is b and n == m
        for (a, n), (b, m) in zip(parts, others, strict=True)
    )


@quiet()
def chernoff(saddle: Saddle, c: float, eps: float) -> tuple[float, Totals[Floats] | None]:
    """Return a bound of log delta of Q against P, and what by; inf where the nodes do not tell.

    `c`: the tilt at which P against Q was read there.
    """
    cs = c * _FAN
    for moments, _ in saddle.moments:
        if not isinstance(moments, SummedMoments) or not all(
            branch.whole for branch in moments.law.branches
        ):
            return math.inf, None
        # the nodes go as far as the tilts that they were made for: these may lead beyond
        losses, log_w = moments.coarse
        steepest = log_w - (1.0 + float(cs[-1])) * losses
        if max(steepest[0], steepest[-1]) > float(np.maximum.reduce(steepest)) - _NATS:
            return math.inf, None
    total = saddle.rough(-1.0 - cs)
    bounds = total.log_moment - cs * eps + log_peak(cs)
    return float(np.fmin.reduce(bounds)) + _LESS, total


def tilt(total: Totals[Floats], eps: float) -> float:
    """Return about the saddle of Q against P, by what `chernoff` was read from; 0 where it is not there."""
    cs = -1.0 - total.c
    return float(np.interp(eps, -total.mean - 1.0 / cs - 1.0 / (1.0 + cs), cs, 0.0, 0.0))


@quiet()
def about(parts: Parts, c: float, eps: float) -> float:
    """Return an upper bound of log delta, close to it, from a rough line through a tilt near its saddle.

    Of one law of one broad bump, of which there are many; inf where a line does not tell.
    """
    if len(parts) != 1:
        return math.inf
    law, n = parts[0]
    if law.gaussian is not None or not all(branch.whole for branch in law.branches):
        return math.inf
    saddle = Saddle(parts, c, warm=True, tolerance=TOLERANCE, finer=True)
    moments = saddle.moments[0][0]
    assert isinstance(moments, SummedMoments)
    tilted = Tilted(c, moments.coarse)
    weights, spread, _ = tilted.weights
    squares = weights * spread * spread
    variance = n * float(squares.sum())
    # every other node alone is off by as much as these two differ: the rule is off by the square of that
    off = float(squares[::2].sum() / squares[1::2].sum() - 1.0) ** 2
    if not (off < _OFF and many_broad_jumps(law, *moments.jump(c), variance)):
        return math.inf
    line = rough_line(saddle, c, variance + 1.0 / (c * c) + 1.0 / (1.0 + c) ** 2, eps)
    if line is None:
        return math.inf
    value, _, error = line.read(eps)
    if not error < _ERROR:
        return math.inf
    return value + error + (_GRANTED + 4.0 * off) * (1.0 + abs(line.total.log_moment) + c * eps)

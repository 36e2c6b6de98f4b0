"""Many different finite laws composed on one lattice: a stack of few rows, which has no contour.

Each loss is split between its two neighbours on a lattice so that its P-mass and its Q-mass stay what they
are: a pair which dominates (Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022), composed by FFT at one tilt
as plans that are used as one step are (bracket/nested.py). The excess falls with the square of the spacing:
a lattice of half as many points tells how large it is. Of very few rows all outcomes are listed.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from .bracket.laws import Measure
from .bracket.line import SumOfMeasures
from .bracket.nested import split, summed, tilt
from .interval import Interval
from .outcomes import Outcomes
from .roots import root
from .stable import quiet
from .stack import Stack


def least(composed: Outcomes, log_target: float) -> float:
    """The least epsilon >= 0 at which log delta is at most this, from above; inf where none is."""
    start, slope = composed.about(log_target, 0.0)
    read = partial(composed.log_delta, upper=True)
    return root(read, log_target, start, 0.0, slope, 1e-12, up=True)


def epsilon(stack: Stack, log_target: float, c: float, *, beyond: float = -math.inf) -> Interval:
    """The least epsilon >= 0 at which log delta is at most the target; `c`: about the saddle.

    There is a lower end only where it lies beyond `beyond`, and none at all where that is inf.
    """
    # splitting losses costs about 1e-4 of epsilon on so many points, or much less; of few laws fewer do
    queries = float(stack.count.sum())
    points = 1 << (14 if queries <= 32 else 15)
    if queries <= 64:
        sizes = (stack.masses > -np.inf).sum(axis=1)
        if float(stack.count @ np.log(sizes)) <= math.log(_LISTED):
            value = least(listed(stack), log_target)
            return Interval(value, value - _off(value), value)
        stack = stack.together(1 << 10)  # fewer transforms
    coarse = math.inf
    if beyond < math.inf:
        coarse = least(compose(stack, c, points // 2), log_target)
        if coarse <= beyond:  # it is an upper end itself
            return Interval(coarse, -math.inf, coarse)
    fine = least(compose(stack, c, points), log_target)
    if not (coarse < math.inf and math.isfinite(fine)):
        return Interval(fine, -math.inf, fine)
    return Interval(fine, fine - 2.0 * abs(fine - coarse) - _off(fine), fine)


# outcomes of all rows together that are listed
_LISTED = 1 << 13


def _off(value: float) -> float:
    """An error that every epsilon has besides."""
    return 1e-9 * (1.0 + abs(value))


def listed(laws: Stack) -> Outcomes:
    """All outcomes of a composition of few: logarithms and losses are right to 8 units of themselves."""
    whole = laws.together(_LISTED)
    order = np.argsort(whole.rows[0])
    losses, log_p = whole.rows[0][order], whole.masses[0][order]
    slack, unsure = 1e-13 + 1e-15 * np.abs(log_p), 1e-15 * (1.0 + np.abs(losses))
    return Outcomes(losses, log_p, slack, unsure, whole.infinite)


@quiet()
def compose(laws: Stack, c: float, points: int = 1 << 15) -> Outcomes:
    """Upper ends of the composition's masses, sharp where losses tilted by c lie, on about so many points.

    >>> one = Stack.of([(np.array([1.0, -1.0]), np.log([0.7, 0.3]), 0.0)], np.array([3]))
    >>> round(math.exp(compose(one, 1.0).log_delta(2.5, upper=True)), 9)
    0.134959984
    """
    measures = []
    for losses, log_p, count in zip(laws.rows, laws.masses, laws.count.tolist(), strict=True):
        real = log_p > -math.inf
        at, mass, none = losses[real], np.exp(log_p[real]), np.zeros(int(real.sum()))
        top = (0.0, 0.0, 0.0)
        measures.append(Measure(count, at, mass, none, top, math.inf, 0.0, 0.0))
    deviation = math.sqrt(SumOfMeasures(measures, 0.0).cumulants(c)[1])
    widest = max(float(np.ptp(law.at)) for law in measures)
    step = max((18.0 * deviation + 3.0 * widest) / points, 1e-13)
    nodes = [split(law, float(law.at[int(np.argmax(law.mass))]), step) for law in measures]
    losses, log_p, beyond = summed(nodes, [tilt(nodes, c)], upper=True)
    # the rows' own masses are right to some hundreds of units
    slack, none = np.full(losses.size, 1e-13), np.zeros(losses.size)
    return Outcomes(losses, log_p, slack, none, min(beyond + laws.infinite, 1.0))

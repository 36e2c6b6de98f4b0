"""Brackets of epsilon and delta for any composition of privacy losses: both ends hold, whatever the laws are.

laws.py      two measures with finitely many points for each law, one above it and one below it
line.py      delta of their sum by one vertical contour and smooth weights, every error charged
search.py    where to cut, how to tilt, when to stop
whole.py     whole profiles, and compositions that are used as one step
docs/theory/bracket.md has the theorem and a lemma for each charge.
"""

from __future__ import annotations

import math
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from dpacct.pld.interval import Interval
from dpacct.pld.outcomes import Outcomes, outcomes
from dpacct.pld.pieces import Sources, ever
from dpacct.pld.roots import root
from dpacct.pld.stable import Floats, TooFine

from .search import DirectionSearch

if TYPE_CHECKING:
    from .whole import ProfileReader

WIDTH = 2e-5
"""Relative width that is aimed at."""
_NESTED = (
    5e-5  # that of plans which are used as one step: their laws are composed on a lattice first
)
_NESTED_CURVE = 2e-3
# log delta from which on nothing is known but that it is at most this
_NOTHING = math.log(1e-30)
# of a target beside a mass at infinity, what a difference of both is off by
_OPEN = 4e-15


def infinite_mass(sources: Sources) -> float:
    """P-mass at infinity, so that no epsilon has a smaller delta."""
    return ever((source.infinite, n) for source, n in sources)


def epsilon(
    sources: Sources,
    log_target: float,
    width: float = WIDTH,
    floor: float = 0.0,
    beaten: float = -math.inf,
) -> Interval:
    """The least epsilon >= floor with log delta at most the target; width relative to epsilon - floor.

    Where it is surely at most `beaten`, another direction's, the bracket is as it stands then.
    """
    infinite, finite, width = infinite_mass(sources), log_target, _aim(sources, width)
    if infinite > 0.0:  # an infinite loss is part of delta at every epsilon
        target = math.exp(log_target)
        excess = target - infinite
        slack = (_OPEN + 4e-16 * abs(log_target)) * (target + infinite)
        if excess <= -slack:
            return Interval.between(math.inf, math.inf)
        if excess <= slack:
            least = epsilon(sources, math.log(infinite + 2.0 * slack), width, floor)
            return Interval.between(least.lower, math.inf)
        finite = math.log(excess - slack)
        if excess < 1e3 * slack:
            below = epsilon(sources, math.log(infinite + 2e3 * slack), width, floor)
            above = DirectionSearch(sources, finite).epsilon(finite, width, floor)
            return Interval.between(below.lower, above[1])
    listed = _listed(sources)
    if listed is not None:
        return _among(listed, log_target, floor)
    low, high = DirectionSearch(sources, finite).epsilon(finite, width, floor, beaten)
    if high == math.inf:
        raise TooFine
    return Interval.between(low, high)


def log_delta(
    sources: Sources, epsilon: float, width: float = WIDTH, beaten: float = -math.inf
) -> Interval:
    """log delta at any real epsilon, to a relative width of delta.

    One that Chernoff's bound puts below 1e-30 is at most that bound.
    """
    listed = _listed(sources)
    if listed is not None:
        below, above = listed
        return Interval.between(
            below.log_delta(epsilon, upper=False), above.log_delta(epsilon, upper=True)
        )
    infinite, width = infinite_mass(sources), _aim(sources, width)
    for far in (-40.0, -150.0):  # Chernoff's bound knows what the first nodes reach
        direction = DirectionSearch(sources, far)
        most = float(direction.chernoff(np.array([epsilon]))[0])
        if most > far + 1.0:
            break
    if most > _NOTHING:
        low, high, _ = direction.delta(epsilon, width, beaten)
    else:
        low, high = -math.inf, most if epsilon < direction.largest else -math.inf
    if infinite > 0.0:
        at = math.log(infinite)
        low, high = float(np.logaddexp(low, at)) - 4e-15, float(np.logaddexp(high, at)) + 4e-15
    return Interval.between(low, min(high, 0.0))


def surely_below(sources: Sources, epsilon: float, log_target: float) -> bool:
    """Return whether Chernoff's bound on coarse cells shows delta(epsilon) < e^{log_target}."""
    listed = _listed(sources)
    if listed is not None:
        return listed[1].log_delta(epsilon, upper=True) < log_target
    bound = float(DirectionSearch(sources, min(log_target, -1.0)).chernoff(np.array([epsilon]))[0])
    infinite = infinite_mass(sources)
    if infinite > 0.0:
        bound = float(np.logaddexp(bound, math.log(infinite)))
    return bound < log_target


class CurveEnds:
    """Upper ends of log delta at many epsilons: few pairs of contours, each read where it is sharp."""

    def __init__(self, sources: Sources, width: float = 1e-3) -> None:
        # a law of a law is cut again for every width: a curve of them is read more coarsely
        coarse = any(source.bracketed for source, _ in sources)
        self._sources, self._width = sources, max(width, _NESTED_CURVE) if coarse else width
        self._listed = _listed(sources)

    @cached_property
    def _read(self) -> ProfileReader:
        from .whole import ProfileReader

        return ProfileReader(self._sources, self._width)

    def __call__(self, epsilons: Floats) -> tuple[Floats, Floats]:
        """The ends and errors at these epsilons."""
        errors = np.zeros(epsilons.shape)
        if self._listed is not None:
            return self._listed[1].log_deltas(epsilons), errors
        high = self._read(epsilons)[1]
        infinite = infinite_mass(self._sources)
        if infinite > 0.0:
            high = np.logaddexp(high, math.log(infinite)) + 4e-15
        return np.minimum(high, 0.0), errors


def _aim(sources: Sources, width: float) -> float:
    """The width asked; of nested plans no less than what is quick, unless it was asked for by name."""
    return _NESTED if width == WIDTH and any(source.bracketed for source, _ in sources) else width


def _listed(sources: Sources) -> tuple[Outcomes, Outcomes] | None:
    """All outcomes, where these are few: as good as exact. One release by itself states its profile."""
    ((source, count), *others) = sources
    alone = not others and count == 1.0 and source.distribution is not None
    return None if alone else outcomes(sources)


def _among(listed: tuple[Outcomes, Outcomes], log_target: float, floor: float) -> Interval:
    """The least epsilon >= floor at which laws of points have log delta of at most the target."""
    ends = []
    for points, up in zip(listed, (False, True), strict=True):
        start, slope = points.about(log_target, floor)
        read = partial(points.log_delta, upper=up)
        ends.append(root(read, log_target, start, floor, slope, 1e-12, up=up))
    return Interval.between(min(ends), ends[1])

"""Brackets of delta and epsilon for a composition of sources: what is asked, and how answers are read."""

from __future__ import annotations

import math
from bisect import bisect_left
from functools import partial

import numpy as np

from dpacct.engine.stable import Floats

from .compose import Composed
from .decided import decided, with_alone
from .lattices import Lattices
from .outcomes import Outcomes, outcomes
from .pieces import Sources
from .roots import root
from .search import Beside, Bracket, Question, Search
from .window import (
    Laws,
    Sum,
    mass_at_infinity,
    saddle,
    saddle_for_epsilon,
    saddle_for_log_delta,
)

# of the width asked, how near an end is to where its reading meets the target
_NEAR = 0.02
# and where readings are cheap: relative
_NEAREST, _LONG = 1e-12, 1 << 14


def surely_below(sources: Sources, epsilon: float, log_target: float) -> bool:
    """Whether a coarse upper law already shows delta(epsilon) < e^{log_target}: Chernoff's bound."""
    listed = outcomes(sources)
    if listed is not None:
        return listed[1].log_delta(epsilon, upper=True) < log_target
    laws, _ = Lattices(sources, min(log_target, -1.0), 1e-2).build()
    total = saddle_for_epsilon(laws, epsilon, 1.0)
    c = total.c
    peak = c * math.log(c / (1.0 + c)) - math.log1p(c)
    bound = total.log_moment - c * epsilon + peak + 1e-9
    infinite = mass_at_infinity(laws)
    if infinite > 0.0:
        bound = float(np.logaddexp(bound, math.log(infinite)))
    return bound < log_target


def log_delta(sources: Sources, epsilon: float, width: float = 1e-4) -> Bracket:
    """log delta at any real epsilon, to a relative width of delta; its finite and infinite losses."""
    listed = outcomes(sources)
    if listed is not None:
        below, above = listed
        return Bracket(below.log_delta(epsilon, upper=False), above.log_delta(epsilon, upper=True))
    search = Search(sources, _at_epsilon(epsilon, width))
    return search.beyond(epsilon) or search.bracket()


def _at_epsilon(epsilon: float, width: float) -> Question:
    def read(upper: Composed, lower: Composed) -> tuple[float, float]:
        return lower.log_delta(epsilon, upper=False), upper.log_delta(epsilon, upper=True)

    return Question(
        saddle=lambda laws, c: saddle_for_epsilon(laws, epsilon, c),
        log_width=lambda _, beside: min(0.8 * width * beside.whole, 1.0),
        read=read,
        met=lambda low, high: (high - low) / width if high > -math.inf else 0.0,
        aim=lambda low, high: None,
        log_delta=-40.0,
        width=width,
    )


def log_profile(sources: Sources, epsilons: Floats, width: float = 1e-4) -> Floats:
    """Upper ends of log delta at many epsilons: few compositions, each read where it is sharp."""
    listed = outcomes(sources)
    if listed is not None:
        return np.array([listed[1].log_delta(at, upper=True) for at in epsilons.tolist()])
    values = np.full(epsilons.shape, np.nan)
    # from above: what is fine enough there is fine enough below
    order = np.argsort(epsilons)[::-1].tolist()
    search = Search(sources, _at_epsilon(float(epsilons[order[0]]), width))
    past = search.beyond(float(epsilons[order[0]]))
    if past is not None:
        beyond = bisect_left(order, True, key=lambda i: search.beyond(float(epsilons[i])) is None)
        values[order[:beyond]] = past.upper
        order = order[beyond:]
    pending = order
    while pending:
        search.ask(_at_epsilon(float(epsilons[pending[0]]), width))
        (upper, lower), _ = search.compositions(1.0)
        left = []
        for i in pending:
            at = float(epsilons[i])
            above, below = upper.log_delta(at, upper=True), lower.log_delta(at, upper=False)
            if above - below <= 3.0 * width or i == pending[0] or above == -math.inf:
                values[i] = above
            else:
                left.append(i)
        pending = left
    return values


def epsilon(
    sources: Sources, log_target: float, width: float = 1e-4, floor: float = 0.0
) -> Bracket:
    """The least epsilon >= floor with log delta at most the target; width relative to epsilon - floor."""
    listed = outcomes(sources)
    if listed is not None:
        return _among(listed, log_target, floor)
    found: list[float] = []

    def read(upper: Composed, lower: Composed) -> tuple[float, float]:
        ends = []
        for composed, up in ((lower, False), (upper, True)):
            total = composed.total
            start = max(floor, found[0] if found else total.saddle_epsilon)
            ends.append(
                root(
                    partial(composed.log_delta, upper=up),
                    log_target,
                    start,
                    floor,
                    total.c,
                    _NEAR * width if composed.spectrum.length > _LONG else _NEAREST,
                    up=up,
                )
            )
        below, above = ends
        return below, above

    def aim(low: float, high: float) -> None:
        if floor < low and high < math.inf:
            found[:] = [0.5 * (low + high)]

    def aimed(laws: Laws, c: float) -> Sum:
        if found:
            return saddle_for_epsilon(laws, found[0], c)
        infinite, alone = mass_at_infinity(laws), decided(laws, None)
        finite = math.exp(log_target) - infinite
        if not finite > 0.0:
            return saddle_for_log_delta(laws, log_target - 30.0, c)
        wanted = math.log(finite)
        return saddle(
            laws, c, lambda total: wanted - with_alone(total.log_delta, alone, total.saddle_epsilon)
        )

    def log_width(total: Sum, beside: Beside) -> float:
        slope = total.c + beside.slope
        return min(0.8 * width * max(slope * (total.saddle_epsilon - floor), 0.02), 1.0)

    def met(low: float, high: float) -> float:
        if high == low or (low == floor and high - floor < 1e-12):
            return 0.0
        return (high - low) / (width * (high - floor)) if high < math.inf else 9.0

    return Search(sources, Question(aimed, log_width, read, met, aim, log_target, width)).bracket()


def _among(listed: tuple[Outcomes, Outcomes], log_target: float, floor: float) -> Bracket:
    """The least epsilon >= floor at which laws of points have log delta of at most the target."""
    ends = []
    for points, up in zip(listed, (False, True), strict=True):
        start, slope = points.about(log_target, floor)
        read = partial(points.log_delta, upper=up)
        ends.append(root(read, log_target, start, floor, slope, _NEAREST, up=up))
    return Bracket(min(ends), ends[1])

"""Brackets of delta and epsilon for a composition of sources: the lattice refined until they are narrow."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from dpacct.engine.stable import Floats

from .compose import Composed, compose
from .decided import decided, with_alone
from .lattices import MOST_POINTS, TAILS, Lattices, Sources
from .quiet import nil_from
from .window import (
    Laws,
    Sum,
    mass_at_infinity,
    saddle,
    saddle_for_epsilon,
    saddle_for_log_delta,
    tilted_sum,
    window,
)

_ROUNDS = 12
# of the width asked, how near an end is to where its reading meets the target
_NEAR = 0.02
# and where readings are cheap: relative
_NEAREST, _LONG = 1e-12, 1 << 14
# lattice points at most where few frequencies are asked for
MOST_SPARSE = 1 << 33
# log of a mass at infinity that stands for what underflowed
_NOTHING = -650.0
# and of a mass above which there is hardly ever a loss
_NEVER = -745.0
# of the target that a regraded lattice aims at
_AIM = 0.75
# log of what cutting tails may cost where the lattice itself is exact
_EXACT = -36.0


@dataclass(frozen=True)
class Bracket:
    """Ends that the truth lies between; `wide` where the lattice could not be made fine enough."""

    lower: float
    upper: float
    wide: bool = False

    def larger(self, other: Bracket) -> Bracket:
        """The bracket of the larger of two numbers."""
        return Bracket(
            max(self.lower, other.lower), max(self.upper, other.upper), self.wide or other.wide
        )


@dataclass(frozen=True)
class Question:
    """What is asked of a composition, as the refinement sees it."""

    saddle: Callable[[Laws, float], Sum]
    log_width: Callable[[Sum, Beside], float]  # of log delta_finite, that meets the width asked
    read: Callable[[Composed, Composed], tuple[float, float]]
    met: Callable[[float, float], float]  # actual width over asked
    aim: Callable[[float, float], None]  # told the bracket that was read, before another attempt
    log_delta: float  # about what delta is, or will hardly be below
    width: float


@dataclass(frozen=True)
class Beside:
    """What delta is made of, in units of the part of it that is composed of finite losses (estimates)."""

    log_delta: float  # of all of it
    whole: float
    slope: float  # of what is not composed: minus its derivative by epsilon

    @classmethod
    def of(cls, laws: Laws, total: Sum) -> Beside:
        """At the saddle's epsilon."""
        alone, epsilon = decided(laws, None), total.saddle_epsilon
        log_delta = with_alone(total.log_delta, alone, epsilon)
        infinite = mass_at_infinity(laws)
        if infinite > 0.0:
            log_delta = float(np.logaddexp(log_delta, math.log(infinite)))
        whole = math.exp(min(log_delta - total.log_delta, 40.0))
        lost = 0.0
        if alone.q > 0.0:
            lost = math.exp(min(epsilon + math.log(alone.q) - total.log_delta, 40.0))
        return cls(log_delta, whole, lost)


class Search:
    """Lattices refined until a question is answered to its width."""

    def __init__(self, sources: Sources, question: Question) -> None:
        self._question = question
        self._lattices = Lattices(sources, question.log_delta, question.width)
        self._c = 1.0
        self._extra = 0.0
        self._tail = math.log(TAILS * question.width) - 3.0
        if self._lattices.natural is not None:
            self._tail = _EXACT

    def bracket(self) -> Bracket:
        """The narrowest of a few attempts."""
        best, factor = Bracket(-math.inf, math.inf, True), 1.0
        for _ in range(4):
            pair, wide = self.compositions(factor)
            lower, upper = self._question.read(*pair)
            lower, upper = max(lower, best.lower), min(upper, best.upper)
            excess = self._question.met(lower, upper)
            best = Bracket(lower, upper, excess > 1.0)
            if excess <= 1.0 or wide:
                break
            factor *= min(0.5, max(0.02, 0.7 / excess))
            self._question.aim(lower, upper)
            # what is charged for tails may be most of it, where epsilon lies among rare losses
            self._tail -= 8.0
            self._extra += 8.0
            if self._lattices.natural is not None:
                break
        return best

    def beyond(self, epsilon: float) -> Bracket | None:
        """The mass at infinity, where epsilon is above all finite losses; None where it is not."""
        uppers, lowers = self._lattices.build()
        if sum(count * float(law.losses[-1]) for law, count in uppers) > epsilon:
            return None
        ends = [mass_at_infinity(laws) for laws in (lowers, uppers)]
        low, high = (math.log(mass) if mass > 0.0 else -math.inf for mass in ends)
        if high - low > self._question.width and high > _NOTHING:
            layouts = self._lattices.layouts
            if sum(layout.count * layout.source.span(_NEVER)[1] for layout in layouts) > epsilon:
                return None
        return Bracket(low - 1e-13, min(high + 1e-13, 0.0))

    def compositions(self, factor: float) -> tuple[tuple[Composed, Composed], bool]:
        """(upper, lower) compositions; True where they are as fine as memory allows."""
        uppers, lowers, total, wide = self._refined(factor)
        self._c = total.c
        spill = self._lattices.spill(uppers, total.saddle_epsilon)
        pair = []
        for laws, own in ((uppers, total), (lowers, tilted_sum(lowers, total.c))):
            pair.append(compose(laws, own, window(laws, own, self._tail), spill))
        return (pair[0], pair[1]), wide

    def _refined(self, factor: float) -> tuple[Laws, Laws, Sum, bool]:
        """Laws fine enough by the measure of their log moments."""
        lattices, question = self._lattices, self._question
        wide = False
        for trial in range(_ROUNDS):
            uppers, lowers = lattices.build()
            total = question.saddle(uppers, self._c)
            self._c = total.c
            beside = Beside.of(uppers, total)
            target = factor * question.log_width(total, beside)
            gap = lattices.gap(uppers, lowers, total)
            step = uppers[0][0].step
            seen = window(uppers, total, min(self._tail, math.log(1e-3 * min(target, 1.0))))
            known = all(nil_from(laws, total) is not None for laws in (uppers, lowers))
            most = MOST_SPARSE if known else MOST_POINTS
            fits = seen.high - seen.low <= 2.0 * most * step
            settled = lattices.fit(uppers, total, beside.log_delta, self._extra)
            if lattices.natural is not None and fits:
                break
            finest = (seen.high - seen.low) / (1.7 * most)
            wide = gap > target
            if trial and settled and fits and (not wide or step <= 1.2 * finest):
                break
            if fits:
                lattices.grade(uppers, total, _AIM * target, gap)
            lattices.keep_above(finest)
        else:
            wide = True
        return uppers, lowers, total, wide


def surely_below(sources: Sources, epsilon: float, log_target: float) -> bool:
    """Whether a coarse upper law already shows delta(epsilon) < e^{log_target}: Chernoff's bound."""
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
    values = np.full(epsilons.shape, np.nan)
    pending = np.argsort(epsilons).tolist()
    while pending:
        first = float(epsilons[pending[0]])
        search = Search(sources, _at_epsilon(first, width))
        past = search.beyond(first)
        if past is not None:  # above all finite losses, as are those that follow
            values[pending] = past.upper
            break
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
    found: list[float] = []

    def read(upper: Composed, lower: Composed) -> tuple[float, float]:
        ends = []
        for composed, up in ((lower, False), (upper, True)):
            total = composed.total
            start = max(floor, found[0] if found else total.saddle_epsilon)
            ends.append(
                _root(
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


def _root(
    read: Callable[[float], float],
    target: float,
    start: float,
    floor: float,
    slope: float,
    accuracy: float,
    *,
    up: bool,
) -> float:
    """An epsilon >= floor near the start, on the safe side of where a falling log delta meets the target.

    `up`: read there is at most the target (inf if none is found); else at least it (or the floor). What
    is read is only sharp near the start, and need not fall everywhere; so steps go no further than
    `slope`, about what it falls by, suggests. The end is within `accuracy` of there, relative to its way
    from the floor.
    """
    if up and read(floor) <= target:
        return floor
    x, low, high = start, -math.inf, math.inf
    f_low = f_high = math.nan
    for _ in range(200):
        f = read(x) - target
        if f > 0.0:
            low, f_low = x, f
        else:
            high, f_high = x, f
        if low == -math.inf and x <= floor:
            return high if up else floor
        if high - low < math.inf and high - low <= max(
            accuracy * (high - floor), 2e-16 * abs(high)
        ):
            break
        x = max(_next(low, f_low, high, f_high, slope), floor)
        # where one side has not been met yet, it is further off than the slope has it
        slope *= 0.6
    else:
        return high if up else max(low, floor)
    return high if up else low


def _next(low: float, f_low: float, high: float, f_high: float, slope: float) -> float:
    """Where to read next: a little beyond the secant's guess, from the end that is nearer to it."""
    if high == math.inf:
        return low + 1.1 * min(f_low, 40.0) / slope + 1e-15 * abs(low)
    if low == -math.inf:
        return high - 1.1 * min(-f_high, 40.0) / slope - 1e-15 * abs(high)
    wide = high - low
    if not (f_low < 1e6 and f_high > -1e6):
        return 0.5 * (low + high)
    share = f_low / (f_low - f_high)
    beyond = 0.1 * min(share, 1.0 - share) + 1e-9
    share += beyond if share < 0.5 else -beyond
    return low + min(max(share, 1e-3), 1.0 - 1e-3) * wide

"""Brackets of delta and epsilon for a composition of sources: the lattice refined until they are narrow."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpacct.engine.stable import Floats

from .compose import Composed, compose
from .lattices import MOST_POINTS, TAILS, Lattices, Sources
from .window import (
    Laws,
    Sum,
    mass_at_infinity,
    saddle_for_epsilon,
    saddle_for_log_delta,
    tilted_sum,
    window,
)

_ROUNDS = 12
# log of a mass at infinity that stands for what underflowed
_NOTHING = -650.0
_GROWTHS = 3
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
    log_width: Callable[[Sum], float]  # width of log delta that meets the width asked
    read: Callable[[Composed, Composed], tuple[float, float]]
    met: Callable[[float, float], float]  # actual width over asked
    log_delta: float  # about what delta is, or will hardly be below
    width: float


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
            return None
        return Bracket(low - 1e-13, min(high + 1e-13, 0.0))

    def compositions(self, factor: float) -> tuple[tuple[Composed, Composed], bool]:
        """(upper, lower) compositions; True where they are as fine as memory allows."""
        uppers, lowers, total, wide = self._refined(factor)
        self._c = total.c
        pair = []
        for laws, own in ((uppers, total), (lowers, tilted_sum(lowers, total.c))):
            pair.append(compose(laws, own, window(laws, own, self._tail)))
        return (pair[0], pair[1]), wide

    def _refined(self, factor: float) -> tuple[Laws, Laws, Sum, bool]:
        """Laws fine enough by the measure of their log moments."""
        lattices, question = self._lattices, self._question
        wide, growths = False, 0
        for _ in range(_ROUNDS):
            uppers, lowers = lattices.build()
            total = question.saddle(uppers, self._c)
            self._c = total.c
            lattices.fit(uppers, total, total.saddle_epsilon, self._extra)
            target = factor * question.log_width(total)
            step = uppers[0][0].step
            gap, grown = lattices.refine(uppers, lowers, total, target, growths < _GROWTHS)
            growths += grown
            seen = window(uppers, total, math.log(1e-3 * min(target, 1.0)))
            fits = seen.high - seen.low <= 2.0 * MOST_POINTS * step
            if lattices.natural is not None and fits:
                break
            if fits and (wide or (gap <= target and not grown)):
                break
            wide = lattices.keep_above((seen.high - seen.low) / MOST_POINTS) and gap > target
        else:
            wide = True
        return uppers, lowers, total, wide


def log_delta(sources: Sources, epsilon: float, width: float = 1e-4) -> Bracket:
    """log delta at any real epsilon, to a relative width of delta; its finite and infinite losses."""
    search = Search(sources, _at_epsilon(epsilon, width))
    return search.beyond(epsilon) or search.bracket()


def _at_epsilon(epsilon: float, width: float) -> Question:
    def read(upper: Composed, lower: Composed) -> tuple[float, float]:
        return lower.log_delta(epsilon, upper=False), upper.log_delta(epsilon, upper=True)

    return Question(
        saddle=lambda laws, c: saddle_for_epsilon(laws, epsilon, c),
        log_width=lambda total: 0.8 * width,
        read=read,
        met=lambda low, high: (high - low) / width if high > -math.inf else 0.0,
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

    def read(upper: Composed, lower: Composed) -> tuple[float, float]:
        guess = max(floor, upper.total.saddle_epsilon)
        above = _root(lambda e: upper.log_delta(e, upper=True), log_target, guess, floor, up=True)
        below = _root(lambda e: lower.log_delta(e, upper=False), log_target, guess, floor, up=False)
        return below, above

    def aimed(laws: Laws, c: float) -> Sum:
        finite = math.exp(log_target) - mass_at_infinity(laws)
        aim = math.log(finite) if finite > 0.0 else log_target - 30.0
        return saddle_for_log_delta(laws, aim, c)

    def log_width(total: Sum) -> float:
        return 0.8 * width * max(total.c * (total.saddle_epsilon - floor), 0.02)

    def met(low: float, high: float) -> float:
        if high == low or (low == floor and high - floor < 1e-12):
            return 0.0
        return (high - low) / (width * (high - floor)) if high < math.inf else 9.0

    return Search(sources, Question(aimed, log_width, read, met, log_target, width)).bracket()


def _root(
    read: Callable[[float], float], target: float, guess: float, floor: float, *, up: bool
) -> float:
    """An epsilon >= floor near the guess, on the safe side of where a falling log delta meets the target.

    `up`: read there is at most the target (inf if none is found); else at least it (or the floor). What
    is read is only sharp near the guess, and need not fall everywhere; so it is not read elsewhere.
    """
    if up and read(floor) <= target:
        return floor
    step = max(1e-6 * abs(guess), 1e-12)
    low = high = guess
    f_low = f_high = read(guess) - target
    while f_high > 0.0:
        low, f_low = high, f_high
        high, step = high + step, 8.0 * step
        if step > 1e9 * (1.0 + abs(guess)):
            return math.inf if up else low
        f_high = read(high) - target
    while f_low <= 0.0:
        high, f_high = low, f_low
        low, step = max(floor, low - step), 8.0 * step
        f_low = read(low) - target
        if low == floor and f_low <= 0.0:
            return high if up else floor
    for trial in range(60):
        if high - low <= 1e-11 * abs(high):
            break
        x = 0.5 * (low + high)
        if trial % 4 < 3 and f_low < 1e6 and f_high > -1e6:
            x = low + f_low * (high - low) / (f_low - f_high)
            # just beyond the secant's guess, on alternate sides
            x += (1e-3 if trial % 2 else -1e-3) * min(high - low, 1e-3 * abs(x))
            x = min(max(x, low + 1e-4 * (high - low)), high - 1e-4 * (high - low))
        f = read(x) - target
        if f > 0.0:
            low, f_low = x, f
        else:
            high, f_high = x, f
    return high if up else low

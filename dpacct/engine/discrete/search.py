"""The lattices of a composition refined until a question is answered as narrowly as asked."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .budget import MOST_SPARSE, MOST_TERMS, most_places
from .compose import Composed, compose, terms
from .decided import decided, with_alone
from .lattices import TAILS, Lattices
from .pieces import Sources
from .window import Laws, Sum, mass_at_infinity, tilted_sum, window

_ROUNDS = 12
# log of a mass at infinity that stands for what underflowed
_NOTHING = -650.0
# and of a mass above which there is hardly ever a loss
_NEVER = -745.0
# of the target that a regraded lattice aims at, and what that is cut by where it does not get nearer
_AIM, _FINER = 0.75, 0.2
# how much longer than it is a step may be asked for, places from which that matters, and attempts to mend it
_WASTED, _SHORT, _COARSENED = 4.0, 1 << 14, 4
# share of the places that memory allows which a new lattice has, and how much finer one that is there may be
_FULL, _SPARE = 0.7, 0.8
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
        self._built: tuple[Laws, Laws] | None = None
        self._tail = math.log(TAILS * question.width) - 3.0
        if self._lattices.natural is not None:
            self._tail = _EXACT

    def ask(self, question: Question) -> None:
        """Another question of the same composition: laws that are fine enough for it are kept."""
        self._question = question

    def bracket(self) -> Bracket:
        """The narrowest of a few attempts."""
        best, factor = Bracket(-math.inf, math.inf, True), 1.0
        for _ in range(4):
            try:
                pair, wide = self.compositions(factor)
            except MemoryError:
                if best.upper == math.inf:
                    raise
                break
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
        self._built = uppers, lowers
        spill = self._lattices.spill(uppers, total.saddle_epsilon)
        pair = []
        for laws, own in ((uppers, total), (lowers, tilted_sum(lowers, total.c))):
            pair.append(compose(laws, own, window(laws, own, self._tail), spill))
        return (pair[0], pair[1]), wide

    def _refined(self, factor: float) -> tuple[Laws, Laws, Sum, bool]:
        """Laws fine enough by the measure of their log moments."""
        lattices, question = self._lattices, self._question
        last, aim = math.inf, _AIM
        best: tuple[float, Laws, Laws, Sum] | None = None
        for trial in range(_ROUNDS):
            known = trial == 0 and self._built is not None
            uppers, lowers = self._built if self._built and known else lattices.build()
            total = question.saddle(uppers, self._c)
            self._c = total.c
            beside = Beside.of(uppers, total)
            target = factor * question.log_width(total, beside)
            gap = lattices.gap(uppers, lowers, total)
            step = uppers[0][0].step
            seen = window(uppers, total, min(self._tail, math.log(1e-3 * min(target, 1.0))))
            span = seen.high - seen.low
            finest = span / (_FULL * _most((uppers, lowers), total, span / step))
            fits = step >= _SPARE * finest
            settled = lattices.fit(uppers, total, beside.log_delta, self._extra)
            if lattices.natural is not None and fits:
                return uppers, lowers, total, False
            wide = gap > target
            if trial > 1 and wide and gap > 0.5 * last:
                aim *= _FINER
            last = gap
            asked = lattices.grade(uppers, total, aim * target, gap)
            lattices.keep_above(finest)
            # far finer than asked, and long: a coarser one is tried before it is transformed
            wasted = trial < _COARSENED and asked > _WASTED * step and span > _SHORT * step
            enough = not wide and not wasted
            if fits and settled and (best is None or gap <= best[0]):
                best = gap, uppers, lowers, total
            if (
                (trial or known)
                and settled
                and fits
                and (enough or (wide and step <= 1.2 * finest))
            ):
                return uppers, lowers, total, wide
        if best is not None:
            _, uppers, lowers, total = best
        return uppers, lowers, total, True


def _most(pair: tuple[Laws, Laws], total: Sum, places: float) -> float:
    """Places of a window, at most, that memory and time allow."""
    found = [terms(laws, total, places) for laws in pair]
    if all(one is not None and one <= MOST_TERMS for one in found):
        return MOST_SPARSE
    return most_places(len(pair[0]))

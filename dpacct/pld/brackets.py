"""Intervals of delta and epsilon for any composition: grids refined until an answer is narrow enough."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from .budget import MOST_SPARSE, MOST_TERMS, WORK, Work, most_places, remaining
from .compose import (
    Composed,
    Laws,
    Sum,
    compose,
    decided,
    mass_at_infinity,
    saddle,
    saddle_for_epsilon,
    saddle_for_log_delta,
    terms,
    tilted_sum,
    window,
    with_alone,
)
from .interval import Interval
from .layout import TAILS, Layouts
from .outcomes import Outcomes, outcomes
from .pieces import Sources, ever
from .roots import falls
from .stable import Floats, TooFine

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
class BracketQuestion:
    """A question about a composition, as the refinement sees it."""

    saddle: Callable[[Laws, float], Sum]
    log_width: Callable[[Sum, Beside], float]  # of log delta_finite, that meets the width asked
    read: Callable[[Composed, Composed], tuple[float, float]]
    met: Callable[[float, float], float]  # actual width over asked
    aim: Callable[[float, float], None]  # told the bracket that was read, before another attempt
    log_delta: float  # about what delta is, or will hardly be below
    width: float


@dataclass(frozen=True)
class Beside:
    """Estimated parts of delta, in units of the part from finite losses."""

    log_delta: float  # of all of it
    whole: float
    slope: float  # of what is not composed: minus its derivative by epsilon

    @classmethod
    def of(cls, laws: Laws, total: Sum) -> Beside:
        """The estimate at the saddle's epsilon."""
        alone, epsilon = decided(laws, None), total.saddle_epsilon
        log_delta = with_alone(total.peak, alone, epsilon)
        infinite = mass_at_infinity(laws)
        if infinite > 0.0:
            log_delta = float(np.logaddexp(log_delta, math.log(infinite)))
        whole = math.exp(min(log_delta - total.peak, 40.0))
        lost = 0.0
        if alone.q > 0.0:
            lost = math.exp(min(epsilon + math.log(alone.q) - total.peak, 40.0))
        return cls(log_delta, whole, lost)


class LayoutSearch:
    """Layouts refined until a question is answered to its width."""

    def __init__(self, sources: Sources, question: BracketQuestion) -> None:
        self._question = question
        self._lattices = Layouts(sources, question.log_delta, question.width)
        self._c = 1.0
        self._extra = 0.0
        self._work = Work()
        self._built: tuple[Laws, Laws] | None = None
        self._tail = math.log(TAILS * question.width) - 3.0
        if self._lattices.natural is not None:
            self._tail = _EXACT

    def ask(self, question: BracketQuestion) -> None:
        """Put another question about the same composition, keeping laws that are fine enough for it."""
        self._question = question

    def bracket(self) -> Interval:
        """The narrowest of a few attempts."""
        best, factor = Interval.between(-math.inf, math.inf, False), 1.0
        for _ in range(4):
            try:
                pair, wide = self.compositions(factor)
            except TooFine:
                if best.upper == math.inf:
                    raise
                break
            lower, upper = self._question.read(*pair)
            lower, upper = max(lower, best.lower), min(upper, best.upper)
            if lower > upper + _APART * abs(upper):
                break  # masses of 1 and of next to nothing in one law: the coarser one stands
            excess = self._question.met(lower, upper)
            best = Interval.between(lower, upper, excess <= 1.0)
            if excess <= 1.0 or wide or not self._work.again:
                break
            factor *= min(0.5, max(0.02, 0.7 / excess))
            self._question.aim(lower, upper)
            # what is charged for tails may be most of it, where epsilon lies among rare losses
            self._tail -= 8.0
            self._extra += 8.0
            if self._lattices.natural is not None:
                break
        return best

    def beyond(self, epsilon: float) -> Interval | None:
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
        return Interval.between(low - 1e-13, min(high + 1e-13, 0.0))

    def compositions(self, factor: float) -> tuple[tuple[Composed, Composed], bool]:
        """(upper, lower) compositions; True where they are as fine as memory allows."""
        uppers, lowers, total, wide = self._refined(factor)
        self._c = total.c
        self._built = uppers, lowers
        spill = self._lattices.spill(uppers, total.saddle_epsilon)
        pair = []
        for laws, tilted in ((uppers, total), (lowers, tilted_sum(lowers, total.c))):
            with self._work.piece():
                pair.append(compose(laws, tilted, window(laws, tilted, self._tail), spill))
        return (pair[0], pair[1]), wide

    def _refined(self, factor: float) -> tuple[Laws, Laws, Sum, bool]:
        """Laws fine enough by the measure of their log moments."""
        lattices, question = self._lattices, self._question
        last, aim = math.inf, _AIM
        best: tuple[float, Laws, Laws, Sum] | None = None
        for trial in range(_ROUNDS):
            built = trial == 0 and self._built is not None
            with self._work.piece():
                uppers, lowers = self._built if self._built and built else lattices.build()
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
                (trial or built)
                and settled
                and fits
                and (enough or (wide and step <= 1.2 * finest))
            ):
                return uppers, lowers, total, wide
            if not self._work.again:
                break
        if best is not None:
            _, uppers, lowers, total = best
        return uppers, lowers, total, True


def _most(pair: tuple[Laws, Laws], total: Sum, places: float) -> float:
    """The largest number of places of a window that memory and time allow."""
    counts = [terms(laws, total, places) for laws in pair]
    if all(count is not None and count <= MOST_TERMS for count in counts):
        return MOST_SPARSE
    return most_places(len(pair[0]))


# -- questions ------------------------------------------------------------------------------------

# relative rounding of a target beside a mass at infinity
_OPEN = 4e-15
# of the width asked, how near an end is to where its reading meets the target
_NEAR = 0.02
# and where readings are cheap: relative
_NEAREST, _LONG = 1e-12, 1 << 12
_APART = 1e-6  # relative, by which ends that rounding exchanged are apart at most
# nats that a step to an end may go for at once
_FARTHEST = 44.0
# of what is accepted: the end that is returned lies hardly farther from the root
_HAIR = 0.002


def surely_below(sources: Sources, epsilon: float, log_target: float) -> bool:
    """Return whether a coarse upper law already shows delta(epsilon) < e^{log_target}: Chernoff's bound."""
    listed = outcomes(sources)
    if listed is not None:
        return listed[1].log_delta(epsilon, upper=True) < log_target
    laws, _ = Layouts(sources, min(log_target, -1.0), 1e-2).build()
    total = saddle_for_epsilon(laws, epsilon, 1.0)
    bound = total.bound(epsilon) + 1e-9
    infinite = mass_at_infinity(laws)
    if infinite > 0.0:
        bound = float(np.logaddexp(bound, math.log(infinite)))
    return bound < log_target


def infinite_mass(sources: Sources) -> float:
    """P-mass at infinity that is stated, so that no epsilon has a smaller delta."""
    return ever((source.infinite, n) for source, n in sources)


def log_delta(sources: Sources, epsilon: float, width: float = 1e-4) -> Interval:
    """log delta at any real epsilon, to a relative width of delta."""
    listed = outcomes(sources)
    if listed is not None:
        below, above = listed
        return Interval.between(
            below.log_delta(epsilon, upper=False), above.log_delta(epsilon, upper=True)
        )
    search = LayoutSearch(sources, _at_epsilon(epsilon, width))
    return search.beyond(epsilon) or search.bracket()


def _at_epsilon(epsilon: float, width: float) -> BracketQuestion:
    return BracketQuestion(
        saddle=lambda laws, c: saddle_for_epsilon(laws, epsilon, c),
        log_width=lambda _, beside: min(0.8 * width * beside.whole, 1.0),
        read=lambda upper, lower: _read(upper, lower, epsilon),
        met=lambda low, high: (high - low) / width if high > -math.inf else 0.0,
        aim=lambda low, high: None,
        log_delta=-40.0,
        width=width,
    )


# of all work, what is left when no more compositions are made
_SPARED = 0.6


class CurveEnds:
    """Upper ends of log delta at many epsilons: few compositions, each read where it is sharp."""

    def __init__(self, sources: Sources, width: float = 1e-4) -> None:
        self._sources, self._width = sources, width
        self._listed = outcomes(sources)
        self._search: LayoutSearch | None = None
        self._made: list[tuple[Composed, Composed, float, float]] = []  # with width and upper end
        self._past = math.inf
        self._nothing = -math.inf

    def __call__(self, epsilons: Floats) -> tuple[Floats, Floats]:
        """The ends and errors at these epsilons; error inf and end 0 where no lattice spans the losses."""
        values, errors = np.zeros(epsilons.shape), np.zeros(epsilons.shape)
        if self._listed is not None:
            return self._listed[1].log_deltas(epsilons), errors
        # from above: what is fine enough there is fine enough below
        for k in np.argsort(epsilons)[::-1].tolist():
            try:
                values[k] = self._end(float(epsilons[k]))
            except TooFine:
                errors[k] = math.inf
        return values, errors

    def _end(self, epsilon: float) -> float:
        if epsilon >= self._past:
            return self._nothing
        for upper, lower, wide, most in reversed(self._made):
            low, high = _read(upper, lower, epsilon)
            # one without a lower end tells of another epsilon only where delta is about as small
            near = high - low <= max(3.0 * self._width, 1.5 * wide)
            if (near and (wide < math.inf or high <= most + 1.0)) or high == -math.inf:
                return high
        if self._made and remaining() < _SPARED * WORK:
            # a finer grid is not affordable: the last one's upper end, farther from where it is sharp
            return min(_read(upper, lower, epsilon)[1] for upper, lower, _, _ in self._made)
        if self._search is None:
            self._search = LayoutSearch(self._sources, _at_epsilon(epsilon, self._width))
        if not self._made:
            past = self._search.beyond(epsilon)
            if past is not None:
                self._past, self._nothing = epsilon, past.upper
                return past.upper
        self._search.ask(_at_epsilon(epsilon, self._width))
        (upper, lower), _ = self._search.compositions(1.0)
        low, high = _read(upper, lower, epsilon)
        self._made.append((upper, lower, high - low, high))
        return high


def _read(upper: Composed, lower: Composed, epsilon: float) -> tuple[float, float]:
    return lower.log_delta(epsilon, upper=False), upper.log_delta(epsilon, upper=True)


def epsilon(
    sources: Sources, log_target: float, width: float = 1e-4, floor: float = 0.0
) -> Interval:
    """The least epsilon >= floor with log delta at most the target; width relative to epsilon - floor."""
    infinite = infinite_mass(sources)
    excess, slack = 0.0, 0.0
    if infinite > 0.0:  # what delta is short of it, a difference, and what that rounds to
        target = math.exp(log_target)
        slack = (_OPEN + 4e-16 * abs(log_target)) * (target + infinite)
        excess = target - infinite
        if excess <= -slack:
            return Interval.between(math.inf, math.inf)
    listed = outcomes(sources)
    if listed is not None:
        result = _among(listed, log_target, floor)
    elif infinite > 0.0 and excess <= slack:
        # so little is left that no grid tells: above it, an epsilon at which more is
        result = epsilon(sources, math.log(infinite + 2.0 * slack), width, floor)
    else:
        try:
            result = LayoutSearch(sources, _at_delta(log_target, width, floor)).bracket()
        except TooFine:
            if not (floor <= 0.0 and _tells_little(sources, log_target)):
                raise
            result = Interval.between(0.0, 0.0)
    return Interval.between(result.lower, math.inf, result.resolved) if excess < slack else result


def _tells_little(sources: Sources, log_target: float) -> bool:
    """Return whether delta(0) is below the target because the sum of the steps' total variations is."""
    total = 0.0
    for source, n in sources:
        if source.bracketed:
            return False
        pieces = source.pieces(np.zeros(1), upper=True)
        gain = -np.expm1(-np.maximum(pieces.loss + pieces.unsure, 0.0))
        once = float(np.exp(pieces.log_p + pieces.slack) @ gain) + pieces.infinite
        total += n * once
    return total <= 0.0 or math.log(total) + 1e-12 <= log_target


def _at_delta(log_target: float, width: float, floor: float) -> BracketQuestion:
    seen: list[float] = []

    def read(upper: Composed, lower: Composed) -> tuple[float, float]:
        ends = []
        for composed, up in ((lower, False), (upper, True)):
            total = composed.total
            start = max(floor, seen[0] if seen else total.saddle_epsilon)
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
            seen[:] = [0.5 * (low + high)]

    def aimed(laws: Laws, c: float) -> Sum:
        if seen:
            return saddle_for_epsilon(laws, seen[0], c)
        infinite, alone = mass_at_infinity(laws), decided(laws, None)
        finite = math.exp(log_target) - infinite
        if not finite > 0.0:
            return saddle_for_log_delta(laws, log_target - 30.0, c)
        wanted = math.log(finite)
        return saddle(
            laws, c, lambda total: wanted - with_alone(total.peak, alone, total.saddle_epsilon)
        )

    def log_width(total: Sum, beside: Beside) -> float:
        slope = total.c + beside.slope
        return min(0.8 * width * max(slope * (total.saddle_epsilon - floor), 0.02), 1.0)

    def met(low: float, high: float) -> float:
        if high == low or (low == floor and high - floor < 1e-12):
            return 0.0
        return (high - low) / (width * (high - floor)) if high < math.inf else 9.0

    return BracketQuestion(aimed, log_width, read, met, aim, log_target, width)


def _among(listed: tuple[Outcomes, Outcomes], log_target: float, floor: float) -> Interval:
    """The least epsilon >= floor at which laws of points have log delta of at most the target."""
    ends = []
    for points, up in zip(listed, (False, True), strict=True):
        start, slope = points.about(log_target, floor)
        read = partial(points.log_delta, upper=up)
        ends.append(root(read, log_target, start, floor, slope, _NEAREST, up=up))
    return Interval.between(min(ends), ends[1])


# -- where a reading meets a target ---------------------------------------------------------------


def root(
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
    ends = falls(
        lambda epsilon: read(epsilon) - target,
        max(start, floor),
        -slope,
        lambda a, b: max(accuracy * (b - floor), 2e-16 * abs(b)),
        low=floor,
        longest=_FARTHEST / slope,
        hair=_HAIR,
    )
    end = ends.under if up else ends.over
    return end if end is not None else (math.inf if up else floor)

"""Brackets of epsilon and delta in one direction: where to cut the laws, how to tilt, when to stop.

Rounds of a bracket from coarse to fine. Each cuts every law between free nodes, reads both ends off two
contours (line.py) of one tilt, and sets the next round's nodes, width of the smooth weight and cuts from what
it read. What a bracket is wide of comes from cells (their squares, weighted) and from the weight (v^2).
Nothing here can be wrong, only wide: every end that a round reads is valid.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property, partial
from operator import mul

import numpy as np

from dpacct.pld.budget import Overspent, metered, remaining
from dpacct.pld.pieces import Pieces, Sources, ever
from dpacct.pld.stable import Floats

from .laws import Measure, cut, first_top, law_above, law_below
from .line import YS, Expensive, OneStep, SmoothedContour, SumOfMeasures, window

# nodes of a law at first, at least and at most
_FIRST, _FEWEST, _MOST = 241, 60, 60_000
# relative accuracy of an end where it meets its target
_TIGHT = 2e-7
# widths that the rounds aim at, as shares of the one asked; those before are coarse
_FINER = (1.0, 0.7, 0.5, 0.4, 0.3, 0.2)
_COARSE_EPSILON, _COARSE_DELTA = (0.05, 0.01), (0.3, 0.02)

# a bracket of log delta that lies away from the target may be this share of the distance wide
_DISTANT, _OF_A_PARAMETER = 0.02, 2e-5

Line = SmoothedContour | OneStep

_TARGET: ContextVar[float] = ContextVar("log_delta_to_compare_with", default=math.nan)


@contextmanager
def towards(log_delta: float) -> Iterator[None]:
    """Within the block deltas are compared with this one: those far from it are read coarsely."""
    token = _TARGET.set(log_delta)
    try:
        yield
    finally:
        _TARGET.reset(token)


def _enough(low: float, high: float) -> float:
    """Return how wide a bracket of log delta may be because the target lies outside it."""
    distance = max(low - _TARGET.get(), _TARGET.get() - high)
    return _DISTANT * distance if distance > 0.0 else 0.0


@dataclass(frozen=True)
class Weights:
    """Cost of the square of a cell's width in log delta, for each unit of count and P-mass.

    The curvature of delta of the other steps at epsilon - loss: below epsilon it falls as e^{slope loss}; of
    losses that decide alone it is that of 1 - e^{epsilon - loss}, over delta.
    """

    epsilon: float
    slope: float
    log_delta: float

    def log(self, log_mass: Floats, at: Floats) -> Floats:
        """Its logarithm at these losses of one law."""
        s = self.slope
        edge = self.epsilon + 2.0 / s
        near = s * np.minimum(at, edge)
        level = log_mass + near
        peak = float(level.max())
        unit = peak + math.log(float(np.exp(level - peak).sum()))
        alone = np.where(at < edge, math.log(s), 0.0) - self.log_delta
        alone = np.where(at > self.epsilon - 1.0 / s, alone, -math.inf)
        return np.asarray(np.logaddexp(near - unit + math.log(s * (s + 1.0)), alone))

    def gap(self, law: Measure) -> float:
        """Width of log delta that the merged pieces of a measure below make."""
        if not law.at.size:
            return 0.0
        width = np.minimum(law.widths, 3.0 / self.slope)
        terms = np.exp(np.minimum(self.log(law.log_mass, law.at) + law.log_mass, 300.0))
        return 0.125 * law.count * float((terms * width * width).sum())


class DirectionSearch:
    """One direction of adjacency: the laws of a composition, brackets of epsilon and of delta."""

    def __init__(self, sources: Sources, log_delta: float) -> None:
        self.square, self.kinds = 0.0, []
        for source, count in sources:
            law = source.distribution
            mu = None if law is None else law.gaussian
            if mu is None:
                self.kinds.append((source, float(count)))
            else:
                self.square += count * mu * mu
        self.steps = sum(count for _, count in self.kinds)
        # rounded down: log1p of each is right to 2u
        self.finite = (1.0 - ever((s.infinite, n) for s, n in sources)) * (1.0 - 1e-14)
        self.once = self.steps == 1.0 and self.square == 0.0
        nats = 25.0 + math.log(self.steps + 1.0) - log_delta
        self.first = [source.knots(_FIRST, -nats) for source, _ in self.kinds]
        self._cells = self._first_cells = [self._cut(k, x) for k, x in enumerate(self.first)]
        # what lies above the first knots is set apart, also where finer cells are single atoms
        self._ends = [first_top(above) for above, _ in self._cells]
        tops = [math.inf] * len(self.kinds)
        self.coarse = SumOfMeasures(self._laws(self._cells, tops, above=True), self.square)
        self.edges = list(self.first)
        self._local: tuple[float, float] | None = None
        self._steepest, self._v, self._room = math.inf, 0.0, math.inf

    @cached_property
    def _known(self) -> Callable[[Floats], Floats] | None:
        """The profile that a law of atoms states for itself alone: the best of several strategies'."""
        if not self.once:
            return None
        ((source, _),) = self.kinds
        return source.stated_profile

    # -- laws --------------------------------------------------------------------------------

    def _cut(self, k: int, edges: Floats) -> tuple[Pieces, Pieces]:
        """The pieces of one law, for the measure above and for the one below."""
        source, _ = self.kinds[k]
        above = cut(source, edges, upper=True)
        return above, cut(source, edges, upper=False) if source.bracketed else above

    def _laws(
        self, cells: Sequence[tuple[Pieces, Pieces]], tops: Sequence[float], *, above: bool
    ) -> list[Measure]:
        result = []
        for (_, count), pair, top, end in zip(self.kinds, cells, tops, self._ends, strict=True):
            pieces = pair[0] if above else pair[1]
            own = min(top, end, first_top(pieces))
            result.append((law_above if above else law_below)(pieces, count, own))
        return result

    def _edges(
        self, x: Sequence[Floats], laws: Sequence[Measure], counts: Sequence[int]
    ) -> list[Floats]:
        """So many edges for each law, as dense as the cube root of what a cell's square costs."""
        result = []
        for (source, _), first, old, law, pair, count in zip(
            self.kinds, self.first, x, laws, self._cells, counts, strict=True
        ):
            pieces, points = pair[0], source.bracketed
            spread = (pieces.high > pieces.low) | points
            some = pieces.where(np.isfinite(pieces.low) & np.isfinite(pieces.high) & spread)
            inside = some.low < law.start
            if old.size < 3 or not inside.any():
                result.append(old)
                continue
            width = some.high - some.low
            place = np.searchsorted(old, 0.5 * (some.low + some.high), side="right") - 1
            within = (place >= 0) & (place < old.size - 1)
            if points:  # which are made as fine as the edges are close
                width[within] = np.diff(old)[place[within]]
            level = self.weights.log(some.log_p, np.minimum(some.high, law.start)) + some.log_p
            level -= level[inside].max()
            want = np.exp(np.minimum(level, 0.0) / 3.0) * np.cbrt(width) ** 2 * inside
            share = np.bincount(place[within], want[within], old.size - 1)
            if not share.sum() > 0.0:
                result.append(old)
                continue
            share = 0.97 * share / share.sum() + 0.03 / share.size
            at = np.concatenate(([0.0], np.cumsum(share)))
            fresh = np.interp(np.linspace(0.0, at[-1], count + 1), at, old)
            result.append(np.unique(np.concatenate((fresh, first))))
        return result

    def _cuts(self, epsilon: float, goal: float) -> list[float]:
        """Losses above which one of a law decides alone, but for e^goal of delta (Lemma 6)."""
        every, whole = self.coarse.under_q
        result = []
        for law, own in zip(self.coarse.laws, every, strict=True):
            if not law.at.size or law.at[-1] <= epsilon:
                result.append(math.inf)
                continue
            q = np.cumsum((law.mass * np.exp(-law.at))[::-1])[::-1] + law.top[2]
            spot = np.unique(np.linspace(0, law.at.size - 1, 200).astype(int))
            spot = spot[law.at[spot] > epsilon]
            if not spot.size:
                result.append(math.inf)
                continue
            at = law.at[spot]
            short = np.minimum((whole - own)[:, None] + np.multiply.outer(YS, epsilon - at), 0.0)
            chance = np.exp(short.min(axis=0)) + self.coarse.missed
            charge = np.log(law.count * q[spot] + 1e-300) + epsilon + np.log(chance + 1e-300)
            good = np.flatnonzero(charge <= goal)
            result.append(float(at[good[0]]) if good.size else math.inf)
        return result

    # -- one round ---------------------------------------------------------------------------

    def _lines(
        self, epsilon: float, log_delta: float, goal: Callable[[float], float], *, both: bool = True
    ) -> tuple[Line, Line]:
        """The contours above and below near epsilon; `goal`: the width of log delta, by its slope."""
        least = math.log(2e-7) + log_delta  # what periods and cuts may cost, each
        tops = [math.inf] * len(self.kinds) if self.once else self._cuts(epsilon, least)
        upper = SumOfMeasures(self._laws(self._cells, tops, above=True), self.square)
        if self.once:
            lower = SumOfMeasures(self._laws(self._cells, tops, above=False), 0.0, self.finite)
            return OneStep(upper, 1.0, 1, self._known), OneStep(lower, 1.0, -1, self._known)
        c = min(upper.saddle(epsilon), self._steepest)
        slope, dense = self._local if self._local is not None else (c, c * (c + 1.0))
        v = min(math.sqrt(min(0.4 * goal(slope), 0.5) / dense), 0.7 / c, 25.0)
        # how dense the sum is shows only where v is small enough
        v = self._v = min(max(v, self._v / 30.0), 1.5 / c)
        above = SmoothedContour(upper, c, v, window(upper, c, epsilon, least), 1)
        if not both:
            return above, above
        lower = SumOfMeasures(self._laws(self._cells, tops, above=False), self.square, self.finite)
        return above, SmoothedContour(lower, c, v, window(lower, c, epsilon, least), -1)

    def _gaps(self, lines: tuple[Line, Line], epsilon: float, log_delta: float) -> list[float]:
        """Each law's share of the width of log delta, from what both contours read."""
        above, below = lines
        self._local = above.local(epsilon)
        self.weights = Weights(epsilon, self._local[0], log_delta)
        gaps = [self.weights.gap(law) for law in below.total.laws]
        low = below.log_delta(epsilon)
        bracketed = [source.bracketed for source, _ in self.kinds]
        if low > -math.inf or any(bracketed):
            # where the bracket is wider than that says, the cells are to blame
            width = above.log_delta(epsilon) - max(low, -1e3)
            seen = width - above.v2 * self._local[1]
            more = min(max(seen / max(sum(gaps), 1e-300), 1.0), 10.0)
            # points of a law that is only bracketed have no width, and yet lie apart
            least = [max(seen, 0.0) / len(gaps) if known else 0.0 for known in bracketed]
            gaps = [max(gap * more, some) for gap, some in zip(gaps, least, strict=True)]
        return gaps

    def _refine(self, lines: tuple[Line, Line], gaps: Sequence[float], goal: float) -> None:
        """Cut anew so that the gap is the goal; N ~ (gap N^2)^(1/3) has the least sum of counts."""
        counts = [max(x.size - 1, 1) for x in self.edges]
        costs = [
            max(gap * n * n, 1e-30) ** (1.0 / 3.0) for gap, n in zip(gaps, counts, strict=True)
        ]
        scale = math.sqrt(sum(costs) / max(0.4 * goal, 1e-13)) if costs else 1.0
        if not all(math.isfinite(scale * cost) for cost in costs):
            return  # beyond floats nothing tells where to cut
        wanted = [int(min(max(scale * cost, _FEWEST), _MOST)) for cost in costs]
        for k, (source, _) in enumerate(self.kinds):
            if source.bracketed:  # whose points are made anew, and as many as the edges ask for
                wanted[k] = min(wanted[k], 4 * counts[k])
        self.edges = self._edges(self.edges, lines[0].total.laws, wanted)
        self._cells = [self._cut(k, x) for k, x in enumerate(self.edges)]

    def _restart(self) -> None:
        self.edges = list(self.first)
        self._cells = self._first_cells
        self._local, self._v = None, 0.0
        self._room = remaining()

    def _share(self) -> metered:
        """A limit for one round: half of what was left when this question began stays for others."""
        most = remaining() - 0.5 * self._room if self._room < math.inf else math.inf
        return metered(max(most, 0.0))

    # -- questions ---------------------------------------------------------------------------

    def chernoff_epsilon(self, log_delta: float) -> float:
        """An epsilon that is enough, by the coarse measure above; inf where none is found."""
        if self._known is not None:
            return math.inf
        spare = self.coarse.decisive[3] + self.coarse.dropped
        if spare >= 0.5 * math.exp(log_delta):
            return math.inf
        target = log_delta + math.log1p(-spare * math.exp(-log_delta)) if spare > 0.0 else log_delta
        with np.errstate(invalid="ignore"):
            found = (self.coarse.chernoff(_TILTS) - target) / _TILTS
        return float(np.nanmin(found)) * (1.0 + 1e-12) + self._pad()

    def chernoff(self, epsilons: Floats) -> Floats:
        """log delta at most, by the coarse measure above."""
        if self._known is not None:
            return np.zeros(epsilons.shape)
        bound = (self.coarse.chernoff(_TILTS)[:, None] - np.multiply.outer(_TILTS, epsilons)).min(
            axis=0
        )
        spare = self.coarse.decisive[3] + self.coarse.dropped
        bound = bound + self._pad()
        if spare > 0.0:
            bound = np.logaddexp(bound, math.log(spare))
        return np.asarray(np.minimum(bound, 0.0))

    def _pad(self) -> float:
        """Rounding of log moments: 100u a step."""
        return 1e-12 + 1.2e-14 * self.steps

    @cached_property
    def largest(self) -> float:
        """The largest sum of losses; inf where some loss has no known end."""
        if self.square > 0.0:
            return math.inf
        if self._known is not None:
            return float(self.kinds[0][0].ceiling)
        most = 0.0
        for (source, count), (pieces, _) in zip(self.kinds, self._first_cells, strict=True):
            highest = float((pieces.high + pieces.slip).max(initial=-math.inf))
            if highest == math.inf:  # a ceiling is right to e^x of a float x: 700 units of it
                highest = source.ceiling + 1e-12 * abs(source.ceiling)
            most += count * highest
        return most + 1e-14 * abs(most) + 1e-300

    def _near(self, epsilon: float, log_delta: float) -> float:
        """An epsilon with a delta like the one asked, from one above it, by coarse contours."""
        low, high = 0.0, epsilon
        for _ in range(25):
            self._steepest = 200.0 / epsilon
            self._local, self._v = None, 0.0
            line = self._lines(epsilon, log_delta, lambda c: 0.1, both=False)[0]
            off = max(line.log_delta(epsilon), -1e300) - log_delta
            if abs(off) < 2.5 or high < 1.02 * low:
                break
            low, high = (epsilon, high) if off > 0.0 else (low, epsilon)
            epsilon = math.sqrt(low * high) if low > 0.0 else 0.4 * high
        return epsilon

    def epsilon(
        self, log_delta: float, width: float, floor: float = 0.0, beaten: float = -math.inf
    ) -> tuple[float, float]:
        """The bracket of the least epsilon >= floor with log delta at most this.

        Ends early where it lies below `beaten`. `width` is relative to epsilon - floor.
        """
        self._restart()
        # surely enough: Chernoff's epsilon, or all losses; inf where neither tells
        most = max(min(self.chernoff_epsilon(log_delta), self.largest), floor)
        low, high = floor, math.inf
        if most <= beaten:
            return floor, most
        epsilon = max(most, floor + 1e-9) if most < math.inf else max(floor, 0.0) + 10.0
        try:
            if floor < beaten < epsilon:
                first = self._lines(beaten, log_delta, lambda c: 0.1, both=False)[0]
                if first.log_delta(beaten) <= log_delta:
                    return floor, beaten
                self._local, self._v = None, 0.0
            epsilon = max(self._near(epsilon, log_delta), floor) if epsilon > 0.0 else epsilon
        except Expensive:
            return floor, most
        plan = (*_COARSE_EPSILON, *(share * width for share in _FINER))
        for turn, aim in enumerate(plan):
            size = max(epsilon - floor, 1e-12)
            self._steepest = 10.0 / (aim * size)
            try:
                with self._share():
                    lines = self._lines(epsilon, log_delta, partial(mul, aim * size))
            except (Expensive, Overspent):
                if high == math.inf:
                    return floor, most
                break
            end = crossing(lines[0], epsilon, log_delta, floor, _TIGHT * min(1.0, width / 2e-5))
            if min(end, high, most) == math.inf:
                epsilon, self._local = 1.15 * epsilon + 1e-9, None
                continue
            high = min(high, end, most)
            low = max(
                low, crossing(lines[1], epsilon, log_delta, floor, _TIGHT * min(1.0, width / 2e-5))
            )
            if high - low <= width * (high - floor) or high <= beaten:
                break
            if high < math.inf:
                epsilon = 0.5 * (low + high) if low - floor > 0.3 * (high - floor) else high
            gaps = self._gaps(lines, epsilon, log_delta)
            following = plan[turn + 1] if turn + 1 < len(plan) else width
            goal = lines[0].local(epsilon)[0] * following * max(epsilon - floor, 1e-12)
            try:
                with self._share():
                    self._refine(lines, gaps, goal)
            except Overspent:
                break
        return min(low, high), high

    def delta(
        self, epsilon: float, width: float, beaten: float = -math.inf
    ) -> tuple[float, float, tuple[Line, Line] | None]:
        """The bracket of log delta at epsilon, and its last contours."""
        self._restart()
        if not math.isnan(_TARGET.get()):
            # a parameter moves log delta by about score^2 = -2 log delta of its own relative change
            width = max(width, _OF_A_PARAMETER * -2.0 * _TARGET.get())
        most = float(self.chernoff(np.array([epsilon]))[0])
        low, high = -math.inf, most
        if epsilon >= self.largest:
            return -math.inf, -math.inf, None
        log_delta = most - 2.0
        pair = None
        plan = (*_COARSE_DELTA, *(share * width for share in _FINER))
        for turn, aim in enumerate(plan):
            try:
                with self._share():
                    lines = self._lines(epsilon, log_delta, partial(_same, aim))
            except (Expensive, Overspent):
                break
            pair = lines
            high, low = (
                min(high, lines[0].log_delta(epsilon)),
                max(low, lines[1].log_delta(epsilon)),
            )
            enough = max(width, _enough(low, high))
            if high - low <= enough or high <= beaten:
                break
            log_delta = max(low, high - 2.3)
            gaps = self._gaps(lines, epsilon, log_delta)
            following = plan[turn + 1] if turn + 1 < len(plan) else width
            try:
                with self._share():
                    self._refine(lines, gaps, max(following, 0.5 * enough))
            except Overspent:
                break
        return min(low, high), high, pair


def _same(goal: float, slope: float) -> float:
    """A width of log delta, whatever the slope."""
    return goal


_TILTS = np.geomspace(1e-2, 3e4, 60)


def crossing(line: Line, guess: float, log_delta: float, floor: float, tight: float) -> float:
    """The epsilon >= floor at which the line's end of delta is the target, on the safe side of the root.

    Above: inf where no such place is found; below: the floor. Secants within a bracket.
    """

    def off(epsilon: float) -> float:
        return max(line.log_delta(epsilon), -1e6) - log_delta

    low = high = guess = max(guess, floor)
    above = below = off(guess)
    step = min(max(1.3 * abs(above), 1e-5), 1.0) / max(line.c, 1e-3)
    for _ in range(40):
        if above > 0.0 >= below:
            break
        if below > 0.0:
            low, above, high = high, below, high + step
            below = off(high)
        elif low <= floor:
            return floor
        else:
            high, below, low = low, above, max(low - step, floor)
            above = off(low)
        step *= 2.0
    else:
        return math.inf if line.sign > 0 else low if above > 0.0 else floor
    for _ in range(60):
        if high - low <= tight * max(high - floor, 1e-300):
            break
        share = above / (above - below)
        # a little beyond the secant's root, so that the next place is likely on its other side
        share += math.copysign(0.02, 0.5 - share) * min(1.0, 10.0 * min(share, 1.0 - share))
        middle = low + (high - low) * min(max(share, 0.003), 0.997)
        if not low < middle < high:
            break
        value = off(middle)
        if value > 0.0:
            low, above = middle, value
        else:
            high, below = middle, value
    return high if line.sign > 0 else low

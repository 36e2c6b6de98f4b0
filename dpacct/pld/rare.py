"""Low sampling: delta of few large losses among many small ones, by how many large ones there are.

Losses of a step are cut sharply at a level a into common ones, at most a, and jumps. With k jumps in T
steps

    delta(eps) = sum_k binom(T, k) E[H_k(eps - S_{T-k})],    S_n the sum of n common losses,
    H_0(y) = (1 - e^y)_+,    H_k(y) = E[H_{k-1}(y - L); L > a].

 * H_1 is the profile of one release. H_k is linear in e^y below k a, and analytic above, where all but
   the last jump lie surely beyond (closed) or one of them does not (an integral). In y - (k-1) a that
   integral has the same nodes for all k.
 * E[H_k(eps - S)] is a Gauss rule of a few nodes, made from the cumulants of S tilted by the slope of
   log H. Where tables of H_k would have to reach far, a contour counts k jumps instead.
 * k = 0 is bounded by Chernoff and left out; or, where common losses reach eps together, a is put beyond
   eps, so that jumps are linear, and contours tell the rest (rare_sums.py).

Everything is positive, and carried in logs. What is left out is charged to the upper end, what a rule may
be off by to both.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy.special import ndtri_exp

from .interval import Interval
from .lines import ContourLine
from .loss import LossDistribution
from .moments import SummedMoments
from .rare_law import Counted, SampledLaw, log_of_any, near
from .rare_sums import (
    MOST,
    TOLERANCE,
    GaussRule,
    Index,
    Jumps,
    ScaledCumulants,
    cumulants,
    gauss_rule,
    line,
    lines,
    log_sum,
)
from .saddle import Saddle, guess_for_epsilon
from .stable import TooFine, quiet

# levels of jumps, as parts of epsilon, in the order in which they are tried
_LEVELS = (0.3, 0.15, 0.08, 0.05, 0.03, 0.02, 0.012)
# nats below the leading term at which others are left out, and charged
_NEGLIGIBLE = 28.0
_GAUSS = 8
_MOST_JUMPS = 150
# relative error of delta granted to every answer: logs and their sums round, and so do rates and epsilons
_GRANTED = 5e-12
_FEW_NODES = 1024  # of a line for one way in which several laws share the jumps
# reach of the tables of several jumps up to which they cost less than lines
_SHORT = 12.0
# what the rounding of rates, scales and sums over all steps may do to epsilon, relative
_INPUTS = 1e-12
# relative error above which an expansion is no answer, and up to which nothing better is looked for
_USABLE, _GOOD = 1e-6, 3e-10
# skewness of tilted common losses up to which many small ones lead, and a line tells them
_SKEWED = 0.1
# nats by which the saddle point's estimate may be below Chernoff's bound less one
_SHARING = 10.0
# how much a level is above epsilon, in deviations, as it is tried
_DEVIATIONS = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.5, 7.0, 9.0])
# times the tilt of one jump, about which common losses alone are bounded, and at which tilts around that
_STEEPEST, _FAN = 12.0, np.geomspace(0.001, 3.9, 28)
# a tilt of common losses, over one epsilon, and how much larger or smaller it may be
_AROUND, _TILTS = 1000.0, np.geomspace(5e-5, 4.0, 36)


@dataclass(frozen=True)
class Reading:
    """log delta, -d log delta / d eps, the relative error of both, and log of what an upper end adds."""

    log_delta: float
    slope: float
    error: float
    left_out: float

    @property
    def interval(self) -> Interval:
        """log delta and its ends."""
        if not self.error < 1.0:
            return Interval.about(self.log_delta, math.inf)
        lower = self.log_delta + math.log1p(-self.error)
        upper = float(np.logaddexp(self.log_delta + math.log1p(self.error), self.left_out))
        return Interval(min(self.log_delta, 0.0), lower, min(upper, 0.0))


_NOTHING = Reading(-math.inf, 1.0, math.inf, 0.0)


# -- the answer ------------------------------------------------------------------------------------


def slope_of_one(laws: Counted, y: float) -> float:
    """-d/dy log of the sum of the profiles of single steps: under this tilt one jump falls neither way."""
    log_h, log_d = (log_of_any(laws, part, y) for part in (SampledLaw.log_h, SampledLaw.log_d))
    return math.exp(min(log_d - log_h, 600.0)) if log_h > -math.inf else math.inf


def common(laws: Counted, epsilon: float) -> list[tuple[LossDistribution, float]]:
    """Losses that hardly ever are all below this, or of which a third of epsilon is made."""
    rare = math.log(3.0 * sum(n for _, n in laws))
    return [
        (
            law.near(
                max(epsilon / 3.0, float(law.loss(np.minimum(-ndtri_exp(-rare), law.branch.high))))
            ),
            n,
        )
        for law, n in laws
    ]


def rough(laws: Counted, epsilon: float, tilt: float = 0.0) -> float:
    """About log delta: one large jump, or (by Chernoff) common losses alone; `tilt` as of `_leading`."""
    jump, alone, _ = _leading(laws, epsilon, tilt)
    return float(np.logaddexp(jump, alone - 1.0))


def _leading(
    laws: Counted, epsilon: float, tilt: float = 0.0
) -> tuple[float, float, Saddle | None]:
    """log delta of one large jump, a bound of that of common losses alone, and what that was read from.

    `tilt`: that of what is much like it, or 0.
    """
    jump, slope = log_of_any(laws, SampledLaw.log_h, epsilon), slope_of_one(laws, epsilon)
    try:
        start = tilt or _STEEPEST * min(slope, 1e280)
        saddle = Saddle(common(laws, epsilon), start, warm=True, by_loss=True)
        return jump, _alone(saddle, epsilon, jump - _NEGLIGIBLE), saddle
    except TooFine:
        return jump, -math.inf, None


def _alone(saddle: Saddle, epsilon: float, little: float) -> float:
    """Chernoff's bound, at some tilts, of what common losses do alone; at few if that is so little."""
    if sum(n * law.range[1] for law, n in saddle.parts) <= epsilon:
        return -math.inf
    bound = math.inf
    for fan in (_FAN[6::6], _FAN):
        if not bound < little:
            bound = float(np.fmin.reduce(saddle.rough(saddle.start * fan).bound(epsilon)))
    return bound


@dataclass
class Expansion:
    """delta near one epsilon: levels, tilt and rules chosen once, then read at any epsilon close by."""

    laws: Counted
    level: float
    tilt: float
    top: float
    near: list[tuple[LossDistribution, float]]
    left_out: float  # log of what is bounded and not computed
    contours: list[ContourLine] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._rules: dict[Index, GaussRule] = {}
        self._lines: dict[Index, tuple[ContourLine, float]] = {}  # with the log of what it counts
        self._tabled = False

    @cached_property
    def _each(self) -> list[ScaledCumulants]:
        """Cumulants of the common losses, tilted."""
        return [
            cumulants(
                SummedMoments(law, self.tilt, self.tilt, by_loss=True).fine(self.tilt), 2 * _GAUSS
            )
            for law, _ in self.near
        ]

    @cached_property
    def _jumps(self) -> Jumps:
        return Jumps([law for law, _ in self.laws], self.level, self.top)

    @cached_property
    def _ever(self) -> float:
        """Log of a bound of the probability that any loss is above the level."""
        beyond = sum(n * law.infinite for law, n in self.near)
        return math.log(beyond) if beyond > 0.0 else -math.inf

    @property
    def span(self) -> float:
        """The length of the tables of several jumps along the axis of the noise."""
        return self._jumps.span

    def _rule(self, k: Index) -> GaussRule:
        if k not in self._rules:
            parts = [
                (summand, n - j)
                for summand, (_, n), j in zip(self._each, self.laws, k, strict=True)
            ]
            self._rules[k] = gauss_rule(parts, _GAUSS)
        return self._rules[k]

    def _term(self, k: Index, epsilon: float) -> tuple[float, float, float]:
        """log of a term, log of minus its derivative, and its relative error."""
        if sum(k) > 2 and self.span > _SHORT and not self._tabled:
            try:
                return self._by_line(k, epsilon)
            except TooFine:
                if len(self.laws) > 1:
                    raise  # as many tables as there are ways to share the jumps
                self._tabled = True
        count = self._log_ways(k)
        for (_, n), j, summand in zip(self.laws, k, self._each, strict=True):
            count += (n - j) * summand.log
        rule = self._rule(k)
        nodes = np.concatenate((rule.nodes, rule.rough_nodes))
        h, d, error = self._jumps.read(k, epsilon - nodes)
        size = rule.nodes.size
        weights = rule.log_weights - self.tilt * rule.nodes
        value = float(log_sum(weights + h[:size]))
        if value == -math.inf:
            return -math.inf, -math.inf, 0.0
        less = float(log_sum(rule.rough_log_weights - self.tilt * rule.rough_nodes + h[size:]))
        return (
            count + value,
            count + float(log_sum(weights + d[:size])),
            abs(math.expm1(less - value)) + error,
        )

    def _log_ways(self, k: Index) -> float:
        """log of the number of ways to choose the steps that jump."""
        return sum(
            sum(math.log(n - i) for i in range(j)) - math.lgamma(j + 1.0)
            for (_, n), j in zip(self.laws, k, strict=True)
        )

    def _by_line(self, k: Index, epsilon: float) -> tuple[float, float, float]:
        """Integrate so many jumps along a contour, up to the top, as losses beyond it are charged."""
        if k not in self._lines:
            jumps = [
                (*law.between(self.level, self.top), j)
                for (law, _), j in zip(self.laws, k, strict=True)
                if j
            ]
            parts = [(law, n - j) for (law, n), j in zip(self.near, k, strict=True) if n > j]
            parts += [(law, float(j)) for law, _, j in jumps]
            log_masses = sum(j * log_mass for _, log_mass, j in jumps)
            saddle = Saddle(parts, self.tilt / sum(k), warm=True, by_loss=True, tolerance=TOLERANCE)
            most = MOST if len(self.laws) == 1 else _FEW_NODES  # of several there are many ways
            path = line(saddle, epsilon, most=most)
            self._lines[k] = path, self._log_ways(k) + log_masses
        path, log_factor = self._lines[k]
        log, slope, error = _read(path, epsilon)
        return log_factor + log, log_factor + slope, error

    def _indices(self, total: int) -> Iterator[Index]:
        """All ways to have so many jumps of the laws together."""
        for bars in itertools.combinations(range(total + len(self.laws) - 1), len(self.laws) - 1):
            ends = (-1, *bars, total + len(self.laws) - 1)
            k = tuple(b - a - 1 for a, b in itertools.pairwise(ends))
            if all(j <= n for j, (_, n) in zip(k, self.laws, strict=True)):
                yield k

    def read(self, epsilon: float) -> Reading:
        """delta at this epsilon."""
        parts = [_read(line, epsilon) for line in self.contours]
        by_count: list[float] = []
        steps = sum(n for _, n in self.laws)
        left_out = self.left_out
        lead = max((log for log, _, _ in parts), default=-math.inf)
        if self._ever < lead - _NEGLIGIBLE - 2.0:  # no jump, however many
            left_out, steps = float(np.logaddexp(left_out, self._ever)), 0.0
        for total in range(1, int(min(_MOST_JUMPS, steps)) + 1):
            terms = [self._term(k, epsilon) for k in self._indices(total)]
            parts += terms
            by_count.append(float(np.logaddexp.reduce([log for log, _, _ in terms])))
            if by_count[-1] == -math.inf:  # no losses beyond the level
                break
            best = max(log for log, _, _ in parts)
            if total >= 2 and by_count[-1] < best - _NEGLIGIBLE and by_count[-1] < by_count[-2]:
                fall = by_count[-1] - by_count[-2]  # and faster from here on
                rest = by_count[-1] + fall - math.log(-math.expm1(fall))
                left_out = float(np.logaddexp(left_out, rest))
                break
        else:
            if steps > _MOST_JUMPS:
                return _NOTHING
        logs, slopes, errors = (np.array(part) for part in zip(*parts, strict=True))
        whole = float(np.logaddexp.reduce(logs))
        if not math.isfinite(whole):
            return _NOTHING
        shares = np.exp(logs - whole)
        kept = shares > 0.0
        error = float(shares[kept] @ errors[kept]) + _GRANTED
        slope = math.exp(float(np.logaddexp.reduce(slopes)) - whole)
        return Reading(whole, slope, error + 4e-16 * (slope * epsilon + abs(whole)), left_out)


def _read(line: ContourLine, epsilon: float) -> tuple[float, float, float]:
    """log of what a line tells, log of minus its derivative, and the relative error."""
    value, slope, error = line.read(epsilon)
    if not error < math.inf:
        raise TooFine
    return value, value + math.log(-slope), error


def by_jumps(
    laws: Counted, epsilon: float, levels: Sequence[float], tilt: float | None = None
) -> Expansion | None:
    """An expansion whose common losses cannot reach epsilon by themselves; None where they can."""
    y, c = epsilon, tilt or slope_of_one(laws, epsilon)
    steps = sum(n for _, n in laws)
    for part in levels:
        a = min(part * max(y, epsilon), 16.0 * part / c)
        if steps <= 40 and part == _LEVELS[-1]:
            a = min(a, epsilon / steps)
        if not 0.0 < a < math.inf:
            return None
        parts = near(laws, a)
        saddle = Saddle(parts, _STEEPEST * c, warm=True, by_loss=True)
        for _ in range(3):
            total = saddle.rough(np.array([c]))
            y = max(epsilon - float(total.mean[0]), 0.2 * epsilon)
            c = tilt or slope_of_one(laws, y)
        jumps = math.exp(min(log_of_any(laws, SampledLaw.log_d, a), 700.0))
        mean, deviation = float(total.mean[0]), math.sqrt(float(total.variance[0]))
        if y <= 0.2 * epsilon or c * deviation > 3.0 or jumps > 60.0:
            continue  # the common losses do most of it
        top = 1.02 * max(epsilon - mean + 12.0 * deviation, epsilon)
        if any(top >= law.largest for law, _ in laws):
            return None  # sums of largest losses, which have mass by themselves, are kinks
        jump = log_of_any(laws, SampledLaw.log_h, y) + float(total.log_moment[0]) - c * mean
        alone = _alone(saddle, epsilon, jump - _NEGLIGIBLE)
        if alone < jump - _NEGLIGIBLE:
            return Expansion(laws, a, c, top, parts, alone)
    return None


def by_lines(laws: Counted, epsilon: float, tilt: float = 0.0) -> Expansion | None:
    """Contours for common losses, farther jumps in closed form; None where no contour tells.

    `tilt`: of a line that told what is much like it, or 0.
    """
    guess = min(slope_of_one(laws, epsilon), 1e280)
    level = 1.2 * epsilon + 0.2 * max(law.rate for law, _ in laws)
    parts = near(laws, level)
    variance = sum(n * law.variance for law, n in parts)
    mean = 0.5 * variance + sum(n * (law.lost - law.infinite) for law, n in parts)
    deviation = math.sqrt(variance)
    about = rough(laws, epsilon, tilt)
    # beyond a jump > level the others have to lose so many deviations
    levels = 1.02 * epsilon + np.maximum(_DEVIATIONS * deviation - mean, 0.0)
    beyond = np.logaddexp.reduce([math.log(n) + law.log_d(levels) for law, n in laws])
    beyond -= 0.5 * _DEVIATIONS**2 + np.log(2.0 + 2.5 * _DEVIATIONS)
    little = (beyond < about - _NEGLIGIBLE - 2.0).nonzero()[0]
    level = max(float(levels[little[0] if little.size else -1]), 1e-290)
    if any(law.masses and level >= law.largest for law, _ in laws):
        return None  # beside the mass of the largest loss |M| comes back, beyond where a line ends
    try:
        parts = near(laws, level)
        contours, left_out = lines(
            laws, parts, level, epsilon, guess, tilt or guess, about, _NEGLIGIBLE
        )
    except TooFine:
        return None
    return Expansion(laws, level, 0.0, level, parts, left_out, contours)


def _good(expansion: Expansion | None, epsilon: float, most: float = _GOOD) -> Reading | None:
    if expansion is None:
        return None
    try:
        reading = expansion.read(epsilon)
    except TooFine:
        return None
    ends = reading.interval
    return reading if reading.error < most and ends.upper - ends.lower < 10.0 * most else None


def expanded(laws: Counted, epsilon: float, tilt: float = 0.0) -> tuple[Expansion, Reading]:
    """The jumps where few do; else lines; else many jumps. Raises `TooFine`.

    `tilt`: of a line that told what is much like it: then lines come first.
    """
    bulk = by_lines(laws, epsilon, tilt) if tilt else None
    result = _good(bulk, epsilon)
    if bulk is not None and result is not None:
        return bulk, result
    few = by_jumps(laws, epsilon, _LEVELS[:3])
    if few is not None and few.span > _SHORT:  # tables that long take time: lines first
        wide, few = few, None
    else:
        wide = None
    reading = _good(few, epsilon)
    if few is not None and reading is not None and reading.slope > 0.4 * few.tilt:
        return few, reading
    bulk = by_lines(laws, epsilon)
    result = _good(bulk, epsilon)
    if bulk is not None and result is not None:
        return bulk, result
    if wide is not None:
        few, reading = wide, _good(wide, epsilon)
        if reading is not None:
            return wide, reading
    best = [
        (x, r)
        for x, r in ((few, reading), (bulk, _good(bulk, epsilon, _USABLE)))
        if x is not None and r is not None
    ]
    tries: list[tuple[Sequence[float], float | None]] = [(_LEVELS, None)]
    if reading is not None:  # several jumps share epsilon: the tilt is less
        tries.insert(0, (_LEVELS[:3], reading.slope))
    for levels, c in tries:
        many = by_jumps(laws, epsilon, levels, c)
        read = _good(many, epsilon, _USABLE)
        if many is not None and read is not None:
            best.append((many, read))
            if read.error < _GOOD:
                break
    if not best:
        raise TooFine
    return min(best, key=lambda pair: pair[1].error)


def _backwards(laws: Counted, epsilon: float) -> Saddle:
    """Minus the losses under Q, of the pairs with sides exchanged.

    A step that loses more than all the others can give back ends below epsilon, whatever it loses.
    """
    room = max(-1.001 * (sum(n * law.least for law, n in laws) + epsilon), 1e-290)
    parts = [(law.reversed(), n) for law, n in near(laws, room)]
    return Saddle(
        parts, guess_for_epsilon(parts, epsilon), warm=True, by_loss=True, tolerance=TOLERANCE
    )


# log delta below which a root is read again, and by how much it may differ
_DEEP, _AGAIN = -69.0, 1e-6


class RareQuestion:
    """delta of one direction at any epsilons: what was made for one is used for those close by."""

    def __init__(self, laws: Counted, reverse: bool = False) -> None:
        self.laws, self.reverse = laws, reverse
        self._made: Expansion | ContourLine | None = None
        self._near = (math.inf, -math.inf)
        self._back: tuple[float, Saddle] | None = None

    @property
    def top(self) -> float:
        """The largest sum of losses."""
        if self.reverse:
            return -sum(n * law.least for law, n in self.laws)
        return sum(n * law.largest for law, n in self.laws)

    @quiet()
    def read(self, epsilon: float, tilt: float = 0.0) -> Reading:
        """delta at epsilon. Raises `TooFine`. `tilt`: of a line that told what is much like it, or 0."""
        if epsilon >= self.top:
            return Reading(-math.inf, 0.0, 0.0, -math.inf)
        if not self.reverse and any(1.05 * epsilon >= law.largest for law, _ in self.laws):
            raise TooFine  # sums of largest losses, which have mass by themselves, are kinks
        if self._near[0] <= epsilon <= self._near[1] and self._made is not None:
            result = self._reading(self._made, epsilon)
            if result.error < _GOOD:
                return result
        if self.reverse:
            self._made = path = line(self._backwards(epsilon), epsilon)
            contours, result, most = [path], self._reading(path, epsilon), math.inf
        else:
            self._made, result = expanded(self.laws, epsilon, tilt)
            contours, most = self._made.contours, 0.02 * epsilon  # its level is for this epsilon
        wide = min(
            (0.5 * math.sqrt(path.total.curvature) for path in contours), default=0.01 * epsilon
        )
        self._near = epsilon - wide, epsilon + min(wide, most)
        return result

    @staticmethod
    def _reading(made: Expansion | ContourLine, epsilon: float) -> Reading:
        if isinstance(made, Expansion):
            return made.read(epsilon)
        log, slope, error = made.read(epsilon)
        return Reading(log, -slope, error + _GRANTED, -math.inf)

    @quiet()
    def log_delta(self, epsilon: float, tilt: float = 0.0) -> Interval | None:
        """log delta at epsilon, with the tilt of a line if one told it; None where nothing tells."""
        try:
            result = self.read(epsilon, tilt).interval
        except ArithmeticError:
            return None
        contours = self._made.contours if isinstance(self._made, Expansion) else []
        return replace(result, tilt=contours[0].total.c) if contours else result

    def _backwards(self, epsilon: float) -> Saddle:
        if self._back is None or self._back[0] != epsilon:
            self._back = epsilon, _backwards(self.laws, epsilon)
        return self._back[1]

    @quiet()
    def bound(self, epsilon: float) -> float:
        """log delta is at most this, by Chernoff where sides are exchanged; 0 where nothing tells."""
        try:
            return min(0.0, self._backwards(epsilon).bound(epsilon)) if self.reverse else 0.0
        except ArithmeticError:
            return 0.0

    def surely_below(self, log_target: float, epsilon: float) -> bool:
        """Return whether delta(epsilon) is shown to be below e^log_target."""
        if epsilon >= self.top or self.bound(epsilon) < log_target - 1e-9:
            return True
        log_delta = self.log_delta(epsilon)
        return log_delta is not None and log_delta.upper < log_target

    @quiet()
    def estimate(self, epsilon: float, tilt: float = 0.0) -> tuple[float, float]:
        """About log delta, and the tilt of a line that tells it, or 0; NaN where nothing does.

        `tilt`: that of what is much like it, or 0.
        """
        if epsilon >= self.top:
            return -math.inf, 0.0
        try:
            if self.reverse:
                back = self._backwards(epsilon)
                return min(0.0, back.estimate(back.near_epsilon(epsilon)[0], epsilon)), 0.0
            jump, alone, saddle = _leading(self.laws, epsilon, tilt)
            alone, tilt = alone - 1.0, 0.0
            if saddle is not None and alone > jump - _NEGLIGIBLE:
                c, _ = saddle.near_epsilon(epsilon)
                refined = min(alone + 1.0, saddle.estimate(c, epsilon))
                # far below, the bound's tilts ended early: several jumps share epsilon, and it is the better
                if refined > alone - _SHARING:
                    alone, tilt = refined, c if refined > jump else 0.0
            return min(0.0, float(np.logaddexp(jump, alone))), tilt
        except ArithmeticError:
            return math.nan, 0.0

    def guess(self, log_target: float) -> tuple[float, float]:
        """About the epsilon for this log delta: of one jump, or of common losses, and their tilt or 0."""
        lowest = 1e-6 * min(law.rate for law, _ in self.laws)
        highest = max(
            float(law.loss(np.array(min(law.branch.high, 40.0 + law.branch.slope))))
            for law, _ in self.laws
        )
        for _ in range(3):
            at = np.geomspace(lowest, highest, 32)
            value = np.logaddexp.reduce([math.log(n) + law.log_h(at) for law, n in self.laws])
            met = value <= log_target
            first = int(np.argmax(met)) if met.any() else at.size - 1
            lowest, highest = float(at[max(first - 1, 0)]), float(at[first])
        best, common_lead = highest, None
        for _ in range(2):
            parts = common(self.laws, best)
            spread = math.sqrt(sum(n * law.variance for law, n in parts))
            saddle = Saddle(parts, _AROUND / max(best, spread), warm=True, by_loss=True)
            value = saddle.least_epsilon(log_target, _TILTS)
            if not value > 1.02 * best:
                break
            best, common_lead = value, saddle
        if common_lead is not None:
            with suppress(TooFine):  # Chernoff's is some nats above
                tilt, value, skewness = common_lead.near_log_delta(log_target)
                if abs(skewness) < _SKEWED:
                    return max(highest, value), tilt
        return best, 0.0

    @quiet()
    def epsilon(self, log_target: float) -> Interval | None:
        """The epsilon >= 0 at which delta is the target; None where nothing tells."""
        try:
            result = self._solve(log_target)
        except ArithmeticError:
            return None
        if log_target < _DEEP and result.lower > 0.0:
            # so deep the tilt of a guess may miss part of delta: a question of its own decides
            again = RareQuestion(self.laws, reverse=self.reverse).log_delta(result.value)
            if again is None or not abs(again.value - log_target) < _AGAIN:
                return None
        return result

    def _solve(self, log_target: float) -> Interval:
        # total variation: at most the sum of those of the steps
        if log_of_any(self.laws, SampledLaw.log_h, 0.0) < log_target - 1e-9:
            return Interval.about(0.0, 0.0)
        epsilon, tilt = self.guess(log_target)
        low, high = 0.0, self.top
        for _ in range(60):
            if not epsilon < high:
                epsilon = 0.5 * (low + high)
            reading = self.read(epsilon, tilt)
            gap = log_target - reading.log_delta
            low, high = (epsilon, high) if gap < 0.0 else (low, epsilon)
            if epsilon == 0.0 and gap > 0.0:
                upper = 0.0 if reading.interval.upper <= log_target else 1e-300
                return Interval(0.0, 0.0, upper)
            step = -gap / reading.slope if reading.slope > 0.0 else math.inf
            if abs(gap) < 1e-10 or abs(step) < 1e-13 * epsilon:
                ends, value = reading.interval, epsilon + step
                below, above = (
                    (abs(end - reading.log_delta) + gap * gap) / reading.slope + _INPUTS * epsilon
                    for end in (ends.lower, ends.upper)
                )
                return Interval(value, max(0.0, value - below), value + above)
            if step < 0.0 and epsilon + step < 1e-3 * epsilon and low == 0.0:
                least = 1e-9 * min(law.rate for law, _ in self.laws)
                new = 0.0 if epsilon < least else 1e-3 * epsilon
            elif epsilon > 0.0:
                new = epsilon * math.exp(max(-1.0, min(1.0, step / epsilon)))
            else:
                new = step
            if not low < new < high and new != 0.0:
                new = 0.5 * (low + high) if high < math.inf else 2.0 * low
            epsilon = new
        raise TooFine

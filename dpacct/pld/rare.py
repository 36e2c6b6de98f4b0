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
   eps, so that jumps are linear, and contours tell the rest (rare_line.py).

Everything is positive, and carried in logs. What is left out is charged to the upper end, what a rule may
be off by to both.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import ndtri_exp

from .rare_jumps import Index, Jumps, Rule, cumulants, gauss_rule, log_sum
from .rare_law import Array, SampledLaw
from .rare_line import Line, Sum, Unresolved, lines, started
from .stable import TooFine, log_peak

Counted = Sequence[tuple[SampledLaw, float]]

# levels of jumps, as parts of epsilon, in the order in which they are tried
_LEVELS = (0.3, 0.15, 0.08, 0.05, 0.03, 0.02, 0.012)
# nats below the leading term at which others are left out, and charged
_NEGLIGIBLE = 28.0
_GAUSS = 8
_MOST_JUMPS = 150
# relative error of delta granted to every answer: logs and their sums round, and so do rates and epsilons
_GRANTED = 5e-12
# reach of the tables of several jumps up to which they cost less than lines
_SHORT = 12.0
# relative error above which an expansion is no answer
_USABLE = 1e-6


_STEPS = np.linspace(0.0, 1.0, 32)
_TILTS = np.geomspace(0.05, 4000.0, 36)


def _spaced(low: float, high: float) -> Array:
    """Numbers from low to high, by a constant factor."""
    result: Array = low * np.exp((math.log(high) - math.log(low)) * _STEPS)
    return result


@dataclass(frozen=True)
class Reading:
    """log delta, -d log delta / d eps, the relative error of both, and log of what an upper end adds."""

    log_delta: float
    slope: float
    error: float
    left_out: float

    @property
    def ends(self) -> tuple[float, float]:
        """Lower and upper end of log delta."""
        if not self.error < 1.0:
            return -math.inf, 0.0
        lower = self.log_delta + math.log1p(-self.error)
        upper = float(np.logaddexp(self.log_delta + math.log1p(self.error), self.left_out))
        return lower, min(upper, 0.0)


_NOTHING = Reading(-math.inf, 1.0, math.inf, 0.0)


# -- the answer ------------------------------------------------------------------------------------


def slope_of_one(laws: Counted, y: float) -> float:
    """-d/dy log of the sum of the profiles of single steps: under this tilt one jump falls neither way."""
    at = np.array(y)
    log_h, log_d = (
        float(np.logaddexp.reduce([math.log(n) + float(part(law, at)) for law, n in laws]))
        for part in (SampledLaw.log_h, SampledLaw.log_d)
    )
    return math.exp(min(log_d - log_h, 600.0)) if log_h > -math.inf else math.inf


def chernoff(total: Sum, y: float, around: float) -> float:
    """log of min over c of A(c) e^{-c y} c^c / (1+c)^{1+c}: what the common losses do by themselves."""
    if sum(n * near.level for near, n in total.parts) <= y:
        return -math.inf
    c = _spaced(1e-4 * around, max(50.0 * around, 300.0 / max(y, 1e-300)))
    values = total.log_moments(c) - c * y + log_peak(c)
    return float(np.fmin.reduce(values))


def rough(laws: Counted, epsilon: float) -> float:
    """About log delta: one large jump, or (by Chernoff) common losses alone."""
    steps = sum(n for _, n in laws)
    one = float(
        np.logaddexp.reduce([math.log(n) + float(law.log_h(np.array(epsilon))) for law, n in laws])
    )
    rare = math.log(3.0 * steps)
    parts = []
    for law, n in laws:
        far = float(law.loss(np.minimum(-ndtri_exp(-rare), law.branch.high)))
        parts.append((law.near(max(epsilon / 3.0, far)), n))
    slope = slope_of_one(laws, epsilon)
    return float(np.logaddexp(one, chernoff(Sum(tuple(parts)), epsilon, min(slope, 1e280)) - 1.0))


@dataclass
class Expansion:
    """delta near one epsilon: levels, tilt and rules chosen once, then read at any epsilon close by."""

    laws: Counted
    level: float
    tilt: float
    top: float
    contours: list[Line] = field(default_factory=list)
    left_out: float = -math.inf
    """log of what is bounded and not computed."""
    near: Sum = field(init=False)
    _jumps: Jumps = field(init=False)

    def __post_init__(self) -> None:
        self.near = Sum(
            tuple((law.near(self.level, self.tilt, (1.0 + self.tilt,)), n) for law, n in self.laws)
        )
        self._one = [
            cumulants(near.moments(1.0 + self.tilt), 2 * _GAUSS) for near, _ in self.near.parts
        ]
        self._jumps = Jumps([law for law, _ in self.laws], self.level, self.top)
        self._rules: dict[Index, Rule] = {}
        self._lines: dict[Index, Line] = {}
        self._tabled = False

    @property
    def span(self) -> float:
        """How far the tables of several jumps reach along the axis of the noise."""
        return self._jumps.span

    @property
    def mean(self) -> float:
        """Of the sum of the common losses, tilted."""
        return sum(n * one.mean for one, (_, n) in zip(self._one, self.laws, strict=True))

    @property
    def deviation(self) -> float:
        """Of that sum."""
        parts = zip(self._one, self.laws, strict=True)
        return math.sqrt(max(sum(n * one.kappa[2] * one.scale**2 for one, (_, n) in parts), 0.0))

    def _rule(self, k: Index) -> Rule:
        if k not in self._rules:
            parts = [(one, n - j) for one, (_, n), j in zip(self._one, self.laws, k, strict=True)]
            self._rules[k] = gauss_rule(parts, _GAUSS)
        return self._rules[k]

    def _term(self, k: Index, epsilon: float) -> tuple[float, float, float]:
        """log of a term, log of minus its derivative, and its relative error."""
        if sum(k) > 2 and self.span > _SHORT and not self._tabled:
            try:
                return self._by_line(k, epsilon)
            except (Unresolved, TooFine):
                if len(self.laws) > 1:
                    raise  # as many tables as there are ways to share the jumps
                self._tabled = True
        count = 0.0
        for (_, n), j, one in zip(self.laws, k, self._one, strict=True):
            count += (
                sum(math.log(n - i) for i in range(j)) - math.lgamma(j + 1.0) + (n - j) * one.log
            )
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

    def _by_line(self, k: Index, epsilon: float) -> tuple[float, float, float]:
        """The same by a contour for so many jumps up to the top, as losses beyond it are charged."""
        log_count = sum(
            sum(math.log(n - i) for i in range(j)) - math.lgamma(j + 1.0)
            for (_, n), j in zip(self.laws, k, strict=True)
        )
        if k not in self._lines:
            parts = [
                (near, n - j) for (near, n), j in zip(self.near.parts, k, strict=True) if n > j
            ]
            parts += [
                (law.near(self.top, floor=self.level).above(self.level), float(j))
                for (law, _), j in zip(self.laws, k, strict=True)
                if j
            ]
            self._lines[k] = Line(Sum(tuple(parts)), epsilon, self.tilt / sum(k))
        log, slope, error = self._lines[k].read(epsilon)
        if not error < math.inf:
            raise Unresolved
        return log_count + log, log_count + slope, error

    def _indices(self, total: int) -> Iterator[Index]:
        """All ways to have so many jumps of the laws together."""
        for bars in itertools.combinations(range(total + len(self.laws) - 1), len(self.laws) - 1):
            ends = (-1, *bars, total + len(self.laws) - 1)
            k = tuple(b - a - 1 for a, b in itertools.pairwise(ends))
            if all(j <= n for j, (_, n) in zip(k, self.laws, strict=True)):
                yield k

    def read(self, epsilon: float) -> Reading:
        """delta at this epsilon."""
        parts = [line.read(epsilon) for line in self.contours]
        if any(not error < math.inf for _, _, error in parts):
            return _NOTHING
        by_count: list[float] = []
        steps = sum(n for _, n in self.laws)
        left_out = self.left_out
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
        total = Sum(tuple((law.near(a, c), n) for law, n in laws))
        for _ in range(3):
            moments = [near.moments(1.0 + c) for near, _ in total.parts]
            mean = sum(n * m[1] for m, (_, n) in zip(moments, laws, strict=True))
            y = max(epsilon - mean, 0.2 * epsilon)
            c = tilt or slope_of_one(laws, y)
        at = np.array(a)
        jumps = sum(n * math.exp(min(float(law.log_d(at)), 700.0)) for law, n in laws)
        deviation = math.sqrt(
            sum(n * float(m[2] @ (m[3] * m[3])) for m, (_, n) in zip(moments, laws, strict=True))
        )
        if y <= 0.2 * epsilon or c * deviation > 3.0 or jumps > 60.0:
            continue  # the common losses do most of it
        log_mass = sum(n * m[0] for m, (_, n) in zip(moments, laws, strict=True))
        one = float(
            np.logaddexp.reduce([math.log(n) + float(law.log_h(np.array(y))) for law, n in laws])
        )
        top = 1.02 * max(epsilon - mean + 12.0 * deviation, epsilon)
        if any(top >= law.largest for law, _ in laws):
            return None  # sums of largest losses, which have mass by themselves, are kinks
        left_out = chernoff(total, epsilon, c)
        if left_out < one + log_mass - c * mean - _NEGLIGIBLE:
            return Expansion(laws, a, c, top, left_out=left_out)
    return None


def by_lines(laws: Counted, epsilon: float) -> Expansion | None:
    """Contours for common losses, farther jumps in closed form; None where no contour tells."""
    common = Sum(tuple((law.near(1.2 * epsilon + 0.2 * law.rate), n) for law, n in laws))
    moments = [near.moments(1.0) for near, _ in common.parts]
    mean = sum(n * m[1] for m, (_, n) in zip(moments, laws, strict=True))
    deviation = math.sqrt(
        sum(n * float(m[2] @ (m[3] * m[3])) for m, (_, n) in zip(moments, laws, strict=True))
    )
    least = rough(laws, epsilon) - _NEGLIGIBLE - 2.0
    for m in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.5, 7.0, 9.0):
        # beyond a jump > level the others have to lose m deviations
        level = 1.02 * epsilon + max(m * deviation - mean, 0.0)
        beyond = float(
            np.logaddexp.reduce(
                [math.log(n) + float(law.log_d(np.array(level))) for law, n in laws]
            )
        )
        if beyond - 0.5 * m * m - math.log(2.0 + 2.5 * m) < least:
            break
    level = max(level, 1e-290)
    guess = min(slope_of_one(laws, epsilon), 1e280)
    near = Sum(tuple((law.near(level), n) for law, n in laws))
    try:
        contours, left_out = lines(near, epsilon, guess, _NEGLIGIBLE)
    except (Unresolved, TooFine):
        return None
    return Expansion(laws, level, 0.0, level, contours, left_out)


def _good(expansion: Expansion | None, epsilon: float, most: float) -> Reading | None:
    if expansion is None:
        return None
    try:
        reading = expansion.read(epsilon)
    except (Unresolved, TooFine):
        return None
    narrow = reading.error < most and reading.ends[1] - reading.ends[0] < 10.0 * most
    return reading if narrow else None


def expanded(laws: Counted, epsilon: float) -> tuple[Expansion, Reading]:
    """The jumps where few do; else lines; else many jumps. Raises `Unresolved`."""
    few = by_jumps(laws, epsilon, _LEVELS[:3])
    if few is not None and few.span > _SHORT:  # tables that long take time: lines first
        wide, few = few, None
    else:
        wide = None
    reading = _good(few, epsilon, 3e-10)
    if few is not None and reading is not None and reading.slope > 0.4 * few.tilt:
        return few, reading
    bulk = by_lines(laws, epsilon)
    result = _good(bulk, epsilon, 3e-10)
    if bulk is not None and result is not None:
        return bulk, result
    if wide is not None:
        few, reading = wide, _good(wide, epsilon, 3e-10)
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
    for levels, tilt in tries:
        many = by_jumps(laws, epsilon, levels, tilt)
        read = _good(many, epsilon, _USABLE)
        if many is not None and read is not None:
            best.append((many, read))
            if read.error < 3e-10:
                break
    if not best:
        raise Unresolved
    return min(best, key=lambda pair: pair[1].error)


def _backwards(laws: Counted, epsilon: float) -> tuple[Sum, float]:
    """Minus the losses under Q, of the pairs with sides exchanged, and about the tilt for epsilon.

    A step that loses more than all the others can give back ends below epsilon, whatever it loses.
    """
    room = -sum(n * law.least for law, n in laws) - epsilon
    near = Sum(tuple((law.near(max(1.001 * room, 1e-290)), n) for law, n in laws), reverse=True)
    moments = [(part.moments(0.0), n) for part, n in near.parts]
    deviation = max(math.sqrt(sum(n * float(m[2] @ (m[3] * m[3])) for m, n in moments)), 1e-290)
    guess = (max(epsilon + sum(n * m[1] for m, n in moments), 0.0) / deviation + 1.0) / deviation
    return near, guess


def backwards(laws: Counted, epsilon: float) -> Line:
    """delta of the pairs with their sides exchanged, by a line. Raises `Unresolved` or `TooFine`."""
    near, guess = _backwards(laws, epsilon)
    contours, _ = lines(near, epsilon, guess, _NEGLIGIBLE)
    return contours[0]


def bound_backwards(laws: Counted, epsilon: float) -> float:
    """log of an upper bound of that delta, by Chernoff at some tilts for which there is a rule."""
    near, guess = _backwards(laws, epsilon)
    c, near = started(near, 4.0 * guess, None)
    cs = c * np.geomspace(0.02, 1.0, 24)
    return min(0.0, float(np.fmin.reduce(near.log_moments(cs) + log_peak(cs) - cs * epsilon)))


class Question:
    """delta of one direction at any epsilons: what was made for one is used for those close by."""

    def __init__(self, laws: Counted, reverse: bool = False) -> None:
        self.laws, self.reverse = laws, reverse
        self._made: Expansion | Line | None = None
        self._at, self._near = math.nan, 0.0

    @property
    def top(self) -> float:
        """The largest sum of losses."""
        if self.reverse:
            return -sum(n * law.least for law, n in self.laws)
        return sum(n * law.largest for law, n in self.laws)

    def read(self, epsilon: float) -> Reading:
        """delta at epsilon. Raises `Unresolved` or `TooFine`."""
        if epsilon >= self.top:
            return Reading(-math.inf, 0.0, 0.0, -math.inf)
        if not self.reverse and any(1.05 * epsilon >= law.largest for law, _ in self.laws):
            raise Unresolved  # sums of largest losses, which have mass by themselves, are kinks
        if abs(epsilon - self._at) <= self._near and self._made is not None:
            result = self._reading(self._made, epsilon)
            if result.error < 3e-10:
                return result
        with np.errstate(all="ignore"):
            if self.reverse:
                self._made = line = backwards(self.laws, epsilon)
                result = self._reading(line, epsilon)
                self._near = 0.5 / line.width
            else:
                self._made, result = expanded(self.laws, epsilon)
                contours = self._made.contours
                self._near = (
                    min(0.5 / line.width for line in contours) if contours else 0.01 * epsilon
                )
        self._at = epsilon
        return result

    def surely_below(self, log_target: float, epsilon: float) -> bool:
        """Whether delta(epsilon) is shown to be below e^log_target; raises nothing."""
        if epsilon >= self.top:
            return True
        with np.errstate(all="ignore"):
            try:
                if self.bound(epsilon) < log_target - 1e-9:
                    return True
                return self.read(epsilon).ends[1] < log_target
            except (Unresolved, TooFine):
                return False

    def bound(self, epsilon: float) -> float:
        """log delta is at most this. Raises `TooFine`."""
        if not self.reverse:
            return 0.0
        with np.errstate(all="ignore"):
            return bound_backwards(self.laws, epsilon)

    @staticmethod
    def _reading(made: Expansion | Line, epsilon: float) -> Reading:
        if isinstance(made, Expansion):
            return made.read(epsilon)
        log, moment, error = made.read(epsilon)
        return Reading(log, math.exp(min(moment - log, 700.0)), error + _GRANTED, -math.inf)

    def rough(self, epsilon: float) -> float:
        """About log delta, smooth in the parameters of the laws. Raises `TooFine`."""
        if epsilon >= self.top:
            return -math.inf
        with np.errstate(all="ignore"):
            if self.reverse:
                return bound_backwards(self.laws, epsilon) - 1.0
            return rough(self.laws, epsilon)

    def guess(self, log_target: float) -> float:
        """About the epsilon for this log delta: that of one jump, or of the common losses by Chernoff."""
        lowest = 1e-6 * min(law.rate for law, _ in self.laws)
        highest = max(
            float(law.loss(np.array(min(law.branch.high, 40.0 + law.branch.slope))))
            for law, _ in self.laws
        )
        for _ in range(3):
            at = _spaced(lowest, highest)
            value = np.logaddexp.reduce([math.log(n) + law.log_h(at) for law, n in self.laws])
            first = (
                int(np.argmax(value <= log_target))
                if bool((value <= log_target).any())
                else _STEPS.size - 1
            )
            lowest, highest = float(at[max(first - 1, 0)]), float(at[first])
        return max(highest, self._by_chernoff(log_target, highest))

    def _by_chernoff(self, log_target: float, epsilon: float) -> float:
        """About the epsilon of common losses: min over c of (log A(c) + log peak(c) - log delta)/c."""
        steps = sum(n for _, n in self.laws)
        best = epsilon
        for _ in range(2):
            parts = []
            for law, n in self.laws:
                far = float(
                    law.loss(np.minimum(-ndtri_exp(-math.log(3.0 * steps)), law.branch.high))
                )
                parts.append((law.near(max(best / 3.0, far)), n))
            spread = math.sqrt(
                sum(n * float(near.w @ (near.losses * near.losses)) for near, n in parts)
            )
            c = _TILTS / max(best, spread)
            bounds = (Sum(tuple(parts)).log_moments(c) + log_peak(c) - 1.0 - log_target) / c
            value = float(np.fmin.reduce(bounds))
            if not value > 1.02 * best:
                break
            best = value
        return best

    def solve(self, log_target: float, guess: float | None = None) -> tuple[float, float, float]:
        """The epsilon >= 0 at which delta is the target, and ends of it. Raises `Unresolved` or `TooFine`."""
        with np.errstate(all="ignore"):
            at_zero = float(
                np.logaddexp.reduce(
                    [math.log(n) + float(law.log_h(np.array(0.0))) for law, n in self.laws]
                )
            )
            if (
                at_zero < log_target - 1e-9
            ):  # total variation: at most the sum of those of the steps
                return 0.0, 0.0, 0.0
            epsilon = guess if guess is not None else self.guess(log_target)
        low, high = 0.0, self.top
        for _ in range(60):
            if not epsilon < high:
                epsilon = 0.5 * (low + high)
            reading = self.read(epsilon)
            gap = log_target - reading.log_delta
            low, high = (epsilon, high) if gap < 0.0 else (low, epsilon)
            if epsilon == 0.0 and gap > 0.0:
                return (0.0, 0.0, 0.0) if reading.ends[1] <= log_target else (0.0, 0.0, 1e-300)
            step = -gap / reading.slope if reading.slope > 0.0 else math.inf
            if abs(gap) < 1e-10 or abs(step) < 1e-13 * epsilon:
                lower, upper = reading.ends
                error = 4e-16 * epsilon
                return (
                    epsilon + step,
                    max(
                        0.0,
                        epsilon
                        + step
                        - (reading.log_delta - lower + gap * gap) / reading.slope
                        - error,
                    ),
                    epsilon
                    + step
                    + (upper - reading.log_delta + gap * gap) / reading.slope
                    + error,
                )
            if step < 0.0 and epsilon + step < 1e-3 * epsilon and low == 0.0:
                new = (
                    0.0
                    if epsilon < 1e-9 * min(law.rate for law, _ in self.laws)
                    else 1e-3 * epsilon
                )
            else:
                new = (
                    epsilon * math.exp(max(-1.0, min(1.0, step / epsilon)))
                    if epsilon > 0.0
                    else step
                )
            if not low < new < high and new != 0.0:
                new = 0.5 * (low + high) if high < math.inf else 2.0 * low
            epsilon = new
        raise Unresolved

"""Compositions of grid laws: tilted, transformed and read as delta; every truncation and rounding is charged.

Masses are tilted by e^{cl}, c the saddle of log M(c) - c eps - log c(1+c), one transform a law, its
logarithm times the count, one transform back, in a window of losses that Chernoff's bound gives. So
delta = 1e-60 keeps its digits. With many steps all but a few low frequencies are nil: those are summed one by
one, and the lattice may be as long as it likes. docs/theory/bracket.md has each bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from .budget import MOST_TERMS, evaluated, laid_out, most_places, tabulated, transformed
from .grid import GridLaw, dot
from .roots import LOG, falls
from .saddle import Totals
from .spectrum import NIL, UNIT, Part, Spectrum, nil_from, transform
from .stable import Complexes, Floats, TooFine, log1p, log_peak

# -- where a tilted composition lives: its saddle, and a window by Chernoff -----------------------

Laws = Sequence[tuple[GridLaw, float]]
Sum = Totals[float]
"""Log moment, mean and variance of a composition of grid laws, tilted by c."""


def tilted_sum(laws: Laws, c: float) -> Sum:
    """The composition tilted by c."""
    log_moment = mean = variance = 0.0
    for law, count in laws:
        step = law.cumulants(c)
        log_moment += count * step.log_moment
        mean += count * step.mean
        variance += count * step.variance
    return Sum(c, log_moment, mean, variance)


LEAST_TILT, MOST_TILT = 1e-9, 1e12
"""Between which a saddle is looked for."""
# a gap, in nats, and logs of tilts that are as good as the saddle's: of both delta is flat to second order
_NO_GAP, _SAME_TILT = 1e-6, 1e-4


def saddle_for_epsilon(laws: Laws, epsilon: float, guess: float) -> Sum:
    """The tilt whose saddle epsilon is this one (clipped to a wide range): Newton in log c, safeguarded."""
    # in nats, so that small losses are distinguished
    return saddle(laws, guess, lambda total: total.c * (total.saddle_epsilon - epsilon))


def saddle_for_log_delta(laws: Laws, log_delta: float, guess: float) -> Sum:
    """The tilt at whose saddle epsilon delta is about e^log_delta."""
    return saddle(laws, guess, lambda total: log_delta - total.peak)


def saddle(laws: Laws, guess: float, gap: Callable[[Sum], float]) -> Sum:
    """The tilt where an increasing gap vanishes, about; clipped to a wide range."""
    last: list[tuple[Sum, float]] = []

    def fall(c: float) -> float:
        total = tilted_sum(laws, c)
        last[:] = [(total, gap(total))]
        return -last[0][1]

    def accepted(a: float, b: float) -> float:
        return math.inf if abs(last[0][1]) < _NO_GAP else _SAME_TILT

    start = min(max(guess, LEAST_TILT), MOST_TILT)
    falls(fall, start, -1.0, accepted, axis=LOG, low=LEAST_TILT, high=MOST_TILT, longest=1.0)
    return last[0][0]


@dataclass(frozen=True)
class Window:
    """Losses that hold almost all of a tilted composition, and the tilts that show it."""

    low: float
    high: float
    tilts: tuple[float, float]


def window(laws: Laws, total: Sum, log_tail: float) -> Window:
    """Losses outside which the tilted composition has at most e^log_tail at each end: Chernoff's bounds."""
    below, left = _reach(laws, total, log_tail, -1.0)
    above, right = _reach(laws, total, log_tail, 1.0)
    return Window(-below, above, (left, right))


def _reach(laws: Laws, total: Sum, log_tail: float, sign: float) -> tuple[float, float]:
    """The least (log M(c + sign x) - log M(c) - log_tail) / x over x > 0, and that x.

    It falls and rises in x once, so steps by a factor go down from where a normal law has its least.
    """
    most = float(sum(n * _extreme(law, sign) for law, n in laws))

    def bound(x: float) -> float:
        return (_log_moment(laws, total.c + sign * x) - total.log_moment - log_tail) / x

    # where (x^2 v/2 - log_tail)/x is least
    x = math.sqrt(-2.0 * log_tail / max(total.variance, 1e-300))
    x = min(x, 1e9 * (1.0 + abs(total.c)))
    best, factor = bound(x), 1.5
    # towards the end of the support the bound falls for ever, and hardly
    worth = 0.02 * math.sqrt(total.variance)
    for _ in range(2):
        while (trial := bound(x * factor)) < best - worth:
            best, x = trial, x * factor
        factor = 1.0 / factor
    return (best, x) if best < most else (most, x)


def log_tails(laws: Laws, total: Sum, seen: Window, low: float, high: float) -> tuple[float, float]:
    """Chernoff's bounds, at the window's tilts, of the log of the tilted mass below and above."""
    ends = []
    for sign, edge, x in ((-1.0, low, seen.tilts[0]), (1.0, high, seen.tilts[1])):
        if sum(n * _extreme(law, sign) for law, n in laws) < sign * edge:
            ends.append(-math.inf)
            continue
        shifted = _log_moment(laws, total.c + sign * x)
        ends.append(min(0.0, shifted - total.log_moment - sign * x * edge))
    return ends[0], ends[1]


def _extreme(law: GridLaw, sign: float) -> float:
    return float(sign * law.losses[-1 if sign > 0.0 else 0])


def _log_moment(laws: Laws, c: float) -> float:
    return float(sum(count * law.tilted(c)[1] for law, count in laws))


def finite_mass(laws: Laws) -> tuple[float, float]:
    """Logs of the composition's P-mass at finite losses, and of all of it."""
    finite = whole = 0.0
    for law, count in laws:
        mass = float(law.masses.sum())
        if mass == 0.0:
            raise TooFine("masses below all floats")
        finite += count * math.log(mass)
        whole += count * math.log(mass + law.infinite)
    return finite, whole


def mass_at_infinity(laws: Laws) -> float:
    """P-mass of an infinite loss in the composition."""
    _, whole = finite_mass(laws)
    # W - prod F_i^{T_i} as W (1 - prod (1 - I_i/(F_i + I_i))^{T_i}): little of a large count keeps its digits
    lost = sum(
        count * math.log1p(-law.infinite / (float(np.sum(law.masses)) + law.infinite))
        for law, count in laws
    )
    return math.exp(whole) * -math.expm1(lost)


# -- steps that decide alone ----------------------------------------------------------------------
#
# If each loss above theta leaves the sum above epsilon whatever the other steps do, then on the event that
# there is one, E[(1 - e^{eps - S})_+] = P(event) - e^eps Q(event): two products, exact. The grid then ends at
# theta, and no tilt is led by what lies far beyond epsilon. Below, the same holds at every epsilon, as
# (1 - x)_+ >= 1 - x; above, what is left out, E[(e^{eps - S} - 1)_+], is bounded and charged.

# of log delta's room that may be charged, and of the steps that may be set apart
_MOST_P = 0.1
_ROUNDING = 4e-15
_DENORMALS = 1e-317  # what a million Q-masses below the normal floats are off by


@dataclass(frozen=True)
class Spill:
    """Bounds of E[(e^{eps - S} - 1)_+] where some step is above `edge`, by Q-mass of at most `q`.

    limit: no such sum lies below it. chernoff: y and log E_Q[e^{-y S}] - y edge, for one y > 0.
    """

    limit: float
    q: float
    chernoff: tuple[float, float]

    def bound(self, epsilon: float, p: float) -> float:
        """A bound of what is left out at this epsilon, if such steps have P-mass p."""
        beyond = epsilon - self.limit
        if beyond <= 0.0 or self.q == 0.0:
            return 0.0
        # e^eps Q(event, S < eps), by Markov's bound of e^{-y S}; or P(event) (e^{eps - limit} - 1), as no
        # such sum is below the limit (lattice.md, Decisive losses)
        y, level = self.chernoff
        soft = epsilon + math.log(self.q) + min(0.0, level + y * epsilon)
        hard = p * math.expm1(beyond) if beyond < 700.0 else math.inf
        return min(hard, math.exp(min(soft, 700.0)))


@dataclass(frozen=True)
class Decided:
    """P- and Q-mass of at least one decisive step, and what an upper end is charged."""

    p: float
    q: float
    spill: Spill | None

    def ends(self, epsilon: float) -> tuple[float, float]:
        """(lower, upper): the contribution of decisive steps to delta."""
        if self.p == 0.0:
            return 0.0, 0.0
        scale = math.exp(min(epsilon, 700.0))
        lost = self.q * scale
        value, rounding = self.p - lost, _ROUNDING * (self.p + lost) + _DENORMALS * scale
        above = self.spill.bound(epsilon, self.p) if self.spill is not None else math.inf
        return value - rounding, value + rounding + above


def decided(laws: Laws, spill: Spill | None) -> Decided:
    """The P- and Q-mass of at least one decisive step in a composition."""
    with np.errstate(divide="ignore"):
        p, q = (
            -math.expm1(sum(n * float(np.log1p(-law.decided[side])) for law, n in laws))
            for side in (0, 1)
        )
    return Decided(p, q, spill)


def with_alone(log_finite: float, alone: Decided, epsilon: float) -> float:
    """An estimate of log delta at this epsilon, decisive steps included."""
    added = alone.p - math.exp(min(epsilon, 700.0)) * alone.q
    return float(np.logaddexp(log_finite, math.log(added))) if added > 0.0 else log_finite


class Threshold:
    """The threshold of decisive losses, from upper laws on any grid that covers all losses."""

    def __init__(self, laws: Laws, below: Sum, least: float) -> None:
        """`below`: the composition tilted by -1 (so under Q). `least`: the least loss of all but one step."""
        self._laws = laws
        self._least = least
        deviation = math.sqrt(max(below.variance, 1e-300))
        self._ys = np.geomspace(0.1, 50.0, 12) / deviation
        self._moments = np.zeros(self._ys.shape)
        for law, count in laws:
            # E_Q[e^{-yL}] = E_P[e^{-(1+y)L}], in logs, with all that the law has set apart or put at
            # infinity: decisive losses of the last round are above the last node, where e^{-yL} is smaller
            # still
            top = law.decided[1] + law.infinite * math.exp(-max(float(law.losses[-1]), 0.0))
            with np.errstate(divide="ignore"):
                spent = np.log(top) - np.minimum(self._ys * float(law.losses[-1]), 700.0)
                self._moments += count * np.logaddexp(law.log_moments(-1.0 - self._ys), spent)
        self._q = [np.cumsum((law.masses * np.exp(-law.losses))[::-1])[::-1] for law, _ in laws]
        self._p = [np.cumsum(law.masses[::-1])[::-1] for law, _ in laws]

    def _above(self, edge: float) -> tuple[float, float]:
        """Expected number of steps above the edge under P and under Q, a little more."""
        p = q = 0.0
        for (law, count), above_p, above_q in zip(self._laws, self._p, self._q, strict=True):
            first = int(np.searchsorted(law.losses, edge))
            rest_p, rest_q = law.decided[0] + law.infinite, law.decided[1]
            if first < law.losses.size:
                rest_p, rest_q = rest_p + float(above_p[first]), rest_q + float(above_q[first])
            p, q = p + count * rest_p, q + count * rest_q
        return p, q

    def reached(self, epsilon: float) -> Spill:
        """The bounds for the decisive losses that these laws have set apart."""
        edge = min(float(law.losses[-1]) for law, _ in self._laws)
        q = sum(count * law.decided[1] for law, count in self._laws)
        return self.spill(edge - 1e-12 * abs(edge), epsilon, q)

    def spill(self, edge: float, epsilon: float, q: float) -> Spill:
        """The bounds for decisive losses above this edge, sharp near this epsilon."""
        levels = self._moments - self._ys * edge
        best = int(np.argmin(levels + self._ys * epsilon))
        # an edge may be a node away, and moments a rounding
        level = float(levels[best]) + 1e-9 * (1.0 + abs(float(levels[best])))
        return Spill(edge + self._least, 1.01 * q, (float(self._ys[best]), level))

    def edge(self, epsilon: float, log_room: float) -> float:
        """The least edge that spills at most e^log_room at this epsilon, and is rarely exceeded."""
        low, high = epsilon, epsilon - self._least

        def fits(edge: float) -> bool:
            p, q = self._above(edge)
            if p > _MOST_P:
                return False
            charged = self.spill(edge, epsilon, q).bound(epsilon, p)
            return charged == 0.0 or math.log(charged) <= log_room

        for _ in range(40):
            if fits(high):
                break
            high += 0.5 * (high - low) + 0.5
        for _ in range(14):
            middle = 0.5 * (low + high)
            if fits(middle):
                high = middle
            else:
                low = middle
        return high


# -- the composition ------------------------------------------------------------------------------

# weights e^{-c gap} below this are left out, and charged
_NATS = 45.0
# of all frequencies, the share up to which few of them are read instead of all masses
_FEW = 1.0 / 12.0
_SHORT = 1 << 13
# places from which masses that few frequencies give are never laid out
_LAID_OUT = 1 << 20
# functions that are computed at a frequency where masses above an epsilon are summed
_AT_A_FREQUENCY = 12
_LEAST = 1e-320
# relative rounding of the mass at infinity
_INFINITE = 4e-15


@dataclass(frozen=True, eq=False)
class Composed:
    """A composition's tilted masses in a window, and what they may be off by.

    delta_finite(eps) = e^{log_moment - c eps} sum of masses e^{-c(l-eps)} (1 - e^{-(l-eps)}) over l > eps.
    """

    total: Sum
    spectrum: Spectrum
    wrapped: float  # tilted mass outside the window, which has come in somewhere
    missing: float  # the part of it above the window
    infinite: float
    alone: Decided

    @property
    def losses(self) -> Floats:
        """The losses of the window."""
        return self.spectrum.losses

    @cached_property
    def masses(self) -> Floats:
        """Tilted masses at the losses of the window."""
        laid_out(self.spectrum.length)
        return self.spectrum.masses()

    @cached_property
    def rounding(self) -> tuple[float, float]:
        """The rounding error of each mass, and of all of them in l2."""
        return self.spectrum.rounding()

    def log_delta(self, epsilon: float, *, upper: bool) -> float:
        """An end of log delta of these laws: above or below by all that was left out or rounded."""
        c = self.total.c
        # no weight e^{-c g} (1 - e^{-g}) is more than this, so mass that is anywhere counts no more
        most = math.exp(log_peak(c)) if c > 0.0 else 1.0
        long = self.spectrum.length > _LAID_OUT
        if self.spectrum.sparse and (long or c * (self.spectrum.high - epsilon) > 3.0):
            evaluated(_AT_A_FREQUENCY * self.spectrum.kept.size)
            value, noise = self.spectrum.above(epsilon, c)
            value += (noise if upper else -noise) + (_LEAST if upper else 0.0)
        else:
            value = self._summed(epsilon, upper)
        if upper:
            # mass from outside the window has come in elsewhere, where it may weigh less
            value += (self.missing if epsilon >= self.spectrum.low else self.wrapped) * most
        else:
            value -= self.wrapped * most
        if not math.isfinite(value):
            raise TooFine("losses that are too near each other for floats")
        scale = self.total.log_moment - c * epsilon
        # sums of positive terms and the exponent round too
        margin = 1e-14 + 4.0 * UNIT * (abs(self.total.log_moment) + abs(c * epsilon))
        finite = scale + math.log(value) if value > 0.0 else -math.inf
        finite += margin if upper else -margin
        rest = self.infinite * (1.0 + (_INFINITE if upper else -_INFINITE))
        rest += self.alone.ends(epsilon)[upper]
        result = _with(finite, rest)
        return min(result + (4e-16 if upper else -4e-16) * (1.0 + abs(result)), 0.0)

    def _summed(self, epsilon: float, upper: bool) -> float:
        """The weighted sum of masses above epsilon, rounded up or down."""
        c = self.total.c
        start = int(np.searchsorted(self.losses, epsilon, side="right"))
        stop = int(np.searchsorted(self.losses, epsilon + _NATS / c, side="right"))
        gap = self.losses[start:stop] - epsilon
        weights = np.exp(-c * gap) * -np.expm1(-gap)
        evaluated(2 * gap.size)
        masses = self.masses[start:stop]
        # sum of |error_j| w_j: by the largest error, or by Cauchy and Schwarz, whichever is less
        each, over_all = self.rounding
        noise = (
            min(each * float(weights.sum()), over_all * math.sqrt(dot(weights, weights))) + _LEAST
        )
        if upper:
            return dot(weights, np.maximum(masses, 0.0)) + noise + math.exp(-_NATS)
        return dot(weights, masses) - noise


def _with(log_value: float, rest: float) -> float:
    """log(e^log_value + rest), where rest may be a little below 0."""
    if rest == 0.0:
        return log_value
    if rest > 0.0:
        return float(np.logaddexp(log_value, math.log(rest)))
    whole = math.exp(min(log_value, 700.0)) + rest
    return math.log(whole) if whole > 0.0 else -math.inf


def terms(laws: Laws, total: Sum, places: float) -> float | None:
    """The number of terms at a window's significant frequencies; None if all may be significant."""
    angle = _loud_below(laws, total)
    if angle is None:
        return None
    return (angle * places / (2.0 * math.pi) + 2.0) * sum(law.places.size for law, _ in laws)


def compose(
    laws: Laws, total: Sum, seen: Window, spill: Spill | None = None, *, whole: bool = False
) -> Composed:
    """The composition of lattice laws of one step in a window, tilted as `total` is.

    Each law's heaviest point is put at place 0, where its transform is known: z = 1 + w, and only w, the
    transform of the others less their mass, is rounded. So rare jumps beside a spike keep their digits.
    `whole`: masses are to be read, not weighted sums of them.
    """
    from scipy.fft import next_fast_len, rfft

    step = laws[0][0].step
    offset = sum(count * law.offset for law, count in laws)
    # Places modulo `length`: what lies outside the window wraps into it, and is charged as `wrapped`. There
    # is a place to spare at each end, so that the ends of the support lie inside.
    first = math.floor((seen.low - offset) / step) - 1
    size = math.ceil((seen.high - offset) / step) - first + 2
    most = most_places(len(laws))
    length = int(next_fast_len(max(size, 16), real=True)) if size < most else size
    transforms: list[tuple[Complexes, float, float, float]] = []
    errors: list[Floats | None] = []
    nodes = sum(law.places.size for law, _ in laws)
    short = whole or length <= _SHORT
    angle = None if short else _loud_below(laws, total)
    few = length if angle is None else math.ceil(angle * length / (2.0 * math.pi)) + 1
    direct = few * nodes < length * len(laws) or (angle is not None and length > most)
    if length > most and (not direct or few * nodes > 4 * MOST_TERMS):
        raise TooFine(f"{length:.1e} places, of which {most:.1e} can be had")
    if direct:
        tabulated(3 * few * nodes)
    else:
        transformed(len(laws), length)
    origin = 0
    for law, count in laws:
        weights, _ = law.tilted(total.c)
        # all places are counted from the heaviest: z = 1 + w with |w| small where one place has most of the
        # mass, and w is rounded relative to what the others weigh
        heaviest = int(np.argmax(weights))
        origin += round(count) * int(law.places[heaviest])
        places, weights[heaviest] = law.places - law.places[heaviest], 0.0
        others = float(weights.sum())
        if direct:
            w, error = transform(places, weights, length, few)
            errors.append(error)
        else:
            placed = np.bincount(places % length, weights=weights, minlength=length)
            w = rfft(placed) - others
            errors.append(None)
        transforms.append((w, count, others, math.sqrt(dot(weights, weights))))
    kept = np.arange(few if direct else length // 2 + 1)
    if not short and not direct:
        loud = _loud(transforms)
        kept = loud if loud.size < _FEW * length else kept
    parts = [
        Part(log1p(w[kept]), count, others, size, error)
        for (w, count, others, size), error in zip(transforms, errors, strict=True)
    ]
    spectrum = Spectrum(parts, kept, length, offset, step, first, (origin - first) % length)
    below, above = log_tails(laws, total, seen, spectrum.low, spectrum.high)
    missing = math.exp(min(above, 0.0))
    wrapped = math.exp(min(below, 0.0)) + missing
    infinite = mass_at_infinity(laws)
    return Composed(total, spectrum, wrapped, missing, infinite, decided(laws, spill))


def _loud_below(laws: Laws, total: Sum) -> float | None:
    """An angle from which on the composition's transform is below e^-NIL; None if none is shown."""
    angles = [nil_from(law.places, law.tilted(total.c)[0], count) for law, count in laws]
    shown = [angle for angle in angles if angle is not None and angle < math.pi]
    return min(shown) if shown else None


def _loud(
    transforms: list[tuple[Complexes, float, float, float]],
) -> npt.NDArray[np.int64]:
    """The frequencies at which the composition's transform is not negligible."""
    if len(transforms) == 1:  # which takes no logarithms
        ((w, count, _, _),) = transforms
        return np.flatnonzero(_squared(w) > math.exp(-2.0 * NIL / count))
    level = np.zeros(transforms[0][0].shape)
    for w, count, _, _ in transforms:
        evaluated(w.size)
        with np.errstate(divide="ignore"):
            level += (0.5 * count) * np.log(_squared(w))
    return np.flatnonzero(level > -NIL)


def _squared(w: Complexes) -> Floats:
    """|1 + w|^2."""
    square: Floats = 1.0 + w.real
    square *= square
    square += np.square(w.imag)
    return square

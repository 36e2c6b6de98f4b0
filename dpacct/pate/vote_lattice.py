"""Many different finite laws composed: the delta and epsilon of a whole voting run.

Each loss is split between its two neighbours on a lattice so that its P-mass and its Q-mass stay what they
are; that gives a pair which dominates (Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022), so delta can only
grow. Masses are tilted by e^{c loss} and multiplied by FFT; what falls outside the window is bounded by
Chernoff and added. Each law has a lattice of its own, through its likeliest loss; the spacing is common.

The general engine (pld/brackets) brackets any composition; it is made for few laws that repeat, and
takes minutes for hundreds that don't. Here every query is another law, hence this: one FFT each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpacct.pld import conversions
from dpacct.pld.roots import crossing
from dpacct.pld.stable import Floats
from dpacct.pld.stack import Stack

_FEW, _POINTS, _MORE_POINTS = 64, 1 << 14, 1 << 15
_REACH = 9.0  # standard deviations of the tilted total to each side of its mean
_UNIT = 2.0**-53
_CHUNK = 64
_NATS = 50.0  # weights e^{-c gap} below this are left out, and charged


@dataclass(frozen=True)
class Total:
    """Upper ends of the composition's delta: tilted masses in a window, and what they may miss."""

    c: float
    log_moment: float
    losses: Floats
    masses: Floats
    outside: float
    infinite: float
    rounding: float

    def log_delta(self, epsilon: float) -> float:
        """log delta at this epsilon, from above."""
        start = int(np.searchsorted(self.losses, epsilon, side="right"))
        stop = int(np.searchsorted(self.losses, epsilon + _NATS / self.c, side="right"))
        gap = self.losses[start:stop] - epsilon
        weights = np.exp(-self.c * gap) * -np.expm1(-gap)
        value = float(weights @ np.maximum(self.masses[start:stop], 0.0)) + math.exp(-_NATS)
        value += self.rounding * float(np.linalg.norm(weights))
        value += self.outside * math.exp(conversions.log_peak(self.c))
        log_finite = self.log_moment - self.c * epsilon + math.log(value + 1e-320)
        margin = 1e-13 + 8.0 * _UNIT * (abs(self.log_moment) + abs(self.c * epsilon))
        return float(np.logaddexp(log_finite + margin, math.log(self.infinite + 1e-320)))

    def epsilon(self, log_delta: float) -> float:
        """The least epsilon >= 0 at which log delta is at most this, from above; inf where none is."""
        high = max(float(self.losses[-1]), 0.0)
        if self.log_delta(high) > log_delta:
            return math.inf
        return crossing(lambda x: self.log_delta(x) - log_delta, high)[1]


def _tilted(laws: Stack, c: float) -> tuple[Floats, Floats]:
    """Masses times e^{c loss}, normalised, and the logs of what they were divided by."""
    heights = laws.masses + c * laws.rows
    peak = heights.max(axis=1)
    weights = np.exp(heights - peak[:, None])
    total = weights.sum(axis=1)
    return weights / total[:, None], peak + np.log(total)


def _log_moment(laws: Stack, c: float) -> float:
    """Of masses that need not sum to one."""
    return float(laws.count @ _tilted(laws, c)[1])


def points_for(laws: Stack) -> int:
    """Points of a lattice on which splitting losses costs about 1e-4 of epsilon, or much less."""
    return _POINTS if float(laws.count.sum()) <= _FEW else _MORE_POINTS


def compose(laws: Stack, c: float, points: int = _MORE_POINTS) -> Total:
    """The composition, tilted by c, on so many points.

    >>> one = Stack.of([(np.array([1.0, -1.0]), np.log([0.7, 0.3]), 0.0)], np.array([3]))
    >>> round(math.exp(compose(one, 1.0).log_delta(2.5)), 9)
    0.134959984
    """
    weights, moments = _tilted(laws, c)
    means = (weights * laws.rows).sum(axis=1)
    variance = laws.count @ (weights * np.square(laws.rows - means[:, None])).sum(axis=1)
    real = laws.masses > -math.inf
    least = np.where(real, laws.rows, math.inf).min(axis=1)
    most = np.where(real, laws.rows, -math.inf).max(axis=1)
    mean = float(laws.count @ means)
    reach = _REACH * math.sqrt(float(variance)) + 3.0 * float((most - least).max())
    low = max(mean - reach, float(laws.count @ least))
    high = min(mean + reach, float(laws.count @ most))
    # each law's split may go a place beyond its ends
    spare = 4 + 2 * int(min(laws.count.sum(), points // 8))
    step = max((high - low) / (points - 2 * spare), 1e-13)
    anchor = np.take_along_axis(laws.rows, np.argmax(weights, axis=1)[:, None], axis=1)
    place = np.floor((laws.rows - anchor) / step)
    rest = np.clip(laws.rows - anchor - place * step, 0.0, step)
    share = np.expm1(-rest) / math.expm1(-step)
    # tilted: what moves down by `rest` loses e^{c rest}, what moves up gains
    down = weights * (1.0 - share) * np.exp(-c * rest)
    up = weights * share * np.exp(c * (step - rest))
    lattice = Stack(
        np.concatenate((anchor + place * step, anchor + (place + 1.0) * step), axis=1),
        _log(np.concatenate((down, up), axis=1)),
        laws.endless,
        laws.count,
    )
    offset = float(laws.count @ anchor[:, 0])
    first = math.floor((low - offset) / step) - spare
    losses = offset + step * (first + np.arange(points))
    masses, log_total = _convolved(place.astype(np.int64), down, up, laws.count, points)
    masses = np.roll(masses, -first % points)
    missed = float(laws.count @ -np.log1p(-np.minimum(laws.endless, 0.999)))
    return Total(
        c,
        float(laws.count @ moments) + log_total,
        losses,
        masses,
        _outside(lattice, float(losses[0]), float(losses[-1])) + 1e-16,
        -math.expm1(-missed),
        # l2 error of the masses: that of each transform (Higham 2002, Theorem 24.2), once per factor
        12.0 * _UNIT * math.log2(points) * (2.0 + float(laws.count.sum())),
    )


def _convolved(
    place: np.ndarray[tuple[int, ...], np.dtype[np.int64]],
    down: Floats,
    up: Floats,
    count: Floats,
    points: int,
) -> tuple[Floats, float]:
    """Masses of the composition by place modulo the points, and the log of what they sum to."""
    transform = np.zeros(points // 2 + 1, dtype=np.complex128)
    log_total = 0.0
    split = np.concatenate((down, up), axis=1)
    where = np.concatenate((place, place + 1), axis=1) % points
    for start in range(0, place.shape[0], _CHUNK):
        part = slice(start, start + _CHUNK)
        rows = np.arange(split[part].shape[0])[:, None] * points
        masses = np.bincount(
            (rows + where[part]).ravel(), weights=split[part].ravel(), minlength=rows.size * points
        ).reshape(rows.size, points)
        sums = masses.sum(axis=1)
        log_total += float(count[part] @ np.log(sums))
        factors = np.fft.rfft(masses / sums[:, None], axis=1)
        many = count[part] > 1.0
        factors[many] **= count[part][many][:, None]
        with np.errstate(divide="ignore"):
            transform += np.log(np.prod(factors, axis=0))
    return np.fft.irfft(np.exp(transform), n=points), log_total


def _outside(lattice: Stack, low: float, high: float) -> float:
    """Chernoff's bound of the tilted mass outside [low, high], of the lattice's own laws."""
    whole, value = _log_moment(lattice, 0.0), 0.0
    real = lattice.masses > -math.inf
    for sign, edge in ((1.0, high), (-1.0, low)):
        farthest = np.where(real, sign * lattice.rows, -math.inf).max(axis=1)
        if float(lattice.count @ farthest) <= sign * edge:
            continue
        best, x, worse = 0.0, 0.05, 0
        while worse < 3 and x < 1e7:
            trial = _log_moment(lattice, sign * x) - whole - sign * x * edge
            worse = worse + 1 if trial >= best and best < 0.0 else 0
            best = min(best, trial)
            x *= 1.5
        value += math.exp(best)
    return value


def _log(values: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(values))

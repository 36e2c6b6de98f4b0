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
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpacct.pld import conversions
from dpacct.pld.stable import Floats

_FEW, _POINTS, _MORE_POINTS = 64, 1 << 13, 1 << 15
_REACH = 9.0  # standard deviations of the tilted total to each side of its mean
_UNIT = 2.0**-53
_CHUNK = 64
_NATS = 50.0  # weights e^{-c gap} below this are left out, and charged


@dataclass(frozen=True)
class FiniteLaws:
    """One law a row: finite losses with log P-masses (-inf fills a row up), and P-mass at an infinite loss.

    `count` is how often each comes.
    """

    losses: Floats
    log_p: Floats
    infinite: Floats
    count: Floats

    @classmethod
    def of(cls, laws: Sequence[tuple[Floats, Floats, float]], count: Floats) -> FiniteLaws:
        """From rows of different lengths."""
        width = max(losses.size for losses, _, _ in laws)
        table = np.zeros((len(laws), width))
        logs = np.full((len(laws), width), -math.inf)
        for row, (losses, log_p, _) in enumerate(laws):
            table[row, : losses.size] = losses
            logs[row, : losses.size] = log_p
        return cls(table, logs, np.array([law[2] for law in laws]), np.asarray(count, dtype=float))

    def tilted(self, c: float) -> tuple[Floats, Floats]:
        """Masses times e^{c loss}, normalised, and the logs of what they were divided by."""
        heights = self.log_p + c * self.losses
        peak = heights.max(axis=1)
        weights = np.exp(heights - peak[:, None])
        total = weights.sum(axis=1)
        return weights / total[:, None], peak + np.log(total)

    def log_moment(self, c: float) -> float:
        """The log of the composition's E[e^{c L}], finite losses only."""
        return float(self.count @ self.tilted(c)[1])

    def best_tilt(self, log_delta: float, guess: float = 4.0) -> float:
        """About the c > 0 at which Renyi's conversion gives the least epsilon: the saddle."""

        def value(log_c: float) -> float:
            c = math.exp(log_c)
            return conversions.epsilon(self.log_moment(c), c, log_delta)

        centre, step = math.log(guess), 1.0
        best = value(centre)
        while step > 0.05:
            ends = [min(max(centre + move, -7.0), 12.0) for move in (-step, step)]
            least = min((value(end), end) for end in ends)
            if least[0] < best:
                best, centre = least
            else:
                step *= 0.5
        return math.exp(centre)


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
        low, high = 0.0, max(float(self.losses[-1]), 0.0)
        if self.log_delta(0.0) <= log_delta:
            return 0.0
        if self.log_delta(high) > log_delta:
            return math.inf
        x = 0.5 * (low + high)
        for trial in range(200):
            excess = self.log_delta(x) - log_delta
            low, high = (x, high) if excess > 0.0 else (low, x)
            if high - low <= 1e-10 * high:
                break
            # near the saddle log delta falls by c for each unit of epsilon; a little beyond it
            x += excess / self.c * (1.0 + 1e-3) + (1e-11 if excess > 0.0 else -1e-11) * high
            if trial % 5 == 4 or not low < x < high:
                x = 0.5 * (low + high)
        return high


def points_for(laws: FiniteLaws) -> int:
    """Points of a lattice on which splitting losses costs about 1e-4 of epsilon, or much less."""
    return _POINTS if float(laws.count.sum()) <= _FEW else _MORE_POINTS


def compose(laws: FiniteLaws, c: float, points: int = _MORE_POINTS) -> Total:
    """The composition, tilted by c, on so many points.

    >>> one = FiniteLaws.of([(np.array([1.0, -1.0]), np.log([0.7, 0.3]), 0.0)], np.array([3]))
    >>> round(math.exp(compose(one, 1.0).log_delta(2.5)), 9)
    0.134959984
    """
    weights, moments = laws.tilted(c)
    means = (weights * laws.losses).sum(axis=1)
    variance = laws.count @ (weights * np.square(laws.losses - means[:, None])).sum(axis=1)
    real = laws.log_p > -math.inf
    least = np.where(real, laws.losses, math.inf).min(axis=1)
    most = np.where(real, laws.losses, -math.inf).max(axis=1)
    mean = float(laws.count @ means)
    reach = _REACH * math.sqrt(float(variance)) + 3.0 * float((most - least).max())
    low = max(mean - reach, float(laws.count @ least))
    high = min(mean + reach, float(laws.count @ most))
    # each law's split may go a place beyond its ends
    spare = 4 + 2 * int(min(laws.count.sum(), points // 8))
    step = max((high - low) / (points - 2 * spare), 1e-13)
    anchor = np.take_along_axis(laws.losses, np.argmax(weights, axis=1)[:, None], axis=1)
    place = np.floor((laws.losses - anchor) / step)
    rest = np.clip(laws.losses - anchor - place * step, 0.0, step)
    share = np.expm1(-rest) / math.expm1(-step)
    # tilted: what moves down by `rest` loses e^{c rest}, what moves up gains
    down = weights * (1.0 - share) * np.exp(-c * rest)
    up = weights * share * np.exp(c * (step - rest))
    lattice = FiniteLaws(
        np.concatenate((anchor + place * step, anchor + (place + 1.0) * step), axis=1),
        _log(np.concatenate((down, up), axis=1)),
        laws.infinite,
        laws.count,
    )
    offset = float(laws.count @ anchor[:, 0])
    first = math.floor((low - offset) / step) - spare
    losses = offset + step * (first + np.arange(points))
    masses, log_total = _convolved(place.astype(np.int64), down, up, laws.count, points)
    masses = np.roll(masses, -first % points)
    missed = float(laws.count @ -np.log1p(-np.minimum(laws.infinite, 0.999)))
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


def _outside(lattice: FiniteLaws, low: float, high: float) -> float:
    """Chernoff's bound of the tilted mass outside [low, high], of the lattice's own laws."""
    whole, found = lattice.log_moment(0.0), 0.0
    real = lattice.log_p > -math.inf
    for sign, edge in ((1.0, high), (-1.0, low)):
        farthest = np.where(real, sign * lattice.losses, -math.inf).max(axis=1)
        if float(lattice.count @ farthest) <= sign * edge:
            continue
        best, x, worse = 0.0, 0.05, 0
        while worse < 3 and x < 1e7:
            trial = lattice.log_moment(sign * x) - whole - sign * x * edge
            worse = worse + 1 if trial >= best and best < 0.0 else 0
            best = min(best, trial)
            x *= 1.5
        found += math.exp(best)
    return found


def _log(values: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(values))

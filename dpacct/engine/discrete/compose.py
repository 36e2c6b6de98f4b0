"""Tilted FFT composition of lattice laws, read as delta and epsilon; every truncation charged to an end."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.linalg import norm

from dpacct.engine.stable import Complexes, Floats, log1p_complex

from .window import Laws, Sum, Window, log_tails, mass_at_infinity

UNIT = 2.0**-53
# of a transform's l2-error, per doubling and unit roundoff: 7 for radix 2 with accurate twiddle factors
# (Higham 2002, Theorem 24.2), here with room for mixed radices
_FFT = 12.0
# weights e^{-c gap} below this are left out, and charged
_NATS = 45.0


@dataclass(frozen=True, eq=False)
class Composed:
    """A composition's tilted masses in a window, and what they may be off by.

    delta_finite(eps) = e^{log_moment - c eps} sum of masses e^{-c(l-eps)} (1 - e^{-(l-eps)}) over l > eps.
    """

    total: Sum
    losses: Floats
    masses: Floats
    wrapped: float  # tilted mass outside the window, which has come in somewhere
    missing: float  # the part of it above the window
    rounding: tuple[float, float]  # of each mass, and of all of them in l2
    infinite: float

    def log_delta(self, epsilon: float, *, upper: bool) -> float:
        """An end of log delta of these laws: above or below by all that was left out or rounded."""
        c = self.total.c
        start = int(np.searchsorted(self.losses, epsilon, side="right"))
        stop = int(np.searchsorted(self.losses, epsilon + _NATS / c, side="right"))
        gap = self.losses[start:stop] - epsilon
        weights = np.exp(-c * gap) * -np.expm1(-gap)
        masses = self.masses[start:stop]
        most = math.exp(c * math.log(c / (1.0 + c)) - math.log1p(c)) if c > 0.0 else 1.0
        each, over_all = self.rounding
        noise = min(each * float(weights.sum()), over_all * float(norm(weights))) + 1e-320
        if upper:
            # mass from outside the window has come in elsewhere, where it may weigh less
            outside = self.missing if epsilon >= self.losses[0] else self.wrapped
            value = float(weights @ np.maximum(masses, 0.0)) + noise + outside * most
            value += math.exp(-_NATS)
        else:
            value = float(weights @ masses) - noise - self.wrapped * most
        scale = self.total.log_moment - c * epsilon
        # sums of positive terms and the exponent round too
        margin = 1e-14 + 4.0 * UNIT * (abs(self.total.log_moment) + abs(c * epsilon))
        finite = scale + math.log(value) if value > 0.0 else -math.inf
        finite += margin if upper else -margin
        if self.infinite == 0.0:
            return min(finite, 0.0)
        both = np.logaddexp(finite, math.log(self.infinite))
        return min(float(both), 0.0)


def compose(laws: Laws, total: Sum, seen: Window) -> Composed:
    """The composition of lattice laws of one step in a window, tilted as `total` is.

    Each law's heaviest point is put at place 0, where its transform is known: z = 1 + w, and only w, the
    transform of the others less their mass, is rounded. So rare jumps beside a spike keep their digits.
    """
    from scipy.fft import irfft, next_fast_len, rfft

    step = laws[0][0].step
    offset = sum(count * law.offset for law, count in laws)
    # a place to spare at each end, so that the ends of the support lie inside
    first = math.floor((seen.low - offset) / step) - 1
    size = math.ceil((seen.high - offset) / step) - first + 2
    length = int(next_fast_len(max(size, 16), real=True))
    parts: list[_Part] = []
    origin = 0
    for law, count in laws:
        weights, _ = law.tilted(total.c)
        heaviest = int(np.argmax(weights))
        origin += round(count) * (law.first + law.stride * heaviest)
        places = (law.stride * (np.arange(weights.size) - heaviest)) % length
        placed = np.bincount(places, weights=weights, minlength=length)
        placed[0] = 0.0
        others = float(placed.sum())
        w = rfft(placed) - others
        parts.append(_Part(log1p_complex(w.real, w.imag), count, others, float(norm(placed))))
    log_total = sum((part.count * part.log for part in parts), np.zeros(length // 2 + 1))
    transform = np.exp(log_total)
    double = np.full(transform.shape, 2.0)
    double[0] = 1.0
    if length % 2 == 0:
        double[-1] = 1.0
    peak = float(double @ transform.real) / length
    masses = irfft(transform - peak, n=length)
    masses[0] += peak
    rounding = _rounding(parts, transform, peak, double, length)
    masses = np.roll(masses, (origin - first) % length)
    losses = offset + step * (first + np.arange(length, dtype=np.float64))
    below, above = log_tails(laws, total, seen, losses[0], losses[-1])
    missing = math.exp(min(above, 0.0))
    wrapped = math.exp(min(below, 0.0)) + missing
    return Composed(total, losses, masses, wrapped, missing, rounding, mass_at_infinity(laws))


@dataclass(frozen=True, eq=False)
class _Part:
    """One law's transform: its logarithm, the law's count, and mass and l2-norm beside the heaviest point."""

    log: Complexes
    count: float
    others: float
    size: float


def _rounding(
    parts: list[_Part], transform: Complexes, peak: float, double: Floats, length: int
) -> tuple[float, float]:
    """What transforms and powers may be off by: at each place, and in l2 over all places.

    docs/theory/lattice.md, Rounding. An error e_k of z_k becomes n e_k Z_k / z_k, which is summed over
    k by Cauchy and Schwarz; `double` counts the frequencies that a real transform leaves out.
    """
    levels = _FFT * math.log2(length) * UNIT
    size = np.abs(transform)
    each = over_all = 0.0
    phases = np.ones(size.shape)
    for part in parts:
        # Z / z, which is at most 1 and may be had where z underflows
        rest = np.exp(np.minimum(np.log(np.maximum(size, 1e-320)) - part.log.real, 0.0))
        rms = math.sqrt(float(double @ np.square(rest)) / length)
        fft = part.count * levels * part.size
        each += fft * rms
        over_all += fft * float(rest.max())
        sums = 4.0 * UNIT * part.count * part.others
        each += sums * float(double @ rest) / length
        over_all += sums * rms
        phases += part.count * np.abs(part.log)
    powers = 4.0 * UNIT * phases * size
    each += float(double @ powers) / length
    over_all += math.sqrt(float(double @ np.square(powers)) / length)
    last = levels * math.sqrt(float(double @ np.square(np.abs(transform - peak))) / length)
    last += 4.0 * UNIT * abs(peak)
    return 1.2 * (each + last), 1.2 * (over_all + last)

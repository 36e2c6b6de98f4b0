"""A composition as the transform of its tilted masses: at all frequencies, or at the few that are not nil.

That all but few are nil is shown from one step's masses. With p the tilted masses of a step, z(theta) their
transform and n the number of steps, and D a run of places (without gaps for the second bound) with mass m,
variance v, width w and total variation V:

    |z|^2 = 1 - sum of p_i p_j (1 - cos theta (i-j)) <= 1 - (4/pi^2) theta^2 m^2 v   for theta <= pi/w,
    |z| <= 1 - m + V / (2 sin(theta/2))                                             for all theta

(the first as 1 - cos x >= 2 x^2/pi^2 up to pi; the second by summation by parts). So where m and n are
large enough, |z|^n is nil from some theta on, and the few frequencies below it are summed one by
one: no transform of the whole lattice, whose length is then nobody's concern.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from .grid import Places, dot
from .stable import Complexes, Floats

NIL = 75.0
"""Nats below 1 that count as nil."""
# of m, what the second bound must take off at theta = pi/w
_TAKEN = 0.1
# of the heaviest, what a place has at least to belong to the run
_FLAT = 0.6
_DOUBLINGS = 30
_CHUNK = 1 << 16


def nil_from(places: Places, weights: Floats, count: float) -> float | None:
    """An angle from which on so many steps' transform is below e^-NIL; None if none is shown."""
    if weights.size < 5:
        return None
    ways = (_by_pair(places, weights, count), _by_run(places, weights, count))
    shown = [way for way in ways if way is not None]
    if not shown:
        return None
    angle, width, middle = min(shown)
    # wider runs show it for smaller angles, as far as they reach
    for _ in range(_DOUBLINGS):
        width *= 2.0
        if angle > math.pi / width:
            break
        first = int(np.searchsorted(places, middle - 0.5 * width))
        last = int(np.searchsorted(places, middle + 0.5 * width, side="right"))
        at = np.asarray(places[first:last] - middle, float)
        angle = min(angle, _angle(weights[first:last], at, count))
    return angle


def _by_pair(places: Places, weights: Floats, count: float) -> tuple[float, float, float] | None:
    """The first bound by two neighbours, which holds at all angles: (angle, width, middle)."""
    both = np.where(np.diff(places) == 1, weights[1:] * weights[:-1], 0.0)
    k = int(np.argmax(both))
    if not both[k] > 1e-30:
        return None
    angle = _angle(weights[k : k + 2], np.arange(2.0), count)
    return (angle, 1.0, float(places[k]) + 0.5) if angle < math.pi else None


def _by_run(places: Places, weights: Floats, count: float) -> tuple[float, float, float] | None:
    """Both bounds by one run."""
    # heavy with both its neighbours: not a point mass
    heaviest = 1 + int(np.argmax(np.minimum(np.minimum(weights[:-2], weights[2:]), weights[1:-1])))
    # neighbours without gaps, and as heavy as to make a block that is nearly flat
    ends = (np.diff(places) != 1) | (
        np.minimum(weights[1:], weights[:-1]) < _FLAT * weights[heaviest]
    )
    breaks = np.flatnonzero(ends)
    after = int(np.searchsorted(breaks, heaviest))
    start = int(breaks[after - 1]) + 1 if after > 0 else 0
    stop = int(breaks[after]) + 1 if after < breaks.size else places.size
    run = weights[start:stop]
    if run.size < 3:
        return None
    mass, width = float(run.sum()), float(run.size - 1)
    variation = float(np.abs(np.diff(run)).sum()) + float(run[0] + run[-1])
    far = math.pi / width
    if variation > 2.0 * math.sin(0.5 * far) * (1.0 - _TAKEN) * mass:
        return None
    if count * math.log1p(-_TAKEN * mass) > -NIL:
        return None
    angle = _angle(run, np.arange(run.size, dtype=np.float64), count)
    return (angle, width, float(places[start]) + 0.5 * width) if angle <= far else None


def _angle(weights: Floats, at: Floats | Places, count: float) -> float:
    """Return the angle from which on the first bound is nil."""
    # count * log|z|^2 / 2 <= -(2/pi^2) count theta^2 m^2 v, which is -NIL from this theta on
    mass = float(weights.sum())
    mean = float(weights @ at) / mass
    variance = float(weights @ np.square(at - mean)) / mass
    return math.pi * math.sqrt(0.5 * NIL / (count * variance)) / mass


def transform(
    places: Places, weights: Floats, length: int, frequencies: int
) -> tuple[Complexes, Floats]:
    """sum of weights (e^{-i theta place} - 1) at theta = 2 pi k / length, k below `frequencies`.

    Angles are reduced as whole numbers, and sums are pairwise. So the error, the second array, is so many
    units of rounding of the sum of sizes (Higham 2002, section 4.2; eight more for each term).
    """
    values, error = np.zeros(frequencies, dtype=np.complex128), np.zeros(frequencies)
    units = 2.0**-53 * (math.log2(places.size + 2.0) + 16.0)
    reduced = places % length
    per = max(1, _CHUNK // max(places.size, 1))
    for start in range(0, frequencies, per):
        k = np.arange(start, min(start + per, frequencies), dtype=np.int64)
        turns = np.multiply.outer(k, reduced) % length
        # e^{-ix} - 1 = -2 sin(x/2) (sin(x/2) + i cos(x/2)): small angles keep their digits
        half = (math.pi / length) * turns
        sine, cosine = np.sin(half), np.cos(half)
        tilted = weights * sine
        values.real[k] = -2.0 * (tilted * sine).sum(axis=1)
        values.imag[k] = -2.0 * (tilted * cosine).sum(axis=1)
        error[k] = (4.0 * units) * np.abs(tilted).sum(axis=1)
    return values, error


UNIT = 2.0**-53
# of a transform's l2-error, per doubling and unit roundoff: 7 for radix 2 with accurate twiddle factors
# (Higham 2002, Theorem 24.2), here with room for mixed radices
_FFT = 12.0
# terms of higher order in all that is charged
_ROOM = 1.2
# log of what frequencies that were left out come to, and units of rounding of a weight's transform
_LEFT_OUT = math.exp(-70.0)
_WEIGHT = 60.0
# nats at which a weight's own size is nil
_FAR = -300.0


@dataclass(frozen=True, eq=False)
class Part:
    """One law's transform: its logarithm, the law's count, and what the transform is off by.

    By the fast transform: mass and l2-norm beside the heaviest point. Summed one by one: at each frequency.
    """

    log: Complexes
    count: float
    others: float
    size: float
    error: Floats | None = None


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The product of the laws' transforms at frequencies `kept` of a real transform of this length.

    Mass j of the window lies at offset + step (first + j); place 0 of the transform is j = turn.
    """

    parts: Sequence[Part]
    kept: npt.NDArray[np.int64]
    length: int
    offset: float
    step: float
    first: int
    turn: int

    @property
    def low(self) -> float:
        """The least loss of the window."""
        return self.offset + self.step * self.first

    @property
    def high(self) -> float:
        """The largest loss of the window."""
        return self.offset + self.step * (self.first + self.length - 1)

    @cached_property
    def losses(self) -> Floats:
        """The losses of the window."""
        places = self.first + np.arange(self.length, dtype=np.float64)
        return np.asarray(self.offset + self.step * places)

    @property
    def sparse(self) -> bool:
        """Return whether only some frequencies are there."""
        return self.kept.size < self.length // 2 + 1

    @cached_property
    def values(self) -> Complexes:
        """The transform at the frequencies that were kept."""
        total = sum((part.count * part.log for part in self.parts), np.zeros(self.kept.shape))
        return np.asarray(np.exp(total))

    @cached_property
    def double(self) -> Floats:
        """The weight of each frequency over the length: once, or with its mirror image."""
        double = np.full(self.kept.shape, 2.0 / self.length)
        double[(self.kept == 0) | (2 * self.kept == self.length)] = 1.0 / self.length
        return double

    @cached_property
    def _peak(self) -> float:
        return dot(self.double, self.values.real)

    def masses(self) -> Floats:
        """Tilted masses in the window, in the order of losses."""
        from scipy.fft import irfft

        # The mean of all values is the mass at place 0. Without it the transform back rounds relative to what
        # is elsewhere: a spike with rare jumps keeps the digits of these.
        transform = np.zeros(self.length // 2 + 1, dtype=np.complex128)
        transform[self.kept] = self.values
        transform -= self._peak
        masses = irfft(transform, n=self.length)
        masses[0] += self._peak
        return np.roll(masses, self.turn)

    def between(self, start: float, stop: float) -> tuple[Floats, Floats]:
        """Losses in (start, stop], and their tilted masses."""
        first, last = (
            0 if end < self.low else min(math.floor((end - self.low) / self.step) + 1, self.length)
            for end in (max(start, self.low - 1.0), min(stop, self.high + self.step))
        )
        losses = self.low + self.step * np.arange(first, last, dtype=np.float64)
        return losses, self.masses()[first:last]

    @cached_property
    def _levels(self) -> float:
        return _FFT * math.log2(self.length) * UNIT

    @cached_property
    def _rests(self) -> list[Floats]:
        """|Z / z| of each part, which is at most 1 and may be had where z underflows."""
        size = np.log(np.maximum(np.abs(self.values), 1e-320))
        return [np.exp(np.minimum(size - part.log.real, 0.0)) for part in self.parts]

    @cached_property
    def _phases(self) -> Floats:
        """The rounding error of each power of the transform, in units."""
        turns = sum((part.count * np.abs(part.log) for part in self.parts), np.zeros(1))
        return np.asarray(4.0 * UNIT * (1.0 + turns) * np.abs(self.values))

    def rounding(self) -> tuple[float, float]:
        """Bound the error of masses: at each place, and in l2 over all places.

        docs/theory/bracket.md, Rounding. An error e_k of z_k becomes n e_k Z_k / z_k, which is summed over
        k by Cauchy and Schwarz; `double` counts the frequencies that a real transform leaves out.
        """
        double = self.double
        each = over_all = _LEFT_OUT
        for part, rest in zip(self.parts, self._rests, strict=True):
            if part.error is not None:
                wrong = part.count * rest * part.error
                each += dot(double, wrong)
                over_all += math.sqrt(dot(double, np.square(wrong)))
                continue
            rms = math.sqrt(dot(double, np.square(rest)))
            fft = part.count * self._levels * part.size
            each += fft * rms
            over_all += fft * float(rest.max())
            sums = 4.0 * UNIT * part.count * part.others
            each += sums * dot(double, rest)
            over_all += sums * rms
        each += dot(double, self._phases)
        over_all += math.sqrt(dot(double, np.square(self._phases)))
        off = np.square(np.abs(self.values - self._peak))
        lacking = max(0.0, 1.0 - float(double.sum())) * self._peak**2
        last = self._levels * math.sqrt(dot(double, off) + lacking)
        last += 4.0 * UNIT * abs(self._peak)
        return _ROOM * (each + last), _ROOM * (over_all + last)

    def above(self, epsilon: float, c: float) -> tuple[float, float]:
        """Sum of masses e^{-c g} (1 - e^{-g}), g = loss - epsilon > 0, and what it may be off by (Parseval).

        The transform of the weights is a difference of geometric sums: with x = e^{-c step + i theta} and
        d the step, sum over m >= 0 of x^m (1 - y e^{-m d}) is
        ((1 - e^-d) + (e^-d - y)(1 - x)) / ((1 - x)(1 - x e^-d)).
        """
        if epsilon >= self.high:
            return 0.0, 0.0
        start = min(max(math.floor((epsilon - self.low) / self.step) + 1, 0), self.length - 1)
        count = self.length - start
        gap = self.low + self.step * start - epsilon
        theta = (2.0 * math.pi / self.length) * self.kept
        half = np.sin(0.5 * theta)
        # 1 - x and 1 - x e^-step, without cancellation: 1 - e^{-a} cos t = (1 - e^{-a}) + 2 e^{-a} sin^2(t/2)
        parts = []
        for rate in (c, c + 1.0):
            decay = math.expm1(-rate * self.step)
            real = -decay + 2.0 * (1.0 + decay) * np.square(half)
            parts.append(real - 1j * (1.0 + decay) * np.sin(theta))
        below, beyond = parts
        product = below * beyond
        weights = self._geometric(gap, c, below, product) * self._turned(start - self.turn)
        # all places from `start` on, less those beyond the window, of which the transform would see copies
        rest = self._geometric(gap + self.step * count, c, below, product)
        weights -= rest * self._turned(start - self.turn + count)
        size = np.abs(weights)
        value = dot(self.double, (self.values * weights).real)
        noise = _LEFT_OUT * (1.0 + float(size.max())) + _WEIGHT * UNIT * dot(
            self.double, np.abs(self.values) * size
        )
        for part, rest_of in zip(self.parts, self._rests, strict=True):
            heard = rest_of * size
            if part.error is not None:
                noise += part.count * dot(self.double, heard * part.error)
                continue
            noise += (
                part.count
                * self._levels
                * part.size
                * math.sqrt(dot(self.double, np.square(heard)))
            )
            noise += 4.0 * UNIT * part.count * part.others * dot(self.double, heard)
        noise += dot(self.double, self._phases * size)
        return value, _ROOM * noise

    def _geometric(self, gap: float, c: float, below: Complexes, product: Complexes) -> Complexes:
        """e^{-c gap} times the sum over all m >= 0, for the first distance `gap`."""
        # e^-step - e^-gap
        inner = -math.exp(-self.step) * math.expm1(self.step - gap)
        weight = math.exp(max(-c * gap, _FAR))
        # a product of two tiny steps may underflow: the sum is then not finite, and refused where it is read
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return weight * (-math.expm1(-self.step) + inner * below) / product

    def _turned(self, places: int) -> Complexes:
        """e^{i theta places}, the product of whole numbers reduced exactly."""
        turns = (self.kept * (places % self.length)) % self.length
        return np.asarray(np.exp((2j * math.pi / self.length) * turns))

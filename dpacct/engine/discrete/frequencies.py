"""A composition as the transform of its tilted masses: at all frequencies, or at the few that are not nil."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dpacct.engine.stable import Complexes, Floats

from .lattice_law import dot

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
        return self.offset + self.step * self.first

    @property
    def high(self) -> float:
        return self.offset + self.step * (self.first + self.length - 1)

    @cached_property
    def losses(self) -> Floats:
        places = self.first + np.arange(self.length, dtype=np.float64)
        return np.asarray(self.offset + self.step * places)

    @property
    def sparse(self) -> bool:
        """Whether only some frequencies are there."""
        return self.kept.size < self.length // 2 + 1

    @cached_property
    def values(self) -> Complexes:
        """The transform at the frequencies that were kept."""
        total = sum((part.count * part.log for part in self.parts), np.zeros(self.kept.shape))
        return np.asarray(np.exp(total))

    @cached_property
    def double(self) -> Floats:
        """How often a frequency counts, over the length: once, or with its mirror image."""
        double = np.full(self.kept.shape, 2.0 / self.length)
        double[(self.kept == 0) | (2 * self.kept == self.length)] = 1.0 / self.length
        return double

    @cached_property
    def _peak(self) -> float:
        return dot(self.double, self.values.real)

    def masses(self) -> Floats:
        """Tilted masses in the window, in the order of losses."""
        from scipy.fft import irfft

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
        """How many units of rounding each power of the transform is off by."""
        turns = sum((part.count * np.abs(part.log) for part in self.parts), np.zeros(1))
        return np.asarray(4.0 * UNIT * (1.0 + turns) * np.abs(self.values))

    def rounding(self) -> tuple[float, float]:
        """What masses may be off by: at each place, and in l2 over all places.

        docs/theory/lattice.md, Rounding. An error e_k of z_k becomes n e_k Z_k / z_k, which is summed over
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
        # 1 - x and 1 - x e^-step, without cancellation
        parts = []
        for rate in (c, c + 1.0):
            decay = math.expm1(-rate * self.step)
            real = -decay + 2.0 * (1.0 + decay) * np.square(half)
            parts.append(real - 1j * (1.0 + decay) * np.sin(theta))
        below, beyond = parts
        product = below * beyond
        weights = self._geometric(gap, c, below, product) * self._turned(start - self.turn)
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

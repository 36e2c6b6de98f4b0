"""A composition as the transform of its tilted masses, back in a window, with a bound of every rounding."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .grid import dot
from .stable import Complexes, Floats

UNIT = 2.0**-53
# of a transform's l2-error, per doubling and unit roundoff: 7 for radix 2 with accurate twiddle factors
# (Higham 2002, Theorem 24.2), here with room for mixed radices
_FFT = 12.0
# terms of higher order in all that is charged
_ROOM = 1.2


@dataclass(frozen=True, eq=False)
class Part:
    """One law's transform: its logarithm, the law's count, mass and l2-norm beside the heaviest point."""

    log: Complexes
    count: float
    others: float
    size: float


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The product of the laws' transforms, a real transform of this length.

    Mass j of the window lies at offset + step (first + j); place 0 of the transform is j = turn.
    """

    parts: Sequence[Part]
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

    @cached_property
    def values(self) -> Complexes:
        """The transform at each frequency."""
        size = self.length // 2 + 1
        total = sum((part.count * part.log for part in self.parts), np.zeros(size))
        return np.asarray(np.exp(total))

    @cached_property
    def double(self) -> Floats:
        """The weight of each frequency over the length: once, or with its mirror image."""
        double = np.full(self.length // 2 + 1, 2.0 / self.length)
        double[0] = 1.0 / self.length
        if self.length % 2 == 0:
            double[-1] = 1.0 / self.length
        return double

    @cached_property
    def _peak(self) -> float:
        return dot(self.double, self.values.real)

    def masses(self) -> Floats:
        """Tilted masses in the window, in the order of losses."""
        # The mean of all values is the mass at place 0. Without it the transform back rounds relative to what
        # is elsewhere: a spike with rare jumps keeps the digits of these.
        masses = np.fft.irfft(self.values - self._peak, n=self.length)
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
        each = over_all = 0.0
        for part, rest in zip(self.parts, self._rests, strict=True):
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
        last = self._levels * math.sqrt(dot(double, off))
        last += 4.0 * UNIT * abs(self._peak)
        return _ROOM * (each + last), _ROOM * (over_all + last)

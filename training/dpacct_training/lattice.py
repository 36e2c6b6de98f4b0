"""Lattice: Gaussian noise that is drawn in whole steps, so that sums in a finite field can carry it.

The discrete Gaussian of variance v (Canonne, Kamath, Steinke 2020) has on each whole number z a mass
proportional to exp(-z^2 / 2v). Why a sum of shares of it is accounted as one continuous Gaussian: by
Poisson's summation formula, for every real t,

    R(v, t) = sum over whole z of exp(-(z - t)^2 / 2v)
            = sqrt(2 pi v) (1 + 2 sum over j >= 1 of exp(-2 pi^2 v j^2) cos(2 pi j t))            (1)

which is sqrt(2 pi v) up to a factor 1 +- e(v), e(v) = 2 sum over j >= 1 of exp(-2 pi^2 v j^2).

Rounding is a post-processing. Let Y be normal with variance v, and let Z, given Y, have mass
exp(-(z - Y)^2 / 2w) / R(w, Y) on each whole z; Z moves with Y by every whole shift. Over Y the product
of both exponentials integrates to a normal density of variance v + w, and (1) bounds R, so that

    P[Z = z] = exp(-z^2 / 2(v + w)) / sqrt(2 pi (v + w)) / (1 +- e(w)):                            (2)

the discrete Gaussian of variance v + w, up to a factor (1 +- e(v + w)) / (1 +- e(w)).

Shares add up. Completing the square, the sum of two independent discrete Gaussians of variances a and
b has on z, with c = ab / (a + b), the mass of the one of variance a + b times

    R(a + b, 0) R(c, za / (a + b)) / (R(a, 0) R(b, 0))
            = (1 +- e(a + b)) (1 +- e(c)) / (1 +- e(a)) / (1 +- e(b)).                             (3)

e(8) < 6e-69 and e(2048) < 1e-17000: nothing of it is in any digit of an answer about fewer than 1e9
numbers. Other proofs: Peikert 2010 for (2); Kairouz, Liu, Steinke 2021 for (3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpacct_training.accept import positive, setting
from dpacct_training.keys import Stream
from dpacct_training.noise import Gaussian, Rows, Vector

# steps in the standard deviation of a share, and of the whole, at least
_FINE, _WHOLE = 64.0, 512.0
_SPARED = 8.0  # steps^2 of the variance that (2) gives away
_BITS = 256
_FAR = 13.0  # standard deviations, beyond which lies less than 2^-120


@dataclass(frozen=True)
class NoiseLattice(Gaussian):
    """The discrete Gaussian on multiples of `step`, in `shares` parts.

    A row is bounded to the clip less half a step in each number, so that its rounding leaves it
    within the clip. What is accounted is a continuous Gaussian of `_SPARED` squared steps less
    variance, of which what runs is a post-processing: (2) and (3) above, with w = `_SPARED` and at
    least `_FINE`^2 squared steps in every share. `multiplier` is of the continuous one, which is `node`.
    Raises `InvalidArgument`.
    """

    shares: float = setting(1.0, positive)
    exact: ClassVar[bool] = True

    @cached_property
    def steps(self) -> float:
        """The variance of the whole noise, in squared steps."""
        # rounding may cost a row a 64th of its clip: half of step * sqrt(size)
        least = 32.0 * math.sqrt(self.size) * self.multiplier / math.sqrt(self.shares)
        return max(_FINE, _WHOLE / math.sqrt(self.shares), least) ** 2 * self.shares + _SPARED

    @cached_property
    def step(self) -> float:
        """The step of which every release is a multiple."""
        return self.multiplier * self.clip / math.sqrt(self.steps - _SPARED)

    @property
    def variance(self) -> float:
        """The variance of the discrete normal law, which is `steps` in squared steps."""
        return self.steps * self.step**2

    def whole(self, rows: Rows) -> NDArray[np.int64]:
        """Numbers in steps."""
        return np.rint(rows / self.step).astype(np.int64)

    def bound(self, rows: Rows) -> Rows:
        """Clipped so that rounding to the lattice stays within the clip."""
        inner = self.clip - 0.5 * self.step * math.sqrt(self.size)
        short: Rows = Gaussian(self.size, inner, self.multiplier).bound(rows)
        return self.settled(short)

    def settled(self, total: Vector) -> Vector:
        """Rounded to the lattice."""
        whole: Vector = self.whole(total).astype(np.float64) * self.step
        return whole

    def steps_of(self, part: float) -> float:
        """The variance of `part` of the noise in squared steps: as fine as a share, as (3) asks."""
        return max(part * self.steps, _FINE**2)

    def variance_of(self, part: float) -> float:
        """The variance of `part` of the noise, on one number."""
        return self.steps_of(part) * self.step**2

    def drawn(self, count: int, part: float, stream: Stream) -> NDArray[np.int64]:
        """`count` numbers of `part` of the noise, in steps."""
        return discrete_normals(count, self.steps_of(part), stream)

    def unit(self, count: int, stream: Stream) -> Vector:
        """Discrete normal numbers, in clips."""
        numbers: Vector = self.drawn(count, 1.0, stream).astype(np.float64)
        return numbers * (self.step / self.clip)

    def noisy(self, total: Vector, part: float, stream: Stream) -> Vector:
        """`total` with a share of the noise: one multiple of the step, rounded to a double once."""
        drawn = self.drawn(total.size, part, stream).reshape(total.shape)
        noisy: Vector = (self.whole(total) + drawn).astype(np.float64) * self.step
        return noisy


@lru_cache(maxsize=64)
def _table(variance: float) -> tuple[int, NDArray[np.uint64], NDArray[np.uint64]]:
    """The discrete Gaussian's distribution function in 128 bits: its first place, and both halves."""
    far = math.ceil(_FAR * math.sqrt(variance))
    # w(k+1) / w(k) = exp(-(2 k + 1) / (2 variance)), in whole numbers of 2^-_BITS
    with localcontext(prec=_BITS // 2):  # digits: far more than the bits that are kept
        ratio = int((-1 / (2 * Decimal(variance))).exp() * 2**_BITS)
        fall = int((-1 / Decimal(variance)).exp() * 2**_BITS)
    weights = [1 << _BITS]
    for _ in range(far):
        weights.append(weights[-1] * ratio >> _BITS)
        ratio = ratio * fall >> _BITS
    whole = 2 * sum(weights) - weights[0]
    masses = [(weight << 128) // whole for weight in weights]
    ordered = masses[:0:-1] + masses
    below, sums = 0, []
    for mass in ordered[:-1]:
        below += mass
        sums.append(below)
    # what rounding left over, less than 2^-115 together, falls to the last place
    high = np.array([s >> 64 for s in sums], np.uint64)
    low = np.array([s & (2**64 - 1) for s in sums], np.uint64)
    return -far, high, low


def discrete_normals(count: int, variance: float, stream: Stream) -> NDArray[np.int64]:
    """Whole numbers x with probability proportional to exp(-x^2 / (2 variance)), to within 2^-115.

    By inversion: 128 random bits are compared with the distribution function.
    """
    first, high, low = _table(variance)
    words = stream.words(2 * count)
    upper, lower = words[:count], words[count:]
    places = np.searchsorted(high, upper, side="right")
    ties = np.flatnonzero(np.searchsorted(high, upper, side="left") != places)
    for tie in ties:  # the upper half decides, but for one number in 2^53
        at = int(np.searchsorted(high, upper[tie], side="left"))
        while at < places[tie] and low[at] <= lower[tie]:
            at += 1
        places[tie] = at
    return places.astype(np.int64) + first

"""Noise samplers: in floating point, and discrete ones from exact coins.

Those in floating point are for simulation and training, not for a release under attack. A double has gaps,
and which doubles a sampler can return depends on what the noise is added to: Mironov (On Significance of the
Least Significant Bits for Differential Privacy, CCS 2012) reads the secret from them. Where that matters,
round to integers and use the discrete mechanisms: no floating point enters, so no bit of it leaks
(Canonne, Kamath, Steinke, The Discrete Gaussian for Differential Privacy, NeurIPS 2020, Algorithms 1 to 3).
All that is asked of the source is a uniform whole number below n.
"""

from __future__ import annotations

import hashlib
import math
import secrets
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from dpacct.declare.number import shown
from dpacct.errors import InvalidArgument

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

Shape = int | tuple[int, ...] | None
"""The shape of a draw: a count, a tuple, or None for a single number."""


class Keystream:
    """Random numbers of SHAKE-256 under a secret key: who has not the key cannot predict one of them.

    NumPy's generators can be: PCG64's state follows from a few of its outputs, and with it all noise, past
    and to come. The methods are those of `numpy.random.Generator` that are used here.
    """

    def __init__(self, key: bytes | None = None) -> None:
        self._key = secrets.token_bytes(32) if key is None else key
        self._calls = 0

    def _words(self, count: int) -> NDArray[np.uint64]:
        """The next `count` words of 64 bits; each call hashes the key with a number of its own."""
        import numpy as np

        self._calls += 1
        text = self._key + self._calls.to_bytes(8, "little")
        return np.frombuffer(hashlib.shake_256(text).digest(8 * count), dtype="<u8")

    def _uniform(self, size: Shape) -> Numbers:
        """Uniform numbers in (0, 1] from all 64 bits, so that tails reach -log(2^-64) = 44."""
        import numpy as np

        words = self._words(_count(size)).astype(np.float64)
        return _shaped((words + 1.0) * 2.0**-64, size)

    def random(self, size: Shape = None) -> Numbers:
        """Uniform numbers in [0, 1)."""
        import numpy as np

        words = (self._words(_count(size)) >> np.uint64(11)).astype(np.float64)
        return _shaped(words * 2.0**-53, size)

    def normal(self, mean: float, scale: float, size: Shape) -> Numbers:
        """Normal numbers (Box and Muller 1958)."""
        import numpy as np

        radius = np.sqrt(-2.0 * np.log(self._uniform(size)))
        numbers: Numbers = mean + scale * radius * np.cos(2.0 * np.pi * self.random(size))
        return numbers

    def laplace(self, mean: float, scale: float, size: Shape) -> Numbers:
        """Laplace numbers: a fair sign and an exponential size."""
        import numpy as np

        sign = np.where(self.random(size) < 0.5, -1.0, 1.0)
        numbers: Numbers = mean - scale * sign * np.log(self._uniform(size))
        return numbers

    def geometric(self, p: float, size: Shape) -> NDArray[np.int64]:
        """The trials up to the first success, at least 1, by inversion."""
        import numpy as np

        trials = np.ceil(np.log(self._uniform(size)) / np.log1p(-p))
        whole: NDArray[np.int64] = np.maximum(trials, 1.0).astype(np.int64)
        return whole


def _count(size: Shape) -> int:
    return math.prod(size) if isinstance(size, tuple) else 1 if size is None else size


def _shaped(numbers: Numbers, size: Shape) -> Numbers:
    return numbers.reshape(() if size is None else size)


def generator(rng: object) -> Keystream | np.random.Generator:
    """A source of noise: a fresh secret key for None; a seed or a NumPy generator only for simulation."""
    import numpy as np

    if rng is None:
        return Keystream()
    if isinstance(rng, Keystream | np.random.Generator):
        return rng
    if isinstance(rng, int) and not isinstance(rng, bool) and rng >= 0:
        return np.random.default_rng(rng)
    message = f"rng must be a numpy Generator, a seed >= 0, or None, got {shown(rng)}"
    raise InvalidArgument(message, argument="rng")


def shape(size: object) -> Shape:
    """A count or a shape; raises `InvalidArgument`."""
    parts = size if isinstance(size, tuple) else (size,)
    whole = all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in parts)
    if size is None or whole:
        return cast("Shape", size)
    message = f"size must be a whole number >= 0, a tuple of them, or None, got {shown(size)}"
    raise InvalidArgument(message, argument="size")


def normal(scale: float, size: object, rng: object) -> NDArray[np.floating[Any]]:
    """Normal noise of this standard deviation."""
    import numpy as np

    return np.asarray(generator(rng).normal(0.0, scale, shape(size)))


def laplace(scale: float, size: object, rng: object) -> NDArray[np.floating[Any]]:
    """Laplace noise of this scale."""
    import numpy as np

    return np.asarray(generator(rng).laplace(0.0, scale, shape(size)))


def staircase(lam: float, nu: float, size: object, rng: object) -> NDArray[np.floating[Any]]:
    """Staircase noise for a sensitivity of 1 (Geng, Viswanath, Algorithm 1).

    A sign, a geometric number of steps, the part of the step before or after its edge at nu, and a
    uniform place in that part.
    """
    import numpy as np

    source, many = generator(rng), shape(size)
    sign = np.where(source.random(many) < 0.5, -1.0, 1.0)
    steps = source.geometric(-np.expm1(-lam), many) - 1
    place = source.random(many)
    fall = np.exp(-lam)
    before = source.random(many) < nu / (nu + fall * (1.0 - nu))
    inside = np.where(before, nu * place, nu + (1.0 - nu) * place)
    return np.asarray(sign * (steps + inside))


# --- from exact coins

Below = Callable[[int], int]
"""n -> a uniform whole number in [0, n)."""
Enclosure = Callable[[int], tuple[Fraction, Fraction]]
"""Number of bits -> a lower and an upper bound of one probability, nearer for more bits."""


def below(rng: object) -> Below:
    """Uniform whole numbers: of the system's entropy (None), a seed, random.Random or a Generator."""
    import random

    if rng is None:
        return random.SystemRandom().randrange
    if isinstance(rng, int) and not isinstance(rng, bool) and rng >= 0:
        return random.Random(rng).randrange
    if isinstance(rng, random.Random):
        return rng.randrange
    take = getattr(rng, "bytes", None)
    if take is not None and hasattr(rng, "bit_generator"):
        return lambda n: _by_rejection(take, n)
    message = "rng must be a seed >= 0, a random.Random, a numpy Generator, or None"
    raise InvalidArgument(f"{message}, got {shown(rng)}", argument="rng")


def _by_rejection(take: Callable[[int], bytes], n: int) -> int:
    bits = (n - 1).bit_length()
    size = (bits + 7) // 8
    while True:
        value = int.from_bytes(take(size), "big") >> (8 * size - bits) if bits else 0
        if value < n:
            return value


def coin(chance: Fraction, uniform: Below) -> bool:
    """True with this probability, exactly."""
    return uniform(chance.denominator) < chance.numerator


def exponential_coin(gamma: Fraction, uniform: Below) -> bool:
    """True with probability e^-gamma, gamma >= 0 (Algorithm 1)."""
    while gamma > 1:
        if not exponential_coin(Fraction(1), uniform):
            return False
        gamma -= 1
    k = 1
    while coin(gamma / k, uniform):
        k += 1
    return k % 2 == 1


def discrete_laplace(scale: Fraction, uniform: Below) -> int:
    """x with probability proportional to e^{-|x| / scale} (Algorithm 2, scale = t/s)."""
    t, s = scale.numerator, scale.denominator
    while True:
        u = uniform(t)
        if not exponential_coin(Fraction(u, t), uniform):
            continue
        v = 0
        while exponential_coin(Fraction(1), uniform):
            v += 1
        size = (u + t * v) // s
        negative = coin(Fraction(1, 2), uniform)
        if not (negative and size == 0):
            return -size if negative else size


def discrete_gaussian(variance: Fraction, uniform: Below) -> int:
    """x with probability proportional to e^{-x^2 / (2 variance)} (Algorithm 3)."""
    t = math.isqrt(variance.numerator // variance.denominator) + 1
    while True:
        y = discrete_laplace(Fraction(t), uniform)
        excess = abs(y) - variance / t
        if exponential_coin(excess * excess / (2 * variance), uniform):
            return y


def enclosed_coin(bounds: Enclosure, uniform: Below) -> bool:
    """True with a probability known by bounds: draws bits of a uniform number until they decide."""
    word = 64
    bits, thrown = word, uniform(1 << word)
    while True:
        low, high = bounds(bits)
        if Fraction(thrown + 1, 1 << bits) <= low:
            return True
        if Fraction(thrown, 1 << bits) >= high:
            return False
        bits, thrown = bits + word, (thrown << word) | uniform(1 << word)


def honesty(eps0: Fraction, k: int) -> Enclosure:
    """Bounds of the probability 1 / (1 + (k - 1) e^-eps0) of a true answer among k."""

    @cache
    def bounds(bits: int) -> tuple[Fraction, Fraction]:
        import flint

        with flint.ctx.workprec(bits + 64):
            fall = (-flint.arb(flint.fmpq(eps0.numerator, eps0.denominator))).exp()
            chance = 1 / (1 + (k - 1) * fall)
            ends = (chance.lower().man_exp(), chance.upper().man_exp())
        low, high = (Fraction(int(man)) * Fraction(2) ** int(exp) for man, exp in ends)
        return low, high

    return bounds


def many(draw: Callable[[Below], int], size: object, rng: object) -> NDArray[np.integer[Any]]:
    """An array of draws, of 64-bit integers unless one does not fit."""
    import numpy as np

    uniform, wanted = below(rng), shape(size)
    count = math.prod(wanted) if isinstance(wanted, tuple) else 1 if wanted is None else wanted
    drawn = np.array([draw(uniform) for _ in range(count)], dtype=np.int64)
    return drawn.reshape(() if wanted is None else wanted)

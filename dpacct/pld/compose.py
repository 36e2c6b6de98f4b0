"""Compositions of lattice laws, tilted and transformed: the inner law of a plan that is used as one step.

Masses are tilted by e^{cl}, one transform a law, its logarithm times the count, one transform back, in a
window of losses that Chernoff's bound gives. docs/theory/bracket.md has each bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .budget import laid_out, most_places, transformed
from .grid import GridLaw, dot
from .saddle import Totals
from .spectrum import Part, Spectrum
from .stable import Floats, TooFine, log1p

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


@dataclass(frozen=True)
class Decided:
    """P- and Q-mass of at least one decisive step, whose loss puts the sum above all that is asked for."""

    p: float
    q: float


def decided(laws: Laws) -> Decided:
    """The P- and Q-mass of at least one decisive step in a composition."""
    with np.errstate(divide="ignore"):
        p, q = (
            -math.expm1(sum(n * float(np.log1p(-law.decided[side])) for law, n in laws))
            for side in (0, 1)
        )
    return Decided(p, q)


# -- the composition ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Composed:
    """A composition's tilted masses in a window, and what they may be off by."""

    total: Sum
    spectrum: Spectrum
    wrapped: float  # tilted mass outside the window, which has come in somewhere
    missing: float  # the part of it above the window

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


def _fast_length(size: int) -> int:
    """The smallest length of at least `size` with no prime factor above 5: an FFT of it is fast."""
    odd = [int(3**a * 5**b) for a in range(40) for b in range(28)]
    return min(n << max(0, (-(-size // n) - 1).bit_length()) for n in odd if n < 2 * size)


def compose(laws: Laws, total: Sum, seen: Window) -> Composed:
    """The composition of lattice laws of one step in a window, tilted as `total` is.

    Each law's heaviest point is put at place 0, where its transform is known: z = 1 + w, and only w, the
    transform of the others less their mass, is rounded. So rare jumps beside a spike keep their digits.
    """
    step = laws[0][0].step
    offset = sum(count * law.offset for law, count in laws)
    # Places modulo `length`: what lies outside the window wraps into it, and is charged as `wrapped`. There
    # is a place to spare at each end, so that the ends of the support lie inside.
    first = math.floor((seen.low - offset) / step) - 1
    size = math.ceil((seen.high - offset) / step) - first + 2
    most = most_places(len(laws))
    if size > most:
        raise TooFine(f"{size:.1e} places, of which {most:.1e} can be had")
    length = _fast_length(max(size, 16))
    transformed(len(laws), length)
    parts, origin = [], 0
    for law, count in laws:
        weights, _ = law.tilted(total.c)
        # all places are counted from the heaviest: z = 1 + w with |w| small where one place has most of the
        # mass, and w is rounded relative to what the others weigh
        heaviest = int(np.argmax(weights))
        origin += round(count) * int(law.places[heaviest])
        places, weights[heaviest] = law.places - law.places[heaviest], 0.0
        others = float(weights.sum())
        w = np.fft.rfft(np.bincount(places % length, weights=weights, minlength=length)) - others
        parts.append(Part(log1p(w), count, others, math.sqrt(dot(weights, weights))))
    spectrum = Spectrum(parts, length, offset, step, first, (origin - first) % length)
    below, above = log_tails(laws, total, seen, spectrum.low, spectrum.high)
    missing = math.exp(min(above, 0.0))
    return Composed(total, spectrum, math.exp(min(below, 0.0)) + missing, missing)

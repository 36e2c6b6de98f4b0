"""Tilted FFT composition of lattice laws, read as delta and epsilon; every truncation charged to an end."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dpacct.engine.stable import Complexes, Floats, log1p_complex

from .budget import MOST_TERMS, most_places
from .decided import Decided, Spill, decided
from .frequencies import UNIT, Part, Spectrum
from .lattice_law import dot
from .quiet import NIL, nil_from, transform
from .window import Laws, Sum, Window, log_tails, mass_at_infinity

# weights e^{-c gap} below this are left out, and charged
_NATS = 45.0
# of all frequencies, the share up to which few of them are read instead of all masses
_FEW = 1.0 / 12.0
_SHORT = 1 << 13
# places from which masses that few frequencies give are never laid out
_LAID_OUT = 1 << 20
_LEAST = 1e-320


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
        return self.spectrum.losses

    @cached_property
    def masses(self) -> Floats:
        """Tilted masses at the losses of the window."""
        return self.spectrum.masses()

    @cached_property
    def rounding(self) -> tuple[float, float]:
        """What each mass may be off by, and all of them in l2."""
        return self.spectrum.rounding()

    def log_delta(self, epsilon: float, *, upper: bool) -> float:
        """An end of log delta of these laws: above or below by all that was left out or rounded."""
        c = self.total.c
        most = math.exp(c * math.log(c / (1.0 + c)) - math.log1p(c)) if c > 0.0 else 1.0
        long = self.spectrum.length > _LAID_OUT
        if self.spectrum.sparse and (long or c * (self.spectrum.high - epsilon) > 3.0):
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
            raise ArithmeticError("losses that are too near each other for doubles")
        scale = self.total.log_moment - c * epsilon
        # sums of positive terms and the exponent round too
        margin = 1e-14 + 4.0 * UNIT * (abs(self.total.log_moment) + abs(c * epsilon))
        finite = scale + math.log(value) if value > 0.0 else -math.inf
        finite += margin if upper else -margin
        rest = self.infinite + self.alone.ends(epsilon)[upper]
        return min(_with(finite, rest), 0.0)

    def _summed(self, epsilon: float, upper: bool) -> float:
        """The weighted sum of masses above epsilon, rounded up or down."""
        c = self.total.c
        start = int(np.searchsorted(self.losses, epsilon, side="right"))
        stop = int(np.searchsorted(self.losses, epsilon + _NATS / c, side="right"))
        gap = self.losses[start:stop] - epsilon
        weights = np.exp(-c * gap) * -np.expm1(-gap)
        masses = self.masses[start:stop]
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
    """Terms of the sums at the loud frequencies of a window of so many places; None if these may be all."""
    angle = nil_from(laws, total)
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
    # a place to spare at each end, so that the ends of the support lie inside
    first = math.floor((seen.low - offset) / step) - 1
    size = math.ceil((seen.high - offset) / step) - first + 2
    most = most_places(len(laws))
    length = int(next_fast_len(max(size, 16), real=True)) if size < most else size
    transforms: list[tuple[Complexes, float, float, float]] = []
    errors: list[Floats | None] = []
    nodes = sum(law.places.size for law, _ in laws)
    short = whole or length <= _SHORT
    angle = None if short else nil_from(laws, total)
    few = length if angle is None else math.ceil(angle * length / (2.0 * math.pi)) + 1
    direct = few * nodes < length * len(laws) or (angle is not None and length > most)
    if length > most and (not direct or few * nodes > 4 * MOST_TERMS):
        raise MemoryError(f"{length} lattice points")
    origin = 0
    for law, count in laws:
        weights, _ = law.tilted(total.c)
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
        Part(log1p_complex(w.real[kept], w.imag[kept]), count, others, size, error)
        for (w, count, others, size), error in zip(transforms, errors, strict=True)
    ]
    spectrum = Spectrum(parts, kept, length, offset, step, first, (origin - first) % length)
    below, above = log_tails(laws, total, seen, spectrum.low, spectrum.high)
    missing = math.exp(min(above, 0.0))
    wrapped = math.exp(min(below, 0.0)) + missing
    infinite = mass_at_infinity(laws)
    return Composed(total, spectrum, wrapped, missing, infinite, decided(laws, spill))


def _loud(
    transforms: list[tuple[Complexes, float, float, float]],
) -> npt.NDArray[np.int64]:
    """Frequencies at which the composition's transform is not negligible."""
    level = np.zeros(transforms[0][0].shape)
    for w, count, _, _ in transforms:
        with np.errstate(divide="ignore"):
            level += (0.5 * count) * np.log(np.square(1.0 + w.real) + np.square(w.imag))
    return np.flatnonzero(level > -NIL)

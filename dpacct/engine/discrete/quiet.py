"""Frequencies beyond which a composition's transform is nil, shown from one step's masses.

With p the tilted masses of a step, z(theta) their transform and n the number of steps, and D a run of
places (without gaps for the second bound) with mass m, variance v, width w and total variation V:

    |z|^2 = 1 - sum of p_i p_j (1 - cos theta (i-j)) <= 1 - (4/pi^2) theta^2 m^2 v   for theta <= pi/w,
    |z| <= 1 - m + V / (2 sin(theta/2))                                             for all theta

(the first as 1 - cos x >= 2 x^2/pi^2 up to pi; the second by summation by parts). So where m and n are
large enough, |z|^n is nil from some theta on, and the few frequencies below it are summed one by
one: no transform of the whole lattice, whose length is then nobody's concern.
"""

from __future__ import annotations

import math

import numpy as np

from dpacct.engine.stable import Complexes, Floats

from .lattice_law import Places
from .window import Laws, Sum

NIL = 75.0
"""Nats below 1 that count as nil."""
# of m, what the second bound must take off at theta = pi/w
_TAKEN = 0.1
# of the heaviest, what a place has at least to belong to the run
_FLAT = 0.6
_DOUBLINGS = 30
_CHUNK = 1 << 16


def nil_from(laws: Laws, total: Sum) -> float | None:
    """An angle from which on the composition's transform is below e^-NIL; None if none is shown."""
    angles = [_nil_from(law.places, law.tilted(total.c)[0], count) for law, count in laws]
    shown = [angle for angle in angles if angle is not None and angle < math.pi]
    return min(shown) if shown else None


def _nil_from(places: Places, weights: Floats, count: float) -> float | None:
    if weights.size < 5:
        return None
    found = [
        one for one in (_by_pair(places, weights, count), _by_run(places, weights, count)) if one
    ]
    if not found:
        return None
    angle, width, middle = min(found)
    # wider runs show it for smaller angles, as far as they reach
    for _ in range(_DOUBLINGS):
        width *= 2.0
        if angle > math.pi / width:
            break
        first = int(np.searchsorted(places, middle - 0.5 * width))
        last = int(np.searchsorted(places, middle + 0.5 * width, side="right"))
        angle = min(angle, _angle(weights[first:last], places[first:last] - middle, count))
    return angle


def _by_pair(places: Places, weights: Floats, count: float) -> tuple[float, float, float] | None:
    """The first bound by two neighbours, which holds at all angles: (angle, width, middle)."""
    both = np.where(np.diff(places) == 1, weights[1:] * weights[:-1], 0.0)
    k = int(np.argmax(both))
    if not both[k] > 1e-30:
        return None
    angle = _angle(weights[k : k + 2], np.array([0.0, 1.0]), count)
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


def _angle(weights: Floats, at: Floats, count: float) -> float:
    """From where on the first bound is nil."""
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
    found, error = np.zeros(frequencies, dtype=np.complex128), np.zeros(frequencies)
    units = 2.0**-53 * (math.log2(places.size + 2.0) + 16.0)
    reduced = places % length
    per = max(1, _CHUNK // max(places.size, 1))
    for start in range(0, frequencies, per):
        k = np.arange(start, min(start + per, frequencies), dtype=np.int64)
        turns = np.multiply.outer(k, reduced) % length
        half = (math.pi / length) * turns
        sine, cosine = np.sin(half), np.cos(half)
        tilted = weights * sine
        found.real[k] = -2.0 * (tilted * sine).sum(axis=1)
        found.imag[k] = -2.0 * (tilted * cosine).sum(axis=1)
        error[k] = (4.0 * units) * np.abs(tilted).sum(axis=1)
    return found, error

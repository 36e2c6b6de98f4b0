"""Proven decay of |M(c + it)/M(c)|: a lower bound of its negative logarithm that grows with t.

Layers (docs/theory/certificate.md, eq. 7): where the tilted density of the loss is at least a sum
of uniform densities of masses alpha_k and widths w_k, the modulus is at most
1 - sum alpha_k (1 - S(t w_k/2)), S(u) = sup_{u' >= u} |sin u'/u'|.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from flint import arb

from dpacct.pld.stable import Floats

# sinc falls from 1 to sinc(2.5) = 0.239 on [0, 2.5]; beyond, |sinc| stays below that, and below 1/u
_KNEE = 2.5
_FAR = 4.6
_SMALL = 0.25


def flatness(u: arb) -> arb:
    """Lower bound of 1 - S(u), non-decreasing in u; for small u from sin u <= u - u^3/6 + u^5/120.

    >>> bool(flatness(arb(3)) < 0.77), bool(flatness(arb(10)) < 0.9001)
    (True, True)
    """
    u = u.lower()
    if u < _SMALL:
        square = u * u
        return (square / 6 * (1 - square / 20)).lower()
    if u < _KNEE:
        return (1 - u.sinc()).lower()
    if u < _FAR:
        return (1 - arb(_KNEE).sinc()).lower()
    return (1 - 1 / u).lower()


@dataclass(frozen=True)
class Layers:
    """Uniform pieces below the tilted density: lower bounds of their masses and widths."""

    masses: tuple[arb, ...]
    widths: tuple[arb, ...]

    def deficit(self, t: arb) -> arb:
        """Lower bound of -log |M(c + it')/M(c)| for all t' >= t; -log(1 - d) >= d."""
        half = t / 2
        lost = arb(0)
        for mass, width in zip(self.masses, self.widths, strict=True):
            lost += mass * flatness(half * width)
        lost = lost.lower()
        return (-(-lost).log1p()).lower() if lost < 1 else arb(0)

    @cached_property
    def _floats(self) -> tuple[Floats, Floats]:
        masses, widths = (np.array([float(x) for x in row]) for row in (self.masses, self.widths))
        return masses, widths

    def float_deficit(self, t: Floats) -> Floats:
        """`deficit` in floats, a hair smaller: for the search, never for the proof."""
        masses, widths = self._floats
        u = np.multiply.outer(0.5 * t, widths)
        flat = np.where(u < _FAR, 1.0 - np.sinc(_KNEE / math.pi), 1.0 - 1.0 / np.maximum(u, 1.0))
        flat = np.where(u < _KNEE, 1.0 - np.sinc(u / math.pi), flat)
        flat = np.where(u < _SMALL, u * u / 6.0 * (1.0 - u * u / 20.0), flat)
        return np.asarray(-np.log1p(-np.minimum(flat @ masses, 1.0 - 1e-12)) * (1.0 - 1e-9))


def layers(edges: Sequence[arb], heights: Sequence[arb]) -> Layers:
    """Cut the region below a staircase into uniform layers, the widest first.

    Cell j is [edges[j], edges[j+1]] with density at least heights[j]. Below the lowest cell of a run
    lies one layer as wide as the run; what is above it falls into two runs.
    """
    lows = [max_zero(height.lower()) for height in heights]
    masses, widths = [], []
    runs = [(0, len(lows), arb(0))]
    while runs:
        first, end, level = runs.pop()
        if first == end:
            continue
        lowest = first
        for j in range(first, end):
            if lows[j] < lows[lowest]:
                lowest = j
        width = (edges[end] - edges[first]).lower()
        if lows[lowest] > level and width > 0:
            masses.append(((lows[lowest] - level) * width).lower())
            widths.append(width)
            level = lows[lowest]
        runs += [(first, lowest, level), (lowest + 1, end, level)]
    return Layers(tuple(masses), tuple(widths))


def max_zero(value: arb) -> arb:
    """The value, or 0 where it is not certainly positive."""
    return value if value > 0 else arb(0)

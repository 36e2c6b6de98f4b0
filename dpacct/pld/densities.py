"""A pair of densities on a line, cut into slices whose masses are integrated."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from dpacct.errors import OutsideDomain

from .pieces import Pieces, Source
from .stable import Floats, quiet

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)
_COARSE, _COARSE_WEIGHTS = np.polynomial.legendre.leggauss(7)
# slices between two breaks to begin with, and altogether at most
_ACCURACY = 1e-13
_COARSE_EDGES = np.linspace(-800.0, 800.0, 10668)


@dataclass(frozen=True)
class Slices:
    """Slices [left, right] of the line: log masses of P and Q (-inf for none), and the losses that they have.

    Where one of the two has no mass, the loss is infinite.
    """

    left: Floats
    right: Floats
    log_p: Floats
    log_q: Floats
    low: Floats
    high: Floats

    def where(self, kept: npt.NDArray[np.bool_]) -> Slices:
        """The slices that are kept."""
        columns = (self.left, self.right, self.log_p, self.log_q, self.low, self.high)
        return Slices(*(column[kept] for column in columns))

    def room(self, edges: Floats) -> Floats:
        """Two thirds of the distance of the edges around each slice; nothing is asked beyond all of them."""
        finite = edges[np.isfinite(edges)]
        if finite.size < 2:
            return np.full(self.low.shape, 0.1)
        gaps = np.concatenate(([math.inf], np.diff(finite), [math.inf]))
        below, above = (np.searchsorted(finite, side) for side in (self.low, self.high))
        return np.asarray(np.minimum(gaps[below], gaps[above]) / 1.5)


@dataclass(frozen=True)
class Densities(Source):
    """Log densities of P and Q as vectorised functions of x on [breaks[0], breaks[-1]].

    `breaks` increases and has every kink and jump of either function. Slices are halved until two
    Gauss-Legendre rules agree to 1e-13 of the mass, and the loss within a slice until it is as narrow as
    the grid asks; its range is read at the ends and at the nodes of the rule, with a quarter of what
    was seen added to each side. So masses and ranges are estimates of high accuracy, not enclosures.

    Raises `OutsideDomain` where the densities do not integrate to 1 within 1e-6; both are normalised.
    """

    log_p: Callable[[Floats], npt.NDArray[np.floating[Any]]]
    log_q: Callable[[Floats], npt.NDArray[np.floating[Any]]]
    breaks: tuple[float, ...]

    @property
    def charged(self) -> bool:
        """Two rules that agree are an estimate of the error and no bound."""
        return False

    def _slices(self, edges: Floats) -> Slices:
        """The line in slices: masses right, losses within two thirds of what edges there are apart."""
        rounds = 14
        cuts = np.concatenate(
            [
                *(np.linspace(a, b, 64 + 1)[:-1] for a, b in pairwise(self.breaks)),
                self.breaks[-1:],
            ]
        )
        left, right = cuts[:-1], cuts[1:]
        done: list[Slices] = []
        agreed = False  # whether both rules did on all slices: on their halves they do the more
        for trial in range(rounds + 1):
            slices, error = self._integrated(left, right, check=not agreed)
            agreed = agreed or bool((error <= _ACCURACY).all())
            with quiet():
                seen = slices.high - slices.low
            heavy = np.maximum(slices.log_p, slices.log_q) > -690.0
            wide = np.isfinite(seen) & (seen > slices.room(edges))
            coarse = heavy & ((error > _ACCURACY) | wide)
            if trial == rounds or left.size > (1 << 18):
                coarse[:] = False
            done.append(slices.where(~coarse))
            if not coarse.any():
                break
            middle = 0.5 * (left + right)[coarse]
            left = np.concatenate((left[coarse], middle))
            right = np.concatenate((middle, right[coarse]))
        columns = zip(
            *((d.left, d.right, d.log_p, d.log_q, d.low, d.high) for d in done), strict=True
        )
        return Slices(*(np.concatenate(column) for column in columns))

    def _integrated(self, left: Floats, right: Floats, *, check: bool) -> tuple[Slices, Floats]:
        """Masses and loss ranges of slices, and how far two rules disagree, relative to the mass."""
        middle, half = 0.5 * (left + right), 0.5 * (right - left)
        # where both rules agreed on the whole, the coarse one is right on its halves
        rules = ((_NODES, _WEIGHTS), (_COARSE, _COARSE_WEIGHTS))[0 if check else 1 :]
        masses, errors, levels = [], [], []
        for density in (self.log_p, self.log_q):
            values = []
            for nodes, weights in rules:
                x = middle[:, None] + half[:, None] * nodes
                level = np.asarray(density(x.ravel()), dtype=np.float64).reshape(x.shape)
                peak = np.maximum(level.max(axis=1), -1e300)
                with quiet():
                    values.append(peak + np.log((np.exp(level - peak[:, None]) @ weights) * half))
                if nodes is rules[0][0]:
                    levels.append(level)
            with quiet():
                gap = np.abs(np.expm1(values[-1] - values[0]))
            masses.append(np.where(values[0] < -1e299, -math.inf, values[0]))
            errors.append(np.where(np.isnan(gap), 0.0, gap))
        log_p, log_q = masses
        with quiet():
            losses = levels[0] - levels[1]
            lowest, highest = losses.min(axis=1), losses.max(axis=1)
            margin = 0.25 * (highest - lowest)
            both = np.isfinite(log_p) & np.isfinite(log_q)
            infinite = np.where(np.isfinite(log_p), math.inf, -math.inf)
            # a merged loss that the nodes missed widens the range
            merged = np.where(both, log_p - log_q, infinite)
            low = np.minimum(np.where(both, lowest - margin, infinite), merged)
            high = np.maximum(np.where(both, highest + margin, infinite), merged)
        return Slices(left, right, log_p, log_q, low, high), np.maximum(*errors)

    @cached_property
    def _table(self) -> tuple[Slices, float, float]:
        """Coarse slices, and the log of either total."""
        slices = self._slices(_COARSE_EDGES)
        totals = []
        for name, masses in (("P", slices.log_p), ("Q", slices.log_q)):
            total = float(np.exp(masses).sum())
            if not abs(total - 1.0) < 1e-6:
                message = f"the density of {name} must integrate to 1 within 1e-6, got {total!r}"
                raise OutsideDomain(message, argument=f"log_{name.lower()}")
            totals.append(math.log(total))
        return slices, totals[0], totals[1]

    def span(self, log_mass: float) -> tuple[float, float]:
        """Losses outside which there is hardly a slice of e^log_mass."""
        slices, _, _ = self._table
        kept = np.isfinite(slices.low) & np.isfinite(slices.high) & (slices.log_p > log_mass)
        return float(slices.low[kept].min()), float(slices.high[kept].max())

    @property
    def ceiling(self) -> float:
        """The largest loss of any slice, as near as nodes tell."""
        return self.span(-math.inf)[1]

    @property
    def least(self) -> float:
        """The smallest loss of any slice, as near as nodes tell; -inf where P misses a part of Q."""
        slices = self._table[0]
        lost = np.isneginf(slices.log_p) & (slices.log_q > -math.inf)
        return -math.inf if lost.any() else self.span(-math.inf)[0]

    def pieces(self, edges: Floats, *, upper: bool) -> Pieces:
        """Slices whose losses stay within two thirds of the distance between edges."""
        _, whole_p, whole_q = self._table
        slices = self._slices(edges)
        log_p, log_q = slices.log_p - whole_p, slices.log_q - whole_q
        infinite = float(np.exp(log_p[np.isneginf(log_q)]).sum())
        lost = float(np.exp(log_q[np.isneginf(log_p)]).sum())
        both = np.isfinite(log_p) & np.isfinite(log_q)
        log_p, log_q = log_p[both], log_q[both]
        low, high = slices.low[both], slices.high[both]
        slack = _ACCURACY
        return Pieces(log_p, log_p - log_q, low, high, slack, 2.0 * slack, slack, infinite, lost)

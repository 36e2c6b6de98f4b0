"""A pair of densities on a line, cut into slices whose masses are integrated."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from dpacct.engine.discrete.pieces import NO_LOSSES, Pieces
from dpacct.engine.stable import Floats
from dpacct.errors import OutsideDomain

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)
_COARSE, _COARSE_WEIGHTS = np.polynomial.legendre.leggauss(7)
# slices between two breaks to begin with, and altogether at most
_FIRST = 64
_MOST = 1 << 18
_ACCURACY = 1e-13
_COARSE_EDGES = np.linspace(-800.0, 800.0, 10668)
_ROUNDS = 14


def _room(pieces: Pieces, edges: Floats) -> Floats:
    """A third of the distance of the edges around each piece's ends; none asked for beyond all of them."""
    finite = edges[np.isfinite(edges)]
    if finite.size < 2:
        return np.full(pieces.low.shape, 0.05)
    gaps = np.concatenate(([math.inf], np.diff(finite), [math.inf]))
    ends = (np.searchsorted(finite, side) for side in (pieces.low, pieces.high))
    below, above = ends
    return np.asarray(np.minimum(gaps[below], gaps[above]) / 3.0)


@dataclass(frozen=True)
class Densities:
    """Log densities of P and Q as vectorised functions of x on [breaks[0], breaks[-1]].

    `breaks` increases and has every kink and jump of either function. Slices are halved until two
    Gauss-Legendre rules agree to 1e-13 of the mass, and the loss within a slice until it is as narrow as
    the lattice asks; its range is read at the ends and at the nodes of the rule, with a quarter of what
    was seen added to each side. So masses and ranges are estimates of high accuracy, not enclosures.

    Raises `OutsideDomain` where the densities do not integrate to 1 within 1e-6; both are normalised.
    """

    log_p: Callable[[Floats], Floats]
    log_q: Callable[[Floats], Floats]
    breaks: tuple[float, ...]

    atoms = NO_LOSSES
    only_atoms = False
    bracketed = False
    least = -math.inf

    def reversed(self) -> Densities:
        """The pair (Q, P)."""
        return Densities(self.log_q, self.log_p, self.breaks)

    def _slices(self, low: Floats, high: Floats, edges: Floats) -> tuple[Floats, Floats, Pieces]:
        """Slices of [low, high]: masses right, losses within a third of what edges there are apart."""
        done: list[tuple[Floats, Floats, Pieces]] = []
        agreed = False  # whether both rules did on all slices: on their halves they do the more
        for trial in range(_ROUNDS + 1):
            pieces, error = self._integrated(low, high, check=not agreed)
            agreed = agreed or bool((error <= _ACCURACY).all())
            with np.errstate(invalid="ignore"):
                seen = pieces.high - pieces.low
            heavy = np.maximum(pieces.log_p, pieces.log_q) > -690.0
            width = _room(pieces, edges)
            coarse = heavy & ((error > _ACCURACY) | (np.isfinite(seen) & (seen > width)))
            if trial == _ROUNDS or low.size > _MOST:
                coarse[:] = False
            done.append(
                (
                    low[~coarse],
                    high[~coarse],
                    replace(pieces.where(~coarse), slack=1e-13),
                )
            )
            if not coarse.any():
                break
            middle = 0.5 * (low + high)[coarse]
            low = np.concatenate((low[coarse], middle))
            high = np.concatenate((middle, high[coarse]))
        return (
            np.concatenate([part[0] for part in done]),
            np.concatenate([part[1] for part in done]),
            Pieces.join(*[part[2] for part in done]),
        )

    def _integrated(self, low: Floats, high: Floats, *, check: bool) -> tuple[Pieces, Floats]:
        """Masses and loss ranges of slices, and how far two rules disagree, relative to the mass."""
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
        # where both rules agreed on the whole, the coarse one is right on its halves
        rules = ((_NODES, _WEIGHTS), (_COARSE, _COARSE_WEIGHTS))[0 if check else 1 :]
        masses, errors, losses = [], [], None
        for density in (self.log_p, self.log_q):
            values = []
            for nodes, weights in rules:
                x = middle[:, None] + half[:, None] * nodes
                level = np.asarray(density(x.ravel()), dtype=np.float64).reshape(x.shape)
                peak = np.maximum(level.max(axis=1), -1e300)
                with np.errstate(divide="ignore", invalid="ignore"):
                    total = np.exp(level - peak[:, None]) @ weights
                    values.append(peak + np.log(total * half))
                if nodes is rules[0][0]:
                    losses = level if losses is None else losses - level
            with np.errstate(invalid="ignore"):
                gap = np.abs(np.expm1(values[-1] - values[0]))
            masses.append(np.where(values[0] < -1e299, -math.inf, values[0]))
            errors.append(np.where(np.isnan(gap), 0.0, gap))
        assert losses is not None
        lowest, highest = losses.min(axis=1), losses.max(axis=1)
        with np.errstate(invalid="ignore"):
            slack = 0.25 * (highest - lowest)
        both = np.isfinite(masses[0]) & np.isfinite(masses[1])
        low_end = np.where(
            both, lowest - slack, np.where(np.isfinite(masses[0]), math.inf, -math.inf)
        )
        high_end = np.where(both, highest + slack, low_end)
        # a merged loss that the nodes missed widens the range
        with np.errstate(invalid="ignore"):
            merged = np.where(both, masses[0] - masses[1], low_end)
        return (
            Pieces(masses[0], masses[1], np.minimum(low_end, merged), np.maximum(high_end, merged)),
            np.maximum(*errors),
        )

    def _starts(self) -> Floats:
        """Ends of the slices to begin with."""
        parts = [np.linspace(a, b, _FIRST + 1)[:-1] for a, b in pairwise(self.breaks)]
        return np.concatenate([*parts, [self.breaks[-1]]])

    @cached_property
    def _table(self) -> tuple[Pieces, float, float]:
        """Coarse slices, and the log of either total."""
        cuts = self._starts()
        _, _, pieces = self._slices(cuts[:-1], cuts[1:], _COARSE_EDGES)
        totals = []
        for name, masses in (("P", pieces.log_p), ("Q", pieces.log_q)):
            total = float(np.exp(masses).sum())
            if not abs(total - 1.0) < 1e-6:
                told = f"the density of {name} must integrate to 1 within 1e-6, got {total!r}"
                raise OutsideDomain(told, argument=f"log_{name.lower()}")
            totals.append(math.log(total))
        return pieces, totals[0], totals[1]

    def span(self, log_mass: float) -> tuple[float, float]:
        pieces, _, _ = self._table
        kept = np.isfinite(pieces.low) & np.isfinite(pieces.high) & (pieces.log_p > log_mass)
        return float(pieces.low[kept].min()), float(pieces.high[kept].max())

    def pieces(self, edges: Floats, *, upper: bool) -> Pieces:
        """Slices whose losses stay within a third of the distance between edges."""
        _, whole_p, whole_q = self._table
        starts = self._starts()
        _, _, pieces = self._slices(starts[:-1], starts[1:], edges)
        return Pieces(
            pieces.log_p - whole_p, pieces.log_q - whole_q, pieces.low, pieces.high, pieces.slack
        )

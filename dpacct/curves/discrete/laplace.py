"""The Laplace mechanism's loss, cut into pieces in closed form."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpacct.engine.discrete.pieces import NO_LOSSES, Pieces
from dpacct.engine.stable import Floats

# ends and middles of losses are off by this, relative to the largest
_EXACT = 4e-16


@dataclass(frozen=True)
class LaplaceSource:
    """Scale b: with lam = 1/b, atoms at -lam and lam, and Q-density e^{-(lam+l)/2}/4 between.

    Not `ends`: without the atoms, and the density scaled up to 1 (a bounded-range step).
    """

    b: float
    ends: bool = True

    only_atoms = False
    bracketed = False

    @property
    def least(self) -> float:
        return -1.0 / self.b

    @property
    def atoms(self) -> Floats:
        return np.array([-1.0 / self.b, 1.0 / self.b]) if self.ends else NO_LOSSES

    def span(self, log_mass: float) -> tuple[float, float]:
        return -1.0 / self.b, 1.0 / self.b

    def pieces(self, edges: Floats, *, upper: bool) -> Pieces:
        lam = 1.0 / self.b
        ends = np.concatenate(([-lam], edges[(edges > -lam) & (edges < lam)], [lam]))
        low, high = ends[:-1], ends[1:]
        # neighbouring doubles subtract exactly
        with np.errstate(divide="ignore"):
            width = np.log(-np.expm1(0.5 * (low - high))) - math.log(2.0) - 0.5 * lam
        if not self.ends:
            width += math.log(2.0) - math.log(-math.expm1(-lam))
        # e^{(l - lam)/2}/4 under P: P and Q differ by the loss in the middle, (low + high)/2
        middle = 0.5 * (low + high)
        dense = Pieces(
            width + 0.5 * high,
            width - 0.5 * low,
            low,
            high,
            slip=_EXACT * lam,
            loss=middle,
            unsure=_EXACT * lam,
        )
        if not self.ends:
            return dense
        both = np.array([-lam - math.log(2.0), -math.log(2.0)])
        return Pieces.join(dense, Pieces.points(self.atoms, both, _EXACT * max(1.0, lam)))

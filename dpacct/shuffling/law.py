"""The loss law of a shuffle: moments from its table, everything else by the lattice."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpacct.curves.source_law import SourceLaw
from dpacct.engine.law import Cumulants

from .source import ShuffleSource


@dataclass(frozen=True)
class ShuffleLaw(SourceLaw):
    """As `SourceLaw`; but what lies beyond the table is no infinite loss: no loss exceeds eps0.

    So its Renyi divergences are finite at every order: sums over the table, which for an upper table are
    upper bounds of the shuffle's.
    """

    of: ShuffleSource

    @property
    def variance_hint(self) -> float:
        """E[L^2], about."""
        table = self.of.table
        return float(table.p @ np.square(table.losses))

    def cumulants(self, c: float) -> Cumulants:
        """The log moment, rounded up, with what the table leaves out."""
        table, (losses, logs) = self.of.table, self.of.left
        losses = np.concatenate((table.losses, losses))
        level = np.concatenate((table.log_p, logs)) + c * losses
        top = float(level.max())
        weights = np.exp(level - top)
        total = float(weights.sum())
        mean = float(weights @ losses) / total
        variance = float(weights @ np.square(losses - mean)) / total
        charge = table.rounding + 1e-15 * (4.0 + abs(c) * self.of.of.largest_loss)
        return Cumulants(top + math.log(total) + charge, mean, variance)

"""A law of losses offset + step k, with masses that need not sum to one, and a mass at infinity."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpacct.engine.law import Cumulants
from dpacct.engine.stable import Floats


@dataclass(frozen=True, eq=False)
class LatticeLaw:
    """P-masses at the losses offset + step (first + stride i), i = 0, 1, ..., and at +infinity.

    The profile of such a measure, sum of mass (1 - e^{eps - loss})_+, lies on one side of the truth's;
    its total may differ from 1 (docs/theory/lattice.md, Composition).
    """

    offset: float
    step: float
    first: int
    stride: int
    masses: Floats
    infinite: float

    @property
    def indices(self) -> Floats:
        """k of each loss, as floats."""
        return self.first + self.stride * np.arange(self.masses.size, dtype=np.float64)

    @cached_property
    def losses(self) -> Floats:
        return np.asarray(self.offset + self.step * self.indices)

    @cached_property
    def log_masses(self) -> Floats:
        with np.errstate(divide="ignore"):
            return np.log(self.masses)

    def tilted(self, c: float) -> tuple[Floats, float]:
        """Masses times e^{c loss}, normalised, and the log of what they were divided by."""
        level = self.log_masses + c * self.losses
        peak = float(level.max())
        if peak == -math.inf:
            return np.zeros(self.masses.shape), -math.inf
        tilted = np.exp(level - peak)
        total = float(tilted.sum())
        return tilted / total, peak + math.log(total)

    def cumulants(self, c: float) -> Cumulants:
        """log of the moment at c, mean and variance of the tilted losses; finite losses only."""
        weights, log_moment = self.tilted(c)
        mean = float(weights @ self.losses)
        return Cumulants(log_moment, mean, float(weights @ np.square(self.losses - mean)))

    def log_moments(self, cs: Floats) -> Floats:
        """log of the moment at each tilt."""
        return np.array([self.tilted(c)[1] for c in cs.tolist()])

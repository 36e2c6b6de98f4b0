"""A law of losses offset + step k, with masses that need not sum to one, and what lies above them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dpacct.engine.law import Cumulants
from dpacct.engine.stable import Floats

Places = npt.NDArray[np.int64]


def dot(a: Floats, b: Floats) -> float:
    """The sum of products, pairwise and on one core: a library's own waits for others."""
    return float((a * b).sum())


@dataclass(frozen=True, eq=False)
class LatticeLaw:
    """P-masses at the losses offset + step k for increasing whole k, and at +infinity.

    The profile of such a measure, sum of mass (1 - e^{eps - loss})_+, lies on one side of the truth's;
    its total may differ from 1 (docs/theory/lattice.md, Composition). `decided` is set apart: P- and
    Q-mass of the losses above the last node, where these are known to settle the matter alone. `between`:
    for each cell, four times the variance that splitting its mass has added, over the square of its width.
    """

    offset: float
    step: float
    places: Places
    masses: Floats
    infinite: float
    decided: tuple[float, float] = (0.0, 0.0)
    between: Floats | None = None

    @cached_property
    def losses(self) -> Floats:
        return np.asarray(self.offset + self.step * self.places)

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
        mean = dot(weights, self.losses)
        return Cumulants(log_moment, mean, dot(weights, np.square(self.losses - mean)))

    def log_moments(self, cs: Floats) -> Floats:
        """log of the moment at each tilt."""
        return np.array([self.tilted(c)[1] for c in cs.tolist()])

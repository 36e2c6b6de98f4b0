"""The law made from a source alone: it has no contour, and its moments are those of an upper lattice law."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dpacct.engine.law import NO_ATOMS, Bend, Cumulants, TooFine
from dpacct.engine.stable import Complexes, Floats
from dpacct.pld.grid import Grid, GridLaw, pessimistic
from dpacct.pld.pieces import Source

# nodes of the lattice that moments are taken from, and P-mass at its ends
_NODES = 1 << 14
_RARE = -745.0


@lru_cache(maxsize=64)
def _lattice(source: Source) -> GridLaw:
    low, high = source.span(_RARE)
    if not high > low:
        high = low + 1e-6 * (1.0 + abs(low))
    step = (high - low) / (_NODES - 3)
    grid = Grid.uniform(low - step, step, 0, 1, _NODES)
    return pessimistic(source.pieces(grid.nodes, upper=True), grid)


@dataclass(frozen=True)
class SourceLaw:
    """Loss law of a source, for everything but contours: those raise `TooFine`, so the lattice answers.

    Moments are upper bounds (the lattice law's profile lies above); an infinite loss makes them inf.
    """

    of: Source

    has_contour = False
    loss = None
    infinite_mass = 0.0
    lost_mass = 0.0
    has_density = True
    atoms = NO_ATOMS
    tilt_hint = math.inf

    def source(self) -> Source:
        return self.of

    @property
    def largest_loss(self) -> float:
        # also where losses are bounded: the lattice route finds out
        return math.inf

    @property
    def variance_hint(self) -> float:
        return _lattice(self.of).cumulants(0.0).variance

    def prepare(self, c_low: float, c_high: float, reach: float = math.inf) -> SourceLaw:
        return self

    def cumulants(self, c: float) -> Cumulants:
        law = _lattice(self.of)
        if law.infinite > 1e-300 and c > 0.0:
            return Cumulants(math.inf, math.inf, math.inf)
        return Cumulants(*law.cumulants(c))

    def log_moments(self, cs: Floats) -> Floats:
        return np.array([self.cumulants(c).log_moment for c in cs.tolist()])

    def centred_log_ratio(self, c: float, z: Complexes) -> Complexes:
        raise TooFine

    def bend(self, c: float, reach: float = math.inf) -> Bend | None:
        return None

    def cut_weight(self, c: float) -> float:
        return 0.0

    def log_one_step(self, epsilon: float) -> tuple[float, float] | None:
        return None

    def epsilon_one_step(self, log_target: float) -> tuple[float, float] | None:
        return None

    def density_profile(self, epsilons: Floats) -> tuple[Floats, Floats]:
        raise TooFine

"""Which tilt and how many nodes a lattice takes: floats, no proof."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from dpacct.errors import NotCertified
from dpacct.pld.stable import Floats

from .balls import precision
from .effort import SEARCH, lattice_cost, spend
from .floats import log_payoff_peak
from .lattice import MOST_NODES, Lattice, Period, places
from .search import Aim, period_for
from .step import Step

FORM = "lattice"
_HEIGHT = 60.0  # nats above the least moment bound at which a tilt is still looked at
_SHARES = np.array([0.02, 0.05, 0.1, 0.2, 0.3, 0.45, 0.65, 0.9])


class LatticeSeeker:
    """The losses of a composition in floats."""

    def __init__(self, steps: Sequence[tuple[Step, int]]) -> None:
        self.steps = steps
        with precision(96):
            where = places(steps)
            if where is None:
                raise NotCertified("the losses are on no lattice: the value is withheld")
            self._base, self._unit = float(where.base.mid()), float(where.unit.mid())
            self._laws = [
                (
                    self._unit * np.array([float(j) for j, _ in points]),
                    np.array([float(mass.log().mid()) for _, mass in points]),
                    count,
                )
                for points, count in where.laws
            ]
        self._atoms = sum(x.size for x, _, _ in self._laws)
        self.log_delta: float | None = None

    def log_moments(self, cs: Floats) -> Floats:
        """log M."""
        total: Floats = cs * self._base
        for x, log_p, count in self._laws:
            terms = np.multiply.outer(cs, x) + log_p
            top = terms.max(axis=1)
            total = total + count * (top + np.log(np.exp(terms - top[:, None]).sum(axis=1)))
        return total

    def bounds(self, cs: Floats, epsilon: float) -> Floats:
        """Log of the moment bound at each tilt, eq. (10)."""
        return np.asarray(self.log_moments(cs) - cs * epsilon + log_payoff_peak(cs))

    def _tilts(self) -> Floats:
        return np.asarray(np.geomspace(1e-4, 3e3, 240) / self._unit)

    def propose(
        self, epsilon: float, log_delta: float | None, nats: float
    ) -> tuple[dict[str, Any], Lattice]:
        """Evidence, and the period built from it."""
        spend(SEARCH)
        tilts = self._tilts()
        bounds = self.bounds(tilts, epsilon)
        if log_delta is None:  # a little below the least moment bound
            log_delta = float(bounds.min()) - 2.0
        near = tilts[bounds < bounds.min() + _HEIGHT]
        choices = [
            self._at(float(c), epsilon, log_delta, nats) for c in near[:: 1 + near.size // 20]
        ]
        _, chosen, bits = min(choices, key=lambda choice: choice[0])
        if chosen["nodes"] > MOST_NODES:
            raise NotCertified("the lattice has too many points: the value is withheld")
        period = Period(**chosen)
        spend(lattice_cost(period.nodes, self._atoms, bits))
        with precision(bits):
            lattice = Lattice(self.steps, period)
        return {"form": FORM, "bits": bits, "period": asdict(period)}, lattice

    def _at(
        self, c: float, epsilon: float, log_delta: float, nats: float
    ) -> tuple[float, dict[str, Any], int]:
        """(cost, choice, bits) of one tilt."""
        aim = Aim(epsilon, log_delta, nats)

        def bounds(tilts: Floats) -> Floats:
            return self.bounds(tilts, epsilon)

        ups = c * np.append(_SHARES, (1.5, 3.0))
        period, up, down = period_for(bounds, c, ups, c * _SHARES, aim)
        nodes = 1 << max(3, math.ceil(math.log2(max(8.0, period / self._unit))))
        chosen = {"c": c, "nodes": nodes, "up": up, "down": down}
        height = float(self.log_moments(np.array([c]))[0]) - c * epsilon
        # near s = 0 the kernel is large, and its two halves cancel
        lost = max(0.0, height - log_delta) + 2.0 * max(0.0, -math.log(c * self._unit))
        most = max(count for _, _, count in self._laws)
        bits = 64 + math.ceil(
            (nats + 2.0 + lost + math.log(most) + math.log(nodes)) / math.log(2.0)
        )
        return nodes * (1.0 + bits / 256.0), chosen, bits

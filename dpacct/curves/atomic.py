"""Pairs on finitely many outcomes: opaque guarantees, randomised response."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpacct.engine.law import Atoms, Bend, Nodes, QuadratureFamily
from dpacct.engine.stable import Complexes, Floats
from dpacct.vocabulary import Adjacency

from .pairs import Pairs

_KAIROUZ = "Kairouz, Oh, Viswanath 2015, Theorem 3.3: every (epsilon, delta)-DP step is post-processed randomised response"


@dataclass(frozen=True)
class AtomicLaw:
    """Finitely many losses; both distributions renormalised to where they are both positive."""

    losses: tuple[float, ...]
    log_masses: tuple[float, ...]
    infinite_mass: float = 0.0
    lost_mass: float = 0.0

    has_density = False
    tilt_hint = math.inf
    cuttable = None
    plain_frequency = math.inf

    @classmethod
    def of(cls, p: list[float], q: list[float]) -> AtomicLaw:
        """The law of log p/q under p; outcomes of equal loss are merged."""
        infinite = sum(a for a, b in zip(p, q, strict=True) if b == 0.0)
        lost = sum(b for a, b in zip(p, q, strict=True) if a == 0.0)
        merged: dict[float, float] = {}
        for a, b in zip(p, q, strict=True):
            if a > 0.0 and b > 0.0:
                loss = math.log(a / (1.0 - infinite)) - math.log(b / (1.0 - lost))
                merged[loss] = merged.get(loss, 0.0) + a / (1.0 - infinite)
        losses = sorted(merged)
        return cls(tuple(losses), tuple(math.log(merged[x]) for x in losses), infinite, lost)

    @property
    def atoms(self) -> Atoms:
        return Atoms(np.array(self.losses), np.array(self.log_masses))

    @property
    def variance_hint(self) -> float:
        return float(np.exp(self.log_masses) @ np.square(self.losses))

    def prepare(self, c_low: float, c_high: float, reach: float = math.inf) -> QuadratureFamily:
        return QuadratureFamily(self, c_low, c_high, reach)

    def nodes(self, c_low: float, c_high: float, t: float, reach: float = math.inf) -> Nodes:
        return Nodes(np.array(self.losses), np.array(self.log_masses))

    def damped_nodes(
        self, c: float, z: Complexes, reach: float
    ) -> tuple[Complexes, Complexes]:
        return np.array(self.losses, dtype=complex), np.array(self.log_masses, dtype=complex)

    def bend(self, c: float, reach: float) -> Bend | None:
        return None

    def log_one_step(self, epsilon: float) -> tuple[float, float] | None:
        total = sum(
            math.exp(mass) * -math.expm1(epsilon - loss)
            for loss, mass in zip(self.losses, self.log_masses, strict=True)
            if loss > epsilon
        )
        return (math.log(total), 1e-15) if total > 0.0 else (-math.inf, 0.0)

    def epsilon_one_step(self, log_target: float) -> tuple[float, float] | None:
        return None

    def density_profile(self, epsilons: Floats) -> tuple[Floats, Floats]:
        return np.zeros(epsilons.shape), np.zeros(epsilons.shape)


@dataclass(frozen=True)
class AtomicPair:
    """Outcome probabilities (p, q) of a symmetric pair: swapping p and q permutes the outcomes."""

    p: tuple[float, ...]
    q: tuple[float, ...]

    @classmethod
    def pure(cls, epsilon: float) -> AtomicPair:
        return cls.approximate(epsilon, 0.0)

    @classmethod
    def approximate(cls, epsilon: float, delta: float) -> AtomicPair:
        """Randomised response at epsilon, beside an open failure of probability delta each way."""
        high = (1.0 - delta) / (1.0 + math.exp(-epsilon))
        low = (1.0 - delta) * math.exp(-epsilon) / (1.0 + math.exp(-epsilon))
        return cls((delta, high, low, 0.0), (0.0, low, high, delta))

    def _clt(self, p: list[float], q: list[float]) -> float:
        return AtomicLaw.of(p, q).variance_hint

    def plain(self) -> Pairs:
        law = AtomicLaw.of(list(self.p), list(self.q))
        return Pairs((law,), (_KAIROUZ,), clt_mu_squared=law.variance_hint)

    def poisson(self, rate: float, adjacency: Adjacency) -> Pairs:
        mixed = [(1.0 - rate) * b + rate * a for a, b in zip(self.p, self.q, strict=True)]
        if adjacency is Adjacency.REPLACE_ONE:
            upper = self._symmetric(rate)
            return Pairs(
                (upper,), (_KAIROUZ,), (AtomicLaw.of(mixed, list(self.q)),), upper.variance_hint
            )
        laws = (AtomicLaw.of(mixed, list(self.q)), AtomicLaw.of(list(self.q), mixed))
        return Pairs(laws, (_KAIROUZ,), clt_mu_squared=laws[0].variance_hint)

    def _symmetric(self, rate: float) -> AtomicLaw:
        """C_rate: outcomes that favour p, their mirror images, and no evidence for the rest."""
        favoured = [(a, b) for a, b in zip(self.p, self.q, strict=True) if a > b]
        high = [rate * a + (1.0 - rate) * b for a, b in favoured]
        low = [b for _, b in favoured]
        rest = 1.0 - sum(high) - sum(low)
        return AtomicLaw.of([*high, *low, max(rest, 0.0)], [*low, *high, max(rest, 0.0)])

    def without_replacement(self, rate: float, adjacency: Adjacency) -> Pairs:
        upper = self._symmetric(rate)
        mixed = [(1.0 - rate) * b + rate * a for a, b in zip(self.p, self.q, strict=True)]
        lower = (AtomicLaw.of(mixed, list(self.q)), AtomicLaw.of(list(self.q), mixed))
        return Pairs((upper,), (_KAIROUZ,), lower, upper.variance_hint)

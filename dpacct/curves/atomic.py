"""Pairs on finitely many outcomes: opaque guarantees, randomised response."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpacct.engine.law import Atoms, Bend, Nodes, QuadratureFamily
from dpacct.engine.stable import Complexes, Floats, log_sum_exp
from dpacct.errors import OutsideDomain
from dpacct.pld.loss import LossDistribution
from dpacct.pld.pieces import Cut, Source
from dpacct.vocabulary import Adjacency

from .amplify import Direction
from .pairs import FIXED_SIZE, POISSON, Pairs

_LARGEST = 700.0
_KAIROUZ = (
    "Kairouz, Oh, Viswanath 2015, Theorem 3.3: every (epsilon, delta)-DP step is post-processed "
    "randomised response"
)


@dataclass(frozen=True)
class AtomicLaw:
    """Finitely many losses; both distributions renormalised to where they are both positive."""

    losses: tuple[float, ...]
    log_masses: tuple[float, ...]
    infinite_mass: float = 0.0
    lost_mass: float = 0.0

    has_density = False
    tilt_hint = math.inf
    plain_frequency = math.inf

    @classmethod
    def of(
        cls, losses: list[float], masses: list[float], infinite: float = 0.0, lost: float = 0.0
    ) -> AtomicLaw:
        """Losses and P-masses of the finite outcomes; P and Q are renormalised to them."""
        shift = math.log1p(-infinite) - math.log1p(-lost)
        merged: dict[float, float] = {}
        for loss, mass in zip(losses, masses, strict=True):
            if mass > 0.0:
                merged[loss - shift] = merged.get(loss - shift, 0.0) + mass / (1.0 - infinite)
        ordered = sorted(merged)
        return cls(tuple(ordered), tuple(math.log(merged[x]) for x in ordered), infinite, lost)

    @cached_property
    def atoms(self) -> Atoms:
        return Atoms(np.array(self.losses), np.array(self.log_masses))

    @cached_property
    def loss(self) -> LossDistribution:
        """The same as a loss distribution, of mass 1 both ways."""
        return LossDistribution(self.atoms.losses, self.atoms.log_masses - self.atoms.losses)

    @property
    def largest_loss(self) -> float:
        return max(self.losses)

    @cached_property
    def variance_hint(self) -> float:
        return float(np.exp(self.log_masses) @ np.square(self.losses))

    def prepare(self, c_low: float, c_high: float, reach: float = math.inf) -> QuadratureFamily:
        return QuadratureFamily(self, c_low, c_high, reach)

    def nodes(self, c_low: float, c_high: float, t: float, reach: float = math.inf) -> Nodes:
        return Nodes(self.atoms.losses, self.atoms.log_masses)

    def damped_nodes(self, c: float, z: Complexes, reach: float) -> tuple[Complexes, Complexes]:
        return self.atoms.losses.astype(complex), self.atoms.log_masses.astype(complex)

    def bend(self, c: float, reach: float) -> Bend | None:
        return None

    def log_one_step(self, epsilon: float) -> tuple[float, float] | None:
        kept = self.atoms.losses > epsilon
        if not kept.any():
            return -math.inf, 0.0
        losses, masses = self.atoms.losses[kept], self.atoms.log_masses[kept]
        return log_sum_exp(masses + np.log(-np.expm1(epsilon - losses))), 1e-14

    def epsilon_one_step(self, log_target: float) -> tuple[float, float] | None:
        return None

    def density_profile(self, epsilons: Floats) -> tuple[Floats, Floats]:
        return np.zeros(epsilons.shape), np.zeros(epsilons.shape)

    def source(self) -> Source:
        kept, held = math.log1p(-self.infinite_mass), math.log1p(-self.lost_mass)
        losses = np.asarray(self.atoms.losses + (kept - held), float)
        log_q = np.asarray(self.atoms.log_masses - self.atoms.losses + held, float)
        return Cut(
            LossDistribution(losses, log_q, infinite=self.infinite_mass, lost=self.lost_mass)
        )


@dataclass(frozen=True)
class AtomicPair:
    """A symmetric pair: outcomes of loss +-l for each l of `losses`, with Q-masses, and open failures.

    `masses` are the Q-masses of the outcomes of loss +l; those of loss -l weigh e^l as much. With
    probability `failure` each distribution yields an outcome that the other never does.
    """

    losses: tuple[float, ...]
    masses: tuple[float, ...]
    failure: float = 0.0

    @classmethod
    def pure(cls, epsilon: float) -> AtomicPair:
        """Randomised response at epsilon."""
        return cls.approximate(epsilon, 0.0)

    @classmethod
    def approximate(cls, epsilon: float, delta: float) -> AtomicPair:
        """Randomised response at epsilon, beside an open failure of probability delta each way.

        Raises `OutsideDomain` where e^-epsilon leaves the range of floats.
        """
        if epsilon > _LARGEST:
            told = f"epsilon of a release must be at most {_LARGEST:g}, got {epsilon:g}"
            raise OutsideDomain(told, argument="epsilon")
        shrink = math.exp(-epsilon)
        return cls((epsilon,), ((1.0 - delta) * shrink / (1.0 + shrink),), delta)

    def _outcomes(self) -> list[tuple[float, float]]:
        """(loss, Q-mass) of every outcome that both distributions yield."""
        pairs = list(zip(self.losses, self.masses, strict=True))
        return pairs + [(-loss, mass * math.exp(loss)) for loss, mass in pairs]

    def _law(self, direction: Direction, rate: float = 1.0) -> AtomicLaw:
        outcomes, failure = self._outcomes(), self.failure
        if direction is Direction.PLAIN:
            losses = [loss for loss, _ in outcomes]
            masses = [mass * math.exp(loss) for loss, mass in outcomes]
            return AtomicLaw.of(losses, masses, failure, failure)
        ratios = [(math.log1p(rate * math.expm1(loss)), mass) for loss, mass in outcomes]
        absent = math.log1p(-rate) if rate < 1.0 else -math.inf  # loss where only Q yields
        if direction is Direction.SYMMETRIC:
            favoured = [(r, mass) for r, mass in ratios if r > 0.0]
            losses = [r for r, _ in favoured] + [-r for r, _ in favoured] + [0.0]
            masses = [mass * math.exp(r) for r, mass in favoured] + [mass for _, mass in favoured]
            rest = 1.0 - sum(masses) - rate * failure
            return AtomicLaw.of(losses, [*masses, max(rest, 0.0)], rate * failure, rate * failure)
        if failure and rate < 1.0:
            ratios.append((absent, failure))
        if direction is Direction.REMOVE:
            losses, masses = [r for r, _ in ratios], [m * math.exp(r) for r, m in ratios]
            lost = failure if rate == 1.0 else 0.0
            return AtomicLaw.of(losses, masses, rate * failure, lost)
        infinite = failure if rate == 1.0 else 0.0
        losses, masses = [-r for r, _ in ratios], [m for _, m in ratios]
        return AtomicLaw.of(losses, masses, infinite, rate * failure)

    def plain(self) -> Pairs:
        """One step without sampling."""
        law = self._law(Direction.PLAIN)
        return Pairs((law,), (_KAIROUZ,), clt_mu_squared=law.variance_hint)

    def poisson(self, rate: float, adjacency: Adjacency) -> Pairs:
        """One step on a Poisson sample."""
        if adjacency is Adjacency.REPLACE_ONE:
            return self.without_replacement(rate, adjacency)
        laws = (self._law(Direction.REMOVE, rate), self._law(Direction.ADD, rate))
        return Pairs(laws, (_KAIROUZ, POISSON), clt_mu_squared=laws[0].variance_hint)

    def without_replacement(self, rate: float, adjacency: Adjacency) -> Pairs:
        """One step on a sample of fixed size; some mechanism realises the lower pair."""
        upper = self._law(Direction.SYMMETRIC, rate)
        lower = (self._law(Direction.REMOVE, rate), self._law(Direction.ADD, rate))
        return Pairs((upper,), (_KAIROUZ, FIXED_SIZE), lower, upper.variance_hint)

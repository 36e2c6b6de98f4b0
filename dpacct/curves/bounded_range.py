"""The pair that dominates every mechanism of bounded range, such as the exponential mechanism.

All losses of such a mechanism lie in some [t - eta, t], 0 <= t <= eta (Durfee, Rogers 2019), and the
worst for given t has only those two (Dong, Durfee, Rogers 2020). Its profile, for t - eta <= eps <= t, is
(e^-t - e^-eta)(e^t - e^eps) / (1 - e^-eta), largest at t = (eps + eta)/2, so that over all t

    delta(eps) = (1 - e^{(eps - eta)/2})^2 / (1 - e^-eta),       -eta <= eps <= eta.

This is the profile of one pair, with Q-density e^{-l/2} / (4 sinh(eta/2)) of the loss l on [-eta, eta]:
the continuous part of the Laplace pair at 1/b = eta, without its atoms. It dominates every t at once, so
also a sequence of steps that chooses t adaptively.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpacct.engine.law import NO_ATOMS, Atoms, Law, Nodes
from dpacct.engine.stable import Complexes, Floats
from dpacct.vocabulary import Adjacency

from .amplify import Direction, amplified
from .atomic import AtomicLaw, AtomicPair
from .laplace import LaplaceLaw
from .pairs import FIXED_SIZE, POISSON, Pairs

_BASIS = (
    "Dong, Durfee, Rogers 2020: losses of a bounded-range step; the two-point pairs' largest "
    "profile is one pair (upper), a two-point pair repeated (lower)"
)
# places of the two-point pair tried for the lower end, as shares of eta; half is best for many steps
_PLACES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.97, 0.995, 0.9995)


@dataclass(frozen=True)
class BoundedRangeLaw(LaplaceLaw):
    """Loss law of one release; eta = 1/b."""

    @property
    def _weight(self) -> float:
        """Density over that of the Laplace pair's continuous part."""
        return 2.0 / -math.expm1(-self.lam)

    @cached_property
    def atoms(self) -> Atoms:
        if self.direction is not Direction.SYMMETRIC or self.rate == 1.0:
            return NO_ATOMS
        rest = (1.0 - self.rate) * math.tanh(0.25 * self.lam)
        return Atoms(np.zeros(1), np.array([math.log(rest)]))

    @property
    def largest_loss(self) -> float:
        if self.direction is Direction.PLAIN:
            return self.lam
        sign = -1.0 if self.direction is Direction.ADD else 1.0
        return sign * math.log1p(self.rate * math.expm1(sign * self.lam))

    def nodes(self, c_low: float, c_high: float, t: float, reach: float = math.inf) -> Nodes:
        nodes = super().nodes(c_low, c_high, t, reach)
        weights = nodes.log_weights.copy()
        weights[: weights.size - self.atoms.losses.size] += math.log(self._weight)
        return Nodes(nodes.losses, weights)

    def damped_nodes(self, c: float, z: Complexes, reach: float) -> tuple[Complexes, Complexes]:
        losses, weights = super().damped_nodes(c, z, reach)
        weights = weights.copy()
        weights[: weights.size - self.atoms.losses.size] += math.log(self._weight)
        return losses, weights

    def _whole(self, e: Floats) -> tuple[Floats, Floats]:
        """Profile and derivative of the plain pair."""
        lam = self.lam
        inside = np.clip(e, -lam, lam)
        rest = -np.expm1(0.5 * (inside - lam))
        below = e < -lam
        growth = np.exp(np.minimum(e, 0.0))
        weight = 0.5 * self._weight
        value = np.where(below, -np.expm1(np.minimum(e, 0.0)), weight * rest * rest)
        inner = np.where(e >= lam, 0.0, -weight * rest * (1.0 - rest))
        return value, np.where(below, -growth, inner)

    def density_profile(self, epsilons: Floats) -> tuple[Floats, Floats]:
        half = math.exp(-0.5 * self.lam)
        mass = (1.0 / (1.0 + half), half / (1.0 + half))
        return amplified(self._whole, mass, self.rate, self.direction, epsilons)

    def log_one_step(self, epsilon: float) -> tuple[float, float] | None:
        value = float(self.density_profile(np.array([epsilon]))[0][0])
        if epsilon < 0.0 and self.atoms.losses.size:
            value -= math.exp(float(self.atoms.log_masses[0])) * math.expm1(epsilon)
        return (math.log(value), 4e-15) if value > 0.0 else (-math.inf, 0.0)


@dataclass(frozen=True)
class BoundedRangePair:
    """Any mechanism of range `eta` > 0."""

    eta: float

    def _law(self, direction: Direction, rate: float = 1.0) -> BoundedRangeLaw:
        return BoundedRangeLaw(1.0 / self.eta, rate, direction)

    def _two_points(self, share: float) -> AtomicLaw:
        """Losses t and t - eta, t = share * eta."""
        t, eta = share * self.eta, self.eta
        # P(t) = e^t Q(t), Q(t) = (e^-t - e^-eta) / (1 - e^-eta)
        high = math.expm1(t - eta) / math.expm1(-eta)
        low = math.expm1(-t) / math.expm1(-eta) * math.exp(t - eta)
        return AtomicLaw.of([t, t - eta], [high, low])

    def plain(self) -> Pairs:
        law = self._law(Direction.PLAIN)
        lower = tuple(self._two_points(share) for share in _PLACES)
        return Pairs((law,), (_BASIS,), lower, law.variance_hint)

    def poisson(self, rate: float, adjacency: Adjacency) -> Pairs:
        near = AtomicPair.pure(0.5 * self.eta)  # the two-point pair in the middle
        lower = near.poisson(rate, Adjacency.ADD_REMOVE).upper
        if adjacency is Adjacency.REPLACE_ONE:
            return self._fixed(rate, lower)
        remove, add = self._law(Direction.REMOVE, rate), self._law(Direction.ADD, rate)
        return Pairs((remove, add), (_BASIS, POISSON), lower, remove.variance_hint)

    def without_replacement(self, rate: float, adjacency: Adjacency) -> Pairs:
        lower = AtomicPair.pure(0.5 * self.eta).poisson(rate, Adjacency.ADD_REMOVE).upper
        return self._fixed(rate, lower)

    def _fixed(self, rate: float, lower: tuple[Law, ...]) -> Pairs:
        upper = self._law(Direction.SYMMETRIC, rate)
        return Pairs((upper,), (_BASIS, FIXED_SIZE), lower, upper.variance_hint)

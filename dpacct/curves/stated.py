"""Loss distributions as laws of the engine, and what sampling makes of a pair: one table of operators."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from dpacct.engine.law import (
    Atoms,
    Bend,
    Cumulants,
    Family,
    Law,
    NodeSource,
    QuadratureFamily,
)
from dpacct.engine.stable import Complexes, Floats
from dpacct.pld import contour
from dpacct.pld.loss import LossDistribution
from dpacct.pld.moments import Moments, NormalMoments, prepare
from dpacct.pld.pieces import Cut, Source
from dpacct.pld.stable import TooFine
from dpacct.vocabulary import Adjacency

from .amplify import Direction, amplified_distribution
from .pairs import FIXED_SIZE, POISSON, Pairs


@dataclass(frozen=True)
class StatedFamily:
    """Moments of a loss distribution, as the engine reads them."""

    of: Moments

    @property
    def node_count(self) -> int:
        """What one moment costs, in nodes."""
        return self.of.node_count

    def cumulants(self, c: float) -> Cumulants:
        found = self.of.cumulants(c)
        return Cumulants(found.log_moment, found.mean, found.variance)

    def log_moments(self, cs: Floats) -> Floats:
        return self.of.log_moments(cs)

    def centred_log_ratio(self, c: float, z: Complexes) -> Complexes:
        return self.of.log_ratio(c, z)

    def bend(self, c: float) -> Bend | None:
        lean = self.of.lean(c)
        if isinstance(self.of, NormalMoments):  # e^{mu^2 z^2/2} decays to either side
            return Bend(0.0, lean)
        return Bend(math.copysign(1.0, lean), abs(lean)) if lean else None

    def cut_weight(self, c: float) -> float:
        return 0.0


class FarRule(NodeSource, Protocol):
    """A rule of the engine, for tilts and tails that those of loss distributions do not reach."""

    @property
    def tilt_hint(self) -> float: ...


@dataclass(frozen=True)
class StatedLaw:
    """One direction of one release: finite losses only, of mass 1 under both distributions."""

    loss: LossDistribution
    direction: Direction = Direction.PLAIN
    rate: float = 1.0
    far: FarRule | None = None

    infinite_mass = 0.0
    lost_mass = 0.0

    def __hash__(self) -> int:
        return hash((self.loss, self.direction, self.rate))

    @property
    def has_density(self) -> bool:
        return bool(self.loss.branches)

    @property
    def tilt_hint(self) -> float:
        return math.inf if self.far is None else self.far.tilt_hint

    @cached_property
    def atoms(self) -> Atoms:
        loss = self.loss
        if loss.branches and not loss.losses.any():
            # what has no loss lies below every epsilon, and no contour minds it
            return Atoms(np.empty(0), np.empty(0))
        return Atoms(loss.losses, loss.log_p)

    @property
    def log_rest(self) -> float:
        """Log of the mass without a loss."""
        still = self.loss.losses == 0.0
        return float(self.loss.log_q[still][0]) if still.any() else -math.inf

    @property
    def largest_loss(self) -> float:
        return self.loss.range[1]

    @property
    def variance_hint(self) -> float:
        return self.loss.variance

    def prepare(self, c_low: float, c_high: float, reach: float = math.inf) -> Family:
        if self.far is not None:
            return QuadratureFamily(self.far, c_low, c_high, reach)
        return StatedFamily(prepare(self.loss, c_low, c_high))

    def log_one_step(self, epsilon: float) -> tuple[float, float] | None:
        found = contour.log_delta([(self.loss, 1)], epsilon)
        return (found.value, found.error) if found.resolved else None

    def epsilon_one_step(self, log_target: float) -> tuple[float, float] | None:
        found = contour.epsilon([(self.loss, 1)], log_target)
        return (found.value, found.error) if found.resolved else None

    def density_profile(self, epsilons: Floats) -> tuple[Floats, Floats]:
        value, fall = self.loss.profile(epsilons, atoms=False)
        return value, -fall

    def source(self) -> Source:
        return Cut(self.loss)


def second_moment(law: LossDistribution) -> float:
    """E[L^2]."""
    found = prepare(law, 0.0, 1.0).cumulants(0.0)
    return found.variance + found.mean**2


@dataclass(frozen=True)
class StatedPair:
    """A mechanism's base pair (with the unit, without it), which is its own mirror image.

    `near`: the pair at half the distance, of a unit that is absent or present
    where two are exchanged; None: the pair itself. `below`: laws that the mechanism surely dominates at a
    rate, where the pair is only a bound of it; None: it is realised. `limit`: mu^2 of one step of the
    Gaussian limit, by operator and rate; None: the second moment of the loss. `check` raises `OutsideDomain`
    where a sample of it is out of reach. `far`: the engine's rules for what contours refuse.
    """

    loss: LossDistribution
    basis: tuple[str, ...]
    poisson_basis: tuple[str, ...] = (POISSON,)
    fixed_basis: tuple[str, ...] = (FIXED_SIZE,)
    near: Callable[[], StatedPair] | None = None
    below: Callable[[float], tuple[Law, ...]] | None = None
    limit: Callable[[Direction, float], float] | None = None
    check: Callable[[], None] | None = None
    far: Callable[[Direction, float], FarRule] | None = None

    def law(self, direction: Direction, rate: float = 1.0) -> StatedLaw:
        """One direction, by the operator that it is."""
        if rate == 1.0 and direction is not Direction.SYMMETRIC:
            return StatedLaw(self.loss)
        loss = amplified_distribution(self.loss, rate, direction)
        far = self.far(direction, rate) if self.far else None
        return StatedLaw(loss, direction, rate, far)

    def _both(self, rate: float) -> tuple[StatedLaw, StatedLaw]:
        return self.law(Direction.REMOVE, rate), self.law(Direction.ADD, rate)

    def _mu_squared(self, direction: Direction, law: StatedLaw) -> float:
        found = None if self.limit is None else self.limit(direction, law.rate)
        if found is not None:
            return found
        try:
            return second_moment(law.loss)
        except TooFine:  # of P a part `rate` is near the largest loss, and the rest near 0
            return law.rate * law.largest_loss**2

    # scheme x adjacency -> operators -------------------------------------------------------------

    def plain(self) -> Pairs:
        """No sampling: the pair itself."""
        law = self.law(Direction.PLAIN)
        mu = law.loss.gaussian
        squared = self._mu_squared(Direction.PLAIN, law)
        lower = self.below(1.0) if self.below else None
        return Pairs((law,), self.basis, lower, squared, mu)

    def poisson(self, rate: float, adjacency: Adjacency) -> Pairs:
        """(1-q) Q + q P against Q, and the reverse (Zhu, Dong, Wang 2022, Theorem 11).

        Under replace-one the unit is absent, present, or exchanged: the three are pairwise within one
        sensitivity, which is all that the proof of C_rate uses.
        """
        if adjacency is Adjacency.REPLACE_ONE:
            return self._fixed(rate, (self.near() if self.near else self)._both(rate))
        if self.check is not None:
            self.check()
        laws = self._both(rate)
        squared = self._mu_squared(Direction.REMOVE, laws[0])
        return Pairs(laws, self.poisson_basis, self.below(rate) if self.below else None, squared)

    def without_replacement(self, rate: float, adjacency: Adjacency) -> Pairs:
        """C_rate above (Dong, Roth, Su 2022, Theorem 4.2), below what data realise: the mixture."""
        return self._fixed(rate, self._both(rate))

    def _fixed(self, rate: float, realised: tuple[StatedLaw, ...]) -> Pairs:
        lower = self.below(rate) if self.below else realised
        if self.check is not None:
            self.check()
        upper = self.law(Direction.SYMMETRIC, rate)
        squared = self._mu_squared(Direction.SYMMETRIC, upper)
        return Pairs((upper,), self.fixed_basis, lower, squared)

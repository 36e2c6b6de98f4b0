"""Discrete Gaussian noise against itself moved by a whole number, plain and sampled.

Under Q the noise is x with weight e^{-x^2 / (2 s^2)}, and the loss of the plain pair is linear in it,
l = shift (2x - shift) / (2 s^2): a lattice without end. Every rule here is a sum over those x whose
weight, tilted as is asked, is above e^{-112} of the largest, so that sums are exact to rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpacct.engine.law import Atoms, Bend, Nodes, QuadratureFamily, TooFine
from dpacct.engine.stable import Complexes, Floats, log_sum_exp
from dpacct.errors import OutsideDomain
from dpacct.pld.loss import LossDistribution
from dpacct.pld.pieces import Cut, Source
from dpacct.pld.stable import mixed_loss
from dpacct.vocabulary import Adjacency

from .amplify import Direction
from .pairs import FIXED_SIZE, POISSON, Pairs

_BASIS = (
    "discrete Gaussian loss law, summed; among log-concave noises the largest shift is the worst "
    "(Dong, Roth, Su 2022, Appendix A)"
)
_REACH = 40.0  # e^{-800}
_RULE = 15.0  # e^{-112}: of a rule for known tilts
# of all atoms together, at no tilt in particular: e^{-5000}, below any delta that a question may name
_FAR = 100.0
_MOST = 1_000_000
WIDEST = 2000.0
"""The largest scale whose atoms are summed; above it, `wide_discrete_gaussian` bounds them."""


@dataclass(frozen=True)
class DiscreteGaussianLaw:
    """Loss law of one release; `scale` is s, and `shift` how far a unit moves the number."""

    scale: float
    shift: int
    rate: float
    direction: Direction

    infinite_mass = 0.0
    lost_mass = 0.0
    has_density = False
    tilt_hint = math.inf
    plain_frequency = math.inf

    @cached_property
    def _log_total(self) -> float:
        """log of the sum of all weights."""
        most = math.ceil(_REACH * self.scale) + 1
        x = np.arange(-most, most + 1, dtype=np.float64)
        return log_sum_exp(-0.5 * np.square(x / self.scale))

    def _table(self, low: float, high: float) -> tuple[Floats, Floats]:
        """(losses, log P-masses) of this law for the noises x in [low, high]."""
        if high - low > _MOST:
            raise TooFine
        x = np.arange(math.floor(low), math.ceil(high) + 1, dtype=np.float64)
        square = self.scale * self.scale
        log_q = -0.5 * np.square(x / self.scale) - self._log_total
        loss = (0.5 * self.shift / square) * (2.0 * x - self.shift)
        if self.direction is Direction.PLAIN:
            return loss, log_q + loss
        if self.direction is Direction.SYMMETRIC:
            kept = loss > 0.0
            log_r, log_q = mixed_loss(self.rate, loss[kept]), log_q[kept]
            # the mirror image is never tilted towards its losses below 0
            near = x[kept] <= self.shift + _FAR * self.scale
            return (
                np.concatenate((log_r, -log_r[near], np.zeros(1))),
                np.concatenate((log_q + log_r, log_q[near], [self._log_rest])),
            )
        log_r = mixed_loss(self.rate, loss)
        if self.direction is Direction.REMOVE:
            return log_r, log_q + log_r
        return -log_r, log_q

    @cached_property
    def _log_rest(self) -> float:
        """log of the mass at no loss of C_rate: (1 - rate) times P less Q, where P is larger."""
        x = np.arange(self.shift // 2 + 1, self.shift + math.ceil(_REACH * self.scale) + 2.0)
        log_q = -0.5 * np.square(x / self.scale) - self._log_total
        log_p = -0.5 * np.square((x - self.shift) / self.scale) - self._log_total
        middle = 0.0
        if self.shift % 2 == 0:
            middle = math.exp(-0.125 * (self.shift / self.scale) ** 2 - self._log_total)
        rest = (1.0 - self.rate) * float(np.exp(log_p).sum() - np.exp(log_q).sum()) + middle
        return math.log(rest) if rest > 0.0 else -math.inf

    def _window(self, c_low: float, c_high: float, reach: float) -> tuple[float, float]:
        """Noises of weight under any tilt in the range, and under -1 and 0."""
        ends = [0.0, float(self.shift)]
        if self.direction is not Direction.ADD:  # whose losses are bounded above: no tilt moves it
            ends += [self.shift * (1.0 + c_low), self.shift * (1.0 + c_high)]
        return min(ends) - reach * self.scale, max(ends) + reach * self.scale

    @cached_property
    def atoms(self) -> Atoms:
        return Atoms(*self._table(*self._window(0.0, 0.0, _FAR)))

    @cached_property
    def loss(self) -> LossDistribution:
        """The same as a loss distribution."""
        return LossDistribution(self.atoms.losses, self.atoms.log_masses - self.atoms.losses)

    @property
    def largest_loss(self) -> float:
        return float(self.atoms.losses.max())

    @cached_property
    def variance_hint(self) -> float:
        return float(np.exp(self.atoms.log_masses) @ np.square(self.atoms.losses))

    def prepare(self, c_low: float, c_high: float, reach: float = math.inf) -> QuadratureFamily:
        return QuadratureFamily(self, c_low, c_high, reach)

    def nodes(self, c_low: float, c_high: float, t: float, reach: float = math.inf) -> Nodes:
        return Nodes(*self._table(*self._window(c_low, c_high, _RULE)))

    def damped_nodes(self, c: float, z: Complexes, reach: float) -> tuple[Complexes, Complexes]:
        losses, masses = self._table(*self._window(c, c, _RULE))
        return losses.astype(np.complex128), masses.astype(np.complex128)

    def bend(self, c: float, reach: float) -> Bend | None:
        return None

    def source(self) -> Source:
        losses = np.asarray(self.atoms.losses, float)
        return Cut(LossDistribution(losses, np.asarray(self.atoms.log_masses - losses, float)))

    def _turning(self, epsilon: float) -> float | None:
        """The noise at which the loss is epsilon; None where it never is."""
        if self.direction is Direction.PLAIN:
            inner = epsilon
        else:
            sign = -1.0 if self.direction is Direction.ADD else 1.0
            scaled = math.expm1(min(sign * epsilon, 700.0)) / self.rate
            if scaled <= -1.0:
                return None
            inner = math.log1p(scaled)
        return inner * self.scale * self.scale / self.shift + 0.5 * self.shift

    def log_one_step(self, epsilon: float) -> tuple[float, float] | None:
        """log E[(1 - e^{epsilon - L})_+]: a sum over the noises whose loss is above epsilon."""
        if self.direction is Direction.SYMMETRIC and epsilon < 0.0:
            # C_rate is its own mirror image: delta(-e) = 1 - e^-e + e^-e delta(e)
            above = self.log_one_step(-epsilon)
            assert above is not None
            value = -math.expm1(epsilon) + math.exp(epsilon + above[0])
            return math.log(value), 1e-14
        turning = self._turning(epsilon)
        reach = 1.5 * _REACH * self.scale
        if self.direction is Direction.ADD:
            # losses above epsilon are the noises below the turning point
            if turning is None:
                return -math.inf, 0.0
            high = min(turning, reach)
            low = min(-reach, high - reach)
        else:
            low = -reach if turning is None else max(turning, -reach)
            high = max(self.shift + reach, low + reach)
        losses, masses = self._table(low, high)
        kept = losses > epsilon
        if not kept.any():
            return -math.inf, 0.0
        terms = masses[kept] + np.log(-np.expm1(epsilon - losses[kept]))
        return min(0.0, log_sum_exp(terms)), 1e-13

    def epsilon_one_step(self, log_target: float) -> tuple[float, float] | None:
        return None

    def density_profile(self, epsilons: Floats) -> tuple[Floats, Floats]:
        return np.zeros(epsilons.shape), np.zeros(epsilons.shape)


@dataclass(frozen=True)
class DiscreteGaussianPair:
    """The noise against itself moved by `shift`. Raises `OutsideDomain` for too fine or wide a scale."""

    scale: float
    shift: int

    def __post_init__(self) -> None:
        if not self.scale / self.shift >= 0.02 or self.scale > WIDEST:
            told = "scale must be in [0.05 sensitivity, 2000], got "
            raise OutsideDomain(f"{told}{self.scale:g}", argument="scale")

    def _law(self, direction: Direction, rate: float = 1.0) -> DiscreteGaussianLaw:
        return DiscreteGaussianLaw(self.scale, self.shift, rate, direction)

    def plain(self) -> Pairs:
        law = self._law(Direction.PLAIN)
        return Pairs((law,), (_BASIS,), clt_mu_squared=(self.shift / self.scale) ** 2)

    def poisson(self, rate: float, adjacency: Adjacency) -> Pairs:
        if adjacency is Adjacency.REPLACE_ONE:
            near = DiscreteGaussianPair(self.scale, max(1, self.shift // 2))
            return self._fixed(rate, near)
        remove, add = self._law(Direction.REMOVE, rate), self._law(Direction.ADD, rate)
        return Pairs((remove, add), (_BASIS, POISSON), clt_mu_squared=remove.variance_hint)

    def without_replacement(self, rate: float, adjacency: Adjacency) -> Pairs:
        return self._fixed(rate, self)

    def _fixed(self, rate: float, near: DiscreteGaussianPair) -> Pairs:
        upper = self._law(Direction.SYMMETRIC, rate)
        lower = (near._law(Direction.REMOVE, rate), near._law(Direction.ADD, rate))
        return Pairs((upper,), (_BASIS, FIXED_SIZE), lower, upper.variance_hint)

"""Privacy-loss laws of the Laplace mechanism, plain and sampled.

With lam = 1/b, the loss l of Laplace(1, b) against Laplace(0, b) has under the second (Q) atoms
1/2 at -lam and e^{-lam}/2 at +lam, and density e^{-(lam+l)/2}/4 between.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from dpacct.engine.law import Atoms, Bend, Family, Nodes, QuadratureFamily, TooFine
from dpacct.engine.stable import Complexes, Floats
from dpacct.errors import OutsideDomain
from dpacct.pld.loss import LossDistribution, between
from dpacct.pld.pieces import Cut, Source
from dpacct.vocabulary import Adjacency

from .amplify import Direction, amplified, amplified_distribution
from .gaussian_laws import log_ratio, log_ratio_complex
from .pairs import FIXED_SIZE, POISSON, Pairs
from .panels import even_edges, panel_nodes


@dataclass(frozen=True)
class LaplaceLaw:
    """Loss law of one release with scale b (per sensitivity), in one direction."""

    b: float
    rate: float
    direction: Direction

    infinite_mass = 0.0
    lost_mass = 0.0
    has_density = True
    tilt_hint = math.inf
    ends: ClassVar[bool] = True  # whether the ends of the range have point masses

    @property
    def plain_frequency(self) -> float:
        return 40.0 / min(self.lam, 1.0)

    @property
    def lam(self) -> float:
        return 1.0 / self.b

    def _mapped(self, base_loss: Floats, log_q: Floats) -> tuple[Floats, Floats]:
        """Base losses and log Q-masses -> losses and log P-masses of this law."""
        if self.direction is Direction.PLAIN:
            return base_loss, log_q + base_loss
        log_r = log_ratio(self.rate, base_loss)
        if self.direction is Direction.REMOVE:
            return log_r, log_q + log_r
        if self.direction is Direction.ADD:
            return -log_r, log_q
        kept = base_loss > 0.0
        log_r, log_q = log_r[kept], log_q[kept]
        return np.concatenate((log_r, -log_r)), np.concatenate((log_q + log_r, log_q))

    @cached_property
    def atoms(self) -> Atoms:
        lam = self.lam
        losses, masses = self._mapped(
            np.array([lam, -lam]), np.array([-lam - math.log(2.0), -math.log(2.0)])
        )
        if self.direction is Direction.SYMMETRIC:
            # no evidence: (1-q) (1 - e^{-lam/2}) of the mass, exactly
            rest = (1.0 - self.rate) * -math.expm1(-0.5 * lam)
            if rest > 0.0:
                losses, masses = np.append(losses, 0.0), np.append(masses, math.log(rest))
        return Atoms(losses, masses)

    @property
    def largest_loss(self) -> float:
        return float(self.atoms.losses.max())

    @cached_property
    def variance_hint(self) -> float:
        try:
            nodes = self.nodes(0.0, 1.0, 0.0)
        except TooFine:  # of P a part `rate` is near the largest loss, and the rest near 0
            return self.rate * self.largest_loss**2
        return float(np.exp(nodes.log_weights) @ np.square(nodes.losses))

    def prepare(self, c_low: float, c_high: float, reach: float = math.inf) -> Family:
        return QuadratureFamily(self, c_low, c_high, reach)

    def nodes(self, c_low: float, c_high: float, t: float, reach: float = math.inf) -> Nodes:
        lam = self.lam
        low = 0.0 if self.direction is Direction.SYMMETRIC else -lam
        # 12 radians a panel; r = 1 - q + q e^l is smooth on the scale pi; a steep tilt lives at an end
        count = math.ceil((lam - low) * max((t + 1.0) / 12.0, 0.5))
        edges = even_edges(low, lam, count)
        if not c_high < 1e300:
            raise TooFine
        finest, width = 8.0 / (c_high + 1.0), (lam - low) / count
        if finest < width:
            graded = finest * 2.0 ** np.arange(math.ceil(math.log2(width / finest)))
            edges = np.unique(np.concatenate((edges, low + graded, lam - graded)))
        x, log_w = panel_nodes(edges)
        losses, weights = self._mapped(x, log_w - 0.5 * (lam + x) - math.log(4.0))
        return Nodes(
            np.concatenate((losses, self.atoms.losses)),
            np.concatenate((weights, self.atoms.log_masses)),
        )

    def damped_nodes(self, c: float, z: Complexes, reach: float) -> tuple[Complexes, Complexes]:
        """l on arcs that leave the ends of the interval at an angle, to where |r^{it}| is damped."""
        t = float(np.abs(z.imag).max())
        lam = self.lam
        low = 0.0 if self.direction is Direction.SYMMETRIC else -lam
        length = lam - low
        width = min(length, 1.0)
        fine = min(width, 6.0 / t, 8.0 / (c + 1.0))
        graded = fine * 2.0 ** np.arange(0, math.ceil(math.log2(max(width / fine, 1.0))) + 1)
        graded = np.append(0.0, graded[graded < 0.5 * length])
        between = max(1, math.ceil((length - 2.0 * graded[-1]) / width))
        middle = even_edges(graded[-1], length - graded[-1], between)
        edges = low + np.unique(np.concatenate((graded, middle, length - graded)))
        x, log_w = panel_nodes(edges)
        turn = min(1.0, length)
        left, right = np.exp(-(x - low) / turn), np.exp(-(lam - x) / turn)
        rise = 1.3 * (1.0 - left) * (1.0 - right)
        slope = (1.3 / turn) * (left * (1.0 - right) - right * (1.0 - left))

        def arc(sign: float) -> tuple[Complexes, Complexes]:
            point = x + 1j * sign * rise
            return point, log_w + np.log(1.0 + 1j * sign * slope) - 0.5 * (lam + point) - math.log(
                4.0
            )

        sign = -1.0 if self.direction is Direction.ADD else 1.0
        point, log_q = arc(sign)
        if self.direction is Direction.PLAIN:
            losses: Complexes = point
            weights: Complexes = log_q + point
        else:
            log_r = log_ratio_complex(self.rate, point)
            losses, weights = sign * log_r, (log_q if sign < 0.0 else log_q + log_r)
        if self.direction is Direction.SYMMETRIC:
            point, log_q = arc(-1.0)
            losses = np.concatenate((losses, -log_ratio_complex(self.rate, point)))
            weights = np.concatenate((weights, log_q))
        return np.concatenate((losses, self.atoms.losses)), np.concatenate(
            (weights, self.atoms.log_masses)
        )

    def bend(self, c: float, reach: float) -> Bend | None:
        return None

    def _dense_base(self, e: Floats) -> tuple[Floats, Floats]:
        """Profile of the part without atoms: (1 - u)^2/2 with u = e^{(eps - lam)/2}, |eps| <= lam."""
        lam = self.lam
        inside = np.clip(e, -lam, lam)
        rest = -np.expm1(0.5 * (inside - lam))
        below = e < -lam
        mass = -0.5 * math.expm1(-lam)
        growth = np.exp(np.minimum(e, 0.0))
        value = np.where(below, mass * -np.expm1(np.minimum(e, 0.0)), 0.5 * rest * rest)
        slope = np.where(below, -mass * growth, np.where(e >= lam, 0.0, -0.5 * rest * (1.0 - rest)))
        return value, slope

    def _base(self, e: Floats) -> tuple[Floats, Floats]:
        """Profile of the plain mechanism: 1 - e^{(eps - lam)/2} for |eps| <= lam."""
        lam = self.lam
        value = np.where(
            e < -lam, -np.expm1(np.minimum(e, 0.0)), -np.expm1(0.5 * (np.clip(e, -lam, lam) - lam))
        )
        return value, np.zeros_like(value)

    def density_profile(self, epsilons: Floats) -> tuple[Floats, Floats]:
        half = math.exp(-0.5 * self.lam)
        mass = (0.5 * (1.0 - half), 0.5 * half * (1.0 - half))
        return amplified(self._dense_base, mass, self.rate, self.direction, epsilons)

    def log_one_step(self, epsilon: float) -> tuple[float, float] | None:
        half = math.exp(-0.5 * self.lam)
        # (P, Q)-mass of positive loss, atoms included
        mass = (1.0 - 0.5 * half, 0.5 * half)
        value, slope = amplified(self._base, mass, self.rate, self.direction, np.array([epsilon]))
        if not value[0] > 0.0:
            return -math.inf, 0.0
        # epsilon, q and 1/b are rounded, and near the largest loss delta hangs on their difference
        rounding = 9e-16 * (abs(epsilon) + self.largest_loss)
        if self.direction is Direction.ADD:
            rounding += 9e-16 * self.rate * (1.0 - math.log(self.rate))
        return math.log(value[0]), 4e-15 + rounding * abs(float(slope[0])) / float(value[0])

    def epsilon_one_step(self, log_target: float) -> tuple[float, float] | None:
        return None

    def source(self) -> Source:
        lam, half = self.lam, math.log(2.0)
        base = -2.0 * half - 0.5 * lam
        if self.ends:
            law = LossDistribution(
                np.array([-lam, lam]), np.array([-half, -half - lam]), (between(-lam, lam, base),)
            )
        else:
            law = LossDistribution(
                branches=(between(-lam, lam, base + half - math.log(-math.expm1(-lam))),)
            )
        return Cut(amplified_distribution(law, self.rate, self.direction))


@dataclass(frozen=True)
class LaplacePair:
    """Laplace(1, b) against Laplace(0, b). Raises `OutsideDomain` for an absurd scale."""

    b: float

    def __post_init__(self) -> None:
        if not 1e-100 <= self.b <= 1e100:
            raise OutsideDomain(f"b must be in [1e-100, 1e100], got {self.b:g}", argument="b")

    def _law(self, direction: Direction, rate: float = 1.0) -> LaplaceLaw:
        return LaplaceLaw(self.b, rate, direction)

    def plain(self) -> Pairs:
        law = self._law(Direction.PLAIN)
        return Pairs((law,), ("Laplace loss law, closed form",), clt_mu_squared=law.variance_hint)

    def poisson(self, rate: float, adjacency: Adjacency) -> Pairs:
        remove, add = self._law(Direction.REMOVE, rate), self._law(Direction.ADD, rate)
        if adjacency is Adjacency.REPLACE_ONE:
            half = LaplacePair(2.0 * self.b)
            lower = (half._law(Direction.REMOVE, rate), half._law(Direction.ADD, rate))
            return self._replace_one(rate, lower)
        return Pairs((remove, add), (POISSON,), clt_mu_squared=remove.variance_hint)

    def without_replacement(self, rate: float, adjacency: Adjacency) -> Pairs:
        return self._replace_one(
            rate, (self._law(Direction.REMOVE, rate), self._law(Direction.ADD, rate))
        )

    def _replace_one(self, rate: float, lower: tuple[LaplaceLaw, ...]) -> Pairs:
        upper = self._law(Direction.SYMMETRIC, rate)
        return Pairs((upper,), (FIXED_SIZE,), lower, upper.variance_hint)

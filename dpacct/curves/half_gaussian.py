"""The Gaussian mechanism sampled without replacement, under replace-one: C_q of its trade-off function.

Dong, Roth, Su 2022, Definition 4.1 and Theorem 4.2. The pair is its own mirror image. With x ~ N(0, 1),
mu = 1/sigma and r = 1 - q + q e^{mu x - mu^2/2}, losses are log r on x > mu/2 with P-density phi r, their
mirror images -log r with P-density phi, and 0 with the rest of the mass.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpacct.engine.law import NO_ATOMS, Bend, Nodes, QuadratureFamily
from dpacct.engine.stable import Complexes, Floats
from dpacct.pld.loss import gaussian
from dpacct.pld.pieces import Cut, Source

from .gaussian_laws import (
    LOG_NORMAL,
    GaussianLaw,
    log_gaussian_profile,
    log_ratio,
    log_ratio_complex,
)
from .panels import even_edges, panel_nodes
from .window import scan


@dataclass(frozen=True)
class SymmetricGaussianLaw:
    """Loss law of C_rate(G_{1/sigma})."""

    sigma: float
    rate: float

    infinite_mass = 0.0
    lost_mass = 0.0
    has_density = True
    largest_loss = math.inf
    # the point mass at 0 lies below every epsilon: bending the contour away from it disposes of it
    atoms = NO_ATOMS

    @property
    def edge(self) -> float:
        """Losses are positive beyond this x."""
        return 0.5 / self.sigma

    @cached_property
    def log_rest(self) -> float:
        """log of the mass without evidence, (1-q) (1 - 2 Phi(-mu/2))."""
        return math.log1p(-self.rate) + math.log(math.erf(self.edge / math.sqrt(2.0)))

    @cached_property
    def variance_hint(self) -> float:
        return 2.0 * self.rate**2 * math.expm1(min(1.0 / self.sigma**2, 5.0))

    @cached_property
    def tilt_hint(self) -> float:
        return 2.0 * self.sigma**2 * math.log(1.0 / self.rate) + 4.0 * self.sigma

    @property
    def plain_frequency(self) -> float:
        return 40.0 * self.sigma

    def prepare(self, c_low: float, c_high: float, reach: float = math.inf) -> QuadratureFamily:
        return QuadratureFamily(self, c_low, c_high, reach)

    def _favoured(self, x: Floats) -> tuple[Floats, Floats]:
        log_r = log_ratio(self.rate, x / self.sigma - 0.5 / self.sigma**2)
        return -0.5 * x * x - LOG_NORMAL + log_r, log_r

    def _mirrored(self, x: Floats) -> tuple[Floats, Floats]:
        log_r = log_ratio(self.rate, x / self.sigma - 0.5 / self.sigma**2)
        return -0.5 * x * x - LOG_NORMAL, -log_r

    def _panel_width(self, c: float, t: float) -> float:
        """At most 24 radians or nats a panel, and r has no zero within 1.2 half-widths."""
        return min(2.0, 3.0 * self.sigma, 24.0 * self.sigma / max(t + 0.5 * c, 1e-300))

    def _ends(self, c_low: float, c_high: float, t: float, reach: float) -> tuple[float, float]:
        """Where the favoured and the mirrored half become negligible."""
        edge = self.edge
        tilts = (-1.0, 0.0, c_low, c_high)
        scale = max(1.0, c_high, t)
        centres = [(c + 1.0) / self.sigma for c in (c_low, c_high)]
        top = min(centres[-1] + edge + 12.0, reach + edge + 1.0 / self.sigma)
        favoured = scan(edge, top, centres, tilts, scale, self._favoured)
        mirrored = scan(
            edge, edge + 1.0 / self.sigma + 12.0, [edge, edge], tilts, reach, self._mirrored
        )
        return favoured[-1][1], mirrored[-1][1]

    def nodes(self, c_low: float, c_high: float, t: float, reach: float = math.inf) -> Nodes:
        width = self._panel_width(c_high, t)
        losses: list[Floats] = [np.zeros(1)]
        weights: list[Floats] = [np.array([self.log_rest])]
        halves = (self._favoured, self._mirrored)
        ends = self._ends(c_low, c_high, t, reach)
        for half, end in zip(halves, ends, strict=True):
            count = max(1, math.ceil((end - self.edge) / width))
            x, log_w = panel_nodes(even_edges(self.edge, end, count))
            log_p, loss = half(x)
            losses.append(loss)
            weights.append(log_p + log_w)
        last = losses[1].size  # of the favoured half: where its tail ends
        limit = reach + self.edge + 1.0 / self.sigma
        cut = last if ends[0] > limit - 1e-9 else None
        return Nodes(np.concatenate(losses), np.concatenate(weights), cut)

    @property
    def _shift(self) -> float:
        return min(2.0, 1.35 * self.sigma)

    def bend(self, c: float, reach: float) -> Bend:
        largest = float(np.abs(self.nodes(c, c, 0.0, reach).losses).max())
        return Bend(1.0, min(0.25, 0.25 * self._shift / (self.sigma * max(largest, 1e-300))))

    def damped_nodes(self, c: float, z: Complexes, reach: float) -> tuple[Complexes, Complexes]:
        """Both halves on paths that leave the edge at an angle, up (log r) and down (-log r)."""
        t = float(np.abs(z.imag).max())
        width = self._panel_width(c, 0.0)
        fine = min(width, 6.0 * self.sigma / t)
        turn = min(1.0, self.sigma)
        losses: list[Complexes] = [np.zeros(1, dtype=complex)]
        weights: list[Complexes] = [np.array([self.log_rest], dtype=complex)]
        for sign, end in zip((1.0, -1.0), self._ends(c, c, t, reach), strict=True):
            length = end - self.edge
            graded = fine * 2.0 ** np.arange(0, max(1, math.ceil(math.log2(width / fine)) + 1))
            graded = graded[graded < min(width, length)]
            start = float(graded[-1]) if graded.size else 0.0
            count = max(1, math.ceil((length - start) / width))
            even = even_edges(start, length, count)
            edges = np.concatenate(([0.0], graded[:-1], even)) if graded.size else even
            u, log_w = panel_nodes(edges)
            decay = np.exp(-u / turn)
            x = self.edge + u + 1j * sign * self._shift * (1.0 - decay)
            path = np.log(1.0 + 1j * sign * (self._shift / turn) * decay)
            log_r = log_ratio_complex(self.rate, x / self.sigma - 0.5 / self.sigma**2)
            log_phi = -0.5 * x * x - LOG_NORMAL + log_w + path
            losses.append(sign * log_r)
            weights.append(log_phi + log_r if sign > 0.0 else log_phi)
        return np.concatenate(losses), np.concatenate(weights)

    def log_one_step(self, epsilon: float) -> tuple[float, float] | None:
        """q D(eps') for eps >= 0, as for the Poisson-sampled pair; mirrored below."""
        if epsilon < 0.0:
            value = -math.expm1(epsilon) + math.exp(epsilon + self._log_one_step(-epsilon)[0])
            return math.log(value), 1e-12
        return self._log_one_step(epsilon)

    def _log_one_step(self, epsilon: float) -> tuple[float, float]:
        inner = (
            math.log1p(math.expm1(epsilon) / self.rate)
            if epsilon < 600.0
            else epsilon - math.log(self.rate)
        )
        value, error = log_gaussian_profile(GaussianLaw(1.0 / self.sigma), inner)
        return math.log(self.rate) + value, error

    def epsilon_one_step(self, log_target: float) -> tuple[float, float] | None:
        return None

    def density_profile(self, epsilons: Floats) -> tuple[Floats, Floats]:
        raise ValueError("a law without atoms of its own takes no lattice part")

    def source(self) -> Source:
        return Cut(gaussian(1.0 / self.sigma).sampled(self.rate).mirrored())

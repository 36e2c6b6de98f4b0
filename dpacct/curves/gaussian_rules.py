"""Quadrature rules of sampled Gaussians far out, where hits are rare: the engine's, for what contours refuse.

With x ~ N(0, 1) in units of the noise, l(x) = x/sigma - 1/(2 sigma^2) is the loss of the plain mechanism and
r = 1 - q + q e^l the likelihood ratio of the sampled one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpacct.engine.law import Bend, Nodes
from dpacct.engine.stable import Complexes, Floats
from dpacct.pld.stable import mixed_loss

from .panels import even_edges, panel_nodes
from .window import scan, uniform_nodes

LOG_NORMAL = 0.5 * math.log(2.0 * math.pi)
# nats of accuracy asked of the inner trapezoid rule: e^{-36} = 2e-16
_INNER_NATS = 36.0


@dataclass(frozen=True)
class SampledGaussianRule:
    """Nodes for the Poisson-sampled Gaussian against its base, in one direction.

    remove: P = (1-q) N(0, sigma^2) + q N(1, sigma^2), Q = N(0, sigma^2); add: the reverse.
    """

    sigma: float
    rate: float
    remove: bool

    @cached_property
    def tilt_hint(self) -> float:
        # where (q e^{c/(2 sigma^2)})^c of the sampled records overtakes the rest
        if not self.remove:
            return math.inf
        return 2.0 * self.sigma**2 * math.log(1.0 / self.rate) + 4.0 * self.sigma

    @property
    def _shift(self) -> float:
        """Height of the complex nodes: arg r -> shift/sigma, and |phi| grows by e^2 at most."""
        return min(2.0, 1.35 * self.sigma)

    def bend(self, c: float, reach: float) -> Bend:
        """Losses pile up at log(1-q) (remove: below eps, so to the right; add: above, to the left)."""
        largest = float(np.abs(self.nodes(c, c, 0.0, reach).losses).max())
        slope = min(0.25, 0.5 * self._shift / (self.sigma * max(largest, 1e-300)))
        return Bend(1.0 if self.remove else -1.0, slope)

    @property
    def plain_frequency(self) -> float:
        return 40.0 * self.sigma

    def damped_nodes(self, c: float, z: Complexes, reach: float) -> tuple[Complexes, Complexes]:
        """x on a line Im x = y where |r^z| falls as e^{-|t| arg r}.

        On it |phi| grows by e^{y^2/2}: y <= 2 keeps the cancellation below e^2. The trapezoid rule has
        the strip [0, 2y] to itself (no growth of r^z there).
        """
        sigma = self.sigma
        shift = self._shift
        frequency = float(np.abs(z.imag).max())
        intervals = self._intervals(c, c, frequency, reach)
        growth = float(self._growth(c, intervals, np.array([2.0 * shift]))[0])
        step = 2.0 * math.pi * shift / (_INNER_NATS + growth)
        x = uniform_nodes(intervals, step)
        sign = 1.0 if self.remove else -1.0
        w = x + 1j * (sign * shift)
        loss = w / sigma - 0.5 / sigma**2
        log_r: Complexes = mixed_loss(self.rate, loss)
        log_phi = -0.5 * w * w + (math.log(step) - LOG_NORMAL)
        log_weights: Complexes = log_phi + (log_r if self.remove else 0.0)
        losses: Complexes = log_r if self.remove else -log_r
        return losses, log_weights

    def _density(self, x: Floats) -> tuple[Floats, Floats]:
        log_r = mixed_loss(self.rate, x / self.sigma - 0.5 / self.sigma**2)
        log_phi = -0.5 * x * x - LOG_NORMAL
        return (log_phi + log_r, log_r) if self.remove else (log_phi, -log_r)

    def _growth(self, c: float, intervals: list[tuple[float, float]], ds: Floats) -> Floats:
        """log of how much larger the tilted integrand is on the lines Im x = d than on the axis.

        remove: |r(x + id)| <= r(x), no growth beyond that of the normal density, e^{d^2/2}.
        add: |r|^{-c} grows; it is measured on a scan of the places that matter.
        """
        growth = 0.5 * ds * ds
        if self.remove:
            return growth
        x = np.linspace(intervals[0][0], intervals[-1][1], 160)
        level = -0.5 * x * x
        angles = np.concatenate(([0.0], ds)) / self.sigma
        v = self.rate * np.exp(np.minimum(x / self.sigma - 0.5 / self.sigma**2, 300.0))
        base = 1.0 - self.rate
        square = base * base + 2.0 * base * np.multiply.outer(np.cos(angles), v) + v * v
        sizes = (level - 0.5 * c * np.log(np.maximum(square, 1e-300))).max(axis=1)
        total: Floats = growth + (sizes[1:] - sizes[0])
        return total

    def _step(self, c_high: float, t: float, intervals: list[tuple[float, float]]) -> float:
        """Step of the trapezoid rule, from the strip bound of docs/theory/engine.md.

        On Im x = d, |r^{it}| grows by e^{|t| d/sigma}; d < pi sigma keeps r away from 0.
        """
        limit = 0.97 * math.pi * self.sigma
        d = min(math.sqrt(2.0 * _INNER_NATS), limit)
        ds = (
            np.array([d])
            if self.remove
            else d * np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 1.0])
        )
        nats = _INNER_NATS + self._growth(c_high, intervals, ds) + t * ds / self.sigma
        return float((2.0 * math.pi * ds / nats).max())

    def _intervals(
        self, c_low: float, c_high: float, t: float, reach: float
    ) -> list[tuple[float, float]]:
        sigma = self.sigma
        edge = 12.0
        if self.remove:
            centres = [(c + 1.0) / sigma for c in (c_low, c_high)]
            low, high = -edge, min(centres[-1] + edge, reach + 1.0 / sigma)
        else:
            centres = [-c / sigma for c in (c_low, c_high)]
            low, high = max(centres[-1] - edge, -reach), 1.0 / sigma + edge
        scale = max(1.0, c_high, t)
        tilts = (-1.0, 0.0, c_low, c_high)
        return scan(low, high, centres, tilts, scale, self._density)

    def nodes(self, c_low: float, c_high: float, t: float, reach: float) -> Nodes:
        intervals = self._intervals(c_low, c_high, t, reach)
        step = self._step(c_high, t, intervals)
        x = uniform_nodes(intervals, step)
        log_weights, losses = self._density(x)
        cut = None
        if self.remove and float(x[-1]) > reach + 1.0 / self.sigma - 2.0 * step:
            cut = x.size - 1
        elif not self.remove and float(x[0]) < 2.0 * step - reach:
            cut = 0
        return Nodes(losses, log_weights + math.log(step), cut)


@dataclass(frozen=True)
class SymmetricGaussianRule:
    """Nodes for C_rate(G_{1/sigma})."""

    sigma: float
    rate: float

    @property
    def edge(self) -> float:
        """Losses are positive beyond this x."""
        return 0.5 / self.sigma

    @cached_property
    def log_rest(self) -> float:
        """log of the mass without evidence, (1-q) (1 - 2 Phi(-mu/2))."""
        return math.log1p(-self.rate) + math.log(math.erf(self.edge / math.sqrt(2.0)))

    @cached_property
    def tilt_hint(self) -> float:
        return 2.0 * self.sigma**2 * math.log(1.0 / self.rate) + 4.0 * self.sigma

    @property
    def plain_frequency(self) -> float:
        return 40.0 * self.sigma

    def _favoured(self, x: Floats) -> tuple[Floats, Floats]:
        log_r = mixed_loss(self.rate, x / self.sigma - 0.5 / self.sigma**2)
        return -0.5 * x * x - LOG_NORMAL + log_r, log_r

    def _mirrored(self, x: Floats) -> tuple[Floats, Floats]:
        log_r = mixed_loss(self.rate, x / self.sigma - 0.5 / self.sigma**2)
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
            path: Complexes = np.log(1.0 + 1j * sign * (self._shift / turn) * decay)
            log_r: Complexes = mixed_loss(self.rate, x / self.sigma - 0.5 / self.sigma**2)
            log_phi = -0.5 * x * x - LOG_NORMAL + log_w + path
            losses.append(sign * log_r)
            weights.append(log_phi + log_r if sign > 0.0 else log_phi)
        return np.concatenate(losses), np.concatenate(weights)

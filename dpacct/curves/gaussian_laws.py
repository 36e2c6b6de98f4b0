"""Privacy-loss laws of the Gaussian mechanism, plain and Poisson-sampled.

With x ~ N(0, 1) in units of the noise, l(x) = x/sigma - 1/(2 sigma^2) is the loss of the plain
mechanism and r = 1 - q + q e^l the likelihood ratio of the sampled one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpacct.engine.invert import epsilon, log_delta
from dpacct.engine.law import (
    NO_ATOMS,
    Bend,
    Cumulants,
    Nodes,
    QuadratureFamily,
)
from dpacct.engine.stable import Complexes, Floats, log1p_complex
from dpacct.pld.loss import gaussian
from dpacct.pld.pieces import Cut, Source

from .window import scan, uniform_nodes

LOG_NORMAL = 0.5 * math.log(2.0 * math.pi)
# nats of accuracy asked of the inner trapezoid rule: e^{-36} = 2e-16
_INNER_NATS = 36.0


@dataclass(frozen=True)
class GaussianLaw:
    """L ~ N(mu^2/2, mu^2): the loss of N(mu, 1) against N(0, 1). Closed under composition."""

    mu: float

    infinite_mass = 0.0
    lost_mass = 0.0
    has_density = True
    atoms = NO_ATOMS

    tilt_hint = math.inf
    largest_loss = math.inf

    @property
    def variance_hint(self) -> float:
        return self.mu * self.mu

    def prepare(self, c_low: float, c_high: float, reach: float = math.inf) -> GaussianLaw:
        return self

    def cumulants(self, c: float) -> Cumulants:
        square = self.mu * self.mu
        return Cumulants(0.5 * square * c * (c + 1.0), square * (c + 0.5), square)

    def log_moments(self, cs: Floats) -> Floats:
        return 0.5 * self.mu * self.mu * cs * (cs + 1.0)

    def centred_log_ratio(self, c: float, z: Complexes) -> Complexes:
        return 0.5 * (self.mu * z) ** 2

    def bend(self, c: float) -> Bend | None:
        # e^{mu^2 z^2/2} decays wherever |Re z| < |Im z|
        return Bend(0.0, 0.25)

    def cut_weight(self, c: float) -> float:
        return 0.0

    def log_one_step(self, epsilon: float) -> tuple[float, float] | None:
        return None

    def epsilon_one_step(self, log_target: float) -> tuple[float, float] | None:
        return None

    def density_profile(self, epsilons: Floats) -> tuple[Floats, Floats]:
        raise ValueError("a law without atoms takes no lattice part")

    def source(self) -> Source:
        return Cut(gaussian(self.mu))


def log_ratio(rate: float, loss: Floats) -> Floats:
    """log(1 - q + q e^l), to full relative accuracy near l = 0 and without overflow."""
    bounded = np.minimum(loss, 600.0)
    result = np.log1p(rate * np.expm1(bounded))
    if float(loss.max(initial=0.0)) > 600.0:
        result = np.where(loss > 600.0, math.log(rate) + loss, result)
    return result


def log_ratio_complex(rate: float, loss: Complexes) -> Complexes:
    """log(1 - q + q e^l) off the real axis, |Im l| < pi, accurate for small q e^l."""
    bounded = np.where(loss.real > 600.0, 0.0, loss)
    growth = np.expm1(bounded)
    result = log1p_complex(rate * growth.real, rate * growth.imag)
    return np.where(loss.real > 600.0, math.log(rate) + loss, result)


@dataclass(frozen=True)
class SampledGaussianLaw:
    """The Poisson-sampled Gaussian against its base, in one direction.

    remove: P = (1-q) N(0, sigma^2) + q N(1, sigma^2), Q = N(0, sigma^2); add: the reverse.
    """

    sigma: float
    rate: float
    remove: bool

    infinite_mass = 0.0
    lost_mass = 0.0
    has_density = True
    atoms = NO_ATOMS

    @property
    def largest_loss(self) -> float:
        return math.inf if self.remove else -math.log1p(-self.rate)

    @cached_property
    def variance_hint(self) -> float:
        # chi^2 = q^2 (e^{1/sigma^2} - 1) is the variance for small losses; cap it where it explodes
        return self.rate**2 * math.expm1(min(1.0 / self.sigma**2, 5.0))

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
        log_r = log_ratio_complex(self.rate, loss)
        log_phi = -0.5 * w * w + (math.log(step) - LOG_NORMAL)
        log_weights: Complexes = log_phi + (log_r if self.remove else 0.0)
        losses: Complexes = log_r if self.remove else -log_r
        return losses, log_weights

    def prepare(self, c_low: float, c_high: float, reach: float = math.inf) -> QuadratureFamily:
        return QuadratureFamily(self, c_low, c_high, reach)

    def _density(self, x: Floats) -> tuple[Floats, Floats]:
        log_r = log_ratio(self.rate, x / self.sigma - 0.5 / self.sigma**2)
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

    def log_one_step(self, epsilon: float) -> tuple[float, float] | None:
        """q D(eps') or w D(eps'') of curves/amplify.py, in logs, with D the plain Gaussian's profile."""
        rate = self.rate
        plain = GaussianLaw(1.0 / self.sigma)
        if self.remove:
            scaled = math.expm1(epsilon) / rate if epsilon < 600.0 else math.inf
            if scaled <= -1.0:
                return math.log(-math.expm1(epsilon)), 1e-15
            inner = math.log1p(scaled) if epsilon < 600.0 else epsilon - math.log(rate)
            value, error = log_gaussian_profile(plain, inner)
            return math.log(rate) + value, error
        # w = 1 - (1-q) e^eps = q (1 - (1-q)/q (e^eps - 1)), and eps'' = eps - log(w/q), for tiny eps too
        share = (1.0 - rate) / rate * math.expm1(min(epsilon, 700.0))
        if share >= 1.0:
            return -math.inf, 0.0
        weight = rate * (1.0 - share)
        value, error = log_gaussian_profile(plain, epsilon - math.log1p(-share))
        return math.log(weight) + value, error + 1e-15 / weight

    def epsilon_one_step(self, log_target: float) -> tuple[float, float] | None:
        """eps = log(1 + q (e^{eps'} - 1)) with D(eps') = delta/q; None for the other direction."""
        if not self.remove:
            return None
        inner = epsilon([(GaussianLaw(1.0 / self.sigma), 1.0)], log_target - math.log(self.rate))
        return sampled_epsilon(self.rate, inner.value), sampled_epsilon(
            self.rate, inner.upper
        ) - sampled_epsilon(self.rate, inner.lower)

    def density_profile(self, epsilons: Floats) -> tuple[Floats, Floats]:
        raise ValueError("a law without atoms takes no lattice part")

    def source(self) -> Source:
        law = gaussian(1.0 / self.sigma).sampled(self.rate)
        return Cut(law if self.remove else law.reversed())


def sampled_epsilon(rate: float, inner: float) -> float:
    """log(1 + q (e^{eps'} - 1))."""
    return math.log1p(rate * math.expm1(inner)) if inner < 600.0 else inner + math.log(rate)


def log_gaussian_profile(law: GaussianLaw, epsilon: float) -> tuple[float, float]:
    """log of the plain Gaussian's profile at any real epsilon, with its error."""
    if epsilon < 0.0:
        # D(-e) = 1 - e^{-e} + e^{-e} D(e)
        value, error = log_gaussian_profile(law, -epsilon)
        return math.log(-math.expm1(epsilon) + math.exp(epsilon + value)), error
    solved = log_delta([(law, 1.0)], epsilon)
    return solved.value, 0.5 * (solved.upper - solved.lower)

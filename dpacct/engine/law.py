"""The law of a privacy loss L under P, as the engine sees it: a moment function, nothing else.

A law is normalised both ways, E[1] = 1 and E[e^{-L}] = 1 (no mass of Q escapes), which makes
M(s) - 1 a sum of non-negative terms for real s > 0:

    M(s) - 1 = s E[e^{-L} - 1 + L] + E[e^{sL} - 1 - sL].

So log M keeps its relative accuracy however close to 1 the moment is, and T log M stays exact at
T = 10^12. A law with mass at L = +infinity states it apart (`infinite_mass`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from dpacct.pld.budget import tabulated
from dpacct.pld.stable import TooFine as TooFine

from .stable import (
    Complexes,
    Floats,
    exp_minus_linear,
    exp_minus_linear_complex,
    log1p_complex,
    log_sum_exp,
    sine_minus_identity,
)


@dataclass(frozen=True)
class Cumulants:
    """log M(c), and the mean and variance of L under the law tilted by e^{cL}."""

    log_moment: float
    mean: float
    variance: float


@dataclass(frozen=True)
class Atoms:
    """Point masses of a law: finite losses, and log masses under P."""

    losses: Floats
    log_masses: Floats


NO_ATOMS = Atoms(np.empty(0), np.empty(0))


# beyond e^200 a moment is far from 1, and is summed in logs
_LARGE = 200.0
# entries of the (frequency, node) tables held at once
_CHUNK = 1 << 18
# damped nodes at most: a thousand frequencies of them take a second
_MOST_DAMPED = 3000


@dataclass(frozen=True)
class Bend:
    """How the contour may leave the vertical line: s = c + i tau + sign * rho with rho <= slope * tau.

    Far up the line M(s) is led by the losses piled up at one edge; moving Re s away from them makes the
    integrand decay. `slope` keeps e^{rho L} below the damping that the complex nodes give to large L.
    """

    sign: float
    slope: float


class Family(Protocol):
    """A law prepared for real tilts in a range (and any frequency)."""

    def cumulants(self, c: float) -> Cumulants: ...

    def log_moments(self, cs: Floats) -> Floats: ...

    def centred_log_ratio(self, c: float, z: Complexes) -> Complexes:
        """log(M(c+z)/M(c)) - z m, with m the mean at tilt c, at an array of displacements z."""
        ...

    def bend(self, c: float) -> Bend | None:
        """How the contour through c may leave the vertical line; None if it may not."""
        ...

    def cut_weight(self, c: float) -> float:
        """Relative weight of the law, tilted by c, where its tail was cut off."""
        ...


class Law(Protocol):
    """The law of one step's privacy loss. Hashable: equal laws are composed by adding their counts."""

    @property
    def loss(self) -> Any:
        """The same as a loss distribution; None where it is not stated as one."""
        ...

    @property
    def infinite_mass(self) -> float:
        """P-mass at L = +infinity; everything else here is about the rest, renormalised."""
        ...

    @property
    def lost_mass(self) -> float:
        """Q-mass at L = -infinity; Q too is renormalised to the rest."""
        ...

    @property
    def atoms(self) -> Atoms:
        """Point masses at finite losses."""
        ...

    @property
    def has_density(self) -> bool:
        """Whether there is anything but point masses."""
        ...

    @property
    def largest_loss(self) -> float:
        """Supremum of the loss."""
        ...

    @property
    def variance_hint(self) -> float:
        """About the variance of L, for a first guess of the tilt."""
        ...

    @property
    def tilt_hint(self) -> float:
        """A tilt above which the far tail of L takes over; the first guess stays below it."""
        ...

    def prepare(self, c_low: float, c_high: float, reach: float = math.inf) -> Family:
        """Moments for real tilts in a range; P-tails beyond `reach` deviations may be left out."""
        ...

    def log_one_step(self, epsilon: float) -> tuple[float, float] | None:
        """log E[(1 - e^{epsilon - L})_+] in closed form with its error, for any real epsilon; or None."""
        ...

    def epsilon_one_step(self, log_target: float) -> tuple[float, float] | None:
        """The epsilon at which `log_one_step` is the target, where that inverts in closed form."""
        ...

    def density_profile(self, epsilons: Floats) -> tuple[Floats, Floats]:
        """E[(1 - e^{epsilon - L})_+] over the part without atoms, and its derivative."""
        ...

    def source(self) -> Any:
        """The same law, whole, for grids: a `Source`."""
        ...


@dataclass(frozen=True)
class Nodes:
    """A quadrature rule for the law: E_P[f(L)] = sum exp(log_weights) f(losses)."""

    losses: Floats
    log_weights: Floats
    cut: int | None = None  # node at which a tail was cut off, where one was


class QuadratureFamily:
    """Moments by a quadrature rule that is exact to rounding over a range of tilts.

    `rule(c, t)` gives nodes good for tilts up to c and frequencies up to t; the base nodes
    (t = 0) serve every cumulant in the range, finer ones are made as frequencies ask for them.
    """

    def __init__(
        self, source: NodeSource, c_low: float, c_high: float, reach: float = math.inf
    ) -> None:
        self._source = source
        self._reach = reach
        nodes = source.nodes(c_low, c_high, 0.0, reach)
        self._cut = nodes.cut
        self._losses = nodes.losses
        self._log_weights = nodes.log_weights
        self._weights = np.exp(nodes.log_weights)
        # KL(P||Q) = E[e^{-L} - 1 + L], every term non-negative; e^{-L} alone may be no double
        self._divergence = float(self._excess(np.array(-1.0))[1].sum())

    @property
    def node_count(self) -> int:
        """Nodes of the base rule: what one moment costs."""
        return int(self._losses.size)

    def _excess(self, c: Floats) -> tuple[Floats, Floats, Floats]:
        """Per node: weight (e^{y} - 1), weight (e^{y} - 1 - y) and the tilted weight; y = c L."""
        y = np.multiply.outer(c, self._losses)
        weights = self._weights
        tilted = np.exp(y + self._log_weights)
        size = np.abs(y)
        first = np.where(size < 1.0, weights * np.expm1(np.clip(y, -1.0, 1.0)), tilted - weights)
        near = np.where(size < 0.5, y, 0.0)
        second = np.where(size < 0.5, weights * exp_minus_linear(near), first - weights * y)
        return first, second, tilted

    def cumulants(self, c: float) -> Cumulants:
        losses = self._losses
        tilted_log = c * losses + self._log_weights
        peak = float(tilted_log.max())
        if peak > _LARGE:
            tilted = np.exp(tilted_log - peak)
            total = float(tilted.sum())
            mean = float(tilted @ losses) / total
            spread = losses - mean
            variance = float(tilted @ (spread * spread)) / total
            return Cumulants(peak + math.log(total), mean, variance)
        first, second, tilted = self._excess(np.array(c))
        moment_minus_one = c * self._divergence + float(second.sum())
        moment = 1.0 + moment_minus_one
        if moment < 0.5:  # as for c in (-1, 0) with large losses: far from 1, nothing to save
            return self.quick_cumulants(c)
        mean = (self._divergence + float(first @ losses)) / moment
        spread = losses - mean
        variance = float(tilted @ (spread * spread)) / moment
        return Cumulants(math.log1p(moment_minus_one), mean, variance)

    def quick_cumulants(self, c: float) -> Cumulants:
        """The same by plain sums: 10^-16 off in M, which many steps may magnify; enough to find a tilt."""
        losses = self._losses
        tilted = c * losses
        tilted += self._log_weights
        peak = float(tilted.max())
        tilted -= peak
        np.exp(tilted, out=tilted)
        total = float(tilted.sum())
        mean = float(tilted @ losses) / total
        spread = losses - mean
        spread *= spread
        variance = float(tilted @ spread) / total
        return Cumulants(peak + math.log(total), mean, variance)

    def log_moments(self, cs: Floats) -> Floats:
        tilted_log = np.multiply.outer(cs, self._losses) + self._log_weights
        peak = tilted_log.max(axis=1)
        if float(peak.max()) > _LARGE:
            large: Floats = peak + np.log(np.exp(tilted_log - peak[:, None]).sum(axis=1))
            return large
        second = self._excess(cs)[1]
        result: Floats = np.log1p(cs * self._divergence + second.sum(axis=1))
        return result

    def centred_log_ratio(self, c: float, z: Complexes) -> Complexes:
        mean = self.cumulants(c).mean
        frequency = float(np.abs(z.imag).max())
        if not z.real.any() and frequency <= self._source.plain_frequency:
            return self._on_the_line(c, z.imag)
        return self._in_parts(c, mean, z)

    def _in_parts(self, c: float, mean: float, z: Complexes) -> Complexes:
        """Off the line, in parts whose frequencies share one rule and whose tables fit the cache."""
        frequencies = np.abs(z.imag)
        if z.size > 16 and (
            z.size * self._losses.size > _CHUNK >> 2
            or (z.size > 64 and float(frequencies[-1]) > 2.0 * float(frequencies[0]))
        ):
            halves = (z[: z.size // 2], z[z.size // 2 :])
            return np.concatenate([self._in_parts(c, mean, part) for part in halves])
        return self._off_the_line(c, mean, z)

    def cut_weight(self, c: float) -> float:
        """Relative weight of the law, tilted by c, where its tail was cut off."""
        if self._cut is None:
            return 0.0
        tilted = c * self._losses + self._log_weights
        return math.exp(float(tilted[self._cut]) - log_sum_exp(tilted))

    def bend(self, c: float) -> Bend | None:
        return self._source.bend(c, self._reach)

    def _on_the_line(self, c: float, t: Floats) -> Complexes:
        """Real nodes: E[e^{iu} - 1 - iu] = E[-2 sin^2(u/2)] + i E[sin u - u], u = t (L - m)."""
        nodes = self._source.nodes(c, c, float(np.abs(t).max()), self._reach)
        if t.size > 8 and t.size * nodes.losses.size > _CHUNK:
            halves = (t[: t.size // 2], t[t.size // 2 :])
            return np.concatenate([self._on_the_line(c, part) for part in halves])
        tabulated(t.size * nodes.losses.size)
        tilted_log = c * nodes.losses + nodes.log_weights
        weights = np.exp(tilted_log - log_sum_exp(tilted_log))
        # about the mean of this very rule: i t times a difference of means would outlive the decay
        u = np.multiply.outer(t, nodes.losses - float(weights @ nodes.losses))
        half = np.sin(0.5 * u)
        return log1p_complex(
            -2.0 * np.einsum("ij,ij,j->i", half, half, weights),
            np.einsum("ij,j->i", sine_minus_identity(u), weights),
        )

    def _off_the_line(self, c: float, mean: float, z: Complexes) -> Complexes:
        """Complex nodes, on which e^{zL} is damped instead of oscillating."""
        losses, log_weights = self._source.damped_nodes(c, z, self._reach)
        if losses.size > _MOST_DAMPED:
            raise TooFine
        tabulated(z.size * losses.size)
        log_moment = self.cumulants(c).log_moment
        weights = np.exp(log_weights + c * losses - log_moment)
        u = np.multiply.outer(z, losses - mean)
        # einsum, not @: BLAS would start threads for a product this small
        total = np.einsum("ij,j->i", exp_minus_linear_complex(u), weights)
        return log1p_complex(total.real, total.imag)


class NodeSource(Protocol):
    """What a law must provide to be integrated numerically."""

    @property
    def plain_frequency(self) -> float:
        """Frequencies up to this one are cheap on real nodes."""
        ...

    def nodes(self, c_low: float, c_high: float, t: float, reach: float) -> Nodes:
        """A rule good for tilts in [c_low, c_high], tilts -1 and 0, and frequencies up to t."""
        ...

    def damped_nodes(self, c: float, z: Complexes, reach: float) -> tuple[Complexes, Complexes]:
        """Losses and log weights on a complex path where e^{zL} is damped."""
        ...

    def bend(self, c: float, reach: float) -> Bend | None:
        """How the contour through c may leave the vertical line."""
        ...

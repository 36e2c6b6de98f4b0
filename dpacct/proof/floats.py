"""A composition's moments in floats, and the saddle of the integrand: for the search, never for a proof."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dpacct.errors import NotCertified
from dpacct.pld.stable import Floats

from .balls import precision
from .law import Branch
from .rules import View
from .step import Step

_X, _W = np.polynomial.legendre.leggauss(24)
_NATS = 60.0  # e^-60 of a peak is nothing
_EDGE = 11.0  # deviations of the noise
_MOST_PANELS = 20_000
_SPAN = 3.0  # tilts of one set of nodes, up and down
_BITS = 96


def log_payoff_peak(c: Floats) -> Floats:
    """log sup_u (1 - e^{-u})_+ e^{-cu} = log(c^c/(1+c)^{1+c})."""
    return np.asarray(c * np.log(c / (1.0 + c)) - np.log1p(c))


class FloatLaw:
    """One step's loss as nodes: atoms, and Gauss-Legendre panels where a branch matters at the tilts."""

    def __init__(self, step: Step) -> None:
        with precision(_BITS):
            law = step.law()
            self._atoms = (
                np.array([float(x.mid()) for x, _ in law.atoms]),
                np.array([float(m.log().mid()) for _, m in law.atoms]),
            )
            self._views = [(View(branch, None), _level(branch)) for branch in law.branches]
        self.normal = float(step.mu_squared) if step.normal else None
        self._ends = 0.0, 0.0
        self._nodes: tuple[Floats, Floats] = self._atoms

    def nodes(self, low: float, high: float) -> tuple[Floats, Floats]:
        """(losses, log weights) that are good for the tilts in [low, high]."""
        if not self._ends[0] <= low <= high <= self._ends[1]:
            self._ends = low / _SPAN, high * _SPAN
            parts = [self._atoms, *(self._panels(*one) for one in self._views)]
            losses, weights = (np.concatenate(column) for column in zip(*parts, strict=True))
            self._nodes = losses, weights
        return self._nodes

    def _panels(self, view: View, level: float) -> tuple[Floats, Floats]:
        low, high = self._ends
        # a hill far out moves by mu for each unit of the tilt, and is seen over 11 deviations
        hills = np.linspace(low, high, min(80, 2 + int(view.mu * (high - low) / 10.0)))
        tilts = np.unique(np.concatenate((np.geomspace(low, high, 5), hills)))
        powers = tilts + 1.0 if view.favoured else -tilts
        far = float(powers[-1]) * view.mu if view.normal else 0.0
        a = min(-_EDGE, far - _EDGE) if view.start is None else view.start
        b = max(_EDGE, far + _EDGE) if view.end is None else view.end
        if view.start is not None and view.end is None:
            b = max(b, a + _EDGE)
        width = min(2.5, 3.0 / view.mu)
        count = max(1, math.ceil((b - a) / width))
        if count > _MOST_PANELS:
            raise NotCertified("no contour was found for a proof: the losses reach too far")
        edges = np.linspace(a, b, count + 1)
        if count > 8:  # what no tilt in use sees is left out
            places = np.concatenate((edges, 0.5 * (edges[1:] + edges[:-1])))
            seen = np.multiply.outer(powers, view.log_r(places)) + view.density(places)
            seen = (seen - seen.max(axis=1, keepdims=True)).max(axis=0) > -_NATS
            kept = seen[:count] | seen[1 : count + 1] | seen[count + 1 :]
        else:
            kept = np.ones(count, dtype=bool)
        half = 0.5 * (b - a) / count
        x = (edges[:-1][kept][:, None] + half * (1.0 + _X)).ravel()
        log_r = view.log_r(x)
        weight = view.density(x) + level + np.tile(np.log(half * _W), int(kept.sum()))
        if view.favoured:
            return log_r, weight + log_r
        return -log_r, weight

    def log_moments(self, cs: Floats) -> Floats:
        """log M at an array of tilts."""
        if self.normal is not None:
            return np.asarray(0.5 * self.normal * cs * (cs + 1.0))
        losses, weights = self.nodes(float(cs.min()), float(cs.max()))
        terms = np.multiply.outer(cs, losses) + weights
        top = terms.max(axis=1)
        return np.asarray(top + np.log(np.exp(terms - top[:, None]).sum(axis=1)))

    def cumulants(self, c: float) -> tuple[float, float, float]:
        """log M, and the mean and variance of the tilted loss."""
        if self.normal is not None:
            return 0.5 * self.normal * c * (c + 1.0), self.normal * (c + 0.5), self.normal
        losses, weights = self.nodes(c, c)
        terms = c * losses + weights
        top = float(terms.max())
        p = np.exp(terms - top)
        whole = float(p.sum())
        mean = float(p @ losses) / whole
        centred = losses - mean
        return top + math.log(whole), mean, float(p @ (centred * centred)) / whole

    @property
    def node_count(self) -> int:
        """Nodes in use."""
        return self._nodes[0].size


def _level(branch: Branch) -> float:
    """log of the Q-density of x, less what `View.density` has of it."""
    view = View(branch, None)
    centre = branch.weight(view.centre)
    return float(centre.mid()) + math.log(view.mu)


FloatLaws = Sequence[tuple[FloatLaw, int]]


@dataclass(frozen=True)
class Totals:
    """Cumulants of a composition at a real abscissa c."""

    c: float
    log_moment: float
    mean: float
    variance: float

    @classmethod
    def of(cls, laws: FloatLaws, c: float) -> Totals:
        """Those of a product of moment functions."""
        parts = [[count * one for one in law.cumulants(c)] for law, count in laws]
        return cls(c, *(sum(column) for column in zip(*parts, strict=True)))

    @property
    def curvature(self) -> float:
        """F''(c), F(s) = log M(s) - s eps - log s - log(1+s)."""
        return self.variance + 1.0 / self.c**2 + 1.0 / (1.0 + self.c) ** 2

    @property
    def saddle_epsilon(self) -> float:
        """The epsilon whose saddle is c."""
        return self.mean - 1.0 / self.c - 1.0 / (1.0 + self.c)

    def height(self, epsilon: float) -> float:
        """F(c)."""
        return self.log_moment - self.c * epsilon - math.log(self.c) - math.log1p(self.c)

    def log_delta_estimate(self, epsilon: float) -> float:
        """Gaussian (saddle-point) estimate of log delta from the line at c."""
        gap = epsilon - self.saddle_epsilon
        spread = 0.5 * math.log(2.0 * math.pi * self.curvature)
        return self.height(epsilon) - spread - 0.5 * gap * gap / self.curvature


def saddle_for_epsilon(laws: FloatLaws, epsilon: float) -> Totals:
    """The c whose saddle has this epsilon."""

    def gap(total: Totals) -> float:
        return (total.saddle_epsilon - epsilon) / math.sqrt(total.curvature)

    return _solved(laws, gap, 0.05)


def saddle_for_log_delta(laws: FloatLaws, log_delta: float) -> Totals:
    """The c at whose own epsilon the saddle's estimate is this delta."""

    def gap(total: Totals) -> float:
        return log_delta - total.log_delta_estimate(total.saddle_epsilon)

    return _solved(laws, gap, 0.1)


def _solved(laws: FloatLaws, gap: Callable[[Totals], float], tolerance: float) -> Totals:
    """The c at which a rising gap is about 0, by secants of log c between two bounds."""
    low = high = math.log(5.0)
    reach = 0.5

    def at(u: float) -> tuple[Totals, float]:
        total = Totals.of(laws, math.exp(u))
        value = gap(total)
        return total, value if value == value else math.inf

    total, value = at(low)
    first = last = value
    while value < 0.0 and high < 60.0:
        low, first = high, value
        high, reach = high + reach, reach * 1.6
        total, value = at(high)
        last = value
    while value > 0.0 and low > -300.0 and first >= 0.0:
        high, last = low, value
        low, reach = low - reach, reach * 1.6
        total, value = at(low)
        first = value
    for _ in range(60):
        flat = not (math.isfinite(first) and math.isfinite(last)) or last == first
        u = 0.5 * (low + high) if flat else (low * last - high * first) / (last - first)
        u = min(max(u, low + 0.02 * (high - low)), high - 0.02 * (high - low))
        total, value = at(u)
        if value < 0.0:
            low, first, last = u, value, 0.5 * last if math.isfinite(last) else last
        else:
            high, last, first = u, value, 0.5 * first
        if high - low < 1e-4 or abs(value) < tolerance:
            break
    return total

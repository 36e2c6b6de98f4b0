"""A composition's moments in floats, and the saddle of the integrand: for the search, never for a proof."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from dpacct.pld.saddle import Totals
from dpacct.pld.stable import Floats

from .balls import precision
from .effort import spend
from .law import ProofBranch
from .operated import OperatedBranch
from .plan import Step
from .rules import View, strip_ends

_X, _W = np.polynomial.legendre.leggauss(24)
_NATS = 60.0  # e^-60 of a peak is negligible
_EDGE = 11.0  # deviations of the noise
# those that cost more than is worth counting, what each of these costs, and those that memory can't hold
_BULK = 60.0


class FloatLaw:
    """One step's loss as nodes: atoms, and Gauss-Legendre panels where a branch matters at the tilts."""

    def __init__(self, step: Step) -> None:
        with precision(96):
            law = step.law()
            points = law.atoms
            self._atoms = (
                np.array([float(x.mid()) for x, _ in points]),
                np.array([float(m.log().mid()) for _, m in points]),
            )
            self._operated = [b for b in law.branches if isinstance(b, OperatedBranch)]
            sampled = [b for b in law.branches if isinstance(b, ProofBranch)]
            self._views = [(View(branch), _level(branch)) for branch in sampled]
        self.normal = float(step.mu_squared) if step.normal else None
        self._ends = 0.0, 0.0
        self._nodes: tuple[Floats, Floats] = self._atoms

    def nodes(self, tilts: Floats) -> tuple[Floats, Floats]:
        """(losses, log weights) that are good for these tilts."""
        # tilts of one set of nodes, up and down
        span = 3.0
        low, high = float(tilts.min()), float(tilts.max())
        if not self._ends[0] <= low <= high <= self._ends[1]:
            steep = max((view.mu for view, _ in self._views if view.normal), default=0.0)
            # deviations of the noise at which a hill is far out
            if steep * high * span > 5000.0:  # hills so far out that only those in use are covered
                self._ends, used = (low, low), tilts
            else:
                self._ends = low / span, high * span
                # a hill moves by mu for each unit of the tilt, and is seen over 11 deviations
                hills = np.linspace(*self._ends, 2 + int(steep * self._ends[1] / 10.0))
                # in order, each once; np.unique would import numpy.ma
                used = np.array(sorted({*np.geomspace(*self._ends, 5).tolist(), *hills.tolist()}))
            self._nodes = self._of_tilts(used)
        return self._nodes

    def _of_tilts(self, tilts: Floats) -> tuple[Floats, Floats]:
        parts = [self._atoms, *(self._panels(view, level, tilts) for view, level in self._views)]
        parts += [_operated(branch, tilts) for branch in self._operated]
        losses, weights = (np.concatenate(column) for column in zip(*parts, strict=True))
        return losses, weights

    def _panels(self, view: View, level: float, tilts: Floats) -> tuple[Floats, Floats]:
        powers = tilts + 1.0 if view.favoured else -tilts
        width = min(2.5, 3.0 / view.mu)
        edges = self._edges(view, powers, width)
        places = np.concatenate((edges[:, 0], edges.mean(axis=1), edges[:, 1]))
        kept = np.ones(len(edges), dtype=bool)
        if len(edges) > 8:  # what no tilt in use sees is left out
            seen = np.multiply.outer(powers, view.log_r(places)) + view.density(places)
            near = (seen - seen.max(axis=1, keepdims=True)).max(axis=0) > -_NATS
            kept = near.reshape(3, -1).any(axis=0)
        edges = edges[kept]
        half = 0.5 * (edges[:, 1] - edges[:, 0])[:, None]
        x = (edges[:, :1] + half * (1.0 + _X)).ravel()
        log_r = view.log_r(x)
        weight = view.density(x) + level + np.log(half * _W).ravel()
        if view.favoured:
            return log_r, weight + log_r
        return -log_r, weight

    def _edges(self, view: View, powers: Floats, width: float) -> Floats:
        """Panels, a row of two ends each, of the places that may matter."""
        first, last = view.start, view.end
        if not view.normal:
            assert first is not None and last is not None
            return _cut(first, last, width)
        hills = view.mu * powers
        low, high = float(min(hills.min(), 0.0)) - _EDGE, float(max(hills.max(), 0.0)) + _EDGE
        low, high = first if first is not None else low, last if last is not None else high
        high = max(high, low + _EDGE)
        if (high - low) / width <= 4000:
            return _cut(low, high, width)
        if not view.favoured:  # r^-c only falls, down to (1 - q)^-c
            return _cut(max(low, -_BULK), high, width)
        reach = _BULK + _BULK / view.mu
        bulk = [_cut(max(low, -_EDGE), min(reach, high), width)]
        peaks = np.unique(np.round(hills[hills > reach] / _EDGE)) * _EDGE
        return np.concatenate(
            bulk + [_cut(x - _EDGE / 2, x + _EDGE / 2, width) for x in _spread(peaks)]
        )

    def log_moments(self, cs: Floats) -> Floats:
        """log M at an array of tilts."""
        if self.normal is not None:
            return np.asarray(0.5 * self.normal * cs * (cs + 1.0))
        losses, weights = self.nodes(cs)
        terms = np.multiply.outer(cs, losses) + weights
        top = terms.max(axis=1)
        return np.asarray(top + np.log(np.exp(terms - top[:, None]).sum(axis=1)))

    def cumulants(self, c: float) -> tuple[float, float, float]:
        """log M, and the mean and variance of the tilted loss."""
        if self.normal is not None:
            return 0.5 * self.normal * c * (c + 1.0), self.normal * (c + 0.5), self.normal
        losses, weights = self.nodes(np.array([c]))
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


def _operated(branch: OperatedBranch, tilts: Floats) -> tuple[Floats, Floats]:
    """Nodes of a branch after any operators: (losses, log weights)."""
    low, high = strip_ends(branch, tilts, _NATS)
    floats = branch.floats
    edges = _cut(low, high, min(1.0, 2.4 * floats.square**-0.5 if floats.square else 1.0))
    half = 0.5 * (edges[:, 1] - edges[:, 0])[:, None]
    loss, log_q = floats.at((edges[:, :1] + half * (1.0 + _X)).ravel())
    return loss, log_q + loss + np.log(half * _W).ravel()


def _cut(low: float, high: float, width: float) -> Floats:
    """Even panels of at most this width. Raises `TooCostly` where these are too many."""
    count = max(1, math.ceil((high - low) / width))
    if count > 20_000:
        # a panel takes 5 us; memory does not hold a million
        spend(math.inf if count > 1_000_000 else 5e-6 * count)
    edges = np.linspace(low, high, count + 1)
    return np.stack((edges[:-1], edges[1:]), axis=1)


def _spread(peaks: Floats) -> Floats:
    """The peaks' windows and those beside them, each once: windows are as wide as they lie apart."""
    return np.unique(np.concatenate((peaks - _EDGE, peaks, peaks + _EDGE)))


def _level(branch: ProofBranch) -> float:
    """log of the Q-density of x, less what `View.density` has of it."""
    view = View(branch)
    centre = branch.weight(view.centre)
    return float(centre.mid()) + math.log(view.mu)


FloatLaws = Sequence[tuple[FloatLaw, int]]


def totals(laws: FloatLaws, c: float) -> Totals[float]:
    """Cumulants of a composition at one tilt."""
    parts = [[count * cumulant for cumulant in law.cumulants(c)] for law, count in laws]
    return Totals(c, *(sum(column) for column in zip(*parts, strict=True)))


def saddle_for_epsilon(laws: FloatLaws, epsilon: float) -> Totals[float]:
    """The c whose saddle has this epsilon."""

    def gap(total: Totals[float]) -> float:
        return (total.saddle_epsilon - epsilon) / math.sqrt(total.curvature)

    return _solved(laws, gap, 0.05)


def saddle_for_log_delta(laws: FloatLaws, log_delta: float) -> Totals[float]:
    """The c at whose own epsilon the saddle's estimate is this delta."""

    def gap(total: Totals[float]) -> float:
        return log_delta - total.peak

    return _solved(laws, gap, 0.1)


def _solved(
    laws: FloatLaws, gap: Callable[[Totals[float]], float], tolerance: float
) -> Totals[float]:
    """The c at which a rising gap is about 0, by secants of log c between two bounds."""
    low = high = math.log(5.0)
    reach = 0.5

    def at(u: float) -> tuple[Totals[float], float]:
        total = totals(laws, math.exp(u))
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

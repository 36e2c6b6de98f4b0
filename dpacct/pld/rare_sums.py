"""Parts of dpacct.pld.rare: sums of common losses, by a few nodes or on lines, and of several large ones.

Where the common losses of many steps reach epsilon together, the vertical through the saddle tells what
they do. A law whose tilted density has a valley between its common losses and rarer ones is telescoped,

    A_b^T = A_a^T + (A_b^T - A_a^T) + ...,    A_y(s) = E[e^{sL}; L <= y],

a condition on the largest loss. Each bracket is the moment function of a positive measure, with a saddle
and a line of its own.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from .budget import evaluated, tabulated
from .lines import ContourLine, even_line
from .loss import LossDistribution
from .moments import Cumulants, Fine, Moments, SummedMoments, Tilted, Unbent, tilted
from .rare_law import Array, Counted, SampledLaw, near
from .rules import Nodes
from .saddle import Saddle, Totals
from .stable import Complexes, Floats, TooFine, expm1_linear, log1p, product, unmixed_loss

TOLERANCE = 1e-12
"""Relative error at which steps and ends of lines are chosen."""
MOST = 8192
"""Nodes of a line."""
_FIRST = 256  # where a coarse rule does not tell
_CANCELS = 60.0  # nats by which the integrand may be above what it tells
# relative error of a line that needs no telescope, and of all lines of one
_GOOD, _SHARED = 1e-10, 2e-10
_PIECES = (1, 2, 4)  # of what lies above a valley, as they are tried

Laws = Sequence[tuple[LossDistribution, float]]
Sums = tuple[Floats, Floats, Floats]
"""Log of a moment, mean and variance, at some tilts."""
Index = tuple[int, ...]


# -- by a few nodes, and from tables --------------------------------------------------------------------


def log_sum(x: Array) -> Array:
    """log of the sum of e^x along the last axis."""
    evaluated(2 * x.size)
    peak = x.max(axis=-1)
    safe = np.where(np.isfinite(peak), peak, 0.0)
    result: Array = safe + np.log(np.exp(x - safe[..., None]).sum(axis=-1))
    return result


@dataclass(frozen=True)
class ScaledCumulants:
    """Cumulants of one common loss, tilted: log of its mass, mean, and higher ones over scale^j."""

    log: float
    mean: float
    scale: float
    kappa: tuple[float, ...]


def cumulants(near: Fine, order: int) -> ScaledCumulants:
    """ScaledCumulants up to an order."""
    log, mean = near.cumulants.log_moment, near.cumulants.mean
    d, power = near.losses - mean, np.exp(near.c * near.losses + near.log_w - log)
    scale = max(float(np.abs(d).max(initial=0.0)), 1e-300)
    unit, moments = d / scale, [1.0, 0.0]
    power *= unit
    for _ in range(2, order + 1):
        power *= unit
        moments.append(float(power.sum()))
    kappa = [0.0, 0.0]
    for j in range(2, order + 1):
        kappa.append(
            moments[j]
            - sum(math.comb(j - 1, i - 1) * kappa[i] * moments[j - i] for i in range(2, j - 1))
        )
    return ScaledCumulants(log, mean, scale, tuple(kappa))


@dataclass(frozen=True)
class GaussRule:
    """Nodes and log weights of a Gauss rule for a sum, and of one of two nodes fewer behind it."""

    nodes: Array
    log_weights: Array
    rough_nodes: Array
    rough_log_weights: Array


def gauss_rule(parts: Sequence[tuple[ScaledCumulants, float]], size: int) -> GaussRule:
    """Gauss rules of the sum of so many independent losses, from its cumulants, by Chebyshev's algorithm."""
    mean = sum(n * summand.mean for summand, n in parts)
    order = 2 * size
    scale = max(summand.scale for summand, _ in parts)
    kappa = [
        sum(n * summand.kappa[j] * (summand.scale / scale) ** j for summand, n in parts)
        for j in range(order + 1)
    ]
    deviation = math.sqrt(max(kappa[2], 0.0))
    if deviation * scale <= 1e-15 * max(abs(mean), 1e-290):
        alone = np.array([mean]), np.zeros(1)
        return GaussRule(*alone, *alone)
    powers = np.longdouble(deviation) ** np.arange(order + 1)
    unit, moments = np.array(kappa, np.longdouble) / powers, np.zeros(order + 1, np.longdouble)
    moments[0] = 1.0
    for j in range(2, order + 1):
        moments[j] = (_choices(j) * unit[2 : j + 1]) @ moments[j - 2 :: -1]
    alpha, beta = _recurrence(moments, size)
    results = []
    for n in (len(alpha), max(len(alpha) - 2, 1)):
        matrix = np.diag(np.array(alpha[:n]))
        matrix.flat[n :: n + 1] = np.sqrt(
            np.array(beta[1:n])
        )  # below the diagonal, where eigh reads
        x, vectors = np.linalg.eigh(matrix)
        with np.errstate(divide="ignore"):
            results += [mean + deviation * scale * x, 2.0 * np.log(np.abs(vectors[0]))]
    return GaussRule(*results)


@lru_cache
def _choices(j: int) -> npt.NDArray[np.longdouble]:
    """The ways to choose 1, 2, .., j - 1 of j - 1."""
    return np.array([math.comb(j - 1, i) for i in range(1, j)], np.longdouble)


def _recurrence(moments: npt.NDArray[np.longdouble], size: int) -> tuple[list[float], list[float]]:
    """Recurrence coefficients of the orthogonal polynomials, as many as the moments allow."""
    alpha, beta = [moments[1] / moments[0]], [moments[0]]
    older, last = np.zeros_like(moments), moments
    for j in range(1, size):
        new, rest = np.zeros_like(moments), slice(j, 2 * size - j)
        new[rest] = last[j + 1 : 2 * size - j + 1] - alpha[-1] * last[rest] - beta[-1] * older[rest]
        ratio = new[j] / last[j - 1]
        if not ratio > 1e-12 * (beta[1] if j > 1 else 1):
            break
        alpha.append(new[j + 1] / new[j] - last[j] / last[j - 1])
        beta.append(ratio)
        older, last = last, new
    return [float(a) for a in alpha], [float(b) for b in beta]


# -- several jumps ---------------------------------------------------------------------------------


@lru_cache
def tanh_sinh(h: float) -> tuple[Array, Array]:
    """Fractions of an interval from its lower end, and log weights."""
    t = np.arange(-3.4, 3.4 + h / 2, h)
    s = 0.5 * math.pi * np.sinh(t)
    return 1.0 / (1.0 + np.exp(-2.0 * s)), np.log(h * 0.25 * math.pi * np.cosh(t)) - 2.0 * np.log(
        np.cosh(s)
    )


# places times nodes of a rule over one jump, at most; and functions that are computed at each
_MOST_ENTRIES, _OF_AN_ENTRY = 1 << 23, 8


class Jumps:
    """log H_k and log -H_k' for counts k of jumps of each law, at any y, from tables made when asked for."""

    def __init__(self, laws: Sequence[SampledLaw], level: float, top: float) -> None:
        self.laws, self.a = laws, level
        at = np.array(level)
        self._log_q = [float(law.log_d(at)) for law in laws]  # log e^a Q(L > a)
        self._ratio = [
            math.log1p(math.exp(float(law.log_h(at)) - q)) if q > -math.inf else 0.0
            for law, q in zip(laws, self._log_q, strict=True)
        ]  # log P(L > a) - log e^a Q(L > a)
        self._axis = laws[0]
        self._edges, self._order = self._panels(max(top, level * (1.0 + 1e-9)))
        t = math.pi * (np.arange(self._order) + 0.5) / self._order
        self._sign = (-1.0) ** np.arange(self._order) * np.sin(t)
        half = 0.5 * np.diff(self._edges)[:, None]
        self._x = self._edges[:-1, None] + half * (1.0 + np.cos(t))
        self._y1 = self._loss(self._x.ravel())
        self._tables: dict[Index, tuple[Array, float]] = {}
        self._grids: dict[int, tuple[Array, list[tuple[int, npt.NDArray[np.intp], Array]]]] = {}

    @property
    def span(self) -> float:
        """The distance from the level to the top, in the coordinate in which everything is smooth."""
        return float(self._edges[-1] - self._edges[0])

    def _place(self, y: Array) -> Array:
        """A coordinate in which everything is smooth: the axis of the first law, not clipped."""
        law = self._axis
        return law.branch.plain_where(unmixed_loss(law.rate, y))

    def _loss(self, x: Array) -> Array:
        return self._axis.loss(x)

    def _panels(self, top: float) -> tuple[Array, int]:
        """Edges of the panels of the tables in that coordinate, and their number of nodes."""
        low, high = self._place(np.array([self.a, top])).tolist()
        panels = max(1, math.ceil((high - low) / 9.0))
        return np.linspace(low, high, panels + 1), int(min(20 + 4 * (high - low) / panels, 60))

    def _quadrature(self, i: int, y1: Array) -> tuple[Array, Array]:
        """One jump of law i that leaves the others above their edge: log weights, and what is left in y1."""
        law = self.laws[i]
        low, high = law.place(np.array(self.a)), law.place(y1)
        span = np.maximum(high - low, 0.0)
        h = min(1.0 / 12.0, 2.0 ** math.floor(math.log2(0.4 / max(float(span.max()), 1e-9))))
        share, log_w = tanh_sinh(h)
        entries = share.size * span.size
        if entries > _MOST_ENTRIES:
            raise TooFine
        evaluated(_OF_AN_ENTRY * entries)
        loss, log_q = law.branch.at(low + span[:, None] * share)
        weights = log_q + loss + log_w + np.log(span)[:, None]
        return weights, np.maximum(y1[:, None] + self.a - loss, self.a)

    def _closed(self, k: Index, i: int, h: Array, d: Array) -> tuple[Array, Array]:
        """All but the last jump, of law i, surely beyond: P^{k-1} P(L > y1) - e^y Q^{k-1} Q(L > y1)."""
        others = [n - (j == i) for j, n in enumerate(k)]
        base = sum(n * q for n, q in zip(others, self._log_q, strict=True) if n)
        r = sum(n * ratio for n, ratio in zip(others, self._ratio, strict=True) if n)
        grown = r if r > 700.0 else math.log(math.expm1(r)) if r > 0.0 else -math.inf
        return base + np.logaddexp(r + h, d + grown), base + d

    def _integrated(
        self, k: Index, i: int, f: Array, inner: tuple[Array, Array], y1: Array
    ) -> tuple[Array, Array, float]:
        """Both parts together; and how far every other node of the quadrature is from all of them."""
        law = self.laws[i]
        h, d = self._closed(k, i, law.log_h(y1), law.log_d(y1))
        parts = f + inner[0]
        whole = np.logaddexp(h, log_sum(parts))
        coarse = np.logaddexp(h, log_sum(parts[:, ::2]) + math.log(2.0))
        finite = np.isfinite(whole)
        change = float(np.abs(whole - coarse)[finite].max(initial=0.0))
        # the error of a rule with half the step is about the square
        return whole, np.logaddexp(d, log_sum(f + inner[1])), min(change, 10.0 * change * change)

    def _second(self, k: Index, y1: Array) -> tuple[Array, Array, float]:
        i, j = [n for n, count in enumerate(k) for _ in range(count)]
        f, rest = self._quadrature(j, y1)
        return self._integrated(k, j, f, (self.laws[i].log_h(rest), self.laws[i].log_d(rest)), y1)

    def _interpolation(self, y1: Array) -> list[tuple[int, npt.NDArray[np.intp], Array]]:
        """Return each panel's share of these y1: their indices, and barycentric weights."""
        place = self._place(y1).ravel()
        panel = np.clip(np.searchsorted(self._edges, place) - 1, 0, self._edges.size - 2)
        parts = []
        for p in range(self._edges.size - 1):
            inside = np.flatnonzero(panel == p)
            if inside.size:
                b = place[inside, None] - self._x[p]
                tabulated(b.size)
                b[b == 0.0] = 1e-300
                np.divide(self._sign, b, out=b)
                b /= b.sum(axis=1, keepdims=True)
                parts.append((p, inside, b))
        return parts

    @staticmethod
    def _interpolated(
        table: Array, shape: tuple[int, ...], parts: list[tuple[int, npt.NDArray[np.intp], Array]]
    ) -> tuple[Array, Array]:
        both = np.empty((math.prod(shape), 2))
        for p, inside, b in parts:
            evaluated(b.size)
            both[inside] = product(b, table[p])
        return both[:, 0].reshape(shape), both[:, 1].reshape(shape)

    def _table(self, k: Index) -> tuple[Array, float]:
        """Values at the nodes, by panel, and about their error."""
        if k in self._tables:
            return self._tables[k]
        i = max(j for j, count in enumerate(k) if count)
        if sum(k) == 2:
            h, d, error = self._second(k, self._y1)
        else:
            fewer = tuple(count - (j == i) for j, count in enumerate(k))
            before, error = self._table(fewer)
            if i not in self._grids:
                f, rest = self._quadrature(i, self._y1)
                self._grids[i] = f, self._interpolation(rest)
            f, at = self._grids[i]
            h, d, change = self._integrated(
                k, i, f, self._interpolated(before, f.shape, at), self._y1
            )
            error += change
        table = np.stack([h, d], axis=-1).reshape((*self._x.shape, 2))
        table = np.where(np.isfinite(table), table, -1e5)
        self._tables[k] = table, error + self._last_coefficients(table[..., 0])
        return self._tables[k]

    def _last_coefficients(self, values: Array) -> float:
        """Return the size of the last Chebyshev coefficients: about what the first omitted one is."""
        t = math.pi * (np.arange(self._order) + 0.5) / self._order
        rows = np.cos(np.multiply.outer(np.arange(self._order - 3, self._order), t)) * (
            2.0 / self._order
        )
        live = values.min(axis=1) > -1e4
        last = np.abs(np.einsum("ij,kj->ik", values[live], rows))
        return float(last.max(initial=0.0))

    def read(self, k: Index, y: Array) -> tuple[Array, Array, float]:
        """log H_k, log -H_k' at any y, and about their error."""
        h, d, error = np.empty_like(y), np.empty_like(y), 0.0
        total = sum(k)
        y1 = y - (total - 1) * self.a
        low = y1 <= self.a
        base = sum(n * q for n, q in zip(k, self._log_q, strict=True) if n)
        ratio = sum(n * r for n, r in zip(k, self._ratio, strict=True) if n)
        if low.any():
            excess = math.expm1(min(ratio, 709.0)) - np.expm1(y1[low] - self.a)
            h[low] = base + (np.log(np.maximum(excess, 1e-300)) if ratio < 700.0 else ratio)
            d[low] = base + y1[low] - self.a
        high = y1[~low]
        if high.size:
            if total == 1:
                law = self.laws[k.index(1)]
                h[~low], d[~low] = law.log_h(high), law.log_d(high)
            elif total == 2:
                h[~low], d[~low], error = self._second(k, high)
            else:
                table, error = self._table(k)
                h[~low], d[~low] = self._interpolated(table, high.shape, self._interpolation(high))
        return h, d, error


# -- on lines --------------------------------------------------------------------------------------------


def line(saddle: Saddle, y: float, about: float = math.inf, most: int = MOST) -> ContourLine:
    """The vertical through the saddle at y; raises `TooFine` where none tells, or it cancels too much.

    `about`: log of a sum of which this is to tell a part.
    """
    total = saddle.for_epsilon(y, saddle.start)
    if total.log_delta(y) > about + _CANCELS:
        raise TooFine
    if saddle.plan.nodes > most:  # too far for a coarse rule to see it fall
        saddle.plan = saddle.plan._replace(nodes=_reach(saddle, total, most))
    result = even_line(saddle, total, y, most)
    if result is None:
        raise TooFine
    return result


def _reach(saddle: Saddle, total: Totals[float], most: int) -> int:
    """Return the number of nodes at which the integrand matters; too many if no rule is fine enough."""
    c, step, count = total.c, saddle.plan.step, _FIRST
    # a law that ends at its level falls as 1/t: a product of few of them is not there within so many nodes
    if sum(n for _, n in saddle.moments) * math.log1p(step * most / c) < -math.log(
        saddle.tolerance
    ):
        return 2 * most
    wanted = math.log(saddle.tolerance * math.pi) - 0.5 * math.log(2.0 * math.pi * total.curvature)
    while count <= most:
        far = step * count
        level = sum(n * part.even(c, far / 8.0, 9).real[-2:].max() for part, n in saddle.moments)
        if level + math.log(c * (1.0 + c) / far) < wanted:
            break
        count *= 2
    return count


# -- a sum whose largest loss is above a floor --------------------------------------------------------


class Above(Unbent):
    """log of prod A_i^{n_i} - prod B_i^{n_i}, B_i being A_i without the losses above a floor.

    With s_i the share that these have of A_i, it is sum n_i log A_i + log(1 - e^-nats), and nats
    - sum n_i log(1 - s_i).
    """

    def __init__(self, laws: Laws, floor: float, low: float, high: float) -> None:
        self.parts = [
            (SummedMoments(law.split(floor), low, high, by_loss=True), n) for law, n in laws
        ]
        self.floor = floor

    def _sums(
        self, cs: Floats, parts: Sequence[tuple[float, Sums, Nodes]]
    ) -> tuple[Sums, Floats, Floats]:
        """The sums at some tilts, nats, and what a loss above the floor adds to the mean."""
        log, mean, variance, nats, first, second = np.zeros((6, cs.size))
        for n, sums, (losses, log_w) in parts:
            log, mean, variance = log + n * sums[0], mean + n * sums[1], variance + n * sums[2]
            kept = losses > self.floor
            if kept.any():
                above = tilted(cs, losses[kept], log_w[kept])
                share = np.exp(np.minimum(above[0] - sums[0], -1e-12))
                apart, odds = above[1] - sums[1], share / (1.0 - share)
                nats = nats - n * np.log1p(-share)
                first = first + n * odds * apart
                second = second + n * odds * (above[2] - sums[2] + apart**2 * (1.0 + odds))
        rest = 1.0 / np.expm1(nats)
        variance = np.maximum(variance + rest * (second - (1.0 + rest) * first**2), 1e-300)
        return (log + np.log(-np.expm1(-nats)), mean + rest * first, variance), nats, rest * first

    def rough(self, cs: Floats) -> tuple[Floats, Floats, Floats]:
        """Evaluate the coarse rules."""
        return self._sums(cs, [(n, part.rough(cs), part.coarse) for part, n in self.parts])[0]

    def _fine(self, c: float, frequency: float) -> tuple[Sums, Floats, Floats]:
        """Evaluate rules made for this tilt and frequency."""
        parts = []
        for moments, n in self.parts:
            fine = moments.fine(c, frequency)
            of = fine.cumulants
            log, mean, variance = np.array([[of.log_moment], [of.mean], [of.variance]])
            parts.append((n, (log, mean, variance), (fine.losses, fine.log_w)))
        return self._sums(np.array([c]), parts)

    def cumulants(self, c: float, frequency: float = 0.0) -> Cumulants:
        """Evaluate rules made for this tilt."""
        return Cumulants(*(float(value[0]) for value in self._fine(c, frequency)[0]))

    def turned(self, c: float, t: Floats) -> Complexes:
        """Evaluate the coarse rules."""
        made = [(Tilted(c, part.coarse), n) for part, n in self.parts]
        return self._turned(c, t, made, 0.0, lambda of: of.turned(t))

    def even(self, c: float, step: float, count: int) -> Complexes:
        """Evaluate rules made for this tilt and the last frequency."""
        t, far = step * np.arange(count), step * count
        made = [(part.fine(c, far), n) for part, n in self.parts]
        return self._turned(c, t, made, far, lambda of: of.even(step, count))

    def _turned(
        self,
        c: float,
        t: Floats,
        made: Sequence[tuple[Tilted, float]],
        frequency: float,
        log_ratio: Callable[[Tilted], Complexes],
    ) -> Complexes:
        _, nats, shift = self._fine(c, frequency)
        total, turned = -1j * t * shift[0], np.zeros(t.size, complex)
        for whole, n in made:
            ratio = log_ratio(whole)
            total += n * ratio
            kept = whole.losses > self.floor
            if kept.any():
                above = Tilted(c, (whole.losses[kept], whole.log_w[kept]))
                share = math.exp(min(above.level - whole.level, -1e-12))
                apart = 1j * t * (above.weights[2] - whole.weights[2])
                turned -= n * log1p(-share * np.exp(log_ratio(above) - ratio + apart))
        # e^-nats - 1, with its digits where that is little
        rise = expm1_linear(-turned) - turned
        return np.asarray(total + np.log(rise / math.expm1(-nats[0])))


class Largest(Saddle):
    """The saddle of a sum whose largest loss is above a floor."""

    def __init__(self, laws: Laws, floor: float, c: float) -> None:
        self.laws, self.floor = laws, floor
        super().__init__(laws, c, warm=True, by_loss=True, tolerance=TOLERANCE)

    def ready(self, low: float, high: float) -> list[tuple[Moments, float]]:
        """The laws, taken together."""
        return [(Above(self.laws, self.floor, low, high), 1.0)]


# -- which lines ----------------------------------------------------------------------------------------


def valley(law: SampledLaw, level: float, c: float) -> float | None:
    """Locate the minimum of the density tilted by c between common losses and a rise beyond them."""
    low, high = law.branch.extent
    losses, log_q = law.branch.at(
        np.linspace(low, min(float(law.place(np.array(level))), high), 800)
    )
    first = int(np.argmax(log_q))
    density = (log_q + (1.0 + c) * losses)[first:]
    least = np.minimum.accumulate(density)
    rises = np.flatnonzero((density > least + 1.0) & (least < density[0] - 3.0))
    if not rises.size:
        return None
    return float(losses[first + int(np.argmin(density[: int(rises[0]) + 1]))])


def lines(
    laws: Counted,
    parts: Laws,
    level: float,
    y: float,
    guess: float,
    tilt: float,
    about: float,
    negligible: float,
) -> tuple[list[ContourLine], float]:
    """Lines that tell the sum of losses up to a level at y and close by, and log of a bound of the rest.

    `parts`: the laws up to that level. `tilt`: of a line that told what is much like it, or the guess.
    `about`: of log delta, where that is more than they tell. Parts of the telescope that are bounded
    `negligible` nats below the leading one are left out. Raises `TooFine`.
    """
    with suppress(TooFine):
        saddle = Saddle(parts, tilt, warm=True, by_loss=True, tolerance=TOLERANCE)
        saddle.start = tilt = saddle.near_epsilon(y)[0]
        whole = line(saddle, y, about)
        if whole.read(y)[2] < _GOOD:
            return [whole], -math.inf
    floors = set()
    for c in (tilt, guess):
        places = [valley(law, level, c) for law, _ in laws]
        floors |= {min(place for place in places if place is not None)} if any(places) else set()
    for pieces, floor in itertools.product(_PIECES, floors):
        with suppress(TooFine):
            return _telescope(laws, level, y, guess, floor, pieces, about, negligible)
    raise TooFine


def _telescope(
    laws: Counted,
    level: float,
    y: float,
    guess: float,
    floor: float,
    pieces: int,
    about: float,
    negligible: float,
) -> tuple[list[ContourLine], float]:
    first = laws[0][0]
    low, high = first.place(np.array((floor, level))).tolist()
    places = np.linspace(low, high, pieces + 1)
    levels = [floor, *first.loss(places[1:-1]).tolist(), level]
    saddles = [Saddle(near(laws, floor), guess, warm=True, by_loss=True, tolerance=TOLERANCE)]
    saddles += [
        Largest(near(laws, over), under, guess) for under, over in itertools.pairwise(levels)
    ]
    bounds = [saddle.bound(y) for saddle in saddles]
    chosen, readings, left_out = [], [], []
    whole = -math.inf
    for k in np.argsort(bounds)[::-1].tolist():  # what leads tells what is too little
        if bounds[k] < whole - negligible:
            left_out.append(bounds[k])
            continue
        chosen.append(line(saddles[k], y, about))
        readings.append(chosen[-1].read(y))
        whole = float(np.logaddexp(whole, readings[-1][0]))
    if any(not error * math.exp(log - whole) < _SHARED for log, _, error in readings):
        raise TooFine
    return chosen, float(np.logaddexp.reduce(left_out, initial=-math.inf))

"""M(s) = E_P[e^{sL}] of one loss distribution: roughly at many tilts, to rounding on the line through one.

    log M(c) keeps its relative accuracy where M is near 1, with P- and Q-mass stated apart:
    M(s) - 1 = s (lost - infinite) - infinite + E[e^{sL} - 1 - sL] + s E[e^{-L} - 1 + L]

By the `rules` of its branches; atoms are nodes of any rule.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from .budget import prepared, tabulated
from .rules import NEGLIGIBLE, Nodes, rule_for
from .stable import (
    Array,
    Complexes,
    Floats,
    TooFine,
    expm1_linear,
    log1p,
    product,
    sin_linear,
)

if TYPE_CHECKING:
    from .coin import Round
    from .loss import LossDistribution
    from .stack import Stack

_LARGE = 600.0  # e^600 is still a double; twice as much is not


class Cumulants(NamedTuple):
    """log M(c), and mean, variance and third central moment of L under the law tilted by e^{cL}."""

    log_moment: float
    mean: float
    variance: float
    third: float = 0.0


Summand: TypeAlias = "LossDistribution | Round | Stack"
"""A law of a composition: of a release, of a coin's round, or of many small laws at once."""
Part: TypeAlias = "tuple[Summand, float]"
Parts: TypeAlias = "Sequence[Part]"


class Moments(ABC):
    """M of one law around the real tilts it was prepared for."""

    @abstractmethod
    def rough(self, cs: Floats) -> tuple[Floats, Floats, Floats]:
        """log M, mean and variance at many tilts, good to about 1e-7 of log M: to search with."""

    @abstractmethod
    def cumulants(self, c: float, frequency: float = 0.0) -> Cumulants:
        """Return the cumulants at one tilt, to rounding; `frequency`: the last one of a coming `even`."""

    @abstractmethod
    def turned(self, c: float, t: Floats) -> Complexes:
        """About log(M(c + it)/M(c)) - itm at real t, m the mean at c: how fast it decays."""

    def log_moments(self, cs: Floats) -> Floats:
        """log M at many tilts, to rounding."""
        return self.rough(cs)[0]

    def even(self, c: float, step: float, count: int) -> Complexes:
        """log(M(c+z)/M(c)) - z m at z = 0, i step, 2 i step, .., m the mean at c, to rounding."""
        return self.turned(c, step * np.arange(count))

    def jump(self, c: float) -> float:
        """E|X|^3/E X^2, X the loss tilted by c, about its mean; 0 where no loss stands out.

        Losses that stay near two values a distance g apart have about g, and |M| recurs at 2 pi/g.
        """
        return 0.0

    def beside_idle(self, c: float, t: Floats) -> Floats:
        """Return how far M is from its atom at loss 0 (`coin.RoundMoments`); other laws raise `TooFine`."""
        raise TooFine


# -- M of a law that is summed by a rule -------------------------------------------------------------


def _divergence(loss: Floats, log_w: Floats) -> float:
    """E[e^-L - 1 + L]: the divergence, where nothing is lost or infinite."""
    w = np.exp(log_w)
    far = loss < -_LARGE  # e^-L alone would overflow
    if not far.any():
        return float(w @ expm1_linear(-loss))
    near = ~far
    rest = np.exp(log_w[far] - loss[far]) - w[far] * (1.0 - loss[far])
    return float(w[near] @ expm1_linear(-loss[near])) + float(rest.sum())


def _rise(y: Floats, log_w: Floats) -> Floats:
    """w (e^y - 1 - y), of which w e^y is a number where e^y alone would overflow.

    Without it log M is off by a float's rounding of 1, in each of a billion steps.
    """
    w, far = np.exp(log_w), y > _LARGE
    if not far.any():
        return np.asarray(w * expm1_linear(y))
    rise = w * expm1_linear(np.where(far, 0.0, y))
    return np.where(far, np.exp(np.where(far, y + log_w, 0.0)) - w * (1.0 + y), rise)


def powers(losses: Floats) -> Floats:
    """Columns 1, l, l^2."""
    columns = np.ones((losses.size, 3))
    columns[:, 1] = losses
    np.multiply(losses, losses, out=columns[:, 2])
    return columns


def tilted(
    cs: Floats, losses: Floats, log_w: Floats, columns: Floats | None = None
) -> tuple[Floats, Floats, Floats]:
    """Log of the sum of e^{cL}, mean and variance of L under that tilt, at each of many.

    `columns`: the `powers` of the losses, where these are at hand.
    """
    w = np.multiply.outer(cs, losses)
    w += log_w
    peak = np.maximum.reduce(w, axis=1)
    w -= peak[:, None]
    np.exp(w, out=w)
    total, first, second = (w @ (powers(losses) if columns is None else columns)).T
    mean = first / total
    return peak + np.log(total), mean, np.maximum(second / total - mean * mean, 0.0)


class Tilted:
    """A law by the nodes of a rule, tilted by e^{cL}; good up to a frequency."""

    def __init__(self, law: Summand, c: float, nodes: Nodes, frequency: float = 0.0) -> None:
        self.law, self.c, self.frequency = law, c, frequency
        self.losses, self.log_w = nodes

    @cached_property
    def weights(self) -> tuple[Floats, Floats, float]:
        """Tilted masses and losses about their mean, where these matter to the variance, and that mean."""
        loss = self.losses
        w = self.c * loss
        w += self.log_w
        w -= np.maximum.reduce(w)
        np.exp(w, out=w)
        w *= 1.0 / np.add.reduce(w)
        mean = float(w @ loss)
        loss = loss - mean
        part = w * loss
        part *= loss
        live = part >= 1e-20 * np.add.reduce(part)
        return w[live], loss[live], mean

    def turned(self, t: Floats, least: float = 1e-6) -> Complexes:
        """About log(M(c+it)/M(c)) - itm at real t, from what is not the least part of the variance.

        |1 - x + iy|^2 = 1 + 4 r (r - 1) + y^2 with r = x/2 = E sin^2(tX/2) and y = E sin tX: no digits
        cancel where t is small.
        """
        w, loss, _ = self.weights
        part = w * loss
        part *= loss
        live = part > least * np.maximum.reduce(part)
        w, loss = w[live], loss[live]
        u = np.multiply.outer(t, loss)
        imag = np.sin(u) @ w
        u *= 0.5
        np.sin(u, out=u)
        u *= u
        real = u @ w
        # |1 - x + iy|^2 - 1 = 4 r (r - 1) + y^2, r = x/2: no digits cancel near 1
        square = np.maximum(4.0 * real * (real - 1.0) + imag * imag, 1e-300 - 1.0)
        level: Complexes = 0.5 * np.log1p(square) + 1j * np.arctan2(imag, 1.0 - 2.0 * real)
        return level

    def even(self, step: float, count: int) -> Complexes:
        """log(M(c+z)/M(c)) - z m at z = 0, i step, 2 i step, .."""
        w, loss, _ = self.weights
        return even(w, loss, step, count)

    @cached_property
    def cumulants(self) -> Cumulants:
        """log M, mean, variance and what lies next to the largest loss."""
        c, loss, law = self.c, self.losses, self.law
        y = c * loss
        tilted = y + self.log_w
        peak = float(np.maximum.reduce(tilted))
        tilted -= peak
        np.exp(tilted, out=tilted)
        total = float(np.add.reduce(tilted))
        log_moment = peak + math.log(total)
        mean = float(tilted @ loss) / total
        sure = c * (law.lost + law.infinite) < 1.0  # else their difference has no digits for this
        if sure and abs(log_moment) < 0.5:
            w = np.exp(self.log_w)
            if float(np.minimum.reduce(loss)) > -_LARGE and float(np.maximum.reduce(y)) < _LARGE:
                both = np.empty((2, y.size))
                both[0] = y
                np.negative(loss, out=both[1])
                rise, back = expm1_linear(both)
                rise *= w
                divergence = float(w @ back)
            else:
                rise, divergence = _rise(y, self.log_w), _divergence(loss, self.log_w)
            # M(c) - 1 = c (lost - infinite) - infinite + E[e^{cL} - 1 - cL] + c E[e^{-L} - 1 + L]
            excess = c * (law.lost - law.infinite + divergence) - law.infinite
            excess += float(np.add.reduce(rise))
            log_moment = math.log1p(excess)
            rise += w * y
            mean = (law.lost - law.infinite + divergence + float(rise @ loss)) / (1.0 + excess)
        spread = loss - mean
        tilted *= spread
        tilted *= spread
        variance, third = float(np.add.reduce(tilted)) / total, float(tilted @ spread) / total
        return Cumulants(log_moment, mean, variance, third)


def even(w: Array, loss: Array, step: float, count: int) -> Complexes:
    """log of the sum of w e^{it loss}, w adding up to 1, without what is linear, at t = 0, step, 2 step, ..

    By two short tables, and their matrix product. With G(u) = e^{iu} - 1 and D(u) = G(u) - iu,
        D(a+b) = G(a) G(b) + D(a) + D(b),   G(a+b) = G(a) G(b) + G(a) + G(b).
    All is small where u is small and nothing cancels, so a moment next to 1 keeps its digits, at one
    product per node and frequency; exponentials are taken at u, 4 u, 16 u, .. only.
    """
    levels = 1
    while 4**levels < count:
        levels += 1
    # u = t loss at t = step 4^k: every j below 4^levels is a sum of such, one digit each
    u = np.multiply.outer(step * _FOURS[:levels], loss)
    g, d = np.empty((3, levels, loss.size), complex), np.empty((3, levels), complex)
    first, second, third = g
    if u.dtype.kind == "c":
        np.expm1(1j * u, out=first)
        d[0] = expm1_linear(1j * u) @ w
    else:
        sine = np.sin(u)
        half = np.sin(0.5 * u)
        half *= half
        half *= -2.0
        first.real, first.imag = half, sine
        d[0].real, d[0].imag = half @ w, sin_linear(u, sine) @ w
    weights = w.astype(complex)
    np.multiply(first, first, out=second)
    d[1] = product(second, weights) + 2.0 * d[0]
    second += first
    second += first
    # G(3u) = G(2u) G(u) + G(2u) + G(u), and D likewise
    np.multiply(second, first, out=third)
    d[2] = product(third, weights) + d[0] + d[1]
    third += first
    third += second
    split = max(1, round(0.5 * math.log(count, 4.0)))  # both tables about as long
    low, d_low = _comb(g[:, :split], d[:, :split], weights, count)
    if split == levels:
        return log1p(d_low[:count])
    high, d_high = _comb(g[:, split:], d[:, split:], weights, -(-count // d_low.size))
    high *= weights
    table = product(high, low.T)
    table += d_high[:, None]
    table += d_low
    return log1p(table.ravel()[:count])


def _comb(g: Complexes, d: Complexes, w: Complexes, count: int) -> tuple[Complexes, Complexes]:
    """G(ju) per node and sum w D(ju), j = 0, 1, .. below a power of 4, from those of u, 2u, 3u, 4u, 8u, .."""
    rows, sums = np.concatenate((_ZERO * g[:1, 0], g[:, 0])), np.concatenate((_ZERO, d[:, 0]))
    for k in range(1, d.shape[1]):
        need = -(-count // sums.size) - 1
        tops, heads = g[:need, k, None, :], d[:need, k, None]
        block = tops * rows
        more = product(block.reshape(-1, w.size), w).reshape(block.shape[:2])
        more += heads
        more += sums
        block += rows
        block += tops
        rows = np.concatenate((rows, block.reshape(-1, w.size)))
        sums = np.concatenate((sums, more.ravel()))
    return rows[:count], sums[:count]


_ZERO: Complexes = np.zeros(1, complex)
_FOURS = 4.0 ** np.arange(16)


def _seen(losses: Floats, log_p: Floats, low: float, high: float) -> tuple[Floats, Floats]:
    """The atoms; where they are many, those that matter at a tilt of -1, 0, or in [low, high]."""
    if losses.size <= 2000:
        return losses, log_p
    values = np.multiply.outer(np.array([-1.0, 0.0, low, high]), losses) + log_p
    live = losses[(values >= values.max(axis=1, keepdims=True) - 2.0 * NEGLIGIBLE).any(axis=0)]
    kept = (losses >= live.min()) & (losses <= live.max())
    return losses[kept], log_p[kept]


class SummedMoments(Moments):
    """M by quadrature: roughly at any real tilt up to `high`, to rounding at and around one of them."""

    def __init__(self, law: Summand, low: float, high: float) -> None:
        # tilts whose squares are still doubles
        if not high < 1e150:
            raise TooFine
        prepared()
        self.law, self.low, self.high = law, low, high
        self.rules = [rule_for(branch, high) for branch in law.branches]
        self.atoms = _seen(law.losses, law.log_p, low, high)
        self._last: Tilted | None = None
        self._wide: tuple[tuple[float, float], Nodes] | None = None

    @cached_property
    def coarse(self) -> Nodes:
        """A rule to search with."""
        nodes = self._gathered([rule.coarse(self.low, self.high) for rule in self.rules])
        if not nodes[0].size:  # all of its mass is below every double
            raise TooFine
        return nodes

    def _gathered(self, nodes: list[Nodes]) -> Nodes:
        """Nodes of all branches, atoms last."""
        law = self.law
        if not law.losses.size and len(nodes) == 1:
            return nodes[0]
        nodes.append(self.atoms)
        losses, log_w = (np.concatenate(part) for part in zip(*nodes, strict=True))
        return losses, log_w

    # -- to search with -----------------------------------------------------------------------

    @cached_property
    def _powers(self) -> Floats:
        return powers(self.coarse[0])

    @cached_property
    def _top(self) -> float:
        return float(np.maximum.reduce(self.coarse[0]))

    @cached_property
    def _weights(self) -> Floats:
        return np.exp(self.coarse[1])

    @cached_property
    def _columns(self) -> tuple[Floats, Floats]:
        loss, w = self.coarse[0], self._weights
        columns = w[:, None] * self._powers[:, 1:]
        first, second = np.add.reduce(columns)
        mean = float(w @ np.expm1(-loss)) + first + self.law.lost - self.law.infinite
        return columns, np.array((mean, second))

    def rough(self, cs: Floats) -> tuple[Floats, Floats, Floats]:
        """Evaluate the coarse rule."""
        if self._top * float(np.maximum.reduce(cs)) < 300.0:
            w, (columns, base) = self._weights, self._columns
            y = np.multiply.outer(cs, self.coarse[0])
            x = np.expm1(y)
            sums = x @ columns
            sums += base
            x -= y
            total = x @ w
            total += cs * base[0]
            total -= self.law.infinite
            if np.minimum.reduce(total) > -0.9:
                log_moment = np.log1p(total)
                total += 1.0
                mean = sums[:, 0] / total
                return log_moment, mean, np.maximum(sums[:, 1] / total - mean * mean, 0.0)
        logs, means, variances = tilted(cs, *self.coarse, self._powers)
        # a coarse rule's error of the mass is the same at small tilts
        return logs - self._mass, means, variances

    @cached_property
    def _mass(self) -> float:
        return math.log(np.add.reduce(self._weights)) - math.log1p(-self.law.infinite)

    def turned(self, c: float, t: Floats) -> Complexes:
        """Evaluate the coarse rule."""
        return Tilted(self.law, c, self.coarse).turned(t)

    def jump(self, c: float) -> float:
        """Evaluate the coarse rule."""
        w, loss, _ = Tilted(self.law, c, self.coarse).weights
        size = np.abs(loss)
        square = w * size * size
        total = float(square.sum())
        return float(square @ size) / total if total > 0.0 else 0.0

    # -- to rounding ---------------------------------------------------------------------------

    def log_moments(self, cs: Floats) -> Floats:
        """Evaluate a rule that is fine enough for the least and the largest tilt together."""
        low, high = min(self.low, float(cs.min())), max(self.high, float(cs.max()))
        if self._wide is None or self._wide[0] != (low, high):
            tilts = np.array([-1.0, 0.0, low, high])
            nodes = self._gathered([r.nodes(tilts, 0.0, max(1.0, high)) for r in self.rules])
            self._wide = ((low, high), nodes)
        (loss, log_w), law = self._wide[1], self.law
        y = np.multiply.outer(cs, loss)
        tilted = y + log_w
        peak = tilted.max(axis=1)
        logs = peak + np.log(np.exp(tilted - peak[:, None]).sum(axis=1))
        near = np.abs(logs) < 0.5
        if near.any():
            back = law.lost - law.infinite + _divergence(loss, log_w)
            excess = _rise(y[near], log_w).sum(axis=1) + cs[near] * back - law.infinite
            logs[near] = np.log1p(excess)
        return np.asarray(logs)

    def fine(self, c: float, frequency: float = 0.0) -> Tilted:
        """The law tilted by c, by a rule that is good up to this frequency."""
        last = self._last
        if last is None or last.c != c or last.frequency < frequency:
            tilts, scale = np.array([-1.0, 0.0, c]), max(1.0, c, frequency)
            nodes = self._gathered([r.nodes(tilts, frequency, scale) for r in self.rules])
            last = self._last = Tilted(self.law, c, nodes, frequency)
        return last

    def cumulants(self, c: float, frequency: float = 0.0) -> Cumulants:
        """Evaluate a rule made for this tilt."""
        return self.fine(c, frequency).cumulants

    def even(self, c: float, step: float, count: int) -> Complexes:
        """Evaluate a rule made for this tilt and the last frequency. Raises `TooFine`."""
        fine = self.fine(c, step * count)
        terms = count * fine.losses.size
        # so many products of frequencies and nodes take about half a second
        if terms > (1 << 28):
            raise TooFine
        tabulated(terms >> 4)  # products by BLAS are that much cheaper than sines
        return fine.even(step, count)


# -- closed forms ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NormalMoments(Moments):
    """log M(s) = mu^2 s (s + 1)/2."""

    mu: float

    def rough(self, cs: Floats) -> tuple[Floats, Floats, Floats]:
        """The closed form and its two derivatives."""
        square = self.mu * self.mu
        return 0.5 * square * cs * (cs + 1.0), square * (cs + 0.5), np.full(cs.shape, square)

    def turned(self, c: float, t: Floats) -> Complexes:
        """-mu^2 t^2/2: there is nothing beside the mean and the variance."""
        fall: Complexes = (-0.5 * (self.mu * t) ** 2).astype(complex)
        return fall

    def cumulants(self, c: float, frequency: float = 0.0) -> Cumulants:
        """The closed form and its derivatives."""
        square = self.mu * self.mu
        return Cumulants(0.5 * square * c * (c + 1.0), square * (c + 0.5), square)


def prepare(law: Summand, low: float, high: float) -> Moments:
    """M of a law for real tilts in [low, high]. Raises `TooFine` where that is out of reach.

    >>> from .loss import gaussian
    >>> prepare(gaussian(0.5), 1.0, 4.0).cumulants(2.0).log_moment
    0.75
    """
    if law.stacked is not None:
        return law.stacked.prepare()
    if law.round is not None:
        from .coin import RoundMoments  # a law of laws: late

        return RoundMoments(law.round, low, high)
    mu = law.gaussian
    return NormalMoments(mu) if mu is not None else SummedMoments(law, low, high)

"""M(s) = E_P[e^{sL}] of one loss distribution: roughly at many real tilts, to rounding on a line through one.

    log M(c) keeps its relative accuracy where M is near 1, with P- and Q-mass stated apart:
    M(s) - 1 = s (lost - infinite) - infinite + E[e^{sL} - 1 - sL] + s E[e^{-L} - 1 + L]

A rule is the trapezoid rule on a branch without ends, geometric in the strip of analyticity, and panels of
Gauss and Legendre between ends; atoms are nodes of any rule.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from .budget import prepared, tabulated
from .loss import Branch, LossDistribution
from .stable import (
    Array,
    Complexes,
    Floats,
    TooFine,
    expm1_linear,
    log1p,
    product,
    quiet,
    sin_linear,
)

if TYPE_CHECKING:
    from .coin import Round
    from .stack import Stack

Bools = npt.NDArray[np.bool_]
Nodes = tuple[Array, Array]  # losses, and logs of their P-weights

_GAUSS = np.polynomial.legendre.leggauss(24)
_NEGLIGIBLE = 42.0  # nats below the peak of a tilted integrand, on its P-mass or on L^2 of it
_MOST_NODES = 40_000
_MOST_PANELS = 4000
_MOST_WINDOW = 4000  # panels' widths that a trapezoid rule may have to look at
_MOST_DAMPED = 3000  # damped nodes: a thousand frequencies of them take a second
_CHUNK = 1 << 17  # entries of a (frequency, node) table held at once
_LARGE = 600.0
_MANY_ATOMS = 2000
_STEEPEST = 1e150  # tilts whose squares are still floats


@dataclass(frozen=True)
class Cumulants:
    """log M(c), and mean, variance and third central moment of L under the law tilted by e^{cL}."""

    log_moment: float
    mean: float
    variance: float
    third: float = 0.0


Summand: TypeAlias = "LossDistribution | Round | Stack"
"""A law that contours take, among others: of a release, of a coin's round, or of many small laws at once."""
Part: TypeAlias = "tuple[Summand, float]"
Parts: TypeAlias = "Sequence[Part]"


class Moments(Protocol):
    """M of one law around the real tilts it was prepared for."""

    def rough(self, cs: Floats) -> tuple[Floats, Floats, Floats]:
        """log M, mean and variance at many tilts, good to about 1e-7 of log M: to search with."""
        ...

    def log_moments(self, cs: Floats) -> Floats:
        """log M at many tilts, to rounding."""
        ...

    def turned(self, c: float, t: Floats) -> Complexes:
        """About log(M(c + it)/M(c)) - itm at real t, m the mean at c: how fast it decays."""
        ...

    def cumulants(self, c: float, frequency: float = 0.0) -> Cumulants:
        """At one tilt, to rounding; `frequency`: up to which `even` will be asked for next."""
        ...

    def even(self, c: float, step: float, count: int) -> Complexes:
        """log(M(c+z)/M(c)) - z m at z = 0, i step, 2 i step, .., m the mean at c."""
        ...

    def log_ratio(self, c: float, z: Complexes) -> Complexes:
        """log(M(c+z)/M(c)) - z m at any z with Im z >= 0."""
        ...

    def lean(self, c: float) -> float:
        """Slope, with its sign, at which a contour may leave the vertical upwards; 0 where it may not."""
        ...

    def at_the_top(self, c: float) -> float:
        """The share of the law tilted by c that lies next to its largest loss."""
        ...


# -- rules on a branch ---------------------------------------------------------------------------


def _live(values: Floats, loss: Floats, scale: float) -> Bools:
    """Where any of these logs of integrands matters, as it is or weighted by the square of the loss."""
    with quiet():
        small = 2.0 * np.log(np.minimum(scale * np.abs(loss) + 1e-300, 1.0))
    both = np.concatenate((values, values + small))
    kept: Bools = both > both.max(axis=1, keepdims=True) - _NEGLIGIBLE
    return kept


class Panels:
    """Gauss-Legendre between the ends of a branch, finer towards finite ends, where steep tilts live.

    `by_loss`: turns are counted by what the loss does, and not as if it were as steep everywhere.
    """

    def __init__(self, branch: Branch, by_loss: bool) -> None:
        self.branch, self.by_loss = branch, by_loss

    def nodes(self, tilts: Floats, frequency: float, scale: float, nats: float = 20.0) -> Nodes:
        """A rule to rounding at these tilts and up to this frequency; `scale`: of L^2 beside 1."""
        left, width = self._panels(tilts, frequency, scale, nats)
        x = (left[:, None] + width[:, None] * (0.5 + 0.5 * _GAUSS[0])).ravel()
        loss, log_q = self.branch.at(x)
        log_w = np.log(0.5 * width[:, None] * _GAUSS[1]).ravel()
        return loss, log_q + loss + log_w

    def coarse(self, low: float, high: float) -> Nodes:
        """A rule to search with, at tilts in [low, high]."""
        return self.nodes(np.array([-1.0, 0.0, low, high]), 0.0, max(1.0, high), nats=50.0)

    def damped(self, c: float, frequency: float) -> Nodes:
        """A rule on a path where e^{itL}, t > 0, is damped: up where the loss rises, down where it falls."""
        branch = self.branch
        left, width = self._panels(np.array([c]), 0.0, max(1.0, c) + frequency, 20.0, raised=True)
        x = (left[:, None] + width[:, None] * (0.5 + 0.5 * _GAUSS[0])).ravel()
        turn = min(1.0, 1.0 / branch.steep)
        a = 1.0 - np.exp((branch.low - x) / turn)
        b = 1.0 - np.exp((x - branch.high) / turn)
        slope = branch.height * ((1.0 - a) * b - a * (1.0 - b)) / turn
        loss, log_q = branch.at(x + 1j * branch.sign * branch.height * a * b)
        log_w = np.log(0.5 * width[:, None] * _GAUSS[1]).ravel() + log1p(1j * branch.sign * slope)
        return loss, log_q + loss + log_w

    def _panels(
        self, tilts: Floats, frequency: float, scale: float, nats: float, raised: bool = False
    ) -> tuple[Floats, Floats]:
        """(left end, width) of the panels that hold all that is not negligible under any tilt.

        `raised`: for a path off the axis.
        """
        x, loss, kept = self._scan(tilts, scale)
        both = kept[:, :-1] | kept[:, 1:]
        # frequencies and steep tilts matter where those tilts are at home
        steep: Bools = np.asarray(both[np.tile(tilts > 0.0, 2)].any(axis=0))
        if tilts.size > 1 and tilts[-1] > tilts[-2] and steep.any():  # and where one between may be
            live = np.flatnonzero(steep)
            steep[live[0] : live[-1] + 1] = True
        # beside the axis a loss moves as if it were steep; on it little more than between the panel's ends
        steepest = np.diff(x) * self.branch.steep
        turns = steepest
        if self.by_loss and not raised:
            turns = np.minimum(2.5 * np.abs(np.diff(loss)), steepest)
        wanted = turns * (frequency + 0.5 * float(tilts.max())) / nats
        parts = np.where(steep, np.ceil(wanted).clip(1.0), np.where(both.any(axis=0), 1.0, 0.0))
        if not parts.sum() < _MOST_PANELS:
            raise TooFine
        count = parts.astype(int)
        width = np.repeat(np.diff(x) / np.maximum(count, 1), count)
        index = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        return np.repeat(x[:-1], count) + index * width, width

    def _scan(self, tilts: Floats, scale: float) -> tuple[Floats, Floats, Bools]:
        """Places that hold all there is, their losses, and where each tilt is felt, plain and by L^2."""
        branch = self.branch
        low, high, unit = branch.low, branch.high, branch.panel
        ends = [end for end in (low, high) if math.isfinite(end)]
        reach = max(16.0, self._far(float(tilts.max())), *(abs(e) for e in ends if abs(e) < 300.0))
        reach = max(reach, low + 16.0, 16.0 - high)
        while True:
            a, b = max(low, -reach), min(high, reach)
            count = max(1, math.ceil((b - a) / unit))
            if count > _MOST_NODES:
                raise TooFine
            x = np.linspace(a, b, count + 1)
            if ends:
                depth = max(2, math.ceil(math.log2(unit * branch.steep * (scale + 1.0))))
                halves = unit * 0.5 ** np.arange(1, depth)
                graded = [end + (halves if end == low else -halves) for end in ends]
                x = np.unique(np.concatenate([x, *graded]))
                x = x[(x >= a) & (x <= b)]
            with quiet():
                loss, log_q = branch.at(x)
                values = np.multiply.outer(tilts, loss) + (log_q + loss)
            kept = _live(np.where(np.isnan(values), -np.inf, values), loss, scale)
            open_low, open_high = kept[:, 0].any() and a > low, kept[:, -1].any() and b < high
            if reach > 1e6 or not (open_low or open_high):
                return x, loss, kept
            reach *= 2.0

    def _far(self, c: float) -> float:
        """Up to where a steep tilt may have a peak of its own, beyond a valley, as losses rise."""
        branch = self.branch
        top = branch.high if branch.sign > 0.0 else branch.low
        if math.isfinite(top) or c * branch.steep < 10.0:
            return 0.0
        x = np.geomspace(10.0, 1e7, 300)
        with quiet():
            loss, log_q = branch.at(np.concatenate((np.linspace(-10.0, 10.0, 81), branch.sign * x)))
            value = log_q + (1.0 + c) * loss
        value = np.where(np.isnan(value), -np.inf, value)
        live = np.flatnonzero(value[81:] > value.max() - _NEGLIGIBLE)
        return float(x[min(live[-1] + 1, 299)]) if live.size else 0.0


class Even:
    """The trapezoid rule on a branch without ends.

    One look along the axis, and at heights above it, tells where anything is and which step it takes.
    """

    _HEIGHTS = np.array([0.3, 0.6, 1.0])

    def __init__(self, branch: Branch, high: float) -> None:
        self.branch = branch
        unit, reach = branch.panel, 12.0 + (1.0 + max(0.0, high)) * branch.steep
        if not reach < _MOST_WINDOW * unit:
            raise TooFine
        near = 12.0 + branch.steep  # the tilts of interest push one way
        left, right = (near, reach) if branch.sign > 0.0 else (reach, near)
        spacing = 0.5 * unit
        self.x = spacing * np.arange(-math.ceil(left / spacing), math.ceil(right / spacing) + 1.0)
        self.loss, log_q = branch.at(self.x)
        self.log_p = log_q + self.loss
        self._above: tuple[Floats, Floats, Floats] | None = None

    def coarse(self, low: float, high: float) -> Nodes:
        """The nodes of the first look, whatever the tilts."""
        return self.loss, self.log_p + math.log(0.5 * self.branch.panel)

    def nodes(self, tilts: Floats, frequency: float, scale: float) -> Nodes:
        """Evenly spaced nodes where anything matters under these tilts."""
        values = self._values(tilts)
        height = min(8.0, 0.97 * math.pi / self.branch.steep)
        above = self._above
        if above is None:
            peak = values.max(axis=1, keepdims=True)
            live = np.flatnonzero((values > peak - _NEGLIGIBLE - 10.0).any(axis=0))
            x = self.x[max(live[0] - 1, 0) : live[-1] + 2]
            above = self._above = self._raised(x, height * self._HEIGHTS)
        step = self._step(values, above, tilts, frequency, height * self._HEIGHTS)
        return self._at(values, scale, step, 0.0)

    def damped(self, c: float, frequency: float) -> Nodes:
        """The rule on a line off the axis."""
        tilts, shift = np.array([c]), self.branch.height
        if Even(self.branch, c).x.size > self.x.size:  # made for smaller tilts
            return Even(self.branch, c).damped(c, frequency)
        values, heights = self._values(tilts), np.array([2.0 * shift])
        # beside the axis 1 - r + r e^l is less, and a steep tilt of a reversed law grows and reaches farther
        step = 0.5 * self._step(values, self._raised(self.x, heights), tilts, 0.0, heights)
        loss, log_q = self.branch.at(self.x + 1j * self.branch.sign * shift)
        reached = np.maximum(values, (log_q + (1.0 + c) * loss).real)
        return self._at(reached, max(1.0, c), step, shift)

    def _values(self, tilts: Floats) -> Floats:
        values: Floats = np.multiply.outer(tilts, self.loss)
        values += self.log_p
        return values

    def _at(self, values: Floats, scale: float, step: float, shift: float) -> Nodes:
        live = np.flatnonzero(_live(values, self.loss, scale).any(axis=0))
        first, last = max(int(live[0]) - 1, 0), min(int(live[-1]) + 1, self.x.size - 1)
        low, high = math.floor(float(self.x[first]) / step), math.ceil(float(self.x[last]) / step)
        if high - low > _MOST_NODES:
            raise TooFine
        x = step * np.arange(low, high + 1.0)
        loss, log_q = self.branch.at(x + 1j * self.branch.sign * shift if shift else x)
        return loss, log_q + loss + math.log(step)

    def _raised(self, x: Floats, heights: Floats) -> tuple[Floats, Floats, Floats]:
        """Log of the size of P's density, real and imaginary part of the loss, at heights above the axis."""
        loss, log_q = self.branch.at(x + 1j * heights[:, None])
        return (log_q + loss).real, loss.real, np.abs(loss.imag)

    @staticmethod
    def _step(
        values: Floats,
        above: tuple[Floats, Floats, Floats],
        tilts: Floats,
        frequency: float,
        heights: Floats,
    ) -> float:
        """2 pi d / (41 + log of how much any tilted integrand grows from the axis to Im x = d).

        41 nats, not 37: what matters is the error relative to M - 1, which is as E[L^2]; and the growth at
        all tilts of the rule, as that of the highest is no bound for the low ones.
        """
        log_p, loss, turn = above
        if frequency:
            log_p = log_p + frequency * turn
        growth = np.multiply.outer(tilts, loss)
        growth += log_p
        rise = (growth.max(axis=2) - values.max(axis=1)[:, None]).max(axis=0)
        steps = 2.0 * math.pi * heights / (41.0 + np.maximum(rise, 0.0))
        step = float(np.fmax.reduce(steps))
        if not step > 1e-6:
            raise TooFine
        return step


def rule_for(branch: Branch, high: float, by_loss: bool) -> Panels | Even:
    """A rule for tilts up to `high`."""
    return Even(branch, high) if branch.whole else Panels(branch, by_loss)


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


def tilted(cs: Floats, losses: Floats, log_w: Floats) -> tuple[Floats, Floats, Floats]:
    """Log of the sum of e^{cL}, mean and variance of L under that tilt, at each of many."""
    w = np.multiply.outer(cs, losses)
    w += log_w
    peak = w.max(axis=1)
    w -= peak[:, None]
    np.exp(w, out=w)
    total = w.sum(axis=1)
    mean = w @ losses / total
    return peak + np.log(total), mean, np.maximum(w @ losses**2 / total - mean * mean, 0.0)


class Tilted:
    """The nodes of a rule, tilted by e^{cL}."""

    def __init__(self, c: float, nodes: Nodes) -> None:
        self.c = c
        self.losses, self.log_w = nodes

    @cached_property
    def level(self) -> float:
        """Log of the sum of all masses, tilted."""
        return float(tilted(np.array([self.c]), self.losses, self.log_w)[0][0])

    @cached_property
    def weights(self) -> tuple[Floats, Floats, float]:
        """Tilted masses and losses about their mean, where these matter to the variance, and that mean."""
        loss = self.losses
        w = self.c * loss
        w += self.log_w
        w -= w.max()
        np.exp(w, out=w)
        w *= 1.0 / w.sum()
        mean = float(w @ loss)
        loss = loss - mean
        part = w * loss * loss
        live = part >= 1e-20 * part.sum()
        return w[live], loss[live], mean

    def turned(self, t: Floats) -> Complexes:
        """About log(M(c+it)/M(c)) - itm at real t, from what matters most to the variance."""
        w, loss, _ = self.weights
        part = w * loss * loss
        live = part > 1e-6 * part.max()
        w, loss = w[live], loss[live]
        u = np.multiply.outer(t, loss)
        imag = np.sin(u) @ w
        u *= 0.5
        np.sin(u, out=u)
        u *= u
        real = u @ w
        square = np.maximum(4.0 * real * (real - 1.0) + imag * imag, 1e-300 - 1.0)
        level: Complexes = 0.5 * np.log1p(square) + 1j * np.arctan2(imag, 1.0 - 2.0 * real)
        return level

    def even(self, step: float, count: int) -> Complexes:
        """log(M(c+z)/M(c)) - z m at z = 0, i step, 2 i step, ..: two short tables, and their matrix product.

        With G(u) = e^{iu} - 1 and D(u) = G(u) - iu,
            D(a+b) = G(a) G(b) + D(a) + D(b),   G(a+b) = G(a) G(b) + G(a) + G(b).
        All is small where u is small and nothing cancels, so a moment next to 1 keeps its digits, at one
        product per node and frequency; sines are taken at u, 4 u, 16 u, .. only.
        """
        w, loss, _ = self.weights
        levels = 1
        while 4**levels < count:
            levels += 1
        u = np.multiply.outer(step * _FOURS[:levels], loss)
        g, d = np.empty((3, levels, loss.size), complex), np.empty((3, levels), complex)
        one, two, three = g
        sine = np.sin(u)
        half = np.sin(0.5 * u)
        half *= half
        half *= -2.0
        one.real, one.imag = half, sine
        d[0].real, d[0].imag = half @ w, sin_linear(u, sine) @ w
        weights = w.astype(complex)
        np.multiply(one, one, out=two)
        d[1] = product(two, weights) + 2.0 * d[0]
        two += one
        two += one
        np.multiply(two, one, out=three)
        d[2] = product(three, weights) + d[0] + d[1]
        three += one
        three += two
        split = (levels + 1) // 2
        low, d_low = _comb(g[:, :split], d[:, :split], weights, count)
        if split == levels:
            return log1p(d_low[:count])
        high, d_high = _comb(g[:, split:], d[:, split:], weights, -(-count // d_low.size))
        high *= weights
        table = product(high, low.T)
        table += d_high[:, None]
        table += d_low
        return log1p(table.ravel()[:count])


class Fine(Tilted):
    """M near one real tilt c, by a rule that is exact to rounding there."""

    def __init__(self, law: Summand, c: float, frequency: float, nodes: Nodes) -> None:
        super().__init__(c, nodes)
        self.law, self.frequency = law, frequency

    @cached_property
    def cumulants(self) -> Cumulants:
        """log M, mean, variance and what lies next to the largest loss."""
        c, loss, law = self.c, self.losses, self.law
        y = c * loss
        tilted = y + self.log_w
        peak = float(tilted.max())
        tilted -= peak
        np.exp(tilted, out=tilted)
        total = float(tilted.sum())
        log_moment = peak + math.log(total)
        mean = float(tilted @ loss) / total
        if abs(log_moment) < 0.5 and float(y.max()) < _LARGE:
            w = np.exp(self.log_w)
            rise = expm1_linear(y)
            divergence = _divergence(loss, self.log_w)
            excess = c * (law.lost - law.infinite + divergence) - law.infinite + float(w @ rise)
            log_moment = math.log1p(excess)
            rise += y
            rise *= w
            mean = (law.lost - law.infinite + divergence + float(rise @ loss)) / (1.0 + excess)
        spread = loss - mean
        tilted *= spread
        tilted *= spread
        variance, third = float(tilted.sum()) / total, float(tilted @ spread) / total
        return Cumulants(log_moment, mean, variance, third)


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
    if losses.size <= _MANY_ATOMS:
        return losses, log_p
    values = np.multiply.outer(np.array([-1.0, 0.0, low, high]), losses) + log_p
    live = losses[(values > values.max(axis=1, keepdims=True) - 2.0 * _NEGLIGIBLE).any(axis=0)]
    kept = (losses >= live.min()) & (losses <= live.max())
    return losses[kept], log_p[kept]


class SummedMoments:
    """M by quadrature: roughly at any real tilt up to `high`, to rounding at and around one of them."""

    def __init__(self, law: Summand, low: float, high: float, by_loss: bool = False) -> None:
        if not high < _STEEPEST:
            raise TooFine
        prepared()
        self.law, self.low, self.high = law, low, high
        # beside atoms at both ends a density that hardly leaves one of them brings |M| back, far beyond where
        # a line has fallen to nothing: frequencies that need so fine a rule are refused there
        self.rules = [rule_for(branch, high, by_loss) for branch in law.branches]
        self.atoms = _seen(law.losses, law.log_p, low, high)
        self._last: Fine | None = None
        self._wide: tuple[tuple[float, float], Nodes] | None = None

    @cached_property
    def coarse(self) -> Nodes:
        """A rule to search with."""
        return self._gathered([rule.coarse(self.low, self.high) for rule in self.rules])

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
    def _columns(self) -> tuple[Floats, Floats, Floats, float]:
        loss, log_w = self.coarse
        w = np.exp(log_w)
        first = w * loss
        second = first * loss
        mean = float(w @ np.expm1(-loss)) + float(first.sum()) + self.law.lost - self.law.infinite
        columns = np.stack((first, second), axis=1)
        return w, columns, np.array((mean, second.sum())), float(loss.max())

    def rough(self, cs: Floats) -> tuple[Floats, Floats, Floats]:
        """From the coarse rule."""
        w, columns, base, top = self._columns
        y = np.multiply.outer(cs, self.coarse[0])
        if top * cs.max() < 300.0:
            x = np.expm1(y)
            sums = x @ columns
            sums += base
            x -= y
            total = x @ w
            total += cs * base[0]
            total -= self.law.infinite
            if total.min() > -0.9:
                log_moment = np.log1p(total)
                total += 1.0
                mean = sums[:, 0] / total
                return log_moment, mean, np.maximum(sums[:, 1] / total - mean * mean, 0.0)
        logs, means, variances = tilted(cs, *self.coarse)
        # a coarse rule's error of the mass is the same at small tilts
        return logs - self._mass, means, variances

    @cached_property
    def _mass(self) -> float:
        return math.log(self._columns[0].sum()) - math.log1p(-self.law.infinite)

    def turned(self, c: float, t: Floats) -> Complexes:
        """From the coarse rule."""
        return Tilted(c, self.coarse).turned(t)

    # -- to rounding ---------------------------------------------------------------------------

    def log_moments(self, cs: Floats) -> Floats:
        """From a rule that is fine enough for the least and the largest tilt together."""
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
        near = (np.abs(logs) < 0.5) & (y.max(axis=1) < _LARGE)
        if near.any():
            w = np.exp(log_w)
            back = law.lost - law.infinite + _divergence(loss, log_w)
            excess = expm1_linear(y[near]) @ w + cs[near] * back - law.infinite
            logs[near] = np.log1p(excess)
        return np.asarray(logs)

    def fine(self, c: float, frequency: float = 0.0) -> Fine:
        """The law tilted by c, by a rule that is good up to this frequency."""
        last = self._last
        if last is None or last.c != c or last.frequency < frequency:
            tilts, scale = np.array([-1.0, 0.0, c]), max(1.0, c, frequency)
            nodes = self._gathered([r.nodes(tilts, frequency, scale) for r in self.rules])
            last = self._last = Fine(self.law, c, frequency, nodes)
        return last

    def cumulants(self, c: float, frequency: float = 0.0) -> Cumulants:
        """From a rule made for this tilt."""
        return self.fine(c, frequency).cumulants

    def even(self, c: float, step: float, count: int) -> Complexes:
        """From a rule made for this tilt and the last frequency."""
        return self.fine(c, step * count).even(step, count)

    def log_ratio(self, c: float, z: Complexes) -> Complexes:
        """From the last rule, in blocks where there are many places."""
        if z.size > 64 and z.size * self.coarse[0].size > _CHUNK:
            half = z.size // 2
            return np.concatenate((self.log_ratio(c, z[:half]), self.log_ratio(c, z[half:])))
        frequency = float(np.abs(z.imag).max())
        turns = max((b.panel * b.steep for b in self.law.branches), default=0.0)
        if z.real.any() or frequency * turns >= 20.0:
            return self._damped(c, z, frequency)
        fine = self.fine(c, frequency)
        tabulated(z.size * fine.losses.size)
        tilted = c * fine.losses + fine.log_w
        w = np.exp(tilted - tilted.max())
        w /= w.sum()
        u = np.multiply.outer(z.imag, fine.losses - float(w @ fine.losses))
        half_sine = np.sin(0.5 * u)
        real = -2.0 * np.einsum("ij,ij,j->i", half_sine, half_sine, w)
        imag = np.einsum("ij,j->i", sin_linear(u), w)
        return log1p(real + 1j * imag)

    def _damped(self, c: float, z: Complexes, frequency: float) -> Complexes:
        """On paths where e^{itL} is damped, and all of it about the mean."""
        here = self.cumulants(c)
        nodes = [rule.damped(c, frequency) for rule in self.rules]
        nodes.append((self.atoms[0] + 0j, self.atoms[1] + 0j))
        loss, log_w = (np.concatenate(part) for part in zip(*nodes, strict=True))
        if loss.size > _MOST_DAMPED:
            raise TooFine
        tabulated(z.size * loss.size)
        w = np.exp(log_w + c * loss - here.log_moment)
        u = np.multiply.outer(z, loss - here.mean)
        return log1p(np.einsum("ij,j->i", expm1_linear(u), w))

    def lean(self, c: float) -> float:
        """By which way the law's branches may be damped."""
        law = self.law
        low, high = law.range
        if not law.branches or (low > -math.inf and high < math.inf):
            return 0.0
        angle = min(b.height * b.steep for b in law.branches)
        losses, log_w = self.coarse
        weights = c * losses + log_w
        live = losses[weights > weights.max() - 60.0]
        most = max(float(np.abs(live).max()), 1e-300)
        return (1.0 if high == math.inf else -1.0) * min(0.25, 0.4 * angle / most)

    def at_the_top(self, c: float) -> float:
        """Of the coarse rule's nodes."""
        losses, log_w = self.coarse
        tilted = log_w + c * losses
        weight = np.exp(tilted - tilted.max())
        edge = losses > losses.max() - 0.02 * np.ptp(losses)
        return float(weight[edge].sum()) / float(weight.sum())


# -- closed forms ------------------------------------------------------------------------------------


class Unbent(ABC):
    """Moments that are asked for on the vertical, and as dear roughly as to rounding."""

    @abstractmethod
    def rough(self, cs: Floats) -> tuple[Floats, Floats, Floats]:
        """log M, mean and variance at many tilts."""

    @abstractmethod
    def turned(self, c: float, t: Floats) -> Complexes:
        """log(M(c + it)/M(c)) - itm at real t, m the mean at c."""

    def log_moments(self, cs: Floats) -> Floats:
        """As `rough`."""
        return self.rough(cs)[0]

    def even(self, c: float, step: float, count: int) -> Complexes:
        """By `turned`."""
        return self.turned(c, step * np.arange(count))

    def log_ratio(self, c: float, z: Complexes) -> Complexes:
        """By `turned`: off the vertical nothing is known."""
        return self.turned(c, z.imag)

    def lean(self, c: float) -> float:
        """0: contours stay vertical."""
        return 0.0

    def at_the_top(self, c: float) -> float:
        """0: no largest loss leads."""
        return 0.0


@dataclass(frozen=True)
class NormalMoments(Unbent):
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

    def log_ratio(self, c: float, z: Complexes) -> Complexes:
        """log M(c+z)/M(c) without its linear part: mu^2 z^2/2."""
        ratio: Complexes = 0.5 * (self.mu * z) ** 2
        return ratio

    def lean(self, c: float) -> float:
        """A quarter: normal moments are entire, so a contour may leave the vertical."""
        return 0.25


def prepare(law: Summand, low: float, high: float, by_loss: bool = False) -> Moments:
    """M of a law for real tilts in [low, high]. Raises `TooFine` where that is out of reach.

    >>> from .loss import gaussian
    >>> prepare(gaussian(0.5), 1.0, 4.0).cumulants(2.0).log_moment
    0.75
    """
    if law.inner is not None:
        return law.inner.prepare(low, high)
    if law.stacked is not None:
        return law.stacked.prepare()
    mu = law.gaussian
    return NormalMoments(mu) if mu is not None else SummedMoments(law, low, high, by_loss)

"""What the expansion over rare large losses asks of a law: its losses below a level, its tail above.

A release on a sample of rate q has L = log(1 - q + q e^l), with l that of the release itself. Above any y > 0

    E[(1 - e^{y-L})_+] = q delta(l_y),  e^y Q(L > y) = e^y Q(l > l_y),  l_y = log(1 + (e^y - 1)/q)

so a mechanism brings the profile and the tail of one release and no more. Everything is stated under Q.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt
from scipy.special import erfcx, log_ndtr

from .budget import prepared
from .stable import TooFine

Array = npt.NDArray[np.float64]

LOG_NORMAL = 0.5 * math.log(2.0 * math.pi)
POINTS = 24
# nats below the peak at which a panel is left out, and nats or radians that one may hold
_FAINT, _PER_PANEL = 50.0, 24.0
_MOST_POINTS = 12_000
# deviations beyond which noise has less mass than any answer
_AXIS = 40.0


@lru_cache
def legendre(points: int) -> tuple[Array, Array]:
    """Nodes and weights of the Gauss-Legendre rule on [-1, 1]."""
    x, w = np.polynomial.legendre.leggauss(points)
    return x, w


# products of real matrices up to which BLAS starts no threads: these cost more than they do at such sizes
_ALONE = 1 << 18


def product(a: Array, b: Array) -> Array:
    """a @ b, in blocks of rows for which BLAS starts no threads."""
    rows = max(1, _ALONE // b.size)
    if a.shape[0] <= rows:
        whole: Array = a @ b
        return whole
    return np.concatenate([a[k : k + rows] @ b for k in range(0, a.shape[0], rows)])


def inner(a: Array, b: Array) -> Array:
    """a @ b.T for few rows that are long, in blocks of columns for which BLAS starts no threads."""
    columns = max(1, _ALONE // (a.shape[0] * b.shape[0]))
    total = a[:, :columns] @ b[:, :columns].T
    for k in range(columns, a.shape[1], columns):
        total += a[:, k : k + columns] @ b[:, k : k + columns].T
    return total


class Release(ABC):
    """One release without sampling, along an axis on which its loss rises."""

    @property
    @abstractmethod
    def slope(self) -> float:
        """d l / d x."""

    @property
    def ends(self) -> tuple[float, float]:
        """Of the axis."""
        return -math.inf, math.inf

    @property
    def extent(self) -> tuple[float, float]:
        """The ends, infinite ones replaced by where no answer has as little mass."""
        return self.ends

    @property
    def atoms(self) -> tuple[tuple[float, float], ...]:
        """(loss, log of its Q-mass) of outcomes that have mass by themselves, by rising loss."""
        return ()

    @abstractmethod
    def loss(self, x: Array) -> Array:
        """Loss of the release at x."""

    @abstractmethod
    def place(self, loss: Array) -> Array:
        """Where the loss of the release is this."""

    @abstractmethod
    def log_q(self, x: Array) -> Array:
        """Log density under Q."""

    @abstractmethod
    def log_tail(self, loss: Array) -> Array:
        """log Q(l > loss), of outcomes without mass of their own."""

    @abstractmethod
    def log_profile(self, loss: Array) -> Array:
        """log of P(l' > loss) - e^loss Q(l' > loss), of the same outcomes, to full relative accuracy."""


@dataclass(frozen=True)
class Normal(Release):
    """N(mu, 1) against N(0, 1)."""

    mu: float

    @property
    def slope(self) -> float:
        """1/sigma."""
        return self.mu

    @property
    def extent(self) -> tuple[float, float]:
        """40 deviations: e^-800."""
        return -_AXIS, _AXIS + 2.0 * self.mu

    def loss(self, x: Array) -> Array:
        """Loss of the release at x."""
        return self.mu * x - 0.5 * self.mu**2

    def place(self, loss: Array) -> Array:
        """Where the loss is this."""
        return loss / self.mu + 0.5 * self.mu

    def log_q(self, x: Array) -> Array:
        """Log density under Q."""
        return -0.5 * x * x - LOG_NORMAL

    def log_tail(self, loss: Array) -> Array:
        """log Q(l > loss)."""
        result: Array = log_ndtr(-self.place(loss))
        return result

    def log_profile(self, loss: Array) -> Array:
        """phi(x) (m(x) - m(x + mu)) with Mills' ratio m, at x = place - mu; far below, as 1 minus little."""
        mu, x = self.mu, self.place(loss) - self.mu
        near = np.maximum(x, -20.0)
        fall = erfcx(near / math.sqrt(2.0)) - erfcx((near + mu) / math.sqrt(2.0))
        value: Array = -0.5 * near * near - LOG_NORMAL + np.log(math.sqrt(0.5 * math.pi) * fall)
        if float(np.min(x)) < -5.0:
            above = log_ndtr(-x)
            lost = self.loss(x + mu) + log_ndtr(-x - mu) - above
            value = np.where(x < -5.0, above + np.log1p(-np.exp(np.minimum(lost, -1e-300))), value)
        return value


@dataclass(frozen=True)
class Exponential(Release):
    """Laplace noise that moves by `reach` scales: density e^{-(l + reach)/2}/4 between two atoms."""

    reach: float

    @property
    def slope(self) -> float:
        """The axis is the loss itself."""
        return 1.0

    @property
    def ends(self) -> tuple[float, float]:
        """The losses of the two atoms."""
        return -self.reach, self.reach

    @property
    def atoms(self) -> tuple[tuple[float, float], ...]:
        """Half of Q at the least loss, half of P at the largest."""
        half = math.log(0.5)
        return ((-self.reach, half), (self.reach, half - self.reach))

    def loss(self, x: Array) -> Array:
        """Loss of the release at x."""
        return x

    def place(self, loss: Array) -> Array:
        """Where the loss is this."""
        return loss

    def log_q(self, x: Array) -> Array:
        """Log density under Q."""
        return -0.5 * (x + self.reach) - math.log(4.0)

    def _left(self, loss: Array) -> Array:
        """log(1 - e^{(l - reach)/2})."""
        inside = np.clip(loss, -self.reach, self.reach)
        result: Array = np.log(-np.expm1(0.5 * (inside - self.reach)))
        return result

    def log_tail(self, loss: Array) -> Array:
        """log Q(l > loss)."""
        inside = np.clip(loss, -self.reach, self.reach)
        return self._left(loss) - 0.5 * (inside + self.reach) + math.log(0.5)

    def log_profile(self, loss: Array) -> Array:
        """(1 - e^{(l - reach)/2})^2 / 2."""
        return 2.0 * self._left(loss) + math.log(0.5)


@dataclass(frozen=True)
class SampledLaw:
    """A release on a sample of this rate, present against absent; or C_rate, its mirror image joined to it.

    Of C_rate (replace-one) losses above 0 are as they are, those below are their mirror image, the rest is 0.
    """

    release: Release
    rate: float
    mirrored: bool = False

    def loss(self, x: Array) -> Array:
        """log(1 - q + q e^l) at x."""
        base = self.release.loss(x)
        large = base > 600.0
        near = np.log1p(self.rate * np.expm1(np.where(large, 0.0, base)))
        return np.where(large, base + math.log(self.rate), near)

    def _unmixed(self, y: Array) -> Array:
        inside = np.expm1(np.minimum(y, 600.0)) / self.rate
        return np.where(y > 600.0, y - math.log(self.rate), np.log1p(np.maximum(inside, -1.0)))

    def place(self, y: Array) -> Array:
        """x at which the loss is y, within the axis."""
        return np.clip(
            self.release.place(self._unmixed(y)), self.release.ends[0], self.release.ends[1]
        )

    def log_p(self, x: Array) -> Array:
        """Log density under P."""
        return self.release.log_q(x) + self.loss(x)

    @cached_property
    def masses(self) -> tuple[tuple[float, float], ...]:
        """(loss, log of its Q-mass) of outcomes with mass of their own, on the side of larger losses."""
        return tuple(
            (float(self.loss(self.release.place(np.array(loss)))), log_q)
            for loss, log_q in self.release.atoms
        )

    def log_h(self, y: Array) -> Array:
        """log E[(1 - e^{y-L})_+], y > 0."""
        value = math.log(self.rate) + self.release.log_profile(self._unmixed(y))
        for loss, log_q in self.masses:
            part = log_q + loss + np.log(-np.expm1(np.minimum(y - loss, 0.0)))
            value = np.logaddexp(value, part)
        return value

    def log_d(self, y: Array) -> Array:
        """log of -d/dy of that, e^y Q(L > y)."""
        value = self.release.log_tail(self._unmixed(y))
        for loss, log_q in self.masses:
            value = np.logaddexp(value, np.where(y < loss, log_q, -np.inf))
        return y + value

    @property
    def largest(self) -> float:
        """Supremum of the losses."""
        if math.isinf(self.release.ends[1]):
            return math.inf
        return float(self.loss(np.array(self.release.ends[1])))

    @property
    def least(self) -> float:
        """Infimum of the losses, or of those of the side that is not mirrored."""
        if self.mirrored:
            return -self.largest
        if math.isinf(self.release.ends[0]):
            return math.log1p(-self.rate)
        return float(self.loss(np.array(self.release.ends[0])))

    def near(
        self,
        level: float,
        frequency: float = 0.0,
        tilts: Sequence[float] = (),
        floor: float | None = None,
    ) -> Near:
        """The law of losses up to this level, by a rule good for phases of `frequency` a unit of loss.

        `tilts` are exponents of r under which it has to hold, beside 0, 1 and 2; a panel ends at `floor`.
        """
        return Near.of(self, level, frequency, tilts, floor)


@dataclass(frozen=True)
class Near:
    """Losses up to a level: a rule for them under Q, by rising loss.

    What is said of A(e) = E_Q[r^e; near] is as exact as A - 1, so that it holds for 10^9 of them together.
    `cut` is Q(L > level) and `drift` E_Q[r - 1; L <= level], both in closed form.
    """

    law: SampledLaw
    level: float
    frequency: float
    losses: Array
    log_w: Array
    widths: Array
    """Weight of the node on the axis: w / widths is a density (inf where mass stands by itself)."""
    cut: float
    drift: float

    @classmethod
    def of(
        cls,
        law: SampledLaw,
        level: float,
        frequency: float,
        tilts: Sequence[float],
        floor: float | None,
    ) -> Near:
        """See `SampledLaw.near`."""
        prepared()
        release = law.release
        top = float(law.place(np.array(level)))
        low = float(law.place(np.array(0.0))) if law.mirrored else release.extent[0]
        high = min(top, release.extent[1])
        exponents = (0.0, 1.0, 2.0, *tilts)
        split = None if floor is None else float(law.place(np.array(floor)))
        losses, log_w, widths = _side(law, low, high, exponents, frequency, split)
        atoms = [(loss, log_q) for loss, log_q in law.masses if loss <= level]
        if law.mirrored:
            end = release.extent[1]
            other, log_v, width = _side(
                law, low, end, (0.0, 1.0, *(1.0 - e for e in tilts)), frequency
            )
            losses = np.concatenate((-other[::-1], losses))
            log_w = np.concatenate((log_v[::-1] + other[::-1], log_w))
            widths = np.concatenate((width[::-1], widths))
            atoms = [(loss, q) for loss, q in atoms if loss > 0.0]
            atoms += [(-loss, q + loss) for loss, q in law.masses if loss > 0.0]
            zero = np.array(0.0)
            rest = -math.expm1(math.log(2.0) + float(law.log_d(zero))) - math.exp(
                float(law.log_h(zero))
            )
            if rest > 0.0:
                atoms.append((0.0, math.log(rest)))
        if atoms:
            order = np.argsort(np.concatenate((losses, [loss for loss, _ in atoms])), kind="stable")
            losses = np.concatenate((losses, [loss for loss, _ in atoms]))[order]
            log_w = np.concatenate((log_w, [q for _, q in atoms]))[order]
            widths = np.concatenate((widths, np.full(len(atoms), np.inf)))[order]
        at = np.array(level)
        cut = math.exp(float(law.log_d(at)) - level)
        far = math.exp(float(law.log_h(at))) + cut * math.expm1(min(level, 700.0))
        return cls(law, level, frequency, losses, log_w, widths, cut, -far)

    def finer(self, frequency: float, tilts: Sequence[float], floor: float | None = None) -> Near:
        """The same by a rule good for this frequency and these exponents."""
        return self.law.near(self.level, frequency, tilts, floor)

    @cached_property
    def w(self) -> Array:
        """Weights under Q."""
        return np.exp(self.log_w)

    @cached_property
    def _linear(self) -> float:
        """E_Q[L; near], as E_Q[L - (r - 1)] + drift."""
        u = np.expm1(np.minimum(self.losses, 600.0))
        small = np.abs(u) < 0.01
        v = np.where(small, u, 0.0)
        series = (
            v
            * v
            * (
                -1 / 2
                + v * (1 / 3 + v * (-1 / 4 + v * (1 / 5 + v * (-1 / 6 + v * (1 / 7 - v / 8)))))
            )
        )
        return float(self.w @ np.where(small, series, self.losses - u)) + self.drift

    def log_moments(self, exponents: Array) -> Array:
        """log A at several exponents."""
        y = np.multiply.outer(exponents, self.losses)
        raw = y + self.log_w
        peak = raw.max(axis=-1)
        plain: Array = peak + np.log(np.exp(raw - peak[..., None]).sum(axis=-1))
        close = plain > -1.0
        close &= plain < 1.0
        if close.any():
            plain[close] = np.log1p(
                self._excess(y[close], raw[close]) + exponents[close] * self._linear - self.cut
            )
        return plain

    def _excess(self, y: Array, raw: Array) -> Array:
        """E_Q[e^y - 1 - y], without loss where y is small."""
        excess = np.expm1(np.minimum(y, 30.0)) - y
        tiny = np.abs(y) < 1e-3
        small = y[tiny]
        excess[tiny] = small * small * (0.5 + small * (1 / 6 + small / 24))
        excess *= self.w
        large = y > 30.0
        if large.any():
            excess[large] = (np.exp(raw) - self.w * y)[large]
        result: Array = excess.sum(axis=-1)
        return result

    def moments(self, exponent: float) -> tuple[float, float, Array, Array]:
        """log A, the mean of the tilted losses, the tilted weights and the losses about that mean."""
        y = exponent * self.losses
        raw = y + self.log_w
        log = float(self.log_moments(np.array([exponent]))[0])
        p = np.exp(raw - log)
        if -1.0 < log < 1.0:
            grown = np.where(y > 30.0, np.exp(raw), self.w * np.expm1(np.minimum(y, 30.0)))
            mean = (float(grown @ self.losses) + self._linear) / math.exp(log)
        else:
            mean = float(p @ self.losses) / float(p.sum())
        return log, mean, p, self.losses - mean


@dataclass(frozen=True)
class Far(Near):
    """Losses above a floor, up to a level: the jumps of which not even the closed tail is wanted."""

    floor: float = 0.0

    @classmethod
    def between(
        cls, law: SampledLaw, floor: float, level: float, frequency: float, tilts: Sequence[float]
    ) -> Far:
        """Losses above the floor up to the level, by a rule as that of `SampledLaw.near`."""
        near = Near.of(law, level, frequency, tilts, floor)
        above = near.losses > floor
        if not above.any():
            raise TooFine
        rule = near.losses[above], near.log_w[above], near.widths[above]
        return cls(law, level, frequency, *rule, near.cut, near.drift, floor)

    def finer(self, frequency: float, tilts: Sequence[float], floor: float | None = None) -> Far:
        """The same by a rule good for this frequency and these exponents."""
        return Far.between(self.law, self.floor, self.level, frequency, tilts)

    def log_moments(self, exponents: Array) -> Array:
        """log of the moments at several exponents."""
        raw = np.multiply.outer(exponents, self.losses) + self.log_w
        peak = raw.max(axis=-1)
        result: Array = peak + np.log(np.exp(raw - peak[..., None]).sum(axis=-1))
        return result

    def moments(self, exponent: float) -> tuple[float, float, Array, Array]:
        """As those of `Near`."""
        log = float(self.log_moments(np.array([exponent]))[0])
        p = np.exp(exponent * self.losses + self.log_w - log)
        mean = float(p @ self.losses) / float(p.sum())
        return log, mean, p, self.losses - mean


def _side(
    law: SampledLaw,
    low: float,
    high: float,
    exponents: Sequence[float],
    frequency: float,
    split: float | None = None,
) -> tuple[Array, Array, Array]:
    """Losses, log Q-weights and axis weights of panels that hold all that matters at any of the exponents."""
    if not low < high:
        empty = np.empty(0)
        return empty, empty, empty
    unit = min(2.5, 8.0 / law.release.slope)
    count = math.ceil((high - low) / unit)
    if count > _MOST_POINTS:
        raise TooFine
    edges = np.linspace(low, high, count + 1)
    if split is not None and low < split < high:
        edges = np.unique(np.append(edges, split))
    losses, log_q = law.loss(edges), law.release.log_q(edges)
    size = log_q + np.multiply.outer(np.array(exponents), losses)
    heavy = size > size.max(axis=1, keepdims=True) - _FAINT
    if split is not None and low < split < high:  # a line may count what is above it alone
        far = edges >= split
        heavy[:, far] = size[:, far] > size[:, far].max(axis=1, keepdims=True) - _FAINT
    fine = (heavy[:, :-1] | heavy[:, 1:]).any(axis=0)
    # other tilts reach farther up: there every panel stays, if not as fine
    kept = np.maximum.accumulate(fine)
    pieces = np.where(fine, np.ceil(np.diff(losses) * frequency / _PER_PANEL), kept * 1.0).clip(
        kept * 1.0
    )
    if POINTS * pieces.sum() > _MOST_POINTS:
        raise TooFine
    pieces = pieces.astype(int)
    start = np.repeat(edges[:-1], pieces)
    width = np.repeat(np.diff(edges) / np.maximum(pieces, 1), pieces)
    start = start + width * (
        np.arange(pieces.sum()) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    )
    node, weight = legendre(POINTS)
    x = (start[:, None] + width[:, None] * (0.5 + 0.5 * node)).ravel()
    w = (0.5 * width[:, None] * weight).ravel()
    return law.loss(x), law.release.log_q(x) + np.log(w), w

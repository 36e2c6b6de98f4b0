"""What the expansion over rare large losses asks of a law: its losses below a level, its tail above.

A release on a sample of rate q has L = log(1 - q + q e^l), with l that of the release itself. Above any y > 0

    E[(1 - e^{y-L})_+] = q delta(l_y),  e^y Q(L > y) = e^y Q(l > l_y),  l_y = log(1 + (e^y - 1)/q)

so of a release its profile and its tail are asked in closed form, and no more. Everything is stated under Q.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from scipy.special import erfcx, log_ndtr

from .budget import prepared
from .loss import LOG_NORMAL, Branch, LossDistribution
from .stable import Floats, TooFine, unmixed_loss

Array = Floats

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


# -- closed forms of one release, of outcomes without mass of their own ------------------------------


def _left(branch: Branch, loss: Array) -> Array:
    """log(1 - e^{(l - reach)/2}), of Laplace noise that moves by `reach` scales."""
    inside = np.clip(loss, branch.low, branch.high)
    result: Array = np.log(-np.expm1(branch.linear * (branch.high - inside)))
    return result


def _log_tail(branch: Branch, loss: Array) -> Array:
    """log Q(l > loss)."""
    if branch.square:
        tail: Array = log_ndtr(-branch.plain_where(loss))
        return tail
    inside = np.clip(loss, branch.low, branch.high)
    return _left(branch, loss) + branch.base + branch.linear * inside - math.log(-branch.linear)


def _log_profile(branch: Branch, loss: Array) -> Array:
    """log of P(l' > loss) - e^loss Q(l' > loss), to full relative accuracy.

    Normal: phi(x) (m(x) - m(x + mu)) with Mills' ratio m, at x = place - mu; far below, as 1 minus little.
    Laplace: (1 - e^{(l - reach)/2})^2 / 2.
    """
    if not branch.square:
        return 2.0 * _left(branch, loss) + math.log(0.5)
    mu = branch.slope
    x = branch.plain_where(loss) - mu
    near = np.maximum(x, -20.0)
    fall = erfcx(near / math.sqrt(2.0)) - erfcx((near + mu) / math.sqrt(2.0))
    value: Array = -0.5 * near * near - LOG_NORMAL + np.log(math.sqrt(0.5 * math.pi) * fall)
    if float(np.min(x)) < -5.0:
        above = log_ndtr(-x)
        lost = branch.plain(x + mu)[0] + log_ndtr(-x - mu) - above
        value = np.where(x < -5.0, above + np.log1p(-np.exp(np.minimum(lost, -1e-300))), value)
    return value


@dataclass(frozen=True)
class SampledLaw:
    """A release on a sample of this rate, present against absent; or C_rate, its mirror image joined to it.

    Of C_rate (replace-one) losses above 0 are as they are, those below are their mirror image, the rest is 0.
    The release has one branch, along which its loss rises: that of `gaussian`, or that of `laplace`.
    """

    release: LossDistribution
    rate: float
    mirrored: bool = False

    @cached_property
    def law(self) -> LossDistribution:
        """On the sample, before any mirror."""
        return self.release.sampled(self.rate)

    @cached_property
    def branch(self) -> Branch:
        """Of that law."""
        return self.law.branches[0]

    @cached_property
    def extent(self) -> tuple[float, float]:
        """Of the axis: its ends, infinite ones replaced by where no answer has as little mass (e^-800)."""
        if not self.branch.square:
            return self.branch.low, self.branch.high
        return -_AXIS, _AXIS + 2.0 * self.branch.slope

    def loss(self, x: Array) -> Array:
        """log(1 - q + q e^l) at x."""
        result: Array = self.branch.at(x)[0]
        return result

    def place(self, y: Array) -> Array:
        """x at which the loss is y, within the axis."""
        return self.branch.where(y)

    def log_q(self, x: Array) -> Array:
        """Log density under Q."""
        result: Array = self.branch.plain(x)[1]
        return result

    def log_p(self, x: Array) -> Array:
        """Log density under P."""
        return self.log_q(x) + self.loss(x)

    @cached_property
    def masses(self) -> tuple[tuple[float, float], ...]:
        """(loss, log of its Q-mass) of outcomes with mass of their own, by rising loss."""
        return tuple(sorted(zip(self.law.losses.tolist(), self.law.log_q.tolist(), strict=True)))

    def log_h(self, y: Array) -> Array:
        """log E[(1 - e^{y-L})_+], y > 0."""
        value = math.log(self.rate) + _log_profile(self.branch, unmixed_loss(self.rate, y))
        for loss, log_q in self.masses:
            part = log_q + loss + np.log(-np.expm1(np.minimum(y - loss, 0.0)))
            value = np.logaddexp(value, part)
        return value

    def log_d(self, y: Array) -> Array:
        """log of -d/dy of that, e^y Q(L > y)."""
        value = _log_tail(self.branch, unmixed_loss(self.rate, y))
        for loss, log_q in self.masses:
            value = np.logaddexp(value, np.where(y < loss, log_q, -np.inf))
        return y + value

    @property
    def largest(self) -> float:
        """Supremum of the losses."""
        return self.law.range[1]

    @property
    def least(self) -> float:
        """Infimum of the losses, or of those of the side that is not mirrored."""
        return -self.largest if self.mirrored else self.law.range[0]

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
    `cut` is the rest of Q, Q(L > level), and `drift` E_Q[r - 1; L <= level], both in closed form; of those
    above a `floor` alone, sums.
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
    floor: float = -math.inf

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
        top = float(law.place(np.array(level)))
        low = float(law.place(np.array(0.0))) if law.mirrored else law.extent[0]
        high = min(top, law.extent[1])
        exponents = (0.0, 1.0, 2.0, *tilts)
        split = None if floor is None else float(law.place(np.array(floor)))
        losses, log_w, widths = _side(law, low, high, exponents, frequency, split)
        atoms = [(loss, log_q) for loss, log_q in law.masses if loss <= level]
        if law.mirrored:
            end = law.extent[1]
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
        if self.floor == -math.inf:
            return self.law.near(self.level, frequency, tilts, floor)
        return self.law.near(self.level, frequency, tilts, self.floor).above(self.floor)

    def above(self, floor: float) -> Near:
        """Losses above a floor alone."""
        kept = self.losses > floor
        if not kept.any():
            raise TooFine
        losses, log_w, w = self.losses[kept], self.log_w[kept], self.w[kept]
        cut, drift = 1.0 - float(w.sum()), float(w @ np.expm1(np.minimum(losses, 600.0)))
        widths = self.widths[kept]
        return replace(
            self, losses=losses, log_w=log_w, widths=widths, cut=cut, drift=drift, floor=floor
        )

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
    unit = min(2.5, 8.0 / law.branch.slope)
    count = math.ceil((high - low) / unit)
    if count > _MOST_POINTS:
        raise TooFine
    edges = np.linspace(low, high, count + 1)
    if split is not None and low < split < high:
        edges = np.unique(np.append(edges, split))
    losses, log_q = law.loss(edges), law.log_q(edges)
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
    return law.loss(x), law.log_q(x) + np.log(w), w

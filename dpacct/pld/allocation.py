"""A user in one of t steps, drawn at random, under normal noise: the law of the loss of all t together.

Without the user the outputs are t normal variables, and with it one of them is shifted by mu. So the loss is
log(S/t), S a sum of t independent X = exp(mu z - mu^2/2), z standard normal: a mean of lognormals, of mean 1.
The log density of such a mean is kept as polynomials on panels, and built by doubling: with A and B sums of
n and m of them, a = S p and b = S (1 - p), p = 1/(1 + e^-r),

    f_{log S}(x) = integral f_{log A}(x + log p) f_{log B}(x + log(1 - p)) dr.

Of means it is x + log(p/P) and x + log((1-p)/(1-P)), P = n/(n+m), written in u = r - log(n/m): under vast
noise all of these are small, and keep their digits. Everything is a sum of positive terms, so both tails
keep theirs: about 13 where there is any mass.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.polynomial import chebyshev, legendre

from .loss import Branch, LossDistribution
from .stable import Floats, TooFine, quiet

_DEGREE = 15
_PLACES = chebyshev.chebpts1(_DEGREE + 1)
_FIT = np.linalg.inv(chebyshev.chebvander(_PLACES, _DEGREE))
_POWERS = np.zeros((_DEGREE + 1, _DEGREE + 1))  # Chebyshev coefficients to those of powers
for _k in range(_DEGREE + 1):
    _POWERS[_k, : _k + 1] = chebyshev.cheb2poly(np.eye(_DEGREE + 1)[_k, : _k + 1])
_GAUSS = legendre.leggauss(16)
_FINE_GAUSS = legendre.leggauss(24)


@dataclass(frozen=True, eq=False)
class LogDensity:
    """The log density of the log of a mean of lognormals; `curves`: a polynomial on [-1, 1] a panel."""

    edges: Floats
    curves: Floats

    def __call__(self, x: Floats) -> Floats:
        """The log density at places between the first and the last edge."""
        panel = np.clip(np.searchsorted(self.edges, x) - 1, 0, len(self.curves) - 1)
        low, high = self.edges[panel], self.edges[panel + 1]
        at = (2.0 * x - low - high) / (high - low)
        rows = self.curves[panel]
        value: Floats = rows[..., -1].copy()
        for power in range(_DEGREE - 1, -1, -1):
            value *= at
            value += rows[..., power]
        return value

    @classmethod
    def fitted(cls, function: Callable[[Floats], Floats], low: float, high: float) -> LogDensity:
        """Panels halved until each is a polynomial to rounding, or to the noise of the function."""
        cuts = np.linspace(low, high, 8 + 1)
        left, right = cuts[:-1], cuts[1:]
        panels: list[tuple[Floats, Floats]] = []
        for _ in range(30):
            middle, half = 0.5 * (left + right), 0.5 * (right - left)
            values = function((middle[:, None] + half[:, None] * _PLACES).ravel())
            curves = values.reshape(-1, _DEGREE + 1) @ _FIT.T
            size = np.abs(curves)
            last, before = size[:, -3:].max(axis=1), size[:, -8:-3].max(axis=1)
            rounding = 2e-15 * size[:, 1] * np.abs(middle / half)
            enough = 4e-13 * (1.0 + size[:, 0] / 20.0) + rounding
            # coefficients that fall no more are noise
            enough = np.where(last > 0.1 * before, np.maximum(enough, 1e-9), enough)
            done = (last < enough) & (size[:, 2] < 2.0)
            panels.append((left[done], curves[done] @ _POWERS))
            left, right = (
                np.concatenate((left[~done], middle[~done])),
                np.concatenate((middle[~done], right[~done])),
            )
            if not left.size:
                break
        else:
            raise TooFine
        starts = np.concatenate([some for some, _ in panels])
        rank = np.argsort(starts)
        return cls(np.append(starts[rank], high), np.concatenate([c for _, c in panels])[rank])

    def normalised(self) -> LogDensity:
        """Return the density scaled to total mass 1."""
        half = 0.5 * np.diff(self.edges)[:, None]
        x = self.edges[:-1, None] + half * (1.0 + _FINE_GAUSS[0])
        mass = float((np.exp(self(x)) * half * _FINE_GAUSS[1]).sum())
        curves = self.curves.copy()
        curves[:, 0] -= math.log(mass)
        return replace(self, curves=curves)


@dataclass(frozen=True)
class _Sum:
    """The log of the mean of n + m lognormals, from A, the mean of n, and B, the mean of m."""

    first: LogDensity
    second: LogDensity
    n: int
    m: int

    def __call__(self, x: Floats) -> Floats:
        """Return the log density at places between the ends that both densities allow."""
        chunk = 256
        chunks = [self._integral(x[k : k + chunk]) for k in range(0, x.size, chunk)]
        return np.concatenate(chunks)

    def _integrand(self, u: Floats, x: Floats) -> Floats:
        total = float(self.n + self.m)
        fallen: Floats = np.expm1(-np.abs(u)) * np.where(u <= 0.0, self.n / total, self.m / total)
        mean = x - np.log1p(fallen)
        return self.first(mean + np.minimum(u, 0.0)) + self.second(mean - np.maximum(u, 0.0))

    def _integral(self, x: Floats) -> Floats:
        """Gauss-Legendre between the panels' edges, on halves where the integrand is steep or bent."""
        with quiet():  # an edge that the sum does not reach is nan
            ahead, after = self.first.edges - x[:, None], self.second.edges - x[:, None]
            first = ahead - np.log1p(-self.n / self.m * np.expm1(ahead))
            second = np.log1p(-self.m / self.n * np.expm1(after)) - after
        low = np.fmax(first[:, :1], second[:, -1:])
        high = np.fmin(second[:, :1], first[:, -1:])
        cuts = np.concatenate(
            (np.where(np.isnan(first), high, first), np.where(np.isnan(second), low, second)),
            axis=1,
        )
        cuts = np.sort(np.clip(cuts, low, high), axis=1)
        row, column = np.nonzero(np.diff(cuts, axis=1) > 0.0)
        left, right = cuts[row, column], cuts[row, column + 1]
        peak, parts = np.full(x.size, -np.inf), []
        while row.size:
            middle = 0.5 * (left + right)
            a, b, c = (self._integrand(r, x[row]) for r in (left, middle, right))
            most = np.maximum(np.maximum(a, b), c)
            np.maximum.at(peak, row, most)
            # e^-45 of its peak is below rounding
            live = most > peak[row] - 45.0
            # nats between two ends that 16 points of Gauss resolve
            smooth = (np.abs(a + c - 2.0 * b) < 8.0) & (np.abs(a - c) < 20.0)
            # in r, of one rule: 1/(1 + e^-r) has poles at +-i pi
            smooth &= right - left < 3.0
            parts.append((row[live & smooth], left[live & smooth], right[live & smooth]))
            more = live & ~smooth
            row = np.tile(row[more], 2)
            left, right = (
                np.concatenate((left[more], middle[more])),
                np.concatenate((middle[more], right[more])),
            )
        row = np.concatenate([rows for rows, _, _ in parts])
        left = np.concatenate([ends for _, ends, _ in parts])[:, None]
        half = 0.5 * (np.concatenate([ends for _, _, ends in parts])[:, None] - left)
        values = self._integrand(left + half * (1.0 + _GAUSS[0]), x[row][:, None])
        weights = half[:, 0] * (np.exp(values - peak[row][:, None]) @ _GAUSS[1])
        sums: Floats = peak + np.log(np.bincount(row, weights, minlength=x.size))
        return sums

    def _mean(self, first: float, second: float) -> float:
        """Log of the weighted mean of two numbers given by their logs."""
        share = self.n / (self.n + self.m)
        if max(abs(first), abs(second)) < 1.0:
            return math.log1p(share * math.expm1(first) + (1.0 - share) * math.expm1(second))
        return float(np.logaddexp(first + math.log(share), second + math.log1p(-share)))

    def fitted(self, depth: float) -> LogDensity:
        """The density fitted by polynomials, where it is above e^-depth under Q or P."""
        low, high = (
            self._mean(float(self.first.edges[k]), float(self.second.edges[k])) for k in (0, -1)
        )
        x = np.linspace(low, high, 402)
        for _ in range(4):
            values = self(x[1:-1])
            live = np.flatnonzero(np.maximum(values, values + x[1:-1]) > -depth)
            (a, b), (c, d) = x[live[0] : live[0] + 2], x[live[-1] + 1 : live[-1] + 3]
            x = np.concatenate((np.linspace(a, b, 40), np.linspace(c, d, 40)))
        return LogDensity.fitted(self, float(b), float(c)).normalised()


@lru_cache(maxsize=32)
def one_of(count: int, mu: float) -> LossDistribution:
    """The law of a unit in one of `count` steps, each a sum with normal noise of mu = 1/sigma.

    Raises `TooFine` where no panels are fine enough.
    """
    # nats by which a sum falls short of what its terms were kept to
    at_one_more = 50.0
    at_the_end = 5.0
    bits = bin(count)[3:]
    # nats of density that are kept: e^-745 is the least float
    depth = 745.0 + at_the_end * len(bits) + at_one_more * bits.count("1")
    centre, reach = -0.5 * mu * mu, mu * math.sqrt(2.0 * depth)
    log_peak = -0.5 * math.log(2.0 * math.pi) - math.log(mu)
    single = LogDensity.fitted(
        lambda x: log_peak - 0.5 * ((x - centre) / mu) ** 2,
        centre - reach,
        mu * mu + centre + reach,
    )
    density, terms = single, 1
    for bit in bits:
        depth -= at_the_end
        density = _Sum(density, density, terms, terms).fitted(depth)
        terms *= 2
        if bit == "1":
            depth -= at_one_more
            density = _Sum(density, single, terms, 1).fitted(depth)
            terms += 1
    panels = zip(
        density.edges[:-1].tolist(),
        density.edges[1:].tolist(),
        density.curves.tolist(),
        strict=True,
    )
    return LossDistribution(branches=tuple(_branch(*panel) for panel in panels))


def _branch(low: float, high: float, curve: list[float]) -> Branch:
    half = 0.5 * (high - low)
    base, linear, *curved = curve
    return Branch(
        -1.0,
        1.0,
        base + math.log(half),
        linear,
        0.0,
        half,
        -0.5 * (low + high),
        curve=tuple(curved),
    )

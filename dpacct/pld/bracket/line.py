"""delta of a sum of independent losses, by one vertical contour and smooth weights.

delta(eps) = E[(1 - e^{eps - S})_+] is Bromwich's integral of M(z) e^{-z eps} W(z) over Re z = c > 0, with
W(z) = 1/(z(z+1)) (Alghamdi et al. 2023, Theorem 3.1). For a law of points |M(c + it)| never ends, so the
weight is replaced by a smooth one above it, or below it (docs/theory/bracket.md, Theorem 1): with
x = S - eps and v > 0,

    g(x) = Phi(x/v + v/2) - e^{-x} Phi(x/v - v/2),      k = 1 + (v/2) Phi(v/2)/phi(v/2),
    g(x) - v k phi(x/v + v/2)  <=  (1 - e^{-x})_+  <=  g(x),

whose transforms are e^{v^2 z(z+1)/2} (1/(z(z+1)) - v^2 k) and e^{v^2 z(z+1)/2} / (z(z+1)): nil beyond
sqrt(2K)/v whatever the points are. A Gaussian release in the sum does the same for nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpacct.pld.budget import tabulated
from dpacct.pld.stable import Complexes, Floats

from .laws import UNIT, Measure, TiltedMeasure

NATS = 32.0
"""Frequencies are left out where they hold e^-NATS of M(c)."""
YS = np.geomspace(0.05, 1e6, 60)
"""Powers that Chernoff's bound under Q is tried at."""
_SHARES = np.array([0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0, 1.5, 2.5, 4.0])
# Taylor terms of the fast transform: (pi/4)^18/18! = 2e-18
_TERMS = 18
_FACTORIALS = np.array([math.factorial(k) for k in range(_TERMS)], float)
# points of a matrix product that are added in one go, which its rounding is proportional to
_TOGETHER = 256
# points that are summed one by one beside a transform
_HEAVY = 32
# frequencies and points from which on the fast transform is the cheaper, and counts that bear its error
_MANY, _DENSE, _OFTEN = 1500, 300, 3000.0


class Expensive(Exception):
    """More frequencies are needed than are summed."""


@dataclass(frozen=True, eq=False)
class SumOfMeasures:
    """Independent losses: laws of points, and the variance mu^2 of one Gaussian release."""

    laws: Sequence[Measure]
    square: float
    finite: float = 1.0
    """Probability that no loss is infinite, at most what it is: losses set apart are finite ones."""

    def log_moments(self, tilts: Floats) -> Floats:
        """log E[e^{sS}] over what is not set apart."""
        closed = 0.5 * tilts * (tilts + 1.0) * self.square
        return np.asarray(sum((law.count * law.log_moments(tilts) for law in self.laws), closed))

    def log_moment(self, c: float) -> float:
        """The same at one tilt."""
        return float(self.log_moments(np.array([c]))[0])

    def cumulants(self, c: float) -> tuple[float, float]:
        """Mean and variance under the tilt c."""
        mean, variance = (c + 0.5) * self.square, self.square
        for law in self.laws:
            tilted = law.tilted(c)
            mean += law.count * tilted.mean
            variance += law.count * tilted.variance
        return mean, variance

    def saddle(self, epsilon: float) -> float:
        """The c > 0 at which log M(c) - c eps - log c(c+1) is least: Newton in log c, kept in a bracket."""
        low, high, at = math.log(1e-9), math.log(1e15), 0.0
        for _ in range(60):
            c = math.exp(at)
            mean, variance = self.cumulants(c)
            slope = mean - epsilon - 1.0 / c - 1.0 / (c + 1.0)
            low, high = (low, at) if slope > 0.0 else (at, high)
            # in a = log c the slope's own derivative is c (variance + 1/c^2 + 1/(c+1)^2)
            step = slope / (c * (variance + 1.0 / c**2 + 1.0 / (c + 1.0) ** 2))
            after = at - min(max(step, -3.0), 3.0)
            if not low < after < high:
                after = 0.5 * (low + high)
            if abs(after - at) < 1e-3 or high - low < 1e-3:
                return math.exp(after)
            at = after
        return math.exp(at)

    @cached_property
    def decisive(self) -> tuple[float, float, float, float]:
        """P and Q of the event that some loss is set apart (Q down, then up), and the sum of count P."""
        p, q_down, q_up = _ever(self.laws)
        return p, q_down, q_up, sum(law.count * law.top[0] for law in self.laws)

    @cached_property
    def each_decisive(self) -> list[tuple[int, float, float, float]]:
        """The same of each law with losses that are set apart, after its place."""
        return [(k, *_ever([law])) for k, law in enumerate(self.laws) if law.top[0] > 0.0]

    @cached_property
    def under_q(self) -> tuple[list[Floats], Floats]:
        """log E_Q[e^{-yL}] at the powers YS, of each law and of the sum."""
        every = [law.log_under_q(YS) for law in self.laws]
        closed = 0.5 * (YS + 1.0) * YS * self.square
        total = sum((n.count * m for n, m in zip(self.laws, every, strict=True)), closed)
        return every, np.asarray(total)

    @cached_property
    def missed(self) -> float:
        """Q-mass, over all steps, of losses without lower end."""
        return float(sum(law.count * law.missed for law in self.laws))

    @cached_property
    def dropped(self) -> float:
        """P-mass, over all steps, that floats do not hold."""
        return float(sum(law.count * law.dropped for law in self.laws))

    def chernoff(self, tilts: Floats) -> Floats:
        """log of (1 - e^{eps - S})_+ <= e^{c (S - eps)} c^c/(1+c)^{1+c} in the mean, plus c eps."""
        weight = tilts * np.log(tilts) - (1.0 + tilts) * np.log1p(tilts)
        return np.asarray(self.log_moments(tilts) + weight)


def _ever(laws: Sequence[Measure]) -> tuple[float, float, float]:
    """P, and Q down and up, of the event that some loss of these is set apart."""
    p, q_down, q_up = (
        -math.expm1(sum(n.count * math.log1p(-min(n.top[of], 1.0 - UNIT)) for n in laws))
        for of in range(3)
    )
    return p, q_down, q_up


# -- transforms --------------------------------------------------------------------------------------


def less_one(angle: Floats) -> Complexes:
    """e^{i angle} - 1, small angles with their digits: off by 5u of its size."""
    half = np.sin(0.5 * angle)
    return np.asarray(-2.0 * half * half + 1j * np.sin(angle))


def log1p(z: Complexes) -> Complexes:
    """log(1 + z), with the digits of small z; very negative where 1 + z is 0."""
    square = z.real * (2.0 + z.real) + z.imag**2
    near = np.log1p(np.maximum(square, -0.5))
    far = 2.0 * np.log(np.maximum(np.abs(1.0 + z), 1e-300))
    real = 0.5 * np.where(square > -0.5, near, far)
    return np.asarray(real + 1j * np.arctan2(z.imag, 1.0 + z.real))


def direct(t: Floats, x: Floats, step: float, size: int) -> Complexes:
    """sum of t (e^{i k step x} - 1), k < size, by exponentials of sqrt(size) rows and columns.

    e^{i(A+B)} - 1 = ab + a + b with a = e^{iA} - 1 and b = e^{iB} - 1 is one matrix product.
    """
    block = max(1, math.isqrt(size))
    rows = -(-size // block)
    tabulated((rows + block) * x.size)
    result = np.zeros((rows, block), dtype=np.complex128)
    for first in range(0, x.size, _TOGETHER):
        part = slice(first, first + _TOGETHER)
        coarse = less_one(np.multiply.outer(step * block * np.arange(rows), x[part])) * t[part]
        fine = less_one(np.multiply.outer(x[part], step * np.arange(block)))
        result += coarse @ fine + coarse.sum(axis=1)[:, None] + (t[part] @ fine)[None, :]
    return np.asarray(result.ravel()[:size])


def direct_error(t: Floats, x: Floats, theta: Floats) -> Floats:
    """Bound of the rounding of `direct` at each frequency (docs/theory/bracket.md, Lemma 3).

    Angles are off by 4u of themselves, factors by 6u; a product of 256 points adds 2 * 256 terms in any
    order, and the products of all blocks are added one by one. |a b| <= min(4, 2 |angle|).
    """
    far = float(t @ np.abs(x))
    added = 2.0 * _TOGETHER + x.size / _TOGETHER + 16.0
    size = np.minimum(2.0, theta * far)
    return np.asarray(UNIT * (3.0 * added * size + 10.0 * theta * far))


def fast(t: Floats, x: Floats, step: float, size: int) -> tuple[Complexes, float]:
    """sum of t e^{i k step x}, k < size, by Taylor's series about a grid and one real FFT a term.

    On a grid of n >= 4 size places the angle left is at most pi/4, so that 18 terms leave 2e-18. Returned
    with a bound of the root of the sum of squared errors over all frequencies: an FFT of n places is off by
    6 u log2(n) of its norm (Higham 2002, Theorem 24.2), doubled here for the products around it.
    The heaviest point is summed apart, so that it does not set the norm.
    """
    n = 1 << math.ceil(math.log2(4 * size))
    tabulated(2 * _TERMS * n)
    heavy = int(np.argmax(t))
    rest = t.copy()
    rest[heavy] = 0.0
    h = 2.0 * math.pi / (step * n)
    place = np.rint(x / h)
    gap = x / h - place
    index = np.mod(place, n).astype(np.int64)
    angle = (2.0 * math.pi / n) * np.arange(size)
    value = np.zeros(size, dtype=np.complex128)
    power, weights, norm = np.ones(size, dtype=np.complex128), rest, 0.0
    for term in range(_TERMS):
        row = np.bincount(index, weights, n)
        norm += float(np.linalg.norm(row)) * (0.5 * math.pi) ** term / _FACTORIALS[term]
        value += power * np.conj(np.fft.rfft(row)[:size])
        power = power * (1j * angle / (term + 1.0))
        weights = weights * gap
    value += t[heavy] * np.exp(1j * (step * x[heavy]) * np.arange(size))
    # places are off by 2u of x/h, which turns an angle by as much of k step x
    turned = 8.0 * UNIT * step * size * float(t @ np.abs(x)) * math.sqrt(size)
    return value, 12.0 * UNIT * math.log2(n) * norm * math.sqrt(n) + turned + 1e-17 * math.sqrt(
        size
    )


def nil_from(
    total: SumOfMeasures, tilted: Sequence[TiltedMeasure], least: float, last: float
) -> float:
    """A frequency from which on, up to `last`, the transform of the sum is below e^-NATS; `last` if unknown.

    Of one law's points near the median, of mass m, D(t)^2 = (1 - |phi|^2)/2 is E sin^2(t (X - X')/2), so D is
    an L2 norm, and by Minkowski D(t + y) >= D(t) - y sigma/sqrt 2: values on a grid tell of all between. The
    law's own |phi| is at most 1 - m + m sqrt(1 - 2 D^2) (docs/theory/bracket.md, Lemma 5).
    """
    pairs = sorted(
        zip(total.laws, tilted, strict=True), key=lambda pair: -pair[0].count * pair[1].variance
    )
    for law, tilt in pairs[:2]:
        if tilt.t.size < 3:
            continue
        order = np.argsort(tilt.x, kind="stable")
        cumulated = np.cumsum(tilt.t[order])
        a, b = np.interp([0.25, 0.75], cumulated, tilt.x[order])
        near = np.abs(tilt.x - 0.5 * (a + b)) <= 4.0 * max(b - a, 1e-300)
        m = float(tilt.t[near].sum())
        if m <= 0.0 or np.count_nonzero(near) < 3:
            continue
        part, x = tilt.t[near] / m, tilt.x[near]
        x = x - float(part @ x)
        sigma = math.sqrt(float(part @ (x * x))) * (1.0 + 1e-9)
        if not sigma > 0.0:
            continue
        # of D, where (1 - m + m sqrt(1 - 2 D^2))^n = e^-NATS; m up by its rounding
        need = 1.0 - (1.0 - math.exp(-NATS / law.count)) / (m * (1.0 - 1e-12))
        need = math.sqrt(0.5 * (1.0 - need * need)) if need > 0.0 else 1.0
        if need > 0.66:
            continue
        theta = max(least, 2.3 * need / sigma)
        gap = min(0.25 * theta, min(0.35, 2.0 * (0.7071 - need)) / sigma)
        if last / gap > 60000:
            continue
        count = math.ceil(last / gap) + 2
        if count > _MANY and x.size > _DENSE:
            phi, error = fast(part, x, gap, count)
        else:
            phi, error = 1.0 + direct(part, x, gap, count), 1e-11
        # an error e of |phi| moves D by e / (2 D) at most, and D by sqrt(e) where it is small
        d = np.sqrt(np.maximum(0.0, 0.5 * (1.0 - np.abs(phi) ** 2) - 2.0 * error - 1e-15))
        bad = np.flatnonzero(d - gap * sigma / (2.0 * math.sqrt(2.0)) < need)
        first = gap * (float(bad[-1]) + 1.5) if bad.size else 0.0
        if first < 0.5 * last:
            return max(first, least)
    return last


# -- the contour -------------------------------------------------------------------------------------


class SmoothedContour:
    """delta of a SumOfMeasures near some epsilon, from one transform at tilt c; `sign`: +1 above, -1 below.

    Charged are: Lemma 2 (tilted masses), Lemma 3 (transforms), powers, products and the sum itself; what is
    left out in frequency (Lemma 5); aliases, which only lower ends mind (Lemma 4); what is set apart
    (Lemma 6).
    """

    def __init__(self, total: SumOfMeasures, c: float, v: float, window: float, sign: int) -> None:
        self.total, self.c, self.window, self.sign = total, c, window, sign
        square = total.square
        tilted = [law.tilted(c) for law in total.laws]
        counts = [law.count for law in total.laws]
        log_m = 0.5 * c * (c + 1.0) * square
        mean, size, variance = (c + 0.5) * square, (c + 0.5) * square, square
        self.each = 4.0 * UNIT * abs(log_m)
        spoilt = 0.0
        for n, law in zip(counts, tilted, strict=True):
            log_m += n * law.log_moment
            mean += n * law.mean
            size += n * abs(law.mean)
            variance += n * law.variance
            self.each += n * law.each
            spoilt += n * law.off
        self.log_m, self.mean, self._size, self.variance = log_m, mean, size, variance
        # a Gaussian release is smooth enough by itself where it ends the sum early
        self.v2 = v * v if v * v > 4.0 * square else 0.0
        last = math.sqrt(2.0 * NATS / (self.v2 + square))
        step = 2.0 * math.pi / window
        first = last
        if total.laws and last / step > 64.0:
            first = nil_from(total, tilted, 3.0 * step, last)
        if first / step > 2.5e5:  # some .2 s
            raise Expensive(f"{first / step:.1e} frequencies")
        count = math.ceil(min(first, last) / step) + 1
        theta = self.theta = step * np.arange(count)
        z = self.z = c + 1j * theta
        log = -0.5 * square * theta * theta + np.zeros(count, complex)
        found = []
        for n, law in zip(counts, tilted, strict=True):
            part, error, rough = _log_transform(law, n, step, count, theta)
            log += n * part
            found.append((n, part, error, rough))
        root = math.sqrt(self.v2)
        below = 0.5 * math.erfc(-0.5 * root / math.sqrt(2.0))  # Phi(root / 2)
        bump = self.v2 * (
            1.0
            + 0.5 * root * below * math.sqrt(2.0 * math.pi) * math.exp(min(self.v2 / 8.0, 600.0))
        )
        smooth = 0.5 * self.v2 * z * (z + 1.0)
        weight = 1.0 / (z * (z + 1.0)) - (bump if sign < 0 else 0.0)
        with np.errstate(under="ignore", over="ignore", invalid="ignore"):
            self.values = np.exp(log + smooth) * weight * (step / math.pi)
        self.values[0] *= 0.5
        size_of = np.abs(self.values)
        # the sum itself: 30u pairwise, and some 20u in each product, exponential and weight
        noise = 50.0 * UNIT * float(size_of.sum()) + 6.0 * UNIT * float(size_of @ np.abs(smooth))
        for n, part, error, rough in found:
            # an error e of phi changes phi^n by n e/|phi|, and a power rounds by u n |log phi|
            with np.errstate(under="ignore", over="ignore"):
                rest = np.minimum(size_of * np.exp(-np.maximum(part.real, -600.0)), 1e300)
            noise += 1.2 * n * (float(rest @ error) + rough * float(np.linalg.norm(rest)))
            noise += 4.0 * UNIT * n * float(size_of @ np.abs(part))
        # tilted masses off by `off` on average: the weight is at most kappa e^{c x} (Lemma 2)
        kappa = math.exp(c * math.log(c) - (1.0 + c) * math.log1p(c))
        lift = math.exp(min(0.5 * self.v2 * c * (c + 1.0), 600.0))
        noise += spoilt * math.exp(min(spoilt, 1.0)) * lift * (kappa + (bump if sign < 0 else 0.0))
        # beyond the last frequency |M| <= e^-NATS M(c), and weights fall as 1/theta^2
        end = step * count
        beyond = (
            1.0 / end + step / end**2 + bump * (last + step + 4.0 / math.sqrt(self.v2 + square))
        )
        noise += lift * math.exp(-NATS) / math.pi * beyond
        self.noise = noise * (1.0 + 1e-9)
        self._turned = 4.0 * UNIT * float(size_of @ theta)

    def _ends(self, epsilons: Floats) -> tuple[Floats, Floats]:
        """The trapezoid over M(c) e^{-c eps} at each epsilon, and what it may be off by."""
        value = np.empty(epsilons.shape)
        rows = max(1, (1 << 20) // self.theta.size)
        for first in range(0, epsilons.size, rows):
            part = slice(first, first + rows)
            turn = np.exp(1j * np.multiply.outer(self.mean - epsilons[part], self.theta))
            value[part] = (turn @ self.values).real
        noise = self.noise + self._turned * (self._size + np.abs(epsilons))
        return value, noise + 4.0 * UNIT * (
            1.0 + np.abs(self.c * epsilons) + abs(self.log_m)
        ) * np.abs(value)

    def local(self, epsilon: float) -> tuple[float, float]:
        """-D'/D and (D'' + D')/D about epsilon: not c and c(c+1) where large losses lead the saddle."""
        turn = self.values * np.exp(1j * self.theta * (self.mean - epsilon))
        value = float(turn.real.sum())
        if not value > 0.0:
            return self.c, self.c * (self.c + 1.0)
        slope = float((turn * self.z).real.sum()) / value
        dense = float((turn * self.z * (self.z + 1.0)).real.sum()) / value
        slope = min(max(slope, 0.3 * self.c), 100.0 * self.c)
        return slope, min(max(dense, slope), 1e4 * slope * (slope + 1.0))

    def log_delta(self, epsilon: float) -> float:
        """One end of log delta at epsilon, every error charged."""
        return float(self.log_deltas(np.array([epsilon]))[0])

    def log_deltas(self, epsilons: Floats) -> Floats:
        """The same at each epsilon."""
        scale = self.log_m - self.c * epsilons
        value, noise = self._ends(epsilons)
        if self.sign > 0:
            inner = value + noise
            beside = self.total.dropped + decided_above(self.total, epsilons)
        else:
            inner = value - noise - self._aliases(epsilons)
            beside = decided_below(self.total, epsilons) * self.total.finite
        if not np.isfinite(inner).all():  # beyond floats nothing is known
            return np.full(epsilons.shape, 0.0 if self.sign > 0 else -math.inf)
        with np.errstate(divide="ignore"):
            body = scale + np.log(np.maximum(inner, 0.0)) + self.sign * self.each
            result = np.logaddexp(body, np.log(beside))
        # the last logarithm and sum: some units of what they add
        rounding = 4.0 * UNIT * (1.0 + np.abs(np.maximum(result, -1e300)))
        return np.asarray(np.minimum(result + self.sign * rounding, 0.0))

    @cached_property
    def _beside(self) -> tuple[Floats, Floats, Floats, Floats]:
        ys = _SHARES * max(self.c, 1.0 / math.sqrt(self.variance + 1e-300))
        down = ys[ys < self.c]
        return ys, self.total.log_moments(self.c + ys), down, self.total.log_moments(self.c - down)

    def _aliases(self, epsilons: Floats) -> Floats:
        """Bound of the aliases e^{c j W} D(eps + j W) over M(c) e^{-c eps}, by Chernoff."""
        ys, ups, down, downs = self._beside
        w, c = self.window, self.c
        up = (ups - self.log_m - ys * w - np.log(-np.expm1(-ys * w)))[:, None]
        up = up - np.multiply.outer(ys, epsilons)
        below = (downs - self.log_m - down * w - np.log(-np.expm1(-down * w)))[:, None]
        below = below + np.multiply.outer(down, epsilons)
        # delta is at most one
        plain = -c * w - math.log(-math.expm1(-c * w)) - (self.log_m - c * epsilons)
        least = np.minimum(below.min(axis=0, initial=math.inf), plain)
        ends = np.exp(np.minimum(up.min(axis=0), 700.0)) + np.exp(np.minimum(least, 700.0))
        return np.asarray(ends * (1.0 + 1e-9) * math.exp(min(2.0 * self.each, 1.0)))


def _log_transform(
    law: TiltedMeasure, count: float, step: float, size: int, theta: Floats
) -> tuple[Complexes, Floats, float]:
    """log phi of a tilted law at each frequency; what phi is off by at each, and overall (if fast)."""
    # masses of sum one up to 30u, which counts n times where phi - 1 does
    error = UNIT * 40.0 * np.minimum(2.0, theta * law.spread)
    t, x, rough = law.t, law.x, 0.0
    value = np.zeros(size, dtype=np.complex128)
    if size > _MANY:
        # losses too small to turn by more than .7 are moments; what is left is little of a law that repeats
        near = np.abs(x) * theta[-1] <= 0.7
        part, lost = by_moments(t[near], x[near], theta)
        value += part
        error = error + lost
        t, x = t[~near], x[~near]
        if x.size > _DENSE:
            # a transform is off by a share of the norm, which the few heaviest points make
            order = np.argsort(t)
            rest, heavy = order[:-_HEAVY], order[-_HEAVY:]
            value += direct(t[heavy], x[heavy], step, size)
            error = error + direct_error(t[heavy], x[heavy], theta)
            t, x = t[rest], x[rest]
    if size > _MANY and x.size > _DENSE and count * float(np.linalg.norm(t)) < _OFTEN:
        part, rough = fast(t, x, step, size)
        value += part - t.sum()
        error = error + 16.0 * UNIT * float(t.sum())
    elif x.size:
        value += direct(t, x, step, size)
        error = error + direct_error(t, x, theta)
    return log1p(value), error, rough


def by_moments(t: Floats, x: Floats, theta: Floats) -> tuple[Complexes, Floats]:
    """sum of t (e^{i theta x} - 1) for |theta x| <= .7 by Taylor's series, and what it is off by.

    Each moment is a sum of products in numpy's blocks, and the first is the largest: 40u of it each.
    """
    if not x.size:
        return np.zeros(theta.size, dtype=np.complex128), np.zeros(theta.size)
    scale = float(theta[-1])
    y, share = x * scale, theta / scale
    value, power = np.zeros(theta.size, dtype=np.complex128), np.ones(x.size)
    moments = []
    for k in range(1, _TERMS):
        power = power * y
        moments.append(float((t * power).sum()) * (1.0 / _FACTORIALS[k]))
    for k in range(_TERMS - 1, 0, -1):
        value = (value + moments[k - 1] * 1j**k) * share
    return value, np.asarray(UNIT * 80.0 * theta * float((t * np.abs(x)).sum()))


class OneStep:
    """The same for one step alone, whose delta is a sum over its points.

    `known`: its profile, where that is known otherwise and may lie above both.
    """

    def __init__(
        self,
        total: SumOfMeasures,
        c: float,
        sign: int,
        known: Callable[[Floats], Floats] | None = None,
    ) -> None:
        self.total, self.c, self.sign, self._known = total, c, sign, known
        (self._law,) = total.laws
        self.v2 = 0.0

    def _delta(self, epsilon: float) -> float:
        """Terms are positive, so that sums keep their digits."""
        law = self._law
        terms = law.mass * -np.expm1(np.minimum(epsilon - law.at, 0.0))
        body = float(terms.sum()) * (1.0 + self.sign * 1e-14)
        p, q_down, q_up, often = self.total.decisive
        power = math.exp(min(epsilon, 700.0))
        if epsilon > 700.0:  # beyond which only P is known in floats
            q_down, q_up = 0.0, math.inf
        if self._known is not None:
            known = float(self._known(np.array([epsilon]))[0])
            body = max(body, known * (1.0 + self.sign * 1e-12))
        if self.sign < 0:
            return body + max(0.0, p - power * q_up) * (1.0 - 1e-15)
        if often > 0.0:
            decided = max(0.0, p - power * q_down)
            # a loss set apart is below epsilon only where that lies above the first of them
            body += decided if epsilon <= law.start else min(p, decided + power * q_up)
        return min((body + self.total.dropped) * (1.0 + 1e-15), 1.0)

    def log_delta(self, epsilon: float) -> float:
        """One end of log delta at epsilon."""
        delta = self._delta(epsilon)
        return math.log(delta) + self.sign * 2e-13 if delta > 0.0 else -math.inf

    def log_deltas(self, epsilons: Floats) -> Floats:
        """The same at each epsilon."""
        return np.array([self.log_delta(float(at)) for at in epsilons])

    def local(self, epsilon: float) -> tuple[float, float]:
        """-D'/D, and about the curvature of D over D."""
        law = self._law
        above = law.at > epsilon
        falls = float((law.mass[above] * np.exp(epsilon - law.at[above])).sum())
        slope = falls / max(self._delta(epsilon), 1e-300)
        return max(slope, 1e-3), max(slope, 1e-3) * (max(slope, 1e-3) + 1.0)


def decided_above(total: SumOfMeasures, epsilons: Floats) -> Floats:
    """Bound from above what outcomes with a loss set apart add to delta (docs/theory/bracket.md, Lemma 6).

    Of any event A it is at most P(A), and at most P(A) - e^eps Q(A) + e^eps Q(A, S <= eps), the last by
    Chernoff under Q for all the other steps; where no lower end is known nothing is. A is that any law has
    such a loss, or of each law by itself, whichever is less. Beyond e^700 only P(A) is known in floats.
    """
    p, q_down, _, often = total.decisive
    if not often > 0.0:
        return np.zeros(epsilons.shape)
    every, whole = total.under_q
    power = np.exp(np.minimum(epsilons, 700.0))
    chances, alone = np.zeros(epsilons.shape), np.zeros(epsilons.shape)
    with np.errstate(over="ignore"):
        for k, p_own, q_own, _ in total.each_decisive:
            law = total.laws[k]
            best = (whole - every[k])[:, None] + np.multiply.outer(YS, epsilons - law.start)
            chance = np.exp(np.minimum(best.min(axis=0), 0.0)) + total.missed
            chance = power * (law.count * law.top[2] * np.minimum(1.0, chance))
            chances += chance
            alone += np.minimum(p_own, np.maximum(0.0, p_own - power * q_own) + chance)
        together = np.minimum(p, np.maximum(0.0, p - power * q_down) + chances)
    return np.where(epsilons > 700.0, p, np.minimum(together, alone))


def decided_below(total: SumOfMeasures, epsilons: Floats) -> Floats:
    """Bound it from below by P(A) - e^eps Q(A), A that some law has a loss set apart, or that one law has."""
    power = np.exp(np.minimum(epsilons, 700.0))
    p, _, q_up, _ = total.decisive
    ends = [(p, q_up), *((p_own, q_own) for _, p_own, _, q_own in total.each_decisive)]
    best = np.max([p - power * q for p, q in ends], axis=0)
    return np.where(epsilons > 700.0, 0.0, np.maximum(0.0, best))


def window(total: SumOfMeasures, c: float, epsilon: float, goal: float) -> float:
    """A period of the trapezoid for which the aliases are about e^goal or less."""
    spread = 1.0 / math.sqrt(total.cumulants(c)[1] + 1e-300)
    ys = _SHARES * max(c, spread)
    up = float(((total.log_moments(c + ys) - (c + ys) * epsilon - goal) / ys).min())
    below = ys[ys < c]
    down = (total.log_moments(c - below) - (c - below) * epsilon - goal) / below
    return 1.02 * max(up, min(float(down.min(initial=math.inf)), -goal / c), 4.0 / spread)

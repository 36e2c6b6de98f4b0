"""delta(epsilon) of a composition: the trapezoid rule on the vertical line through the saddle.

    delta(eps) = (1/2 pi i) int M(s) e^{-s eps} / (s (s+1)) ds,  Re s = c > 0,  M = prod M_i^{T_i}

(Theorem 3.1 of Alghamdi et al., ICML 2023). On the line, the sum over a lattice of step h is the exact
integral of the loss law folded with period 2 pi/h; the folded copies are bounded in closed form.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from .law import Family, TooFine
from .stable import Complexes, Floats

#: Relative to delta: what the folded copies, and the tail left out, may come to.
EXACT = 1e-14
# relative error granted to every reading: the inner rules are good to about 1e-13
_FLOOR = 1e-12
# the same where the integrand was so reluctant to decay that a thousand nodes were needed
_HARD_FLOOR = 5e-10
# shifts of the line tried in the aliasing bound, in units of the Gaussian optimum
_SHIFTS = np.array([0.05, 0.11, 0.23, 0.45, 0.8, 1.1])

# multiples of a period without a revival after which none is expected
_QUIET = 6
_MOST_REVIVALS = 512

Families = Sequence[tuple[Family, float]]


@dataclass(frozen=True)
class Totals:
    """Cumulants of the composition at a real abscissa c."""

    c: float
    log_moment: float
    mean: float
    variance: float

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
        spread = 2.0 * math.pi * self.curvature
        if not spread > 0.0:  # so far up that nothing is left of it in doubles
            raise TooFine
        return self.height(epsilon) - 0.5 * math.log(spread) - 0.5 * gap * gap / self.curvature


def totals(families: Families, c: float, quick: bool = False) -> Totals:
    """Cumulants of a product of moment functions; `quick` ones are to search with, not to build on."""
    log_moment = mean = variance = 0.0
    for family, count in families:
        quicker = getattr(family, "quick_cumulants", None) if quick else None
        one = quicker(c) if quicker else family.cumulants(c)
        log_moment += count * one.log_moment
        mean += count * one.mean
        variance += count * one.variance
    return Totals(c, log_moment, mean, variance)


def log_payoff_peak(c: Floats) -> Floats:
    """log sup_y (1 - e^{-y})_+ e^{-cy} = log(c^c / (1+c)^{1+c}): delta <= M(c) e^{-c eps} e^{this}."""
    return c * np.log(c / (1.0 + c)) - np.log1p(c)


def log_peak(c: float) -> float:
    """The same at one c."""
    return float(log_payoff_peak(np.array(c)))


def step_size(
    families: Families, total: Totals, epsilons: Sequence[float], tolerance: float = EXACT
) -> float:
    """The largest step whose folded copies are below `tolerance` * delta at each epsilon.

    With f(eps) = delta(eps) continued to all real eps, the rule returns
    sum_k e^{2 pi k c/h} f(eps + 2 pi k/h), and f(e) <= M(c') e^{-c' e} c'^c'/(1+c')^{1+c'} for every
    c' > 0. Taking c' = c + a for k > 0 and c - a for k < 0, the k-th copy is at most e^{-2 pi |k| a/h}
    times the bound at eps and c'. For k < 0 also f <= 1, the case c' = 0.
    """
    c = total.c
    need = -math.log(tolerance) + math.log(4.0)
    unit = math.sqrt(2.0 * need / total.curvature)
    right = min(unit, 1.4 * c) * _SHIFTS
    left = min(unit, 0.97 * c) * _SHIFTS / _SHIFTS[-1]
    cs = np.concatenate((c + right, c - left))
    bound = log_payoff_peak(cs)
    for family, count in families:
        bound += count * family.log_moments(cs)
    shifts = np.concatenate((right, left))
    steps = []
    for epsilon in epsilons:
        log_delta = total.log_delta_estimate(epsilon)
        excess = bound - cs * epsilon - log_delta
        candidates = 2.0 * math.pi * shifts / np.maximum(need + excess, 1.0)
        from_one = 2.0 * math.pi * c / max(need - log_delta, 1.0)
        steps.append(min(float(candidates[:6].max()), max(float(candidates[6:].max()), from_one)))
    return min(steps)


@dataclass(frozen=True)
class Reading:
    """log delta, d log delta / d epsilon, and an estimate of the relative error of delta."""

    log_delta: Floats
    slope: Floats
    relative_error: Floats


@dataclass(frozen=True)
class RawReading:
    """Sums over the contour in units of e^{heights}: the integral, and the integral times s."""

    heights: Floats
    value: Floats
    moment: Floats
    size: Floats


class Line:
    """The tabulated integrand on a contour through c; good for every epsilon whose saddle is near c.

    `displacements` are s - c, `weights` are ds/(2 pi i) folded onto the upper half plane, and
    `log_integrand` is log of M(s) e^{-zm} / (s(s+1)) relative to its value at c.
    """

    def __init__(
        self,
        total: Totals,
        displacements: Complexes,
        weights: Complexes,
        log_integrand: Complexes,
        error: float,
        tolerance: float = EXACT,
    ) -> None:
        self.total = total
        self._z = displacements
        self._weights = weights
        self._log_integrand = log_integrand
        self._error = error  # absolute, in units of e^{F(c)}
        self._tolerance = tolerance
        self._floor = _FLOOR if displacements.size < 1000 else _HARD_FLOOR

    @property
    def node_count(self) -> int:
        return int(self._z.size)

    def _summands(self, epsilons: Floats) -> Complexes:
        """The sum's terms at each epsilon, in units of e^{F(c)}."""
        gap = self.total.mean - epsilons
        terms: Complexes = self._weights * np.exp(
            np.multiply.outer(gap, self._z) + self._log_integrand
        )
        return terms

    def _raw(self, epsilons: Floats) -> RawReading:
        return self._sums(epsilons, self._summands(epsilons))

    def _sums(self, epsilons: Floats, terms: Complexes) -> RawReading:
        total = self.total
        c = total.c
        return RawReading(
            heights=total.log_moment - c * epsilons - math.log(c) - math.log1p(c),
            value=terms.real.sum(axis=1),
            moment=(terms * (c + self._z)).real.sum(axis=1),
            size=np.abs(terms.real).sum(axis=1),
        )

    def _reading(
        self, epsilons: Floats, heights: Floats, value: Floats, moment: Floats, size: Floats
    ) -> Reading:
        total = self.total
        positive = (value > 0.0) & (moment > 0.0)  # delta is positive, and falls
        safe = np.where(positive, value, 1.0)
        scale = abs(total.log_moment) + total.c * (np.abs(epsilons) + abs(total.mean))
        # the folded copies were held below a part of the estimate, which the integral may undercut
        estimates = np.array([total.log_delta_estimate(epsilon) for epsilon in epsilons.tolist()])
        alias = self._tolerance * np.exp(np.minimum(estimates - heights, 0.0))
        error = (self._error + alias + 3e-14 * size) / safe + self._floor + 2e-14 * scale
        return Reading(
            np.where(positive, heights + np.log(safe), -np.inf),
            -moment / safe,
            np.where(positive, error, np.inf),
        )

    def read(self, epsilons: Floats) -> Reading:
        raw = self._raw(epsilons)
        return self._reading(epsilons, raw.heights, raw.value, raw.moment, raw.size)


def tabulate(families: Families, c: float, z: Complexes) -> Complexes:
    """Log of the integrand at c + z relative to c, without its linear phase."""
    value = np.zeros(z.shape, dtype=np.complex128)
    for family, count in families:
        value += count * family.centred_log_ratio(c, z)
    return value - np.log((1.0 + z / c) * (1.0 + z / (1.0 + c)))


def straight_line(
    families: Families,
    total: Totals,
    epsilons: Sequence[float],
    most: int,
    periods: Sequence[float] = (),
    share: float = 1.0,
    tolerance: float = EXACT,
) -> Line | None:
    """Trapezoid rule on Re s = c; None if it needs more than `most` nodes.

    `periods` are those of t at which some law's atoms come back into step, and the integrand may rise. The
    step is `share` of the one that the aliasing bound allows.
    """
    c = total.c
    step = share * step_size(families, total, epsilons, tolerance)
    if not (math.isfinite(step) and math.isfinite(total.variance)):
        return None
    blocks: list[Complexes] = [np.zeros(1, dtype=np.complex128)]
    # few blocks, for each makes an inner rule of its own: first what a Gaussian M needs, then what the decay
    # so far promises
    wanted = math.log(tolerance / math.sqrt(2.0 * math.pi * total.curvature))
    enough = math.sqrt(-2.0 * math.log(tolerance) / max(total.variance, 1e-300)) / step
    first, size = 1, math.ceil(min(1.5 * enough + 8.0, 64.0))
    while True:
        t = step * np.arange(first, first + size)
        value = tabulate(families, c, 1j * t)
        blocks.append(value)
        first += size
        # the integrand falls at least as t^-2 from here on; the sum itself is about 1/sqrt(2 pi F'')
        log_tail = float(value.real[-8:].max()) + math.log(max(float(t[-1]), c) / math.pi)
        if math.isnan(log_tail):  # an inner rule that overflows at this frequency
            return None
        if log_tail < wanted:
            break
        # a decay that would be too late even if it went on like a Gaussian's
        slow = first * math.sqrt(wanted / min(log_tail, -1e-9)) if wanted < 0.0 else 0.0
        if first > most or (first > 0.2 * most and slow > 2.0 * most):
            return None
        missing = wanted / min(log_tail, 0.4 * wanted) - 1.0 if wanted < 0.0 else 1.0
        size = math.ceil(max(missing, 0.15) * first)
        # mostly it falls faster and faster: then no more than the last nodes' slope asks for
        last = value.real[-8:]
        fall = float(last[0] - last[-1]) / last.size
        if fall > 0.0:
            along = math.ceil(1.1 * (log_tail - wanted) / fall) + 8
            if first > 0.2 * most and first + along > 1.4 * most:
                return None
            size = min(size, along)
        size = min(size, 512)

    def rise(t: Floats) -> float:
        peak = float(tabulate(families, c, 1j * t).real.max())
        return peak + math.log(max(float(t[-1]), c) / math.pi)

    until = last_revival(rise, step, first * step, periods, wanted)
    if until > most * step:
        return None
    if until > first * step:
        end = math.ceil(until / step)
        blocks.append(tabulate(families, c, 1j * step * np.arange(first, end)))
        first = end
    tail = math.exp(log_tail)
    weights = np.full(first, step / math.pi, dtype=np.complex128)
    weights[0] *= 0.5
    return Line(
        total, 1j * step * np.arange(first), weights, np.concatenate(blocks), tail, tolerance
    )


def last_revival(
    rise: Callable[[Floats], float],
    step: float,
    done: float,
    periods: Sequence[float],
    wanted: float,
) -> float:
    """The t up to which the line must go so that no revival of atoms beyond it is worth having.

    At a multiple of the period the atoms of a law are in step again, and only its density has decayed:
    revivals shrink with the multiple. One is as wide as the first peak, so a few points around find it:
    `rise` is the log of the largest value there. Inf where it would have to go on and on.
    """
    until = 0.0
    near = np.array([-8.0, -4.0, 0.0, 4.0, 8.0]) * step
    for period in set(periods):
        first, quiet = max(1, math.ceil((done - 8.0 * step) / period)), 0
        for k in range(first, first + _MOST_REVIVALS):
            t = k * period + near
            if rise(t[t > 0.0]) >= wanted - 2.0:
                until, quiet = max(until, k * period + 0.5 * done), 0
                continue
            quiet += 1  # of three atoms or more it takes several of these periods
            if quiet == _QUIET:
                break
        else:
            return math.inf
    return until

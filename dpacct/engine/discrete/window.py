"""Where a tilted composition lives: Chernoff's bounds, and the saddle that they are taken at."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from .lattice_law import LatticeLaw

Laws = Sequence[tuple[LatticeLaw, float]]


@dataclass(frozen=True)
class Sum:
    """Log moment, mean and variance of a composition of lattice laws, tilted by c."""

    c: float
    log_moment: float
    mean: float
    variance: float

    @property
    def saddle_epsilon(self) -> float:
        """The epsilon of which c is the saddle of log M(s) - s eps - log s - log(1+s)."""
        return self.mean - 1.0 / self.c - 1.0 / (1.0 + self.c)

    @property
    def log_delta(self) -> float:
        """About log delta at that epsilon: the saddle-point estimate."""
        c = self.c
        spread = self.variance + 1.0 / c**2 + 1.0 / (1.0 + c) ** 2
        return (
            self.log_moment
            - c * self.saddle_epsilon
            - math.log(c)
            - math.log1p(c)
            - 0.5 * math.log(2.0 * math.pi * spread)
        )


def tilted_sum(laws: Laws, c: float) -> Sum:
    """The composition tilted by c."""
    log_moment = mean = variance = 0.0
    for law, count in laws:
        own = law.cumulants(c)
        log_moment += count * own.log_moment
        mean += count * own.mean
        variance += count * own.variance
    return Sum(c, log_moment, mean, variance)


LEAST_TILT, MOST_TILT = 1e-9, 1e12


def saddle_for_epsilon(laws: Laws, epsilon: float, guess: float) -> Sum:
    """The tilt whose saddle epsilon is this one (clipped to a wide range): Newton in log c, safeguarded."""
    return _solve(laws, guess, lambda total: total.saddle_epsilon - epsilon)


def saddle_for_log_delta(laws: Laws, log_delta: float, guess: float) -> Sum:
    """The tilt at whose saddle epsilon delta is about e^log_delta."""
    return _solve(laws, guess, lambda total: log_delta - total.log_delta)


def _solve(laws: Laws, guess: float, gap: Callable[[Sum], float]) -> Sum:
    """The tilt where an increasing gap vanishes."""
    low, high = math.log(LEAST_TILT), math.log(MOST_TILT)
    x = min(max(math.log(guess), low), high)
    # a bracket that grows from the guess, then secants within it
    step, total = 1.0, tilted_sum(laws, math.exp(x))
    value = gap(total)
    direction = -1.0 if value > 0.0 else 1.0
    ends = {direction < 0.0: (x, value)}
    while True:
        y = min(max(x + direction * step, low), high)
        total = tilted_sum(laws, math.exp(y))
        value = gap(total)
        if (value > 0.0) == (direction > 0.0) or y in (low, high):
            ends[direction > 0.0] = (y, value)
            break
        ends[direction < 0.0] = (y, value)
        step, x = 2.0 * step, y
    if False not in ends or True not in ends:
        return total
    (a, f_a), (b, f_b) = ends[False], ends[True]
    if (f_a > 0.0) == (f_b > 0.0):
        return total
    for trial in range(60):
        if b - a < 1e-4 or abs(value) < 1e-6:
            break
        x = b - f_b * (b - a) / (f_b - f_a) if trial % 3 < 2 else 0.5 * (a + b)
        x = min(max(x, a + 0.02 * (b - a)), b - 0.02 * (b - a))
        total = tilted_sum(laws, math.exp(x))
        value = gap(total)
        if value > 0.0:
            b, f_b = x, value
        else:
            a, f_a = x, value
    return total


def log_tails(laws: Laws, total: Sum, low: float, high: float) -> tuple[float, float]:
    """Chernoff's bounds of the log of the tilted mass below `low` and above `high`."""
    ends = []
    for sign, edge in ((-1.0, low), (1.0, high)):
        far = min(sum(n * _extreme(law, sign) for law, n in laws), math.inf)
        if far < sign * edge:
            ends.append(-math.inf)
            continue
        best = 0.0
        for theta in _tilts(total):
            shifted = _log_moment(laws, total.c + sign * theta)
            bound = shifted - total.log_moment - sign * theta * edge
            best = min(best, bound)
        ends.append(best)
    return ends[0], ends[1]


def window(laws: Laws, total: Sum, log_tail: float) -> tuple[float, float]:
    """Losses outside which the tilted composition has at most e^log_tail at each end."""
    ends = []
    for sign in (-1.0, 1.0):
        best = sum(n * _extreme(law, sign) for law, n in laws)
        for theta in _tilts(total):
            shifted = _log_moment(laws, total.c + sign * theta)
            best = min(best, (shifted - total.log_moment - log_tail) / theta)
        ends.append(sign * best)
    return ends[0], ends[1]


def _extreme(law: LatticeLaw, sign: float) -> float:
    return float(sign * law.losses[-1 if sign > 0.0 else 0])


def _tilts(total: Sum) -> list[float]:
    """Tilts around the one that a normal law would ask for."""
    unit = 1.0 / math.sqrt(total.variance) if total.variance > 0.0 else 1.0
    return [unit * 1.4**k for k in range(-8, 22)]


def _log_moment(laws: Laws, c: float) -> float:
    return float(sum(count * law.tilted(c)[1] for law, count in laws))


def finite_mass(laws: Laws) -> tuple[float, float]:
    """Logs of the composition's P-mass at finite losses, and of all of it."""
    finite = whole = 0.0
    for law, count in laws:
        mass = float(law.masses.sum())
        finite += count * math.log(mass)
        whole += count * math.log(mass + law.infinite)
    return finite, whole


def mass_at_infinity(laws: Laws) -> float:
    """P-mass of an infinite loss in the composition."""
    _, whole = finite_mass(laws)
    lost = sum(
        count * math.log1p(-law.infinite / (float(np.sum(law.masses)) + law.infinite))
        for law, count in laws
    )
    return math.exp(whole) * -math.expm1(lost)

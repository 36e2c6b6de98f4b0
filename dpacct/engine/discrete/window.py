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
    # in nats, so that small losses are told apart
    return saddle(laws, guess, lambda total: total.c * (total.saddle_epsilon - epsilon))


def saddle_for_log_delta(laws: Laws, log_delta: float, guess: float) -> Sum:
    """The tilt at whose saddle epsilon delta is about e^log_delta."""
    return saddle(laws, guess, lambda total: log_delta - total.log_delta)


def saddle(laws: Laws, guess: float, gap: Callable[[Sum], float]) -> Sum:
    """The tilt where an increasing gap vanishes, about; clipped to a wide range."""
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


@dataclass(frozen=True)
class Window:
    """Losses that hold almost all of a tilted composition, and the tilts that show it."""

    low: float
    high: float
    tilts: tuple[float, float]


def window(laws: Laws, total: Sum, log_tail: float) -> Window:
    """Losses outside which the tilted composition has at most e^log_tail at each end: Chernoff's bounds."""
    below, left = _reach(laws, total, log_tail, -1.0)
    above, right = _reach(laws, total, log_tail, 1.0)
    return Window(-below, above, (left, right))


def _reach(laws: Laws, total: Sum, log_tail: float, sign: float) -> tuple[float, float]:
    """The least (log M(c + sign x) - log M(c) - log_tail) / x over x > 0, and that x.

    It falls and rises in x once, so steps by a factor go down from where a normal law has its least.
    """
    most = float(sum(n * _extreme(law, sign) for law, n in laws))

    def bound(x: float) -> float:
        return (_log_moment(laws, total.c + sign * x) - total.log_moment - log_tail) / x

    x = math.sqrt(-2.0 * log_tail / max(total.variance, 1e-300))
    x = min(x, 1e9 * (1.0 + abs(total.c)))
    best, factor = bound(x), 1.5
    # towards the end of the support the bound falls for ever, and hardly
    worth = 0.02 * math.sqrt(total.variance)
    for _ in range(2):
        while (trial := bound(x * factor)) < best - worth:
            best, x = trial, x * factor
        factor = 1.0 / factor
    return (best, x) if best < most else (most, x)


def log_tails(laws: Laws, total: Sum, seen: Window, low: float, high: float) -> tuple[float, float]:
    """Chernoff's bounds, at the window's tilts, of the log of the tilted mass below and above."""
    ends = []
    for sign, edge, x in ((-1.0, low, seen.tilts[0]), (1.0, high, seen.tilts[1])):
        if sum(n * _extreme(law, sign) for law, n in laws) < sign * edge:
            ends.append(-math.inf)
            continue
        shifted = _log_moment(laws, total.c + sign * x)
        ends.append(min(0.0, shifted - total.log_moment - sign * x * edge))
    return ends[0], ends[1]


def _extreme(law: LatticeLaw, sign: float) -> float:
    return float(sign * law.losses[-1 if sign > 0.0 else 0])


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

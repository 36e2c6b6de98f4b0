"""Delta of a two-level plan of noisy SGD, by transforms of a table: no line of it is the engine's.

One step is C_q(G_mu), mu = 1/sigma: with x ~ N(0, 1) and r = 1 - q + q exp(mu x - mu^2/2), losses log r of
P-density phi r beyond x = mu/2, their mirror images of P-density phi, and 0 otherwise. Each loss is split
between two neighbours of a grid so that its masses under P and under Q are kept: a chord of the profile in
e^eps, so what is composed lies above the truth, by a multiple of the step's square. Two grids, one twice as
fine, tell how much: the truth is a third of their distance below the finer, and is taken to lie within the
whole distance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

Floats = NDArray[np.float64]
_FARTHEST = 7.5  # standard deviations, beyond which a step's losses are left out: 3e-14 each
_ROUNDING = 1e-11  # of sums of 2^17 transformed masses, far above what is seen


@dataclass(frozen=True)
class NoisySGD:
    """`rounds` rounds, each with probability `coin`, of `steps` steps at rate `rate`."""

    sigma: float
    rate: float
    steps: int
    coin: float
    rounds: int

    def _loss(self, x: Floats) -> Floats:
        mu = 1.0 / self.sigma
        return np.log1p(self.rate * np.expm1(mu * x - 0.5 * mu * mu))

    def _reach(self) -> tuple[float, float]:
        """(largest loss of a step that is followed, half the width of a window for the sum)."""
        mu = 1.0 / self.sigma
        most = float(self._loss(np.array([mu + _FARTHEST]))[0])
        # E[L^2] of a step is at most this (log r)^2 under P, by quadrature
        x = np.linspace(0.5 * mu, mu + _FARTHEST, 400)
        density = np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)
        loss = self._loss(x)
        both = density * (1.0 + np.exp(loss)) * loss * loss
        square = float(np.trapezoid(both, x))
        mean = float(np.trapezoid(density * np.expm1(loss) * loss, x))
        rounds = self.coin * self.rounds
        spread = math.sqrt(rounds * self.steps * square + rounds * (self.steps * mean) ** 2)
        return most, 14.0 * spread + 3.0 * most + rounds * self.steps * mean

    def _sum(self, size: int, half: float) -> tuple[Floats, Floats]:
        """(losses, P-masses) of all steps on a grid of `size` points that reaches `half` to either side."""
        most, _ = self._reach()
        step = 2.0 * half / size
        count = min(math.ceil(most / step) + 1, size // 2 - 1)
        nodes = step * np.arange(count + 1)
        mu = 1.0 / self.sigma
        # x of a loss, and the masses of the cells between nodes under P and Q
        x = (np.log1p(np.expm1(nodes) / self.rate) + 0.5 * mu * mu) / mu
        far, near = ndtr(-x), ndtr(mu - x)
        q = far[:-1] - far[1:]
        p = (1.0 - self.rate) * q + self.rate * (near[:-1] - near[1:])
        # what goes up to the further node: p - e^low q = up (1 - e^(low - high))
        up = np.clip((p - np.exp(nodes[:-1]) * q) / -math.expm1(-step), 0.0, p)
        masses = np.zeros(size)
        masses[:count] += p - up
        masses[1 : count + 1] += up
        mirrored = masses[: count + 1] * np.exp(-nodes)
        masses[0] += mirrored[0]
        masses[-count:] += mirrored[:0:-1]
        masses[0] += 1.0 - masses.sum()
        once = np.fft.rfft(masses)
        whole = _power(1.0 - self.coin + self.coin * _power(once, self.steps), self.rounds)
        sums = np.fft.irfft(whole, size)
        return step * (np.arange(size) - size // 2), np.roll(sums, size // 2)

    def deltas(self, epsilons: Floats, size: int = 1 << 16) -> tuple[Floats, Floats]:
        """(lower, upper) of delta at each epsilon >= 0, as far as deltas above 1e-9 can be told."""
        _, half = self._reach()
        results = []
        for points in (size // 2, size):
            losses, masses = self._sum(points, half)
            excess = np.maximum(-np.expm1(np.minimum(epsilons[:, None] - losses, 0.0)), 0.0)
            results.append(excess @ masses)
        coarse, fine = results
        apart = np.maximum(coarse - fine, 0.0)
        return fine - apart - _ROUNDING, fine + _ROUNDING

    def epsilon_at(self, delta: float) -> float:
        """An epsilon near where delta is this, 0 at the least: where to ask."""
        _, half = self._reach()
        losses, masses = self._sum(1 << 12, half)
        low, high = 0.0, half
        for _ in range(30):
            middle = 0.5 * (low + high)
            above = losses > middle
            value = float(-np.expm1(middle - losses[above]) @ masses[above])
            low, high = (middle, high) if value > delta else (low, middle)
        return low


def _power(base: NDArray[np.complex128], times: int) -> NDArray[np.complex128]:
    """By squaring: several times faster than a complex power."""
    result = np.ones_like(base)
    while times:
        if times & 1:
            result = result * base
        base, times = base * base, times >> 1
    return result

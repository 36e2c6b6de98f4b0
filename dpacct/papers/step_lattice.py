"""The loss of one sampled Gaussian step on a lattice, rounded up, and delta of many rounds of such steps.

Zheng, Chen, Long, Su. Federated f-Differential Privacy. AISTATS 2021, Theorem 2: C_{B/n}(G_{1/sigma}) of
every local step, and a client that takes part by a coin. It is a second way to what the engine brackets.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpacct.pld.stable import Floats

_ABOVE = 1e-14  # probability of a composed loss beyond the lattice, which is added
_POINTS = 2**16  # on each side of zero
_REACH = 8.5  # standard deviations of one step's noise that are kept


@dataclass(frozen=True)
class StepLattice:
    """The law of one step's loss: its points, and its Fourier transform with the origin first."""

    loss: Floats
    spectrum: NDArray[np.complex128]
    steps: int

    @property
    def mesh(self) -> float:
        """The distance of two points: each step's variance grows by a quarter of its square at most."""
        return float(self.loss[1] - self.loss[0])

    def delta(self, masses: Floats, epsilon: float, kept: float) -> float:
        """Delta of a composed law with these masses at `loss`; what it lacks of `kept` = 1 is added."""
        gain = self.loss - epsilon
        above = gain > 0.0
        return float(-np.sum(masses[above] * np.expm1(-gain[above]))) + max(0.0, 1.0 - kept)


def _step(rate: float, mu: float, mesh: float, top: int, half: int) -> Floats:
    """The law of one loss under P at mesh * (-half..half-1); what lies above `top` is cut."""
    from scipy.special import ndtr

    loss = mesh * np.arange(top + 1)
    # e^loss = 1 - rate + rate e^{mu x - mu^2/2}, on x > mu/2
    x = np.log1p(np.expm1(np.minimum(loss, 700.0)) / rate) / mu + 0.5 * mu
    base = -np.diff(ndtr(-x))
    hit = -np.diff(ndtr(mu - x))
    law = np.zeros(2 * half)
    # losses of the positive branch have P-mass (1-rate) base + rate hit and Q-mass base; the
    # mirrored ones have them the other way round
    mixed = rate * hit + (1.0 - rate) * base
    share = np.clip((mixed - base * np.exp(loss[:-1])) / -math.expm1(-mesh), 0.0, mixed)
    law[half + 1 : half + top + 1] += share
    law[half : half + top] += mixed - share
    nearer = np.clip((base - mixed * np.exp(-loss[1:])) / -math.expm1(-mesh), 0.0, base)
    law[half - np.arange(top)] += nearer
    law[half - np.arange(1, top + 1)] += base - nearer
    law[half - top] += float(ndtr(-x[-1]))
    lost = rate * float(ndtr(mu - x[-1])) + (1.0 - rate) * float(ndtr(-x[-1]))
    law[half] += max(0.0, 1.0 - lost - float(law.sum()))
    return law


def _log(x: float) -> float:
    return math.log(x) if x > 0.0 else -math.inf


def _window(rate: float, mu: float, steps: int, client_rate: float, rounds: int) -> float:
    """A loss that is exceeded with probability `_ABOVE` at most, by Chernoff; so is minus it."""
    x = np.linspace(0.5 * mu, mu + _REACH, 4001)
    loss = np.log1p(rate * np.expm1(np.minimum(mu * x - 0.5 * mu * mu, 700.0)))
    base = np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi) * float(x[1] - x[0])
    ends = []
    for s in np.geomspace(0.02, 200.0, 40).tolist():
        with np.errstate(over="ignore"):
            up = float(np.sum(base * np.exp(loss) * np.expm1(np.minimum(s * loss, 700.0))))
            down = float(np.sum(base * np.expm1(-s * loss)))
        log_step = math.log1p(max(up + down, 0.0)) * steps
        log_round = float(np.logaddexp(_log(1.0 - client_rate), _log(client_rate) + log_step))
        ends.append((rounds * log_round - math.log(_ABOVE)) / s)
    return float(min(ends))


def lattice(
    rate: float, mu: float, steps: int, client_rate: float, rounds: int, reach: float, half: int
) -> StepLattice:
    """A lattice of 2 `half` points, wide enough for all rounds and for an epsilon of `reach`.

    `mu` = sensitivity / std of the noise; `rate` of the records are in a step, `client_rate` of the clients
    in a round.

    >>> lattice(0.1, 1.0, 10, 1.0, 1, 0.0, 2**10).loss.size
    2048
    """
    highest = math.log1p(rate * math.expm1(min(700.0, mu * (0.5 * mu + _REACH))))
    window = 1.01 * (max(reach, _window(rate, mu, steps, client_rate, rounds)) + highest)
    mesh = window / half
    law = _step(rate, mu, mesh, math.ceil(highest / mesh), half)
    points = np.asarray(mesh * np.arange(-half, half), dtype=np.float64)
    return StepLattice(points, np.fft.rfft(np.fft.ifftshift(law)), steps)


def composed_delta(
    rate: float, mu: float, steps: int, client_rate: float, rounds: int, epsilon: float
) -> float:
    """Delta of `rounds` rounds, each of `steps` steps with probability `client_rate`; from above.

    >>> round(composed_delta(0.5, 1.0, 1, 1.0, 1, 1.0), 4)
    0.0289
    """
    law = lattice(rate, mu, steps, client_rate, rounds, epsilon, _POINTS)
    spectrum = (1.0 - client_rate + client_rate * law.spectrum**steps) ** rounds
    whole = np.fft.fftshift(np.fft.irfft(spectrum, 2 * _POINTS))
    return min(1.0, law.delta(whole, epsilon, float(spectrum[0].real)) + _ABOVE)

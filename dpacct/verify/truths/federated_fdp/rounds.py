"""Theorem 1 by trying all coins of all clients, and its Gaussian form by a contour integral."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np

from dpacct.verify.truth import truth


@cache
def _shown_by_heads(rounds: int, observers: int) -> tuple[int, ...]:
    """Of all outcomes of all coins, by the number of heads: those that show w_j to an observer.

    The server averages with eta = 1/2 and the models are published as they are, so w_j shows as soon
    as an observer is sampled in or after a round in which client j is.
    """
    counts = [0] * (1 + (1 + observers) * rounds)
    for coins in itertools.product((False, True), repeat=(1 + observers) * rounds):
        table = np.array(coins).reshape(rounds, 1 + observers)
        carried = np.logical_or.accumulate(table[:, 0])
        counts[sum(coins)] += bool(np.any(carried & table[:, 1:].any(axis=1)))
    return tuple(counts)


def _shown(rate: float, rounds: int, observers: int) -> float:
    """How likely w_j shows; then the two data sets are told apart for certain."""
    counts = _shown_by_heads(rounds, observers)
    coins = len(counts) - 1
    return sum(n * rate**k * (1.0 - rate) ** (coins - k) for k, n in enumerate(counts))


@truth("federated_fdp.theorem1", "federated_fdp.theorem1_corrected", draws=60)
def weak(rate: float, rounds: int) -> tuple[float, float]:
    """Two clients, F = id, eta = 1/2: each of the 4^R outcomes of their coins."""
    value = _shown(rate, rounds, 1)
    return value, value


@truth("federated_fdp.theorem1_strong", "federated_fdp.theorem1_strong_corrected", draws=60)
def strong(rate: float, clients: int, rounds: int) -> tuple[float, float] | None:
    """All coins of all clients, F = id, eta = 1/2; what all but client j see together."""
    if clients * rounds > 9:
        return None
    value = _shown(rate, rounds, clients - 1)
    return value, value


@truth("federated_fdp.theorem1_gaussian", draws=250, within=1e-7)
def coins_and_shifts(
    mu: float, rate: float, rounds: int, epsilon: float
) -> tuple[float, float] | None:
    """The inverse Laplace transform of (1 - p + p M(s))^R / (s (s+1)) on a vertical line."""
    if epsilon < 0.02 or mu < 0.02:
        return None

    def log_moment(s: np.ndarray) -> np.ndarray:
        return rounds * np.log(1.0 - rate + rate * np.exp(0.5 * mu * mu * s * (s + 1.0)))

    if rounds * mu * mu * 20.0 > 600.0:
        return None
    real = np.geomspace(1e-3, 1e3, 3000).astype(complex)
    with np.errstate(all="ignore"):
        height = (log_moment(real) - real * epsilon - np.log(real * (1.0 + real))).real
    height[~np.isfinite(height)] = np.inf
    centre = float(real[int(np.argmin(height))].real)
    far = 9.0 / mu  # there the Gaussian factor has vanished
    t = np.linspace(0.0, far, 20_001)
    s = centre + 1j * t
    with np.errstate(all="ignore"):
        rest = np.exp(log_moment(s)) - (1.0 - rate) ** rounds  # the atom at 0 has no loss above eps
        values = (rest * np.exp(-s * epsilon) / (s * (s + 1.0))).real
    if not np.all(np.isfinite(values)):
        return None
    values[0] *= 0.5
    value = float(np.sum(values)) * float(t[1]) / np.pi
    room = 1e-8 * abs(value) + 1e-13
    return value - room, value + room

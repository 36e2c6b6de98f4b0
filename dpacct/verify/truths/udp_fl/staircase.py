"""The staircase density, integrated piece by piece: it is constant between its own jumps."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from dpacct.engine.stable import Floats
from dpacct.verify.truth import truth


@lru_cache(maxsize=64)
def _pieces(lam: float, nu: float, shift: float) -> tuple[Floats, Floats, Floats]:
    """(length, log density at x, log density at x - shift) of each piece on which both are constant."""
    steps = math.ceil(42.0 / lam) + 2
    if steps > 20_000:
        raise ArithmeticError("too many steps")
    whole = np.arange(steps + 1.0)
    own = np.concatenate([whole, whole + nu, -whole, -whole - nu])
    jumps = np.unique(np.concatenate([own, own + shift]))
    middle = 0.5 * (jumps[1:] + jumps[:-1])
    height = math.log(-math.expm1(-lam)) - math.log(2.0 * (nu + math.exp(-lam) * (1.0 - nu)))

    def level(x: Floats) -> Floats:
        size = np.abs(x)
        below = np.floor(size)
        return np.asarray(height - lam * (below + (size - below >= nu)))

    return np.diff(jumps), level(middle), level(middle - shift)


def divergence(alpha: float, lam: float, nu: float, shift: float) -> float:
    """D_alpha of the mechanism from itself shifted; both directions are the same, by symmetry."""
    length, here, there = _pieces(lam, nu, shift)
    with np.errstate(divide="ignore"):
        logs = np.log(length) + alpha * here + (1.0 - alpha) * there
    keep = length > 1e-14
    top = float(np.max(logs[keep]))
    total = float(np.sum(np.exp(logs[keep] - top)))
    return max(0.0, (top + math.log(total)) / (alpha - 1.0))


@truth("udp_fl.theorem1", "udp_fl.theorem2", "udp_fl.theorem2_log", draws=800, within=1e-6)
@truth("udp_fl.theorem2_corrected", draws=800, within=1e-6)
def worst(alpha: float, lam: float, nu: float) -> tuple[float, float]:
    """The densities integrated piece by piece, for shifts of the whole sensitivity and parts of it."""
    shifts = {1.0, 0.9, 0.5, nu, 1.0 - nu} - {0.0}
    best = max(divergence(alpha, lam, nu, shift) for shift in shifts)
    room = 4e-15 / (alpha - 1.0)  # the moment is 1 to rounding where lam is small
    return best - room, best + room


@truth("udp_fl.multidim", "udp_fl.multidim_corrected", draws=400, within=1e-6)
def split(alpha: float, lam: float, n: int) -> tuple[float, float]:
    """n coordinates shifted by 1/n each: n times the 1-D divergence, piece by piece."""
    total = n * divergence(alpha, lam, 0.5, 1.0 / n)
    room = n * 4e-15 / (alpha - 1.0)
    return total - room, total + room

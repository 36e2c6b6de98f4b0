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
    weight = length * np.exp(here)
    # P and Q exchange their roles under reflection, so the mean under P of e^{(alpha-1) L} decides;
    # divided by the mass, so that neither small losses nor orders near 1 lose their digits
    loss, s = here - there, alpha - 1.0
    if s * lam < 600.0:
        mean = float(weight @ np.expm1(s * loss)) / float(np.sum(weight))
        return max(0.0, math.log1p(mean) / s)
    top = s * float(np.max(loss))
    mean = float(weight @ np.exp(s * loss - top)) / float(np.sum(weight))
    return (top + math.log(mean)) / s


@truth("udp_fl.theorem1", "udp_fl.theorem2", "udp_fl.theorem2_log", draws=800, within=1e-6)
@truth("udp_fl.theorem2_corrected", draws=800, within=1e-6)
def worst(alpha: float, lam: float, nu: float) -> tuple[float, float]:
    """The densities integrated piece by piece, for shifts of the whole sensitivity and parts of it."""
    shifts = {1.0, 0.9, 0.5, nu, 1.0 - nu} - {0.0}
    best = max(divergence(alpha, lam, nu, shift) for shift in shifts)
    room = 1e-15
    return best - room, best + room


@truth("udp_fl.multidim", "udp_fl.multidim_corrected", draws=400, within=1e-6)
def split(alpha: float, lam: float, n: int) -> tuple[float, float]:
    """n coordinates shifted by 1/n each: n times the 1-D divergence, piece by piece."""
    total = n * divergence(alpha, lam, 0.5, 1.0 / n)
    room = n * 1e-15
    return total - room, total + room

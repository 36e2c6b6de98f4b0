"""Trade-off function from a privacy profile (Dong, Roth, Su 2022, Proposition 2.13).

f(alpha) = sup over eps >= 0 of max(0, 1 - delta(eps) - e^eps alpha, e^{-eps} (1 - delta(eps) - alpha)).
Any finite set of epsilons gives a lower bound of f, which is the safe side. At alpha = 0 the supremum
lies at infinity, and is the mass of finite losses.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dpacct.engine.stable import Floats

LogProfile = Callable[[Floats], Floats]

# epsilons of the first look, and how often each alpha's best one is moved to the top of a parabola
_COARSE = 64
_ROUNDS = 6
_KINKED_ROUNDS = 18
# a gain in f that isn't worth another round
_LEAST_GAIN = 1e-9


def _lines(epsilons: Floats, log_delta: Floats, alpha: Floats) -> Floats:
    """For each (alpha, eps): the better of the two supporting lines."""
    room = -np.expm1(np.minimum(log_delta, 0.0))
    with np.errstate(divide="ignore"):
        growth = np.add.outer(np.log(alpha), epsilons)
    steep = room - np.exp(np.minimum(growth, 700.0))
    flat = np.exp(-epsilons) * (room - alpha[:, None])
    better: Floats = np.maximum(steep, flat)
    return better


def _summits(epsilons: Floats, values: Floats, kinked: bool) -> Floats:
    """Where parabolas through the best epsilon of each row and its neighbours have their tops.

    A top too near a known epsilon is replaced by the middle of the wider gap. Where the profile has
    kinks a parabola errs to the same side each time: there both gaps are halved as well.
    """
    best = np.clip(values.argmax(axis=1), 1, epsilons.size - 2)
    rows = np.arange(best.size)
    left, here, right = epsilons[best - 1], epsilons[best], epsilons[best + 1]
    low, top, high = values[rows, best - 1], values[rows, best], values[rows, best + 1]
    before, after = here - left, right - here
    down, up = (top - low) / before, (high - top) / after
    bend = (up - down) / (before + after)
    with np.errstate(divide="ignore", invalid="ignore"):
        summit = 0.5 * (left + here) - 0.5 * down / bend
    wider = np.where(after > before, here + 0.5 * after, here - 0.5 * before)
    near = 0.02 * np.minimum(before, after)
    good = (bend < 0.0) & (summit > left + near) & (summit < right - near)
    good &= np.abs(summit - here) > near
    chosen = np.where(good, summit, wider)
    if kinked:
        chosen = np.concatenate((chosen, 0.5 * (left + here), 0.5 * (here + right)))
    return np.unique(chosen)


def curve(
    log_profile: LogProfile, alpha: Floats, *, finite_mass: float, scale: float, kinked: bool
) -> Floats:
    """Lower bound of f at each alpha: a look at the epsilons that can matter, then each best one.

    `finite_mass` is that of the losses below infinity, `scale` about their standard deviation;
    `kinked` says that the losses are points.
    """
    # beyond -log alpha the steep line is below 0, beyond 40 the flat one below 1e-17
    smallest = float(alpha[alpha > 0.0].min(initial=1.0))
    top = min(max(-math.log(smallest), 40.0), 745.0)
    finest = min(max(1e-3 * scale, 1e-9 * top), 1e-2 * top)
    epsilons = np.concatenate(([0.0], np.geomspace(finest, top, _COARSE)))
    log_delta = log_profile(epsilons)
    values = _lines(epsilons, log_delta, alpha)
    reached = values.max(axis=1)
    idle = 0
    for _ in range(_KINKED_ROUNDS if kinked else _ROUNDS):
        finer = np.setdiff1d(_summits(epsilons, values, kinked), epsilons)
        epsilons = np.concatenate((epsilons, finer))
        log_delta = np.concatenate((log_delta, log_profile(finer)))
        order = np.argsort(epsilons)
        epsilons, log_delta = epsilons[order], log_delta[order]
        values = _lines(epsilons, log_delta, alpha)
        following = values.max(axis=1)
        gain = float((following - reached).max(initial=0.0))
        reached = following
        idle = idle + 1 if gain < _LEAST_GAIN else 0
        if idle == 2 and not kinked:
            break
    reached = np.where(alpha == 0.0, finite_mass, reached)
    return np.clip(reached, 0.0, 1.0 - alpha)

"""Trade-off function from a privacy profile (Dong, Roth, Su 2022, Proposition 2.13).

f(alpha) = sup over eps >= 0 of max(0, 1 - delta(eps) - e^eps alpha, e^{-eps} (1 - delta(eps) - alpha)).
Any finite set of epsilons gives a lower bound of f, which is the safe side.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dpacct.engine.stable import Floats

LogProfile = Callable[[Floats], Floats]


def _lines(epsilons: Floats, log_delta: Floats, alpha: Floats) -> Floats:
    """For each (alpha, eps): the better of the two supporting lines."""
    room = -np.expm1(np.minimum(log_delta, 0.0))
    steep = room - np.multiply.outer(alpha, np.exp(epsilons))
    flat = np.exp(-epsilons) * (room - alpha[:, None])
    better: Floats = np.maximum(steep, flat)
    return better


def curve(log_profile: LogProfile, alpha: Floats) -> Floats:
    """Lower bound of f at each alpha: a scan of epsilons, refined around each best one."""
    # beyond this epsilon neither line is above 0 for the smallest alpha, or delta is negligible
    smallest = float(alpha[alpha > 0.0].min(initial=1e-3))
    top = 1.0
    while top < 700.0 and float(log_profile(np.array([top]))[0]) > np.log(smallest) - 7.0:
        top *= 1.5
    epsilons = np.concatenate(([0.0], top * np.geomspace(1e-5, 1.0, 160)))
    best = np.zeros(alpha.shape)
    for _ in range(4):
        values = _lines(epsilons, log_profile(epsilons), alpha)
        index = values.argmax(axis=1)
        best = np.maximum(best, values.max(axis=1))
        near = np.unique(np.clip(np.concatenate((index - 1, index)), 0, epsilons.size - 2))
        fractions = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
        spread = np.diff(epsilons)[near]
        finer = np.unique((epsilons[near][:, None] + spread[:, None] * fractions[None, :]).ravel())
        if finer.size > 4000:
            break
        epsilons = finer
    return np.clip(best, 0.0, 1.0 - alpha)

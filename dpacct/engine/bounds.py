"""Bounds in closed form: what holds of delta and epsilon without a contour."""

from __future__ import annotations

import math

import numpy as np

from .contour import log_peak
from .law import TooFine
from .saddle import Laws, Saddle, first_guess
from .stable import log_sum_exp, quiet


def chernoff(laws: Laws, saddle: Saddle, epsilon: float, c: float) -> float:
    """log of inf_c M(c) e^{-c eps} c^c/(1+c)^{1+c}, an upper bound of delta for every c > 0."""
    best = math.inf
    for factor in (0.5, 0.8, 1.0, 1.25, 2.0):
        total = saddle.at(c * factor)
        peak = log_peak(total.c)
        best = min(best, total.log_moment - total.c * epsilon + peak)
    return best


def largest_loss(laws: Laws) -> float:
    """Supremum of the loss of the composition."""
    return sum(count * law.largest_loss for law, count in laws)


def log_one_minus(log_rest: float) -> float:
    """log(1 - e^{log_rest})."""
    return math.log1p(-math.exp(log_rest)) if log_rest < -1e-12 else -math.inf


def one_minus_chernoff(laws: Laws, epsilon: float) -> float:
    """log of min over c in [-1, 0] of M(c) e^{-c eps}."""
    prepared = [(law.prepare(-1.0, 0.0), count) for law, count in laws]
    best = 0.0
    for c in (-1e-6, -1e-5, -1e-4, -1e-3, -1e-2, -0.1, -0.3, -0.5, -0.7, -0.9, -1.0):
        moment = sum(count * family.cumulants(c).log_moment for family, count in prepared)
        best = min(best, moment - c * epsilon)
    return best


def single_step(laws: Laws, epsilon: float) -> float:
    """A lower bound of log delta: any single step, by post-processing of the rest."""
    known = [law.log_one_step(epsilon) for law, _ in laws]
    return max((one[0] for one in known if one is not None), default=-math.inf)


def modest_bound(laws: Laws, given: float, *, at_delta: bool = False) -> float:
    """Chernoff's bound over a few tilts, as far up as the rules reach.

    Of log delta at the epsilon `given`, or of epsilon at the log delta `given`.
    """
    best = math.inf
    c = 1e-3 * first_guess(laws, -10.0)
    for _ in range(40):
        try:
            total = Saddle(laws, c).at(c)
        except TooFine:
            break
        level = total.log_moment + log_peak(c)
        bound = (level - given) / c if at_delta else level - c * given
        if bound > best:
            break
        best = bound
        c *= 1.6
    return best


@quiet
def log_delta_bound(laws: Laws, epsilon: float, log_target: float) -> float:
    """A cheap upper bound of log delta: Chernoff's, at the tilts that matter near the target."""
    if epsilon >= largest_loss(laws):
        return -math.inf
    c = first_guess(laws, log_target)
    best = math.inf
    try:
        saddle = Saddle(laws, c)
        return _chernoff_search(saddle, epsilon, log_target, c)
    except TooFine:
        return best


def _chernoff_search(saddle: Saddle, epsilon: float, log_target: float, c: float) -> float:
    best = math.inf
    for _ in range(6):
        total = saddle.at(c)
        peak = log_peak(c)
        best = min(best, total.log_moment - c * epsilon + peak)
        if best < log_target:
            break
        # Newton for the saddle of the bound, in log c
        gap = total.mean - epsilon + math.log(c / (1.0 + c))
        slope = c * total.variance + 1.0 / (1.0 + c)
        c *= math.exp(max(-1.5, min(1.5, -gap / slope)))
    return best


def surely_zero(laws: Laws, log_target: float) -> bool:
    """Whether delta(0), a total variation, is below the target because those of the steps add up to less."""
    spread = math.sqrt(sum(count * law.variance_hint for law, count in laws))
    if log_target < math.log(max(0.05 * spread, 1e-300)):
        return False  # hardly
    known = [(law.log_one_step(0.0), count) for law, count in laws]
    parts = [one[0] + one[1] + math.log(count) for one, count in known if one is not None]
    return len(parts) == len(known) and log_sum_exp(np.array(parts)) < log_target

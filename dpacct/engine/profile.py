"""A whole privacy profile: few contours, each read at all the epsilons near its saddle."""

from __future__ import annotations

import math

import numpy as np

from .bounds import largest_loss
from .choice import contour_for
from .invert import LEAST_LOG_DELTA, log_delta
from .law import TooFine
from .saddle import Laws, Saddle, first_guess, reach_for
from .stable import Floats, quiet


@quiet
def log_profile(laws: Laws, epsilons: Floats, tolerance: float = 1e-9) -> tuple[Floats, Floats]:
    """Log delta at many epsilons, and its error: few lines, each read at all the epsilons near its saddle.

    Where no line is good, the upper end, with no error, or inf where that is a mere bound.
    """
    try:
        return _log_profile(laws, epsilons, tolerance)
    except TooFine:
        ends = [_upper_end(laws, e) for e in epsilons.tolist()]
        return np.array([value for value, _ in ends]), np.array([error for _, error in ends])


def _upper_end(laws: Laws, epsilon: float) -> tuple[float, float]:
    solved = log_delta(laws, epsilon)
    return solved.upper, 0.0 if solved.resolved else math.inf


def _log_profile(laws: Laws, epsilons: Floats, tolerance: float) -> tuple[Floats, Floats]:
    largest = largest_loss(laws)
    order = np.argsort(epsilons)
    values = np.full(epsilons.shape, np.nan)
    errors = np.full(epsilons.shape, np.inf)
    pending = [int(i) for i in order]
    saddle: Saddle | None = None
    c = first_guess(laws, -10.0)
    single = len(laws) == 1 and laws[0][1] == 1 and laws[0][0].log_one_step(1.0) is not None
    while pending:
        first = float(epsilons[pending[0]])
        line, width = None, 0.0
        if not single and first < largest:
            saddle = saddle or Saddle(laws, c, reach_for(laws, LEAST_LOG_DELTA))
            total = saddle.for_epsilon(first, c)
            # move on by 2.5 widths: e^{-3} of the saddle's height is all that is lost at the near edge
            width = 2.5 * math.sqrt(total.curvature)
            if float(epsilons[pending[-1]]) > first + 0.5 * width:
                # beyond the largest loss there is no saddle
                aim = min(first + 0.8 * width, 0.5 * (first + largest))
                total = saddle.for_epsilon(aim, total.c)
            c = total.c
            last = min(float(epsilons[pending[-1]]), first + 2.0 * width)
            line = contour_for(laws, saddle.families, total, (first, last))
        if line is not None:
            group = [i for i in pending if epsilons[i] <= first + 2.0 * width]
            reading = line.read(epsilons[group])
            good = reading.relative_error < tolerance
            if group and bool(good[0]):
                stop = len(group) if bool(good.all()) else int(np.argmin(good))
                chosen = group[:stop]
                values[chosen] = reading.log_delta[:stop]
                errors[chosen] = reading.relative_error[:stop]
                pending = pending[stop:]
                continue
        values[pending[0]], errors[pending[0]] = _upper_end(laws, first)
        pending = pending[1:]
    return values, errors

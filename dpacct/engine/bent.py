"""A contour that leaves the vertical, for losses that pile up at one edge.

There M(s) decays slowly up the vertical line, and fast once Re s moves away from the pile.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .contour import EXACT, Families, Line, Reading, Totals, tabulate
from .stable import Complexes, Floats

MOST_BENT_NODES = 4000
# the contour is settled when the last halving of its step changed less than this part; the error
# left is far smaller, but by how much depends on the plan
_SETTLED = 5e-11


class BentLine(Line):
    """A line off the vertical, whose terms grow away from the epsilon that it was settled for.

    So each reading is settled anew: against every second node, and by its own last terms.
    """

    def __init__(
        self,
        total: Totals,
        displacements: Complexes,
        weights: Complexes,
        log_integrand: Complexes,
        error: float,
        step: float,
        tolerance: float = EXACT,
    ) -> None:
        super().__init__(total, displacements, weights, log_integrand, error, tolerance)
        self.step = step

    def read(self, epsilons: Floats) -> Reading:
        complex_terms = self._summands(epsilons)
        raw = self._sums(epsilons, complex_terms)
        reading = self._reading(epsilons, raw.heights, raw.value, raw.moment, raw.size)
        terms, value = complex_terms.real, raw.value
        change = np.abs(value - 2.0 * terms[:, ::2].sum(axis=1))
        unsettled = (change + np.abs(terms[:, -4:]).max(axis=1)) / np.where(value > 0.0, value, 0.0)
        # a change that is no longer shrinking is rounding, of which it is only a sample
        unsettled = np.where(unsettled > 1e-9, 5.0 * unsettled, unsettled)
        error = np.maximum(reading.relative_error, unsettled + self._floor)
        return Reading(reading.log_delta, reading.slope, error)


def bent_contour(
    families: Families,
    total: Totals,
    epsilons: Sequence[float],
    tolerance: float = EXACT,
    settled: float | None = None,
) -> BentLine | None:
    """Trapezoid rule in y on s = c + i tau + sign * slope (sqrt(tau^2 + b^2) - b), tau = a sinh y.

    Where M(s) decays slowly on the vertical line because losses pile up at one edge, the integrand there
    behaves as e^{s (edge - eps)}, and decays exponentially once Re s moves away from the pile. The step
    is halved until the sum settles: from twice the step at which a similar one did, where that is known.
    None if the laws do not allow a common bend.
    """
    bends = []
    for family, _ in families:
        bend = family.bend(total.c)
        if bend is None:
            return None
        bends.append(bend)
    signs = {bend.sign for bend in bends}
    if len(signs) != 1:
        return None
    lean = signs.pop() * min(bend.slope for bend in bends)
    c = total.c
    width = 1.0 / math.sqrt(total.curvature)
    scale = 3.0 * width
    bow = max(0.5 * c, 4.0 * width)

    def table(y: Floats) -> tuple[Complexes, Complexes, Complexes]:
        tau = scale * np.sinh(y)
        root = np.sqrt(tau * tau + bow * bow)
        z = lean * (root - bow) + 1j * tau
        derivative = (lean * tau / root + 1j) * (scale * np.cosh(y))
        return z, derivative / (1j * math.pi), tabulate(families, c, z)

    def dead(z: Complexes, weight: Complexes, value: Complexes) -> bool:
        log_size = np.log(np.abs(weight)) + (value + np.multiply.outer(gaps, z)).real
        return float(log_size.max()) < math.log(tolerance / unit)

    gaps = total.mean - np.array(epsilons)
    unit = math.sqrt(2.0 * math.pi * total.curvature)
    step = 2.0 * settled if settled else 0.125
    block = math.ceil(2.0 / step)
    tables = []
    for first in range(0, 40 * block, block):
        tables.append(table(step * np.arange(first, first + block, dtype=np.float64)))
        if dead(*(part[-4:] for part in tables[-1])):
            break
    else:
        return None
    z, weight, value = (np.concatenate(parts) for parts in zip(*tables, strict=True))
    weight[0] *= 0.5
    previous, last = np.full(gaps.shape, np.inf), math.inf
    while True:
        terms = weight * np.exp(np.multiply.outer(gaps, z) + value)
        estimate = step * terms.real.sum(axis=1)
        change = np.abs(estimate - previous)
        relative = float((change / np.abs(estimate)).max()) if estimate.all() else math.inf
        # what is left after a change a hundred times smaller than the one before it is smaller still,
        # and a small change that does not shrink is rounding, of which it is only a sample
        stalled = 0.3 * last < relative < 1e-5
        left = (
            30.0 * max(1.0, last / relative) if stalled else 0.3 if relative < 0.01 * last else 1.0
        )
        if relative * left <= max(_SETTLED, tolerance) or stalled or z.size > MOST_BENT_NODES:
            scaled: Complexes = weight * complex(step)
            error = left * float(change.max()) + tolerance / unit
            return BentLine(total, z, scaled, value, error, step, tolerance)
        last = relative
        previous = estimate
        middle = table(step * (np.arange(z.size) + 0.5))
        z, weight, value = (
            np.stack((old, new), axis=1).ravel()
            for old, new in zip((z, weight, value), middle, strict=True)
        )
        step *= 0.5

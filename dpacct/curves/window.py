"""Where a tilted density lives: the part of the axis that a quadrature rule has to cover.

A rule serves every tilt in a range, the untilted law and its reverse, and differences such as
e^{cL} - 1 - cL which weigh the tails by L^2. A point is kept when, under any of these, it holds more
than e^{-42} (4e-19) of the largest value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dpacct.engine.law import TooFine
from dpacct.engine.stable import Floats

NEGLIGIBLE = 42.0
MOST_NODES = 400_000
# deviations of the noise: beyond, half a deviation is lost in the rounding of the sum
_FARTHEST = 1e14


def scan_points(low: float, high: float, centres: Sequence[float], spacing: float = 0.5) -> Floats:
    """Coarse points on [low, high]: dense near the origin and near each centre, geometric between."""
    if not all(abs(centre) < _FARTHEST for centre in centres):
        raise TooFine  # the tilt itself is out of all proportion
    reach = 60.0
    pieces = [np.append(np.arange(max(low, -reach), min(high, reach), spacing), min(high, reach))]
    for centre in centres:
        if abs(centre) > reach - 14.0:
            pieces.append(np.arange(centre - 14.0, centre + 14.0 + spacing, spacing))
    if high > reach:
        pieces.append(np.geomspace(reach, high, 80))
    if low < -reach:
        pieces.append(-np.geomspace(reach, -low, 80))
    points = np.unique(np.concatenate(pieces)) if len(pieces) > 1 else pieces[0]
    return points[(points >= low) & (points <= high)]


def kept_intervals(
    points: Floats, log_weights: Floats, losses: Floats, tilts: Sequence[float], reach: float
) -> list[tuple[float, float]]:
    """Intervals between scan points that hold all that is not negligible.

    `reach` is the largest tilt or frequency: |L| below 1/reach counts as (reach L)^2, the size of
    the second-order differences.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        damping = 2.0 * np.minimum(0.0, np.log(reach * np.abs(losses)))
    tilted = log_weights + np.multiply.outer(np.array(tilts), losses)
    values = np.concatenate((tilted, tilted + damping))
    kept = (values > values.max(axis=1, keepdims=True) - NEGLIGIBLE).any(axis=0)
    # widen by one scan point each side, so that the edge itself is negligible
    kept[1:] |= kept[:-1].copy()
    kept[:-1] |= kept[1:].copy()
    edges = np.flatnonzero(np.diff(np.concatenate(([0], kept.astype(np.int8), [0]))))
    return [
        (float(points[a]), float(points[b - 1]))
        for a, b in zip(edges[::2], edges[1::2], strict=True)
    ]


def uniform_nodes(intervals: list[tuple[float, float]], step: float) -> Floats:
    """Points of the lattice step * Z inside the intervals (the trapezoid rule on the whole line)."""
    if sum(b - a for a, b in intervals) > MOST_NODES * step:
        raise TooFine
    pieces = [np.arange(np.ceil(a / step), np.floor(b / step) + 1.0) for a, b in intervals]
    nodes = np.unique(np.concatenate(pieces)) if len(pieces) > 1 else pieces[0]
    return nodes * step


def scan(
    low: float,
    high: float,
    centres: Sequence[float],
    tilts: Sequence[float],
    reach: float,
    density: Callable[[Floats], tuple[Floats, Floats]],
) -> list[tuple[float, float]]:
    """Scan a density (points -> log weights, losses) and return the intervals to cover."""
    points = scan_points(low, high, centres)
    log_weights, losses = density(points)
    intervals = kept_intervals(points, log_weights, losses, tilts, reach)
    if centres[0] != centres[-1]:
        # a tilt inside the range may live between the places where its ends live
        return [(intervals[0][0], intervals[-1][1])]
    return intervals

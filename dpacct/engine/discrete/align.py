"""Where to put the nodes: steps and offsets for which point masses fall on them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpacct.engine.stable import Floats

Group = tuple[Floats, Floats]
"""Losses of point masses, and what each weighs."""
# steps tried for each group, groups that give such steps, and point masses that are looked at
_CANDIDATES, _BASES, _HEAVIEST = 4000, 4, 64
# points on one lattice at most this many steps apart are taken to be meant so
_LONGEST = 20_000
_MEANT = 1e-12


def natural_step(atoms: Floats) -> float | None:
    """The step of the lattice that all these losses lie on; None if they do not."""
    gaps = np.diff(np.unique(atoms))
    scale = float(np.abs(atoms).max(initial=0.0))
    gaps = gaps[gaps > 1e-13 * scale]
    if not gaps.size:
        return None
    # Euclid's algorithm on reals, stopped where a remainder is rounding
    step = float(gaps[0])
    for gap in gaps[1:].tolist():
        a, b = max(step, gap), min(step, gap)
        while b > 1e-9 * a and b > _MEANT * scale * _LONGEST:
            a, b = b, a - b * round(a / b)
            b = abs(b)
        step = a
    count = round(float(np.ptp(atoms)) / step)
    if not 0 < count <= _LONGEST:
        return None
    step = float(np.ptp(atoms)) / count
    places = (atoms - float(atoms.min())) / step
    misfit = float(np.abs(places - np.round(places)).max()) * step
    return step if misfit <= _MEANT * max(scale, step) else None


def aligned_step(groups: Sequence[Group], asked: float) -> float:
    """A step from asked/2 to `asked` by which point masses lie nearest to nodes.

    The heaviest of each group is on one; what a mass off its node costs is its weight times its way there.
    """
    ways: list[Floats] = []
    weights: list[Floats] = []
    bases: list[tuple[float, float]] = []
    for atoms, masses in groups:
        if atoms.size < 2:
            continue
        order = np.argsort(masses)[::-1][:_HEAVIEST]
        way = np.abs(atoms[order[1:]] - atoms[order[0]])
        apart = way > 0.0  # losses that a sample saturates may round to one
        if not apart.any():
            continue
        way = way[apart]
        ways.append(way)
        weights.append(masses[order[1:]][apart])
        natural = natural_step(atoms) if atoms.size <= _HEAVIEST else None
        if natural is None or natural < 0.5 * asked:
            natural = float(way[0])
        bases.append((float(weights[-1][0]), natural))
    if not ways:
        return asked
    way, weight = np.concatenate(ways), np.concatenate(weights)
    kept = np.argsort(weight)[::-1][:_HEAVIEST]
    steps = [asked / np.linspace(1.0, 2.0, _HEAVIEST)]
    for _, base in sorted(bases, reverse=True)[:_BASES]:
        least = math.ceil(base / asked * (1.0 - 1e-12))
        counts = np.arange(least, 2 * least + 1, max(1, least // _CANDIDATES), dtype=np.float64)
        steps.append(base / counts[counts * asked <= 2.0 * base * (1.0 + 1e-12)])
    tried = np.concatenate(steps)
    places = np.divide.outer(way[kept], tried)
    misfit = (weight[kept][:, None] * np.abs(places - np.round(places))).sum(axis=0) * tried
    # of steps as good as the best but for rounding, the longest
    good = misfit <= misfit.min() + 1e-15 * float(weight @ way)
    return float(tried[good].max())

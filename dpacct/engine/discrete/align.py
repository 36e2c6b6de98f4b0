"""Where to put the nodes: steps and offsets for which point masses fall on them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpacct.engine.stable import Floats

# candidates tried for a step that suits three and more point masses
_CANDIDATES = 4000
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


def aligned_step(groups: Sequence[Floats], asked: float) -> float:
    """A step of at most `asked` (and not much less) that suits the point masses of each group best."""
    gaps = []
    for atoms in groups:
        if atoms.size < 2:
            continue
        natural = natural_step(atoms)
        base = np.array([natural]) if natural is not None else np.diff(np.unique(atoms))
        gaps.append(base[base > 0.0])
    if not gaps:
        return asked
    longest = max(float(gap.max()) for gap in gaps)
    least = math.ceil(longest / asked * (1.0 - 1e-12))
    if len(gaps) == 1 and gaps[0].size == 1:
        return longest / least
    counts = np.arange(least, 2 * least + 2, max(1, least // _CANDIDATES), dtype=np.float64)
    steps = longest / counts
    places = np.divide.outer(np.concatenate(gaps), steps)
    misfit = np.square(places - np.round(places)).sum(axis=0) * np.square(steps)
    return float(steps[int(np.argmin(misfit))])

"""A composition's whole law, from end to end: what a sample around it needs, and no single tilt gives.

Every stretch of losses is read from the composition tilted to centre there, so that each mass keeps its
digits, however rare. The result is a pair again: both distributions sum to one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dpacct.engine.stable import Floats

from .align import aligned_step
from .compose import compose
from .lattices import Layout, Sources
from .pieces import DiscreteSource, Pieces
from .spread import lattice_laws
from .window import Laws, Sum, mass_at_infinity, tilted_sum, window

# P-mass at the ends of one step, in logs, and tilted mass outside a stretch's window
_RARE = -720.0
_SEEN = -80.0
_TAIL = -38.0
# deviations from one stretch's centre to the next, and stretches at most in each direction
_APART = 5.0
_MOST = 40
# log P-mass of the last stretch upwards
_FAR = -350.0
# and at most towards lower losses, where P has hardly any mass
_FEW = 12
# what sums of all masses may round to
_SUM = 4e-15


@dataclass(frozen=True, eq=False)
class Whole:
    """Points of a pair that bounds the composition from one side: log P-masses, and P-mass at infinity."""

    losses: Floats
    log_p: Floats
    infinite: float

    def pieces(self) -> Pieces:
        """The pair as points; what is missing from Q's mass is where P has none."""
        points = Pieces.points(self.losses, self.log_p)
        rest = 1.0 - float(np.exp(points.log_q).sum())
        parts = [points]
        if self.infinite > 0.0:
            parts.append(Pieces.points(np.array([math.inf]), np.array([math.log(self.infinite)])))
        if rest > 0.0:
            none = np.array([-math.inf])
            parts.append(Pieces(none, np.array([math.log(rest)]), none, none))
        return Pieces.join(*parts)


def whole_laws(sources: Sources, spacing: float, high: float) -> tuple[Whole, Whole]:
    """(upper, lower) of a composition, on a lattice of about this spacing, for losses up to `high`."""
    step = aligned_step([source.atoms for source, _ in sources], spacing)
    uppers, lowers = [], []
    for source, count in sources:
        layout = Layout(source, count, *_ends(source, high))
        upper, lower = lattice_laws(source, layout.even(step))
        uppers.append((upper, count))
        lowers.append((lower, count))
    return _upper(*_stitched(uppers, high, True)), _lower(*_stitched(lowers, high, False))


def _ends(source: DiscreteSource, high: float) -> tuple[float, float]:
    """Losses of one step that either distribution has, up to some way above all that is asked for."""
    low, top = source.span(_SEEN)
    top = max(top, min(source.span(_RARE)[1], high + 12.0))
    return min(low, -top), top


def _stitched(laws: Laws, high: float, upper: bool) -> tuple[Floats, Floats, float]:
    """Losses, P-masses rounded to the given side, and the P-mass at infinity or above them all."""
    centres = _centres(laws, high)
    bounds = [0.5 * (a.mean + b.mean) for a, b in pairwise(centres)]
    ends = zip([-math.inf, *bounds], [*bounds, math.inf], strict=True)
    losses: list[Floats] = []
    masses: list[Floats] = []
    below = above = 0.0
    for total, (start, stop) in zip(centres, ends, strict=True):
        composed = compose(laws, total, window(laws, total, _TAIL))
        kept = (composed.losses > start) & (composed.losses <= stop)
        at, each = composed.losses[kept], composed.rounding[0]
        tilted = composed.masses[kept]
        tilted = np.maximum(tilted, 0.0) + each if upper else tilted - each - composed.wrapped
        with np.errstate(divide="ignore"):
            level = np.log(np.maximum(tilted, 0.0))
        losses.append(at)
        masses.append(np.exp(np.minimum(level + total.log_moment - total.c * at, 0.0)))
        # tilted mass outside the window, as P-mass: e^{-c l} is largest at the nearer end
        scale = total.log_moment - total.c * (composed.losses[-1])
        if stop == math.inf:
            above = composed.missing * math.exp(min(scale, 700.0)) if total.c >= 0.0 else 1.0
        if start == -math.inf:
            scale = total.log_moment - total.c * composed.losses[0]
            below = composed.wrapped * math.exp(min(scale, 700.0)) if total.c <= 0.0 else 1.0
    at, mass = np.concatenate(losses), np.concatenate(masses)
    infinite = mass_at_infinity(laws)
    if upper:
        # rounded up: what lies below all of them joins the lowest, what lies above is as good as infinite
        mass[0] += below
        infinite += above
    return at, mass, infinite


def _centres(laws: Laws, high: float) -> list[Sum]:
    """Tilts from below -1 (so that Q's mass is covered) to where losses up to `high` are centred."""
    middle = tilted_sum(laws, 0.0)
    found, total = [middle], middle
    while total.mean < high and len(found) < _MOST and _log_mass(total) > _FAR:
        further = _next(laws, total, 1.0)
        if further is None:
            break
        total = further
        found.append(total)
    lowest = window(laws, tilted_sum(laws, -1.0), _TAIL).low
    total, count = middle, 0
    while (total.c > -1.0 or total.mean > lowest) and count < _FEW:
        lower = _next(laws, total, -1.0)
        if lower is None:
            break
        total, count = lower, count + 1
        found.insert(0, total)
    return found


def _log_mass(total: Sum) -> float:
    """About the log of the P-mass where this tilt is centred."""
    return total.log_moment - total.c * total.mean


def _next(laws: Laws, total: Sum, sign: float) -> Sum | None:
    """The next tilt up or down, whose centre lies a few deviations on; None at the end of the support."""
    wide = math.sqrt(total.variance)
    if wide < 2.0 * laws[0][0].step:
        return None
    change = _APART / wide
    for _ in range(30):
        other = tilted_sum(laws, total.c + sign * change)
        reach = _APART + 2.0
        if abs(other.mean - total.mean) <= reach * max(wide, math.sqrt(other.variance)) and (
            abs(other.mean - total.mean) <= 3.0 * reach * wide
        ):
            return other
        change *= 0.5
    return other


def _upper(losses: Floats, masses: Floats, infinite: float) -> Whole:
    """P's excess over 1 taken from the lowest losses (or a deficit added there): the chord to h(0) = 1."""
    infinite = min(infinite, 1.0)
    excess = float(masses.sum()) + infinite - 1.0 - _SUM
    if excess <= 0.0:
        masses[0] -= excess
    else:
        total = np.cumsum(masses)
        last = min(int(np.searchsorted(total, excess)), masses.size - 1)
        masses[last] = max(0.0, float(total[last]) - excess)
        losses, masses = losses[last:], masses[last:]
    kept = masses > 0.0
    return Whole(losses[kept], np.log(masses[kept]), infinite)


def _lower(losses: Floats, masses: Floats, infinite: float) -> Whole:
    """The lowest losses merged into one that makes both sums 1: the larger of g and 1 - gamma."""
    q = masses * np.exp(-losses)
    p_rest = 1.0 - infinite - _SUM - np.cumsum(masses[::-1])[::-1]
    q_rest = 1.0 + _SUM - np.cumsum(q[::-1])[::-1]
    # p_rest[k]: what is left for one point in place of all those below k
    with np.errstate(invalid="ignore", divide="ignore"):
        place = np.where(q_rest > 0.0, np.log(np.maximum(p_rest, 0.0) / q_rest), math.inf)
    # below all the points that stay: so that the profile under it is 1 - gamma
    fits = np.flatnonzero(place[1:] <= losses[1:])
    if not fits.size:
        return Whole(np.zeros(1), np.log(np.array([max(1.0 - infinite, 1e-300)])), infinite)
    first = int(fits[0]) + 1
    at = np.concatenate(([place[first]], losses[first:]))
    mass = np.concatenate(([max(p_rest[first], 0.0)], masses[first:]))
    kept = mass > 0.0
    return Whole(at[kept], np.log(mass[kept]), infinite)

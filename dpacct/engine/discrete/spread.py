"""From pieces to lattice laws: spread outwards (upper), shrunk inwards (lower).

With gamma_k = e^{loss of node k} and h(gamma) = E_P[(1 - gamma/e^L)_+], convex in gamma:

    upper   the chords of h between nodes (Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022, connect
            the dots): each piece is split between two nodes so that both its masses are kept.
    lower   a convex function with kinks at nodes only and nowhere above h: the chords, lowered at each
            node by d_k, so that each stays below the V of a cell shrunk to its barycentre.

Both are second-order in the spacing where the law is spread over several nodes. docs/theory/lattice.md
derives every line.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpacct.engine.stable import Floats

from .lattice_law import LatticeLaw
from .pieces import DiscreteSource, Pieces

_LEAST = 1e-280


@dataclass(frozen=True)
class Grid:
    """Nodes offset + step (first + stride i), i = 0 .. count - 1."""

    offset: float
    step: float
    first: int
    stride: int
    count: int

    @property
    def spacing(self) -> float:
        return self.step * self.stride

    @property
    def start(self) -> float:
        return self.offset + self.step * self.first

    def nodes(self) -> Floats:
        k = self.first + self.stride * np.arange(self.count, dtype=np.float64)
        return np.asarray(self.offset + self.step * k)

    def law(self, masses: Floats, infinite: float, shift: float) -> LatticeLaw:
        return LatticeLaw(self.offset + shift, self.step, self.first, self.stride, masses, infinite)


def lattice_laws(source: DiscreteSource, grid: Grid) -> tuple[LatticeLaw, LatticeLaw]:
    """(upper, lower): lattice laws whose profiles enclose the source's."""
    nodes = grid.nodes()
    above = source.pieces(nodes, upper=True)
    below = source.pieces(nodes, upper=False)
    return spread(above, grid), shrunk(below, grid)


def _position(losses: Floats, grid: Grid) -> Floats:
    """Where losses lie among the nodes; infinite losses stay so."""
    return np.asarray((losses - grid.start) / grid.spacing)


def _gathered(places: Floats, weights: Floats, count: int) -> Floats:
    """Weights summed by place."""
    found = np.bincount(places.astype(np.int64), weights=weights, minlength=count)
    return found.astype(np.float64)


def _snap(pieces: Pieces, grid: Grid) -> float:
    """How far from a node a loss may lie, in nodes, and still be taken for it."""
    ends = max(abs(grid.start), abs(grid.start + grid.spacing * grid.count))
    return min(0.01, (4.0 * pieces.slack + 2e-15 * ends) / grid.spacing)


def spread(pieces: Pieces, grid: Grid) -> LatticeLaw:
    """The upper law: every piece split between the nodes around it, both masses kept."""
    alive = pieces.log_p > -math.inf
    log_p, log_q = pieces.log_p[alive], pieces.log_q[alive]
    low, high = _position(pieces.low[alive], grid), _position(pieces.high[alive], grid)
    snap, last = _snap(pieces, grid), grid.count - 1
    below, above = np.floor(low + snap), np.ceil(high - snap)
    above = np.maximum(above, below)
    below = np.where(below < 0.0, -math.inf, np.minimum(below, last))
    above = np.where(above > last, math.inf, np.maximum(above, 0.0))
    mass = np.exp(log_p + pieces.slack)
    # the loss of the merged piece above the lower node; 3 slacks make up for rounding of all three
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        merged = log_p - log_q + 3.0 * pieces.slack - grid.start
        gap = np.maximum(merged - below * grid.spacing, 0.0)
        width = (above - below) * grid.spacing
        raised = np.where(width > 0.0, np.expm1(-gap) / np.expm1(-width), 0.0)
    raised = np.where(np.isneginf(below), 1.0, np.clip(raised, 0.0, 1.0))
    up, down = mass * raised, mass * (1.0 - raised)
    masses = np.zeros(grid.count)
    inside = np.isfinite(below)
    masses += _gathered(below[inside], down[inside], grid.count)
    inside = np.isfinite(above)
    masses += _gathered(above[inside], up[inside], grid.count)
    # what underflowed to nothing is put at infinity, generously
    infinite = float(up[~inside].sum()) + 1e-307 * float(log_p.size)
    shift = pieces.slack + snap * grid.spacing
    return grid.law(masses, infinite, shift)


def shrunk(pieces: Pieces, grid: Grid) -> LatticeLaw:
    """The lower law: every cell shrunk to its barycentre, and the chords lowered below that."""
    alive = pieces.log_p > -math.inf
    log_p, log_q = pieces.log_p[alive] - pieces.slack, pieces.log_q[alive] + pieces.slack
    open_failure = np.isneginf(log_q)
    infinite = float(np.exp(log_p[open_failure]).sum())
    snap, last = _snap(pieces, grid), grid.count - 1
    points = (pieces.low == pieces.high)[alive]
    loss = log_p - log_q
    with np.errstate(invalid="ignore"):
        place = np.where(points, _position(pieces.low[alive], grid), _position(loss, grid))
    nearest = np.round(place)
    with np.errstate(invalid="ignore"):
        exact = points & (np.abs(place - nearest) <= snap) & (nearest >= 0.0) & (nearest <= last)
    mass = np.exp(log_p)
    kinks = _gathered(nearest[exact], mass[exact], grid.count)
    rest = ~exact & ~open_failure & (place >= 0.0)
    # beyond the last node: rounded down to it
    beyond = rest & (place >= last)
    kinks[last] += float(mass[beyond].sum())
    rest &= ~beyond
    cell = np.floor(place[rest])
    p = _gathered(cell, mass[rest], grid.count - 1)
    gap = np.clip(loss[rest] - grid.start - cell * grid.spacing, 0.0, grid.spacing)
    q = _gathered(cell, mass[rest] * np.exp(-gap), grid.count - 1)
    masses = _lowered(kinks, p, q, grid.spacing)
    return grid.law(masses, infinite, -snap * grid.spacing)


def _lowered(kinks: Floats, p: Floats, q: Floats, spacing: float) -> Floats:
    """Masses of the lower law: kinks at nodes; cells of P-mass p and (gamma of the lower node) Q-mass q.

    The chord over a cell stays below its V if it does at the vertex: with the vertex a share 1 - w of the
    way up, w d_k + (1 - w) d_{k+1} >= sag = q E w (1 - w), E = e^spacing - 1.
    """
    growth = math.expm1(spacing)
    # what is about to underflow is left out: a lower law may
    rare = (p < _LEAST) | (q < _LEAST)
    p, q = np.where(rare, 0.0, p), np.where(rare, 0.0, q)
    with np.errstate(invalid="ignore", divide="ignore"):
        up = np.where(q > 0.0, np.clip((p - q) / (q * growth), 0.0, 1.0), 0.0)
    sag = q * growth * up * (1.0 - up)
    down = 1.0 - up
    share = sag / (down * down + up * up)
    lowered = np.zeros(kinks.size)
    lowered[:-1] = share * down
    lowered[1:] = np.maximum(lowered[1:], share * up)
    masses = kinks.copy()
    raised = np.minimum(q * up * (1.0 + growth), p)
    masses[:-1] += p - raised
    masses[1:] += raised
    _follow_bottom(lowered, masses, sag, up, growth)
    _follow_top(lowered, masses, sag, down, growth)
    slope = np.diff(lowered) / growth
    masses[:-1] -= slope
    masses[1:] += (1.0 + growth) * slope
    return _convex(masses, spacing)


def _follow_bottom(lowered: Floats, masses: Floats, sag: Floats, up: Floats, growth: float) -> None:
    """Below the bulk h is hardly above 1 - gamma, which no profile undercuts: lower no further than that.

    The room a_k = h - (1 - gamma) at node k obeys a_{k+1} = e^spacing a_k + E (P-mass up to k).
    """
    start = int(np.argmax(masses > 0.0))
    room = below = 0.0
    for k in range(start, lowered.size):
        if room >= lowered[k] and k > start:
            # the cell before has one end on 1 - gamma: this end makes up for it
            gap = sag[k - 1] - (1.0 - up[k - 1]) * lowered[k - 1]
            if gap > 0.0 and up[k - 1] > 0.0:
                lowered[k] = min(max(float(lowered[k]), gap / float(up[k - 1])), room)
            return
        lowered[k] = room
        below += float(masses[k])
        room = (1.0 + growth) * room + growth * below


def _follow_top(lowered: Floats, masses: Floats, sag: Floats, down: Floats, growth: float) -> None:
    """Above the bulk h is hardly above 0: lower no further. h_{k-1} = h_k + (1 - e^-spacing) s_k."""
    stop = lowered.size - 1 - int(np.argmax(masses[::-1] > 0.0))
    room = above = 0.0
    for k in range(stop, -1, -1):
        if room >= lowered[k] and k < stop:
            gap = sag[k] - (1.0 - down[k]) * lowered[k + 1]
            if gap > 0.0 and down[k] > 0.0:
                lowered[k] = min(max(float(lowered[k]), gap / float(down[k])), room)
            return
        lowered[k] = room
        above = above / (1.0 + growth) + float(masses[k])
        room += growth / (1.0 + growth) * above


def _convex(masses: Floats, spacing: float) -> Floats:
    """Negative masses taken away so that the profile only falls: the lower convex envelope.

    A negative mass is split between the nearest nodes still standing, P- and Q-mass kept (the chord
    between them); at the bottom it is moved up whole, at the top the last two nodes are merged and
    rounded down.
    """
    negative = np.flatnonzero(masses < 0.0)
    if not negative.size:
        return masses
    values = masses.tolist()
    count = len(values)
    before = list(range(-1, count - 1))
    after = list(range(1, count + 1))
    pending = negative.tolist()
    while pending:
        k = pending.pop()
        mass = values[k]
        if mass >= 0.0:
            continue
        values[k] = 0.0
        left, right = before[k], after[k]
        if left >= 0:
            after[left] = right
        if right < count:
            before[right] = left
        if right < count and left >= 0:
            raised = math.expm1((left - k) * spacing) / math.expm1((left - right) * spacing)
            values[right] += mass * raised
            values[left] += mass * (1.0 - raised)
            pending += [j for j in (left, right) if values[j] < 0.0]
        elif right < count:
            values[right] += mass
            pending += [right] if values[right] < 0.0 else []
        elif left >= 0:
            _merge_top(values, before, after, k, mass, spacing, pending)
    return np.array(values)


def _merge_top(
    values: list[float],
    before: list[int],
    after: list[int],
    top: int,
    mass: float,
    spacing: float,
    pending: list[int],
) -> None:
    """A negative mass at the topmost node: merged with the nodes below, and rounded down.

    The merged line P - gamma Q is followed to its zero, beyond which 0 is below any profile; the zero
    must lie above the next node, or that node is merged too.
    """
    p = q = mass  # q times gamma of node `k`
    k, left = top, before[top]
    while left >= 0:
        if p > 0.0 and q > 0.0 and k + math.log(p / q) / spacing >= left:
            break
        p += values[left]
        q = q * math.exp((left - k) * spacing) + values[left]
        values[left] = 0.0
        k, left = left, before[left]
    if left >= 0:
        after[left] = len(values)
        values[left] += p
        pending += [left] if values[left] < 0.0 else []

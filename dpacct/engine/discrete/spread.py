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

import numpy as np

from dpacct.engine.stable import Floats

from .grid import Grid
from .lattice_law import LatticeLaw
from .pieces import DiscreteSource, Pieces, bracketed

_LEAST = 1e-280
# rounding of a mass, relative to what it is made of
_NOISE = 1e-15


def lattice_laws(
    source: DiscreteSource, grid: Grid, *, decide: bool = False
) -> tuple[LatticeLaw, LatticeLaw]:
    """(upper, lower): lattice laws whose profiles enclose the source's.

    `decide`: pieces above the last node are not rounded but set apart (`LatticeLaw.decided`).
    """
    above = source.pieces(grid.nodes, upper=True)
    below = source.pieces(grid.nodes, upper=False) if bracketed(source) else above
    return spread(above, grid, decide=decide), shrunk(below, grid, decide=decide)


def _gathered(places: Floats, weights: Floats, count: int) -> Floats:
    """Weights summed by place."""
    found = np.bincount(places.astype(np.int64), weights=weights, minlength=count)
    return found.astype(np.float64)


def _snap(pieces: Pieces, grid: Grid) -> float:
    """How far from a node a loss may lie, in steps, and still be taken for it."""
    ends = max(abs(float(grid.nodes[0])), abs(float(grid.nodes[-1])))
    return min(0.01, (4.0 * pieces.end_slip + 2e-15 * ends) / grid.step)


def _apart(pieces: Pieces, grid: Grid, decide: bool) -> tuple[Pieces, float, float]:
    """What remains to be rounded, and P- and Q-mass of what decides alone, above the last node."""
    alive = pieces.log_p > -math.inf
    p = q = 0.0
    if decide:
        edge = float(grid.nodes[-1]) - _snap(pieces, grid) * grid.step
        above = alive & (pieces.low >= edge)
        p, q = float(np.exp(pieces.log_p[above]).sum()), float(np.exp(pieces.log_q[above]).sum())
        alive &= ~above
    if not alive.all():
        pieces = pieces.where(alive)
    return pieces, p, q


def spread(pieces: Pieces, grid: Grid, *, decide: bool = False) -> LatticeLaw:
    """The upper law: every piece split between the nodes around it, both masses kept."""
    pieces, decided_p, decided_q = _apart(pieces, grid, decide)
    log_p, slack = pieces.log_p, pieces.slack
    loss, unsure = pieces.losses()
    snap, last, places = _snap(pieces, grid), grid.count - 1, grid.places
    low, high = grid.position(pieces.low), grid.position(pieces.high)
    # the last node at or below, and the first at or above; -1 and count where there is none
    below = np.searchsorted(places, low + snap, side="right") - 1
    above = np.searchsorted(places, high - snap, side="left")
    above = np.maximum(above, below)
    inside, bounded = below >= 0, above <= last
    mass = np.exp(log_p + slack)
    floor, top = np.maximum(below, 0), np.minimum(above, last)
    # the loss of the piece as a whole above the lower node, rounded up
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        gap = np.maximum(loss + 1.5 * unsure - grid.nodes[floor], 0.0)
        width = np.where(bounded, grid.step * (places[top] - places[floor]), math.inf)
        raised = np.where(width > 0.0, np.expm1(-gap) / np.expm1(-width), 0.0)
    raised = np.where(inside, np.clip(raised, 0.0, 1.0), 1.0)
    up, down = mass * raised, mass * (1.0 - raised)
    masses = _gathered(floor, np.where(inside, down, 0.0), grid.count)
    masses += _gathered(top, np.where(bounded, up, 0.0), grid.count)
    # what underflowed to nothing is put at infinity, generously
    infinite = float(up[~bounded].sum()) + 1e-307 * float(log_p.size)
    shift = pieces.end_slip + snap * grid.step
    widen = math.exp(float(np.max(slack)))
    apart = np.where(inside & bounded & (top > floor), 4.0 * up * (1.0 - raised), 0.0)
    cell = np.minimum(floor, last - 1)
    # a piece over several cells is charged to the first
    apart *= np.square((places[top] - places[floor]) / (places[cell + 1] - places[cell]))
    between = _gathered(cell, apart, last)
    return grid.law(masses, infinite, shift, (decided_p * widen, decided_q / widen), between)


def shrunk(pieces: Pieces, grid: Grid, *, decide: bool = False) -> LatticeLaw:
    """The lower law: every cell shrunk to its barycentre, and the chords lowered below that."""
    pieces, decided_p, decided_q = _apart(pieces, grid, decide)
    slack, places = pieces.slack, grid.places
    log_p, open_failure = pieces.log_p - slack, np.isneginf(pieces.log_q)
    infinite = float(np.exp(log_p[open_failure]).sum())
    snap, last = _snap(pieces, grid), grid.count - 1
    loss, unsure = pieces.losses()
    loss = loss - unsure
    place = grid.position(np.where(pieces.low == pieces.high, pieces.low, loss))
    cell = np.searchsorted(places, place + snap, side="right") - 1
    nearest = np.maximum(cell, 0)
    exact = (pieces.low == pieces.high) & (np.abs(place - places[nearest]) <= snap)
    mass = np.exp(log_p)
    kinks = _gathered(nearest[exact], mass[exact], grid.count)
    rest = ~exact & ~open_failure & (cell >= 0)
    # beyond the last node: rounded down to it
    beyond = rest & (cell >= last)
    kinks[last] += float(mass[beyond].sum())
    rest &= ~beyond
    cell = cell[rest]
    p = _gathered(cell, mass[rest], grid.count - 1)
    gap = np.clip(loss[rest] - grid.nodes[cell], 0.0, grid.spacings[cell])
    q = _gathered(cell, mass[rest] * np.exp(-gap), grid.count - 1)
    excess = _gathered(cell, mass[rest] * -np.expm1(-gap), grid.count - 1)
    masses = _lowered(kinks, p, q, excess, grid)
    widen = math.exp(float(np.max(slack)))
    return grid.law(masses, infinite, -snap * grid.step, (decided_p / widen, decided_q * widen))


def _lowered(kinks: Floats, p: Floats, q: Floats, excess: Floats, grid: Grid) -> Floats:
    """Masses of the lower law: kinks at nodes; cells of P-mass p and (gamma of the lower node) Q-mass q.

    `excess` is p - q, which hardly differ where nodes are close.

    The chord over a cell stays below its V if it does at the vertex: with the vertex a share 1 - w of the
    way up, w d_k + (1 - w) d_{k+1} >= sag = q E w (1 - w), E = e^spacing - 1.
    """
    growth = np.expm1(grid.spacings)
    # what is about to underflow is left out: a lower law may
    rare = (p < _LEAST) | (q < _LEAST)
    p, q = np.where(rare, 0.0, p), np.where(rare, 0.0, q)
    with np.errstate(invalid="ignore", divide="ignore"):
        up = np.where(q > 0.0, np.clip(excess / (q * growth), 0.0, 1.0), 0.0)
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
    size = masses.copy()
    for nodes, moved in ((slice(None, -1), -slope), (slice(1, None), (1.0 + growth) * slope)):
        masses[nodes] += moved
        size[nodes] += np.abs(moved)
    # differences of nothing but rounding are nothing; all masses are a little less for it
    masses[np.abs(masses) <= _NOISE * size] = 0.0
    return _convex(masses * (1.0 - _NOISE), grid.nodes)


def _follow_bottom(
    lowered: Floats, masses: Floats, sag: Floats, up: Floats, growth: Floats
) -> None:
    """Below the bulk h is hardly above 1 - gamma, which no profile undercuts: lower no further than that.

    The room a_k = h - (1 - gamma) at node k obeys a_{k+1} = e^spacing a_k + E (P-mass up to k). Where a
    spike lies just above its node that would cost the next node a whole cell: then the line below the
    spike is a steeper one through 1 at gamma = 0 instead, as if the spike had been moved down.
    """
    start = int(np.argmax(masses > 0.0))
    room = below = kept = 0.0
    for k in range(start, lowered.size):
        if room >= lowered[k] and k > start:
            # the cell before has one end on 1 - gamma: this end makes up for it
            gap = sag[k - 1] - (1.0 - up[k - 1]) * lowered[k - 1]
            if gap > 0.0 and up[k - 1] > 0.0:
                needed = min(gap / float(up[k - 1]), room)
                if needed <= 4.0 * (float(lowered[k]) + kept):
                    lowered[k] = max(float(lowered[k]), needed)
                else:
                    falling = np.cumprod(1.0 / (1.0 + growth[:k][::-1]))[::-1]
                    line = kept * falling / falling[-1]
                    lowered[:k] = np.maximum(lowered[:k], line)
            return
        kept = float(lowered[k])
        lowered[k] = room
        if k < growth.size:
            below += float(masses[k])
            room = (1.0 + float(growth[k])) * room + float(growth[k]) * below


def _follow_top(lowered: Floats, masses: Floats, sag: Floats, down: Floats, growth: Floats) -> None:
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
        if k > 0:
            # s_k in units of the node: gamma_k times the slope above it
            step = float(growth[k - 1])
            above += float(masses[k])
            room += step / (1.0 + step) * above
            above /= 1.0 + step


def _convex(masses: Floats, nodes: Floats) -> Floats:
    """Negative masses taken away so that the profile only falls: the lower convex envelope.

    A negative mass is split between the nearest nodes still standing, P- and Q-mass kept (the chord
    between them); at the bottom it is moved up whole, at the top the last two nodes are merged and
    rounded down.
    """
    negative = np.flatnonzero(masses < 0.0)
    if not negative.size:
        return masses
    values, at = masses.tolist(), nodes.tolist()
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
            raised = math.expm1(at[left] - at[k]) / math.expm1(at[left] - at[right])
            values[right] += mass * raised
            values[left] += mass * (1.0 - raised)
            pending += [j for j in (left, right) if values[j] < 0.0]
        elif right < count:
            values[right] += mass
            pending += [right] if values[right] < 0.0 else []
        elif left >= 0:
            _merge_top(values, before, after, k, mass, at, pending)
    return np.array(values)


def _merge_top(
    values: list[float],
    before: list[int],
    after: list[int],
    top: int,
    mass: float,
    at: list[float],
    pending: list[int],
) -> None:
    """A negative mass at the topmost node: merged with the nodes below, and rounded down.

    The merged line P - gamma Q is followed to its zero, beyond which 0 is below any profile; the zero
    must lie above the next node, or that node is merged too.
    """
    p = q = mass  # q times gamma of node `k`
    k, left = top, before[top]
    while left >= 0:
        if p > 0.0 and q > 0.0 and at[k] + math.log(p / q) >= at[left]:
            break
        p += values[left]
        q = q * math.exp(at[left] - at[k]) + values[left]
        values[left] = 0.0
        k, left = left, before[left]
    if left >= 0:
        after[left] = len(values)
        values[left] += p
        pending += [left] if values[left] < 0.0 else []

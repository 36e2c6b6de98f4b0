"""Grids of atoms around a loss distribution: nodes, a pessimistic and an optimistic law on them, alignment.

With gamma_k = e^{loss of node k} and h(gamma) = E_P[(1 - gamma/e^L)_+], convex in gamma:

    pessimistic   the chords of h between nodes (Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022, connect
                  the dots): each piece is split between two nodes so that both its masses are kept.
    optimistic    a convex function with kinks at nodes only and nowhere above h: the chords, lowered at each
                  node so far that they lie below the polygon of h with half-cells merged to single outcomes.

Both are proofs by data processing, and of second order in the spacing d: the one adds d^2/6 to the variance
of the loss, the other takes off d^2/12. docs/theory/bracket.md derives every line.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .budget import evaluated, rounded
from .pieces import Pieces, Source, natural_step
from .stable import Floats

Places = npt.NDArray[np.int64]

# dyadic blocks begin at 2^40 steps at most
_HALVINGS = 40
# P- or Q-masses below this are left out of lower laws: their ratio would soon be one of denormal numbers
_LEAST = 1e-280
# spacing that no cell with mass may exceed, so that e^spacing is a float
_BROAD = 300.0
# rounding of a mass, relative to what it is made of
_NOISE = 1e-15
# negative masses of a lower law that are split one after the other
_ONE_BY_ONE = 64
# nodes at the top of a law that count as its end
_AT_THE_TOP = 256
_TOO_FAR = 690.0  # nats over which a profile is summed in floats


def dot(a: Floats, b: Floats) -> float:
    """The sum of products, pairwise and on one core: a library's own waits for others."""
    return float((a * b).sum())


class GridCumulants(NamedTuple):
    """log of a moment, mean and variance of the tilted losses."""

    log_moment: float
    mean: float
    variance: float


@dataclass(frozen=True, eq=False)
class GridLaw:
    """P-masses at the losses offset + step k for increasing whole k, and at +infinity.

    The profile of such a measure, sum of mass (1 - e^{eps - loss})_+, lies on one side of the truth's;
    its total may differ from 1. `decided` is set apart: P- and Q-mass of the losses above the last node,
    where these are known to settle the matter alone. `between`: for each cell, four times the variance that
    splitting its mass has added, over the square of its width.
    """

    offset: float
    step: float
    places: Places
    masses: Floats
    infinite: float
    decided: tuple[float, float] = (0.0, 0.0)
    between: Floats | None = None

    @cached_property
    def losses(self) -> Floats:
        """The losses of the nodes."""
        return np.asarray(self.offset + self.step * self.places)

    @cached_property
    def log_masses(self) -> Floats:
        """Logs of the P-masses."""
        with np.errstate(divide="ignore"):
            return np.log(self.masses)

    def tilted(self, c: float) -> tuple[Floats, float]:
        """Masses times e^{c loss}, normalised, and the log of what they were divided by."""
        evaluated(self.places.size)
        level = self.log_masses + c * self.losses
        peak = float(level.max())
        if peak == -math.inf:
            return np.zeros(self.masses.shape), -math.inf
        level -= peak
        np.exp(level, out=level)
        total = float(level.sum())
        level /= total
        return level, peak + math.log(total)

    def cumulants(self, c: float) -> GridCumulants:
        """The cumulants of the finite losses, tilted by c."""
        weights, log_moment = self.tilted(c)
        mean = dot(weights, self.losses)
        return GridCumulants(log_moment, mean, dot(weights, np.square(self.losses - mean)))

    def log_moments(self, cs: Floats) -> Floats:
        """log of the moment at each tilt."""
        return np.array([self.tilted(c)[1] for c in cs.tolist()])


@dataclass(frozen=True, eq=False)
class Grid:
    """Nodes offset + step k at increasing whole k; neighbours may be many steps apart where a law is thin."""

    offset: float
    step: float
    places: Places

    @classmethod
    def uniform(cls, offset: float, step: float, first: int, stride: int, count: int) -> Grid:
        """Nodes offset + step (first + stride i), i = 0 .. count - 1."""
        return cls(offset, step, first + stride * np.arange(count, dtype=np.int64))

    @property
    def count(self) -> int:
        """The number of nodes."""
        return int(self.places.size)

    @cached_property
    def nodes(self) -> Floats:
        """Losses of the nodes."""
        return np.asarray(self.offset + self.step * self.places)

    @cached_property
    def spacings(self) -> Floats:
        """Distances of neighbours."""
        return np.asarray(self.step * np.diff(self.places))

    @cached_property
    def halves(self) -> Floats:
        """Nodes, and the middles between them."""
        result = np.empty(2 * self.count - 1)
        result[::2] = self.nodes
        result[1::2] = self.nodes[:-1] + 0.5 * self.spacings
        return result

    def position(self, losses: Floats) -> Floats:
        """Return the positions of losses in steps; infinite losses stay so."""
        return np.asarray((losses - self.offset) / self.step)

    def law(
        self,
        masses: Floats,
        infinite: float,
        shift: float,
        decided: tuple[float, float] = (0.0, 0.0),
        between: Floats | None = None,
    ) -> GridLaw:
        """Masses on the nodes, all of them moved by `shift`."""
        offset = self.offset + shift
        return GridLaw(offset, self.step, self.places, masses, infinite, decided, between)


def graded(first: int, last: int, ends: Floats, strides: Floats, most: int) -> Places:
    """Nodes from first to last, dyadic, neighbours no further apart than the strides of their stretch.

    Stretch i ends at ends[i] (in steps; increasing, the last one beyond `last`). Blocks [j 2^k, (j+1) 2^k)
    are halved while a stretch that they meet asks for less than 2^k; none once there are `most` of them
    (all grids are right: fewer nodes make wider brackets).
    """
    level = 0
    # all blocks of more than the largest stride are halved anyway, if there may be so many
    enough = max(float(strides.max()), (last - first) / most)
    while (1 << level) < min(last - first, enough) and level < _HALVINGS:
        level += 1
    blocks = np.arange(first >> level, (last >> level) + 1, dtype=np.int64) << level
    kept: list[Places] = []
    count = 0
    while level > 0 and blocks.size and count + 2 * blocks.size <= most:
        size = 1 << level
        start = np.searchsorted(ends, blocks, side="right")
        stop = np.searchsorted(ends, blocks + size, side="left") + 1
        start = np.minimum(start, strides.size - 1)
        stop = np.minimum(np.maximum(stop, start + 1), strides.size)
        split = _any_below(strides, start, stop, size)
        kept.append(blocks[~split])
        count += kept[-1].size
        halves = blocks[split]
        half = size >> 1
        blocks = np.concatenate((halves, halves + half))
        blocks = blocks[(blocks + half > first) & (blocks <= last)]
        level -= 1
    kept.append(blocks)
    nodes = np.sort(np.clip(np.concatenate([*kept, [first, last]]), first, last))
    fresh: Places = nodes[np.append(True, np.diff(nodes) > 0)]
    return fresh


def _any_below(values: Floats, start: Places, stop: Places, size: float) -> npt.NDArray[np.bool_]:
    """Return whether one of values[start:stop] is below the size, for each pair; most ends tell."""
    below = np.minimum(values[start], values[stop - 1]) < size
    many = np.flatnonzero(~below & (stop - start > 2))
    if many.size:
        padded = np.append(values, np.inf)
        pairs = np.stack((start[many], stop[many]), axis=1).ravel()
        below[many] = np.minimum.reduceat(padded, pairs)[::2] < size
    return below


# -- laws on nodes --------------------------------------------------------------------------------


def grid_laws(source: Source, grid: Grid, *, decide: bool = False) -> tuple[GridLaw, GridLaw]:
    """(pessimistic, optimistic): laws on the nodes whose profiles enclose the source's.

    `decide`: pieces above the last node are not rounded but set apart (`GridLaw.decided`).
    """
    rounded(grid.count)
    edges = grid.nodes if source.only_atoms else grid.halves
    above = source.pieces(edges, upper=True)
    below = source.pieces(edges, upper=False) if source.bracketed else above
    return pessimistic(above, grid, decide=decide), optimistic(below, grid, decide=decide)


def _gathered(places: npt.NDArray[np.integer], weights: Floats, count: int) -> Floats:
    """Weights summed by place."""
    return np.bincount(places, weights=weights, minlength=count).astype(np.float64)


def _snap(pieces: Pieces, grid: Grid) -> float:
    """The largest distance from a node, in steps, at which a loss is put on it."""
    ends = max(abs(float(grid.nodes[0])), abs(float(grid.nodes[-1])))
    return min(0.01, (4.0 * pieces.end_slip + 2e-15 * ends) / grid.step)


def _apart(pieces: Pieces, grid: Grid, decide: bool, sign: float) -> tuple[Pieces, float, float]:
    """The pieces to be rounded, and the P- and Q-mass of decisive losses above the last node.

    The Q-mass follows from the loss, and is off by what that is: less (`sign` -1) or more (1) by as much.
    """
    alive = pieces.log_p > -math.inf
    p = q = 0.0
    if decide:
        edge = float(grid.nodes[-1]) - _snap(pieces, grid) * grid.step
        above = alive & (pieces.low >= edge)
        log_q = pieces.log_q + sign * pieces.unsure
        p, q = (float(np.exp(logs[above]).sum()) for logs in (pieces.log_p, log_q))
        alive &= ~above
    if not alive.all():
        pieces = pieces.where(alive)
    return pieces, p, q


def pessimistic(pieces: Pieces, grid: Grid, *, decide: bool = False) -> GridLaw:
    """The upper law: every piece split between the nodes around it, both masses kept."""
    pieces, decided_p, decided_q = _apart(pieces, grid, decide, -1.0)
    slack = pieces.slack
    snap, last, places = _snap(pieces, grid), grid.count - 1, grid.places
    low, high = grid.position(pieces.low), grid.position(pieces.high)
    # the last node at or below, and the first at or above; -1 and count where there is none
    below = np.searchsorted(places, low + snap, side="right") - 1
    above = np.searchsorted(places, high - snap, side="left")
    above = np.maximum(above, below)
    inside, bounded = below >= 0, above <= last
    mass = np.exp(pieces.log_p + slack)
    floor, top = np.maximum(below, 0), np.minimum(above, last)
    # The share u of the upper node keeps P and Q (lattice.md, Upper): with p of P at the loss l between the
    # nodes a < b, p e^{-l} = p (1 - u) e^{-a} + p u e^{-b}, so u = (1 - e^{a-l}) / (1 - e^{a-b}). It rises
    # with l, so the loss of the piece as a whole is rounded up.
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        gap = np.maximum(pieces.loss + 1.5 * pieces.unsure - grid.nodes[floor], 0.0)
        width = np.where(bounded, grid.step * (places[top] - places[floor]), math.inf)
        raised = np.where(width > 0.0, np.expm1(-gap) / np.expm1(-width), 0.0)
    raised = np.where(inside, np.clip(raised, 0.0, 1.0), 1.0)
    up, down = mass * raised, mass * (1.0 - raised)
    masses = _gathered(floor, np.where(inside, down, 0.0), grid.count)
    masses += _gathered(top, np.where(bounded, up, 0.0), grid.count)
    # what underflowed to nothing is put at infinity, generously
    infinite = pieces.infinite * (1.0 + _NOISE) + float(up[~bounded].sum()) + 1e-307 * up.size
    shift = pieces.end_slip + snap * grid.step
    widen = math.exp(float(np.max(slack, initial=0.0)))
    # Split with shares u and 1 - u a mass has p u (1 - u) d^2 of variance more; of an even cell the mean of
    # u (1 - u) is 1/6, and at most 1/4: four times as much is what `Layouts.grade` counts on.
    apart = np.where(inside & bounded & (top > floor), 4.0 * up * (1.0 - raised), 0.0)
    cell = np.minimum(floor, last - 1)
    # a piece over several cells is charged to the first
    apart *= np.square((places[top] - places[floor]) / (places[cell + 1] - places[cell]))
    between = _gathered(cell, apart, last)
    return grid.law(masses, infinite, shift, (decided_p * widen, decided_q / widen), between)


def optimistic(pieces: Pieces, grid: Grid, *, decide: bool = False) -> GridLaw:
    """The lower law: half-cells merged to single outcomes, and the chords lowered below their polygon."""
    pieces, decided_p, decided_q = _apart(pieces, grid, decide, 1.0)
    places, last = grid.places, grid.count - 1
    snap = _snap(pieces, grid)
    loss = pieces.loss - pieces.unsure
    atom = pieces.low == pieces.high
    place = grid.position(np.where(atom, pieces.low, loss))
    cell = np.searchsorted(places, place + snap, side="right") - 1
    nearest = np.maximum(cell, 0)
    exact = atom & (np.abs(place - places[nearest]) <= snap)
    mass = np.exp(pieces.log_p - pieces.slack)
    kinks = _gathered(nearest[exact], mass[exact], grid.count)
    rest = ~exact & (cell >= 0)
    # beyond the last node: rounded down to it
    beyond = rest & (cell >= last)
    kinks[last] += float(mass[beyond].sum())
    rest &= ~beyond
    cell = cell[rest]
    gap = np.clip(loss[rest] - grid.nodes[cell], 0.0, grid.spacings[cell])
    half = 2 * cell + (gap > 0.5 * grid.spacings[cell])
    # a cell too wide for e^spacing: rounded down to its lower node
    broad = grid.spacings > _BROAD
    if broad.any():
        kinks[:-1] += np.where(broad, _gathered(cell, mass[rest], last), 0.0)
        rest[rest] = ~broad[cell]
        cell, half, gap = (values[~broad[cell]] for values in (cell, half, gap))
    mass = mass[rest]
    # P, Q in units of e^{-lower node}, and P - Q as a sum of positive terms: where nodes are close the
    # difference of the first two has no digits
    p, q, excess = (
        _gathered(half, weights, 2 * last).reshape(last, 2).T
        for weights in (mass, mass * np.exp(-gap), mass * -np.expm1(-gap))
    )
    masses = _lowered(kinks, p, q, excess, grid)
    widen = math.exp(float(np.max(pieces.slack, initial=0.0)))
    infinite = pieces.infinite * (1.0 - _NOISE)
    shift = -pieces.end_slip - snap * grid.step
    return grid.law(masses, infinite, shift, (decided_p / widen, decided_q * widen))


def _lowered(kinks: Floats, p: Floats, q: Floats, excess: Floats, grid: Grid) -> Floats:
    """Masses of the lower law: kinks at nodes; lower and upper halves of cells with P-mass p, Q-mass q.

    q is in units of e^{-lower node}, and `excess` is p - q, which hardly differ where nodes are close. A
    merged half is an outcome a share u = (p/q - 1)/E of the way up its cell, E = e^spacing - 1: there the
    polygon of h has a kink, E times the sum over both halves of q min(u_a (1 - u_b), u_b (1 - u_a)) below the
    chord. A chord lowered by d_k and d_{k+1} stays below the polygon if it does at both kinks:
    (1 - u) d_k + u d_{k+1} >= sag.
    """
    growth = np.expm1(np.minimum(grid.spacings, _BROAD))
    # what is about to underflow is left out: a lower law may
    rare = (p < _LEAST) | (q < _LEAST)
    p, q = np.where(rare, 0.0, p), np.where(rare, 0.0, q)
    with np.errstate(invalid="ignore", divide="ignore"):
        up = np.where(q > 0.0, np.clip(excess / (q * growth), 0.0, 1.0), 0.0)
    # a half without mass has its kink where the other has
    up = np.where(q > 0.0, up, up[::-1])
    down = 1.0 - up
    other_up, other_down, other_q = up[::-1], down[::-1], q[::-1]
    sag = growth * (q * up * down + other_q * np.minimum(up * other_down, down * other_up))
    lowered = _lowering(sag, up, down)
    # the chords of the polygon of half-cells, as an upper law would split them: q u E/(1 - e^-d) = q u e^d
    # of P
    masses = kinks.copy()
    total, kept = p.sum(axis=0), q * up * (1.0 + growth)
    raised = np.minimum(kept.sum(axis=0), total)
    masses[:-1] += total - raised
    masses[1:] += raised
    _follow_bottom(lowered, masses, sag, up, growth)
    _follow_top(lowered, masses, sag, down, growth)
    # h is lowered by d_k at node k: the kinks of h are masses e^-node, so P at a node changes by how much
    # the slope of the lowering does there, times the node: gamma_k = 1 and gamma_{k+1} = 1 + E in units of
    # the cell
    slope = np.diff(lowered) / growth
    size = masses.copy()
    for nodes, moved in ((slice(None, -1), -slope), (slice(1, None), (1.0 + growth) * slope)):
        masses[nodes] += moved
        size[nodes] += np.abs(moved)
    # differences of nothing but rounding are nothing; all masses are a little less for it
    masses[np.abs(masses) <= _NOISE * size] = 0.0
    return _convex(masses * (1.0 - _NOISE), grid.nodes)


def _lowering(sag: Floats, up: Floats, down: Floats) -> Floats:
    """Return by how much each node is lowered: the cheapest of three ways in each cell, then the larger.

    Alike at both ends; or of least norm for the lower kink, or for the upper, and as little at the far end as
    the other kink then needs (next to nothing, where a spike sits near a node).
    """
    # the point of least norm on (1 - u) d_k + u d_{k+1} = sag
    share = sag / (down * down + up * up)
    own_low, own_high = share * down, share * up  # for each kink by itself
    level = np.maximum(sag[0], sag[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        high = np.fmax((sag[1] - down[1] * own_low[0]) / up[1], own_high[0])
        low = np.fmax((sag[0] - up[0] * own_high[1]) / down[0], own_low[1])
    ends, cost = (level, level), 2.0 * level
    for way in ((own_low[0], high), (low, own_high[1])):
        spent = way[0] + way[1]
        cheaper = spent < cost
        cost = np.where(cheaper, spent, cost)
        ends = np.where(cheaper, way[0], ends[0]), np.where(cheaper, way[1], ends[1])
    lowered = np.zeros(level.size + 1)
    lowered[:-1] = ends[0]
    np.maximum(lowered[1:], ends[1], out=lowered[1:])
    return lowered


def _needed(sag: Floats, share: Floats, other: float) -> float:
    """Return how much this end of a cell must be lowered if the other end is lowered by `other`."""
    gap = sag - (1.0 - share) * other
    return float(
        np.max(np.where((gap > 0.0) & (share > 0.0), gap / np.maximum(share, 1e-300), 0.0))
    )


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
            needed = min(_needed(sag[:, k - 1], up[:, k - 1], float(lowered[k - 1])), room)
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
            needed = _needed(sag[:, k], down[:, k], float(lowered[k + 1]))
            lowered[k] = min(max(float(lowered[k]), needed), room)
            return
        lowered[k] = room
        if k > 0:
            # s_k in units of the node: gamma_k times the slope above it
            step = float(growth[k - 1])
            above += float(masses[k])
            room += step / (1.0 + step) * above
            above /= 1.0 + step


def _convex(masses: Floats, nodes: Floats) -> Floats:
    """The lower convex envelope's masses: negative ones taken away so that the profile only falls."""
    if not (masses < 0.0).any():
        return masses
    masses = _without_sunk_top(masses, nodes)
    negative = np.flatnonzero(masses < 0.0)
    if negative.size <= _ONE_BY_ONE:
        return _one_by_one(masses, nodes, negative)
    # only at the top, where the last node may be rounded down, does the order matter: that end is first
    masses = _one_by_one(masses, nodes, negative[negative >= masses.size - _AT_THE_TOP])
    standing, kept = _without_most(masses, nodes)
    result = np.zeros(masses.shape)
    result[standing] = _one_by_one(kept, nodes[standing], np.flatnonzero(kept < 0.0))
    return result


def _without_sunk_top(masses: Floats, nodes: Floats) -> Floats:
    """The masses without the nodes above the first at which the profile is below 0; 0 is a bound there.

    h_k = sum over j > k of m_j (1 - e^(x_k - x_j)), by its rises h_k - h_{k+1} = (e^(x_{k+1} - x_k) - 1) q_k,
    q_k what is above k in units of e^-x_k. The profile meets 0 in the cell below that first node: all P-mass
    from there on is rounded down to the node before.
    """
    if nodes[-1] - nodes[0] > _TOO_FAR:
        return masses
    fall = np.exp(nodes[0] - nodes)
    q = np.cumsum((masses * fall)[:0:-1])[::-1]
    h = np.cumsum((np.expm1(np.diff(nodes)) * (q / fall[:-1]))[::-1])[::-1]
    sunk = np.flatnonzero(h < 0.0)
    if not sunk.size or not sunk[0]:
        return masses
    first = int(sunk[0])
    result = np.zeros(masses.shape)
    result[:first] = masses[:first]
    result[first - 1] += masses[first:].sum()
    return result


def _one_by_one(masses: Floats, nodes: Floats, negative: npt.NDArray[np.intp]) -> Floats:
    """Take these negative masses away, from the top down, and those that become negative by it.

    A negative mass is split between the nearest nodes still standing, P- and Q-mass kept (the chord
    between them); at the bottom it is moved up whole, at the top the last two nodes are merged and
    rounded down.
    """
    if not negative.size:
        return masses
    values, count = masses.copy(), masses.size
    # of a few nodes among many: their neighbours, where these are not the next ones any more
    before: dict[int, int] = {}
    after: dict[int, int] = {}
    pending = negative.tolist()
    while pending:
        k = pending.pop()
        mass = values[k]
        if mass >= 0.0:
            continue
        values[k] = 0.0
        left, right = before.get(k, k - 1), after.get(k, k + 1)
        if left >= 0:
            after[left] = right
        if right < count:
            before[right] = left
        if right < count and left >= 0:
            # the chord between the two, as in `pessimistic`: P and Q are kept, and convexity there restored
            raised = math.expm1(nodes[left] - nodes[k]) / math.expm1(nodes[left] - nodes[right])
            values[right] += mass * raised
            values[left] += mass * (1.0 - raised)
            pending += [j for j in (left, right) if values[j] < 0.0]
        elif right < count:
            values[right] += mass
            pending += [right] if values[right] < 0.0 else []
        elif left >= 0:
            _merge_top(values, before, after, k, nodes, pending, mass)
    return values


def _without_most(masses: Floats, nodes: Floats) -> tuple[Places, Floats]:
    """The nodes that stand once most negative masses are split, all at once, and the masses there.

    Splitting one mass moves the profile between its two neighbours alone, so masses of which no two are
    neighbours may go together, and the envelope is the same in whatever order they go.
    """
    standing: Places = np.arange(masses.size)
    while True:
        negative = masses < 0.0
        negative[[0, -1]] = False
        k = np.arange(masses.size)
        # of each run of negative masses the first, the third, and so on
        run = k - np.maximum.accumulate(np.where(negative, -1, k))
        chosen = negative & (run % 2 == 1)
        k = np.flatnonzero(chosen)
        if k.size <= max(_ONE_BY_ONE, masses.size >> 7):
            return standing, masses
        at = nodes[standing]
        raised = np.expm1(at[k - 1] - at[k]) / np.expm1(at[k - 1] - at[k + 1])
        masses = masses.copy()
        masses[k + 1] += masses[k] * raised
        masses[k - 1] += masses[k] * (1.0 - raised)
        standing, masses = standing[~chosen], masses[~chosen]


def _merge_top(
    values: Floats,
    before: dict[int, int],
    after: dict[int, int],
    top: int,
    nodes: Floats,
    pending: list[int],
    mass: float,
) -> None:
    """A negative mass at the topmost node: merged with the nodes below, and rounded down.

    The merged line P - gamma Q is followed to its zero, beyond which 0 is below any profile; the zero
    must lie above the next node, or that node is merged too.
    """
    p = q = mass  # q times gamma of node `k`
    k, left = top, before.get(top, top - 1)
    while left >= 0:
        if p > 0.0 and q > 0.0 and nodes[k] + math.log(p / q) >= nodes[left]:
            break
        p += values[left]
        q = q * math.exp(nodes[left] - nodes[k]) + values[left]
        values[left] = 0.0
        k, left = left, before.get(left, left - 1)
    if left >= 0:
        after[left] = values.size
        values[left] += p
        pending += [left] if values[left] < 0.0 else []


# -- alignment: steps and offsets for which atoms fall on nodes -----------------------------------

Group = tuple[Floats, Floats]
"""Losses of atoms, and what each weighs."""
# steps tried for each group, groups that give such steps, and atoms that are looked at
_CANDIDATES, _BASES, _HEAVIEST = 4000, 4, 64


def aligned_step(groups: Sequence[Group], asked: float) -> float:
    """A step from asked/2 to `asked` by which atoms lie nearest to nodes.

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


# nodes of the upper law that moments of pieces are taken from, and log P-mass at its ends
_ROUGH_NODES, _ROUGH_ENDS = 1 << 14, -745.0


@lru_cache(maxsize=64)
def rough(source: Source) -> GridLaw:
    """An upper law of a source, for its moments: the profile lies above, and so they do."""
    low, high = source.span(_ROUGH_ENDS)
    if not high > low:
        high = low + 1e-6 * (1.0 + abs(low))
    step = (high - low) / (_ROUGH_NODES - 3)
    grid = Grid.uniform(low - step, step, 0, 1, _ROUGH_NODES)
    return pessimistic(source.pieces(grid.nodes, upper=True), grid)

"""A composition as a loss distribution again: what a sample around it needs, and no single tilt gives.

Every stretch of losses is read from the composition tilted to centre there, so that each mass keeps its
digits, however rare. The result is a pair for each side: both distributions sum to one, and the profile lies
above, or below, the composition's. Operators keep that order, as each profile that they make is an increasing
function of the base's. docs/theory/bracket.md, Plans on one sample.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np

from .budget import evaluated, laid_out, most_cells
from .compose import Decided, Laws, Sum, compose, decided, mass_at_infinity, tilted_sum, window
from .grid import aligned_step, grid_laws, pessimistic
from .layout import Layout, least_rest
from .loss import gaussian
from .outcomes import Listed, may_be_listed
from .pieces import (
    Cut,
    Pieces,
    Source,
    Sources,
    ever,
    gathered,
    natural_step,
)
from .stable import Floats, quiet

# P-mass at the ends of one step, in logs, and tilted mass outside a stretch's window
_RARE = -720.0
_SEEN = -80.0
_TAIL = -38.0
# deviations from one stretch's centre to the next, and stretches at most in each direction
_APART = 5.0
_MOST = 40
_HALVINGS = 8
# log P-mass of the last stretch upwards
_FAR = -350.0
# and at most towards lower losses, where P has hardly any mass
_FEW = 12
# cells of the laws that densities are read from
_COARSE = 4000
# what sums of all masses may round to
_SUM = 4e-15


# functions that are computed where a point is gathered with others
_OF_A_POINT = 10


@dataclass(frozen=True, eq=False)
class Whole:
    """Points of a pair that bounds the composition from one side: log P-masses, and P-mass at infinity.

    `alone`: the masses of sums with a decisive step (decided.py), none of which is below `limit`.
    """

    losses: Floats
    log_p: Floats
    infinite: float
    alone: Decided
    limit: float

    def pieces(self, edges: Floats | None = None) -> Pieces:
        """The pair, all points between two neighbouring edges together: to nodes there they are one piece.

        What is missing from Q's mass is where P has none.
        """
        evaluated(_OF_A_POINT * self.losses.size)
        points = Pieces.points(self.losses, self.log_p)
        rest = 1.0 - self.alone.q - float(np.exp(points.log_q).sum())
        if edges is not None and edges.size < self.losses.size:
            points = gathered(points, edges)
        points = replace(points, infinite=self.infinite, lost=max(rest, 0.0))
        if not (self.alone.p > 0.0 and self.alone.q > 0.0):
            return points
        log_p, log_q = math.log(self.alone.p), math.log(self.alone.q)
        beyond = Pieces(
            np.array([log_p]),
            np.array([log_p - log_q]),
            np.array([self.limit]),
            np.array([math.inf]),
        )
        return Pieces.join(points, beyond)


def whole_laws(sources: Sources, spacing: float, high: float) -> tuple[Whole, Whole]:
    """(upper, lower) of a composition, on a lattice of about this spacing, for losses up to `high`."""
    cells = most_cells(len(sources))
    layouts = [Layout(source, count, *_ends(source, high), cells) for source, count in sources]
    step = aligned_step([layout.weighed for layout in layouts], spacing)
    rest = least_rest(sources)
    # where no loss is below some number, what lies far enough up puts the sum beyond all that is asked for
    decide = high - rest < max(layout.high for layout in layouts)
    for layout in layouts:
        if decide:
            layout.low = layout.source.least
            layout.high = max(high - rest, layout.low + step)
    _grade(layouts, high, step)
    uppers, lowers = [], []
    for layout in layouts:
        upper, lower = grid_laws(layout.source, layout.grid(step), decide=decide)
        uppers.append((upper, layout.count))
        lowers.append((lower, layout.count))
    limit = min(float(law.losses[-1]) for law, _ in (*uppers, *lowers)) + rest - 1e-12
    results = []
    for laws, upper_side in ((uppers, True), (lowers, False)):
        losses, masses, infinite = _stitched(laws, high, upper_side)
        alone = decided(laws)
        side = _upper if upper_side else _lower
        results.append(side(losses, masses, infinite, alone, limit))
    return results[0], results[1]


def _grade(layouts: Sequence[Layout], high: float, step: float) -> None:
    """Nodes at every step where a law is dense at some tilt, and wider apart where it is thin at all.

    At each tilt, cells that are wider than a step add no more to the gap than those of one step do.
    """
    coarse = max(step, max(layout.high - layout.low for layout in layouts) / _COARSE)
    laws = []
    for layout in layouts:
        grid = layout.even(coarse)
        laws.append((pessimistic(layout.source.pieces(grid.nodes, upper=True), grid), layout.count))
    tilts = [total.c for total in _centres(laws, high)]
    for layout, (law, _) in zip(layouts, laws, strict=True):
        wanted = np.full(law.places.size - 1, math.inf)
        width = np.diff(law.losses)
        for c in tilts:
            weights, _ = law.tilted(c)
            third = np.cbrt(np.maximum(weights[1:], weights[:-1]) / width + 1e-280)
            wanted = np.minimum(wanted, step / (third * math.sqrt(float((third * width).sum()))))
        widest = max(step, min(0.25, (layout.high - layout.low) / 64.0))
        layout.wanted = np.clip(wanted, step, widest)
        layout.ends = law.losses[1:].copy()
        layout.ends[-1] = math.inf


def _ends(source: Source, high: float) -> tuple[float, float]:
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
        laid_out(composed.spectrum.length)
        at, tilted = composed.spectrum.between(start, stop)
        each = composed.rounding[0]
        tilted = np.maximum(tilted, 0.0) + each if upper else tilted - each - composed.wrapped
        with np.errstate(divide="ignore"):
            level = np.log(np.maximum(tilted, 0.0))
        losses.append(at)
        masses.append(np.exp(np.minimum(level + total.log_moment - total.c * at, 0.0)))
        # Tilted mass outside the window, as P-mass: P = M(c) e^{-c l} times what is tilted, and e^{-c l} is
        # largest at the nearer end of the two, if the tilt leans away from it; else nothing better than 1 is
        # known.
        scale = total.log_moment - total.c * composed.spectrum.high
        if stop == math.inf:
            above = composed.missing * math.exp(min(scale, 700.0)) if total.c >= 0.0 else 1.0
        if start == -math.inf:
            scale = total.log_moment - total.c * composed.spectrum.low
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
    results, total = [middle], middle
    while total.mean < high and len(results) < _MOST and _log_mass(total) > _FAR:
        further = _next(laws, total, 1.0)
        if further is None:
            break
        low, far = total.c, further.c
        for _ in range(_HALVINGS):
            # no further than is asked for: beyond, windows grow with what is never read
            if further.mean <= 1.5 * high:
                break
            nearer = tilted_sum(laws, 0.5 * (low + far))
            low, far = (nearer.c, far) if nearer.mean < high else (low, nearer.c)
            further = nearer if nearer.mean >= high else further
        total = further
        results.append(total)
    lowest = window(laws, tilted_sum(laws, -1.0), _TAIL).low
    total, count = middle, 0
    while (total.c > -1.0 or total.mean > lowest) and count < _FEW:
        lower = _next(laws, total, -1.0)
        if lower is None:
            break
        total, count = lower, count + 1
        results.insert(0, total)
    return results


def _log_mass(total: Sum) -> float:
    """About the log of the P-mass where this tilt is centred."""
    return total.log_moment - total.c * total.mean


def _next(laws: Laws, total: Sum, sign: float) -> Sum | None:
    """The next tilt up or down, whose centre lies a few deviations on; None at the end of the support."""
    wide = math.sqrt(total.variance)
    if wide < 2.0 * laws[0][0].step:
        return None
    # the mean moves by the variance times the change of the tilt, about
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


def _upper(losses: Floats, masses: Floats, infinite: float, alone: Decided, limit: float) -> Whole:
    """P's excess over 1 taken from the lowest losses (or a deficit added there): the chord to h(0) = 1."""
    # h(0) = 1 for any pair, and the profile of these masses is above 1 there: the chord from (0, 1) to
    # where it meets the profile lies above the truth, which is convex (lattice.md, Plans on one sample)
    infinite = min(infinite, 1.0)
    excess = float(masses.sum()) + infinite + alone.p - 1.0 - _SUM
    if excess <= 0.0:
        masses[0] -= excess
    else:
        total = np.cumsum(masses)
        last = min(int(np.searchsorted(total, excess)), masses.size - 1)
        masses[last] = max(0.0, float(total[last]) - excess)
        losses, masses = losses[last:], masses[last:]
    kept = masses > 0.0
    return Whole(losses[kept], np.log(masses[kept]), infinite, alone, limit)


def _lower(losses: Floats, masses: Floats, infinite: float, alone: Decided, limit: float) -> Whole:
    """The lowest losses merged into one that makes both sums 1: the larger of g and 1 - gamma."""
    with quiet():
        q = np.exp(np.log(masses) - losses)
    # One point at log(p_rest/q_rest) has the profile (p_rest - gamma q_rest)_+: with the points above it both
    # sums are 1, so below it the profile is 1 - gamma, which is below any.
    p_rest = 1.0 - infinite - alone.p - _SUM - np.cumsum(masses[::-1])[::-1]
    q_rest = 1.0 - alone.q + _SUM - np.cumsum(q[::-1])[::-1]
    # p_rest[k]: what is left for one point in place of all those below k
    with np.errstate(invalid="ignore", divide="ignore"):
        place = np.where(q_rest > 0.0, np.log(np.maximum(p_rest, 0.0) / q_rest), math.inf)
    # below all the points that stay: so that the profile under it is 1 - gamma
    fits = np.flatnonzero(place[1:] <= losses[1:])
    if not fits.size:
        mass = np.log(np.array([max(1.0 - infinite, 1e-300)]))
        return Whole(np.zeros(1), mass, infinite, Decided(0.0, 0.0), math.inf)
    first = int(fits[0]) + 1
    at = np.concatenate(([place[first]], losses[first:]))
    mass = np.concatenate(([max(p_rest[first], 0.0)], masses[first:]))
    kept = mass > 0.0
    return Whole(at[kept], np.log(mass[kept]), infinite, alone, limit)


# -- as a source ----------------------------------------------------------------------------------

# nodes of the coarse grid that ends are found with
_ENDS = 2000
# losses of a composition that nodes can be made to meet
_FEW = 64
# points of a composition's whole law, about, at most
_POINTS = 1 << 18
# of the distance between outer nodes over the root of the count: the inner step
_FINER = 0.8


def together(sources: Sources) -> Sources:
    """Merge sources where that is exact: Gaussians become one, as squares of mu add."""
    rest: list[tuple[Source, float]] = []
    squares: list[float] = []
    count = 0.0
    for source, n in sources:
        law = source.distribution
        mu = None if law is None else law.gaussian
        if mu is None:
            rest.append((source, n))
        else:
            squares.append(n * mu * mu)
            count += n
    if count <= 1.0:
        return sources
    return [(Cut(gaussian(math.sqrt(math.fsum(squares)))), 1.0), *rest]


def merged(sources: Sources) -> Sources:
    """Merge sources as grids take them: one Gaussian, few outcomes listed, stacks row by row."""
    fewer = together([(part, n * each) for source, n in sources for part, each in source.apart])
    if sum(n for _, n in fewer) > 1.0 and may_be_listed(fewer):
        return [(Listed(tuple((source, round(n)) for source, n in fewer)), 1.0)]
    return fewer


def nested(parts: Sequence[tuple[Source, int]]) -> Source:
    """A composition as one source."""
    if len(parts) == 1 and parts[0][1] == 1:
        return parts[0][0]
    if may_be_listed([(source, float(n)) for source, n in parts]):
        return Listed(tuple(parts))
    return Nested(tuple(parts))


@dataclass(frozen=True)
class Nested(Source):
    """The composition of sources (each with its count), in one direction."""

    parts: tuple[tuple[Source, int], ...]

    @property
    def charged(self) -> bool:
        """Return whether every error of every part's masses is bounded."""
        return all(source.charged for source, _ in self.parts)

    @property
    def bracketed(self) -> bool:
        """A composition used as one step is only known between two pairs."""
        return True

    @property
    def infinite(self) -> float:
        """P-mass of an infinite loss."""
        return ever((source.infinite, n) for source, n in self.parts)

    @property
    def lost(self) -> float:
        """Q-mass that P does not have."""
        return ever((source.lost, n) for source, n in self.parts)

    @cached_property
    def natural(self) -> float | None:
        """The step of the lattice that all losses lie on; None if they do not."""
        if len(self.parts) > 1 or not self.parts[0][0].only_atoms:
            return None
        return natural_step(self.parts[0][0].atoms)

    @cached_property
    def atoms(self) -> Floats:
        """All losses, where these are few; none where they are many, and nodes cannot meet them all."""
        step = self.natural
        if step is None:
            return np.empty(0)
        (source, count), *_ = self.parts
        places = count * round(float(np.ptp(source.atoms)) / step)
        if places > _FEW:
            return np.empty(0)
        return np.asarray(count * float(source.atoms.min()) + step * np.arange(places + 1))

    @property
    def only_atoms(self) -> bool:
        """Return whether these are all there is."""
        return self.atoms.size > 0

    @property
    def steps(self) -> int:
        """Steps in all."""
        return sum(count for _, count in self.parts)

    @property
    def ceiling(self) -> float:
        """The sum of what no finite loss exceeds."""
        return sum(count * source.ceiling for source, count in self.parts)

    def log_moments(self, tilts: Floats) -> Floats:
        """Add up the log moments of independent losses."""
        return np.asarray(sum(count * source.log_moments(tilts) for source, count in self.parts))

    def span(self, log_mass: float) -> tuple[float, float]:
        """Losses outside which P has less than e^log_mass at each end."""
        return _span(self, log_mass)

    def pieces(self, edges: Floats, *, upper: bool) -> Pieces:
        """Points of a pair on the asked side, finer than most edges are apart, gathered between them."""
        if self.natural is not None:
            # exact as it is
            return self._side(self.natural, _span(self, -720.0)[1], upper, None)
        finite = edges[np.isfinite(edges)]
        # edges are nodes and the middles between them
        gap = 2.0 * float(np.median(np.diff(finite))) if finite.size > 1 else 0.01
        # steps * spacing^2 is what the composition adds to one cell's (edges)^2
        # variances add up: K d^2 of the inner lattice beside D^2 of the outer cell
        asked = _FINER * gap / math.sqrt(self.steps)
        low, high = _span(self, -60.0)
        top = float(finite[-1]) if finite.size else high
        top = min(max(top, high), _span(self, -720.0)[1])
        asked = max(asked, (max(top, high) - low) / _POINTS)
        # a few spacings serve all questions: those between are rounded down
        spacing = 2.0 ** (math.floor(3.0 * math.log2(asked)) / 3.0)
        furthest = 2.0 ** (math.ceil(3.0 * math.log2(max(top, 1e-300))) / 3.0)
        return self._side(spacing, furthest, upper, edges)

    def _side(self, spacing: float, high: float, upper: bool, edges: Floats | None) -> Pieces:
        return _whole(self, spacing, high)[0 if upper else 1].pieces(edges)


@lru_cache(maxsize=256)
def _span(source: Nested, log_mass: float) -> tuple[float, float]:
    """Chernoff's bounds of where P lies, from a coarse upper law."""
    ends = [part.span(max(2.0 * log_mass, -740.0)) for part, _ in source.parts]
    widest = max(high - low for low, high in ends) or 1.0
    step = widest / _ENDS
    laws = []
    for (part, count), (low, high) in zip(source.parts, ends, strict=True):
        grid = Layout(part, count, low, high, _POINTS).even(step)
        laws.append((pessimistic(part.pieces(grid.nodes, upper=True), grid), float(count)))
    seen = window(laws, tilted_sum(laws, 0.0), log_mass)
    return seen.low, seen.high


@lru_cache(maxsize=16)
def _whole(source: Nested, spacing: float, high: float) -> tuple[Whole, Whole]:
    return whole_laws([(part, float(n)) for part, n in source.parts], spacing, high)

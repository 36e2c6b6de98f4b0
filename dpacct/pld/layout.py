"""Layout of the laws of a composition: ranges of losses, and nodes as dense as the question needs."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from .budget import most_cells
from .compose import Laws, Spill, Sum, Threshold, tilted_sum
from .grid import Grid, GridLaw, Group, Places, aligned_step, graded, grid_laws
from .pieces import Source, Sources, atom_masses, natural_step
from .stable import Floats, TooFine

# cells of the first look, which is never an answer; fewer where a source is dear to cut finely
_FIRST_CELLS, _DEAR_CELLS = 2048, 512
TAILS = 0.02
"""The share of the accepted width that cutting the tails may cost."""
# share of the width for the densest stretch, which sets the length of the transform
_DENSE = 0.6
# cells at least in a law, and at most this wide (times 1/tilt, and as a loss)
_FEWEST = 64
_WIDEST = 0.5
# how much longer a step may become at once
_COARSER = 64.0
# tilted mass of a stretch that counts
_SOME = 1e-12
# places between losses that floats tell apart
_MOST_PLACES = 2.0**50
# log of a weight that is still a double
_LARGEST_LOG = 700.0
_LEAST_LOG_Q = -680.0


def least_rest(sources: Sources) -> float:
    """The least loss of all steps but one, whichever; -inf where none is known."""
    leasts = [source.least for source, _ in sources]
    if min(leasts) == -math.inf:
        return -math.inf
    return sum(n * least for (_, n), least in zip(sources, leasts, strict=True)) - max(leasts)


@dataclass
class Layout:
    """The layout of one source: its range of losses, a loss that a node must meet, and the density.

    Between ends[i-1] and ends[i] nodes are at most wanted[i] apart. `tilt`: where it is dense is judged at
    this tilt, given with the log of the moment there.
    """

    source: Source
    count: float
    low: float
    high: float
    cells: int
    anchor: float = 0.0
    tilt: tuple[float, float] = (0.0, 0.0)
    ends: Floats = field(default_factory=lambda: np.array([math.inf]))
    wanted: Floats = field(default_factory=lambda: np.array([math.inf]))

    @cached_property
    def _atoms(self) -> tuple[Floats, Floats]:
        """The losses of atoms, and the logs of their masses."""
        return self.source.atoms, atom_masses(self.source)

    @property
    def weighed(self) -> Group:
        """The atoms, and the weight of each in the composition."""
        atoms, logs = self._atoms
        c, log_moment = self.tilt
        return atoms, self.count * np.exp(np.minimum(logs + c * atoms - log_moment, 0.0))

    @property
    def _offset(self) -> float:
        atoms, weights = self.weighed
        return float(atoms[int(np.argmax(weights))]) if atoms.size else self.anchor

    @property
    def finest(self) -> float:
        """The least spacing of nodes whose places floats tell apart."""
        ends = self.low - self._offset, self.high - self._offset, self._offset
        return max(abs(end) for end in ends) / _MOST_PLACES

    def _range(self, spacing: float) -> tuple[int, int]:
        if not self.finest <= spacing < math.inf:  # also where the spacing is no number
            raise TooFine("losses that are too near each other for floats")
        # outwards: what lies a rounding beyond the first node would be lost to the lower law
        first = math.floor((self.low - self._offset) / spacing - 1e-9)
        last = math.ceil((self.high - self._offset) / spacing + 1e-9)
        return first, max(last, first + 1)

    def even(self, step: float) -> Grid:
        """Nodes at every step; fewer, and wider apart, where these would be too many."""
        stride = 1
        first, last = self._range(step)
        while last - first > self.cells:
            stride *= 2
            first, last = self._range(step * stride)
        return Grid.uniform(self._offset, step, first * stride, stride, last - first + 1)

    def grid(self, step: float) -> Grid:
        """Nodes on a lattice of this step, as dense as is wanted, and beside all atoms."""
        first, last = self._range(step)
        strides = np.maximum(self.wanted / step * (1.0 + 1e-9), 1.0)
        ends = (self.ends - self._offset) / step
        atoms = self.source.atoms
        near: Floats = np.empty(0)
        if atoms.size:
            exact = (atoms - self._offset) / step
            near = np.concatenate((np.floor(exact), np.ceil(exact), np.round(exact)))
            if self.source.only_atoms:
                near = np.concatenate((near - 1.0, near, near + 1.0))
            near = near[(near >= first) & (near <= last)]
        if self.source.only_atoms:
            ends_too = np.unique(np.concatenate((near, [first, last])))
            return Grid(self._offset, step, ends_too.astype(np.int64))
        places = graded(first, last, ends, strides, self.cells)
        if near.size:
            places = _with_places(places, near)
        return Grid(self._offset, step, places)


def _with_places(places: Places, more: Floats) -> Places:
    """Increasing places, and a few more between them."""
    extra = np.unique(more.astype(np.int64))
    at = np.searchsorted(places, extra)
    fresh = places[np.minimum(at, places.size - 1)] != extra
    return np.insert(places, at[fresh], extra[fresh])


class Layouts:
    """The upper and lower grid laws of a composition, on nodes that are refined as asked."""

    def __init__(self, sources: Sources, log_delta: float, width: float) -> None:
        self._steps = sum(count for _, count in sources)
        self._width = width
        self._log_delta = log_delta
        self._least_step = 0.0
        self._longest = math.inf
        self.layouts = []
        for source, count in sources:
            low, high = self._ends(source)
            layout = Layout(source, count, low, high, most_cells(len(sources)))
            cells = _DEAR_CELLS if source.bracketed else _FIRST_CELLS
            layout.wanted = np.array([max(high - low, 1e-300) / cells])
            self.layouts.append(layout)
        natural = [natural_step(source.atoms) for source, _ in sources]
        self.natural = (
            natural[0]
            if len(sources) == 1 and sources[0][0].only_atoms and natural[0] is not None
            else None
        )
        self._least = least_rest(sources)
        self.decides = self.natural is None and self._least > -math.inf
        self._cut = False

    def _ends(self, source: Source) -> tuple[float, float]:
        rare = math.log(TAILS * self._width / self._steps)
        low = source.span(rare - 12.0)[0]
        high = source.span(rare + self._log_delta - 4.0)[1]
        return low, high

    def fit(self, uppers: Laws, total: Sum, log_delta: float, extra: float) -> bool:
        """Leave out losses that cannot matter at this tilt; take in those that can. Whether all was well.

        A loss far above epsilon counts no more than its probability: it is as good as infinite. One far
        below, tilted, counts for nothing. (Both are charged as any cut tail is.) Where no loss is below
        some number, losses that decide the matter alone are set apart instead, exactly.
        """
        self._log_delta = min(self._log_delta, total.peak - 5.0)
        # below the bulk a loss weighs e^{c loss}, negligible against the width once this many nats below
        nats = 12.0 - math.log(TAILS * self._width / self._steps)
        spread = math.sqrt(tilted_sum(uppers, 0.0).variance)
        epsilon, edge = total.saddle_epsilon, math.inf
        # what is set apart has a Q-mass of about delta e^-epsilon, which must not be below the floats
        if self.decides and log_delta - epsilon > _LEAST_LOG_Q:
            room = math.log(0.1 * TAILS * self._width) + max(log_delta, -690.0) - extra
            edge = Threshold(uppers, tilted_sum(uppers, -1.0), self._least).edge(epsilon, room)
        before = max(layout.high for layout in self.layouts)
        for layout, (law, _) in zip(self.layouts, uppers, strict=True):
            low, high = self._ends(layout.source)
            bulk = _bulk(law)
            layout.high = max(min(high, epsilon + 16.0 + 6.0 * spread + extra), bulk)
            layout.low = max(low, bulk - nats / total.c)
            if self.decides:
                layout.low = layout.source.least
        margin = 2.0 / total.c
        reach = max(layout.high for layout in self.layouts)
        if not edge + margin < reach:
            well, self._cut = not self._cut, False
            return well
        well = edge <= before <= edge + 5.0 * margin if self._cut else before <= 1.2 * edge
        self._cut = True
        for layout, (law, _) in zip(self.layouts, uppers, strict=True):
            layout.high = max(edge + margin, _bulk(law))
        return well

    def spill(self, uppers: Laws, epsilon: float) -> Spill | None:
        """Bounds for what the laws have set apart; None where that is nothing."""
        if not any(law.decided[0] > 0.0 for law, _ in uppers):
            return None
        return Threshold(uppers, tilted_sum(uppers, -1.0), self._least).reached(epsilon)

    @property
    def _asked(self) -> float:
        return min(float(layout.wanted.min()) for layout in self.layouts)

    def build(self) -> tuple[Laws, Laws]:
        """All laws on one grid: the upper ones and the lower ones."""
        finest = max(2.0 * layout.finest for layout in self.layouts)
        step = max(min(self._asked, self._longest), self._least_step, finest)
        if self.natural is not None:
            step = self.natural
        else:
            step = aligned_step([layout.weighed for layout in self.layouts], step)
        uppers, lowers = [], []
        for layout in self.layouts:
            upper, lower = grid_laws(layout.source, layout.grid(step), decide=self._cut)
            uppers.append((upper, layout.count))
            lowers.append((lower, layout.count))
            if not layout.source.atoms.size:
                layout.anchor = _bulk(upper)
        return uppers, lowers

    def gap(self, uppers: Laws, lowers: Laws, total: Sum) -> float:
        """The gap between the log moments; a loss that alone decides the question weighs at most 1/delta."""
        most = -total.peak
        return sum(
            count * _gap(upper, lower, total.c, most)
            for (upper, count), (lower, _) in zip(uppers, lowers, strict=True)
        )

    def grade(self, uppers: Laws, total: Sum, target: float, gap: float) -> float:
        """Spacings for which the gap is about the target, with as few nodes as may be; the least of them.

        A cell of tilted mass m and width d adds m d^2 c(c+1)/4 to the gap. Of all spacings with one sum
        of that, d ~ density^{-1/3} has the fewest cells; but the least of them sets the length of the
        transform, so most of the target goes to a floor under all.
        """
        # Sum over cells of T c(c+1)/4 m d^2 is to be the target, m the tilted mass that is apart (lattice.md,
        # Size); `off` is what was measured over what this expects.
        share = target / len(self.layouts)
        curvature = 0.25 * total.c * (total.c + 1.0)
        tables = [_density(law, total) for law, _ in uppers]
        expected = sum(
            count * curvature * float(mass @ np.square(width))
            for (_, count), (_, mass, width) in zip(uppers, tables, strict=True)
        )
        off = min(max(gap / expected, 0.05), 20.0) if expected > 0.0 else 1.0
        for layout, (law, _), (ends, mass, width) in zip(self.layouts, uppers, tables, strict=True):
            per = off * curvature * layout.count
            room = share / per
            floor = math.sqrt(_DENSE * room / max(float(mass.sum()), 1e-300))
            density = np.maximum(mass / width, 1e-280)
            # the rest of the room among cells of width d = f density^{-1/3}: of all spacings with one sum of
            # density d^2 dx these have the least sum of dx/d (Lagrange), and f follows from the sum
            third = np.cbrt(density)
            factor = math.sqrt((1.0 - _DENSE) * room / max(float(third @ width), 1e-300))
            wanted = np.maximum(floor, factor / third)
            widest = min(max((layout.high - layout.low) / _FEWEST, floor), _WIDEST)
            # where mass is, the weights e^{c loss} change little within a cell
            heavy = mass > _SOME * float(mass.sum())
            wanted = np.minimum(wanted, np.where(heavy, 2.0 * _WIDEST / total.c, widest))
            # no more cells than may be had
            cells = float((width / np.maximum(wanted, 1e-300)).sum())
            wanted *= max(1.0, 2.0 * cells / layout.cells)
            layout.ends, layout.wanted = ends, wanted
            layout.ends[-1] = math.inf
            layout.tilt = total.c, law.cumulants(total.c).log_moment
        # not all that much coarser than what was judged by
        self._longest = _COARSER * uppers[0][0].step
        return self._asked

    def keep_above(self, least: float) -> None:
        """No step below this from here on; losses on a lattice that is too long get a coarser one."""
        if self.natural is not None:
            self.natural = None
        self._least_step = least


def _density(law: GridLaw, total: Sum) -> tuple[Floats, Floats, Floats]:
    """Ends of cells, tilted mass that is apart in each (GridLaw.between), and widths."""
    assert law.between is not None
    middle = 0.5 * (law.losses[1:] + law.losses[:-1])
    level = total.c * middle - law.cumulants(total.c).log_moment
    most = min(max(-total.peak, 0.0), _LARGEST_LOG)
    mass = law.between * np.exp(np.minimum(level, most))
    return law.losses[1:].copy(), mass, np.diff(law.losses)


def _gap(upper: GridLaw, lower: GridLaw, c: float, most: float) -> float:
    """Return the gap between both laws' log moments at c, with weights e^{c loss} of at most e^most M(c)."""
    moment = upper.cumulants(c).log_moment
    level = max(most, 0.0)
    weights = [np.exp(np.minimum(c * law.losses - moment, level) - level) for law in (upper, lower)]
    both = [
        float(law.masses @ weight) + law.infinite
        for law, weight in zip((upper, lower), weights, strict=True)
    ]
    if not both[1] > 0.0:
        # the weights have underflown, or there is nothing below
        return abs(moment - lower.cumulants(c).log_moment)
    return abs(math.log(both[0] / both[1]))


def _bulk(law: GridLaw) -> float:
    """The loss of the three nodes around the heaviest, taken together: where a narrow bulk sits."""
    peak = int(np.argmax(law.masses))
    near = slice(max(0, peak - 1), peak + 2)
    masses, losses = law.masses[near], law.losses[near]
    middle = float(law.losses[peak])
    # log P/Q of the three, which the split between nodes has kept
    return middle - math.log1p(float(masses @ np.expm1(middle - losses)) / float(masses.sum()))

"""The lattice laws of a composition, at spacings that shrink as asked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .align import aligned_step, natural_step
from .lattice_law import LatticeLaw
from .pieces import DiscreteSource
from .spread import Grid, lattice_laws
from .window import Laws, Sum

Sources = Sequence[tuple[DiscreteSource, float]]

MOST_POINTS = 1 << 22
"""Lattice points of a composition, at most: some 300 MB while they are transformed."""
MOST_CELLS = 1 << 21
_FIRST_CELLS = 2048
_FEWEST_CELLS = 16.0
TAILS = 0.02
"""What cutting tails may cost, relative to the width that is asked."""


@dataclass
class Layout:
    """How one source is cut: the spacing of its nodes, and a loss that one of them is to meet."""

    source: DiscreteSource
    count: float
    spacing: float
    low: float
    high: float
    anchor: float = 0.0

    def grid(self, step: float) -> Grid:
        """The nodes, on a lattice of this step."""
        atoms = self.source.atoms
        stride = 1
        if atoms.size < 2:
            stride = max(1, math.floor(self.spacing / step * (1.0 + 1e-9)))
        offset = float(atoms[0]) if atoms.size else self.anchor
        spacing = step * stride
        first = math.floor((self.low - offset) / spacing + 1e-6)
        last = math.ceil((self.high - offset) / spacing - 1e-6)
        while last - first > MOST_CELLS:
            # too many cells: coarser, and wider for it
            stride *= 2
            spacing *= 2.0
            first = math.floor((self.low - offset) / spacing + 1e-6)
            last = math.ceil((self.high - offset) / spacing - 1e-6)
        count = max(last - first, 1) + 1
        return Grid(offset, step, first * stride, stride, count)


class Lattices:
    """The upper and lower lattice laws of a composition, at spacings that shrink as asked."""

    def __init__(self, sources: Sources, log_delta: float, width: float) -> None:
        self._steps = sum(count for _, count in sources)
        self._width = width
        self._log_delta = log_delta
        self.layouts = []
        for source, count in sources:
            low, high = self._ends(source)
            spacing = max(high - low, 1e-300) / _FIRST_CELLS
            self.layouts.append(Layout(source, count, spacing, low, high))
        natural = [natural_step(source.atoms) for source, _ in sources]
        self.natural = (
            natural[0]
            if len(sources) == 1 and sources[0][0].only_atoms and natural[0] is not None
            else None
        )

    def _ends(self, source: DiscreteSource) -> tuple[float, float]:
        rare = math.log(TAILS * self._width / self._steps)
        low = source.span(rare - 12.0)[0]
        high = source.span(rare + self._log_delta - 4.0)[1]
        return low, high

    def fit(self, uppers: Laws, total: Sum, epsilon: float, extra: float) -> None:
        """Leave out losses that cannot matter at this epsilon and tilt; take in those that can.

        A loss far above epsilon counts no more than its probability: it is as good as infinite. One far
        below, tilted, counts for nothing. (Both are charged as any cut tail is.)
        """
        self._log_delta = min(self._log_delta, total.log_delta - 5.0)
        nats = 12.0 - math.log(TAILS * self._width / self._steps)
        spread = math.sqrt(sum(count * law.cumulants(0.0).variance for law, count in uppers))
        for layout, (law, _) in zip(self.layouts, uppers, strict=True):
            low, high = self._ends(layout.source)
            bulk = _bulk(law)
            layout.low = max(low, bulk - nats / total.c)
            layout.high = max(min(high, epsilon + 16.0 + 6.0 * spread + extra), bulk)

    def build(self) -> tuple[Laws, Laws]:
        """(upper, lower)."""
        step = min(layout.spacing for layout in self.layouts)
        if self.natural is not None:
            step = self.natural
        else:
            step = aligned_step([layout.source.atoms for layout in self.layouts], step)
        uppers, lowers = [], []
        for layout in self.layouts:
            upper, lower = lattice_laws(layout.source, layout.grid(step))
            uppers.append((upper, layout.count))
            lowers.append((lower, layout.count))
            if not layout.source.atoms.size:
                layout.anchor = _bulk(upper)
        return uppers, lowers

    def refine(
        self, uppers: Laws, lowers: Laws, total: Sum, target: float, grow: bool
    ) -> tuple[float, bool]:
        """Shrink spacings whose share of the gap in log moments is above theirs of the target.

        Where `grow`, those far below it grow: a coarser lattice costs less. Returns the gap as it is, and
        whether any grew. A loss that alone decides the matter weighs 1/delta: more it cannot do.
        """
        share = target / len(self.layouts)
        whole, grown = 0.0, False
        for layout, (upper, count), (lower, _) in zip(self.layouts, uppers, lowers, strict=True):
            gap = count * _gap(upper, lower, total.c, -total.log_delta)
            whole += gap
            if gap > share:
                layout.spacing *= max(0.85 * math.sqrt(share / gap), 1.0 / 32.0)
            elif grow and gap < 0.15 * share:
                most = (layout.high - layout.low) / _FEWEST_CELLS
                factor = min(0.85 * math.sqrt(share / max(gap, 1e-6 * share)), 32.0)
                if layout.spacing < most:
                    layout.spacing = min(layout.spacing * factor, most)
                    grown = True
        return whole, grown

    def keep_above(self, least: float) -> bool:
        """No spacing below this; True where that changes one."""
        finest = min(layout.spacing for layout in self.layouts)
        if self.natural is not None:
            # its own lattice is too long: a coarser one then
            finest, self.natural = 0.0, None
        for layout in self.layouts:
            layout.spacing = max(layout.spacing, least)
        return finest < least


def _gap(upper: LatticeLaw, lower: LatticeLaw, c: float, most: float) -> float:
    """How far the moments at c are apart, in logs, with weights e^{c loss} of at most e^most times M(c)."""
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


def _bulk(law: LatticeLaw) -> float:
    """The loss of the three nodes around the heaviest, taken together: where a narrow bulk sits."""
    peak = int(np.argmax(law.masses))
    near = slice(max(0, peak - 1), peak + 2)
    masses, losses = law.masses[near], law.losses[near]
    middle = float(law.losses[peak])
    # log P/Q of the three, which the split between nodes has kept
    return middle - math.log1p(float(masses @ np.expm1(middle - losses)) / float(masses.sum()))

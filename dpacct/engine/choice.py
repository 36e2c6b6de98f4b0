"""Which contour resolves a question: the vertical line, one that bends, or the lattice of its atoms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .bent import bent_contour
from .contour import EXACT, Families, Line, Totals, straight_line
from .lattice import atomic_mass, lattice_line
from .saddle import Laws

# nodes that the vertical line may use before another contour is tried, and at the very most
FEW_NODES = 400
MOST_NODES = 1 << 14
# log of the tilted mass of the atoms below which they need no care of their own
LEAST_ATOMS = -40.0
# relative weight at the end of a cut-off tail up to which the cut does no harm
_CUT_WEIGHT = 1e-14
# two lines that differ by more than this in log delta are not lines of one integral
_AGREED = 1e-9


@dataclass(frozen=True)
class Start:
    """Where a similar question was answered, and how exactly this one has to be, relative to delta."""

    tilt: float | None = None
    bent_step: float | None = None  # of the bent contour that it took, if it took one
    tolerance: float = EXACT


ANEW = Start()


def contour_for(
    laws: Laws,
    families: Families,
    total: Totals,
    epsilons: Sequence[float],
    start: Start = ANEW,
) -> Line | None:
    """The cheapest contour through total.c that resolves the integral at these epsilons."""
    # of all steps together: one step in 10^11 that reaches the cut is too many
    if max(count * family.cut_weight(total.c) for family, count in families) > _CUT_WEIGHT:
        return None
    if atomic_mass(laws, families, total) > LEAST_ATOMS:
        return lattice_line(laws, families, total, epsilons, MOST_NODES)
    # a bend to the right is for epsilons above most of the loss
    may_bend = total.c * math.sqrt(total.variance) > 0.5
    tolerance = start.tolerance
    line: Line | None = None
    if not (start.bent_step and may_bend):
        line = _vertical(laws, families, total, epsilons, FEW_NODES, tolerance)
    if line is None and may_bend:
        line = bent_contour(families, total, epsilons, tolerance, start.bent_step)
    if line is None:
        line = _vertical(laws, families, total, epsilons, MOST_NODES, tolerance)
    return line


def _vertical(
    laws: Laws,
    families: Families,
    total: Totals,
    epsilons: Sequence[float],
    most: int,
    tolerance: float,
) -> Line | None:
    """The straight line, confirmed by a second one where atoms are about."""
    periods = _periods(laws)
    line = straight_line(families, total, epsilons, most, periods, tolerance=tolerance)
    if line is None or not periods:
        return line
    return _confirmed(line, families, total, epsilons, periods)


def _confirmed(
    line: Line,
    families: Families,
    total: Totals,
    epsilons: Sequence[float],
    periods: Sequence[float],
) -> Line | None:
    """A line near atoms, by another step: between two piles of atoms delta is not what its bounds suggest."""
    finer = straight_line(families, total, epsilons, MOST_NODES, periods, share=0.61)
    if finer is None:
        return None
    at = np.array(epsilons)
    apart = np.abs(line.read(at).log_delta - finer.read(at).log_delta)
    return finer if bool((apart < _AGREED).all()) else None


def _periods(laws: Laws) -> tuple[float, ...]:
    """Frequencies at which the atoms of a law that has a density too come back into step."""
    spans = [float(np.ptp(law.atoms.losses)) for law, _ in laws if law.atoms.losses.size > 1]
    return tuple(2.0 * math.pi / span for span in spans if span > 0.0)

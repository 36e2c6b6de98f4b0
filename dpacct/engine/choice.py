"""Which contour resolves a question: the vertical line, one that bends, or the lattice of its atoms."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from .bent import bent_contour
from .contour import EXACT, Families, Line, Totals, straight_line, totals
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


# a line through the place that these totals are of; its step, as a share of the one that bounds allow
Contour = Callable[[Totals, float], Line | None]


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
    periods = _periods(laws)
    beside = bool(periods) and any(law.has_density for law, _ in laws)  # atoms, and more than them

    def lattice(at: Totals, share: float) -> Line | None:
        return lattice_line(laws, families, at, epsilons, MOST_NODES, periods)

    def bent(at: Totals, share: float) -> Line | None:
        return bent_contour(families, at, epsilons, start.tolerance, start.bent_step)

    def vertical(most: int) -> Contour:
        def straight(at: Totals, share: float) -> Line | None:
            return straight_line(families, at, epsilons, most, periods, share, start.tolerance)

        return straight

    if atomic_mass(laws, families, total) > LEAST_ATOMS:
        return _confirmed(lattice, beside, families, total, epsilons)
    # a bend to the right is for epsilons above most of the loss
    may_bend = total.c * math.sqrt(total.variance) > 0.5
    tried = [] if start.bent_step and may_bend else [vertical(FEW_NODES)]
    tried += [bent] if may_bend else []
    for contour in (*tried, vertical(MOST_NODES)):
        line = _confirmed(contour, beside, families, total, epsilons)
        if line is not None:
            return line
    return None


def _confirmed(
    contour: Contour, atoms: bool, families: Families, total: Totals, epsilons: Sequence[float]
) -> Line | None:
    """A line; beside atoms, one that another through a place near by, of another step, agrees with.

    Between two piles of atoms delta is not what the bounds on the step suggest.
    """
    line = contour(total, 1.0)
    if line is None or not atoms:
        return line
    shift = min(0.4 / math.sqrt(total.curvature), 0.2 * total.c)
    other = contour(totals(families, total.c - shift), 0.61)
    if other is None:
        return None
    at = np.array(epsilons)
    apart = np.abs(line.read(at).log_delta - other.read(at).log_delta)
    return line if bool((apart < _AGREED).all()) else None


def _periods(laws: Laws) -> tuple[float, ...]:
    """Frequencies at which the atoms of a law come back into step, or a multiple of which they do."""
    spans = [float(np.ptp(law.atoms.losses)) for law, _ in laws if law.atoms.losses.size > 1]
    return tuple(2.0 * math.pi / span for span in spans if span > 0.0)

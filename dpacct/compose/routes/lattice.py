"""The lattice route: losses on a grid, rounded up and down, so that the truth lies between."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from dpacct.compose.composition import Composition, Direction
from dpacct.errors import NotCertified, Unsupported
from dpacct.pld import brackets
from dpacct.pld.budget import MEMORY, WORK
from dpacct.pld.interval import Interval
from dpacct.pld.nested import merged
from dpacct.pld.pieces import Sources
from dpacct.pld.stable import TooFine
from dpacct.vocabulary import Side, Strength

from .route import Finding, Route

_BASIS = (
    "losses on a lattice, rounded both ways (Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022; "
    "docs/theory/lattice.md)"
)
_UNSPANNED = (
    f"no lattice of {WORK:g} s and {MEMORY >> 30} GB spans the losses of this plan at this target, and the "
    "value is withheld; method='rdp' has an upper bound at any size, and a larger delta or fewer steps "
    "need a shorter lattice"
)
Ask = Callable[[Direction, Interval | None], Interval | None]
WIDTH = 1e-4
"""Relative width of the bracket that is aimed at."""
# relative width up to which an answer counts as converged: the same as of the exact route
_CONVERGED = 2e-9


def sources(direction: Direction) -> Sources:
    """What grids are asked about: all losses of one direction."""
    return merged(direction.sources)


@dataclass(frozen=True)
class Lattice(Route):
    """Tilted FFT composition of an upper and a lower lattice law; for any law at all.

    A plan too large to reach the width within the memory it may use gets the bracket that was reached.
    """

    width: float = WIDTH

    name = "lattice"

    def epsilon(self, plan: Composition, log_delta: float) -> Finding:
        def ask(way: Direction, best: Interval | None) -> Interval | None:
            if best is not None and (
                _largest(way) <= best.lower or _below(way, log_delta, best.lower)
            ):
                return None
            return brackets.epsilon(sources(way), log_delta, self.width)

        return self._finding(plan, ask, log_scale=False)

    def log_delta(self, plan: Composition, epsilon: float) -> Finding:
        def ask(way: Direction, best: Interval | None) -> Interval | None:
            if best is not None and _below(way, best.lower, epsilon):
                return None
            return brackets.log_delta(sources(way), epsilon, self.width)

        return self._finding(plan, ask, log_scale=True)

    def _finding(self, plan: Composition, ask: Ask, log_scale: bool) -> Finding:
        if plan.renyi_only:
            message = (
                f"method 'lattice' needs a dominating pair, and {plan.renyi_only[0][0]!r} has none"
            )
            raise Unsupported(message, argument="method")
        try:
            return self._bracket(plan, ask, log_scale)
        except TooFine as error:
            raise NotCertified(_UNSPANNED) from error

    def _bracket(self, plan: Composition, ask: Ask, log_scale: bool) -> Finding:
        upper = _worst(plan.upper, ask)
        value = 0.5 * (upper.lower + upper.upper) if upper.lower > -math.inf else upper.upper
        lower = upper.lower
        if plan.lower is not None:
            lower = _worst(plan.lower, ask).lower
        size = 1.0 if log_scale or value <= 0.0 or value == math.inf else value
        sharp = upper.upper == upper.lower or upper.upper - upper.lower <= _CONVERGED * size
        return Finding(
            value=value,
            lower=min(lower, value),
            upper=upper.upper,
            side=Side.TWO_SIDED,
            strength=Strength.CONVERGED if sharp else Strength.BOUND,
            basis=(*plan.basis, _BASIS),
        )


def _worst(directions: list[Direction], ask: Ask) -> Interval:
    """The bracket of the largest; a direction that a cheap bound shows to be below it is left out."""
    best: Interval | None = None
    for direction in directions:
        result = ask(direction, best)
        if result is not None:
            best = result if best is None else best.larger(result)
    assert best is not None
    return best


def _largest(direction: Direction) -> float:
    """What no loss of the direction exceeds, or hardly ever; inf where losses can be infinite."""
    if direction.log_kept < 0.0:
        return math.inf
    return float(sum(count * source.span(-745.0)[1] for source, count in direction.sources))


def _below(direction: Direction, log_target: float, epsilon: float) -> bool:
    """Whether a cheap bound shows delta(epsilon) < e^log_target."""
    if direction.log_kept < 0.0 or not math.isfinite(epsilon) or log_target == -math.inf:
        return False
    return brackets.surely_below(sources(direction), epsilon, log_target)


def narrowed(finding: Finding, plan: Composition, ask: Callable[[Route], Finding]) -> Finding:
    """A finding that no contour resolves, intersected with the lattice's bracket."""
    try:
        return intersection(finding, ask(Lattice()))
    except NotCertified:
        return finding


def intersection(finding: Finding, lattice: Finding) -> Finding:
    """What two brackets of one number leave; where rounding parts them, what holds is the lattice's."""
    assert finding.lower is not None and finding.upper is not None
    assert lattice.lower is not None and lattice.upper is not None
    lower, upper = max(finding.lower, lattice.lower), min(finding.upper, lattice.upper)
    if not lower <= upper:
        lower, upper = lattice.lower, lattice.upper
    value = min(max(lattice.value, lower), upper)
    basis = tuple(dict.fromkeys((*finding.basis, *lattice.basis)))
    return Finding(value, lower, upper, Side.TWO_SIDED, lattice.strength, basis)

"""The exact route: moments of the dominating pairs inverted on a contour in the complex plane."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from dpacct.compose.composition import Composition, Direction
from dpacct.pld.interval import Interval
from dpacct.vocabulary import Side, Strength

from .lattice import Lattice, narrowed
from .renyi import CANONNE
from .route import Finding, Route

_INVERSION = "Alghamdi et al. 2023, Theorem 3.1: delta(eps) as a contour integral of the moments"
_BRACKET = "moment bound (Canonne, Kamath, Steinke 2020) above, a single step below"
_LEAST_LOG = -745.0
# relative error up to which an answer is called converged, and up to which the lattice isn't asked as well
CONVERGED = 1e-9
_ROUGH = 1e-5


class Exact(Route):
    """Composition of the dominating pairs, to rounding."""

    name = "exact"

    def epsilon(self, plan: Composition, log_delta: float) -> Finding:
        if not plan.has_contour:
            return Lattice().epsilon(plan, log_delta)

        def worst(directions: list[Direction]) -> Interval:
            best: Interval | None = None
            for direction in directions:
                if best is not None and direction.surely_below(log_delta, best.lower):
                    continue
                result = direction.epsilon(log_delta)
                best = result if best is None else best.larger(result)
            assert best is not None
            return best

        result, resolved = self._finding(plan, worst, relative=True)
        if not resolved:
            result = narrowed(result, plan, lambda r: r.epsilon(plan, log_delta))
        return _lesser(result, lambda: CANONNE.epsilon(plan, log_delta)) if plan.loose else result

    def log_delta(self, plan: Composition, epsilon: float) -> Finding:
        if not plan.has_contour:
            return Lattice().log_delta(plan, epsilon)

        def worst(directions: list[Direction]) -> Interval:
            best: Interval | None = None
            for direction in directions:
                if best is not None and direction.surely_below(best.lower, epsilon):
                    continue
                result = direction.log_delta(epsilon)
                best = result if best is None else best.larger(result)
            assert best is not None
            return best

        result, resolved = self._finding(plan, worst, relative=False)
        # what is surely below all floats needs no narrowing
        if not (resolved or (result.upper is not None and result.upper < _LEAST_LOG)):
            result = narrowed(result, plan, lambda r: r.log_delta(plan, epsilon))
        return _lesser(result, lambda: CANONNE.log_delta(plan, epsilon)) if plan.loose else result

    def _finding(
        self, plan: Composition, worst: Callable[[list[Direction]], Interval], relative: bool
    ) -> tuple[Finding, bool]:
        upper = worst(plan.upper)
        lower = upper if plan.lower is None else worst(plan.lower)
        error = max(_error(upper, relative), _error(lower, relative))
        resolved = upper.resolved and lower.resolved and error <= _ROUGH
        accurate = resolved and error <= CONVERGED
        finding = Finding(
            value=upper.value,
            lower=min(lower.lower, upper.value),
            upper=upper.upper,
            side=Side.TWO_SIDED,
            strength=Strength.CONVERGED if accurate else Strength.BOUND,
            basis=(*plan.basis, _INVERSION, *(() if resolved else (_BRACKET,))),
        )
        return finding, resolved


def _lesser(found: Finding, moments: Callable[[], Finding]) -> Finding:
    """The finding with the lesser upper end of the two: its own, or that of a moment bound."""
    bound = moments()
    assert found.upper is not None and bound.upper is not None
    if found.upper <= bound.upper:
        return found
    upper = max(bound.upper, found.lower or -math.inf)
    basis = (*found.basis, *bound.basis)
    return replace(found, value=upper, upper=upper, strength=Strength.BOUND, basis=basis)


def _error(solved: Interval, relative: bool) -> float:
    if solved.value == solved.lower == solved.upper:
        return 0.0
    half = 0.5 * (solved.upper - solved.lower)
    return half / solved.value if relative and solved.value > 0.0 else half

"""The search for a contour and for rules that are fine enough: floats, the fast engine, no proof.

Whatever comes out of here is only a proposal: `line` and the laws prove a bound for any choice, and
a bad one makes the interval wide, never wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpacct.errors import NotCertified
from dpacct.pld.saddle import Totals
from dpacct.pld.stable import Floats, log_peak

from .balls import precision
from .closed import MOST_NODES as MOST_PERIOD
from .closed import places
from .effort import SEARCH, spend
from .floats import (
    FloatLaw,
    FloatLaws,
    saddle_for_epsilon,
    saddle_for_log_delta,
    totals,
)
from .line import Contour, prepared
from .plan import Laws
from .proofs import BOUND, LATTICE, LINE
from .rule import QuadratureRule, has_panels, rules_to_json
from .rules import Wanted, propose_rule

_SHIFTS = np.array([1e-5, 1e-4, 5e-4, 2e-3, 8e-3, 0.03, 0.06, 0.12, 0.2, 0.3, 0.45, 0.65, 0.9])
MOST_NODES = 40_000
_SHARES = np.array([0.02, 0.05, 0.1, 0.2, 0.3, 0.45, 0.65, 0.9])
_SPARE = 46  # bits beyond those that the accuracy takes; 128 are two words

Evidence = dict[str, Any]


@dataclass(frozen=True)
class Aim:
    """The accuracy that the sum must reach: e^{-nats}, relative, of a delta near e^{log_delta}."""

    epsilon: float
    log_delta: float
    nats: float


@contextmanager
def searching() -> Iterator[None]:
    """Floats may overflow while searching; where the engine gives up, there is no proof."""
    try:
        with np.errstate(all="ignore"):
            yield
    except (ArithmeticError, MemoryError, ValueError, IndexError) as error:
        message = "no contour was found for a proof"
        raise NotCertified(message) from error


def period_for(
    bounds: Callable[[Floats], Floats], c: float, ups: Floats, downs: Floats, aim: Aim
) -> tuple[float, float, float]:
    """(period, up, down): how far apart copies of delta may be, eq. (2), for a share of the error budget.

    `bounds`: logs of the moment bound at some tilts; `ups`, `downs`: how far these may be from c.
    """
    best: list[tuple[float, float]] = []
    for sign, shifts in ((1.0, ups), (-1.0, downs)):
        excess = bounds(c + sign * shifts) - aim.log_delta + aim.nats + 2.0
        periods = np.logaddexp(0.0, excess) / shifts
        k = int(np.argmin(periods))
        best.append((float(periods[k]), float(shifts[k])))
    (above, up), (below, down) = best
    plain = (aim.nats + 2.0 - aim.log_delta) / c  # delta <= 1
    if plain < below:
        below, down = plain, 0.0
    return max(above, below), up, down


class Place:
    """The tilt at which a line of these laws may stand, and what it takes there."""

    def __init__(self, laws: Laws, floats: FloatLaws, total: Totals[float]) -> None:
        self.laws, self.floats, self.total = laws, floats, total

    def effort(self, aim: Aim) -> float:
        """About the number of nodes on the line, were the tilted loss normal."""
        excess = self.total.height(aim.epsilon) - aim.log_delta
        if not math.isfinite(excess):
            return math.inf
        depth = 2.0 * (aim.nats + max(0.0, excess)) / self.total.curvature
        return math.sqrt(depth) / self.step(aim)[0]

    def step(self, aim: Aim) -> tuple[float, float, float]:
        """(h, up, down) of eq. (2), for a share of the error budget."""
        c = self.total.c
        unit = math.sqrt(2.0 * (aim.nats + 5.0) / self.total.curvature)

        def bounds(tilts: Floats) -> Floats:
            return log_bounds(self.floats, tilts, aim.epsilon)

        # times the saddle: the largest tilt of an aliasing bound
        ups = min(2.0 * unit, (2.5 - 1.0) * c) * _SHIFTS
        period, up, down = period_for(bounds, c, ups, min(1.5 * unit, 0.98 * c) * _SHIFTS, aim)
        return 2.0 * math.pi / period, up, down

    def fitted(self, aim: Aim, *, spare: int = _SPARE) -> Evidence:
        """Evidence of a line whose errors are within the aim."""
        laws, c = self.laws, self.total.c
        with searching():
            step, up, down = self.step(aim)
        height = self.total.log_moment - c * aim.epsilon  # log M(c) e^{-c eps}
        cancelled = max(0.0, height - math.log(max(c * (1.0 + c), 1e-300)) - aim.log_delta)
        most = max(count for _, count in laws)
        inner = aim.nats + cancelled + math.log(most) + 3.0
        low = max(c - down, 1e-3 * c) if down else c
        wanted = Wanted(c, low, c + up, inner, most, aim.nats)
        rules, bits = propose_rules(laws, wanted, spare)
        with precision(bits), searching():
            steps = prepared(laws, rules, c)

            def deficit(t: Floats) -> Floats:
                """The proven envelope in floats (the proof evaluates its own)."""
                each = (count * law.float_deficit(t) for law, count in steps)
                return sum(each, np.zeros(t.shape))

            count, doublings = count_nodes(height, step, aim, deficit)
        if any(has_panels(rule) for rule in rules):  # which depend on the highest frequency
            rules, bits = propose_rules(laws, wanted._replace(frequency=count * step), spare)
        contour = Contour(c, step, count, up, down, doublings)
        stated = {"contour": dict(vars(contour)), "rules": rules_to_json(rules)}
        return {"form": LINE, "bits": bits, **stated}


class Seeker:
    """Saddle and moments of one direction, kept between trials."""

    def __init__(
        self, laws: Laws, floats: FloatLaws, epsilon: float, log_delta: float | None
    ) -> None:
        spend(SEARCH / 3.0)
        with searching():
            self.place = Place(laws, floats, saddle_for_epsilon(floats, epsilon))
            estimate = self.place.total.log_delta(epsilon)
        # seconds of a whole search, per node of the floats' rule
        spend(sum(law.node_count for law, _ in floats) * 3.5e-6)
        # nats by which the saddle point's delta may differ from the one expected
        if log_delta is None or abs(estimate - log_delta) > 6.0:
            log_delta = estimate if log_delta is None else min(estimate, log_delta)
        self.log_delta = log_delta
        self.excess = self.place.total.height(epsilon) - log_delta

    def _settle(self, aim: Aim) -> None:
        """Move the line where few nodes do.

        Just below a tilt at which rare large losses take over, the saddle is flat: a line further
        left costs little in height, and far larger steps are possible on it.
        """
        saddle, best = self.place, self.place.effort(aim)
        for factor in (0.98, 0.93, 0.85, 0.7, 0.5) if best > 60.0 else ():
            total = totals(saddle.floats, saddle.total.c * factor)
            place = Place(saddle.laws, saddle.floats, total)
            effort = place.effort(aim)
            if effort < 0.8 * best:
                best, self.place = effort, place

    def propose(self, epsilon: float, log_delta: float | None, nats: float) -> Iterator[Evidence]:
        """A contour and rules for this aim."""
        spend(SEARCH)
        aim = Aim(epsilon, self.log_delta if log_delta is None else log_delta, nats)
        with searching():
            self._settle(aim)
        yield self.place.fitted(aim)


def propose_rules(
    laws: Laws, wanted: Wanted, spare: int = _SPARE
) -> tuple[list[QuadratureRule | None], int]:
    """Rules for the laws that occur, None for the others, and the bits they take."""
    rules: list[QuadratureRule | None] = []
    bits = most = spare + math.ceil(wanted.nats / math.log(2.0))
    with precision(bits), searching():
        for law, count in laws:
            rule, lift = None, 0.0
            if count > 0:
                rule, lift = propose_rule(law, wanted._replace(steps=count))
            rules.append(rule)
            most = max(most, spare + math.ceil((wanted.nats + lift) / math.log(2.0)))
    return rules, most


def count_nodes(
    height: float, step: float, aim: Aim, deficit: Callable[[Floats], Floats]
) -> tuple[int, int]:
    """(n, doublings): about the fewest nodes whose tail, eq. (3), is within the budget."""
    most_doublings = 40
    parts = 8
    level = height - math.log(math.pi) - aim.log_delta + aim.nats

    def closings(t: Floats, deficits: Floats) -> Floats:
        """Log of the tail over its budget, a row for each cut t[:, 0], closed at each t of the row."""
        logs = level - deficits - np.log(t)
        halves = np.logaddexp.accumulate(logs - math.log(2.0), axis=1)
        logs[:, 1:] = np.logaddexp(halves[:, :-1], logs[:, 1:])
        return logs

    doubled = 8 * np.exp2(np.arange(12 + most_doublings + 1.0))
    windows = np.lib.stride_tricks.sliding_window_view(
        np.stack((step * doubled, deficit(step * doubled))), most_doublings + 1, axis=1
    )
    logs = closings(*windows)
    enough = np.flatnonzero((logs < 0.0).any(axis=1))
    if not enough.size:
        raise NotCertified(
            f"the contour integral needs more than {MOST_NODES} nodes for a proof: the losses"
            " pile up (rare hits)"
        )
    count, row = int(doubled[enough[0]]), logs[enough[0]]
    spacing = count // 2 if enough[0] else 0
    while spacing > max(1, count // 50):
        spacing = math.ceil(spacing / parts)
        fewer = count - spacing * np.arange(parts - 1, 0, -1)
        t = step * np.multiply.outer(fewer, np.exp2(np.arange(np.argmax(row < 0.0) + 2.0)))
        logs = closings(t, deficit(t.ravel()).reshape(t.shape))
        enough = np.flatnonzero((logs < 0.0).any(axis=1))
        if enough.size:
            count, row = int(fewer[enough[0]]), logs[enough[0]]
    return count, int(np.argmax(row < 0.0))


class LatticeSeeker:
    """Seeks the tilt and the number of nodes that a lattice takes."""

    def __init__(self, laws: Laws, floats: FloatLaws) -> None:
        self.laws, self._floats = laws, floats
        with precision(96):
            where = places(laws)
        if where is None:
            raise NotCertified("the losses are on no lattice")
        self._unit = float(where.unit.mid())
        self.log_delta: float | None = None

    def propose(self, epsilon: float, log_delta: float | None, nats: float) -> Iterator[Evidence]:
        """Evidence of a period."""
        spend(SEARCH)
        tilts = np.geomspace(1e-4, 3e3, 240) / self._unit
        bounds = log_bounds(self._floats, tilts, epsilon)
        if log_delta is None:  # a little below the least moment bound
            log_delta = float(bounds.min()) - 2.0
        # nats above the least moment bound at which a tilt of a lattice is still looked at
        near = tilts[bounds < bounds.min() + 60.0]
        if not near.size:
            raise NotCertified("no tilt bounds delta at this epsilon")
        aim = Aim(epsilon, log_delta, nats)
        choices = [self._at(float(c), aim) for c in near[:: 1 + near.size // 20]]
        _, chosen, bits = min(choices, key=lambda choice: choice[0])
        if chosen["nodes"] > MOST_PERIOD:
            raise NotCertified("the lattice has too many points")
        yield {"form": LATTICE, "bits": bits, "period": chosen}

    def _at(self, c: float, aim: Aim) -> tuple[float, dict[str, Any], int]:
        """(cost, choice, bits) of one tilt."""

        def bounds(tilts: Floats) -> Floats:
            return log_bounds(self._floats, tilts, aim.epsilon)

        ups = c * np.append(_SHARES, (1.5, 3.0))
        period, up, down = period_for(bounds, c, ups, c * _SHARES, aim)
        nodes = 1 << max(3, math.ceil(math.log2(max(8.0, period / self._unit))))
        chosen = {"c": c, "nodes": nodes, "up": up, "down": down}
        # near s = 0 the kernel is large, and its two halves cancel
        tilt = np.array([c])
        height = float((bounds(tilt) - log_peak(tilt))[0])
        lost = max(0.0, height - aim.log_delta) + 2.0 * max(0.0, -math.log(c * self._unit))
        most = max(count for _, count in self.laws)
        inner = aim.nats + 2.0 + lost + math.log(most) + math.log(nodes)
        bits = 64 + math.ceil(inner / math.log(2.0))
        return nodes * (1.0 + bits / 256.0), chosen, bits


_TILTS = np.geomspace(0.7, 5.0, 9)
_FAR_TILTS = np.geomspace(0.05, 300.0, 29)


def log_bounds(laws: FloatLaws, cs: Floats, epsilon: float) -> Floats:
    """Log of the moment bound, eq. (10), at each tilt: convex in the tilt."""
    values = log_peak(cs) - cs * epsilon
    for law, count in laws:
        values = values + count * law.log_moments(cs)
    return np.where(np.isnan(values), np.inf, values)


def bound(float_laws: FloatLaws, laws: Laws, epsilon: float, log_target: float) -> Evidence | None:
    """Evidence of a moment bound that should be below the target, or None."""
    clearly = 1e-6
    spend(SEARCH)
    with searching():
        # no saddle of this epsilon: that may lie far beyond all losses that matter
        guess = saddle_for_log_delta(float_laws, log_target).c
        tilts = guess * _TILTS
        values = log_bounds(float_laws, tilts, epsilon)
        if values.min() >= log_target - clearly and np.argmin(values) in (0, tilts.size - 1):
            # with nodes of their own: those in use are for tilts near each other
            fresh, tilts = [(FloatLaw(step), count) for step, count in laws], guess * _FAR_TILTS
            values = log_bounds(fresh, tilts, epsilon)
    if values.min() >= log_target - clearly:
        return None
    # the least of those that are well below the target, or the best of all
    enough = np.flatnonzero(values < log_target - 3.0)
    tilt = float(tilts[enough[0] if enough.size else np.argmin(values)])
    most = max(count for _, count in laws)
    # a bound need not be accurate
    nats = 14.0 + math.log(most)
    # a bound need not be accurate
    rules, bits = propose_rules(laws, Wanted(tilt, tilt, tilt, nats, most, nats), 94)
    return {"form": BOUND, "bits": bits, "c": tilt, "rules": rules_to_json(rules)}

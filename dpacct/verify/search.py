"""Search for a point at which a statement is violated: draws, then a climb from the worst of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from random import Random

from dpacct.domain import Integer
from dpacct.engine.law import TooFine
from dpacct.errors import DpacctError, InvalidArgument
from dpacct.theorems.entry import Entry, Values
from dpacct.verify.comparison import Comparison
from dpacct.verify.truth import Point, Truth

# Of the draws: a sixth lies on the boundary, the best few are climbed from.
CLIMBS = 4
_STEPS = 24


@dataclass(frozen=True)
class Found:
    """A violation: where, what is claimed there, and what is true."""

    point: Point
    comparison: Comparison
    excess: float


@dataclass(frozen=True)
class Search:
    """One statement and its judge."""

    entry: Entry
    truth: Truth

    def values(self, point: Point) -> Values | None:
        """The point as the formula takes it; None outside the domain."""
        try:
            return self.entry.checked(point)
        except DpacctError:
            return None

    def at(self, point: Point) -> Found | None:
        """What happens at a point; None outside the domain, or where the truth can't be told."""
        values = self.values(point)
        if values is None:
            return None
        try:
            comparison = self.truth.compare(self.entry, values)
        except (DpacctError, ArithmeticError, TooFine):  # the judge gives no answer there
            return None
        if comparison is None:
            return None
        return Found(point, comparison, comparison.excess(self.entry.side))

    def violated(self, found: Found | None) -> bool:
        """Whether that is a violation beyond the error of the judge."""
        return found is not None and found.excess > self.truth.within

    def points(self, rng: Random, draws: int) -> Iterator[Point]:
        """Points of the whole domain and of its boundary."""
        for index in range(draws):
            if self.truth.draw is not None:
                drawn = self.truth.draw(rng)
                yield {k: v if isinstance(v, int) else Fraction(repr(v)) for k, v in drawn.items()}
                continue
            try:
                yield self.entry.domain.draw(rng, "boundary" if index % 6 == 5 else "inside")
            except InvalidArgument:  # no boundary there, or an empty range for that draw
                continue


@dataclass(frozen=True)
class Result:
    """What a search came to: how many points were judged, and the worst of them."""

    judged: int
    worst: Found | None
    violated: bool


def search(case: Search, *, draws: int, seed: int, climbs: int = CLIMBS) -> Result:
    """Look for a violation; stops at the first, or when the draws and the climbs are used up.

    What it does is counted and never timed: the points depend on the seed and the id only, so a
    result is the same on every machine.
    """
    rng = Random(f"{seed}:{case.entry.id}")
    best: list[Found] = []
    judged = 0
    for point in case.points(rng, draws):
        found = case.at(point)
        if found is None:
            continue
        judged += 1
        if case.violated(found):
            return Result(judged, found, True)
        best = sorted([*best, found], key=lambda one: -one.excess)[: max(1, climbs)]
    tops = list(best)
    for start in best[:climbs]:
        top, size = start, 1.0
        for _ in range(_STEPS):
            found = case.at(neighbour(case.entry, top.point, rng, size))
            if found is not None:
                judged += 1
                if case.violated(found):
                    return Result(judged, found, True)
                if found.excess > top.excess:
                    top = found
                    continue
            size *= 0.8
        tops.append(top)
    return Result(judged, max(tops, key=lambda one: one.excess, default=None), False)


def neighbour(entry: Entry, point: Point, rng: Random, size: float) -> Point:
    """The point with one or two coordinates moved by a factor, or a whole number by some steps."""
    moved = dict(point)
    for name in rng.sample(list(point), k=min(len(point), rng.choice((1, 1, 2)))):
        domain, value = entry.domain.domains[name], point[name]
        if isinstance(domain, Integer):
            moved[name] = int(value) + rng.choice((-1, 1)) * max(
                1, round(abs(int(value)) * size / 4)
            )
        else:
            anchor = domain.lower if isinstance(domain.lower, Fraction) else Fraction(0)
            factor = Fraction(repr(math.exp(rng.gauss(0.0, size))))
            moved[name] = anchor + (value - anchor) * factor
    return moved

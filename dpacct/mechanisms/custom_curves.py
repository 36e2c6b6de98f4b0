"""A mechanism given by a curve: its privacy profile, its trade-off function, or its Renyi divergences."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from dpacct.citations import worst_pair
from dpacct.declare.number import exact, shown, text
from dpacct.errors import InvalidArgument
from dpacct.mechanisms.custom import Custom, called, pairs_of_numbers
from dpacct.plan.node import Fields, take
from dpacct.vocabulary import Adjacency, Assumption

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dpacct.pld.pair import Pair

Point: TypeAlias = tuple[float, float]


def _checked(name: str, points: object) -> tuple[Point, ...]:
    """Return the points of a falling curve, by rising first number; raises `InvalidArgument`."""
    rows = tuple(sorted(set(pairs_of_numbers(points, name))))
    for (x0, y0), (x1, y1) in pairwise(rows):
        if y1 > y0 + 1e-12:  # more than a user's own rounding
            message = f"{name} must never rise, got {y1!r} at {x1:g} after {y0!r} at {x0:g}"
            raise InvalidArgument(message, argument=name)
    return rows


class CustomPoints(Custom):
    """Points of a falling curve; see `Custom`."""

    points: tuple[Point, ...]

    holds = ("points",)

    def fields(self) -> Fields:
        """The points, as exact text."""
        return {"points": [[text(exact(x) or Fraction(0)) for x in row] for row in self.points]}

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        """Read the points."""
        settings: dict[str, Any] = {cls.given: take(fields, "points")}
        return cls(**settings)


class CustomProfile(CustomPoints, kind="custom-profile", given_by="profile"):
    """Delta by epsilon, for both directions; see `Custom`.

    The worst mechanism that meets all points at once is taken.
    """

    what = "privacy profile"

    def __init__(self, *, profile: Sequence[Point]) -> None:
        # e^690 is a double, with room to square a ratio
        largest = 690.0
        points = _checked("profile", profile)
        for epsilon, delta in points:
            if not (0.0 <= epsilon <= largest and 0.0 <= delta <= 1.0):
                message = f"profile must have epsilon in [0, {largest:g}] and delta in [0, 1], got"
                raise InvalidArgument(f"{message} ({epsilon!r}, {delta!r})", argument="profile")
        if min(delta for _, delta in points) == 1.0:
            message = "profile must have a delta below 1 somewhere, got 1 everywhere"
            raise InvalidArgument(f"{message}: nothing is promised", argument="profile")
        self._keep(points=points)

    @property
    def promises(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """The points, unchanged."""
        return tuple((exact(e) or Fraction(0), exact(d) or Fraction(0)) for e, d in self.points)

    def pure_epsilon(self, adjacency: Adjacency) -> Fraction | None:
        """The least epsilon at which delta is 0."""
        return min((epsilon for epsilon, delta in self.promises if delta == 0), default=None)

    def pair(self, adjacency: Adjacency) -> Pair:
        """The pair whose profile is the lowest chain of chords through the points."""
        from dpacct.mechanisms.laws.knots import above_profile
        from dpacct.pld.pair import Pair

        epsilons, deltas = zip(*self.points, strict=True)
        return Pair.of(above_profile(epsilons, deltas), worst_pair(self.what))


class CustomTradeoff(CustomPoints, kind="custom-tradeoff", given_by="tradeoff"):
    """Least type II error by type I error, for both orders of the neighbours; see `Custom`.

    Points are the corners of a polygon: the line through them is taken, or where that is not convex,
    its hull (f**).
    """

    what = "trade-off function"

    def __init__(self, *, tradeoff: Sequence[Point]) -> None:
        points = _checked("tradeoff", tradeoff)
        for alpha, beta in points:
            if not (0.0 <= alpha <= 1.0 and 0.0 <= beta <= 1.0 - alpha + 1e-12):
                message = "tradeoff must have alpha in [0, 1] and f(alpha) in [0, 1 - alpha], got "
                raise InvalidArgument(f"{message}({alpha!r}, {beta!r})", argument="tradeoff")
        if max(beta for _, beta in points) <= 0.0:
            message = "tradeoff must be above 0 somewhere, got 0 everywhere: nothing is promised"
            raise InvalidArgument(message, argument="tradeoff")
        self._keep(points=points)

    def assumptions(self, adjacency: Adjacency) -> tuple[Assumption, ...]:
        """The assumption that the user's description is true, also between its points."""
        message = "the least type II error is on or above the lines through the points"
        return (Assumption(f"{message} under {adjacency}", id="stated-guarantee"),)

    def pair(self, adjacency: Adjacency) -> Pair:
        """The pair of the lowest trade-off function that the points allow, made symmetric."""
        from dpacct.mechanisms.laws import knots
        from dpacct.pld.pair import Pair

        alphas = [alpha for alpha, _ in self.points]
        betas = [min(beta, 1.0 - alpha) for alpha, beta in self.points]
        return Pair.of(knots.of_tradeoff(knots.through(alphas, betas)), worst_pair(self.what))


# --- Renyi divergences

# orders at which a curve is checked when it is brought: from 1.0001 to 10,001, four to a decade
_TRIED = tuple(1.0 + 10.0 ** (k / 4.0) for k in range(-16, 17))


def _slack(order: float, value: float) -> float:
    """The tolerance for rounding, since order - 1 can be as small as the rounding of 1."""
    return 1e-9 * (1.0 + abs(value)) + 1e-15 / (order - 1.0)


def _is_convex(*points: Point) -> bool:
    """Return whether (order - 1) * rdp at the middle one of three orders is below the chord."""
    (a0, _), (a1, r1), (a2, _) = points
    if not all(value < math.inf for _, value in points):
        return True
    first, middle, last = ((order - 1.0) * value for order, value in points)
    chord = first + (last - first) * (a1 - a0) / (a2 - a0)
    return middle <= chord + 10.0 * _slack(a1, r1) * (a1 - 1.0)


class CustomRenyi(Custom, kind="custom-renyi", given_by="rdp"):
    """Renyi DP from a function; see `Custom`. Infinite values are allowed at large orders."""

    function: Callable[[float], float]
    _seen: list[Point]

    what = "Renyi curve"
    instead = "profile or tables"
    holds = ("function",)
    has_pairs = False

    def __init__(self, *, rdp: Callable[[float], float]) -> None:
        function: object = rdp
        if not callable(function):
            message = f"rdp must be a function of one number, got {shown(rdp)}"
            raise InvalidArgument(message, argument="rdp")
        self._keep(function=rdp, _seen=[])
        for order in _TRIED:
            if not self._at(order) < math.inf:
                break
        if not self._seen[0][1] < math.inf:
            message = f"rdp must be finite at order {_TRIED[0]:g}, got inf: nothing is promised"
            raise InvalidArgument(message, argument="rdp")

    def _at(self, order: float) -> float:
        """Renyi DP at this order, checked against what it was at others."""
        value = called(self.function, order, "rdp")

        def wrong(why: str) -> InvalidArgument:
            return InvalidArgument(f"rdp must {why}", argument="rdp")

        if value < 0.0:
            raise wrong(f"be at least 0, got {value!r} at order {order:g}")
        place = bisect_left(self._seen, (order, value))
        before, after = self._seen[max(0, place - 2) : place], self._seen[place : place + 2]
        for (left, at_one), (right, at_two) in pairwise([*before[-1:], (order, value), *after[:1]]):
            if at_two < at_one - _slack(left, at_one):
                got = f"got {at_two!r} at order {right:g} after {at_one!r} at {left:g}"
                raise wrong(f"give a Renyi divergence that never falls with the order, {got}")
        near = [*before, (order, value), *after]
        for triple in zip(near, near[1:], near[2:], strict=False):
            if not _is_convex(*triple):
                at = f"which fails at order {triple[1][0]:g}"
                raise wrong(f"make (order - 1) * rdp convex in the order, {at}")
        if (value < math.inf and not (after and after[0][0] == order)) or not self._seen:
            self._seen.insert(place, (order, value))
        return value

    def renyi(
        self, orders: NDArray[np.floating[Any]], adjacency: Adjacency
    ) -> NDArray[np.floating[Any]]:
        """The function, at each order."""
        import numpy as np

        return np.array([self._at(order) for order in orders.tolist()])

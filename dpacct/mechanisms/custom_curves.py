"""A mechanism given by a curve: its privacy profile, its trade-off function, or its Renyi divergences."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from dpacct.citations import worst_pair
from dpacct.declare.number import exact, shown, text
from dpacct.errors import InvalidArgument
from dpacct.mechanisms.custom import Custom, called, pairs_of_numbers, unsaved
from dpacct.plan.node import Fields, take
from dpacct.vocabulary import Adjacency, Assumption

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from dpacct.pld.pair import Pair

Point: TypeAlias = tuple[float, float]
Curve: TypeAlias = Callable[[float], float] | Sequence[Point]

# points at which a function is read; between them the safe side of its convexity is taken
_POINTS = 1500
# e^epsilon must be a double, with room to square a ratio
_LARGEST = 690.0
# what rounding may do to a value near 1
_ROUNDING = 1e-12


def _grid(name: str, points: object) -> tuple[Point, ...]:
    return tuple(sorted(set(pairs_of_numbers(points, name))))


def _saved(points: Sequence[Point]) -> list[list[str]]:
    return [[text(exact(x) or Fraction(0)) for x in row] for row in points]


class CustomProfile(Custom, kind="custom-profile", given_by=("profile",)):
    """Delta by epsilon, for both directions; see `Custom`.

    Of points, the worst mechanism that meets all of them at once is taken.
    """

    points: tuple[Point, ...]
    function: Callable[[float], float] | None

    what = "privacy profile"
    holds = ("points", "function")

    def __init__(self, *, profile: Curve) -> None:
        function = profile if callable(profile) else None
        points = self._read(function) if function else _grid("profile", profile)
        for epsilon, delta in points:
            if not (0.0 <= epsilon <= _LARGEST and 0.0 <= delta <= 1.0):
                message = (
                    f"profile must have epsilon in [0, {_LARGEST:g}] and delta in [0, 1], got "
                )
                raise InvalidArgument(f"{message}({epsilon!r}, {delta!r})", argument="profile")
        if min(delta for _, delta in points) == 1.0:
            message = (
                "profile must have a delta below 1 somewhere, got 1 everywhere: nothing is promised"
            )
            raise InvalidArgument(message, argument="profile")
        self._check(points, convex=function is not None)
        self._keep(points=points, function=function)

    @property
    def promises(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """The points of a list, unchanged."""
        if self.function is not None:
            return ()
        return tuple((exact(e) or Fraction(0), exact(d) or Fraction(0)) for e, d in self.points)

    def pure_epsilon(self, adjacency: Adjacency) -> Fraction | None:
        """The least epsilon of a list at which delta is 0."""
        return min((epsilon for epsilon, delta in self.promises if delta == 0), default=None)

    @staticmethod
    def _read(function: Callable[[float], float]) -> tuple[Point, ...]:
        """The function from 0 to where delta is negligible."""
        top = 1.0
        while top < _LARGEST and called(function, top, "profile") > 1e-30:
            top = min(1.5 * top, _LARGEST)
        low = 1e-4 * min(top, 1.0)
        inner = [low * (top / low) ** (k / (_POINTS // 3)) for k in range(_POINTS // 3 + 1)]
        even = [top * k / _POINTS for k in range(_POINTS + 1)]
        return tuple((e, called(function, e, "profile")) for e in sorted({*inner, *even}))

    @staticmethod
    def _check(points: Sequence[Point], *, convex: bool) -> None:
        """Refuse what no mechanism has: a profile that rises or, as a function, is not convex in e^epsilon.

        Of a list, what the other points imply is left aside.
        """
        for (e0, d0), (e1, d1) in pairwise(points):
            if d1 > d0 * (1.0 + _ROUNDING) + 1e-15:
                message = f"profile must never rise with epsilon, got {d1!r} at {e1:g} after {d0!r}"
                raise InvalidArgument(f"{message} at {e0:g}", argument="profile")
        if not convex:
            return
        for (e0, d0), (e1, d1), (e2, d2) in zip(points, points[1:], points[2:], strict=False):
            near, far = math.expm1(e1 - e0), math.expm1(e2 - e0)
            chord = d0 + (d2 - d0) * near / far
            if d1 > chord + 1e-9 * d0 + 1e-14:
                message = (
                    "profile must be convex in e^epsilon, as every mechanism's is, got more than "
                )
                message += f"the chord allows at {e1:g} (points may be given as a list instead)"
                raise InvalidArgument(message, argument="profile")

    def pair(self, adjacency: Adjacency) -> Pair:
        """The pair whose profile is the lowest chain of chords through the points."""
        from dpacct.mechanisms.laws.knots import above_profile, below_profile
        from dpacct.pld.pair import Pair

        epsilons, deltas = zip(*self.points, strict=True)
        basis = worst_pair(self.what)
        if self.function is None:
            return Pair.of(above_profile(epsilons, deltas), basis)
        # what was computed is rounded
        more = [min(1.0, d * (1.0 + _ROUNDING)) for d in deltas]
        less = [d * (1.0 - _ROUNDING) for d in deltas]
        below = Pair.of(below_profile(epsilons, less))
        return replace(Pair.of(above_profile(epsilons, more), basis), below=below.at)

    def fields(self) -> Fields:
        """The points, as exact text; raises `Unsupported` for a function."""
        if self.function is not None:
            raise unsaved("profile")
        return {"points": _saved(self.points)}

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        """Read the points."""
        return cls(profile=take(fields, "points"))


class CustomTradeoff(Custom, kind="custom-tradeoff", given_by=("tradeoff",)):
    """Least type II error by type I error, for both orders of the neighbours; see `Custom`.

    Points are the corners of a polygon: the line through them is taken, or where that is not convex,
    its hull (f**). A curve lies below the chords of its points: give it as a function.
    """

    points: tuple[Point, ...]
    function: Callable[[float], float] | None

    what = "trade-off function"
    holds = ("points", "function")

    def __init__(self, *, tradeoff: Curve) -> None:
        function = tradeoff if callable(tradeoff) else None
        if function is not None:
            near = [10.0 ** (k / 40.0) for k in range(-520, -40)]
            middle = [k / 600 for k in range(61, 540)]
            alphas = [0.0, *near, *middle, *(1.0 - a for a in reversed(near)), 1.0]
            alphas = sorted(set(alphas))
            points = tuple((a, called(function, a, "tradeoff")) for a in alphas)
        else:
            points = _grid("tradeoff", tradeoff)
        for alpha, beta in points:
            if not (0.0 <= alpha <= 1.0 and -_ROUNDING <= beta <= 1.0 - alpha + _ROUNDING):
                message = "tradeoff must have alpha in [0, 1] and f(alpha) in [0, 1 - alpha], got "
                raise InvalidArgument(f"{message}({alpha!r}, {beta!r})", argument="tradeoff")
        if max(beta for _, beta in points) <= 0.0:
            message = "tradeoff must be above 0 somewhere, got 0 everywhere: nothing is promised"
            raise InvalidArgument(message, argument="tradeoff")
        self._check(points, convex=function is not None)
        self._keep(points=points, function=function)

    @staticmethod
    def _check(points: Sequence[Point], *, convex: bool) -> None:
        """Refuse a trade-off function that no pair has: one that rises or, as a function, is not convex."""
        for (a0, b0), (a1, b1) in pairwise(points):
            if b1 > b0 + _ROUNDING:
                message = f"tradeoff must never rise with alpha, got {b1!r} at {a1:g} after {b0!r}"
                raise InvalidArgument(f"{message} at {a0:g}", argument="tradeoff")
        if not convex:
            return
        for (a0, b0), (a1, b1), (a2, b2) in zip(points, points[1:], points[2:], strict=False):
            chord = b0 + (b2 - b0) * (a1 - a0) / (a2 - a0)
            if b1 > chord + 1e-9:
                message = f"tradeoff must be convex, got {b1!r} at {a1:g}, above the chord there"
                raise InvalidArgument(f"{message} ({shown(chord)})", argument="tradeoff")

    def assumptions(self, adjacency: Adjacency) -> tuple[Assumption, ...]:
        """The assumption that the user's description is true, also between its points."""
        message = f"the {self.what} that was given holds under {adjacency}"
        if self.function is None:
            message = f"the least type II error is on or above the lines through the points under {adjacency}"
        return (Assumption(message, id="stated-guarantee"),)

    def pair(self, adjacency: Adjacency) -> Pair:
        """The pair of the lowest trade-off function that the points allow, made symmetric."""
        from dpacct.mechanisms.laws import knots
        from dpacct.pld.pair import Pair

        alphas = [alpha for alpha, _ in self.points]
        betas = [min(max(beta, 0.0), 1.0 - alpha) for alpha, beta in self.points]
        line, basis = knots.through(alphas, betas), worst_pair(self.what)
        if self.function is None:
            return Pair.of(knots.of_tradeoff(line, 0.0), basis)
        upper = knots.of_tradeoff(knots.below(alphas, betas), _ROUNDING)
        below = Pair.of(knots.of_tradeoff(line, -_ROUNDING))
        return replace(Pair.of(upper, basis), below=below.at)

    def fields(self) -> Fields:
        """The points, as exact text; raises `Unsupported` for a function."""
        if self.function is not None:
            raise unsaved("trade-off function")
        return {"points": _saved(self.points)}

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        """Read the points."""
        return cls(tradeoff=take(fields, "points"))


# --- Renyi divergences

# orders at which a curve is checked when it is brought
_TRIED = [1.0 + 10.0 ** (k / 4.0) for k in range(-16, 17)]
_RENYI_ROUNDING = 1e-9


def _slack(order: float, value: float) -> float:
    """The tolerance for rounding, since order - 1 can be as small as the rounding of 1."""
    return _RENYI_ROUNDING * (1.0 + abs(value)) + 1e-15 / (order - 1.0)


def _is_convex(*points: Point) -> bool:
    """Return whether (order - 1) * rdp at the middle one of three orders is below the chord."""
    (a0, _), (a1, r1), (a2, _) = points
    if not all(value < math.inf for _, value in points):
        return True
    first, middle, last = ((order - 1.0) * value for order, value in points)
    chord = first + (last - first) * (a1 - a0) / (a2 - a0)
    return middle <= chord + 10.0 * _slack(a1, r1) * (a1 - 1.0)


class CustomRenyi(Custom, kind="custom-renyi", given_by=("rdp", "moment")):
    """Renyi DP from a function; see `Custom`. Infinite values are allowed at large orders."""

    function: Callable[[float], float]
    form: str
    _seen: list[Point]

    what = "Renyi curve"
    instead = "profile or tables"
    holds = ("function", "form")
    has_pairs = False

    def __init__(
        self,
        *,
        rdp: Callable[[float], float] | None = None,
        moment: Callable[[float], float] | None = None,
    ) -> None:
        form, function = ("rdp", rdp) if rdp is not None else ("moment", moment)
        if not callable(function):
            message = f"{form} must be a function of one number, got {shown(function)}"
            raise InvalidArgument(message, argument=form)
        self._keep(function=function, form=form, _seen=[])
        for order in _TRIED:
            if not self._at(order) < math.inf:
                break
        if not self._seen[0][1] < math.inf:
            message = f"{form} must be finite at order {_TRIED[0]:g}, got inf: nothing is promised"
            raise InvalidArgument(message, argument=form)

    def _at(self, order: float) -> float:
        """Renyi DP at this order, checked against what it was at others."""
        value = self._read(order)
        message = f"{self.form} must give a Renyi divergence"
        if value < 0.0:
            raise InvalidArgument(
                f"{message} of at least 0, got {value!r} at order {order:g}", argument=self.form
            )
        place = bisect_left(self._seen, (order, value))
        before, after = self._seen[max(0, place - 2) : place], self._seen[place : place + 2]
        for (left, at_one), (right, at_two) in pairwise([*before[-1:], (order, value), *after[:1]]):
            if at_two < at_one - _slack(left, at_one):
                got = f"got {at_two!r} at order {right:g} after {at_one!r} at {left:g}"
                raise InvalidArgument(
                    f"{message} that never falls with the order, {got}", argument=self.form
                )
        near = [*before, (order, value), *after]
        for triple in zip(near, near[1:], near[2:], strict=False):
            if not _is_convex(*triple):
                message = f"{self.form} must make (order - 1) * rdp convex in the order"
                raise InvalidArgument(
                    f"{message}, which fails at order {triple[1][0]:g}", argument=self.form
                )
        if value < math.inf and not (after and after[0][0] == order):
            self._seen.insert(place, (order, value))
        elif not self._seen:
            self._seen.append((order, value))
        return value

    def _read(self, order: float) -> float:
        if self.form == "rdp":
            return called(self.function, order, "rdp")
        s = order - 1.0
        value = called(self.function, s, "moment")
        if not value >= 1.0 - _RENYI_ROUNDING:
            message = (
                f"moment must be at least 1 (it is E[e^(sL)], L a privacy loss), got {value!r}"
            )
            raise InvalidArgument(f"{message} at s = {s:g}", argument="moment")
        return math.log(max(1.0, value)) / s if value < math.inf else math.inf

    def renyi(
        self, orders: NDArray[np.floating[Any]], adjacency: Adjacency
    ) -> NDArray[np.floating[Any]]:
        """The function, at each order."""
        import numpy as np

        return np.array([self._at(order) for order in orders.tolist()])


# --- a profile in a file, as people have them: with a heading, a byte-order mark, semicolons

_NUMBER = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"


def read_profile(path: str | Path) -> list[tuple[float, float]]:
    """(epsilon, delta) by line; `InvalidArgument` names a line that does not fit a profile."""
    rows = [(number, *_pair(path, number, cells)) for number, cells in _lines(path)]
    if not rows:
        message = (
            f"path must be a file with lines of epsilon,delta, and {shown(str(path))} has none"
        )
        raise InvalidArgument(message, argument="path")
    rows.sort(key=lambda row: row[1])
    for (before, e0, d0), (number, e1, d1) in pairwise(rows):
        if d1 > d0 or (e1 == e0 and d1 != d0):
            message = (
                f"line {number} of {path} must not have a larger delta than line {before}, got "
            )
            raise InvalidArgument(
                f"{message}{d1:g} at epsilon {e1:g} after {d0:g} at {e0:g}", argument="path"
            )
    return [(epsilon, delta) for _, epsilon, delta in rows]


def _lines(path: str | Path) -> list[tuple[int, list[str]]]:
    """Numbered lines that have cells, without the heading."""
    import csv
    from pathlib import Path

    try:
        # a byte-order mark, as spreadsheets write it, is no part of the first number
        text = Path(path).read_text(encoding="utf-8-sig")
        first = text.lstrip().split("\n", 1)[0]
        mark = next(
            (candidate for candidate in ";\t" if candidate in first and "," not in first), ","
        )
        rows = [*enumerate(csv.reader(text.splitlines(), delimiter=mark), 1)]
    except (OSError, UnicodeDecodeError, TypeError, ValueError, csv.Error) as wrong:
        message = f"path must be a readable file of epsilon,delta, got {shown(path)}: "
        raise InvalidArgument(f"{message}{shown(str(wrong))}", argument="path") from None
    numbered = [(number, [cell.strip() for cell in row]) for number, row in rows]
    numbered = [
        (number, row) for number, row in numbered if any(row) and not row[0].startswith("#")
    ]
    if numbered and not any(re.fullmatch(_NUMBER, cell) for cell in numbered[0][1]):
        heading = [cell.lower() for cell in numbered.pop(0)[1]]
        if "delta" in heading[0] or any("eps" in cell for cell in heading[1:]):
            message = f"the columns of {path} must be epsilon and delta, in this order, got {shown(heading)}"
            raise InvalidArgument(message, argument="path")
    return numbered


def _pair(path: str | Path, number: int, cells: list[str]) -> tuple[float, float]:
    if len(cells) != 2 or not all(re.fullmatch(_NUMBER, cell) for cell in cells):
        message = (
            f"line {number} of {path} must be two numbers, epsilon and delta, got {shown(cells)}"
        )
        raise InvalidArgument(message, argument="path")
    epsilon, delta = map(float, cells)
    if not (0.0 <= epsilon < math.inf and 0.0 <= delta <= 1.0):
        message = f"line {number} of {path} must have epsilon >= 0 and delta in [0, 1], got {shown(cells)}"
        raise InvalidArgument(message, argument="path")
    return epsilon, delta

"""The search for the boundary value of one monotone parameter of a plan, on the safe side of a target.

How far a plan is from the target is measured between normal scores sqrt(-2 log delta), a scale that is nearly
linear in the logarithm of most parameters. A first value comes from the normal law whose loss is as wide, a
better one from saddle-point estimates; then secants, of the leading direction alone until the last.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, cached_property
from typing import NamedTuple

from dpacct.answer import Answer
from dpacct.declare.number import shown
from dpacct.errors import InvalidArgument, OutsideDomain
from dpacct.plan.composition import Composition
from dpacct.plan.node import Node, resolve_adjacency
from dpacct.plan.routes import QUICK, ROUTES, epsilon, safe_log_delta
from dpacct.pld.bracket.search import towards
from dpacct.pld.budget import WORK, Overspent, metered, one_question, spent
from dpacct.pld.interval import Interval
from dpacct.pld.roots import WIDTH, falls_in_log, near_root, real, whole
from dpacct.pld.stable import TooFine
from dpacct.vocabulary import Adjacency, Side, Strength

# relative widths that the normal law and estimates leave, and the farthest that secants go from these
_CLOSE = 0.01
# what says that a value lies outside of what the mechanisms of a plan are defined for
_OUTSIDE = (InvalidArgument, OutsideDomain, TooFine)


def score(log_delta: float) -> float:
    """About the normal quantile of 1 - delta; increasing in privacy, finite for delta in [0, 1)."""
    if log_delta >= 0.0:
        return -1e6
    return 1e8 if log_delta < -5e15 else math.sqrt(-2.0 * log_delta)


def _noisy(answer: Answer) -> bool:
    """Return whether the two ends of delta are farther apart than a stated error estimate allows.

    Where theory leaves two pairs (fixed size), only the grade says that each is computed to 1e-9.
    """
    if answer.strength in (Strength.PROVED, Strength.CONVERGED):
        return False
    lower, upper = answer.lower or 0.0, 1.0 if answer.upper is None else answer.upper
    # relative distance of delta's ends up to which they count as one number: a converged answer's
    return upper - lower > 2e-9 * upper


class Boundary(NamedTuple):
    """The last safe value and the first unsafe one; None if the range has none."""

    safe: float | None
    unsafe: float | None
    missed: float | None = None  # a value that surely misses the target


class BuildFailed(Exception):
    """An arithmetic error within the caller's own function, which no search may take for its own."""


@contextmanager
def own_errors() -> Iterator[None]:
    """Raise what the caller's function raised, as it raised it."""
    try:
        yield
    except BuildFailed as failed:
        assert failed.__cause__ is not None
        raise failed.__cause__ from None


def making_plans(build: Callable[..., Node]) -> Callable[..., Node]:
    """`build` with its result checked: raises `InvalidArgument` for anything but a plan.

    A division by zero or an overflow within `build` becomes a `BuildFailed`; ask within `own_errors()`.
    """
    built: object = build
    if not callable(built):
        message = f"build must be a function that makes a plan from a number, got {shown(built)}"
        raise InvalidArgument(message, argument="build")

    def made(number: float) -> Node:
        try:
            plan: object = build(number)
        except (ZeroDivisionError, OverflowError) as error:
            raise BuildFailed from error
        if not isinstance(plan, Node):
            message = "build must make a plan, such as dp.Gaussian(sigma=1)"
            raise InvalidArgument(
                f"{message}: of {float(number):g} it made {shown(plan)}", argument="build"
            )
        return plan

    return made


@dataclass
class Search:
    """A search over a parameter from `low` to `high`, with the answers known so far."""

    build: Callable[..., Node]
    epsilon: float
    log_delta: float
    method: str
    adjacency: Adjacency | None
    low: float
    high: float
    integer: bool
    _answers: dict[float, tuple[float, Answer]] = field(default_factory=dict)
    # where similar plans were answered, as long as they are answered to rounding
    _tilts: dict[int, float] | None = field(default_factory=dict)
    _blur: float = 0.0
    _leading: int = 0  # the direction with the larger delta, as far as is known

    @one_question()
    def boundary(self) -> Boundary:
        """The boundary of the values that meet the target; as far as the work of a question goes.

        Raises `NotCertified` where that ends before any value was shown to meet it.
        """
        try:
            with metered():
                return self._boundary_within()
        except Overspent:
            # more is riskier, or less: the last value that met the target, and the first beyond that did not
            safe = [x for x, (excess, _) in self._answers.items() if excess <= 0.0]
            unsafe = [x for x, (excess, _) in self._answers.items() if excess > 0.0]
            if not safe or not unsafe:
                raise
            if max(safe) < min(unsafe):
                return Boundary(max(safe), min(unsafe))
            return Boundary(min(safe), max(unsafe))

    def _boundary_within(self) -> Boundary:
        try:
            result = self._boundary()
        except _OUTSIDE:  # a trial farther out than the mechanisms can be stated
            inside = self._inside()
            if inside is None:
                raise
            self.low, self.high = (self._last_inside(inside, e) for e in (self.low, self.high))
            result = self._boundary()
        if result.missed is not None or result.safe is None or result.unsafe is None:
            return result
        if self.answer(result.safe).side is not Side.TWO_SIDED:
            return result
        return result._replace(missed=self._surely_missed(result.safe, result.unsafe))

    def settled(self, safe: float, delta: Fraction) -> float:
        """The safe value, moved until epsilon at `delta` is met too when it is asked for.

        Brackets of epsilon and of delta come from two tilts, so that one upper end may be within the target
        where the other is 1e-5 above it. Of readings to rounding the margin of the search covers both.
        """
        safe = int(safe) if self.integer else safe
        answer, upward = self.answer(safe), self._upward(safe)
        if answer.side is not Side.TWO_SIDED or not _noisy(answer):
            return safe
        step = 0.0
        # moves of a bracketed boundary, of which one or two are enough
        for _ in range(8):
            upper = epsilon(self.build(safe), delta, self.method, self.adjacency).upper
            met = self._at(safe)[0] <= 0.0
            if upper is not None and upper <= self.epsilon and met:
                break
            excess = math.log(upper / self.epsilon) if upper and self.epsilon else WIDTH
            step = 2.0 * step + 1.5 * max(excess, WIDTH)
            moved = safe * math.exp(step if upward else -step)
            if self.integer:
                moved = math.ceil(moved) if upward else math.floor(min(moved, safe - 1))
            if not self.low <= moved <= self.high:
                break
            safe = moved
        return safe

    def _upward(self, safe: float) -> bool:
        """Return whether more of the parameter is safer, from the trials that were made."""
        missed = [x for x, (excess, _) in self._answers.items() if excess > 0.0 and x != safe]
        return not missed or min(missed, key=lambda x: abs(x - safe)) < safe

    def answer(self, x: float) -> Answer:
        """Delta of the plan of this value, by its safe end."""
        return self._at(x)[1]

    def _excess(self, x: float) -> float:
        """Positive where the plan misses the target: the gap between the normal scores of delta."""
        return self._at(x)[0]

    def _at(self, x: float) -> tuple[float, Answer]:
        if x not in self._answers:
            self._answers[x] = self._asked(x)
        return self._answers[x]

    def _asked(self, x: float) -> tuple[float, Answer]:
        node = self.build(x)
        if self.log_delta == -math.inf:  # delta 0: the sum of the largest losses
            answer = node.epsilon(0, method=self.method, adjacency=self.adjacency)
            least = max(float(answer), 1e-300)
            return math.log(least / self.epsilon) if self.epsilon else float(answer), answer
        with towards(self.log_delta):
            answer, log_delta = safe_log_delta(
                node, self.epsilon, method=self.method, adjacency=self.adjacency, tilts=self._tilts
            )
        if self._tilts and _noisy(answer):
            # bounds depend on the starting point; a later question about the answer starts afresh
            self._tilts = None
            return self._asked(x)
        # relative width of a parameter that is found by brackets
        self._blur = 2e-5 if answer.side is Side.TWO_SIDED and _noisy(answer) else 0.0
        return self._aim - score(log_delta), answer

    @cached_property
    def _aim(self) -> float:
        return score(self.log_delta)

    def _boundary(self) -> Boundary:
        ask = self._cautious if self.log_delta > -math.inf else self._excess
        if self.integer:
            ends = int(self.low), int(self.high)
            return Boundary(*whole(ask, *ends, lambda: spent() > WORK))
        if self.log_delta == -math.inf:
            return Boundary(*real(ask, self.low, self.high))
        if self._needs_nothing():
            return Boundary(self.low, None)
        start = self._by_estimates()
        quick = None if start is None else self._by_secants(*start)
        if quick is not None:
            return quick
        at = min(max(1.0 if start is None else start[0], self.low), self.high)
        if start is not None:
            safe, unsafe = falls_in_log(
                self._cautious, at, start[1], self._accepted, self.low, self.high, _CLOSE, 1e-5
            )
            if unsafe is not None and safe is not None:
                return Boundary(safe, unsafe)
        # no estimate, or one of a few large losses, whose slope can have the wrong sign
        return Boundary(
            *real(self._cautious, self.low, self.high, start=at, accepted=self._accepted)
        )

    def _accepted(self) -> float:
        """The relative width at which the search ends: what brackets leave, or any once work is out."""
        return math.inf if spent() > WORK else max(WIDTH, self._blur)

    def _needs_nothing(self) -> bool:
        """Return whether sampling alone meets the target at both ends, whatever the noise."""
        # the middle first: most plans end here, and the low end may lie outside of what is defined
        for x in (min(max(1.0, self.low), self.high), self.low, self.high):
            try:
                plan = self._composed(x)
            except InvalidArgument:  # farther out than the mechanism is defined
                return False
            if plan is None or plan.log_touched > self.log_delta:
                return False
        return True

    @cached_property
    def _composed(self) -> Callable[[float], Composition | None]:
        """The plan of a value; None where it is not answered by the exact route."""

        @cache
        def composed(x: float) -> Composition | None:
            node = self.build(x)
            exact = self.method in (QUICK, ROUTES["exact"].name)
            if not exact or not all(leaf.has_pairs for leaf, _ in node.releases()):
                return None
            return Composition(node, resolve_adjacency(node, self.adjacency))

        return composed

    @cached_property
    def _cautious(self) -> Callable[[float], float]:
        """`_excess`, or what a cheap bound makes of it where that shows that the target is met by far.

        There the answer itself may be a number below all floats, and take long. What is known exactly is
        never called safer than what is known by its bound, so that the whole increases where privacy falls.
        """
        # nats below the target at which a bound of delta is all that the search asks for
        far = self.log_delta - 30.0

        @cache
        def cautious(x: float) -> float:
            plan = self._composed(x)
            if plan is None:
                return self._excess(x)
            if (touched := plan.log_touched) <= self.log_delta:
                return self._aim - score(touched)  # met by sampling alone
            if not plan.has_contour:
                return self._excess(x)
            bound = max(direction.log_delta_bound(self.epsilon) for direction in plan.upper)
            if bound < far:
                return self._aim - score(bound)
            return max(self._excess(x), self._aim - score(far))

        return cautious

    def _by_estimates(self) -> tuple[float, float, float] | None:
        """About the root, the slope and half the bend there in log x; None where nothing tells.

        Normal losses of scale mu have Chernoff's bound at z = (epsilon - mu^2/2)/mu, so the target asks
        for mu = sqrt(z^2 + 2 epsilon) - z, z = sqrt(-2 log delta).
        """
        first = min(max(1.0, self.low), self.high)
        if self._composed(first) is None:
            return None
        aim = self.epsilon / (
            0.5 * (math.hypot(self._aim, math.sqrt(2.0 * self.epsilon)) + self._aim)
        )

        def wider(x: float) -> tuple[float, float]:
            plan = self._composed(x) if self.low <= x <= self.high else None
            scale = 0.0 if plan is None else plan.scale
            # the normal law leaves 30 % of the parameter, estimates 1 %
            return (math.log(scale / aim) if scale > 0.0 < aim else math.nan), 0.3

        def rough(x: float) -> tuple[float, float]:
            return (self._estimate(x) if self.low <= x <= self.high else math.nan), _CLOSE

        about = near_root(wider, first, -1.0)
        if about is None:
            return None
        return near_root(rough, about[0], (self.epsilon / aim + 0.5 * aim) * about[1])

    def _estimate(self, x: float) -> float:
        """`_excess` by the saddle-point estimate of the direction that leads; nan if there is none."""
        plan, tilts, best = self._composed(x), self._tilts or {}, math.nan
        for k, direction in enumerate([] if plan is None else plan.upper):
            if not direction.has_contour:
                return math.nan
            if tilts and k != self._leading:
                continue
            value, tilt = direction.estimate(self.epsilon, tilts.get(k, 0.0))
            if not best >= value:
                best, self._leading = value, k
                tilts[k] = tilt
        return self._aim - score(best) if math.isfinite(best) else math.nan

    def _one_direction(self, x: float) -> tuple[Interval, bool]:
        """Log delta in the leading direction alone, and whether data sets have it."""
        node = self.build(x)
        plan = Composition(node, resolve_adjacency(node, self.adjacency), self._tilts)
        k = min(self._leading, len(plan.upper) - 1)
        solved = plan.upper[k].log_delta(self.epsilon)
        if solved.tilt and self._tilts is not None:
            self._tilts[k] = solved.tilt
        return solved, plan.lower is None

    def _by_secants(self, x: float, slope: float, bend: float) -> Boundary | None:
        """The boundary in four or five evaluations, all but one of them of one direction only.

        None where no line carries the plan, or its delta is not as smooth as that.
        """
        half = math.copysign(0.4 * WIDTH, -slope)  # into safety
        solved, _ = self._one_direction(x)
        if not solved.resolved:
            return None
        value, move = self._aim - score(solved.upper), math.inf
        chords: list[tuple[float, float]] = []
        for _ in range(8):
            # to the root of a parabola, and a little into safety
            step = -value / slope
            last, move = move, half + step - bend * step * step / slope
            following = x * math.exp(move) if abs(move) < 0.3 else math.nan
            if not self.low <= following <= self.high:
                return None
            arrives = abs(move * last) < min(5.0 * WIDTH, 1e-3 * abs(last))
            before = value
            if arrives:
                value = self._excess(following)
            else:
                solved, _ = self._one_direction(following)
                value = self._aim - score(solved.upper) if solved.resolved else math.nan
            if abs(move) > 1e-9 and value != before:
                chords.append((math.log(x) + 0.5 * move, (value - before) / move))
                if len(chords) > 1:
                    (at, first), (then, second) = chords[-2:]
                    bend = 0.5 * (second - first) / (then - at)
                slope = chords[-1][1] + bend * move
            past = value / slope  # how far in log x beyond the root
            # where another direction turns out to lead, the excess jumps, and the slope with it
            if arrives and value <= 0.0 <= past / half < 1.5:
                beyond = following * math.exp(-past - half)
                result, realised = self._one_direction(beyond)
                if not result.resolved or result.upper <= self.log_delta:
                    return None
                sure = realised and result.lower > self.log_delta
                return Boundary(following, beyond, beyond if sure else None)
            x = following
        return None

    def _surely_missed(self, safe: float, unsafe: float) -> float | None:
        """A value a little beyond the boundary whose delta is above the target even at its lower end."""
        way = math.copysign(1.0, unsafe - safe)
        widths: tuple[float, ...] = (0.0, 1e-9, 1e-8, 1e-7)
        if _noisy(self.answer(safe)):  # as far as its two ends are apart, and half as much again
            widths = (1.5 * self._blur,)
        for k, width in enumerate(widths):
            x = unsafe + way * k if self.integer else unsafe * math.exp(way * width)
            if not self.low <= x <= self.high:
                break
            lower = self.answer(x).lower
            if lower and math.log(lower) > self.log_delta:
                return x
        return None

    def _inside(self) -> float | None:
        """A value for which the mechanisms of the plan can be stated: 1, or one of many others; or None."""
        tried = 64
        steps = (self.low * (self.high / self.low) ** (k / tried) for k in range(tried + 1))
        trials = (min(max(1.0, self.low), self.high), *steps)
        if self.integer:
            trials = tuple(map(round, trials))
        return next((x for x in trials if not self._outside(x)), None)

    def _last_inside(self, inside: float, end: float) -> float:
        """The end, or the last value before it for which the mechanisms of the plan can be stated."""
        if not self._outside(end):
            return end
        while abs(math.log(end / inside)) > 1e-15:
            middle = math.sqrt(inside) * math.sqrt(end)
            if self.integer:
                middle = round(middle)
            if middle in (inside, end):
                break
            inside, end = (inside, middle) if self._outside(middle) else (middle, end)
        return inside

    def _outside(self, x: float) -> bool:
        try:
            node = self.build(x)
            adjacency = resolve_adjacency(node, self.adjacency)
            for leaf, _ in node.releases():
                (leaf.pairs if leaf.has_pairs else leaf.moments)(adjacency)
        except _OUTSIDE:
            return True
        return False

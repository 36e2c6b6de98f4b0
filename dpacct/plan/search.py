"""The search for the boundary value of one monotone parameter of a plan, on the safe side of a target.

How far a plan is from the target is measured between normal scores of delta, a scale that is nearly linear
in the logarithm of most parameters.

Trials of a search are no answers: a rough value first, the saddle-point estimate, which costs a third of an
evaluation; one direction next, which costs half of both. The two ends are settled by whole evaluations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, cached_property
from typing import Any, NamedTuple

from dpacct.answer import Answer
from dpacct.declare.number import shown
from dpacct.errors import InvalidArgument, OutsideDomain
from dpacct.plan.composition import Composition
from dpacct.plan.node import Node, resolve_adjacency
from dpacct.plan.routes import ROUTES, epsilon, safe_log_delta
from dpacct.pld.bracket.search import towards
from dpacct.pld.budget import WORK, Overspent, metered, one_question, spent
from dpacct.pld.interval import Interval
from dpacct.pld.roots import WIDTH, near_root, real, whole
from dpacct.pld.stable import TooFine
from dpacct.vocabulary import Adjacency, Side, Strength

# relative widths: of the bracket from the normal approximation; of what estimates, and fine ones, leave to
# the better trials; and the farthest that those may be from where the rough ones end
_NEAR, _CLOSE, _CLOSER, _FAR = 0.3, 0.01, 2e-4, 0.3
_FINE = 1e-2  # what a fine estimate of log delta may be off by
# relative distance of delta's ends up to which they count as one number: a converged answer's
_SHARP = 2e-9
_SCALES = (1e-150, 1e150)  # of a loss, at which a normal law is asked
# what says that a value lies outside of what the mechanisms of a plan are defined for, and values tried then
_OUTSIDE, _TRIED = (InvalidArgument, OutsideDomain, TooFine), 64
# nats below the target at which a bound of delta is all that the search asks for
_BY_FAR = 30.0
_SETTLES = 8  # moves of a bracketed boundary, of which one or two are enough
_ROOT_2, _LOG_ROOT_2_PI = math.sqrt(2.0), 0.5 * math.log(2.0 * math.pi)
# standard deviations beyond which a Gaussian tail vanishes: e^{-10^60}
_FARTHEST = 1e30
# and those of the other tail beyond which one minus it is
_SURELY = -5.0


# -- trials ----------------------------------------------------------------------------------------------


def score(log_delta: float) -> float:
    """About the normal quantile of 1 - delta; increasing in privacy, finite for delta in [0, 1)."""
    if log_delta >= 0.0:
        return -1e6
    return 1e8 if log_delta < -5e15 else math.sqrt(-2.0 * log_delta)


def normal_score(mu: float, epsilon: float) -> float:
    """Score of about the Gaussian whose loss has this standard deviation: a first guess for any plan."""
    if mu * _FARTHEST <= epsilon:
        return score(-math.inf)
    low, high = epsilon / mu - 0.5 * mu, epsilon / mu + 0.5 * mu
    if low < _SURELY:  # delta is 1 to all digits, but how surely is still told
        return low
    # delta = phi(low) (m(low) - m(high)) with Mills' ratio m
    if low <= 0.0:
        lost = math.exp(min(epsilon, 700.0)) * math.erfc(high / _ROOT_2)
        return score(math.log(0.5 * max(math.erfc(low / _ROOT_2) - lost, 1e-300)))
    return score(-0.5 * low * low + _log_mills_fall(low, high, mu) - _LOG_ROOT_2_PI)


def _noisy(answer: Answer) -> bool:
    """Return whether the two ends of delta are farther apart than a stated error estimate allows.

    Where theory leaves two pairs (fixed size), only the grade says that each is computed to 1e-9.
    """
    if answer.strength in (Strength.PROVED, Strength.CONVERGED):
        return False
    lower, upper = answer.lower or 0.0, 1.0 if answer.upper is None else answer.upper
    return upper - lower > _SHARP * upper


@dataclass
class Trials:
    """Evaluations at one epsilon, each starting from where the last one ended."""

    epsilon: float
    adjacency: Adjacency | None
    leading: int = 0  # the direction with the larger delta, as far as is known
    realised: bool = False
    off: float = math.inf  # of the last estimate
    tilts: dict[int, float] = field(default_factory=dict)  # for the next evaluation

    @staticmethod
    def apply(node: Node, method: str) -> bool:
        """Return whether the plan is answered by the exact route, which these are trials of."""
        return method in ("quick", ROUTES["exact"].name) and all(
            leaf.has_pairs for leaf, _ in node.releases()
        )

    def _plan(self, node: Node, tilts: Mapping[int, float]) -> Composition:
        return Composition(node, resolve_adjacency(node, self.adjacency), tilts)

    def rough(self, node: Node) -> float:
        """Estimate of log delta in the direction that leads, off by about `off`; NaN if there is none.

        Which one leads is seen at the first trial, and checked by the whole evaluation at the end.
        """
        directions = self._plan(node, self.tilts).upper
        best: Interval | None = None
        for k, direction in enumerate(directions):
            if self.tilts and k != min(self.leading, len(directions) - 1):
                continue
            if not direction.has_contour:
                return math.nan
            if best is not None and direction.hardly_leads(self.epsilon, best):
                continue
            try:
                estimate = direction.estimate(self.epsilon)
            except TooFine:
                return math.nan
            if best is None or estimate.value > best.value:
                best, self.leading = estimate, k
        assert best is not None
        self.off = best.error
        if math.isfinite(best.value):
            self.tilts[self.leading] = best.tilt
        return best.value

    def one_direction(self, node: Node) -> Interval:
        """Log delta in the leading direction alone; `realised` then says whether data sets have it."""
        plan = self._plan(node, self.tilts)
        self.realised = plan.lower is None
        k = min(self.leading, len(plan.upper) - 1)
        solved = plan.upper[k].log_delta(self.epsilon)
        if solved.tilt:
            self.tilts[k] = solved.tilt
        return solved


def _log_mills_fall(low: float, high: float, apart: float) -> float:
    """About log(m(low) - m(high)), to a few per cent, with m = (1 - Phi)/phi and 0 <= low = high - apart.

    m(z) is about 2 / (z + sqrt(z^2 + 8/pi)); the difference is written so that nothing cancels.
    """
    first, second = (math.sqrt(z * z + 8.0 / math.pi) for z in (low, high))
    rise = 1.0 + (low + high) / (first + second)
    return math.log(apart) + math.log(2.0 * rise / ((low + first) * (high + second)))


# -- the search ------------------------------------------------------------------------------------------


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
        for _ in range(_SETTLES):
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

    def _lower_excess(self, x: float) -> float:
        """Return `_excess` by the lower end of delta."""
        lower = self.answer(x).lower
        return self._aim - score(math.log(lower)) if lower else -math.inf

    def _at(self, x: float) -> tuple[float, Answer]:
        if x not in self._answers:
            self._answers[x] = self._asked(x)
        return self._answers[x]

    def _asked(self, x: float) -> tuple[float, Answer]:
        node = self.build(x)
        with towards(self.log_delta):
            answer, log_delta = safe_log_delta(
                node, self.epsilon, method=self.method, adjacency=self.adjacency, tilts=self._tilts
            )
        if self._tilts and _noisy(answer):
            # bounds depend on the starting point; a later question about the answer starts afresh
            self._tilts = None
            return self._asked(x)
        return self._aim - score(log_delta), answer

    @cached_property
    def _aim(self) -> float:
        return score(self.log_delta)

    def _boundary(self) -> Boundary:
        if self.integer:
            ends = int(self.low), int(self.high)
            return Boundary(*whole(self._cautious, *ends, lambda: spent() > WORK))
        if self._needs_nothing():
            return Boundary(self.low, None)
        guess = self._by_normal_law()
        quick = self._quickly(guess)
        if quick is not None:
            return quick
        ceiling = self._at_the_ceiling()
        if ceiling is not None:
            return ceiling
        start = min(max(guess[0] if guess else 1.0, self.low), self.high)
        width = max(WIDTH, self._blur(start))
        about: dict[str, Any] = {"start": start, "width": width, "enough": lambda: spent() > WORK}
        result = Boundary(*real(self._cautious, self.low, self.high, **about))
        if width > WIDTH and result.safe is not None and result.unsafe is not None:
            finer = max(WIDTH, self._blur(result.safe))  # where the two ends of delta are closer
            if finer < 0.5 * width:
                about |= {"start": result.safe, "width": finer}
                result = Boundary(*real(self._cautious, self.low, self.high, **about))
        return result

    def _at_the_ceiling(self) -> Boundary | None:
        """The boundary where no loss exceeds epsilon, if delta just before it is above the target; else None.

        There log delta falls to -inf within less than readings resolve, and a search by it ends far away.
        """

        def above(x: float) -> float:
            plan = self._composed(x)
            ends = [math.inf] if plan is None else [way.ceiling for way in plan.upper]
            infinite = plan is None or any(way.log_kept < 0.0 for way in plan.upper)
            if infinite or not 0.0 < max(ends) < math.inf:
                raise TooFine
            return math.log(max(ends) / self.epsilon) if self.epsilon else math.inf

        try:
            safe, unsafe = real(above, self.low, self.high)
        except _OUTSIDE:
            return None
        if safe is None or unsafe is None:
            return None
        met = self._excess(safe) <= 0.0 < self._excess(unsafe)
        return Boundary(safe, unsafe, unsafe) if met else None

    def _blur(self, x: float) -> float:
        """A tenth of how far in log x delta's two ends are apart, as normal scores go about like x."""
        if not self._cautious(x) > self._aim - score(self.log_delta - _BY_FAR):
            return 0.0
        answer = self.answer(x)
        if not (answer.upper and answer.lower and _noisy(answer)):
            return 0.0
        return 0.1 * min(1.0, math.log(answer.upper / answer.lower) / score(self.log_delta) ** 2)

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
            if not Trials.apply(node, self.method):
                return None
            return Composition(node, resolve_adjacency(node, self.adjacency))

        return composed

    @cached_property
    def _cautious(self) -> Callable[[float], float]:
        """`_excess`, or what a cheap bound makes of it where that shows that the target is met by far.

        There the answer itself may be a number below all floats, and take long. What is known exactly is
        never called safer than what is known by its bound, so that the whole increases where privacy falls.
        """
        far = self.log_delta - _BY_FAR

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

    def _by_normal_law(self) -> tuple[float, float] | None:
        """About the root, and the slope there, were losses normal; None where they have no such scale."""
        first = min(max(1.0, self.low), self.high)
        plan = self._composed(first)
        if plan is None:
            return None

        @cache
        def scale(x: float) -> float:
            plan = self._composed(x)
            assert plan is not None
            return plan.scale

        def normal(mu: float) -> float:
            return self._aim - normal_score(mu, self.epsilon)

        enough, too_much = real(normal, *_SCALES, start=max(scale(first), _SCALES[0]), width=_NEAR)
        if enough is not None and too_much is not None:
            aim = math.sqrt(enough * too_much)
            steep = (normal(too_much) - normal(enough)) / math.log(too_much / enough)

            def above(x: float) -> tuple[float, float]:
                inside = self.low <= x <= self.high and scale(x) > 0.0
                return math.log(scale(x) / aim) if inside else math.nan, _NEAR

            about = near_root(above, first, -1.0)
            if about is not None:
                return about[0], steep * about[1]
        safe, unsafe = real(lambda x: normal(scale(x)), self.low, self.high, width=_NEAR)
        if safe is None or unsafe is None:
            return None
        slope = (normal(scale(unsafe)) - normal(scale(safe))) / math.log(unsafe / safe)
        return math.sqrt(safe * unsafe), slope

    def _bracketed(
        self, rough: Callable[[float], tuple[float, float]]
    ) -> tuple[float, float, float, float] | None:
        """Find what `near_root` does by a bracket of estimates; None where there is none of these."""

        @cache
        def excess(x: float) -> float:
            value, _ = rough(x)
            if math.isnan(value):
                raise TooFine
            return value

        try:
            safe, unsafe = real(excess, self.low, self.high, width=_CLOSE)
            if safe is None or unsafe is None:
                return None
            slope = (excess(unsafe) - excess(safe)) / math.log(unsafe / safe)
            return safe * math.exp(-excess(safe) / slope), slope, 0.0, math.inf
        except _OUTSIDE:
            return None

    def _quickly(self, guess: tuple[float, float] | None) -> Boundary | None:
        """The boundary in four or five evaluations, all but one of them of one direction only.

        Rough trials give a start and a slope, secant steps on the leading direction the rest. None where
        the plan has no rough value, or its delta is not as smooth as that.
        """
        if self._tilts is None:  # bounds answer already
            return None
        trials = Trials(self.epsilon, self.adjacency, tilts=self._tilts)

        def rough(x: float) -> tuple[float, float]:
            if not self.low <= x <= self.high:
                return math.nan, math.inf
            log_delta = trials.rough(self.build(x))
            return self._aim - score(log_delta), _CLOSER if trials.off < _FINE else _CLOSE

        def leading(x: float) -> float:
            solved = trials.one_direction(self.build(x))
            return self._aim - score(solved.upper) if solved.resolved else math.nan

        start = near_root(rough, *guess) if guess else None
        if start is None:
            start = self._bracketed(rough)
        if start is None:
            return None
        x, slope, bend, seen = start
        half = math.copysign(0.4 * WIDTH, -slope)  # into safety
        value, move = leading(x), seen if trials.off < _FINE else math.inf
        chords: list[tuple[float, float]] = []
        for _ in range(6):
            # to the root of a parabola, and a little into safety
            step = -value / slope
            last, move = move, half + step - bend * step * step / slope
            following = x * math.exp(move) if abs(move) < _FAR else math.nan
            if not self.low <= following <= self.high:
                return None
            arrives = abs(move * last) < min(5.0 * WIDTH, 1e-3 * abs(last))
            before = value
            value = self._excess(following) if arrives else leading(following)
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
                # the line through the last trials foretold this one: as little farther out it tells as well
                lower = self._lower_excess(following) + slope * (-past - half)
                if not (trials.realised and len(chords) and lower > 0.5 * abs(slope * half)):
                    result = trials.one_direction(self.build(beyond))
                    if result.upper <= self.log_delta:
                        return None
                    lower = result.lower - self.log_delta
                sure = trials.realised and lower > 0.0
                return Boundary(following, beyond, beyond if sure else None)
            x = following
        return None

    def _surely_missed(self, safe: float, unsafe: float) -> float | None:
        """A value a little beyond the boundary whose delta is above the target even at its lower end."""
        way = math.copysign(1.0, unsafe - safe)
        if self.integer:
            trials = [unsafe + way * k for k in range(3)]
        else:
            trials = [unsafe * math.exp(way * width) for width in (0.0, 1e-9, 1e-8, 1e-7)]
        for x in trials:
            if not self.low <= x <= self.high:
                break
            result = self.answer(x)
            if result.lower is not None and result.lower > 0.0:
                if math.log(result.lower) > self.log_delta:
                    return x
                if _noisy(result):
                    break
        return None

    def _inside(self) -> float | None:
        """A value for which the mechanisms of the plan can be stated: 1, or one of many others; or None."""
        steps = (self.low * (self.high / self.low) ** (k / _TRIED) for k in range(_TRIED + 1))
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
                if leaf.has_pairs:
                    leaf.pairs(adjacency)
        except _OUTSIDE:
            return True
        return False

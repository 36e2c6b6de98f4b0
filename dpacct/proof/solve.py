"""delta(eps), eps(delta) and boundary parameters of a plan, each with the claims that prove it."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction

from dpacct.declare.number import ln
from dpacct.errors import NotCertified
from dpacct.plan.node import Node
from dpacct.vocabulary import Adjacency

from .balls import Enclosure
from .check import AT_LEAST, AT_MOST, MORE, Claim, decimal, exact_text
from .direction import FloatAnswers, ProofDirection
from .plan import read_plan

_NEWTON = 12


@dataclass
class Certified:
    """A proven interval, and the claims it follows from."""

    lower: Fraction
    upper: Fraction
    claims: list[Claim] = field(default_factory=list)


def _joined(safe: Certified, short: Certified) -> list[Claim]:
    """Join the claims that one end is safe and that the other is not."""
    claims = [claim for claim in safe.claims if claim.relation == AT_MOST]
    return claims + [claim for claim in short.claims if claim.relation != AT_MOST]


class ProofPlan:
    """A plan under one adjacency, ready for questions.

    `upper` and `lower` are the fast engine's answers, one for each direction: where a search starts.
    """

    def __init__(
        self,
        node: Node,
        adjacency: Adjacency,
        upper: Sequence[FloatAnswers],
        lower: Sequence[FloatAnswers] | None,
    ) -> None:
        self.text, self.adjacency, self.side = node.to_json(), adjacency, "upper"
        sides, realised = read_plan(node, adjacency), lower or upper
        self.upper = [ProofDirection(a, b) for a, b in zip(sides.upper, upper, strict=True)]
        self.lower: list[ProofDirection] | None = None
        if sides.lower is not None:
            # the proof may be of other realised directions than the engine knows: still a lower end
            engines = [*realised, *(None for _ in sides.lower)]
            self.lower = [ProofDirection(a, b) for a, b in zip(sides.lower, engines, strict=False)]

    def half(self, side: str) -> ProofPlan:
        """The plan with its dominating pairs only, or its realised ones only, in the place of both."""
        half = copy.copy(self)
        if side == "lower" and self.lower is not None:
            half.upper, half.side = self.lower, "lower"
        half.lower = None
        return half

    def _claim(
        self,
        side: str,
        k: int,
        direction: ProofDirection,
        epsilon: Fraction,
        relation: str,
        bound: str,
    ) -> Claim:
        contour = str(direction.evidence["form"]).startswith("contour")
        return Claim(
            plan=self.text,
            adjacency=str(self.adjacency),
            side=side,
            direction=k,
            epsilon=exact_text(epsilon),
            relation=relation,
            bound=bound,
            evidence=dict(direction.evidence),
            terms=direction.terms(epsilon) if contour else {},
        )

    # --- delta

    def float_log_delta(self, epsilon: float) -> float:
        """The fast engine's log delta, or nan."""
        return max(direction.float_log_delta(epsilon) for direction in self.upper)

    def delta(self, epsilon: Fraction, width: float) -> Certified:
        """The least delta at epsilon, enclosed; raises `NotCertified`."""
        digits = max(3, math.ceil(-math.log10(width))) + 6
        above = self._largest("upper", self.upper, epsilon, width, digits)
        if self.lower is None:
            return above
        below = self._largest("lower", self.lower, epsilon, width, digits)
        return Certified(below.lower, above.upper, _joined(above, below))

    def _largest(
        self,
        side: str,
        directions: list[ProofDirection],
        epsilon: Fraction,
        width: float,
        digits: int,
    ) -> Certified:
        """The larger delta of several directions; a cheap bound settles those clearly below."""
        enclosures: dict[int, Enclosure] = {}
        best = Fraction(0)
        for k, direction in enumerate(directions):
            if best > 0 and direction.at_most(epsilon, best):
                continue
            enclosures[k] = direction.enclose(epsilon, width)
            best = max(best, enclosures[k].lower)
        leader = max(enclosures, key=lambda k: enclosures[k].lower)
        upper = Fraction(decimal(max(e.upper for e in enclosures.values()), digits, up=True))
        lower = Fraction(decimal(enclosures[leader].lower, digits, up=False))
        claims = [
            self._claim(side, k, d, epsilon, AT_MOST, exact_text(upper))
            for k, d in enumerate(directions)
        ]
        at_least = exact_text(lower)
        claims.append(self._claim(side, leader, directions[leader], epsilon, AT_LEAST, at_least))
        return Certified(lower, upper, claims)

    def meets(
        self, epsilon: Fraction, target: Fraction, nats: float = 7.0
    ) -> tuple[bool | None, list[Claim]]:
        """Return whether delta(epsilon) <= target (True) or > target (False) is proven; None: neither.

        `nats`: about -log of how far delta is from the target, relative, where that is known.
        """
        if all(direction.decide(epsilon, target, nats=nats) for direction in self.upper):
            bound = exact_text(target)
            return True, [
                self._claim(self.side, k, d, epsilon, AT_MOST, bound)
                for k, d in enumerate(self.upper)
            ]
        directions = self.upper if self.lower is None else self.lower
        for k, direction in enumerate(directions):
            if direction.decide(epsilon, target, nats=nats) is False:
                side = self.side if self.lower is None else "lower"
                bound = exact_text(target)
                return False, [self._claim(side, k, direction, epsilon, MORE, bound)]
        return None, []

    # --- epsilon

    def epsilon(self, target: Fraction, width: float) -> Certified:
        """Encloses the least epsilon >= 0 with delta(epsilon) <= target; raises `NotCertified`."""
        above = self._root("upper", self.upper, target, width)
        if self.lower is None:
            return above
        below = self._root("lower", self.lower, target, width)
        return Certified(below.lower, above.upper, _joined(above, below))

    def _root(
        self,
        side: str,
        directions: list[ProofDirection],
        target: Fraction,
        width: float,
    ) -> Certified:
        """The crossing of all directions."""
        which = range(len(directions))
        starts = {k: _starts(directions[k], target) for k in which}
        for k in which:
            if len(starts[k]) > 1:  # a bracket is all that floats have
                others = [*self.upper, *(self.lower or ())]
                near = [_starts(way, target) for way in others if way is not directions[k]]
                (first, last), (least, guess) = starts[k], sorted(starts[k])
                sure = sorted(row[0] for row in near if len(row) == 1 and row[0] > least)[::-1]
                more = [max(row) for row in near if len(row) > 1]
                likely = [*sure, guess] if first < last else [guess, *sure]
                starts[k] = [*likely, *more, least]
        order = sorted(which, key=lambda k: -starts[k][0])  # the largest first
        low = high = Fraction(0)
        leader: int | None = None
        decided: dict[int, Fraction] = {}  # direction -> where it was found to meet the target
        for k in order:
            # a clear crossing needs no look at the floor first
            unclear = leader is not None or starts[k][0] <= 1e-9
            if unclear and _meets(directions[k], high, target):
                decided[k] = high
                continue
            # it is not enough there, so the answer is larger, whatever was guessed
            guesses = [max(guess, float(high)) for guess in starts[k]]
            ends = _crossing(directions[k], guesses, target, width)
            if ends[1] > high:  # a guess may be larger, and the answer smaller
                (low, high), leader = ends, k
        bound = exact_text(target)
        claims = []
        for k in which:
            direction = directions[k]
            # what was decided there is not asked again
            if decided.get(k) != high and not direction.decide(high, target):
                raise NotCertified(f"epsilon {float(high):.6g} could not be proven sufficient")
            claims.append(self._claim(side, k, direction, high, AT_MOST, bound))
        if leader is not None:
            if directions[leader].decide(low, target) is not False:
                raise NotCertified(f"epsilon {float(low):.6g} could not be proven insufficient")
            claims.append(self._claim(side, leader, directions[leader], low, MORE, bound))
        return Certified(low, high, claims)


def _starts(direction: ProofDirection, target: Fraction) -> list[float]:
    """Guesses, the likeliest first; where floats have none, one by bisection among proven answers."""
    guesses = [x for x in direction.float_epsilons(ln(target)) if math.isfinite(x)]
    if guesses:
        return guesses
    low, high = -30.0, 10.0  # of log10 epsilon
    for _ in range(16):
        middle = (low + high) / 2
        x = Fraction(10.0**middle)
        safe = direction.decide(x, target) if direction.closed else direction.at_most(x, target)
        low, high = (low, middle) if safe else (middle, high)
    return [10.0**high]


def _meets(direction: ProofDirection, epsilon: Fraction, target: Fraction) -> bool:
    """Return whether the target is proven to be met; False where nothing is."""
    with suppress(NotCertified):
        return direction.decide(epsilon, target) is True
    return False


def _crossing(
    direction: ProofDirection, guesses: Sequence[float], target: Fraction, width: float
) -> tuple[Fraction, Fraction]:
    """`_crossing_near` the first of the guesses near which there is a proof."""
    for guess in guesses[:-1]:
        with suppress(NotCertified):
            return _crossing_near(direction, guess, target, width)
    return _crossing_near(direction, guesses[-1], target, width)


def _crossing_near(
    direction: ProofDirection, guess: float, target: Fraction, width: float
) -> tuple[Fraction, Fraction]:
    """Two epsilons, one proven too small and one proven large enough, a relative `width` apart."""
    edge = direction.ceiling()
    if edge is not None:
        high = _short(edge, width)
        low = _short(high * (1 - Fraction(width) * 9 / 10), width)
        if direction.decide(low, target, only_edge=True) is False:
            return low, high
    log_target = ln(target)
    x = Fraction(guess)
    slope = direction.float_slope(float(x), log_target)
    previous: tuple[Fraction, float] | None = None
    below, above = Fraction(0), edge
    for _ in range(4):
        fine = min(1e-2, slope * float(x) * width / 8.0) or 1e-2  # at 0 no share of it is wanted
        for _ in range(60 if direction.closed else _NEWTON):
            enclosure = direction.enclose(x, fine, log_target)
            if previous is None:
                slope = direction.steepness(slope)
            middle = (enclosure.lower + enclosure.upper) / 2
            gap = _log_ratio(middle, target)
            if abs(gap) <= fine:
                break
            if gap > 0:
                below = max(below, x)
            else:
                above = x if above is None else min(above, x)
            if previous is not None and previous[1] != gap and abs(gap) < 1.0:
                secant = (previous[1] - gap) / float(x - previous[0])
                slope = secant if secant > 0.0 else slope
            previous = (x, gap)
            move = Fraction(gap / slope)
            following = _short(x + max(move, -x / 2), width)
            if above is not None and not below < following < above:
                following = _short((below + above) / 2, width * 1e-2)
            x = following
        low, high = (
            _short(x * (1 - Fraction(width) * 9 / 20), width),
            _short(x * (1 + Fraction(width) * 9 / 20), width),
        )
        # the number that a user typed as a target is short, and may be met
        typed = _shortest(x * (1 - Fraction(width) * 2 / 10), high)
        if typed < high and direction.enclose(typed, fine, log_target).upper <= target:
            high = typed
        enough = direction.enclose(high, fine, log_target).upper <= target
        if enough and direction.enclose(low, fine, log_target).lower > target:
            return low, high
        slope /= 4.0
    raise NotCertified(f"epsilon could not be enclosed to a relative width of {width:.1e}")


def _log_ratio(value: Fraction, target: Fraction) -> float:
    ratio = (value - target) / target
    if abs(ratio) < Fraction(1, 4):
        return math.log1p(float(ratio))
    return (ln(value) if value > 0 else -1e6) - ln(target)


def _short(value: Fraction, width: float) -> Fraction:
    """A decimal near the value, with two digits more than the width needs."""
    digits = max(6, math.ceil(-math.log10(width)) + 3)
    return Fraction(decimal(value, digits, up=True))


def _shortest(low: Fraction, high: Fraction) -> Fraction:
    """The decimal of fewest digits in [low, high], 0 < low; the high end if there is none short."""
    # digits of a target that users type
    for digits in range(1, 9 + 1):
        value = Fraction(decimal(low, digits, up=True))
        if value <= high:
            return value
    return high


def _slope(build: Callable[[Fraction], ProofPlan], x: float, epsilon: float) -> float:
    """About d log delta/d log x, by the fast engine; 0 where it is not known."""
    step = 1e-4
    ends = [build(Fraction(x * factor)).float_log_delta(epsilon) for factor in (1.0, 1.0 + step)]
    slope = (ends[1] - ends[0]) / step
    return slope if math.isfinite(slope) else 0.0


def boundary(
    build: Callable[[Fraction], ProofPlan],
    guess: float,
    epsilon: Fraction,
    target: Fraction,
    width: float,
) -> tuple[Certified, bool]:
    """(enclosure, whether more is safer) of the parameter at which a plan just meets the target.

    One end is proven to meet delta(epsilon) <= target, the other proven not to. Where the realised
    pairs are other ones than the dominating ones, each end is the boundary of its own.
    """
    if build(Fraction(guess)).lower is None:
        return _boundary(build, guess, epsilon, target, width)
    safe, more_is_safer = _boundary(lambda x: build(x).half("upper"), guess, epsilon, target, width)
    middle = float((safe.lower + safe.upper) / 2)
    short, _ = _boundary(lambda x: build(x).half("lower"), middle, epsilon, target, width)
    ends = (short.lower, safe.upper) if more_is_safer else (safe.lower, short.upper)
    return Certified(*ends, _joined(safe, short)), more_is_safer


def _boundary(
    build: Callable[[Fraction], ProofPlan],
    guess: float,
    epsilon: Fraction,
    target: Fraction,
    width: float,
) -> tuple[Certified, bool]:
    """`boundary` of one side; the guess is moved by the proven gaps at its two sides."""
    half = Fraction(width) * 9 / 20
    x, slope = Fraction(guess), _slope(build, guess, float(epsilon))
    for _ in range(_NEWTON):
        # delta at the middle is cheaper than two ends that are both on one side
        if slope:
            certified = build(x).delta(epsilon, abs(slope) * width / 10.0)
            gap = _log_ratio((certified.lower + certified.upper) / 2, target)
            x = _short(x * (1 - Fraction(gap / slope)), width * 1e-2)
        low, high = _short(x * (1 - half), width), _short(x * (1 + half), width)
        if low <= 0:
            break
        # at the ends log delta is slope * half from the target
        nats = max(7.0, 1.0 - math.log(abs(slope) * float(half))) if slope else 7.0
        (at_low, first), (at_high, second) = (
            build(low).meets(epsilon, target, nats),
            build(high).meets(epsilon, target, nats),
        )
        if at_low is not None and at_high is not None and at_low != at_high:
            return Certified(low, high, first + second), at_high
        # both on one side: the slope of log delta from the two ends
        deltas = [build(end).delta(epsilon, width / 100.0) for end in (low, high)]
        a, b = (_log_ratio((d.lower + d.upper) / 2, target) for d in deltas)
        slope = (b - a) * float(x / (high - low))
        if not slope:
            break
    raise NotCertified(f"the boundary near {guess:.10g} could not be enclosed")


def whole_boundary(
    build: Callable[[int], ProofPlan], guess: int, epsilon: Fraction, target: Fraction
) -> Certified:
    """The largest whole number proven to meet a target, and one above it proven not to.

    That is the next one, unless the realised pairs are other ones than the dominating ones: then the
    least that the engine finds to miss it. Raises `NotCertified`.
    """
    for count in (guess, guess - 1, guess + 1, guess - 2, guess + 2):
        if count < 1:
            continue
        enough, claims = build(count).half("upper").meets(epsilon, target)
        short, others = build(count + 1).half("upper").meets(epsilon, target)
        if enough and short is False:
            break
    else:
        raise NotCertified(f"no whole number near {guess} is proven to be the largest")
    if build(count).lower is None:
        return Certified(Fraction(count), Fraction(count + 1), claims + others)
    low, high = count, count + 1
    while not _misses(build(high), epsilon, target):
        low, high = high, 2 * high
        if high > (10**15):
            raise NotCertified(f"no whole number above {count} is proven to miss the target")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _misses(build(middle), epsilon, target) else (middle, high)
    for most in (high, high + 1, high + high // 10**9 + 2):
        short, others = build(most).half("lower").meets(epsilon, target)
        if short is False:
            return Certified(Fraction(count), Fraction(most), claims + others)
    raise NotCertified(f"no whole number near {high} is proven to miss the target")


def _misses(plan: ProofPlan, epsilon: Fraction, target: Fraction) -> bool:
    """Return whether the engine has the realised pairs miss a target."""
    return plan.half("lower").float_log_delta(float(epsilon)) > ln(target)

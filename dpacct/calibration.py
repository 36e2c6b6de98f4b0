"""Calibration: the boundary value of one monotone parameter, on the safe side of a target.

One solver serves every parameter: noise, sampling rate, steps. It builds the plan at a trial value, asks
for the safe end of delta at the target epsilon, and follows a scale on which that is almost linear.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from dpacct.answer import Answer
from dpacct.domain import DELTA, EPSILON, RATE, STEPS, Number, Real, ln
from dpacct.engine.boundary import WIDTH, real, smooth_root, whole
from dpacct.engine.choice import Start
from dpacct.errors import InvalidArgument, OutsideDomain, Unreachable
from dpacct.tree import Node, resolve_adjacency
from dpacct.vocabulary import Adjacency, Side, Strength

# relative widths: of the bracket from the normal approximation; of what is left to the better trials; and the
# farthest that those may be from where the rough ones end
_NEAR, _CLOSE, _FAR = 0.3, 0.01, 0.1
# of delta in trials of one direction: far below what the bracket's width makes of it
_TRIAL = 1e-10
# nats below the target at which a bound of delta is all that the search asks for
_BY_FAR = 30.0
_LEAST, _MOST = 1e-12, 1e15


@dataclass
class _Target:
    """How far a plan is from the target, on a scale that is nearly linear in a log parameter."""

    epsilon: float
    log_delta: float
    method: str
    adjacency: Adjacency | str | None
    last: Answer | None = field(default=None)
    starts: dict[int, Start] = field(default_factory=dict)  # where similar plans were answered

    def excess(self, node: Node) -> float:
        """Positive where the plan misses the target: the gap between the normal scores of delta."""
        from dpacct.compose.questions import safe_log_delta

        self.last, log_delta = safe_log_delta(
            node,
            self.epsilon,
            method=self.method,
            adjacency=self.adjacency,
            starts=self.starts,
        )
        return _score(self.log_delta) - _score(log_delta)


def _score(log_delta: float) -> float:
    """About the normal quantile of 1 - delta; increasing in privacy, finite for delta in [0, 1)."""
    if log_delta >= 0.0:
        return -1e6
    return 1e8 if log_delta < -5e15 else math.sqrt(-2.0 * log_delta)


def calibrate(
    build: Callable[..., Node],
    *,
    epsilon: Number,
    delta: Number,
    method: str = "auto",
    adjacency: Adjacency | str | None = None,
    integer: bool = False,
    bounds: tuple[float, float] | None = None,
    name: str = "parameter",
) -> Answer:
    """The boundary value of a parameter at which a plan meets (epsilon, delta), on the safe side.

    `build` makes a plan from a value of the parameter, in which privacy must be monotone. `bounds`
    limit the search (default 1e-12 to 1e15; 1 to 10^15 for `integer`). The answer's safe end meets
    the target, its other end does not. Raises `Unreachable` where no value within bounds does,
    `InvalidArgument` out of range.

    >>> import dpacct as dp
    >>> plan = lambda sigma: dp.Poisson(0.01)(dp.Gaussian(sigma=sigma)) * 1000
    >>> answer = calibrate(plan, epsilon=7, delta=1e-5, name="sigma")
    >>> print(f"{float(answer):.6f}")
    0.611546
    """
    started = time.perf_counter()
    target = _Target(
        float(EPSILON.check("epsilon", epsilon)), ln(DELTA.check("delta", delta)), method, adjacency
    )
    low, high = _bounds(bounds, integer)
    excess = _memo(build, target)
    safe: float | None
    unsafe: float | None
    missed: float | None = None  # a value that surely misses the target
    quick = None
    if not integer:
        with suppress(OutsideDomain):  # a trial too far out: the other search goes more slowly
            quick = _quickly(build, target, excess, low, high)
    if quick is not None:
        safe, unsafe, sure = quick
        missed = unsafe if sure else None
    else:
        search = _searched(build, target, excess)
        try:
            safe, unsafe = _boundary(search, low, high, integer)
        except OutsideDomain:
            low, high = _answerable(build, low, high, adjacency)
            safe, unsafe = _boundary(search, low, high, integer)
    if safe is None:
        told = (
            f"no {name} from {low:g} to {high:g} meets epsilon {target.epsilon:g} at "
            f"delta {math.exp(target.log_delta):.6g}"
        )
        raise Unreachable(told, argument=name)
    excess(safe)
    witness = target.last
    assert witness is not None
    upward = unsafe is None or safe >= unsafe
    if unsafe is None:
        missed = safe  # the edge of the search: nothing beyond it is asked about
    elif missed is None and witness.side is Side.TWO_SIDED:
        missed = _surely_missed(excess, target, safe, unsafe, integer, low, high)
    # where delta has an upper end alone the safe value is known to be safe, but not that less won't do
    safe_end: Literal["upper", "lower"] = "upper" if upward else "lower"
    known: dict[str, float] = {}
    side = Side.NONE
    if witness.side in (Side.TWO_SIDED, Side.UPPER):
        known[safe_end] = safe
        side = Side.UPPER if upward else Side.LOWER
        if witness.side is Side.TWO_SIDED and missed is not None:
            known["lower" if upward else "upper"] = missed
            side = Side.TWO_SIDED
    return Answer(
        quantity=name,
        value=safe,
        lower=known.get("lower"),
        upper=known.get("upper"),
        side=side,
        strength=witness.strength,
        method=witness.method,
        basis=witness.basis,
        assumptions=witness.assumptions,
        adjacency=witness.adjacency,
        unit=witness.unit,
        tree=witness.tree,
        seconds=time.perf_counter() - started,
        safe_end=safe_end,
    )


def _surely_missed(
    excess: Callable[[float], float],
    target: _Target,
    safe: float,
    unsafe: float,
    integer: bool,
    low: float,
    high: float,
) -> float | None:
    """A value a little beyond the boundary whose delta is above the target even at its lower end."""
    way = math.copysign(1.0, unsafe - safe)
    trials = [unsafe + way * k for k in range(3)] if integer else []
    for width in (0.0, 1e-9, 1e-8, 1e-7) if not integer else ():
        trials.append(unsafe * math.exp(way * width))
    for x in trials:
        if not low <= x <= high:
            break
        excess(x)
        found = target.last
        assert found is not None
        if found.lower is not None and found.lower > 0.0:
            if math.log(found.lower) > target.log_delta:
                return x
            if found.strength < Strength.CONVERGED:
                break
    return None


def _bounds(bounds: tuple[float, float] | None, integer: bool) -> tuple[float, float]:
    if bounds is None:
        return (1, 10**15) if integer else (_LEAST, _MOST)
    low, high = (float(Real(0, math.inf).check("bounds", end)) for end in bounds)
    if not low < high:
        raise InvalidArgument(f"bounds must increase, got {bounds}", argument="bounds")
    return low, high


def _boundary(
    excess: Callable[[float], float], low: float, high: float, integer: bool
) -> tuple[float | None, float | None]:
    return whole(excess, int(low), int(high)) if integer else real(excess, low, high)


def _searched(
    build: Callable[..., Node], target: _Target, excess: Callable[[float], float]
) -> Callable[[float], float]:
    """`excess`, or what a cheap bound makes of it where that shows that the target is met by far.

    There the answer itself may be a number below all floats, and take long. What is known exactly is never
    called safer than what is known by its bound, so that the whole increases where privacy falls.
    """
    from dpacct.compose.composition import Composition
    from dpacct.compose.trials import Trials

    aim, far = _score(target.log_delta), target.log_delta - _BY_FAR

    @cache
    def search(x: float) -> float:
        node = build(x)
        if not Trials.apply(node, target.method):
            return excess(x)
        plan = Composition(node, resolve_adjacency(node, target.adjacency))
        if not plan.has_contour:
            return excess(x)
        bound = max(direction.log_delta_bound(target.epsilon) for direction in plan.upper)
        return aim - _score(bound) if bound < far else max(excess(x), aim - _score(far))

    return search


def _answerable(
    build: Callable[..., Node], low: float, high: float, adjacency: Adjacency | str | None
) -> tuple[float, float]:
    """The part of the search in which the mechanisms of the plan are defined.

    Of the ends that are outside, the last value inside is found by halving, to a part in 10^12.
    """

    def outside(x: float) -> bool:
        node = build(x)
        adjacent = resolve_adjacency(node, adjacency)
        try:
            for leaf, _ in node.releases():
                if leaf.has_pairs:
                    leaf.pairs(adjacent)
        except OutsideDomain:
            return True
        return False

    def last_inside(end: float) -> float:
        if not outside(end):
            return end
        inside = min(max(1.0, low), high)
        while abs(math.log(end / inside)) > 1e-12:
            middle = math.sqrt(inside) * math.sqrt(end)
            inside, end = (inside, middle) if outside(middle) else (middle, end)
        return inside

    return last_inside(low), last_inside(high)


def _memo(build: Callable[..., Node], target: _Target) -> Callable[[float], float]:
    known: dict[float, tuple[float, Answer | None]] = {}

    def excess(x: float) -> float:
        if x not in known:
            known[x] = (target.excess(build(x)), target.last)
        value, target.last = known[x]
        return value

    return excess


def _quickly(
    build: Callable[..., Node],
    target: _Target,
    excess: Callable[[float], float],
    low: float,
    high: float,
) -> tuple[float, float, bool] | None:
    """The same as `real` in four or five evaluations, all but one of them of one direction only.

    The last item is whether the unsafe end misses the target even with the lower end of its delta.

    Rough trials give a start and a slope, secant steps on the leading direction the rest. None where
    the plan has no rough value, or its delta is not as smooth as that.
    """
    from dpacct.compose.trials import Trials

    middle = min(max(1.0, low), high)
    if not Trials.apply(build(middle), target.method):
        return None
    trials = Trials(target.epsilon, target.adjacency, starts=target.starts)
    aim = _score(target.log_delta)

    @cache
    def normal(x: float) -> float:
        return aim - _score(trials.normal(build(x)))

    def rough(x: float) -> float:
        return aim - _score(trials.rough(build(x)))

    def leading(x: float, move: float) -> float:
        tolerance = min(1e-8, max(_TRIAL, 1e-3 * move * move))
        return aim - _score(trials.one_direction(build(x), tolerance).upper)

    safe, unsafe = real(normal, low, high, _NEAR)
    if safe is None or unsafe is None:
        return None
    slope = (normal(unsafe) - normal(safe)) / math.log(unsafe / safe)
    guess = smooth_root(rough, math.sqrt(safe * unsafe), slope, _CLOSE)
    if guess is None:
        return None
    here = guess
    half = math.copysign(0.4 * WIDTH, -here.slope)  # into safety
    f, move = leading(here.x, math.inf), math.inf
    for _ in range(6):
        # to the root of a parabola, and a little into safety
        last, move = move, half + here.move(f)
        following = here.x * math.exp(move) if abs(move) < _FAR else math.nan
        if not low <= following <= high:
            return None
        arrives = abs(move * last) < min(5.0 * WIDTH, 1e-3 * abs(last))
        value = excess(following) if arrives else leading(following, move)
        chord = (value - f) / move if abs(move) > 1e-9 and value != f else math.nan
        slope = chord + here.bend * move if math.isfinite(chord) else here.slope
        past = value / slope  # how far in log x beyond the root
        if arrives and 0.0 <= past / half < 1.5:
            beyond = following * math.exp(-past - half)
            found = trials.one_direction(build(beyond), _TRIAL)
            if found.upper <= target.log_delta:
                return None
            return following, beyond, trials.realised and found.lower > target.log_delta
        here, f = here._replace(x=following, slope=slope), value
    return None


def noise_multiplier(
    *,
    epsilon: Number,
    delta: Number,
    sample_rate: Number = 1,
    steps: int = 1,
    sampling: str = "poisson",
    adjacency: Adjacency | str | None = None,
    method: str = "auto",
) -> float:
    """Smallest noise multiplier (std / clip) of a Gaussian training run that meets the target.

    `sampling` is "poisson", "uniform" (fixed size, replace-one) or "none". Raises `Unreachable`,
    `InvalidArgument`.

    >>> print(f"{noise_multiplier(epsilon=7, delta=1e-5, sample_rate=0.01, steps=1000):.6f}")
    0.611546
    """
    from dpacct.mechanisms.gaussian import Gaussian
    from dpacct.sampling.fixed_size import WithoutReplacement
    from dpacct.sampling.poisson import Poisson

    samplers = {"poisson": Poisson, "uniform": WithoutReplacement, "none": None}
    if sampling not in samplers:
        told = f"sampling must be poisson, uniform or none, got {sampling!r:.60}"
        raise InvalidArgument(told, argument="sampling")
    rate = RATE.check("sample_rate", sample_rate)
    count = STEPS.check("steps", steps)
    sampler = samplers[sampling]
    if sampler is None and rate != 1:
        told = f"sample_rate must be 1 where sampling is none, got {sample_rate}"
        raise InvalidArgument(told, argument="sample_rate")

    def plan(multiplier: float) -> Node:
        noise = Gaussian(noise_multiplier=multiplier, clip=1)
        return (noise if sampler is None else sampler(rate)(noise)) * count

    found = calibrate(
        plan,
        epsilon=epsilon,
        delta=delta,
        adjacency=adjacency,
        method=method,
        name="noise_multiplier",
    )
    return float(found)

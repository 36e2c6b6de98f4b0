"""Calibration: the boundary value of one monotone parameter, on the safe side of a target.

One solver serves every parameter: noise, sampling rate, steps. It builds the plan at a trial value, asks
for the safe end of delta at the target epsilon, and follows a scale on which that is almost linear.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

from dpacct.answer import Answer
from dpacct.domain import DELTA, EPSILON, RATE, STEPS, Number, Real, ln
from dpacct.errors import InvalidArgument, Unreachable
from dpacct.tree import Node
from dpacct.vocabulary import Adjacency, Side

# relative width of the final bracket of a real parameter
WIDTH = 2e-10
# of the bracket from rough trials, which are themselves no better
_ROUGH_WIDTH = 0.1
_LEAST, _MOST = 1e-12, 1e15
_MOST_TRIALS = 200


@dataclass
class _Target:
    """How far a plan is from the target, on a scale that is nearly linear in a log parameter."""

    epsilon: float
    log_delta: float
    method: str
    adjacency: Adjacency | str | None
    last: Answer | None = field(default=None)

    def excess(self, node: Node) -> float:
        """Positive where the plan misses the target: the gap between the normal scores of delta."""
        from dpacct.compose.questions import safe_log_delta

        self.last, log_delta = safe_log_delta(
            node, self.epsilon, method=self.method, adjacency=self.adjacency
        )
        return _score(self.log_delta) - _score(log_delta)


def _score(log_delta: float) -> float:
    """About the normal quantile of 1 - delta; increasing in privacy, finite for delta in [0, 1)."""
    if log_delta >= 0.0:
        return -1e6
    return math.sqrt(-2.0 * log_delta) if log_delta > -1e15 else 1e8


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
    if integer:
        safe, unsafe = _whole(excess, int(low), int(high))
    else:
        safe, unsafe = _quickly(build, target, excess, low, high) or _real(excess, low, high)
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
    ends = (unsafe if unsafe is not None else safe, safe) if upward else (safe, unsafe)
    return Answer(
        quantity=name,
        value=safe,
        lower=ends[0],
        upper=ends[1],
        side=witness.side if witness.side is not Side.LOWER else Side.NONE,
        strength=witness.strength,
        method=witness.method,
        basis=witness.basis,
        assumptions=witness.assumptions,
        adjacency=witness.adjacency,
        unit=witness.unit,
        tree=witness.tree,
        seconds=time.perf_counter() - started,
        safe_end="upper" if upward else "lower",
    )


def _bounds(bounds: tuple[float, float] | None, integer: bool) -> tuple[float, float]:
    if bounds is None:
        return (1, 10**15) if integer else (_LEAST, _MOST)
    low, high = (float(Real(0, math.inf).check("bounds", end)) for end in bounds)
    if not low < high:
        raise InvalidArgument(f"bounds must increase, got {bounds}", argument="bounds")
    return low, high


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
) -> tuple[float, float] | None:
    """The same as `_real` in four or five evaluations, all but one of them of one direction only.

    Rough trials give a start and a slope, secant steps on the leading direction the rest. None where
    the plan has no rough value, or its delta is not as smooth as that.
    """
    from dpacct.compose.trials import Trials

    middle = min(max(1.0, low), high)
    if not Trials.apply(build(middle), target.method):
        return None
    trials = Trials(target.epsilon, target.adjacency)
    aim = _score(target.log_delta)

    @cache
    def rough(x: float) -> float:
        value = trials.rough(build(x))
        if math.isnan(value):
            raise _NotSmooth
        return aim - _score(value)

    def leading(x: float) -> float:
        return aim - _score(trials.one_direction(build(x)))

    try:
        safe, unsafe = _real(rough, low, high, _ROUGH_WIDTH)
    except _NotSmooth:
        return None
    if safe is None or unsafe is None or abs(math.log(safe / unsafe)) > _ROUGH_WIDTH:
        return None
    run = math.log(unsafe / safe)
    f_safe = rough(safe)
    slope = (rough(unsafe) - f_safe) / run
    if not (math.isfinite(slope) and slope * run > 0.0):
        return None
    half = math.copysign(0.4 * WIDTH, -run)  # into safety
    x = safe * math.exp(-f_safe / slope)
    f, move = leading(x), math.inf
    for _ in range(6):
        # Newton to the root and a little into safety; its error is about this move times the last one
        last, move = move, half - f / slope
        following = x * math.exp(move)
        if not (abs(move) < _ROUGH_WIDTH and low <= following <= high):
            return None
        arrives = abs(move * last) < 0.1 * WIDTH
        value = excess(following) if arrives else leading(following)
        past = value / slope  # how far in log x beyond the root
        if arrives and 0.0 <= past / half < 1.5:
            beyond = following * math.exp(-past - half)
            return (following, beyond) if leading(beyond) > 0.0 else None
        if abs(move) > 1e-9 and value != f:
            slope = (value - f) / move
        x, f = following, value
    return None


class _NotSmooth(ArithmeticError):
    """A rough trial has no value."""


def _real(
    excess: Callable[[float], float], low: float, high: float, width: float = WIDTH
) -> tuple[float | None, float | None]:
    """(safe, unsafe) ends of a bracket of relative width `width`."""
    x = min(max(1.0, low), high)
    f = excess(x)
    # which way is safe: look a little further
    step = 2.0 if x * 2.0 <= high else 0.5
    other = x * step
    g = excess(other)
    rising = (g > f) == (other > x)  # larger is riskier
    if g == f:
        rising = False
    factor = 4.0
    a, fa, b, fb = x, f, other, g
    while (fa > 0.0) == (fb > 0.0):
        # move towards the boundary: to safety if both miss, towards risk if both are safe
        down = (fa > 0.0) == rising
        edge = min(a, b) if down else max(a, b)
        slope = (fb - fa) / (math.log(b) - math.log(a)) if a != b else 0.0
        end = fa if edge == a else fb
        jump = abs(end / slope) * 1.2 if slope and math.isfinite(end / slope) else math.inf
        jump = min(max(jump, 0.05), math.log(factor))
        factor = min(factor * 4.0, 1e6)
        following = edge * math.exp(-jump if down else jump)
        following = min(max(following, low), high)
        if following == edge:
            return (None, None) if fa > 0.0 else (edge, None)
        a, fa = edge, end
        b, fb = following, excess(following)
    safe, fs, unsafe, fu = (a, fa, b, fb) if fa <= 0.0 else (b, fb, a, fa)
    return _narrow(excess, safe, fs, unsafe, fu, width)


def _narrow(
    excess: Callable[[float], float],
    safe: float,
    fs: float,
    unsafe: float,
    fu: float,
    width: float,
) -> tuple[float, float]:
    """Close a bracket: secant steps in log x through the last two trials, each a hair past the root.

    The hair lies on the side that was not tried last, so that both ends close in.
    """
    older, newer = (safe, fs), (unsafe, fu)
    for trial in range(_MOST_TRIALS):
        gap = math.log(unsafe / safe)
        if abs(gap) <= width:
            break
        rise = newer[1] - older[1]
        run = math.log(newer[0] / older[0])
        step = -newer[1] * run / rise if rise and math.isfinite(rise) else math.inf
        towards = math.copysign(1.0, -gap if newer[1] > 0.0 else gap)  # from the newer to the other
        hair = towards * (0.3 * width + 0.02 * abs(step)) if math.isfinite(step) else 0.0
        x = newer[0] * math.exp(step + hair) if abs(step) < 50.0 else math.nan
        low, high = min(safe, unsafe), max(safe, unsafe)
        if not low < x < high or trial % 8 == 7:
            x = safe * math.exp(0.5 * gap)
        f = excess(x)
        older, newer = newer, (x, f)
        if f <= 0.0:
            if x == safe:
                break
            safe = x
        else:
            if x == unsafe:
                break
            unsafe = x
    return safe, unsafe


def _whole(
    excess: Callable[[float], float], low: int, high: int
) -> tuple[float | None, float | None]:
    """(safe, unsafe) neighbouring whole numbers; more is riskier."""
    if excess(low) > 0.0:
        return None, None
    safe, step = low, 1
    unsafe: int | None = None
    while unsafe is None:
        if safe >= high:
            return float(safe), None
        following = min(high, safe + step)
        if excess(following) > 0.0:
            unsafe = following
        else:
            safe, step = following, step * 8
    while unsafe - safe > 1:
        fs, fu = excess(safe), excess(unsafe)
        gap = math.log(unsafe / safe)
        part = fs / (fs - fu) if fs < 0.0 and math.isfinite(fu) else 0.5
        guess = round(safe * math.exp(min(max(part, 0.02), 0.98) * gap))
        # the secant's own guess, then its neighbour, then the middle: each closes the bracket
        for x in (guess, guess + 1, guess - 1, (safe + unsafe) // 2):
            if safe < x < unsafe:
                if excess(x) > 0.0:
                    unsafe = x
                else:
                    safe = x
    return float(safe), float(unsafe)


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

"""Calibration: the boundary value of one monotone parameter, on the safe side of a target.

One solver serves every parameter: noise, sampling rate, steps. It builds the plan at a trial value, asks
for the safe end of delta at the target epsilon, and follows a scale on which that is almost linear.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Literal

from dpacct.answer import Answer
from dpacct.domain import DELTA, EPSILON, RATE, STEPS, Number, Real, ln
from dpacct.domain.strict import strict
from dpacct.errors import InvalidArgument, Unreachable
from dpacct.tree import Node
from dpacct.vocabulary import Adjacency, Side

_LEAST, _MOST = 1e-12, 1e15


@strict
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
    from dpacct.compose.search import Search, making_plans

    started = time.perf_counter()
    build = making_plans(build)
    target = float(EPSILON.check("epsilon", epsilon)), ln(DELTA.check("delta", delta))
    low, high = _bounds(bounds, integer)
    search = Search(build, *target, method, adjacency, low, high, integer)
    safe, unsafe, missed = search.boundary()
    if safe is None:
        told = (
            f"no {name} from {low:g} to {high:g} meets epsilon {target[0]:g} at "
            f"delta {math.exp(target[1]):.6g}"
        )
        raise Unreachable(told, argument=name)
    witness = search.answer(safe)
    # at an edge of the search all of it is safe, and the boundary is somewhere beyond
    upward = safe >= unsafe if unsafe is not None else safe < high
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


def _bounds(bounds: tuple[float, float] | None, integer: bool) -> tuple[float, float]:
    if bounds is None:
        return (1, 10**15) if integer else (_LEAST, _MOST)
    low, high = (float(Real(0, math.inf).check("bounds", end)) for end in bounds)
    if not low < high:
        raise InvalidArgument(f"bounds must increase, got {bounds}", argument="bounds")
    return low, high


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

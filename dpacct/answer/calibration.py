"""Calibration: the boundary value of one monotone parameter, on the safe side of a target.

One solver serves every parameter: noise, sampling rate, steps. It builds the plan at a trial value, asks
for the safe end of delta at the target epsilon, and follows a scale on which that is almost linear.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from dpacct.answer.answer import Answer
from dpacct.answer.ask import BoundaryQuestion, ask, strict
from dpacct.declare.domain import EFFORT, RATE, STEPS, Real
from dpacct.declare.number import Number, ln, short
from dpacct.errors import InvalidArgument, Unreachable
from dpacct.vocabulary import Adjacency, Side, Strength

if TYPE_CHECKING:
    from dpacct.plan.node import Node

_LEAST, _MOST = 1e-12, 1e15


def calibrate(
    build: Callable[..., Node],
    *,
    epsilon: Number,
    delta: Number,
    method: str = "auto",
    effort: Number = EFFORT,
    adjacency: Adjacency | str | None = None,
    integer: bool = False,
    bounds: tuple[float, float] | None = None,
    name: str = "parameter",
) -> Answer:
    """The boundary value of a parameter at which a plan meets (epsilon, delta), on the safe side.

    `build` makes a plan from a value of the parameter, in which privacy must be monotone. `bounds`
    limit the search (default 1e-12 to 1e15; 1 to 10^15 for `integer`). The answer's safe end meets
    the target, its other end does not. `method` and `effort` as for `Node.epsilon`: auto proves both,
    "exact" is the fast way. Raises `Unreachable` where no value within bounds meets the target,
    `InvalidArgument` out of range.

    >>> import dpacct as dp
    >>> plan = lambda sigma: dp.Poisson(0.01)(dp.Gaussian(sigma=sigma)) * 1000
    >>> answer = calibrate(plan, epsilon=7, delta=1e-5, name="sigma")
    >>> print(f"{float(answer):.6f}")
    0.611546
    """
    from dpacct.plan.search import making_plans, own_errors

    question = BoundaryQuestion(
        epsilon=epsilon, delta=delta, name=name, bounds=bounds, whole=integer
    )
    with own_errors():
        return ask(question, making_plans(build), method=method, effort=effort, adjacency=adjacency)


@strict
def search(
    question: BoundaryQuestion,
    build: Callable[..., Node],
    adjacency: Adjacency | None,
    method: str,
) -> Answer:
    """The boundary value by one method, without a proof."""
    from dpacct.plan.search import Search

    started, name = time.perf_counter(), question.quantity
    target = float(question.epsilon), ln(question.delta) if question.delta else -math.inf
    low, high = limits(question)
    trials = Search(build, *target, method, adjacency, low, high, question.whole)
    safe, unsafe, missed = trials.boundary()
    if safe is None:
        met = f"epsilon {short(question.epsilon)} at delta {short(question.delta)}"
        message = f"no {name} from {low:g} to {high:g} meets {met}"
        raise Unreachable(message, argument=name)
    if unsafe is not None:
        safe = trials.settled(safe, question.delta)
    witness = trials.answer(safe)
    # at an edge of the search all of it is safe, and the boundary is somewhere beyond
    upward = safe >= unsafe if unsafe is not None else safe < high
    # where delta has an upper end alone the safe value is known to be safe, but not that less won't do
    safe_end: Literal["upper", "lower"] = "upper" if upward else "lower"
    ends: dict[str, float] = {}
    side = Side.NONE
    if witness.side in (Side.TWO_SIDED, Side.UPPER):
        ends[safe_end] = safe
        side = Side.UPPER if upward else Side.LOWER
        if witness.side is Side.TWO_SIDED and missed is not None:
            ends["lower" if upward else "upper"] = missed
            side = Side.TWO_SIDED
    return Answer(
        quantity=name,
        value=safe,
        lower=ends.get("lower"),
        upper=ends.get("upper"),
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


def limits(question: BoundaryQuestion) -> tuple[float, float]:
    """Both ends of a search; raises `InvalidArgument` for an empty one."""
    bounds = question.bounds
    if bounds is None:
        return (1, 10**15) if question.whole else (_LEAST, _MOST)
    low, high = (float(Real(0, math.inf).check("bounds", end)) for end in bounds)
    if not low < high:
        raise InvalidArgument(f"bounds must increase, got {bounds}", argument="bounds")
    return low, high


def published(question: BoundaryQuestion, build: Callable[..., Node], method: str) -> Answer:
    """The noise that a theorem prescribes, and the epsilon that this noise actually gives.

    Raises `Unreachable` where the theorem's conditions can't be met, naming the least epsilon, and
    `Unsupported` where it is not about such a plan.
    """
    from dpacct.plan.composition import Composition
    from dpacct.plan.node import resolve_adjacency
    from dpacct.plan.routes import PUBLISHED

    started = time.perf_counter()
    route = PUBLISHED[method]
    trial = build(1.0)  # the theorem reads the rate and the steps, whatever the noise
    adjacency = resolve_adjacency(trial, None)
    target = float(question.epsilon), ln(question.delta)
    sigma = route.sigma(Composition(trial, adjacency), *target)
    node = build(sigma)
    return Answer(
        quantity=question.quantity,
        value=sigma,
        upper=sigma,
        side=Side.UPPER,
        strength=Strength.PUBLISHED,
        method=method,
        basis=(route.basis,),
        assumptions=node.assumptions(adjacency),
        adjacency=adjacency,
        unit=node.unit,
        tree=node,
        seconds=time.perf_counter() - started,
        extra={"delivered_epsilon": float(node.epsilon(question.delta, method="exact"))},
    )


def noise_multiplier(
    *,
    epsilon: Number,
    delta: Number,
    sample_rate: Number = 1,
    steps: int = 1,
    sampling: str = "poisson",
    epochs: Number | None = None,
    batch_size: int | None = None,
    dataset_size: int | None = None,
    records_per_user: int | None = None,
    max_batch: int | None = None,
    adjacency: Adjacency | str | None = None,
    method: str = "auto",
    effort: Number = EFFORT,
) -> float:
    """Smallest noise multiplier (std / clip) of a Gaussian training run that meets the target.

    `sampling` is "poisson", "uniform" (fixed size, replace-one), "balls-in-bins" (whole epochs),
    "records-per-user" (with `records_per_user`), "truncated-poisson" (with `max_batch`) or "none". The
    rate is `sample_rate`, or `batch_size` / `dataset_size`; the length is `steps`, or `epochs`: a data loader
    takes ceil(dataset_size / batch_size) steps in each. Raises `Unreachable`, `InvalidArgument`.

    >>> print(f"{noise_multiplier(epsilon=7, delta=1e-5, sample_rate=0.01, steps=1000):.6f}")
    0.611546
    >>> run = dict(batch_size=256, dataset_size=50_000, epochs=20)
    >>> print(f"{noise_multiplier(epsilon=8, delta=1e-5, **run):.5f}")
    0.57938
    """
    from dpacct.mechanisms.gaussian import Gaussian
    from dpacct.plan.samplers.steps import Steps

    # What stands at its default of 1 gives way to the other form; None is not a number of steps.
    rate_known = RATE.check("sample_rate", sample_rate)
    whole = STEPS.check("steps", steps)
    words: dict[str, Any] = {"batch_size": batch_size, "dataset_size": dataset_size}
    words |= {"sampling": sampling, "epochs": epochs, "records_per_user": records_per_user}
    words |= {"max_batch": max_batch}
    if rate_known != 1 or (batch_size is None and dataset_size is None and sampling != "none"):
        words["rate"] = rate_known
    if whole != 1 or epochs is None:
        words["steps"] = whole
    made = Steps.read(words, _called)

    def plan(sigma: Fraction | float) -> Node:
        return made.of(Gaussian(sigma=sigma), _called)

    calibrated = calibrate(
        plan,
        epsilon=epsilon,
        delta=delta,
        adjacency=adjacency,
        method=method,
        effort=effort,
        name="noise_multiplier",
    )
    # a clipped sum moves by one clip or by two, so that this is exact
    return calibrated.adjacency.clip_factor * float(calibrated)


def _called(name: str) -> str:
    """The name in Python of an option of a plan."""
    return "sample_rate" if name == "rate" else name

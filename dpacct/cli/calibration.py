"""The noise that a target asks for."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from dpacct.cli.plan import PlanOptions, repeated, step_count

if TYPE_CHECKING:
    from dpacct.answer import Answer
    from dpacct.compose.certified import Proven
    from dpacct.tree import Node


def plan_of_noise(options: PlanOptions) -> Callable[[float | Fraction], Node]:
    """The plan that the options describe, as a function of its noise parameter."""
    count, _ = step_count(options)

    def plan(size: float | Fraction) -> Node:
        made = options.kind.make(**{options.noise_parameter: size}, **options.noise_extras)
        return repeated(options, made, count)

    return plan


def calibrate_noise(
    options: PlanOptions, epsilon: Fraction, delta: Fraction, method: str
) -> Answer:
    """The smallest sigma (or b) for which the plan is (epsilon, delta)-private, by one method.

    Raises:
        Unreachable: no amount of noise is enough, or found within the search's range.
        Unsupported: the method does not apply to the plan.
    """
    import dpacct as dp
    from dpacct.compose.routes.closed_guarantee import PUBLISHED

    plan, name = plan_of_noise(options), options.noise_parameter
    started = time.perf_counter()
    if method in PUBLISHED:
        return published_noise(plan, name, epsilon, delta, method)
    answer = dp.calibrate(
        plan,
        epsilon=epsilon,
        delta=delta,
        method=method,
        bounds=options.kind.bounds,
        name=name,
    )
    return replace(answer, seconds=time.perf_counter() - started)


def published_noise(
    plan: Callable[[float], Node], name: str, epsilon: Fraction, delta: Fraction, method: str
) -> Answer:
    """The noise that a theorem of a paper asks for, and the epsilon which that noise delivers.

    Raises:
        Unreachable: the theorem's conditions can't be met; the message names the least epsilon.
        Unsupported: the theorem is not about such a plan.
    """
    from dpacct.answer import Answer
    from dpacct.compose.composition import Composition
    from dpacct.compose.routes.closed_guarantee import PUBLISHED
    from dpacct.domain import ln
    from dpacct.tree import resolve_adjacency
    from dpacct.vocabulary import Side, Strength

    started = time.perf_counter()
    route = PUBLISHED[method]
    trial = plan(1.0)  # the theorem reads the rate and the steps, whatever the noise
    adjacency = resolve_adjacency(trial, None)
    sigma = route.sigma(Composition(trial, adjacency), float(epsilon), ln(delta))
    node = plan(sigma)
    return Answer(
        quantity=name,
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
        extra={"delivered_epsilon": float(node.epsilon(delta=delta, method="exact"))},
    )


def certified_noise(
    options: PlanOptions,
    epsilon: Fraction,
    delta: Fraction,
    digits: int,
    *,
    guess: float,
    effort: float,
) -> Proven:
    """One sigma (or b) proven to meet the target, and a slightly smaller one proven not to.

    Raises:
        NotCertified: there is no proof to that many digits, or within that effort (in seconds).
    """
    from dpacct.compose.certified import parameter

    return parameter(
        plan_of_noise(options),
        guess=guess,
        epsilon=epsilon,
        delta=delta,
        digits=digits,
        name=options.noise_parameter,
        effort=effort,
    )


def in_other_words(answer: Answer, options: PlanOptions) -> dict[str, float]:
    """The same noise per clip, and in the data's own units when the clipping norm is known.

    The sensitivity of a clipped sum is clip_factor * clip (twice the clip under replace-one).
    """
    factor = answer.adjacency.clip_factor
    safe = float(answer)
    sizes = {"noise_multiplier": factor * safe} if options.mechanism == "gaussian" else {}
    if options.clip is not None and options.mechanism in ("gaussian", "laplace"):
        # One float up: a product may be rounded down, and less noise is not what was asked for.
        size = math.nextafter(factor * safe * float(options.clip), math.inf)
        sizes["noise_scale" if options.mechanism == "laplace" else "noise_std"] = size
    return sizes

"""The noise that a target asks for."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

from dpacct.cli.plan import PlanOptions, repeated, step_count

if TYPE_CHECKING:
    from dpacct.answer import Answer
    from dpacct.answer.ask import Boundary
    from dpacct.tree import Node


def plan_of_noise(options: PlanOptions) -> Callable[[float | Fraction], Node]:
    """The plan that the options describe, as a function of its noise parameter."""
    count, _ = step_count(options)

    def plan(size: float | Fraction) -> Node:
        made = options.kind.make(**{options.noise_parameter: size}, **options.noise_extras)
        return repeated(options, made, count)

    return plan


def noise_question(options: PlanOptions, epsilon: Fraction, delta: Fraction) -> Boundary:
    """The smallest noise for which the plan is (epsilon, delta)-private."""
    from dpacct.answer.ask import Boundary

    return Boundary(
        epsilon=epsilon, delta=delta, name=options.noise_parameter, bounds=options.kind.bounds
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

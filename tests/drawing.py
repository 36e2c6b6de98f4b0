"""Values of a domain, for laws over all mechanisms."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random
from typing import Any, Literal, overload

from dpacct.declare.domain import Integer, Real
from dpacct.errors import InvalidArgument
from dpacct.papers.refute import window

Part = Literal["inside", "boundary"]


@overload
def draw(domain: Real, rng: Random, part: Part = "inside") -> Fraction: ...
@overload
def draw(domain: Integer, rng: Random, part: Part = "inside") -> int: ...
def draw(domain: Real | Integer, rng: Random, part: Part = "inside") -> Fraction | int:
    """A value; "boundary" is a closed end, or a hair inside an open one.

    Raises `InvalidArgument` where there is none (the whole line has no end).
    """
    values: list[Any] = (
        _whole(domain, rng, part) if isinstance(domain, Integer) else _real(domain, rng, part)
    )
    if not values:
        raise InvalidArgument(f"{domain} has no {part} to draw from", argument="part")
    result: Fraction | int = rng.choice(values)
    return result


def _real(domain: Real, rng: Random, part: Part) -> list[Fraction]:
    low, high = window(domain)
    if part == "inside":
        # A third of the draws is uniform; the others hug either end on a logarithmic scale.
        share = Fraction(rng.randint(1, 10**9 - 1), 10**9)
        kind = rng.randrange(3)
        if kind:
            hug = Fraction(repr(10 ** -(9 * rng.random()))) / 2
            share = hug if kind == 1 else 1 - hug
        return [low + (high - low) * share]
    hair = min(Fraction(1), high - low) / 10**12
    ends = (domain.lower, 1, domain.closed_left), (domain.upper, -1, domain.closed_right)
    return [
        end if closed else end + inward * hair
        for end, inward, closed in ends
        if isinstance(end, Fraction)
    ]


def _whole(domain: Integer, rng: Random, part: Part) -> list[int]:
    low, high = (math.ceil(end) for end in window(domain))
    high = math.floor(window(domain)[1])
    low += low == domain.lower and not domain.closed_left
    high -= high == domain.upper and not domain.closed_right
    if high < low:  # ends that a theorem makes of other arguments may leave nothing
        return []
    if part == "inside":
        uniform, span = rng.random() < 0.5, high - low
        offset = rng.randint(0, span) if uniform else int((span + 1) ** rng.random()) - 1
        return [low + min(offset, span)]
    ends = [low] if isinstance(domain.lower, Fraction) else []
    return ends + ([high] if isinstance(domain.upper, Fraction) else [])

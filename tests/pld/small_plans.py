"""Random plans of few outcomes, and their delta in 60 digits from a list of all outcomes."""

import math
from dataclasses import dataclass

import mpmath
import numpy as np

import dpacct as dp
from dpacct.plan.node import Node

DIGITS = 60
_MOST = 3000
"""Outcomes of a plan, at most."""

Outcomes = list[tuple[mpmath.mpf, mpmath.mpf]]
"""Masses of each outcome, with the unit and without it."""


@dataclass(frozen=True)
class Part:
    """A plan, and its outcomes in either direction."""

    plan: Node
    ways: tuple[Outcomes, Outcomes]


def _number(draw: np.random.Generator, low: float, high: float) -> str:
    """A decimal of four digits, log-uniform."""
    return f"{math.exp(draw.uniform(math.log(low), math.log(high))):.4g}"


def _symmetric(outcomes: Outcomes) -> tuple[Outcomes, Outcomes]:
    return outcomes, [(q, p) for p, q in outcomes]


def _pure(epsilon: str, delta: str = "0") -> Outcomes:
    """Kairouz, Oh, Viswanath 2015: what dominates an (epsilon, delta)-DP release."""
    grown, failing = mpmath.exp(mpmath.mpf(epsilon)), mpmath.mpf(delta)
    share = (1 - failing) * grown / (1 + grown)
    other = (1 - failing) / (1 + grown)
    return [(share, other), (other, share), (failing, mpmath.mpf(0)), (mpmath.mpf(0), failing)]


def _response(epsilon: str, kinds: int) -> Outcomes:
    """Randomised response among so many answers: two telling ones, and the rest together."""
    grown = mpmath.exp(mpmath.mpf(epsilon))
    total = grown + kinds - 1
    rest = (kinds - 2) / total
    return [(grown / total, 1 / total), (1 / total, grown / total), (rest, rest)]


def _step(draw: np.random.Generator) -> Part:
    kind, epsilon = draw.integers(3), _number(draw, 1e-3, 3)
    if kind == 0:
        return Part(dp.PureDP(epsilon=epsilon), _symmetric(_pure(epsilon)))
    if kind == 1:
        delta = _number(draw, 1e-14, 1e-3)
        return Part(dp.ApproxDP(epsilon=epsilon, delta=delta), _symmetric(_pure(epsilon, delta)))
    kinds = int(draw.integers(2, 12))
    return Part(dp.RandomizedResponse(eps0=epsilon, k=kinds), _symmetric(_response(epsilon, kinds)))


def _product(left: Outcomes, right: Outcomes) -> Outcomes:
    return [(p * r, q * s) for p, q in left for r, s in right if p * r > 0 or q * s > 0]


def _both(left: Part, right: Part, plan: Node) -> Part:
    first, second = (_product(a, b) for a, b in zip(left.ways, right.ways, strict=True))
    return Part(plan, (first, second))


def _repeated(part: Part, count: int) -> Part:
    total = part
    for _ in range(count - 1):
        total = _both(total, part, total.plan)
    return Part(part.plan * count, total.ways)


def _on_own_coin(rate: str, part: Part) -> Part:
    """Poisson sampling. Remove: (1-r) Q + r P against Q; add: Q against that, by the plan's own add pair."""
    r = mpmath.mpf(rate)
    with_unit, without = part.ways
    remove = [((1 - r) * q + r * p, q) for p, q in with_unit]
    add = [(p, (1 - r) * p + r * q) for p, q in without]
    return Part(dp.Poisson(rate)(part.plan), (remove, add))


def _sampled(draw: np.random.Generator, part: Part) -> Part:
    rate = _number(draw, 1e-3, 0.99)
    if draw.random() < 0.7:
        return _on_own_coin(rate, part)
    r = mpmath.mpf(rate)
    unit = mpmath.mpf(1)
    ways = [
        [*((r * p, r * q) for p, q in way), ((1 - r) * unit, (1 - r) * unit)] for way in part.ways
    ]
    return Part(dp.Participation(rate)(part.plan), (ways[0], ways[1]))


def response_beside_pure(eps0: str, kinds: int, rate: str, epsilon: str) -> Part:
    """Sampled randomised response, and a pure release."""
    response = Part(dp.RandomizedResponse(eps0=eps0, k=kinds), _symmetric(_response(eps0, kinds)))
    pure = Part(dp.PureDP(epsilon=epsilon), _symmetric(_pure(epsilon)))
    once = _on_own_coin(rate, response)
    return _both(once, pure, once.plan + pure.plan)


def random_part(draw: np.random.Generator) -> Part:
    """Up to three parts, sampled or not, some of several steps on one sample."""
    total: Part | None = None
    for _ in range(int(draw.integers(1, 4))):
        part = _step(draw)
        if draw.random() < 0.3:
            part = _repeated(part, 2)
        if draw.random() < 0.6:
            part = _sampled(draw, part)
        part = _repeated(part, int(draw.integers(1, 4)))
        if total is not None and len(total.ways[0]) * len(part.ways[0]) > _MOST:
            break
        total = part if total is None else _both(total, part, total.plan + part.plan)
    assert total is not None
    return total


def delta(part: Part, epsilon: str) -> mpmath.mpf:
    """The larger of both directions."""
    grown = mpmath.exp(mpmath.mpf(epsilon))
    return max(mpmath.fsum(p - grown * q for p, q in way if p > grown * q) for way in part.ways)


def questions(draw: np.random.Generator, part: Part) -> list[str]:
    """Epsilons below the largest loss, one of them near it."""
    losses = [float(mpmath.log(p / q)) for way in part.ways for p, q in way if p > 0 and q > 0]
    top = max(losses)
    return [_number(draw, 0.01 * top, top), f"{top * (1.0 - 10.0 ** -draw.uniform(1, 9)):.12g}"]

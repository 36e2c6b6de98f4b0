"""Random plans, the same each time, for comparing the lattice's brackets with the contour engine."""

import numpy as np

import dpacct as dp
from dpacct.plan.node import Node


def _number(draw: np.random.Generator, low: float, high: float) -> str:
    """A decimal of four digits, log-uniform."""
    return f"{float(np.exp(draw.uniform(np.log(low), np.log(high)))):.4g}"


def _step(draw: np.random.Generator) -> Node:
    kind = draw.integers(6)
    if kind <= 1:
        return dp.Gaussian(sigma=_number(draw, 0.5, 20))
    if kind == 2:
        return dp.Laplace(b=_number(draw, 0.5, 20))
    if kind == 3:
        return dp.PureDP(epsilon=_number(draw, 0.01, 2))
    if kind == 4:
        return dp.ApproxDP(epsilon=_number(draw, 0.01, 1), delta=_number(draw, 1e-14, 1e-9))
    return dp.RandomizedResponse(eps0=_number(draw, 0.05, 3), k=int(draw.integers(2, 20)))


def _sampled(draw: np.random.Generator, step: Node, fixed: bool) -> Node:
    if draw.random() < 0.3:
        return step
    rate = _number(draw, 1e-3, 0.7)
    return dp.WithoutReplacement(rate)(step) if fixed else dp.Poisson(rate)(step)


def random_plan(index: int) -> tuple[Node, str]:
    """Plan number `index`, and the delta it is asked about."""
    draw = np.random.default_rng((20261118, index))
    fixed = bool(draw.random() < 0.3)
    parts = 1 + int(draw.random() < 0.25)
    plan: Node | None = None
    for _ in range(parts):
        part = _sampled(draw, _step(draw), fixed) * int(float(_number(draw, 1, 3e4)))
        plan = part if plan is None else plan + part
    assert plan is not None
    return plan, _number(draw, 1e-12, 1e-3)
